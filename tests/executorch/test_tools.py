"""minimal, lock, diff, size, several builds, and the rules in plain `check`."""

from __future__ import annotations

import json
from pathlib import Path

import fuzz_programs
import pte
import pytest
from click.testing import CliRunner, Result

from kexec_lint.cli.opset import command
from kexec_lint.engine.check import check
from kexec_lint.engine.request import Request
from kexec_lint.executorch import program, tables
from kexec_lint.executorch.checks.dtypes import asked, compute_type, promote
from kexec_lint.executorch.flatbuffer import FormatError
from kexec_lint.executorch.program import Call

DATA = Path(__file__).parent / "data"
RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for file in DATA.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def opset(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def codes(*arguments: str) -> set[tuple[str, str | None]]:
    result = opset("check", *arguments, "--output-format", "json")
    assert result.exit_code in (0, 1), result.output
    return {(entry["code"], entry.get("operator")) for entry in json.loads(result.stdout)}


MODELS = ["mlp_portable.pte", "cnn_portable.pte", "addh.pte", "cnn_xnnpack.pte"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("form", "file"), [("yaml", "m.yaml"), ("ops-dict", "m.json"), ("cmake", "m.cmake")])
def test_minimal_is_sufficient_and_nothing_more(model: str, form: str, file: str) -> None:
    Path(file).write_text(opset("minimal", model, "--emit", form).stdout)
    dtype = ["--dtype-selective"] if form != "cmake" else []
    assert codes(model, "--build", file, "--backends", "XnnpackBackend", *dtype) == set()


def test_minimal_says_why_and_lists_root_ops() -> None:
    text = opset("minimal", "addh.pte", "mlp_portable.pte").stdout
    assert (
        "aten::add.out:  # addh.pte; Float: it computes Half in Float\n  - v1/5;0,1|5;0,1|5;0,1|5;0,1\n  - v1/6;"
        in text
    )
    listed = opset("minimal", "mlp_portable.pte", "--emit", "root-ops").stdout.splitlines()[-1]
    assert listed == "aten::_softmax.out,aten::addmm.out,aten::permute_copy.out,aten::relu.out"


def test_minimal_leaves_out_what_other_libraries_bring() -> None:
    calls = [
        {"quantized_decomposed::add.out": ["1;0", "1;0"]},
        {"executorch_prim::et_view.default": ["6;0", "6;0"]},
    ]
    Path("q.pte").write_bytes(pte.program({"forward": {"calls": calls}}))
    text = opset("minimal", "q.pte").stdout
    assert "# quantized_decomposed::add.out: from quantized_ops_lib (q.pte)" in text
    assert "operators: {}" in text


def test_a_lock_judges_a_later_model() -> None:
    opset("lock", "mlp_portable.pte", "--build", "mlp_portable.yaml", "-o", "ops.lock")
    assert codes("mlp_portable.pte", "--lock", "ops.lock") == set()
    assert {code for code, _ in codes("cnn_portable.pte", "--lock", "ops.lock")} == {"EXT101"}
    locked = json.loads(Path("ops.lock").read_text())
    assert locked["operators"]["aten::relu.out"] == ["default"]
    assert locked["models"]["mlp_portable.pte"]["inputs"] == {"forward": ["Float[1, 8]"]}


def test_a_lock_remembers_selected_dtypes_and_inputs() -> None:
    opset("lock", "addh.pte", "--dtype-selective", "-o", "ops.lock")
    assert codes("addh.pte", "--lock", "ops.lock") == {("EXT111", "aten::add.out")}
    Path("addh.pte").write_bytes(pte.program({"forward": {"inputs": ["6;0,1 1x8"], "calls": []}}))
    assert codes("addh.pte", "--lock", "ops.lock") == {("EXT303", None)}


def test_diff() -> None:
    result = opset("diff", "cnn_portable.pte", "cnn_xnnpack.pte", "--output-format", "json")
    changes = json.loads(result.stdout)
    assert result.exit_code == 1
    assert "aten::convolution.out" in changes["operators"]["removed"]
    assert changes["operators"]["added"] == []
    assert changes["backends"]["added"] == ["XnnpackBackend"]
    assert changes["arenas"] == {"before": {"forward": [0, 65536]}, "after": {"forward": [0, 28736]}}
    assert changes["code_bytes"]["after"] < changes["code_bytes"]["before"]
    assert opset("diff", "addh.pte", "addh.pte").exit_code == 0
    text = opset("diff", "mlp_portable.yaml", "cnn_xnnpack.yaml").stdout
    assert "- aten::relu.out\n" in text
    assert "+ aten::argmax.out\n" in text


def test_size() -> None:
    sizes = json.loads(
        opset("size", "cnn_portable.pte", "--build", "mlp_portable.yaml", "--output-format", "json").stdout
    )
    measured = tables.text_bytes()
    listed = {entry["operator"]: entry["bytes"] for entry in sizes["operators"]}
    assert listed["aten::addmm.out"] == measured["aten::addmm.out"]
    assert sizes["total_bytes"] == sum(listed.values())
    assert sizes["unneeded_bytes"] == measured["aten::_softmax.out"]
    everything = opset("size", "--libs", "portable_ops_lib", "--target-version", "1.4.1", "--output-format", "json")
    assert json.loads(everything.stdout)["total_bytes"] == 5_253_658


def test_operators_of_one_object_count_once() -> None:
    Path("ops.txt").write_text("aten::any.out\naten::any.all_out\naten::any.dims_out\n")
    sizes = json.loads(opset("size", "--build", "ops.txt", "--output-format", "json").stdout)
    assert sizes["total_bytes"] == tables.text_bytes()["aten::any.out"]


def test_several_models_and_several_builds() -> None:
    one = codes("mlp_portable.pte", "cnn_portable.pte", "--build", "mlp_portable.yaml")
    assert ("EXT107", "aten::_softmax.out") not in one
    result = opset(
        "check", "cnn_xnnpack.pte", "--build", "mlp_portable.yaml", "--build", "cnn_xnnpack.yaml",
        "--backends", "XnnpackBackend", "--output-format", "json", "--select", "EXT101",
    )  # fmt: skip
    assert {entry["build"] for entry in json.loads(result.stdout)} == {"mlp_portable.yaml"}


def test_kernel_yaml_belongs_to_the_build_beside_it() -> None:
    Path("sel.yaml").write_text(
        "et_kernel_metadata:\n  acme::scale.out: [default]\n  aten::add.out: [default]\n"
        "  dim_order_ops::_to_dim_order_copy.out: [default]\noperators:\n"
        + "".join(
            f"  {name}: {{is_root_operator: true, include_all_overloads: false}}\n"
            for name in ("acme::scale.out", "aten::add.out", "dim_order_ops::_to_dim_order_copy.out")
        )
    )
    Path("custom.yaml").write_text(
        "- func: acme::scale.out(Tensor x, float k, *, Tensor(a!) out) -> Tensor(a!)\n"
        "  kernels:\n  - arg_meta: null\n    kernel_name: acme::scale_out\n"
    )
    assert codes("acme.pte", "--build", "sel.yaml") == {
        ("EXT101", "acme::scale.out"),
        ("EXT108", "acme::scale.out"),
    }
    assert codes("acme.pte", "--build", "sel.yaml", "--build", "custom.yaml") == set()
    assert codes("acme.pte", "--build", "sel.yaml,custom.yaml") == set()
    assert codes("acme.pte", "--build", "sel.yaml", "custom.yaml") == set()


def test_older_release_lacks_a_kernel() -> None:
    Path("m.pte").write_bytes(
        pte.program({"forward": {"calls": [{"aten::bitwise_right_shift.Tensor_out": ["3;0", "3;0", "3;0", "3;0"]}]}})
    )
    Path("ops.txt").write_text("aten::bitwise_right_shift.Tensor_out\n")
    assert codes("m.pte", "--build", "ops.txt") == set()
    old = codes("m.pte", "--build", "ops.txt", "--target-version", "1.0.1")
    assert {code for code, _ in old} == {"EXT101", "EXT102"}


def test_primitive_operators_are_no_difference_between_a_lock_and_a_selection() -> None:
    opset("lock", "mlp_portable.pte", "--build", "mlp_portable.yaml", "-o", "ops.lock")
    assert opset("diff", "ops.lock", "mlp_portable.yaml").exit_code == 0
    changed = opset("diff", "ops.lock", "cnn_xnnpack.yaml").stdout
    assert "- aten::relu.out\n" in changed
    assert "executorch_prim" not in changed


def test_size_of_a_binary_leaves_out_primitive_operators() -> None:
    Path("all.cpp").write_text(
        'EXECUTORCH_LIBRARY(aten, "relu.out", relu_out);\nEXECUTORCH_LIBRARY(executorch_prim, "add.Scalar", add);\n'
    )
    shown = opset("size", "mlp_portable.pte", "--build", "all.cpp").stdout
    assert "aten::relu.out" in shown
    assert "executorch_prim" not in shown


def test_no_source_is_shown_of_a_binary_file() -> None:
    shown = opset("check", "truncated.pte", "--build", "mlp_portable.yaml").stdout
    assert " --> truncated.pte:1:1\n  |\n  = help:" in shown


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [(6, 6, 6), (5, 6, 6), (5, 15, 6), (5, 3, 5), (0, 1, 2), (11, 4, 4), (0, 3, 3), (12, 6, None)],
)
def test_promotion(left: int, right: int, expected: int | None) -> None:
    assert promote(left, right) == promote(right, left) == expected


