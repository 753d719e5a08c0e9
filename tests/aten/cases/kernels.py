# case: arity
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x, int k, *, bool b=False) -> Tensor")
def missing(x):  # expect: ATN106
    return x + 1
def extra(x, k, z, *, b=False):  # expect: ATN106
    return x + 1
def named(x, k, *, flag=False):  # expect: ATN106
    return x + 1
def right(x, k, *, b=False):
    return x + 1
def stars(*args, **kwargs):
    return args[0] + 1
def more(x, k, *, b=False, extra=None):
    return x + 1
lib.impl("f", missing, "CPU")
lib.impl("f", extra, "CUDA")
lib.impl("f", named, "XPU")
lib.impl("f", right, "MPS")
lib.impl("f", stars, "HPU")
lib.impl("f", more, "XLA")
# case: key sets, partials and decorated kernels
import functools
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")
def with_keys(keyset, x):
    return x + 1
def base(x, scale):
    return x * scale
def log(fn):
    return lambda *a: fn(*a)
@log
def wrapped():
    return 1
lib.impl("f", with_keys, "CPU", with_keyset=True)
lib.impl("f", functools.partial(base, scale=2), "CUDA")
lib.impl("f", wrapped, "XPU")
# case: order and annotations
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor a, Tensor b, int k) -> Tensor")
def swapped(b, a, k):  # expect: ATN106
    return a - b
lib.impl("f", swapped, "CPU")
def typed(a: torch.Tensor, b: int, k: torch.Tensor) -> torch.Tensor:  # expect: ATN106
    return a + 1
lib.impl("f", typed, "CUDA")
def renamed(self, other, n: float):
    return self + other
lib.impl("f", renamed, "XPU")
# case: what custom_op cannot infer
import torch
from torch import Tensor
@torch.library.custom_op("m1::f", mutates_args=())
def f(x, k: int) -> Tensor:  # expect: ATN106
    return x + 1
@torch.library.custom_op("m1::g", mutates_args=())
def g(x: Tensor):  # expect: ATN106
    return x + 1
@torch.library.custom_op("m1::h", mutates_args=("y",))  # expect: ATN106
def h(x: Tensor) -> Tensor:
    return x + 1
@torch.library.custom_op("m1::i", mutates_args="unknown")
def i(x: Tensor, dtype: torch.dtype, sizes: list[int] | None = None) -> tuple[Tensor, Tensor]:
    return x + 1, x + 2
@torch.library.custom_op("m1::j", mutates_args=(), schema="(Tensor x) -> Tensor")
def j(x):
    return x + 1
# case: fake and backward signatures
import torch
from torch import Tensor
@torch.library.custom_op("m1::f", mutates_args=())
def f(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    return x + k, x - k
@f.register_fake
def _(x):  # expect: ATN106
    return torch.empty_like(x), torch.empty_like(x)
def backward(ctx, grad):  # expect: ATN106
    return grad, None
f.register_autograd(backward)
# case: defaults
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x, int k=2, float eps=1e-5, int[] d=[1, 2], str m='sum', bool b=True, Tensor? t=None) -> Tensor")
def same(x, k=2, eps=1e-05, d=(1, 2), m="sum", b=True, t=None):
    return x + k + eps
def other(x, k=2, eps=1e-5, d=[1, 2], m="mean", b=True, t=None):  # expect: ATN107
    return x + 1 if m == "mean" else x + 2
lib.impl("f", same, "CPU")
lib.impl("f", other, "CUDA")
# case: defaults of custom_op kernels
import torch
from torch import Tensor
@torch.library.custom_op("m1::f", mutates_args=())
def f(x: Tensor, k: int = 2) -> Tensor:
    return x + k
@f.register_kernel("cuda")
def _(x, k=3):  # expect: ATN107
    return x * k
@f.register_fake
def _(x, k=0):
    return torch.empty_like(x)
# case: writes
import torch
from torch import Tensor
lib = torch.library.Library("m1", "DEF")
lib.define("a(Tensor x) -> Tensor")
lib.define("b(Tensor x, Tensor(a!) y) -> Tensor")
lib.define("c(Tensor[] xs) -> Tensor")
lib.define("d(Tensor x, int n) -> Tensor")
def a_cpu(x):
    torch.relu_(x)  # expect: ATN108
    return x.clone()
def b_cpu(x, y):
    torch.add(x, 1, out=y)
    return y + 1
def b_cuda(x, y):
    torch.add(y, 1, out=x)  # expect: ATN108
    return y + 1
def c_cpu(xs):
    xs[0] = xs[0] + 1  # expect: ATN108
    return xs[0].sum()
def d_cpu(x, n):
    n += 1
    x = x.contiguous().clone()
    x += n
    x[0] = 1
    out = torch.empty_like(x)
    out.copy_(x)
    out[0] = 2
    return out
