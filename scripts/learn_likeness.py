"""Write kexec_lint/diagnose/knowledge/likeness.txt from labelled reports and the entries of the knowledge base.

    python scripts/learn_likeness.py tests/diagnose/data/reports*.yaml FURTHER.yaml [--check]

A file of reports is a list of `source`, `layer` (one name or several) and `text`. What belongs to no layer is learned
from the look-alikes in which nothing known is found, and from failures of other fields. `--check` writes nothing: it
learns from four fifths of the projects and says how the fifth is placed, five times over. Needs numpy.
"""

from __future__ import annotations

import argparse
import re
import zlib
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from kexec_lint import diagnose
from kexec_lint.diagnose import clean, resemble, unknown
from kexec_lint.diagnose.chain import UNKNOWN
from kexec_lint.diagnose.knowledge import Knowledge

Report = tuple[str, list[str], str]
"""The project, the layers that are right, the text."""
_ELSEWHERE = Path(__file__).parents[1] / "tests" / "diagnose" / "data" / "elsewhere.yaml"
_ROUNDS, _RATE, _DECAY, _PULL = 12, 0.5, 1e-3, 0.01
_PROJECTS = 2
"""A word counts that stands in the reports of so many projects."""
_LEARNED = resemble._learned
_LEAST = 0.7
"""Smaller weights are left out."""


def read(paths: list[Path]) -> list[Report]:
    """Return the labelled reports of these files."""
    found = []
    for path in paths:
        for row in yaml.safe_load(path.read_text(encoding="utf-8")):
            layers = row["layer"] if isinstance(row["layer"], list) else [row["layer"]]
            project = re.search(r"github\.com/([^/]+/[^/]+)", row["source"])
            found.append((project[1].lower() if project else row["source"], layers, row["text"]))
    return found


def own(knowledge: Knowledge) -> list[Report]:
    """Return the examples of entries, as unknown their look-alikes and failures of other fields. Each is a project."""
    reports: list[Report] = []
    resemble._learned = lambda: ((UNKNOWN,), {UNKNOWN: 0.0}, {})  # what was learned before has no say in this
    for entry in knowledge.entries:
        if entry.layer == "noise":
            continue
        layers = list(entry.follows) if entry.open else [entry.layer]
        reports += [(f"{entry.id} {i}", layers, text) for i, text in enumerate(entry.examples)]
        for i, text in enumerate(entry.look_alikes):
            if all(found.layer == UNKNOWN for found in diagnose.diagnose(text, knowledge)):
                reports.append((f"{entry.id} not {i}", [UNKNOWN], text))
    resemble._learned = _LEARNED
    elsewhere = yaml.safe_load(_ELSEWHERE.read_text(encoding="utf-8"))["learned"]
    return reports + [(f"elsewhere {i}", [UNKNOWN], text) for i, text in enumerate(elsewhere)]


def learn(reports: list[Report], path: Path) -> None:
    """Write what multinomial logistic regression over the presence of features learns; AdaGrad, a fixed order."""
    seen = [resemble.features(text) for _, _, text in reports]
    projects: dict[str, set[str]] = defaultdict(set)
    for (project, _, _), found in zip(reports, seen, strict=True):
        for feature in found:
            projects[feature].add(project)
    vocabulary = {name: i for i, name in enumerate(sorted(n for n, of in projects.items() if len(of) >= _PROJECTS))}
    names = sorted({name for _, layers, _ in reports for name in layers})
    rows = [np.array(sorted(vocabulary[f] for f in found if f in vocabulary), dtype=int) for found in seen]
    right = np.zeros((len(reports), len(names)))
    for i, (_, layers, _) in enumerate(reports):
        right[i, [names.index(name) for name in layers]] = 1 / len(layers)
    weights = np.zeros((len(vocabulary), len(names)))
    squares = np.full((len(vocabulary), 1), 1e-8)
    start = np.zeros(len(names))
    shuffled = np.random.default_rng(0)
    for _ in range(_ROUNDS):
        for i in shuffled.permutation(len(rows)):
            row = rows[i]
            if not len(row):
                continue
            scale = 1 / np.sqrt(len(row))
            scores = start + weights[row].sum(0) * scale
            likely = np.exp(scores - scores.max())
            off = likely / likely.sum() - right[i]
            step = off[None, :] * scale + _DECAY * weights[row]
            squares[row] += (step**2).sum(1, keepdims=True) / len(names)
            weights[row] -= _RATE * step / np.sqrt(squares[row])
            start -= _PULL * off
    weights -= weights.mean(1, keepdims=True)
    weights[np.abs(weights) < _LEAST] = 0
    whole = np.rint(weights * resemble.SCALE).astype(int)
    lines = [" ".join(f"{name}={value:.2f}" for name, value in zip(names, start, strict=True))]
    for feature, i in vocabulary.items():
        if whole[i].any():
            lines.append(f"{feature}\t" + " ".join(f"{j}:{whole[i, j]}" for j in np.flatnonzero(whole[i])))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def check(reports: list[Report], knowledge: Knowledge) -> str:
    """Return how the reports of a fifth of the projects are placed by what the others teach."""
    fold = [zlib.crc32(project.encode()) % 5 for project, _, _ in reports]
    answered = right = 0
    with TemporaryDirectory() as folder:
        for part in range(5):
            path = Path(folder) / f"{part}.txt"
            others = [report for report, f in zip(reports, fold, strict=True) if f != part]
            learn(others + [report for report in own(knowledge) if report[1] == [UNKNOWN]], path)
            resemble.LEARNED = path
            resemble._learned.cache_clear()
            for (_, layers, text), in_fold in zip(reports, fold, strict=True):
                if in_fold != part:
                    continue
                lines = clean.clean(text)
                found = resemble.resembling(knowledge, lines, unknown.failures(lines) or lines)
                if found is not None:
                    answered += 1
                    right += found.layer in layers
    return f"{len(reports)} reports, {answered} placed, {right} right ({100 * right / max(answered, 1):.0f} %)"


def main() -> None:
    """Read the reports, then learn or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true")
    options: Any = parser.parse_args()
    knowledge = diagnose.load()
    reports = read(options.reports)
    if options.check:
        print(check(reports, knowledge))
    else:
        learn(reports + own(knowledge), resemble.LEARNED)


if __name__ == "__main__":
    main()
