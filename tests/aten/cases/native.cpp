// case: definitions and implementations
#include <torch/library.h>
at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) {
  m.def("f(Tensor x) -> Tensor");
  m.def("g(Tensor x) -> Tensor");  // expect: ATN201
  m.def("h(Tensor x) -> Tensor", &f);
  m.def("i(Tensor x) -> Tensor", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(f)));
  m.def("j(Tensor x) -> Tensor");
  m.impl("j", torch::kCUDA, &f);
}
TORCH_LIBRARY_IMPL(m1, CPU, m) {
  m.impl("f", TORCH_FN(f));
  m.impl("m1::k", TORCH_FN(f));  // expect: ATN202
}
// case: kernels behind a build flag
#include <torch/library.h>
at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) {
  m.def("f(Tensor x) -> Tensor");
}
#ifdef WITH_CUDA
TORCH_LIBRARY_IMPL(m1, CUDA, m) {
  m.impl("f", &f);
}
#endif
// case: fragment of another library's namespace
#include <torch/library.h>
at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY_FRAGMENT(m1, m) {
  m.def("f(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(m1, CPU, m) {
  m.impl("other", &f);
}
// case: macros and helpers
#include <torch/library.h>
at::Tensor f(const at::Tensor& x) { return x + 1; }
static void more(torch::Library& m) { m.def("g(Tensor x) -> Tensor"); }
TORCH_LIBRARY(m1, m) {
  m.def("f(Tensor x) -> Tensor");
  more(m);
}
TORCH_LIBRARY_IMPL(m1, CPU, m) {
  m.impl("f", &f);
  m.impl("g", &f);
}
TORCH_LIBRARY(m2, m) {
  m.def("f(Tensor x) -> Tensor");
  REGISTER_KERNELS(m);
}
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("f(Tensor x) -> Tensor");
  ops.impl("f", torch::kCPU, &f);
}
// case: two blocks
#include <torch/library.h>
at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }  // expect: ATN203
// case: two blocks of which one is compiled
#include <torch/library.h>
at::Tensor f(const at::Tensor& x) { return x + 1; }
#ifdef FAST
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
#else
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
#endif
// case: composite that reaches memory through a helper
#include <torch/library.h>
static void loop(const at::Tensor& x, at::Tensor& y) {
  TORCH_CHECK(x.scalar_type() == at::kFloat);
  const float* a = x.data_ptr<float>();
  y.data_ptr<float>()[0] = a[0];
}
at::Tensor f(const at::Tensor& x) {
  auto y = at::empty_like(x);
  loop(x, y);
  return y;
}
at::Tensor g(const at::Tensor& x) { return at::relu(x).sum(); }
TORCH_LIBRARY(m1, m) {
  m.def("f(Tensor x) -> Tensor", &f);  // expect: ATN204
  m.def("g", &g);
  m.def("version() -> int", []() -> int64_t { return 3; });
}
// case: types
#include <torch/library.h>
at::Tensor a(const at::Tensor& x, int k) { return x; }  // expect: ATN205
at::Tensor b(const at::Tensor& x, double k) { return x; }  // expect: ATN205
at::Tensor c(at::TensorList xs, std::optional<double> k) { return xs[0]; }
at::Tensor d(const at::Tensor& x) { return x; }  // expect: ATN205
at::Tensor e(const at::Tensor& x, const std::string& s, c10::string_view t, bool f, const std::vector<int64_t>& n) {
  return x;
}
at::Tensor g(const std::optional<at::Tensor>& x, at::ScalarType d, c10::SymInt n) { return *x; }
TORCH_LIBRARY(m1, m) {
  m.def("a(Tensor x, int k) -> Tensor");
  m.def("b(Tensor x, int k) -> Tensor");
  m.def("c(Tensor[] xs, float? k) -> Tensor");
  m.def("d(Tensor x, int k) -> Tensor");
  m.def("e(Tensor x, str s, str t, bool f, int[] n) -> Tensor");
  m.def("g(Tensor? x, ScalarType d, SymInt n) -> Tensor");
}
TORCH_LIBRARY_IMPL(m1, CPU, m) {
  m.impl("a", &a);
  m.impl("b", &b);
  m.impl("c", &c);
  m.impl("d", &d);
  m.impl("e", &e);
  m.impl("g", &g);
}
// case: writes
#include <torch/library.h>
void a(at::Tensor& x, const at::Tensor& y) {
  x.add_(y);  // expect: ATN205
}
void b(at::Tensor& x, const at::Tensor& y) { x.add_(y); }
at::Tensor c(at::Tensor x) {
  x = x.clone();
  x.add_(1);
  return x;
}
TORCH_LIBRARY(m1, m) {
  m.def("a(Tensor x, Tensor y) -> ()");
  m.def("b(Tensor(a!) x, Tensor y) -> ()");
  m.def("c(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(m1, CPU, m) {
  m.impl("a", &a);
  m.impl("b", &b);
  m.impl("c", &c);
}
// case: dtypes
#include <ATen/ATen.h>
#include <torch/library.h>
at::Tensor a(const at::Tensor& x) {
  return at::scalar_tensor(x.data_ptr<float>()[0]);  // expect: ATN207
}
at::Tensor b(const at::Tensor& x) {
  CHECK_INPUT(x);
  return at::scalar_tensor(x.data_ptr<float>()[0]);
}
at::Tensor c(const at::Tensor& x, const at::Tensor& index) {
  auto out = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "c", [&] {
    out.data_ptr<scalar_t>()[0] = x.data_ptr<scalar_t>()[index.data_ptr<int64_t>()[0]];
  });
  return out;
}
at::Tensor d(const at::Tensor& x) {
  auto y = x.to(at::kFloat).contiguous();
  return at::scalar_tensor(y.data_ptr<float>()[0]);
}
at::Tensor e(const at::Tensor& x) {
  auto out = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "e", [&] { run<scalar_t>(x, out); });  // expect: ATN207
  return out;
}
TORCH_LIBRARY(m1, m) {
  m.def("a(Tensor x) -> Tensor");
  m.def("b(Tensor x) -> Tensor");
  m.def("c(Tensor x, Tensor index) -> Tensor");
  m.def("d(Tensor x) -> Tensor");
  m.def("e(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(m1, CPU, m) {
  m.impl("a", &a);
  m.impl("b", &b);
  m.impl("c", &c);
  m.impl("d", &d);
}
TORCH_LIBRARY_IMPL(m1, CUDA, m) {
  m.impl("e", &e);
}
// case: launches
// file: k.cu
#include <ATen/ATen.h>
__global__ void k(float* x) { x[0] = 1; }
void a(at::Tensor& x) {
  auto stream = at::cuda::getCurrentCUDAStream();
  k<<<1, 1, 0, stream>>>(x.data_ptr<float>());  // expect: ATN209
}
void b(at::Tensor& x) {
  k<<<1, 1>>>(x.data_ptr<float>());  // expect: ATN209
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
void c(at::Tensor& x) {
  k<<<dim3(1, 2), dim3(1), 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>());
  AT_CUDA_CHECK(cudaGetLastError());
}
void launcher(float* x, cudaStream_t s) { k<<<1, 1, 0, s>>>(x); }
// case: fallthrough
#include <torch/library.h>
at::Tensor f(const at::Tensor& x) { return vendor_run(x); }
at::Tensor h(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) {
  m.def("f(Tensor x) -> Tensor");
  m.def("g(Tensor(a!) x) -> ()");
  m.def("h(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(m1, CPU, m) {
  m.impl("f", &f);
  m.impl("h", &h);
  m.impl("g", [](at::Tensor& x) { x.zero_(); });
}
TORCH_LIBRARY_IMPL(m1, Autograd, m) {
  m.impl("f", torch::CppFunction::makeFallthrough());  // expect: ATN210
  m.impl("g", torch::CppFunction::makeFallthrough());
  m.impl("h", torch::CppFunction::makeFallthrough());
}
// case: pybind
// file: p.cpp
#include <torch/extension.h>
at::Tensor f(const at::Tensor& x) { return x + 1; }
int64_t version() { return 3; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("f", &f, "doc");  // expect: ATN206
  m.def("version", &version);
}
// case: build beside
// file: setup.py
from torch.utils.cpp_extension import CUDAExtension
ext = CUDAExtension("m1", ["csrc/a.cpp", "csrc/b.cu"])
// file: csrc/a.cpp
#include <torch/library.h>
at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(m1, CUDA, m) { m.impl("f", &f); }
// file: csrc/c.cu
#include <torch/library.h>
at::Tensor f2(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY_IMPL(m1, CUDA, m) { m.impl("f", &f2); }  // expect: ATN208
// case: build by pattern
// file: setup.py
from glob import glob
from torch.utils.cpp_extension import CUDAExtension
ext = CUDAExtension("m1", glob("csrc/*.cu") + ["a.cpp"])
// file: csrc/c.cu
#include <torch/library.h>
at::Tensor f2(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY_IMPL(m1, CUDA, m) { m.impl("f", &f2); }
// case: raw strings, concatenation and old registrations
#include <torch/library.h>
at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) {
  m.def(R"(f(Tensor x) -> Tensor)");
  m.def("g(Tensor x"
        ") -> Tensor");
  m.def(TORCH_SELECTIVE_SCHEMA("h(Tensor x) -> Tensor"));
}
TORCH_LIBRARY_IMPL(m1, CPU, m) {
  m.impl("f", &f);
  m.impl(TORCH_SELECTIVE_NAME("g"), &f);
  m.impl("m1::h", &f);
}
static auto registry = torch::RegisterOperators("m2::f", &f);
// case: a key in another spelling
#include <torch/library.h>
at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(m1, Cpu, m) { m.impl("f", &f); }  // expect: ATN115
TORCH_LIBRARY_IMPL(m1, MY_KEY, m) { m.impl("f", &f); }
// case: composites and what only looks like one
#include <torch/library.h>
at::Tensor helper(const at::Tensor& x) { return at::relu(x) * 2; }
at::Tensor a(const at::Tensor& x) { TORCH_CHECK(x.dim() == 2); return helper(x).sum(); }
at::Tensor b(const at::Tensor& x) { return vendor_run(x); }
at::Tensor c(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) {
  m.def("a(Tensor x) -> Tensor", &a);
  m.def("b(Tensor x) -> Tensor", &b);  // expect: ATN118
  m.def("c(Tensor x) -> Tensor", &c);  // expect: ATN118
}
TORCH_LIBRARY_IMPL(m1, Meta, m) { m.impl("c", &c); }
// case: launches that a caller or a helper checks
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
__global__ void k(float* x) { x[0] = 1; }
template <typename T>
static void launch(at::Tensor& x, cudaStream_t stream) {
  k<<<1, 1, 0, stream>>>(x.data_ptr<float>());
}
void checked_by_its_caller(at::Tensor& x) {
  TORCH_CHECK(x.is_cuda() && x.scalar_type() == at::kFloat);
  launch<float>(x, at::cuda::getCurrentCUDAStream());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
void checked_by_a_helper(at::Tensor& x) {
  k<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>());
  check_cuda_launch("k");
}
static void unchecked(at::Tensor& x, cudaStream_t stream) {
  k<<<1, 1, 0, stream>>>(x.data_ptr<float>());  // expect: ATN209
}
void one_checks(at::Tensor& x) {
  unchecked(x, at::cuda::getCurrentCUDAStream());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
void another_does_not(at::Tensor& x) {
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  unchecked(x, at::cuda::getCurrentCUDAStream());
}
// case: operators without a tensor have no device
#include <torch/library.h>
static int64_t probe(const at::Tensor& x) { return x.data_ptr<int64_t>()[0]; }
int64_t from_file(std::string path) { return probe(at::ones({1}, at::kLong)); }
int64_t from_memory(const at::Tensor& x) { return probe(x); }
void keep(std::string path, std::optional<at::Tensor> x) { open_device(path); }
void reset(int64_t device) { open_device(device); }
TORCH_LIBRARY(m1, m) {
  m.def("from_file", from_file);
  m.def("from_memory", from_memory);  // expect: ATN204
  m.def("keep", &keep);  // expect: ATN118
  m.def("reset", &reset);
}
// case: pybind11 functions and the device of their tensors
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
__global__ void k(const float* x, float* y) { y[0] = x[0]; }
void blind(const at::Tensor& x, at::Tensor& y) {
  auto stream = at::cuda::getCurrentCUDAStream();
  k<<<1, 1, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>());  // expect: ATN207
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
void checked(const at::Tensor& x, at::Tensor& y) {
  CHECK_CUDA(x);
  k<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
void guarded(const at::Tensor& x, at::Tensor& y) {
  const at::cuda::OptionalCUDAGuard device_guard(device_of(x));
  k<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
void on_the_host(const at::Tensor& x) { fill(x.data_ptr<int64_t>()); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("blind", &blind);
  m.def("checked", &checked);
  m.def("guarded", &guarded);
  m.def("on_the_host", &on_the_host);
}
// case: the dispatcher sees to the device of the only tensor
#include <torch/library.h>
#include <ATen/cuda/CUDAContext.h>
__global__ void k(int* x) { x[0] = 1; }
void f(at::Tensor& x) {
  k<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<int>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
TORCH_LIBRARY(m1, m) { m.def("f(Tensor(a!) x) -> ()"); }
TORCH_LIBRARY_IMPL(m1, CUDA, m) { m.impl("f", &f); }
// case: an autograd function that composes, and ones that do not
#include <torch/library.h>
class Gain : public torch::autograd::Function<Gain> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, const at::Tensor& w) {
    ctx->save_for_backward({w});
    return torch::matmul(w, x);
  }
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx, torch::autograd::variable_list grads) {
    return {torch::matmul(ctx->get_saved_variables()[0].t(), grads[0]), torch::Tensor()};
  }
};
struct Step : torch::autograd::Function<Step> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, at::Tensor x) {
    vendor_step(x);
    return x.clone();
  }
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx, torch::autograd::variable_list grads) {
    return grads;
  }
};
struct Hold : torch::autograd::Function<Hold> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const Holder* holder, at::Tensor x) {
    return holder->forward(x);
  }
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx, torch::autograd::variable_list grads) {
    return grads;
  }
};
at::Tensor gain(const at::Tensor& x, const at::Tensor& w) { return Gain::apply(x, w); }
at::Tensor step(const at::Tensor& x) { return Step::apply(x); }
at::Tensor hold(const at::Tensor& x) { return Hold::apply(current(), x); }
at::Tensor away(const at::Tensor& x) { return Elsewhere::apply(x); }
TORCH_LIBRARY(m1, m) {
  m.def("gain(Tensor x, Tensor w) -> Tensor", &gain);
  m.def("step(Tensor x) -> Tensor", &step);  // expect: ATN118
  m.def("hold(Tensor x) -> Tensor", &hold);  // expect: ATN118
  m.def("away(Tensor x) -> Tensor", &away);  // expect: ATN118
}
// case: kernels that the stable ABI boxes
#include <torch/csrc/stable/library.h>
using torch::stable::Tensor;
Tensor total(Tensor self, int64_t dim, int32_t* dtype) { return call(self, dim, dtype); }
Tensor view(Tensor self, int32_t dtype, int64_t* start) { return call(self, dtype, start); }
Tensor few(Tensor self) { return call(self); }  // expect: ATN205
STABLE_TORCH_LIBRARY(m1, m) {
  m.def("total(Tensor self, int dim, ScalarType? dtype) -> Tensor");
  m.def("view(Tensor self, ScalarType dtype, int? start) -> Tensor");
  m.def("few(Tensor self, int dim) -> Tensor");
}
STABLE_TORCH_LIBRARY_IMPL(m1, CPU, m) {
  m.impl("total", TORCH_BOX(&total));
  m.impl("view", TORCH_BOX(&view));
  m.impl("few", TORCH_BOX(&few));
}
// case: a check after macros that do not parse
#include <torch/extension.h>
void update(at::Tensor x, bool wide) {
  auto stream = at::cuda::getCurrentCUDAStream();
  #define LAUNCH(...) \
  { \
    __VA_ARGS__<<<1, 32, 0, stream>>>((float*) x.data_ptr()); \
  }
  if (wide) LAUNCH(step<64>)
  else      LAUNCH(step<32>)
  if (x.numel() > 8)
  {
    if (wide) LAUNCH(more<64>)
    else      LAUNCH(more<32>)
  }
  else TORCH_CHECK(false, "too small");
  #undef LAUNCH
  cuda_check(cudaPeekAtLastError());
}
void forget(at::Tensor x) {
  auto stream = at::cuda::getCurrentCUDAStream();
  step<32><<<1, 32, 0, stream>>>((float*) x.data_ptr());  // expect: ATN209
}
// case: a check that is a template
#include <torch/extension.h>
template <int block, at::ScalarType kind>
void check_inputs(const at::Tensor& out, const at::Tensor& x) {
  TORCH_CHECK(out.is_cuda() && x.is_cuda() && out.scalar_type() == kind);
}
void quantize(at::Tensor& out, const at::Tensor& x) {
  check_inputs<128, at::ScalarType::Float>(out, x);
  auto stream = at::cuda::getCurrentCUDAStream();
  kernel<128><<<1, 32, 0, stream>>>(out.data_ptr<float>(), x.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
void scale(at::Tensor& out, const at::Tensor& x) {
  auto stream = at::cuda::getCurrentCUDAStream();
  kernel<128><<<1, 32, 0, stream>>>(out.data_ptr<float>(), x.data_ptr<float>());  // expect: ATN207
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("quantize", &quantize);
  m.def("scale", &scale);
}
