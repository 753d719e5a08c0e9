# case: two libraries, one without kernel
import torch
a = torch.library.Library("m1", "DEF")
a.define("f(Tensor x) -> Tensor")  # expect: ATN101
b = torch.library.Library("m2", "DEF")
b.define("f(Tensor x) -> Tensor")
b.impl("f", lambda x: x + 1, "CPU")
# case: only a fake is no kernel
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")  # expect: ATN101
@torch.library.register_fake("m1::f")
def _(x):
    return torch.empty_like(x)
# case: kernels in the next file
import torch
LIB = torch.library.Library("m1", "DEF")
LIB.define("f(Tensor x) -> Tensor")
# file: kernels.py
from example import LIB
import torch
@torch.library.impl(LIB, "f", "CPU")
def f(x):
    return x + 1
# case: kernels in C++
import torch
LIB = torch.library.Library("m1", "DEF")
LIB.define("f(Tensor x) -> Tensor")
# file: k.cpp
#include <torch/library.h>
at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY_IMPL(m1, CPU, m) { m.impl("f", &f); }
# case: a loaded library may hold the kernel
import torch
torch.ops.load_library("libm1.so")
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")
# case: names computed in a loop over a literal are known
import torch
lib = torch.library.Library("m1", "DEF")
for name in ("f", "g"):
    lib.define(f"{name}(Tensor x) -> Tensor")
    lib.impl(name, lambda x: x + 1, "CPU")
# case: names computed from a variable silence the namespace
import torch
import registry_of_names
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")
for name in registry_of_names.ALL:
    lib.impl(name, lambda x: x + 1, "CPU")
# case: implementation for a misspelt name with decorator
import torch
torch.library.define("m1::gain", "(Tensor x) -> Tensor")
lib = torch.library.Library("m1", "DEF")
lib.define("loss(Tensor x) -> Tensor")
lib.impl("loss", lambda x: x + 1, "CPU")
@torch.library.impl("m1::gian", "cpu")  # expect: ATN110
def gain(x):
    return x + 1
@torch.library.impl("m1::gain", "cuda")
def gain_cuda(x):
    return x + 1
# case: register_kernel and register_fake for a name nobody defined
import torch
from torch import Tensor
lib = torch.library.Library("m1", "DEF")
@torch.library.custom_op("m1::gain", mutates_args=(), device_types="cpu")
def gain(x: Tensor) -> Tensor:
    return x + 1
@torch.library.register_kernel("m1::gains", "cuda")  # expect: ATN110
def _(x):
    return x + 1
@torch.library.register_fake("m1::gainz")  # expect: ATN110
def _(x):
    return torch.empty_like(x)
# case: overload that does not exist
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
lib.impl("f", lambda x: x + 1, "CPU")  # expect: ATN110
@torch.library.impl(lib, "f.out", "CPU")
def f_out(x, *, out):
    return out.copy_(x)
# case: other people's namespaces
import torch
lib = torch.library.Library("torchvision", "IMPL")
lib.impl("nms_fast", lambda *a: None, "CPU")
other = torch.library.Library("their_package", "IMPL")
other.impl("op", lambda x: x + 1, "CPU")
@torch.library.register_fake("their_package::op2")
def _(x):
    return torch.empty_like(x)
# case: fragment of which another package holds the rest
import torch
lib = torch.library.Library("m1", "FRAGMENT")
lib.define("mine(Tensor x) -> Tensor")
lib.impl("mine", lambda x: x + 1, "CPU")
lib.impl("theirs", lambda x: x + 1, "CPU")
# case: same key twice through two forms
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x + 1, "CPU")
@torch.library.impl("m1::f", "cpu")  # expect: ATN111
def f(x):
    return x + 2
