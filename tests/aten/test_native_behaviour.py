"""Bad C++ examples of the ATN pages, compiled and loaded: torch behaves as the page says.

A minute an example, so only with KEXEC_LINT_BUILD_CPP=1 and a compiler. CUDA examples need a GPU and are left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kexec_lint import rulebook

if not os.environ.get("KEXEC_LINT_BUILD_CPP") or shutil.which("g++") is None:
    pytest.skip("set KEXEC_LINT_BUILD_CPP=1 and have g++", allow_module_level=True)
torch = pytest.importorskip("torch", reason="needs torch: pip install 'kexec-lint[export]'")

EXPECTED = {
    # code, index: (compiler's words or "", Python after loading, words in what it prints or in how it ends)
    ("ATN201", 0): ("", "torch.ops.page201.gain(torch.ones(1), 2.0)", "Could not run 'page201::gain'"),
    ("ATN202", 0): ("", "print(torch._C._dispatch_find_dangling_impls())", "page202::gian"),
    ("ATN203", 0): ("redefinition", "", ""),
    ("ATN204", 0): (
        "",
        "torch.ops.page204.total(torch.ones(4, device='meta'))",
        "died|not allocated",
    ),
    ("ATN205", 0): ("float|double", "", ""),
    ("ATN205", 1): ("", "pass", "doesn't match the expected function schema|mismatch"),
    ("ATN207", 0): ("", "torch.ops.page207.first(torch.ones(1, dtype=torch.half))", "expected scalar type Float"),
    ("ATN210", 0): (
        "",
        "print(torch.ops.page210.gain(torch.ones(1, requires_grad=True)).requires_grad)",
        "False",
    ),
}


def _build(target: Path, *sources: Path) -> subprocess.CompletedProcess[str]:
    root = Path(torch.__file__).parent
    return subprocess.run(
        ["g++", "-std=c++20", "-O0", "-shared", "-fPIC", f"-I{root}/include",
         f"-I{root}/include/torch/csrc/api/include", *map(str, sources), "-o", str(target), f"-L{root}/lib",
         "-ltorch", "-ltorch_cpu", "-lc10"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(("code", "index"), sorted(EXPECTED))
def test_torch_behaves_as_the_page_says(code: str, index: int, tmp_path: Path) -> None:
    import re

    bad = [e for e in rulebook.load()[code].examples() if e.bad and e.language == "cpp"]
    compiler_says, probe, says = EXPECTED[(code, index)]
    source = tmp_path / "example.cpp"
    source.write_text(bad[index].text, encoding="utf-8")
    target = tmp_path / "example.so"
    build = _build(target, source)
    if compiler_says:
        assert build.returncode != 0
        assert re.search(compiler_says, build.stderr)
        return
    assert build.returncode == 0, build.stderr[-2000:]
    run = subprocess.run(
        [sys.executable, "-c", f"import torch\ntorch.ops.load_library({str(target)!r})\n{probe}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    ended = "died" if run.returncode < 0 else ""
    assert re.search(says, run.stdout + run.stderr + ended), (run.returncode, run.stdout, run.stderr[-2000:])


def test_two_blocks_in_two_files_of_one_extension_end_the_process(tmp_path: Path) -> None:
    sources = [tmp_path / "a.cpp", tmp_path / "b.cpp"]
    for source in sources:
        source.write_text(
            "#include <ATen/ATen.h>\n#include <torch/library.h>\n"
            f'TORCH_LIBRARY(page203two, m) {{ m.def("{source.stem}(Tensor x) -> Tensor"); }}\n',
            encoding="utf-8",
        )
    target = tmp_path / "example.so"
    build = _build(target, *sources)
    assert build.returncode == 0, build.stderr[-2000:]
    load = f"import torch\ntry:\n    torch.ops.load_library({str(target)!r})\nexcept Exception:\n    print('caught')"
    run = subprocess.run([sys.executable, "-c", load], capture_output=True, text=True, check=False)
    assert run.returncode < 0
    assert "Only a single TORCH_LIBRARY" in run.stderr
    assert "caught" not in run.stdout