def test_compute_type_of_mixed_inputs() -> None:
    def call(*dtypes: int, operator: str = "aten::add.out", numbers: tuple[tuple[int, int], ...] = ()) -> Call:
        return Call(operator, tuple((dtype, (0,), False) for dtype in dtypes), numbers=numbers)

    release = tables.load("1.4.1")
    for expected, made in [
        (6, call(5, 5, 5, 5)),
        (6, call(3, 5, 5, 5)),
        (3, call(3, 3, 3, 3)),
        (6, call(11, 5, 5, 5, 5, operator="aten::where.self_out")),
        (6, call(5, 7, 11, 11, operator="aten::eq.Tensor_out")),
        (6, call(3, 11, 11, operator="aten::eq.Scalar_out", numbers=((1, 7),))),
        (3, call(3, 11, 11, operator="aten::eq.Scalar_out", numbers=((1, 4),))),
        (4, call(11, 11, 11, operator="aten::eq.Scalar_out", numbers=((1, 4),))),
        (7, call(3, 3, 3, operator="aten::pow.Tensor_Scalar_out", numbers=((1, 4),))),
        (6, call(5, 5, 5, operator="aten::pow.Tensor_Scalar_out", numbers=((1, 7),))),
        (6, call(0, 1, 6, 6, operator="aten::atan2.out")),
        (None, call(5, 5, 5, operator="aten::relu.out")),
    ]:
        assert compute_type(made, release) == expected, made


