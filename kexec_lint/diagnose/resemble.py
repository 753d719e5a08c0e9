"""The likeness of a failure's words to those of labelled reports: it places what nothing known explains, and doubts.

`knowledge/likeness.txt` holds what `scripts/learn_likeness.py` learned from such reports: for each word, how much it
speaks for or against a layer. A layer is named only where one is far likelier than all the others; what is found
otherwise is doubted where another layer is far likelier than the one it names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

from kexec_lint.diagnose.chain import UNKNOWN, Diagnosis, of_layer
from kexec_lint.diagnose.clean import Line
from kexec_lint.diagnose.knowledge import Knowledge
from kexec_lint.diagnose.unknown import nearest

RESEMBLES = "resembles"
LEARNED = Path(__file__).parent / "knowledge" / "likeness.txt"
SCALE = 10
"""The weights are whole numbers: this many make one."""
_ENOUGH = 0.5
"""Likelihood to name a layer where nothing else did: seven of eight such answers were right about reports of projects
not learned from."""
_CERTAIN = 0.85
"""Likelihood to name another layer than an entry did that wins a line only when no other does: so it did with 7 of 238
such answers about reports of projects not learned from, of which one had been right and all 7 then were."""
_AGREED = 0.15
_OPPOSED = -0.2
"""What it adds that the layer nearest by its `words` is the same one, or another."""
_LIKELY, _TIMES = 0.4, 4
"""How likely another layer must be, and how many times as likely as one that the mere shape or subject of a message
named, for a doubt."""
_TIMES_NONE, _FEWEST_NONE = 20, 20
"""The same times, and how many words it takes, for a doubt because the words belong to no layer at all."""
_FEWEST = 4
_CHARACTERS = 4000
_AROUND = 2
"""Lines before and after a failing one that are read, too."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|_|(?<=[A-Z])(?=[A-Z][a-z])")
_PATH = re.compile(r"(?:[\w.+~-]{0,60}/){2,}")
_HOST = re.compile(r"\.(?:c|cc|cpp|cxx|C|h|hpp|rs|go):\d{1,6}(?::\d{1,5})?: (?:fatal )?error: ")
_OWN = re.compile(
    r"panicked at '?(?:attempt(?:ed)? to |index out of bounds|already (?:mutably )?borrowed|range (?:start|end) index)"
    r"|\bpanic: runtime error: |\bNullReferenceException\b|\bNullPointerException\b|\bArrayIndexOutOfBounds"
)
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
    name = _layer(knowledge, lines, failed, _ENOUGH)
    if name == "opencl-build" and any(_HOST.search(line.text[:600]) for line in failed):
        return None  # an error of the compiler for the host
    if any(_OWN.search(line.text[:600]) for line in failed):
        return None  # the program's own slip, whatever it speaks of
    return None if name is None else _of(knowledge, name, failed[-1], lines)


def outvoting(knowledge: Knowledge, lines: Sequence[Line], own: Sequence[Line], named: Diagnosis) -> Diagnosis | None:
    """Return another diagnosis of the lines `own` if by all their words they are almost surely of another layer."""
    name = _layer(knowledge, lines, own, _CERTAIN)
    if name is None or name == named.layer:
        return None
    title = knowledge.layer[name].title
    cause = f"{named.id} would be {named.layer}, but its words are most like those of reports of this layer ({title})."
    return replace(_of(knowledge, name, own[-1], lines), cause=cause, severity=named.severity)


def doubtful(lines: Sequence[Line], own: Sequence[Line], named: str, *, of_none: bool) -> bool:
    """Return whether `own` lines are far more like reports of another layer than `named`, or of none if `of_none`."""
    likely = _likelihoods(lines, own)
    if not of_none or not _likelihoods(lines, own, _FEWEST_NONE):
        likely.pop(UNKNOWN, None)
    best = max(likely, key=likely.__getitem__, default=named)
    times = _TIMES_NONE if best == UNKNOWN else _TIMES
    return likely.get(best, 0) >= _LIKELY and likely[best] > times * likely.get(named, 0)


def _of(knowledge: Knowledge, name: str, line: Line, lines: Sequence[Line]) -> Diagnosis:
    return of_layer(knowledge, name, line, lines, RESEMBLES, "its words are most like those of reports of")


def _layer(knowledge: Knowledge, lines: Sequence[Line], failed: Sequence[Line], enough: float) -> str | None:
    likely = _likelihoods(lines, failed)
    if not likely:
        return None
    best = max(likely, key=likely.__getitem__)
    near = nearest(knowledge, lines, failed)
    score = likely[best] + (0 if near is None else _AGREED if near == best else _OPPOSED)
    return best if score >= enough and best in knowledge.layer and best != "noise" else None


def _likelihoods(lines: Sequence[Line], failed: Sequence[Line], fewest: int = _FEWEST) -> dict[str, float]:
    """Return how likely each layer is by what stands in and around the lines `failed`; empty if too little does."""
    numbers = {line.number + by for line in failed for by in range(-_AROUND, _AROUND + 1)}
    text = "\n".join(line.text[:600] for line in lines if line.number in numbers)
    names, start, weights = _learned()
    known = [weights[feature] for feature in features(text[-_CHARACTERS:]) if feature in weights]
    if len(known) < fewest:
        return {}
    sums = dict.fromkeys(names, 0)
    for row in known:
        for name, weight in _weights(names, row):
            sums[name] += weight
    scores = {name: start[name] + sums[name] / (SCALE * math.sqrt(len(known))) for name in names}
    most = max(scores.values())
    odds = {name: math.exp(score - most) for name, score in scores.items()}
    all_ = sum(odds.values())
    return {name: each / all_ for name, each in odds.items()}


@cache
def _learned() -> tuple[tuple[str, ...], dict[str, float], dict[str, str]]:
    """Return the layers, what each starts with, and the weights by feature as they are written: a log needs few."""
    head, *rows = LEARNED.read_text(encoding="utf-8").splitlines()
    pairs = [item.rsplit("=", 1) for item in head.split()]
    written = {feature: values for feature, _, values in (row.partition("\t") for row in rows)}
    return tuple(name for name, _ in pairs), {name: float(value) for name, value in pairs}, written


def _weights(names: Sequence[str], written: str) -> Iterator[tuple[str, int]]:
    """Yield the layers of which a feature speaks, each with how much."""
    for value in written.split():
        index, _, weight = value.partition(":")
        yield names[int(index)], int(weight)
