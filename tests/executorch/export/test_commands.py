"""opset and delegate on source models; what needs torch and executorch is skipped without the extra `export`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from export_extra import needs_export

from kexec_lint.cli import cli
from kexec_lint.executorch import blobs, loading
from kexec_lint.executorch.export.source import is_source
from kexec_lint.executorch.program import Program

HERE = Path(__file__).parent
DATA = HERE.parent / "data"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(HERE / "models.py", tmp_path / "models.py")
    monkeypatch.chdir(tmp_path)


def kexec(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def shown(*arguments: str) -> dict[str, object]:
    result = kexec(*arguments, "--output-format", "json")
    assert result.exit_code in (0, 1), result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("spec", "source"),
    [
        ("net.pte", False), ("models.py::tanh", True), ("pkg.models:tanh", True), ("net.pt2", True),
        ("C:/net.pte", False), ("build/selected.yaml", False), ("a b:c", False),
    ],
)  # fmt: skip
def test_what_a_source_model_is(spec: str, source: bool) -> None:
    assert is_source(spec) is source


def test_xnnpack_blob_names_what_it_fused() -> None:
    program = loading.load_program(str(DATA / "cnn_xnnpack.pte"))
    assert isinstance(program, Program)
    data = (DATA / "cnn_xnnpack.pte").read_bytes()
    assert [blobs.nodes(delegate, data) for delegate in program.methods[0].delegates] == [
        ["StaticTranspose", "Conv2d", "Conv2d", "Gelu", "StaticTranspose"],
        ["FullyConnected"],
    ]


def test_delegate_show_of_a_program() -> None:
    found = shown("delegate", "show", str(DATA / "cnn_xnnpack.pte"))
    method = found[str(DATA / "cnn_xnnpack.pte")]["forward"]  # type: ignore[index]
    assert [left["operator"] for left in method["cpu"]] == ["aten::argmax.out", "aten::cumsum.out", "aten::mean.out"]
    assert shown("delegate", "show", str(DATA / "mlp_vulkan.pte"))


def test_a_program_file_cannot_be_compared() -> None:
    result = kexec("delegate", "compare", str(DATA / "cnn_xnnpack.pte"), "--partitioner", "xnnpack")
    assert result.exit_code == 2
    assert "no undelegated form" in result.stderr


@needs_export
def test_opset_takes_a_source_model() -> None:
    name = "models.py::tanh"
    plain, lowered = (shown("opset", "show", name, *more)[name] for more in ([], ["--partitioner", "xnnpack"]))
    assert "aten::gelu.out" in plain["operators"]  # type: ignore[index]
    assert lowered["operators"] == ["aten::cumsum.out", "aten::sum.IntList_out"]  # type: ignore[index]
    assert lowered["delegates"] == ["XnnpackBackend"] * 2  # type: ignore[index]
    assert set(shown("opset", "show", "models.py::methods")["models.py::methods"]["methods"]) == {"plus", "minus"}  # type: ignore[index]
    assert kexec("opset", "show", "models:example").exit_code == 0


@needs_export
def test_reasons_and_operators_without_a_kernel() -> None:
    result = kexec(
        "opset", "check", "models.py::tanh", "--partitioner", "xnnpack", "--libs", "portable_ops_lib",
        "--backends", "XnnpackBackend", "--select", "EXT202", "--output-format", "json",
    )  # fmt: skip
    (finding,) = json.loads(result.stdout)
    assert finding["reasons"] == {
        "aten::cumsum.out": ["XnnpackPartitioner has no rule for cumsum.default"],
        "aten::sum.IntList_out": ["XnnpackPartitioner has no rule for sum.dim_IntList"],
    }
    result = kexec(
        "opset", "check", "models.py::sorted_values", "--libs", "portable_ops_lib", "--output-format", "json"
    )
    assert {(entry["code"], entry["operator"]) for entry in json.loads(result.stdout)} == {
        ("EXT101", "aten::sort.values"),
        ("EXT121", "aten::sort.values"),
    }


@needs_export
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("models.py::nothing", "has no nothing"),
        ("gone.py::net", "no such file"),
        ("gone:net", "does not import"),
        ("models.py::no_inputs", "no example inputs"),
        ("models.py::number", "gives int"),
        ("gone.pt2", "no exported program"),
    ],
)
def test_a_bad_source_is_one_line(spec: str, message: str) -> None:
    result = kexec("opset", "show", spec, "--partitioner", "none")
    assert result.exit_code != 0
    assert message in str(result.exception) + result.stderr
    assert "Traceback" not in result.stderr


@needs_export
def test_compare_finds_the_substitution_down_to_the_node() -> None:
    result = kexec(
        "delegate", "compare", "models.py::tanh", "--partitioner", "xnnpack", "--plot", "e.svg",
        "--output-format", "json",
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    (method,) = json.loads(result.stdout)["methods"]
    first = method["first"]
    assert [(node["name"], node["attributes"]) for node in first["nodes"]] == [
        ("aten_gelu_default", "approximate='tanh'")
    ]
    assert (first["partition"], first["partitions"]) == (2, 2)
    assert first["nodes"][0]["source"].endswith("models.py:21")
    assert 1e-5 < first["alone"]["absolute"] < 1e-3
    assert [entry["node"] for entry in method["undelegated_to_delegated"]] == ["aten_gelu_default", None]
    outside = [step["node"] for step in method["steps"] if step["worst"]["excess"] > 0]
    assert outside[0] == "aten_gelu_default"
    labels = {node.text for node in ElementTree.parse("e.svg").iter("{http://www.w3.org/2000/svg}text")}
    assert "aten_gelu_default (approximate='tanh')" in labels


@needs_export
def test_compare_says_what_it_cannot_tell_apart() -> None:
    found = shown("delegate", "compare", "models.py::bent", "--partitioner", "xnnpack")
    (method,) = found["methods"]  # type: ignore[misc]
    assert [node["name"] for node in method["first"]["nodes"]] == ["aten_gelu_default"]


@needs_export
def test_compare_is_silent_where_they_agree() -> None:
    import torch

    torch.save([(torch.randn(2, 8),), (torch.full((2, 8), 1e-3),)], "inputs.pt")
    result = kexec("delegate", "compare", "models.py::exact", "--partitioner", "xnnpack", "--inputs", "inputs.pt")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("agrees: ")
    assert "EXT206" not in result.stdout


@needs_export
@pytest.mark.parametrize(
    ("spec", "partitioner", "message"),
    [
        ("models.py::random", "xnnpack", "other results on the same inputs"),
        ("models.py::exact", "vulkan", "backends of the installed runtime"),
        ("models.py::exact", "nonsense", "neither one of"),
    ],
)
def test_compare_cannot_always(spec: str, partitioner: str, message: str) -> None:
    result = kexec("delegate", "compare", spec, "--partitioner", partitioner)
    assert result.exit_code == 2
    assert message in result.stderr
