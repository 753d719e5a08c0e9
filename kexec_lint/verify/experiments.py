"""Repeats a program with one thing changed: a pair held apart by a gate, every command after the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kexec_lint.findings import Confidence
from kexec_lint.verify import VerifyError
from kexec_lint.verify.recorder.recorder import Experiment
from kexec_lint.verify.run import Pair, Program, Seen, execute
from kexec_lint.verify.verdicts import CONFIRMED, HELD_BACK, INCONCLUSIVE, ORDERED, Verdict

CONTENTS = "contents"
"""Asks a run to keep its final contents; the file's name is made up by `execute`."""


@dataclass(frozen=True)
class Reference:
    """The contents that an ordered run leaves; None with the reason if they cannot be compared."""

    contents: dict[str, Any] | None
    why_not: str = ""


def limit(plain: Seen, deadline: float, gates: int = 0) -> float:
    """Return the seconds after which a repetition counts as hanging."""
    return 30 + 5 * plain.seconds + 4 * deadline * (gates + 1)


def ordered(what: Program, plain: Seen, experiment: Experiment, deadline: float) -> Reference:
    """Run the program twice with every command after the one before it: the values must be the same both times."""
    chained = Experiment(experiment.out_of_order, serialize=True, contents=CONTENTS)
    try:
        first, second = (execute(what, chained, quiet=True, limit=limit(plain, deadline)) for _ in range(2))
    except VerifyError as error:
        return Reference(None, str(error))
    if first.code != plain.code:
        return Reference(None, f"the ordered run ended with {first.code}, the plain one with {plain.code}")
    if difference(first.contents, second.contents):
        return Reference(None, "two ordered runs gave different values: the program is not deterministic")
    return Reference(first.contents)


def difference(got: dict[str, Any], right: dict[str, Any]) -> str:
    """Say how contents differ: how much, where, the first wrong element; empty if they do not."""
    import numpy as np

    for name in sorted(set(got) & set(right), key=lambda n: (n[0] != "d", int(n[1:]))):
        a, b = got[name], right[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{_name(name)} has another shape"
        if not a.size:
            continue
        size = a.dtype.itemsize
        wrong = np.flatnonzero(
            (a.reshape(-1).view(np.uint8) != b.reshape(-1).view(np.uint8)).reshape(-1, size).any(axis=1)
        )
        if len(wrong):
            first = int(wrong[0])
            values = f"{a.reshape(-1)[first]} instead of {b.reshape(-1)[first]}"
            return f"{_name(name)} differs in {len(wrong)} of {a.size} elements, first [{first}]: {values}"
    return ""


def _name(key: str) -> str:
    return f"{'download' if key[0] == 'd' else 'memory object'} {int(key[1:]) + 1} (in the program's order)"


def gate(
    what: Program,
    plain: Seen,
    pairs: Sequence[Pair],
    experiment: Experiment,
    reference: Reference,
    deadline: float,
    together: bool = False,
) -> list[Verdict]:
    """Hold the earlier command of each pair and return what happened to each."""
    groups = [list(range(len(pairs)))] if together else [[number] for number in range(len(pairs))]
    verdicts: dict[int, Verdict] = {}
    for group in groups:
        wanted = [
            (pair.earlier.ordinal, pair.later.ordinal)
            for number in group
            if (pair := pairs[number]).earlier is not None and pair.later is not None
        ]
        if not wanted:
            continue
        gated = Experiment(
            experiment.out_of_order, contents=CONTENTS, gates=tuple(dict.fromkeys(wanted)), deadline=deadline
        )
        try:
            seen = execute(what, gated, quiet=True, limit=limit(plain, deadline, len(wanted)))
            problem = ""
        except VerifyError as error:
            seen, problem = None, str(error)
        for number in group:
            verdicts[number] = _verdict(pairs[number], plain, seen, reference, problem)
    return [
        verdicts.get(number) or Verdict(_device(plain), INCONCLUSIVE, "the host takes part in it: no gate", "gate")
        for number in range(len(pairs))
    ]


def shown(pairs: Sequence[Pair], said: Sequence[Verdict], confidence: str) -> tuple[list[Pair], list[Verdict]]:
    """Return the pairs to report: of those that the clock kept apart, the ones that a gate has shown."""
    kept: list[tuple[Pair, Verdict]] = []
    for pair, verdict in zip(pairs, said, strict=True):
        if pair.by_time and verdict.verdict == CONFIRMED:
            pair = replace(pair, finding=replace(pair.finding, confidence=Confidence.CERTAIN))
        elif pair.by_time and confidence != "possible":
            continue
        kept.append((pair, verdict))
    return [pair for pair, _ in kept], [verdict for _, verdict in kept]


def _verdict(pair: Pair, plain: Seen, seen: Seen | None, reference: Reference, problem: str) -> Verdict:
    device = _device(plain)
    if seen is None:
        return Verdict(device, INCONCLUSIVE, problem, "gate")
    if pair.earlier is None or pair.later is None:
        return Verdict(device, INCONCLUSIVE, "the host takes part in it: no gate", "gate")
    result, detail = next(
        (
            (result, detail)
            for earlier, later, result, detail in seen.trace.gates
            if (earlier, later) == (pair.earlier.ordinal, pair.later.ordinal)
        ),
        ("", "the gated run did not get there"),
    )
    if result == "later-first":
        if reference.contents is None:
            values = f"values were not compared: {reference.why_not}"
        else:
            found = difference(seen.contents, reference.contents)
            values = found or "the final values are those of an ordered run this time"
        return Verdict(
            device, CONFIRMED, f"the later command was complete while the earlier was held; {values}", "gate"
        )
    if result == "held":
        return Verdict(device, HELD_BACK, f"{detail}; another runtime need not keep this order", "gate")
    if result == "not-reached":
        return Verdict(device, ORDERED, f"the host waited in between: {detail}", "gate")
    return Verdict(device, INCONCLUSIVE, detail, "gate")


def _device(seen: Seen) -> str:
    return ", ".join(seen.trace.devices) or "no device"


def serialize(plain: Seen, reference: Reference) -> str:
    """Say what the ordered runs tell of a program."""
    if reference.contents is None:
        return f"serialized: values cannot be compared: {reference.why_not}"
    found = difference(plain.contents, reference.contents)
    if found:
        return f"serialized: with every command after the one before, {found}: an event edge is missing"
    return (
        "serialized: the same values with every command after the one before: in this run no missing edge changed "
        "them; if they are wrong, look elsewhere (kernels, sizes, arguments)"
    )
