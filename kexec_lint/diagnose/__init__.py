"""Name the layer of a failure from what it printed: knowledge base, matcher, root cause, next steps."""

from __future__ import annotations

from collections.abc import Sequence

from kexec_lint.diagnose.chain import UNKNOWN, Diagnosis
from kexec_lint.diagnose.clean import Line
from kexec_lint.diagnose.endings import Ending
from kexec_lint.diagnose.knowledge import Knowledge, KnowledgeError, load

__all__ = ["UNKNOWN", "Diagnosis", "Ending", "Knowledge", "KnowledgeError", "diagnose", "load"]


_LOWERING = ("executorch-export", "executorch-delegate")
_OF_KERNELS = ("pytorch-kernel-check", "pytorch-kernel-dtype", "pytorch-dispatch", "usage")
"""The lowering's Python code refuses a graph in the words in which kernels refuse their arguments."""


def diagnose(
    text: str, knowledge: Knowledge, *, ending: Ending | None = None, command: str | None = None
) -> list[Diagnosis]:
    """Return what went wrong in a log, root cause first; nothing if nothing in it says that something failed.

    `ending` is how the process ended and `command` its command line, where both are known.
    """
    from kexec_lint.diagnose import chain, clean, matcher, place, resemble, steps, unknown, worded

    def judge(failed: Sequence[Line]) -> Diagnosis | None:
        judged = place.placed(knowledge, lines) or worded.worded(knowledge, lines, failed)
        return judged or resemble.resembling(knowledge, lines, failed)

    lines = clean.clean(text)
    hits = matcher.find(knowledge, lines)
    found = chain.diagnoses(knowledge, lines, hits)
    told = [d for d in found if d.severity == "error" or d.layer == "usage"]
    if not told:
        matched = {lines[hit.index].number for hit in hits}
        failed = [line for line in unknown.failures(lines) if line.number not in matched]
        if failed or (ending is not None and ending.bad):
            judged = judge(failed) if failed else None
            first = judged or unknown.unknown(knowledge, lines, failed, ending)
            found = [first, *(_demoted(d) for d in found)]
        elif not found and (said := unknown.said(lines)):
            judged = judge(said)
            found = [judged] if judged is not None else []
    elif all(knowledge.by_id[d.id].general for d in told):
        judged = place.placed(knowledge, lines)  # the shape of a message tells less than the code that raised it
        if judged is None:
            judged = worded.backend(knowledge, lines, told)  # or than the name of a part of ExecuTorch
        if judged is not None:
            found = [judged, *(_demoted(d) for d in found)]
    elif all(d.layer in _OF_KERNELS for d in told):
        judged = place.placed(knowledge, lines)  # a lowering's own refusal of a dtype or shape is no kernel's
        if judged is not None and judged.executor == "executorch" and judged.layer in _LOWERING:
            found = [judged, *(_demoted(d) for d in found)]
    if len([d for d in found if d.root and d.severity != "info"]) == 1:
        instead = _second_thought(knowledge, lines, found[0], ending)
        if instead is not None:
            found = [instead, *(_demoted(d) for d in found if d.id in knowledge.by_id)]
    found = [chain.left_open(knowledge, d) for d in found]
    names = steps.named(lines) if found else steps.Named((), None)
    return [steps.fill(diagnosis, lines, names, command) for diagnosis in found]


def _second_thought(
    knowledge: Knowledge, lines: Sequence[Line], first: Diagnosis, ending: Ending | None
) -> Diagnosis | None:
    """Return what to say instead where reports in such words hardly ever belong to the layer that was named first."""
    from kexec_lint.diagnose import resemble, unknown, worded

    entry = knowledge.by_id.get(first.id)
    numbers = {number for number, _ in first.lines}
    own = [line for line in lines if line.number in numbers]
    if first.severity == "info" or not own or (entry is not None and entry.extra):
        return None
    if first.id == worded.WORDED or (entry is not None and entry.general):
        if not resemble.doubtful(lines, own, first.layer, of_none=entry is None):
            return None
        return resemble.resembling(knowledge, lines, own) or unknown.unknown(knowledge, lines, own, ending)
    if entry is None or not entry.last or "code_name" in first.fields:
        return None  # what is known exactly is not doubted, nor the code that raised it
    return resemble.outvoting(knowledge, lines, own, first)


def _demoted(diagnosis: Diagnosis) -> Diagnosis:
    """Return a warning, or the mere shape of a message, that stands beside a failure it does not explain."""
    from dataclasses import replace

    return replace(diagnosis, root=False)
