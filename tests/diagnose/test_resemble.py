"""Failures that nothing known explains, placed by their likeness to labelled reports."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
import yaml

from kexec_lint import diagnose
from kexec_lint.diagnose import resemble, worded
from kexec_lint.diagnose.chain import Diagnosis, of_layer
from kexec_lint.diagnose.knowledge import Knowledge

ELSEWHERE = yaml.safe_load((Path(__file__).parent / "data" / "elsewhere.yaml").read_text(encoding="utf-8"))
IMPORTS = re.compile(r"^(?:ImportError|ModuleNotFoundError): ")


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return diagnose.load()


def placed(knowledge: Knowledge, text: str) -> tuple[str, str] | None:
    """Return id and layer of the root cause of a text."""
    found = diagnose.diagnose(text, knowledge)
    return (found[0].id, found[0].layer) if found else None


@pytest.mark.parametrize(
    ("text", "layer"),
    [
        (
            "create_graph failed for a custom CUDA extension under torch.autograd.grad of two losses\n",
            "pytorch-autograd",
        ),
        ("Vulkan replication_pad2d pte fails to load with missing shader\n", "executorch-delegate"),
        ("Forward method was not found in the Module::method_meta of my model\n", "executorch-runtime"),
        ("ERROR: Failed building wheel for rasterizer\n  Running setup.py clean for rasterizer\n", "pytorch-build"),
        ("failed to allocate memory for the preview, please lower the threads used or buy more\n", "host-memory"),
        ("Vulkan drivers installed but a Vulkan instance could not be created, driver is incompatible\n", "gpu-driver"),
    ],
)
def test_a_failure_in_words_of_many_reports_is_placed_by_them(knowledge: Knowledge, text: str, layer: str) -> None:
    assert placed(knowledge, text) == (resemble.RESEMBLES, layer)


def test_what_it_says_is_called_a_likeness(knowledge: Knowledge) -> None:
    (found,) = diagnose.diagnose(
        "Vulkan drivers installed but a Vulkan instance could not be created, driver is incompatible\n", knowledge
    )
    assert found.cause.startswith("No known message; its words are most like those of reports of this layer")
    assert found.next_steps


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: 7\n",
        "error: everything is broken and nothing works as hoped\n",
        "FAILED\n",
        "fatal: 0x00000000\n",
        "Fehler: der Vorgang wurde abgebrochen, weil die Datei fehlt\n",
    ],
)
def test_what_is_like_no_report_stays_unknown(knowledge: Knowledge, text: str) -> None:
    assert placed(knowledge, text) in (None, ("unknown", "unknown"))


@pytest.mark.parametrize("text", ELSEWHERE["held"])
def test_failures_of_other_fields_are_not_placed(knowledge: Knowledge, text: str) -> None:
    found = placed(knowledge, text + "\n")
    if found not in (("command-line-mistake", "usage"), ("package-not-installed", "usage")):  # true of any field
        assert found is None or found[1] == "unknown" or (IMPORTS.match(text) and found[1] == "loader-abi")


def test_the_subject_of_a_message_is_doubted_where_its_words_are_far_more_like_another_layers(
    knowledge: Knowledge,
) -> None:
    text = "Aborting: torch.compile of the extension failed, error: command 'nvcc' failed, no member named 'gradient'\n"
    lines = diagnose_lines(text)
    assert resemble.doubtful(lines, lines, "pytorch-autograd", of_none=True)
    assert not resemble.doubtful(lines, lines, "pytorch-build", of_none=True)
    assert not resemble.doubtful(lines, [], "pytorch-autograd", of_none=True)
    text = "sm_120 + local CUDA toolkit < 12.9: FlashInfer JIT failures kill engine init in three default paths\n"
    assert worded.worded(knowledge, diagnose_lines(text), diagnose_lines(text)) is not None  # speaks of an architecture
    assert placed(knowledge, f"[Bug]: {text}") == (resemble.RESEMBLES, "pytorch-build")


def test_few_words_do_not_belong_to_no_layer(knowledge: Knowledge) -> None:
    few = diagnose_lines("torch.vmap: missing batching rule of my operator\n")
    assert not resemble.doubtful(few, few, "pytorch-dispatch", of_none=True)
    many = diagnose_lines(
        "usage: optimum-cli export [-h] {onnx,tflite} ...\n"
        "optimum-cli export: error: argument {onnx,tflite}: invalid choice: 'executorch'"
        " (choose from 'onnx', 'tflite')\n"
    )
    assert resemble.doubtful(many, many, "executorch-runtime", of_none=True)
    assert not resemble.doubtful(many, many, "executorch-runtime", of_none=False)


OUTVOTED = (
    "GPU error: device lost, the kernel of the program timed out, GPU hang, ring gfx timeout, resetting the GPU\n"
)
ENTRY = """\
layer: LAYER
entries:
- id: own-entry
  pattern: 'kernel of the program timed out'
  last: LAST
  general: LAST
  examples: [the kernel of the program timed out]
  look_alikes: [the kernel timed out]
  cause: Ours.