def d_cuda(x, n):
    v = x.t()
    v.zero_()  # expect: ATN108
    return v.clone()
def d_xpu(x, n):
    x += n  # expect: ATN108
    return x + 0
lib.impl("a", a_cpu, "CPU")
lib.impl("b", b_cpu, "CPU")
lib.impl("b", b_cuda, "CUDA")
lib.impl("c", c_cpu, "CPU")
lib.impl("d", d_cpu, "CPU")
lib.impl("d", d_cuda, "CUDA")
lib.impl("d", d_xpu, "XPU")
# case: results that are arguments
import torch
from torch import Tensor
lib = torch.library.Library("m1", "DEF")
lib.define("a(Tensor x) -> Tensor")
lib.define("b(Tensor(a) x) -> Tensor(a)")
lib.define("c(Tensor(a!) x) -> Tensor(a!)")
lib.define("d(Tensor x, Tensor y) -> (Tensor, Tensor)")
lib.impl("a", lambda x: x.transpose(0, 1), "CPU")  # expect: ATN109
lib.impl("a", lambda x: x.transpose(0, 1), "CompositeImplicitAutograd")
lib.impl("b", lambda x: x.view(-1), "CPU")
lib.impl("c", lambda x: x.add_(1), "CPU")
def d(x, y):
    return x + 1, y.detach()  # expect: ATN109
lib.impl("d", d, "CPU")
@torch.library.custom_op("m1::e", mutates_args=())
def e(x: Tensor, flag: bool) -> Tensor:
    if flag:
        return x.contiguous()  # expect: ATN109
    y = x.reshape(-1).clone()
    return y
@torch.library.custom_op("m1::g", mutates_args=())
def g(x: Tensor, n: int) -> Tensor:
    x = x * 2
    return x
@torch.library.custom_op("m1::h", mutates_args=())
def h(xs: list[Tensor], n: int) -> Tensor:
    return torch.cat(xs)
# case: returns
import torch
from torch import Tensor
@torch.library.custom_op("m1::a", mutates_args=())
def a(x: Tensor) -> Tensor:  # expect: ATN122
    try:
        return x + 1
    except RuntimeError:
        print("failed")
@torch.library.custom_op("m1::b", mutates_args=())
def b(x: Tensor, n: int) -> Tensor:
    if n == 0:
        return x + 1
    elif n == 1:
        raise ValueError
    else:
        with torch.no_grad():
            return x * 2
@torch.library.custom_op("m1::c", mutates_args=("x",))
def c(x: Tensor) -> None:
    x.add_(1)
@torch.library.custom_op("m1::d", mutates_args=())
def d(x: Tensor) -> tuple[Tensor, Tensor]:
    return x + 1, x + 2, x + 3  # expect: ATN122
@torch.library.custom_op("m1::e", mutates_args=())
def e(x: Tensor) -> list[Tensor]:
    return [x + 1, x + 2]
@torch.library.custom_op("m1::f", mutates_args=())
def f(x: Tensor, n: int) -> Tensor:
    while True:
        n += 1
        if n > 3:
            return x + n
@e.register_fake
def _(x):
    return None  # expect: ATN122
# case: formulas for operators that write
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor(a!) x) -> ()")
lib.impl("f", lambda x: write(x), "CPU")
torch.library.register_autograd("m1::f", lambda ctx: None)  # expect: ATN119
# case: fakes and data
import torch
from torch import Tensor
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x, int n, Tensor idx) -> Tensor")
lib.impl("f", lambda x, n, idx: x + 1, "CPU")
@torch.library.register_fake("m1::f")
def _(x, n, idx):
    if n > 3 or x.dim() == 2 or x.shape[0] == 1 or x.dtype == torch.float32 or x.is_cuda:
        n = int(n)
    torch._check(idx.numel() > 0)
    size = int(idx.max())  # expect: ATN120
    assert (idx >= 0).all()  # expect: ATN120
    return x.new_empty(size, n)
# case: fakes that only look at metadata
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x, Tensor? m, float s, int[] sizes) -> Tensor")
lib.impl("f", lambda x, m, s, sizes: x + 1, "CUDA")
@torch.library.register_fake("m1::f")
def _(x, m, s, sizes):
    ctx = torch.library.get_ctx()
    n = ctx.new_dynamic_size()
    torch._check(n <= x.size(0))
    if m is None or s > 0.5 or sizes[0] > 2 or len(sizes) == 2:
        return torch.empty((n,), dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return torch.zeros_like(x)
    mask = torch.ones(3)
    return torch.empty_strided(x.size(), x.stride(), dtype=x.dtype, device=x.device)
# case: fakes with the wrong device
import torch
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> (Tensor, Tensor)")
lib.impl("f", lambda x: (x + 1, x + 2), "CUDA")
@torch.library.register_fake("m1::f")
def _(x):
    out = torch.zeros(x.size(0), dtype=x.dtype)  # expect: ATN121
    return out, torch.empty(1)  # expect: ATN121
# case: recursion
import torch
from torch import Tensor
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x, int n) -> Tensor")
def f(x, n):
    y = torch.ops.m1.f(x, n)  # expect: ATN125
    return y
