"""Real objects linked by a real linker: what a map and an executable say about registered kernels."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kexec_lint.executorch import tables
from kexec_lint.executorch.build import assemble
from kexec_lint.executorch.checks import registry
from kexec_lint.executorch.readers import detect

RELEASE = tables.load("1.4.1")
KERNEL = """
struct Tensor {{ int size; }};
struct KernelRuntimeContext {{ int error; }};
namespace torch {{ namespace executor {{ namespace native {{
Tensor& {name}(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {{
  for (int i = 0; i < in.size; ++i) out.size += in.size * i + context.error;
  return out;
}}
}}}}}}
"""
REGISTRATION = """
struct Tensor;
struct KernelRuntimeContext;
namespace torch { namespace executor { namespace native {
Tensor& add_out(KernelRuntimeContext&, const Tensor&, Tensor&);
Tensor& relu_out(KernelRuntimeContext&, const Tensor&, Tensor&);
}}}
using Function = Tensor& (*)(KernelRuntimeContext&, const Tensor&, Tensor&);
extern void register_kernel(const char*, Function);
static int registered = (register_kernel("aten::add.out", torch::executor::native::add_out),
                         register_kernel("aten::relu.out", torch::executor::native::relu_out), 2);
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
        "op_add": KERNEL.format(name="add_out"),
        "op_relu": KERNEL.format(name="relu_out"),
        "op_mul": KERNEL.format(name="mul_out"),
        "RegisterCodegenUnboxedKernelsEverything": REGISTRATION,
        "main": MAIN,
        "uses": USES,
    }
    for name, text in sources.items():
        (folder / f"{name}.cpp").write_text(text)
        flags = ("-O1", "-fno-inline", "-ffunction-sections")
        run("g++", *flags, "-c", f"{name}.cpp", "-o", f"{name}.cpp.o", cwd=folder)
    objects = ["op_add.cpp.o", "op_relu.cpp.o", "op_mul.cpp.o", "RegisterCodegenUnboxedKernelsEverything.cpp.o"]
    run("ar", "rcs", "libops.a", *objects, cwd=folder)
    gc = "-Wl,--gc-sections"
    whole = ("-Wl,--whole-archive", "libops.a", "-Wl,--no-whole-archive")
    run("g++", "main.cpp.o", *whole, gc, "-Wl,-Map=whole.map", "-o", "whole", cwd=folder)
    run("g++", "main.cpp.o", "uses.cpp.o", "libops.a", gc, "-Wl,-Map=plain.map", "-o", "plain", cwd=folder)
    return folder


def operators(path: Path) -> set[str]:
    return {entry.operator for part in detect.read(str(path), RELEASE) for entry in part.registered}


def test_map_of_a_whole_archive(built: Path) -> None:
    assert operators(built / "whole.map") == {"aten::add.out", "aten::relu.out"}


def test_map_gives_exact_bytes(built: Path) -> None:
    [part] = detect.read(str(built / "whole.map"), RELEASE)
    sizes = {entry.operator: entry.bytes for entry in part.registered}
    nm = subprocess.run(["nm", "-S", "whole"], cwd=built, capture_output=True, text=True, check=True).stdout
    real = next(int(line.split()[1], 16) for line in nm.splitlines() if "7add_out" in line and " T " in line)
    assert sizes["aten::add.out"] is not None
    assert abs(sizes["aten::add.out"] - real) <= 16


def test_map_without_registration_is_stripped(built: Path) -> None:
    parts = detect.read(str(built / "plain.map"), RELEASE)
    assert operators(built / "plain.map") == set()
    found = list(registry.stripped(assemble("plain.map", parts, RELEASE)))
    assert [finding.code for finding in found] == ["EXT117"]
    assert "aten::add.out" in found[0].message


def test_names_in_an_executable(built: Path) -> None:
    assert operators(built / "whole") == {"aten::add.out", "aten::relu.out"}
    assert operators(built / "plain") == set()
