"""Real objects linked by a real linker: what a map and an executable say about registered kernels."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kexec_lint.executorch import loading, size, tables
from kexec_lint.executorch.build import assemble
from kexec_lint.executorch.checks import registry
from kexec_lint.executorch.readers import detect

RELEASE = tables.load("1.4.1")
TYPES = """
struct Tensor { int size; };
struct KernelRuntimeContext { int error; };
"""
FUNCTION = """
namespace torch {{ namespace executor {{ namespace native {{
Tensor& {name}(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {{
  for (int i = 0; i < in.size; ++i) out.size += in.size * i + context.error;
  return out;
}}
}}}}}}
"""
KERNELS = {
    "op_add": ["add_out"],
    "op_relu": ["relu_out"],
    "op_mul": ["mul_out"],
    "op_softmax": ["softmax_out"],
    "op_ne": ["ne_tensor_out", "ne_scalar_out"],
}
REGISTRATION = """
struct Tensor;
struct KernelRuntimeContext;
namespace torch { namespace executor { namespace native {
Tensor& add_out(KernelRuntimeContext&, const Tensor&, Tensor&);
Tensor& relu_out(KernelRuntimeContext&, const Tensor&, Tensor&);
Tensor& softmax_out(KernelRuntimeContext&, const Tensor&, Tensor&);
Tensor& ne_tensor_out(KernelRuntimeContext&, const Tensor&, Tensor&);
Tensor& ne_scalar_out(KernelRuntimeContext&, const Tensor&, Tensor&);
}}}
using Function = Tensor& (*)(KernelRuntimeContext&, const Tensor&, Tensor&);
extern void register_kernel(const char*, Function);
static int registered = (register_kernel("aten::add.out", torch::executor::native::add_out),
                         register_kernel("aten::relu.out", torch::executor::native::relu_out),
                         register_kernel("aten::_softmax.out", torch::executor::native::softmax_out),
                         register_kernel("aten::ne.Tensor_out", torch::executor::native::ne_tensor_out),
                         register_kernel("aten::ne.Scalar_out", torch::executor::native::ne_scalar_out), 5);
"""
MAIN = """
#include <cstdio>
struct Tensor;
struct KernelRuntimeContext;
using Function = Tensor& (*)(KernelRuntimeContext&, const Tensor&, Tensor&);
volatile int count;
void register_kernel(const char* name, Function) { std::puts(name); ++count; }
int main() { return count ? 0 : 1; }
"""
# Without the registration object the two kernels are in the binary because something else refers to them.
USES = """
struct Tensor { int size; };
struct KernelRuntimeContext { int error; };
namespace torch { namespace executor { namespace native {
Tensor& add_out(KernelRuntimeContext&, const Tensor&, Tensor&);
}}}
int use() { KernelRuntimeContext c{0}; Tensor t{1}; return torch::executor::native::add_out(c, t, t).size; }
static int used = use();
"""

pytestmark = pytest.mark.skipif(shutil.which("g++") is None or shutil.which("ar") is None, reason="needs g++ and ar")


def run(*command: str, cwd: Path) -> None:
    subprocess.run(command, cwd=cwd, check=True, capture_output=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("link")
    sources = {
        **{file: TYPES + "".join(FUNCTION.format(name=name) for name in names) for file, names in KERNELS.items()},
        "RegisterCodegenUnboxedKernelsEverything": REGISTRATION,
        "main": MAIN,
        "uses": USES,
    }
    for name, text in sources.items():
        (folder / f"{name}.cpp").write_text(text)
        flags = ("-O1", "-fno-inline", "-ffunction-sections")
        run("g++", *flags, "-c", f"{name}.cpp", "-o", f"{name}.cpp.o", cwd=folder)
    objects = [f"{name}.cpp.o" for name in sources if name not in ("main", "uses")]
    run("ar", "rcs", "libops.a", *objects, cwd=folder)
    gc = "-Wl,--gc-sections"
    whole = ("-Wl,--whole-archive", "libops.a", "-Wl,--no-whole-archive")
    run("g++", "main.cpp.o", *whole, gc, "-Wl,-Map=whole.map", "-o", "whole", cwd=folder)
    run("g++", "main.cpp.o", "uses.cpp.o", "libops.a", gc, "-Wl,-Map=plain.map", "-o", "plain", cwd=folder)
    return folder


def operators(path: Path) -> set[str]:
    return {entry.operator for part in detect.read(str(path), RELEASE) for entry in part.registered}


REGISTERED = {"aten::add.out", "aten::relu.out", "aten::_softmax.out", "aten::ne.Tensor_out", "aten::ne.Scalar_out"}
"""Not cortex_m::softmax.out, whose function has the same name in another namespace."""


def test_map_of_a_whole_archive(built: Path) -> None:
    assert operators(built / "whole.map") == REGISTERED


def test_map_gives_exact_bytes(built: Path) -> None:
    [part] = detect.read(str(built / "whole.map"), RELEASE)
    sizes = {entry.operator: entry.bytes for entry in part.registered}
    nm = subprocess.run(["nm", "-S", "whole"], cwd=built, capture_output=True, text=True, check=True).stdout
    real = next(int(line.split()[1], 16) for line in nm.splitlines() if "7add_out" in line and " T " in line)
    assert sizes["aten::add.out"] is not None
    assert abs(sizes["aten::add.out"] - real) <= 16


def test_operators_of_one_object_count_once(built: Path) -> None:
    [build] = loading.load_builds([str(built / "whole.map")], RELEASE)
    costs = {cost.operator: cost for cost in size.costs(build.registered, RELEASE, build)}
    alone, both = costs["aten::add.out"], costs["aten::ne.Tensor_out"]
    assert costs["aten::ne.Scalar_out"].bytes == both.bytes
    assert both.shared == "op_ne"
    assert alone.shared is None
    assert alone.bytes is not None
    assert both.bytes is not None
    assert both.bytes > alone.bytes
    assert size.total([alone, both, costs["aten::ne.Scalar_out"]], RELEASE) == alone.bytes + both.bytes
    assert "≈" not in size.table(list(costs.values()), set(), RELEASE)


def test_map_that_begins_with_a_long_list_of_archive_members(built: Path) -> None:
    text = (built / "whole.map").read_text()
    assert text.startswith("Archive member included")
    head, rest = text.split("\n", 1)
    long = head + "\n" + "libops.a(op_add.cpp.o)\n                              (--whole-archive)\n" * 500 + rest
    (built / "long.map").write_text(long)
    assert operators(built / "long.map") == REGISTERED


def test_map_without_registration_is_stripped(built: Path) -> None:
    parts = detect.read(str(built / "plain.map"), RELEASE)
    assert operators(built / "plain.map") == set()
    found = list(registry.stripped(assemble("plain.map", parts, RELEASE)))
    assert [finding.code for finding in found] == ["EXT117"]
    assert "aten::add.out" in found[0].message


def test_names_in_an_executable(built: Path) -> None:
    assert operators(built / "whole") == REGISTERED
    assert operators(built / "plain") == set()