lib.impl("f", f, "CPU")
def auto(x, n):
    with torch.no_grad():
        return torch.ops.m1.f(x, n)  # expect: ATN125
lib.impl("f", auto, "Autograd")
def halves(x, n):
    if n == 0:
        return x + 0
    return torch.ops.m1.f(x, n - 1)
lib.impl("f", halves, "CUDA")
def moved(x, n):
    return torch.ops.m1.f(x.cpu(), n).to(x.device)
lib.impl("f", moved, "XPU")
def below(keys, x, n):
    return torch.ops.m1.f.default.redispatch(keys, x, n)
lib.impl("f", below, "AutogradXPU", with_keyset=True)
@torch.library.custom_op("m1::g", mutates_args=())
def g(x: Tensor) -> Tensor:
    return g(x)  # expect: ATN125
# case: autograd.Function
import torch
from torch import Tensor
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1
    @staticmethod
    def backward(ctx, g):
        return g
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: F.apply(x), "CUDA")  # expect: ATN127
lib.define("recorded(Tensor x) -> Tensor")
lib.impl("recorded", lambda x: F.apply(x), "CUDA")
lib.impl("recorded", lambda x: F.apply(x), "Autograd")
lib.define("elsewhere(Tensor x) -> Tensor")
lib.impl("elsewhere", lambda x: F.apply(x), "CUDA")  # expect: ATN127
lib.impl("elsewhere", lambda x: F.apply(x), "AutogradCPU")
def outside(x):
    return F.apply(x)
# case: device mixes
import torch
def a(n):
    x = torch.randn(n).cuda()
    w = torch.arange(n)  # expect: ATN128
    return torch.where(x > 0, x, w)
def b(n, device):
    x = torch.randn(n, device="cuda")
    w = torch.ones(n, device=device)
    return x + w
def c(n):
    x = torch.randn(n, device="cuda")
    y = torch.ones(n)
    y = y.to(x.device)
    return x + y
def d(n):
    x = torch.randn(n, device="cuda")
    return x * torch.tensor(2.0) + 1
def e(n):
    x = torch.randn(n)
    return x + torch.ones(n)
def f(n):
    index = torch.arange(n)
    x = torch.randn(n, device="cuda")
    return x[index]
def g(n):
    x = torch.randn(n, device="cuda")
    y = torch.ones(n)
    y.copy_(x)
    return y
# case: apply given as the kernel
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1
    @staticmethod
    def backward(ctx, g):
        return g
lib = torch.library.Library("m1", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", F.apply, "CPU")  # expect: ATN127
lib.define("recorded(Tensor x) -> Tensor")
lib.impl("recorded", F.apply, "CPU")
lib.impl("recorded", F.apply, "AutogradCPU")
# case: a placeholder as the kernel returns it
import torch
from . import _C
@torch.library.custom_op("m1::attention", mutates_args=("out",), device_types="cuda")
def attention(q: torch.Tensor, out: torch.Tensor, lse: bool) -> torch.Tensor:
    return _C.attention(q, out, lse)
@torch.library.custom_op("m1::softmax", mutates_args=("out",), device_types="cuda")
def softmax(q: torch.Tensor, out: torch.Tensor, lse: bool) -> torch.Tensor:
    return _C.softmax(q, out, lse)
@torch.library.register_fake("m1::attention")
def _(q, out, lse):
    if lse:
        return torch.empty((q.size(0), q.size(1)), dtype=torch.float32, device=q.device)
    return torch.empty((0))
@torch.library.register_fake("m1::softmax")
def _(q, out, lse):
    if lse:
        return torch.empty((q.size(0), q.size(1)), dtype=torch.float32, device=q.device)
    return torch.empty(0)  # expect: ATN121
# file: attention.cu
#include <torch/extension.h>
torch::Tensor attention(torch::Tensor q, torch::Tensor out, bool return_lse) {
  torch::Tensor lse = torch::empty({0});
  if (return_lse) lse = torch::empty({q.size(0), q.size(1)}, q.options().dtype(torch::kFloat32));
  return lse;
}
torch::Tensor softmax(torch::Tensor q, torch::Tensor out, bool return_lse) {
  torch::Tensor lse = torch::empty({0}, q.options());
  return lse;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("attention", &attention);
  m.def("softmax", &softmax);
}
