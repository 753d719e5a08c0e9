"""Failures that nothing known explains, placed by their likeness to labelled reports."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
import yaml

from kexec_lint import diagnose
from kexec_lint.diagnose import resemble
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
        ("Vulkan drivers installed but incompatible. An instance could not be created.\n", "gpu-driver"),
    ],
)
def test_a_failure_in_words_of_many_reports_is_placed_by_them(knowledge: Knowledge, text: str, layer: str) -> None:
    assert placed(knowledge, text) == (resemble.RESEMBLES, layer)


def test_what_it_says_is_called_a_likeness(knowledge: Knowledge) -> None:
    (found,) = diagnose.diagnose(
        "Vulkan drivers installed but incompatible. An instance could not be created.\n", knowledge
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
    assert found is None or found[1] == "unknown" or (IMPORTS.match(text) and found[1] == "loader-abi")


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
    kept = [row for rows in weights.values() for row in rows]
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
