"""Messages of public reports: the layer is right, or said to be unknown, but for the few that are marked as misread.

`layer` was given by reading the report, `first_sight` is what was said of it before it was used for anything.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from kexec_lint import diagnose
from kexec_lint.diagnose.knowledge import load

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("reports*.yaml")))
def test_layers_of_public_reports(name: str) -> None:
    knowledge = load()
    reports = yaml.safe_load((DATA / name).read_text())
    assert len({report["source"] for report in reports}) == len(reports)
    right, wrong = 0, []
    for report in reports:
        layers = report["layer"] if isinstance(report["layer"], list) else [report["layer"]]
        found = diagnose.diagnose(report["text"], knowledge)
        layer = found[0].layer if found else diagnose.UNKNOWN
        right += layer in layers
        if layer not in layers and layer not in (diagnose.UNKNOWN, report.get("misread")):
            wrong.append((report["source"], layer, layers))
    assert not wrong
    assert right >= 0.85 * len(reports)


def test_the_docs_give_the_figures_of_the_first_sight() -> None:
    docs = (DATA.parents[2] / "docs" / "diagnose.md").read_text(encoding="utf-8")
    told = re.findall(r"(reports\d+\.yaml)`[^|]*\| (\d+) \| (\d+) \(\d+ %\) \| (\d+) \| (\d+) \|", docs)
    counted = []
    for name, *figures in told:
        reports = yaml.safe_load((DATA / name).read_text())
        if "first_sight" not in reports[0]:
            continue
        said = [(report["first_sight"], report["layer"]) for report in reports]
        right = sum(layer in (layers if isinstance(layers, list) else [layers]) for layer, layers in said)
        unknown = sum(layer == diagnose.UNKNOWN and layer not in layers for layer, layers in said)
        assert list(map(int, figures)) == [len(reports), right, unknown, len(reports) - right - unknown], name
        counted.append(name)
    assert len(counted) >= 7


def test_there_are_enough_of_them() -> None:
    files = [yaml.safe_load(path.read_text()) for path in DATA.glob("reports*.yaml")]
    assert sum(map(len, files)) >= 100
