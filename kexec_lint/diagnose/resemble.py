"""A failure that nothing known explains, placed by the likeness of its words to those of labelled reports.

`knowledge/likeness.txt` holds what `scripts/learn_likeness.py` learned from such reports: for each word, how much it
speaks for or against a layer. A layer is named only where one is far likelier than all the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from kexec_lint.diagnose.chain import Diagnosis, of_layer
from kexec_lint.diagnose.clean import Line
from kexec_lint.diagnose.knowledge import Knowledge
from kexec_lint.diagnose.unknown import nearest

RESEMBLES = "resembles"
LEARNED = Path(__file__).parent / "knowledge" / "likeness.txt"
SCALE = 10
"""The weights are whole numbers: this many make one."""
_ENOUGH = 0.55
"""Likelihood to name a layer: nine of ten such answers were right on failures that no entry knew, of projects not
learned from."""
_AGREED = 0.15
_OPPOSED = -0.2
"""What it adds that the layer nearest by its `words` is the same one, or another."""
_FEWEST = 4
_CHARACTERS = 4000
_AROUND = 2
"""Lines before and after a failing one that are read, too."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|_|(?<=[A-Z])(?=[A-Z][a-z])")
_PATH = re.compile(r"(?:[\w.+~-]{0,60}/){2,}")
_WORD = re.compile(r"[A-Za-z]{2,40}")
_WHOLE = re.compile(r"[A-Za-z0-9_]{4,40}")


def features(text: str) -> set[str]:
    """Return what is looked at in a text: words, pairs of neighbours, `=` whole names and `^` their beginnings."""
    found: set[str] = set()
    for line in text[:_CHARACTERS].split("\n"):
        words = _WORD.findall(_HUMP.sub(" ", _PATH.sub(" ", line)).lower())
        found.update(word for word in words if len(word) > 2)
        found.update(f"{one} {next_}" for one, next_ in pairwise(words))
        for name in _WHOLE.findall(line.lower()):
            found.add(f"={name}")
            if len(name) > 5:
                found.add(f"^{name[:5]}")
    return found


def resembling(knowledge: Knowledge, lines: Sequence[Line], failed: Sequence[Line]) -> Diagnosis | None:
    """Return the diagnosis of a failure by the reports it is most like, or None if it is like none or several."""
    name = _layer(knowledge, lines, failed)
    if name is None:
        return None
    return of_layer(knowledge, name, failed[-1], lines, RESEMBLES, "its words are most like those of reports of")


def _layer(knowledge: Knowledge, lines: Sequence[Line], failed: Sequence[Line]) -> str | None:
    numbers = {line.number + by for line in failed for by in range(-_AROUND, _AROUND + 1)}
    text = "\n".join(line.text[:600] for line in lines if line.number in numbers)
    names, start, weights = _learned()
    known = [weights[feature] for feature in features(text[-_CHARACTERS:]) if feature in weights]
    if len(known) < _FEWEST:
        return None
    sums = dict.fromkeys(names, 0)
    for row in known:
        for name, weight in row:
            sums[name] += weight
    scores = {name: start[name] + sums[name] / (SCALE * math.sqrt(len(known))) for name in names}
    best = max(names, key=scores.__getitem__)
    likely = 1 / sum(math.exp(score - scores[best]) for score in scores.values())
    near = nearest(knowledge, lines, failed)
    if near is not None:
        likely += _AGREED if near == best else _OPPOSED
    return best if likely >= _ENOUGH and best in knowledge.layer and best != "noise" else None


@cache
def _learned() -> tuple[tuple[str, ...], dict[str, float], dict[str, tuple[tuple[str, int], ...]]]:
    """Return the layers, what each starts with, and the weights by feature."""
    head, *rows = LEARNED.read_text(encoding="utf-8").splitlines()
    pairs = [item.rsplit("=", 1) for item in head.split()]
    names = tuple(name for name, _ in pairs)
    weights = {}
    for row in rows:
        feature, _, values = row.partition("\t")
        spelled = [value.split(":") for value in values.split()]
        weights[feature] = tuple((names[int(index)], int(weight)) for index, weight in spelled)
    return names, {name: float(value) for name, value in pairs}, weights
