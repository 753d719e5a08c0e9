"""PyOpenCL as programs get at it: tried, imported on some paths only, handed on by a module; below long top levels."""

from __future__ import annotations

from pathlib import Path

import pytest

import kexec_lint

USE = """
def run(ctx, host):
    queue = cl.CommandQueue(
        ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    there = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, host.nbytes)
    other = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, host.nbytes)
    up = cl.enqueue_copy(queue, there, host, is_blocking=False)
    cl.enqueue_copy(queue, other, there){wait}
"""

WAYS = {
    "tried": "try:\n    import pyopencl as cl\nexcept ImportError:\n    cl = None\n",
    "again on one path": (
        "from . import backend\ntry:\n    import pyopencl as cl\nexcept ImportError:\n    cl = None\n"
        "if backend is not None:\n    import pyopencl as cl\n    import pyopencl.array\n"
    ),
    "from either": "try:\n    from . import pyopencl as cl\nexcept ImportError:\n    import pyopencl as cl\n",
    "handed on": "from .lazy import pyopencl as cl\n",
    "handed on by the package": "from . import pyopencl as cl\n",
}
FILES = {
    "__init__.py": "def __getattr__(name):\n    from . import lazy\n    return getattr(lazy, name)\n",
    "backend.py": "",
    "lazy.py": "import importlib\n\ndef __getattr__(name):\n    return importlib.import_module(name)\n",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ordered", [True, False])
def test_however_it_is_imported(tmp_path: Path, way: str, ordered: bool) -> None:
    package = tmp_path / "package"
    package.mkdir()
    for name, text in FILES.items():
        (package / name).write_text(text)
    use = USE.replace("there){wait}", "there, wait_for=[up])" if ordered else "there)")
    (package / "program.py").write_text(WAYS[way] + use)
    found = kexec_lint.check([str(package)], isolated=True)
    assert [finding.code for finding in found] == ([] if ordered else ["OCL101"])


def test_what_stands_below_a_long_top_level(tmp_path: Path) -> None:
    table = "".join(f"TABLE[{number}] = compute({number}, TABLE)\n" for number in range(600))
    text = "import pyopencl as cl\nTABLE = {}\n" + table + USE.replace("{wait}", "") + "\nclass Late:\n"
    text += "    def run(self, ctx, host):\n        return run(ctx, host)\n"
    (tmp_path / "long.py").write_text(text)
    assert [finding.code for finding in kexec_lint.check([str(tmp_path)], isolated=True)] == ["OCL101"]
