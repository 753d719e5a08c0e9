"""Plug-ins: the example package installed by pip, and packages that are broken in their ways."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent / "data" / "plugin"
HOST = """\
import numpy as np
import pyopencl as cl
import acme

ctx = cl.create_some_context()
queue = cl.CommandQueue(ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
host = np.zeros(16, np.float32)
x = cl.Buffer(ctx, cl.mem_flags.READ_ONLY, 64)
y = cl.Buffer(ctx, cl.mem_flags.READ_ONLY, 64)
up = cl.enqueue_copy(queue, x, host, is_blocking=False)
acme.blur(queue, x, y)
acme.settle(queue)
cl.enqueue_copy(queue, host, y, is_blocking=True)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package, built and installed by pip."""
    pytest.importorskip("hatchling", reason="needs hatchling, which builds the example: pip install hatchling")
    target = tmp_path_factory.mktemp("installed") / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(EXAMPLE)], check=True, capture_output=True)
    return target


@pytest.fixture
def lint(tmp_path: Path):
    """Run the command with a folder of further packages; return its exit code and output."""
    (tmp_path / "host.py").write_text(HOST)

    def go(packages: Path | None, *arguments: str) -> tuple[int, str]:
        paths = [str(packages)] if packages else []
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "KEXEC_LINT_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-m", "kexec_lint", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return go


def test_the_example_brings_a_rule_and_models_as_long_as_it_is_installed(lint, site: Path):
    check = ("check", "host.py", "--output-format", "concise")
    assert lint(None, *check)[0] == 0
    for _ in ("anew", "from the cache"):
        code, text = lint(site, *check)
        assert code == 1
        assert "host.py:11:1: OCL101 " in text  # acme.blur reads what the upload may still write
        assert "host.py:13:1: ACM101 This transfer blocks the host [warning, certain]" in text
        assert "Found 2 findings" in text  # acme.settle waits, so the last transfer is ordered
    assert "ACM101" in lint(site, *check, "--select", "ACM")[1]
    assert "ACM101" not in lint(site, *check, "--ignore", "ACM101")[1]
    assert lint(site, "rule", "ACM101")[1].startswith("# blocking-transfer (ACM101)")
    assert lint(None, *check)[0] == 0


def test_the_example_brings_an_executor_for_files_of_its_own(lint, site: Path, tmp_path: Path):
    (tmp_path / "blur.clopts").write_text("-cl-std=CL2.0\n-cl-fast-relaxed-math\n")
    (tmp_path / "safe.clopts").write_text("-cl-std=CL2.0\n")
    check = ("check", ".", "--output-format", "concise", "--select", "ACM201")
    for _ in ("anew", "from the cache"):
        code, text = lint(site, *check)
        assert code == 1, text
        assert "blur.clopts:2:1: ACM201 -cl-fast-relaxed-math changes results" in text
        assert "Found 1 finding in 3 files" in text
    code, text = lint(None, "check", ".", "--output-format", "concise")
    assert code == 0
    assert ".clopts" not in text


@pytest.mark.parametrize(
    ("group", "value", "told"),
    [
        ("kexec_lint.rules", "nowhere", "there is no module nowhere"),
        ("kexec_lint.rules", "bare", "with the pages of its rules"),
        ("kexec_lint.models", "bare:TABLE", "AttributeError: module 'bare' has no attribute 'TABLE'"),
        ("kexec_lint.models", "bare:LIST", 'must be a table of "module.function"'),
        ("kexec_lint.models", "bare:WRONG", "models.'acme.f' has no field 'kin'"),
    ],
)
def test_a_broken_plug_in_is_named_in_one_line(lint, tmp_path: Path, group: str, value: str, told: str):
    site = tmp_path / "site"
    (site / "broken-2.dist-info").mkdir(parents=True)
    (site / "broken-2.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 2\n")
    (site / "broken-2.dist-info" / "entry_points.txt").write_text(f"[{group}]\nbad = {value}\n")
    (site / "bare.py").write_text('LIST = []\nWRONG = {"acme.f": {"kin": "kernel"}}\n')
    code, text = lint(site, "check", "host.py")
    assert code == 2
    assert told in text
    assert text.startswith("kexec-lint: ")
    assert text.count("\n") == 1
    assert "plug-in" in text