def test_types_asked_for_are_those_that_the_kernels_asked_for() -> None:
    """Calls recorded as the kernels of 1.4.1 ran them: operator, key, numbers, flags, the types they asked for."""
    rows = json.loads((RECORDED / "asked_dtypes.json").read_text())
    assert len(rows) > 500
    release = tables.load("1.4.1")
    wrong = []
    for operator, key, numbers, flags, expected in rows:
        parts = [part.split(";") for part in key.removeprefix("v1").removeprefix("/").split("|") if part]
        tensors = tuple(
            (int(dtype), tuple(map(int, order.split(","))) if order else (), False) for dtype, order in parts
        )
        call = Call(operator, tensors, tuple(map(tuple, flags)), tuple(map(tuple, numbers)))
        found = sorted(asked(call, release)) if operator in release.dtype_checked else []
        if found != expected:
            wrong.append((operator, key, numbers, flags, expected, found))
    assert wrong == []


def test_mutated_programs_are_refused_or_read(tmp_path: Path) -> None:
    slowest, _ = fuzz_programs.run(3000, seed=20)
    assert slowest < fuzz_programs.SECONDS


@pytest.mark.parametrize("size", [0, 1, 4, 7, 8, 12, 31, 40, 100, 1640, 3279])
def test_truncated_at_every_kind_of_place(size: int) -> None:
    data = (DATA / "mlp_portable.pte").read_bytes()
    with pytest.raises(FormatError):
        program.read("cut.pte", data[:size])


def test_a_bundled_program_is_unwrapped() -> None:
    inner = (DATA / "cnn_xnnpack.pte").read_bytes()
    plain, bundled = program.read("a", inner), program.read("b", pte.bundle(inner))
    assert bundled.bundled
    assert bundled.kernel_keys == plain.kernel_keys
    whole = pte.bundle(inner)
    for method in bundled.methods:
        for delegate in method.delegates:
            assert delegate.blob is not None
            assert whole[slice(*delegate.blob)][4:8] == b"XH00"