# case: definitions of one name
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.define("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
lib.define("f(Tensor x) -> Tensor")  # expect: ATN111
lib.impl("f", lambda x: x + 1, "CPU")
lib.impl("f.out", lambda x, *, out: out.copy_(x), "CPU")
# case: alternatives are no duplicates
import torch
from torch import Tensor
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")
try:
    import triton
    lib.impl("f", lambda x: x + 1, "CUDA")
except ImportError:
    lib.impl("f", lambda x: x + 2, "CUDA")
lib.impl("f", lambda x: x + 2, "CPU")
if not hasattr(torch.ops.m1, "g"):
    @torch.library.custom_op("m1::g", mutates_args=())
    def g(x: Tensor) -> Tensor:
        return x + 1
# case: custom_op twice
import torch
from torch import Tensor
@torch.library.custom_op("m1::f", mutates_args=())
def f(x: Tensor) -> Tensor:
    return x + 1
@torch.library.custom_op("m1::f", mutates_args=())  # expect: ATN111
def f2(x: Tensor) -> Tensor:
    return x + 2
# case: namespaces
import torch
torch.library.define("nospace", "(Tensor x) -> Tensor")  # expect: ATN112
lib = torch.library.Library("prim", "FRAGMENT")  # expect: ATN112
a = torch.library.Library("m1", "DEF")
a.define("m2::f(Tensor x) -> Tensor")  # expect: ATN112
a.define("m1::g(Tensor x) -> Tensor")
a.impl("m1::g", lambda x: x + 1, "CPU")
@torch.library.register_fake("plain")  # expect: ATN112
def _(x):
    return torch.empty_like(x)
ok = torch.library.Library("aten", "IMPL")
# case: keys and devices
import torch
from torch import Tensor
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x + 1, "Cuda")  # expect: ATN115
lib.impl("f", lambda x: x + 1, "CPU")
lib.impl("f", lambda x: x + 1, "AutogradCPU")
lib.impl("f", lambda x: x + 1, "PrivateUse1")
@torch.library.custom_op("m1::g", mutates_args=(), device_types=("cpu", "cuda:0"))
def g(x: Tensor) -> Tensor:
    return x + 1
@g.register_kernel("nvidia")  # expect: ATN115
def _(x):
    return x + 1
@torch.library.register_kernel("m1::g", "xpu")
def _(x):
    return x + 1
# case: renamed private backend
import torch
torch.utils.rename_privateuse1_backend("mychip")
torch.library.define("m1::f", "(Tensor x) -> Tensor")
@torch.library.impl("m1::f", "mychip")
def f(x):
    return x + 1
# case: schemas
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("a(Tensor x, float32 g) -> Tensor")  # expect: ATN116
lib.define("b(Tensor x -> Tensor")  # expect: ATN116
lib.define("c(Tensor x, int k=2, float g) -> Tensor")  # expect: ATN116
lib.define("d(Tensor x, Optional[int] k) -> Tensor")  # expect: ATN116
lib.define("e(Tensor x) -> Tensor, Tensor")  # expect: ATN116
torch.library.define("m1::g", "g(Tensor x) -> Tensor")  # expect: ATN116
for n in "abcde":
    lib.impl(n, lambda *a: a[0].clone(), "CPU")
lib.define("ok(Tensor(a!) x, Tensor?[] y, int[2] s=1, str m='x', *, ScalarType? d=None, Device? e=None) -> (Tensor, int[])")
lib.impl("ok", lambda x, y, s=1, m="x", *, d=None, e=None: (x.clone(), [1]), "CPU")
torch.library.impl("m1::g", "cpu", lambda x: x + 1)
# case: implicit composite
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x + 1)  # expect: ATN118
lib.define("g(Tensor x) -> Tensor")
@torch.library.impl(lib, "g")  # expect: ATN118
def g(x):
    return x * 2
lib.define("h(Tensor x) -> Tensor")
lib.impl("h", lambda x: x + 1, "CompositeImplicitAutograd")
keyed = torch.library.Library("m1", "IMPL", "CUDA")
keyed.impl("h", lambda x: x + 1)
# case: two DEF
import torch
a = torch.library.Library("m1", "DEF")
b = torch.library.Library("m1", "FRAGMENT")
c = torch.library.Library("m1", "DEF")  # expect: ATN123
# case: DEF in alternatives
import torch
if torch.cuda.is_available():
    a = torch.library.Library("m1", "DEF")