"""


def test_a_known_message_is_outvoted_only_where_another_layer_is_all_but_certain(knowledge: Knowledge) -> None:
    lines = diagnose_lines(OUTVOTED)

    def named(layer: str) -> Diagnosis:
        return of_layer(knowledge, layer, lines[0], lines, "some-entry", "it belongs to")

    instead = resemble.outvoting(knowledge, lines, lines, named("usage"))
    assert instead is not None
    assert instead.layer == "gpu-async-fault"
    assert instead.cause.startswith("some-entry would be usage, but its words are most like")
    assert resemble.outvoting(knowledge, lines, lines, named("gpu-async-fault")) is None
    unlike = diagnose_lines("ValueError: 7\n")
    assert resemble.outvoting(knowledge, unlike, unlike, named("usage")) is None


def test_what_is_known_exactly_is_not_doubted(knowledge: Knowledge) -> None:
    text = "nvidia-container-cli: initialization error: nvml error: insufficient permissions\n"
    (found,) = diagnose.diagnose(text, knowledge)
    assert not knowledge.by_id[found.id].last
    assert found.layer == "system-permission"


def test_what_the_user_told_is_not_doubted(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    for last in ("true", "false"):
        path.write_text(ENTRY.replace("LAYER", "usage").replace("LAST", last))
        found = diagnose.diagnose(OUTVOTED, diagnose.load([path]))
        assert (found[0].id, found[0].layer) == ("own-entry", "usage")


def test_what_a_status_means_is_not_doubted(knowledge: Knowledge) -> None:
    (found,) = diagnose.diagnose("clFinish failed: CL_INVALID_DEVICE_TYPE (-31)\n", knowledge)
    assert found.layer == "opencl-api"
    lines = diagnose_lines("clFinish failed: CL_INVALID_DEVICE_TYPE (-31)\n")
    assert resemble.outvoting(knowledge, lines, lines, found) is not None


def test_what_healthy_programs_say_is_not_placed(knowledge: Knowledge) -> None:
    said = "loaded the driver in 3 s\npassed: 12 of 12\nGPU memory: 8 GiB free, no errors\nerror rate 0.02\n"
    assert not diagnose.diagnose(said * 40, knowledge)


def test_every_layer_and_feature_of_the_learned_file_can_be_reached(knowledge: Knowledge) -> None:
    names, start, weights = resemble._learned()
    assert set(names) <= {*knowledge.layer, "unknown"}
    assert set(start) == set(names)
    assert len(weights) > 5000
    for feature in weights:
        name = feature.lstrip("=^")
        assert re.fullmatch(r"[a-z]{2,40}(?: [a-z]{2,40})?" if name == feature else r"\w{4,40}", name), feature
    kept = [row for written in weights.values() for row in resemble._weights(names, written)]
    assert all(name in names and weight for name, weight in kept)


def test_features_read_words_neighbours_names_and_their_beginnings() -> None:
    assert resemble.features("hipFree_all: bad") == {
        "hip", "free", "all", "bad", "hip free", "free all", "all bad", "=hipfree_all", "^hipfr",
    }  # fmt: skip
    assert "usr" not in resemble.features("in /usr/lib/dri/iHD_drv_video.so")


@pytest.mark.parametrize(
    "text",
    [
        "failed " + "a" * 1_000_000,
        "failed " + "_aB" * 350_000,
        "failed " + "a/" * 500_000,
        "failed " + "gpu device memory " * 60_000,
        "failed to allocate device memory of the gpu\n" * 25_000,
        "\n" * 1_000_000 + "failed",
        "failed \x00\ud800 " * 1000,
    ],
)
def test_hostile_text_takes_no_time(knowledge: Knowledge, text: str) -> None:
    lines = diagnose_lines(text)
    began = time.process_time()
    resemble.resembling(knowledge, lines, lines)
    assert time.process_time() - began < 3


def diagnose_lines(text: str) -> list:
    from kexec_lint.diagnose import clean

    return list(clean.clean(text))
