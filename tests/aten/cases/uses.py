# case: kernel for another device than the call
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x + 1, "CPU")
def run(n):
    x = torch.randn(n).cuda()
    y = torch.ops.m1.f(x)  # expect: ATN102
    return y
def run2(n):
    dev = torch.device("cuda:0")
    return torch.ops.m1.f.default(torch.zeros(n, device=dev))
def guarded(x):
    x = x.to("cuda")
    if x.is_cuda:
        return x
    return torch.ops.m1.f(x)
# case: cpu call of a cuda kernel
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x + 1, "CUDA")
x = torch.ones(3)
y = torch.ops.m1.f(x)  # expect: ATN102
# case: what must not be said of devices
import pytest
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.define("g(Tensor x) -> Tensor")
lib.impl("f", lambda x: x + 1, "CPU")
lib.impl("g", lambda x: x + 1, "CompositeExplicitAutograd")
def a(x):
    return torch.ops.m1.f(x)
def b():
    return torch.ops.m1.g(torch.ones(3, device="cuda"))
def c():
    with pytest.raises(NotImplementedError):
        torch.ops.m1.f(torch.ones(3, device="cuda"))
def d():
    try:
        return torch.ops.m1.f(torch.ones(3, device="cuda"))
    except NotImplementedError:
        return None
def e(device):
    return torch.ops.m1.f(torch.ones(3, device=device))
def f():
    x = torch.ones(3, device="cuda")
    if x.device.type == "cpu":
        return torch.ops.m1.f(x)
    return torch.ops.m1.f(x.cpu())
# case: narrow device types
import torch
from torch import Tensor
@torch.library.custom_op("m1::f", mutates_args=(), device_types=["cuda"])  # expect: ATN103
def f(x: Tensor) -> Tensor:
    return x + 1
def test_f():
    x = torch.randn(4, 4)
    assert f(x).shape == x.shape
# case: narrow device types with the right tensors
import torch
from torch import Tensor
@torch.library.custom_op("m1::f", mutates_args=(), device_types="cuda")
def f(x: Tensor) -> Tensor:
    return x + 1
def test_f():
    assert f(torch.randn(4, 4, device="cuda")) is not None
def other(x):
    return f(x)
# case: default device
import torch
from torch import Tensor
torch.set_default_device("cuda")
@torch.library.custom_op("m1::f", mutates_args=(), device_types="cuda")
def f(x: Tensor) -> Tensor:
    return x + 1
f(torch.randn(4))
# case: fake for a compiled module
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")  # expect: ATN104
lib.impl("f", lambda x: x + 1, "CPU")
class Model(torch.nn.Module):
    def forward(self, x):
        return self.block(x)
    def block(self, x):
        return torch.ops.m1.f(x)
model = Model()
compiled = torch.compile(model)
# case: fake for an exported program
import torch
from torch import Tensor
@torch.library.custom_op("m1::f", mutates_args=())  # expect: ATN104
def f(x: Tensor) -> Tensor:
    return x + 1
class M(torch.nn.Module):
    def forward(self, x):
        return f(x)
torch.export.export(M().eval(), (torch.ones(2),))
# case: no fake needed
import torch
from torch import Tensor
from torch.library import triton_op
lib = torch.library.Library("m1", "DEF")
lib.define("a(Tensor x) -> Tensor")
lib.impl("a", lambda x: x + 1, "CompositeImplicitAutograd")
lib.define("b(Tensor x) -> Tensor")
lib.impl("b", lambda x: x + 1, "CPU")
lib.impl("b", lambda x: torch.empty_like(x), "Meta")
@torch.library.custom_op("m1::c", mutates_args=("x",))
def c(x: Tensor) -> None:
    x.add_(1)
@triton_op("m1::d", mutates_args={})
def d(x: Tensor) -> Tensor:
    return torch.empty_like(x)
@torch.library.custom_op("m1::e", mutates_args=())
def e(x: Tensor) -> Tensor:
    return x + 1
@torch.compile(fullgraph=True)
def run(x):
    c(x)
    return torch.ops.m1.a(x) + torch.ops.m1.b(x) + d(x)
def eager(x):
    return e(x)
