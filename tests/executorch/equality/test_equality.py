"""kexec-lint against executorch's own tools, on programs that `programs.py` exports; needs the extra `export`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from export_extra import needs_export

from kexec_lint.executorch import loading, tables, wheel
from kexec_lint.executorch.build import assemble
from kexec_lint.executorch.compare import compare
from kexec_lint.executorch.program import Program

pytestmark = [needs_export, pytest.mark.xdist_group("equality")]

HERE = Path(__file__).parent
TENSORS = {5, 10, 11}  # Tensor, TensorList, OptionalTensorList: those whose types a key names
LOAD = """
import json, sys
from pathlib import Path
try:
    from executorch.extension.pybindings import _C as runtime
except ImportError:
    from executorch.extension.pybindings import _portable_lib as runtime
verdicts = {}
for line in sys.stdin:
    path, method = line.rstrip("\\n").split("\\t")
    try:
        runtime._load_program(path).load_method(method)
        verdicts.setdefault(path, []).append(None)
    except RuntimeError as error:
        verdicts.setdefault(path, []).append(str(error))
print(json.dumps(verdicts))
"""


def python(*arguments: str, **options: Any) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{HERE.parent}"}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False, **options
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the exported programs; KEXEC_LINT_PROGRAMS names one that is there already."""
    given = os.environ.get("KEXEC_LINT_PROGRAMS")
    if given:
        return Path(given)
    made = tmp_path_factory.mktemp("programs")
    python(str(HERE / "programs.py"), str(made))
    return made


@pytest.fixture(scope="session")
def programs(folder: Path) -> dict[str, Program]:
    loaded = {path.name: loading.load_program(str(path)) for path in sorted(folder.glob("*.pte"))}
    assert all(isinstance(program, Program) for program in loaded.values())
    return loaded  # type: ignore[return-value]


@pytest.fixture(scope="session")
def release() -> tables.Release:
    from importlib.metadata import version

    return tables.load(version("executorch"))


def test_every_portable_operator_is_called(programs: dict[str, Program], folder: Path, release: tables.Release) -> None:
    assert json.loads((folder / "failed.json").read_text()) == {}
    called = {operator for program in programs.values() for operator in program.operators}
    assert release.portable - called == set()
    assert len(programs) >= 150
    assert {backend for program in programs.values() for backend in program.backends} >= {
        "XnnpackBackend",
        "VulkanBackend",
    }


def test_operators_and_keys_are_those_of_gen_oplist(programs: dict[str, Program]) -> None:
    from executorch.codegen.tools.selective_build import (
        _get_io_metadata_for_program_operators,
        _get_program_from_buffer,
        _get_program_operators,
    )

    def key(tensors: Any) -> str:
        parts = [
            f"{part.dtype};{','.join(map(str, part.dim_order))}" for part in tensors if part.kernel_type in TENSORS
        ]
        return "v1/" + "|".join(parts) if parts else "v1"

    wrong = {}
    for name, program in programs.items():
        data = Path(program.path).read_bytes()  # the extension does not copy it
        real = _get_program_from_buffer(data)
        theirs = {
            operator: sorted({key(call) for call in calls})
            for operator, calls in _get_io_metadata_for_program_operators(real).items()
        }
        if sorted(_get_program_operators(real)) != program.operators or theirs != program.kernel_keys:
            wrong[name] = (theirs, program.kernel_keys)
    assert wrong == {}


def test_emitted_kernels_are_those_of_codegen(
    programs: dict[str, Program], folder: Path, release: tables.Release, tmp_path: Path
) -> None:
    told = json.loads(python(str(HERE / "codegen.py"), str(folder), str(tmp_path)).splitlines()[-1])
    wrong = {}
    for name, program in programs.items():
        selection = tmp_path / f"{Path(name).stem}.yaml"
        for build in loading.load_builds([program.path], release) + loading.load_builds([str(selection)], release):
            ours = {operator: sorted(entry.key for entry in kernels) for operator, kernels in build.registered.items()}
            if ours != told[name]:
                wrong[name] = (ours, told[name])
    union = loading.load_builds([str(tmp_path / "selected_operators.yaml")], release)[0].registered
    assert {operator: sorted(entry.key for entry in kernels) for operator, kernels in union.items()} == told["all"]
    assert wrong == {}


@pytest.mark.parametrize("quantized", [False, True], ids=["portable", "with quantized kernels"])
def test_verdicts_are_those_of_the_runtime(
    programs: dict[str, Program], release: tables.Release, quantized: bool
) -> None:
    script = ("import executorch.kernels.quantized\n" if quantized else "") + LOAD
    programs = {name: program for name, program in programs.items() if not name.startswith("written_")}
    methods = [f"{program.path}\t{method.name}" for program in programs.values() for method in program.methods]
    told = json.loads(python("-c", script, input="\n".join(methods)).splitlines()[-1])
    part, note = wheel.read()
    assert note is None
    build = assemble("wheel", [part], release, ["quantized_ops_lib"] if quantized else ())
    wrong = {}
    for name, program in programs.items():
        found = compare([program], [build], release).findings
        ours = any(finding.code in ("EXT101", "EXT109", "EXT201") for finding in found)
        theirs = [error for error in told[program.path] if error is not None]
        if ours != bool(theirs):
            wrong[name] = ([finding.message for finding in found], theirs)
    assert wrong == {}
    failing = [error for errors in told.values() for error in errors if error]
    assert any("0x14" in error or ":14" in error for error in failing)
    assert any("0x20" in error or ":20" in error for error in failing)
