"""What a run must not import: start-up is most of the time of a pre-commit hook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("rich", "yaml", "libcst", "tree_sitter", "pathspec", "numpy", "asyncio", "sqlite3", "multiprocessing")
PROGRAM = """
import json, os, sys
from kexec_lint.cli import main
os._exit = sys.exit
sys.argv = ["kexec-lint", *sys.argv[1:]]
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


HOST = """
import pyopencl as cl

def copy(ctx, a, b, host):
    queue = cl.CommandQueue(ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    up = cl.enqueue_copy(queue, a, host, is_blocking=False)
    return cl.enqueue_copy(queue, b, a, wait_for=[up])
"""


def imported(folder: Path, *arguments: str) -> set[str]:
    """Return the top-level modules that a command imported."""
    environment = {**os.environ, "KEXEC_LINT_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr
    return {name.split(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}


def test_version(tmp_path: Path):
    assert imported(tmp_path, "--version").isdisjoint(HEAVY)


@pytest.mark.parametrize("options", [[], ["--no-cache"]])
def test_a_file_that_no_executor_cares_for(tmp_path: Path, options: list[str]):
    (tmp_path / "plain.py").write_text("print('hello')\n")
    arguments = ("check", "--isolated", *options, "plain.py")
    imported(tmp_path, *arguments)
    modules = imported(tmp_path, *arguments)
    assert modules.isdisjoint(HEAVY)
    assert "subprocess" not in modules or sys.version_info < (3, 11)  # where uuid, which click imports, imports it


def test_a_warm_run_on_host_code(tmp_path: Path):
    (tmp_path / "host.py").write_text(HOST)
    imported(tmp_path, "check", "--isolated", "host.py")
    assert imported(tmp_path, "check", "--isolated", "host.py").isdisjoint(set(HEAVY) - {"sqlite3"})