# case: gradient through a module parameter
import torch
import numpy as np
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x, Tensor w) -> Tensor")  # expect: ATN105
def kernel(x, w):
    return torch.from_numpy(np.dot(x.numpy(), w.numpy()))
lib.impl("f", kernel, "CPU")
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3, 3))
    def forward(self, x):
        return torch.ops.m1.f(x, self.weight)
# case: gradients that are not asked for
import torch
from torch import Tensor
@torch.library.custom_op("m1::f", mutates_args=())
def f(x: Tensor) -> Tensor:
    return x + 1
lib = torch.library.Library("m2", "DEF")
lib.define("g(Tensor x) -> Tensor")
lib.impl("g", lambda x: x * 2, "CPU")
def a():
    with torch.no_grad():
        return f(torch.ones(3, requires_grad=True))
def b():
    return torch.ops.m2.g(torch.ones(3, requires_grad=True))
def c():
    return f(torch.ones(3, requires_grad=True).detach())
def d(w):
    w = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    return f(w)
# case: autograd registered
import torch
from torch import Tensor
@torch.library.custom_op("m1::f", mutates_args=())
def f(x: Tensor) -> Tensor:
    return x + 1
torch.library.register_autograd("m1::f", lambda ctx, g: g)
f(torch.ones(3, requires_grad=True)).sum().backward()
# case: library in a local
import torch
def setup():
    lib = torch.library.Library("m1", "FRAGMENT")  # expect: ATN113
    lib.define("f(Tensor x) -> Tensor")
    @torch.library.impl(lib, "f", "CPU")
    def f(x):
        return x + 1
setup()
def use(x):
    return torch.ops.m1.f(x)
# case: temporary library
import torch
torch.library.Library("m1", "DEF").define("f(Tensor x) -> Tensor")  # expect: ATN113, ATN101
# case: libraries that live
import torch
class Ops:
    lib = torch.library.Library("m1", "DEF")
    def __init__(self):
        self.mine = torch.library.Library("m2", "DEF")
def make():
    lib = torch.library.Library("m3", "DEF")
    return lib
def keep():
    global KEPT
    KEPT = torch.library.Library("m4", "DEF")
def hand(store):
    lib = torch.library.Library("m5", "DEF")
    store(lib)
def fixture():
    lib = torch.library.Library("m6", "DEF")
    yield lib
def nested():
    lib = torch.library.Library("m7", "DEF")
    def close():
        lib._destroy()
    return close
def kept():
    lib = torch.library.Library("m9", "DEF")
    torch.library._keep_alive.append(lib)
def table():
    found = {}
    lib = torch.library.Library("m8", "DEF")
    found["lib"] = lib
    return found
