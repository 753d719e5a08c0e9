"""Programs exported with executorch 1.4.1 against registrations, by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kexec_lint.cli.opset import command
from kexec_lint.executorch import tables

DATA = Path(__file__).parent / "data"
SIX = ("_native_batch_norm_legit_no_training", "argmax", "convolution", "cumsum", "gelu", "mean")
FOUR = ("_softmax", "addmm", "permute_copy", "relu")


def of(code: str, *names: str) -> set[tuple[str, str | None]]:
    return {(code, f"aten::{name}.out") for name in names}


CASES = [
    ("mlp_portable.pte", ["--build", "mlp_portable.yaml"], set()),
    ("cnn_xnnpack.pte", ["--build", "cnn_xnnpack.yaml", "--backends", "XnnpackBackend"], set()),
    ("cnn_xnnpack.pte", ["--build", "cnn_xnnpack.yaml"], {("EXT201", None)}),
    ("cnn_xnnpack.pte", ["--build", "cnn_xnnpack.yaml", "--backends", "none"], {("EXT201", None)}),
    (
        "mlp_vulkan.pte",
        ["--build", "mlp_portable.yaml", "--backends", "XnnpackBackend"],
        {("EXT201", None)} | of("EXT107", *FOUR),
    ),
    ("cnn_portable.pte", ["--build", "mlp_portable.yaml"], of("EXT101", *SIX) | of("EXT107", "_softmax")),
    (
        "acme.pte",
        ["--build", "functions.txt", "--target-version", "1.4.1"],
        {("EXT101", "acme::scale.out"), ("EXT108", "acme::scale.out")},
    ),
    (
        "acme.pte",
        ["--libs", "portable_ops_lib", "--target-version", "1.4.1"],
        {("EXT101", "acme::scale.out"), ("EXT108", "acme::scale.out")},
    ),
    ("mlp_portable.pte", ["--build", "handwritten.yaml"], {("EXT104", None)} | of("EXT101", *FOUR)),
    (
        "mlp_portable.pte",
        ["--build", "functional_names.yaml"],
        {("EXT103", "aten::addmm"), ("EXT103", "_softmax.out")} | of("EXT101", "_softmax", "addmm", "permute_copy"),
    ),
    ("addh.pte", ["--build", "addh.pte", "--dtype-selective"], of("EXT111", "add")),
    ("addh.pte", ["--build", "addh.pte"], set()),
    ("truncated.pte", ["--build", "mlp_portable.yaml"], {("EXT301", None)}),
    ("truncated.pte", [], {("EXT301", None)}),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in DATA.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "functions.txt").write_text("\n".join(sorted(tables.load("1.4.1").portable)) + "\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("model", "options", "expected"), CASES)
def test_case(model: str, options: list[str], expected: set[tuple[str, str | None]]) -> None:
    result = CliRunner().invoke(command, ["check", model, *options, "--output-format", "json"])
    findings = json.loads(result.stdout)
    assert {(entry["code"], entry.get("operator")) for entry in findings} == expected
    assert len(findings) == len(expected)
    assert result.exit_code == (1 if expected else 0)


def test_names_are_suggested() -> None:
    result = CliRunner().invoke(
        command, ["check", "mlp_portable.pte", "--build", "functional_names.yaml", "--output-format", "json"]
    )
    helps = {entry.get("operator"): entry["help"] for entry in json.loads(result.stdout) if entry["code"] == "EXT103"}
    assert "aten::addmm.out" in helps["aten::addmm"]
    assert "aten::_softmax.out" in helps["_softmax.out"]


def test_findings_name_the_line_and_the_model() -> None:
    result = CliRunner().invoke(
        command, ["check", "cnn_portable.pte", "--build", "mlp_portable.yaml", "--output-format", "json"]
    )
    findings = json.loads(result.stdout)
    missing = [entry for entry in findings if entry["code"] == "EXT101"]
    assert {entry["model"] for entry in missing} == {"cnn_portable.pte"}
    unneeded = next(entry for entry in findings if entry["code"] == "EXT107")
    line = Path("mlp_portable.yaml").read_text().splitlines()[unneeded["location"]["row"] - 1]
    assert line.strip() == "aten::_softmax.out:"


def test_show_as_json() -> None:
    result = CliRunner().invoke(command, ["show", "cnn_xnnpack.pte", "addh.pte", "--output-format", "json"])
    shown = json.loads(result.stdout)
    assert shown["cnn_xnnpack.pte"]["operators"] == ["aten::argmax.out", "aten::cumsum.out", "aten::mean.out"]
    assert shown["cnn_xnnpack.pte"]["kernel_keys"]["aten::mean.out"] == ["v1/6;0,1,2,3|6;0,1|6;0,1"]
    assert shown["cnn_xnnpack.pte"]["delegates"] == ["XnnpackBackend", "XnnpackBackend"]
    assert shown["cnn_xnnpack.pte"]["planned_bytes"] == 28736
    assert shown["addh.pte"]["kernel_keys"] == {"aten::add.out": ["v1/5;0,1|5;0,1|5;0,1|5;0,1"]}


@pytest.mark.parametrize("form", ["full", "concise", "github", "markdown", "sarif", "gitlab", "junit", "rdjson"])
def test_every_report_is_written(form: str) -> None:
    result = CliRunner().invoke(
        command, ["check", "cnn_portable.pte", "--build", "mlp_portable.yaml", "--output-format", form]
    )
    assert result.exit_code == 1
    assert "EXT101" in result.stdout
    first = result.stdout.splitlines()[0] if form in ("full", "concise", "github", "markdown") else result.stderr
    assert "will not run: 1 model against 1 build, 6 errors, 6 operators missing" in first


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "absent.pte", "--build", "mlp_portable.yaml"],
        ["check", "mlp_portable.pte", "--build", "absent.yaml"],
        ["check", "mlp_portable.pte", "--build", "mlp_portable.yaml", "--target-version", "9.9"],
        ["check", "mlp_portable.pte", "--lock", "mlp_portable.yaml"],
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: list[str]) -> None:
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


def test_sarif_is_valid() -> None:
    from jsonschema import Draft202012Validator
    from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif

    result = CliRunner().invoke(
        command, ["check", "mlp_vulkan.pte", "--build", "functional_names.yaml", "--output-format", "sarif"]
    )
    document = json.loads(result.stdout)
    errors = [error.message for error in Draft202012Validator(Sarif.model_json_schema()).iter_errors(document)]
    assert errors == []
    assert {entry["ruleId"] for entry in document["runs"][0]["results"]} >= {"EXT103", "EXT201"}
