"""Reading never executes what is read: a folder full of traps is looked at by every command that reads folders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kexec_lint

TRAP = "open({canary!r}, 'a').write(__file__ if '__file__' in globals() else 'somewhere')\n"

MODULES = (
    "conftest.py", "setup.py", "sitecustomize.py", "usercustomize.py", "noxfile.py", "manage.py", "__main__.py",
    "yaml.py", "click.py", "libcst/__init__.py", "rich.py", "pathspec.py", "tree_sitter.py", "tree_sitter_c.py",
    "tomllib.py", "tomli.py", "json.py", "re.py", "sqlite3.py", "ast.py", "typing.py", "numpy.py", "torch/__init__.py",
    "pyopencl/__init__.py", "executorch/__init__.py", "distributed.py", "kexec_lint_rules.py", "package/__init__.py",
)  # fmt: skip

HOST = """\
import pyopencl as cl
import torch, package, numpy, executorch
from package import helper
import kexec_lint_rules
lib = torch.library.Library("mine", "DEF")
lib.define("op(Tensor x) -> Tensor")
def f(ctx, host):
    queue = cl.CommandQueue(ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    program = cl.Program(ctx, package.SOURCE).build()
    x = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, eval("64"))
    cl.enqueue_copy(queue, x, host, is_blocking=False)
    program.square(queue, (16,), None, x)
    exec(__import__("os").environ["TRAP"])
    print(f"{__import__('os').system('touch CANARY')}")
"""

PYPROJECT = """\
[build-system]
requires = []
build-backend = "setup"
backend-path = ["."]
[tool.kexec-lint.models."package.helper"]
does = "finish"
[tool.pytest.ini_options]
addopts = "-p conftest"
[project.entry-points."kexec_lint.executors"]
mine = "kexec_lint_rules"
"""


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """The folder of traps; what springs one writes into `canary` beside it."""
    top, canary = tmp_path / "project", tmp_path / "canary"
    trap = TRAP.format(canary=str(canary))
    for name in MODULES:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(trap + 'SOURCE = "__kernel void square(__global float *x) { x[0] = 1; }"\n')
    (top / "host.py").write_text(trap + HOST.replace("CANARY", str(canary)))
    (top / "site.pth").write_text(f"import os; os.system('touch {canary}')\n")
    (top / "pyproject.toml").write_text(PYPROJECT)
    (top / "selected_operators.yaml").write_text(
        f"operators: !!python/object/apply:os.system ['touch {canary}']\n"
        f"other: !!python/object/new:subprocess.Popen [[touch, {canary}]]\n"
    )
    (top / "CMakeLists.txt").write_text(
        f'execute_process(COMMAND touch "{canary}")\ngen_selected_ops(LIB_NAME "x" ROOT_OPS "$(touch {canary})")\n'
    )
    (top / "log.txt").write_text(f'Traceback: File "{top}/host.py", line 3\nCL_OUT_OF_RESOURCES $(touch {canary})\n')
    info = top / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kexec_lint.executors]\nmine = kexec_lint_rules\n")
    return top


COMMANDS = (
    ("check", "--select", "ALL", "--confidence", "possible"),
    ("check", "-j2", "--fix", "--unsafe-fixes"),
    ("check", "conftest.py", "setup.py", "sitecustomize.py", "host.py", "--show-settings"),
    ("check", "--since", "HEAD"),
    ("graph", "host.py::f", "--format", "html"),
    ("diagnose", "log.txt", "--source", "."),
    ("opset", "check", "model.pte", "--build", "."),
    ("opset", "check", "model.pte", "--build", "selected_operators.yaml"),
    ("rule", "--all"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_no_trap_springs(trapped: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    subprocess.run(["git", "init", "-q"], cwd=trapped, check=True)
    author = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *author, "commit", "-qm", "x", "--allow-empty"], cwd=trapped, check=True)
    model = Path(__file__).parent.parent / "executorch" / "data" / "mlp_portable.pte"
    (trapped / "model.pte").write_bytes(model.read_bytes())
    script = tmp_path / "bin" / "kexec-lint"  # as pip writes it: the folder of the script is the first of sys.path
    script.parent.mkdir()
    script.write_text("import sys\nfrom kexec_lint.cli import main\nsys.exit(main())\n")
    variables = {
        **os.environ,
        "PYTHONPATH": str(Path(kexec_lint.__file__).parent.parent),
        "KEXEC_LINT_CACHE_DIR": str(tmp_path / "cache"),
        "TRAP": f"open({str(tmp_path / 'canary')!r}, 'w')",
    }
    called = subprocess.run(
        [sys.executable, str(script), *command], cwd=trapped, env=variables, capture_output=True, text=True, check=False
    )
    assert called.returncode in (0, 1), called.stderr
    assert "Traceback" not in called.stderr
    assert not (tmp_path / "canary").exists(), (tmp_path / "canary").read_text()


def test_the_traps_are_live(trapped: Path, tmp_path: Path) -> None:
    for module in ("conftest", "setup", "yaml", "package"):
        subprocess.run([sys.executable, "-c", f"import {module}"], cwd=trapped, check=True)
    assert (tmp_path / "canary").read_text().count("project") == 4