# case: rebound library
import torch
lib = torch.library.Library("m1", "DEF")  # expect: ATN113
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x + 1, "CPU")
lib = torch.library.Library("m2", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x + 1, "CPU")
# case: local library used only inside
import torch
def main():
    lib = torch.library.Library("m1", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    print(torch.ops.m1.f(torch.ones(3)))
main()
# case: use before load
import torch
import numpy as np
def run(x):
    return torch.ops.somewhere.f(x)  # expect: ATN114
# case: use after an import that may load it
import torch
import somewhere_ext
def run(x):
    return torch.ops.somewhere.f(x)
# case: use of torch's own namespaces
import torch
def run(x):
    torch.ops.aten.add(x, x)
    torch.ops.quantized.add
    return torch.ops.torchvision.nms(x, x, 0.5)
# case: use behind hasattr
import torch
def run(x):
    if hasattr(torch.ops, "somewhere"):
        return torch.ops.somewhere.f(x)
    return x
# case: swallowed import
import torch
try:
    from . import _C
except ImportError:  # expect: ATN129
    pass
def run(x):
    return torch.ops._C.f(x)
# case: swallowed load
import logging
import torch
log = logging.getLogger(__name__)
try:
    torch.ops.load_library("libmine.so")
except OSError as e:  # expect: ATN129
    log.warning("no kernels: %s", e)
def run(x):
    return torch.ops.mine.f(x)
# case: remembered failure
import torch
try:
    import mine._C
    HAVE = True
except ImportError:
    HAVE = False
def run(x):
    if HAVE:
        return torch.ops.mine.f(x)
    return x
# case: re-raised failure
import torch
try:
    import mine._C
except ImportError as e:
    raise RuntimeError("build it first") from e
def run(x):
    return torch.ops.mine.f(x)
# case: optional dependency that is no extension
import torch
try:
    import pandas
except ImportError:
    pass
lib = torch.library.Library("mine", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x + 1, "CPU")
def run(x):
    return torch.ops.mine.f(x)
# case: a device made of itself
import torch
def place(device, x):
    device = torch.device(device)
    where: torch.device = torch.device(where)
    return torch.zeros(2, device=device) + torch.ones(2, device=where) + x.to("cuda")
# case: the swallowed module's own operators are named
import torch
try:
    import pkg._rocm_C
except ImportError:  # expect: ATN129
    pass
def run(x):
    return torch.ops._C.f(x) + torch.ops._rocm_C.g(x)
# case: one operator of a library that fakes the others was forgotten
import torch
lib = torch.library.Library("m1", "DEF")
for name in ("a", "b", "c"):
    lib.define(f"{name}(Tensor x) -> Tensor")
    lib.impl(name, lambda x: x + 1, "CPU")
    torch.library.register_fake(f"m1::{name}", lambda x: torch.empty_like(x))
lib.define("forgotten(Tensor x) -> Tensor")  # expect: ATN104
lib.impl("forgotten", lambda x: x + 1, "CPU")
lib.define("handle(Tensor x) -> int")
lib.impl("handle", lambda x: 1, "CPU")
# case: a library that fakes some of its operators
import torch
lib = torch.library.Library("m1", "DEF")
for name in ("a", "b", "c"):
    lib.define(f"{name}(Tensor x) -> Tensor")
    lib.impl(name, lambda x: x + 1, "CPU")
    torch.library.register_fake(f"m1::{name}", lambda x: torch.empty_like(x))
for name in ("d", "e"):
    lib.define(f"{name}(Tensor x) -> Tensor")
    lib.impl(name, lambda x: x + 1, "CPU")
# case: a custom_op that returns nothing needs no fake, whatever its arguments are
import torch
import mine
@torch.library.custom_op("m1::f", mutates_args={"out"})
def f(out: torch.Tensor, group: mine.Group) -> None:
    out.add_(1)
@torch.compile
def model(x):
    f(x, 1)
    return x
# case: fake of a C++ operator that only the CPU has
import torch
@torch.library.register_fake("_C::scaled")
def _(x, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty((2, 2), dtype=dtype)
# file: k.cpp
#include <torch/library.h>
at::Tensor scaled(const at::Tensor& x, at::ScalarType dtype) { return x.to(dtype); }
TORCH_LIBRARY(TORCH_EXTENSION_NAME, m) {
  m.def("scaled(Tensor x, ScalarType dtype) -> Tensor");
  m.impl("scaled", torch::kCPU, &scaled);
}
# case: a swallowed import whose file asks for the operators
import torch
try:
    import torch_vendor.mine
except ImportError:
    pass
def op(name):
    if not hasattr(torch.ops, "mine") or not hasattr(torch.ops.mine, name):
        raise RuntimeError(f"torch.ops.mine.{name} is not there: build torch_vendor with its kernels")
    return getattr(torch.ops.mine, name)
# file: other.py
import torch
import torch_other
def run(x):
    return torch.ops.mine.f(x)
# case: a Library that is to end with its test
# file: tests/test_library.py
import torch
def test_one():
    lib = torch.library.Library("m1", "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", torch.sin, "CPU")
    torch.ops.m1.f(torch.ones(2))
def test_two():
    try:
        lib = torch.library.Library("m1", "FRAGMENT")
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", torch.cos, "CPU")
        torch.ops.m1.f(torch.ones(2))
    finally:
        del lib
def set_up():
    lib = torch.library.Library("m1", "FRAGMENT")  # expect: ATN113
    lib.define("g(Tensor x) -> Tensor")
    lib.impl("g", torch.sin, "CPU")
def test_three():
    set_up()
    torch.ops.m1.g(torch.ones(2))
# case: a swallowed import whose file asks for one operator and uses others
import torch
try:
    import pkg._C
except ImportError:  # expect: ATN129
    pass
if hasattr(torch.ops._C, "late"):
    def late(x):
        return torch.ops._C.late(x)
def early(x):
    return torch.ops._C.early(x)