PLAIN = {
    "selected.yaml": ("et_kernel_metadata: null\noperators: {}\n", "EXT104"),
    "CMakeLists.txt": ("set(EXECUTORCH_DTYPE_SELECTIVE_BUILD ON)\n", "EXT118"),
    "build.cmake": ('gen_selected_ops("" "aten::add.out" "")\n', "EXT118"),
    "BUCK": ('et_operator_library(name = "o", ops = ["aten::relu"])\n', "EXT103"),
    "TARGETS": ('et_operator_library(name = "o", ops = ["add.out"])\n', "EXT103"),
    "defs.bzl": ('et_operator_library(name = "o", ops = ["aten::nothing.out"])\n', "EXT102"),
    "CMakePresets.json": (
        '{"configurePresets": [{"cacheVariables": {"EXECUTORCH_DTYPE_SELECTIVE_BUILD": "ON"}}]}',
        "EXT118",
    ),
    "load.py": (
        "from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer as load\n"
        "from executorch.extension.pybindings import portable_lib\n"
        "module = portable_lib._load_for_executorch_from_buffer(open('m.pte', 'rb').read())\n",
        "EXT305",
    ),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_check_reads_the_file(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    text, code = PLAIN[name]
    (folder / name).write_text(text)
    report = check(Request(paths=(str(folder),), isolated=True, jobs=1))
    assert [finding.code for finding in report.findings] == [code]


SILENT = {
    "ci.yaml": "jobs:\n  build:\n    steps: []\n# et_kernel_metadata\n",
    "mobile.yaml": "include_all_operators: false\noperators:\n  aten::add.Tensor: {is_root_operator: true}\n",
    "native_functions.yaml": "- func: add.Tensor(Tensor self, Tensor other) -> Tensor\n  # is_root_operator\n",
    "broken.yaml": "et_kernel_metadata: [\n",
    "CMakeLists.txt": "target_link_libraries(app PRIVATE m pthread)\nset(EXECUTORCH_HOME ${X})\n",
    "run.py": "from executorch.runtime import Runtime\nRuntime.get().load_program('m.pte')\n",
}


@pytest.mark.parametrize("name", SILENT)
def test_plain_check_leaves_other_files_alone(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / name).write_text(SILENT[name])
    report = check(Request(paths=(str(folder),), isolated=True, jobs=1))
    assert report.findings == []


OPEN = {
    "a list in a variable": 'gen_selected_ops(LIB_NAME l ROOT_OPS "${LIST}")\n',
    "a model that is not here": "set(EXECUTORCH_SELECT_OPS_MODEL ${DIR}/net.pte)\n",
    "settings alone": "set(EXECUTORCH_BUILD_XNNPACK ON)\n",
}


@pytest.mark.parametrize("case", OPEN)
def test_unknown_is_said_as_unknown(case: str) -> None:
    Path("CMakeLists.txt").write_text(OPEN[case])
    result = opset("check", "mlp_portable.pte", "--build", "CMakeLists.txt")
    assert result.exit_code == 2
    assert result.stdout.startswith("unknown: ")
    assert opset("check", "mlp_portable.pte", "--build", "CMakeLists.txt", "--exit-zero").exit_code == 0


def test_custom_yaml_that_is_not_here_leaves_custom_operators_open() -> None:
    listed = "acme::scale.out,dim_order_ops::_to_dim_order_copy.out"
    Path("CMakeLists.txt").write_text(
        f'gen_selected_ops(LIB_NAME l ROOT_OPS "{listed}")\n'
        "generate_bindings_for_kernels(LIB_NAME l FUNCTIONS_YAML ${ET}/kernels/portable/functions.yaml\n"
        "  CUSTOM_OPS_YAML ${ACME}/custom.yaml)\n"
    )
    assert codes("acme.pte", "--build", "CMakeLists.txt") == {("EXT101", "aten::add.out")}


def test_schema_yaml_of_executorch_selects_all_of_it() -> None:
    Path("CMakeLists.txt").write_text(
        "gen_selected_ops(LIB_NAME l OPS_SCHEMA_YAML ${ET}/kernels/portable/functions.yaml)\n"
    )
    assert codes("cnn_portable.pte", "--build", "CMakeLists.txt") == set()
