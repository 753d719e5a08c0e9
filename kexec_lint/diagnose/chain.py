"""From hits to diagnoses: which one is the root cause, and which merely followed from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kexec_lint.diagnose.clean import Line
from kexec_lint.diagnose.knowledge import Knowledge
from kexec_lint.diagnose.matcher import Hit

UNKNOWN = "unknown"

_EXECUTORS = (
    ("executorch", re.compile(r"[Ee]xecu[Tt]orch|\.pte\b|\bexir\b")),
    ("opencl", re.compile(r"\bcl[A-Z]\w{3,30}|[Oo]pen ?CL|pyopencl|\bCL_[A-Z]")),
    ("aten", re.compile(r"\btorch\b|PyTorch|aten::|\bATen\b|c10::")),
)


@dataclass(frozen=True)
class Diagnosis:
    """One thing that went wrong. `lines` are (number from 1, text); `after` is the id of what it followed from.

    `fields` are what the messages name: op, key, backend, file...; several values where several lines differ.
    """

    id: str
    executor: str | None
    layer: str
    severity: str
    root: bool
    lines: tuple[tuple[int, str], ...]
    cause: str
    next_steps: tuple[str, ...]
    rules: tuple[str, ...]
    sources: tuple[str, ...]
    after: str | None = None
    beware: str | None = None
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)


def diagnoses(knowledge: Knowledge, lines: Sequence[Line], hits: Sequence[Hit]) -> list[Diagnosis]:
    """Return one diagnosis for every entry hit, root cause first, noise last."""
    spoken = executor_of("\n".join(line.text for line in lines))
    by_entry: dict[str, list[Hit]] = {}
    for hit in hits:
        by_entry.setdefault(hit.entry.id, []).append(hit)
    found = [_diagnosis(knowledge, lines, own, spoken) for own in by_entry.values()]
    found.sort(key=lambda d: _weight(knowledge, d))
    known = {d.id: d for d in found}
    after: dict[str, str] = {}
    for diagnosis in found:
        for other in found:
            if _explains(knowledge, known[other.id], diagnosis) and not _leads_back(after, other.id, diagnosis.id):
                after[diagnosis.id] = other.id
                break
    for diagnosis in found:
        cause = after.get(diagnosis.id)
        while cause in after:
            cause = after[cause]
        noise = diagnosis.layer == "noise" and any(d.layer != "noise" for d in found)
        known[diagnosis.id] = replace(diagnosis, after=cause, root=cause is None and not noise)
    return sorted(known.values(), key=lambda d: _order(knowledge, d, after))


def executor_of(text: str) -> str | None:
    """Return the executor whose words stand in `text`, or None."""
    return next((name for name, words in _EXECUTORS if words.search(text)), None)


def of_layer(knowledge: Knowledge, name: str, line: Line, lines: Sequence[Line], id: str, judged_by: str) -> Diagnosis:
    """Return the diagnosis of a failure of which no message is known, only its layer; `judged_by` says from what."""
    layer = knowledge.layer[name]
    return Diagnosis(
        id=id,
        executor=layer.executor or executor_of("\n".join(x.text for x in lines)),
        layer=name,
        severity="error",
        root=True,
        lines=((line.number, line.text),),
        cause=f"No known message; {judged_by} this layer ({layer.title}).",
        next_steps=tuple(dict.fromkeys((*layer.trace, "kexec-lint boundary run -- {cmd|CMD}"))),
        rules=(),
        sources=(),
    )


def left_open(knowledge: Knowledge, diagnosis: Diagnosis) -> Diagnosis:
    """Return a root cause whose message leaves open which layer failed as of none, with those that it may be."""
    entry = knowledge.by_id.get(diagnosis.id)
    if entry is None or not entry.open or not diagnosis.root:
        return diagnosis
    return replace(diagnosis, layer=UNKNOWN, cause=f"{diagnosis.cause} It may be any of {', '.join(entry.follows)}.")


def _diagnosis(knowledge: Knowledge, lines: Sequence[Line], own: Sequence[Hit], spoken: str | None) -> Diagnosis:
    """Return the diagnosis of the hits `own` of one entry."""
    entry = own[0].entry
    evidence = {lines[hit.index].number: lines[hit.index].text for hit in own}
    fields: dict[str, tuple[str, ...]] = {}
    for hit in own:
        for name, value in hit.fields.items():
            if value not in fields.get(name, ()):
                fields[name] = (*fields.get(name, ()), value)
    executor = entry.executor or knowledge.layer[entry.layer].executor
    return Diagnosis(
        id=entry.id,
        executor=executor or executor_of("\n".join(evidence.values())) or spoken,
        layer=entry.layer,
        severity=entry.severity,
        root=True,
        lines=tuple(evidence.items()),
        cause=entry.cause,
        next_steps=entry.next_steps,
        rules=entry.rules,
        sources=entry.sources,
        beware=entry.swallow_risk,
        fields=fields,
    )


def _explains(knowledge: Knowledge, cause: Diagnosis, effect: Diagnosis) -> bool:
    """Return whether `effect` is a message that a failure like `cause` brings about."""
    if (
        cause.id == effect.id
        or "noise" in (cause.layer, effect.layer)
        or not {cause.layer, cause.id} & set(_follows(knowledge, effect))
    ):
        return False
    if cause.layer not in _follows(knowledge, effect):
        return cause.lines[0][0] < effect.lines[0][0]  # a message named itself explains what comes after it
    if _vague(knowledge, cause) and effect.severity == "error":
        return False
    if _wraps(knowledge, effect) and not _wraps(knowledge, cause):
        return True  # a wrapper's message may stand before the one it wraps
    own = (knowledge.layer[cause.layer].executor, cause.layer)
    if own[0] is not None and own[0] == knowledge.layer[effect.layer].executor:
        return cause.lines[0][0] <= effect.lines[0][0]  # within one executor the first failing call counts
    if cause.layer == effect.layer:
        late = [d.layer in knowledge.by_id[d.id].follows for d in (cause, effect)]  # by its nature a consequence
        return late[1] if late[0] != late[1] else _weight(knowledge, cause) < _weight(knowledge, effect)
    return True  # the kernel's log and a loader's complaint may be printed after what they caused


def _wraps(knowledge: Knowledge, diagnosis: Diagnosis) -> bool:
    """Return whether a message only says where another one was raised: it wins no line and names what it follows."""
    entry = knowledge.by_id.get(diagnosis.id)
    return entry is not None and entry.last and bool(entry.follows)


def _vague(knowledge: Knowledge, diagnosis: Diagnosis) -> bool:
    """Return whether a message only warns, and by its shape: too little to have caused an error."""
    entry = knowledge.by_id.get(diagnosis.id)
    return entry is not None and entry.last and diagnosis.severity == "warning"


def _follows(knowledge: Knowledge, diagnosis: Diagnosis) -> tuple[str, ...]:
    entry = knowledge.by_id.get(diagnosis.id)
    if entry is not None and entry.follows:
        return entry.follows
    return knowledge.layer[diagnosis.layer].follows


def _leads_back(after: Mapping[str, str], cause: str, effect: str) -> bool:
    """Return whether `cause` itself follows from `effect`."""
    step: str | None = cause
    while step is not None:
        if step == effect:
            return True
        step = after.get(step)
    return False


def _weight(knowledge: Knowledge, diagnosis: Diagnosis) -> tuple[int, int, int, int]:
    """Sort key: errors before warnings, then layers in order of root cause, then place in the log, then entry."""
    order = list(knowledge.layer)
    severity = ("error", "warning", "info").index(diagnosis.severity)
    return (
        severity,
        order.index(diagnosis.layer),
        diagnosis.lines[0][0] if knowledge.layer[diagnosis.layer].executor else 0,
        knowledge.rank[diagnosis.id],
    )


def _order(knowledge: Knowledge, diagnosis: Diagnosis, after: Mapping[str, str]) -> tuple[int, int, tuple[int, ...]]:
    """Sort key of the report: roots that explain others, other roots, what followed, noise."""
    if diagnosis.layer == "noise":
        group = 3
    elif diagnosis.root:
        group = 0 if diagnosis.severity == "error" or diagnosis.id in after.values() else 1
    else:
        group = 2
    explains = -sum(cause == diagnosis.id for cause in after.values())
    return (group, explains if group == 0 else 0, _weight(knowledge, diagnosis))