else:
    a = torch.library.Library("m1", "DEF")
# case: overrides of aten
import torch
lib = torch.library.Library("aten", "IMPL")
lib.impl("add.Tensor", lambda a, b: a, "CPU")  # expect: ATN124
lib.impl("mul.Tensor", lambda a, b: a, "PrivateUse1")
lib.impl("relu", lambda a: a, "Meta")
@torch.library.impl("aten::sin", "cuda")  # expect: ATN124
def sin(x):
    return x.cos()
# case: one of several fragments was forgotten
import torch
torch.library.define("m1::f", "(Tensor x) -> Tensor")
torch.library.define("m1::g", "(Tensor x) -> Tensor")  # expect: ATN101
@torch.library.impl("m1::f", "cpu")
def f(x):
    return x + 1
# case: a file of definitions only
import torch
torch.library.define("m1::f", "(Tensor x) -> Tensor")
torch.library.define("m1::g", "(Tensor x) -> Tensor")
# case: a name that is assigned anew for each operator
import torch
lib = torch.library.Library("m1", "DEF")
name = "f"
lib.define(f"{name}(Tensor x) -> Tensor")
lib.impl(name, lambda x: x + 1, "CPU")
name = "g"
lib.define(f"{name}(Tensor x) -> Tensor")
lib.impl("h", lambda x: x + 1, "CPU")  # expect: ATN110
lib.impl(name, lambda x: x + 1, "CPU")
# case: opaque types
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(torch.distributed.device_mesh.DeviceMesh mesh, int dim) -> Tensor")
lib.impl("f", lambda mesh, dim: torch.ones(1), "CompositeExplicitAutograd")
lib.define("g(torch.dtype d) -> Tensor")  # expect: ATN116
lib.impl("g", lambda d: torch.ones(1), "CompositeExplicitAutograd")
# case: scoped libraries one after the other
import torch
def run():
    with torch.library._scoped_library("m1", "FRAGMENT") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x.sin(), "CompositeImplicitAutograd")
    with torch.library._scoped_library("m1", "FRAGMENT") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x.cos(), "CompositeImplicitAutograd")
        lib.define("f(Tensor x) -> Tensor")  # expect: ATN111
# case: variables of several functions that hold custom_ops
import torch
def first():
    @torch.library.custom_op("m1::add", mutates_args=())
    def op(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y
    @op.register_fake
    def _(x, y):
        return torch.empty_like(x)
    return op
def second():
    op = torch.library.custom_op("m1::neg", lambda x: -x, mutates_args=(), schema="(Tensor x) -> Tensor")
    @op.register_fake
    def _(x):
        return torch.empty_like(x)
    return op
def third():
    @torch.library.custom_op("m1::mul", mutates_args=())
    def op(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * y
    @op.register_fake
    def _(x):  # expect: ATN106
        return torch.empty_like(x)
    return op
# case: a test that tries kernels of one name
# file: tests/test_kernels.py
import torch
def test_mutation():
    @torch.library.custom_op("m1::f", mutates_args=())
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.clone()
    @f.register_fake
    def _(x):
        return torch.empty_like(x)
    @torch.library.custom_op("m1::f", mutates_args=())
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1
    @f.register_fake
    def _(x):
        return torch.empty_like(x)
    @f.register_fake  # expect: ATN111
    def _(x):
        return torch.empty_like(x)
# case: a kernel without a key and an operator without a tensor
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("seed(int value) -> ()")
lib.define("state() -> int")
lib.define("scale(Tensor x, int value) -> Tensor")
lib.impl("seed", lambda value: None)
@torch.library.impl(lib, "state", "")
def state():
    return 1
lib.impl("scale", lambda x, value: x * value)  # expect: ATN118
