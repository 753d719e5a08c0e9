"""`verify replay`: rebuilds the pair of each finding on real devices and says what happened there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kexec_lint.engine.decoding import Unreadable, decode
from kexec_lint.engine.reading import LIMIT
from kexec_lint.engine.request import Request
from kexec_lint.engine.tree import RecordingProject, Tree
from kexec_lint.findings import Finding
from kexec_lint.opencl import graph as g
from kexec_lint.source import Options, Project, Source
from kexec_lint.verify.plan import Outcome, Plan
from kexec_lint.verify.plan import outcome as outcome_of
from kexec_lint.verify.process import Lost, Player, label
from kexec_lint.verify.reduction import Unshowable, reduce
from kexec_lint.verify.verdicts import CONFIRMED, HELD_BACK, INCONCLUSIVE, Verdict

if TYPE_CHECKING:
    from kexec_lint.opencl.analysis import Analysis

DEADLINE = 3.0
"""Seconds for which the later command may stay back while the earlier one is held."""

BUILD = 60.0
"""Seconds more for building kernels before a player counts as hanging."""


@dataclass(frozen=True)
class Subject:
    """A finding with what a replay needs of it."""

    finding: Finding
    plan: Plan | None
    why_not: str = ""


def subjects(findings: Iterable[Finding], request: Request, start: str) -> Iterator[Subject]:
    """Yield every OpenCL finding with its plan, analysing each file once more."""
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.code.startswith("OCL"):
            by_file.setdefault(finding.location.filename, []).append(finding)
    for name, here in by_file.items():
        plans = _plans(name, {finding.code for finding in here}, request, start)
        for finding in here:
            at = finding.location
            found = plans.get((finding.code, at.cell, at.row, at.column))
            if isinstance(found, Plan):
                yield Subject(finding, found)
            else:
                yield Subject(finding, None, found or f"{finding.code} is not about the order of two commands")


def _plans(
    name: str, codes: set[str], request: Request, start: str
) -> dict[tuple[str, int | None, int, int], Plan | str]:
    """Return the plans of a file's findings by code and place, or why there is none."""
    from kexec_lint.opencl.report import judged

    path = os.path.join(start, name)
    tree = Tree(start, [os.path.join(start, root) for root in request.paths if os.path.isdir(root)])
    with open(path, "rb") as file:
        data = file.read(LIMIT)
    try:
        source = decode(name, data)
    except Unreadable:
        return {}
    options = Options(frozenset(codes), "possible", bool(request.assume_out_of_order), explicit=frozenset(codes))
    project = RecordingProject(tree)
    analysis = analysed(source, project, options)
    if analysis is None:
        return {}
    plans: dict[tuple[str, int | None, int, int], Plan | str] = {}
    for finding, evidence, graph in judged(analysis.graphs, source, options):
        at = finding.location
        plans[finding.code, at.cell, at.row, at.column] = plan_of(
            graph, evidence.nodes, finding.code, analysis.kernel_texts
        )
    return plans


def analysed(source: Source, project: Project, options: Options) -> Analysis | None:
    """Return the analysis of a host program in Python, C or C++; None for a file without host code."""
    if source.suffix in (".cl", ".ocl"):
        return None
    from kexec_lint.opencl.analysis import analyse
    from kexec_lint.opencl.frontend import SyntaxProblem

    try:
        return analyse(source, project, options)
    except SyntaxProblem:
        return None


WHY_NOT = {
    "OCL109": "only runtimes before OpenCL 3.0's text let a blocking write return early",
    "OCL110": "synchronisation that is not needed changes no order",
    "OCL205": "using an object while it is mapped is undefined even when it is ordered: no order shows it",
    "OCL302": "whether an unflushed queue hangs depends on when a driver submits; PoCL submits at once",
    "OCL303": "whether an unflushed queue hangs depends on when a driver submits; PoCL submits at once",
    "OCL312": "a profiling query fails or not; there is no order to show",
}
"""Rules with a pair of nodes whose claim is not that the two may run in the wrong order."""


def plan_of(graph: g.EnqueueGraph, nodes: Sequence[g.Node], code: str, texts: Iterable[str]) -> Plan | str:
    """Return the plan of a pair, or why no device can show it."""
    if code in WHY_NOT:
        return WHY_NOT[code]
    if len(nodes) != 2:
        return f"{code} is not about the order of two commands"
    try:
        return reduce(graph, nodes[0], nodes[1], texts, merge=code == "OCL504")
    except Unshowable as reason:
        return str(reason)


def replay(
    subject: Subject, devices: Sequence[dict[str, Any]], player: Player, deadline: float = DEADLINE
) -> list[Verdict]:
    """Play a finding's plan on every device and return what each says."""
    if subject.plan is None:
        return [Verdict(label(device), INCONCLUSIVE, subject.why_not) for device in devices]
    return [verdict(label(d), play(subject.plan, d, player, deadline), subject.plan) for d in devices]


def play(plan: Plan, device: dict[str, Any], player: Player, deadline: float) -> Outcome:
    """Play a plan; where the author's kernels fail, once more with stand-ins."""
    job = {"op": "play", "device": device["index"], "plan": plan.data(), "deadline": deadline}
    first = _ask(job, player, deadline)
    if first.kernels != "author" and first.order != "refused":
        return first
    if first.order == "later-first" and not first.differences:
        # The author's kernels may compute the same from other values; ones that cannot show what went wrong.
        shown = _ask({**job, "stand_in": True}, player, deadline)
        if shown.order == "later-first" and shown.differences:
            return replace(shown, detail="with stand-in kernels; the author's gave the same values this time")
    if first.order != "refused" or all(step.kernel is None for step in plan.steps):
        return first
    second = _ask({**job, "stand_in": True}, player, deadline)
    because = f"the author's kernels could not run with made-up arguments ({first.detail})"
    detail = "; ".join(filter(None, [second.detail, because]))
    return replace(second, detail=detail)


def _ask(job: dict[str, Any], player: Player, deadline: float) -> Outcome:
    steps = len(job["plan"]["steps"])
    try:
        answer = player.ask(job, BUILD + 2 * deadline * (steps + 4))
    except Lost as lost:
        return Outcome("refused", str(lost))
    return Outcome("refused", answer["error"]) if "error" in answer else outcome_of(answer)


def verdict(device: str, outcome: Outcome, plan: Plan) -> Verdict:
    """Judge what was seen."""
    earlier, later = plan.steps[plan.earlier], plan.steps[plan.later]
    pair = f"{earlier.what} (line {earlier.line}) and {later.what} (line {later.line})"
    if outcome.order == "later-first":
        seen = (
            f"the host got to line {later.line}"
            if later.op == "access"
            else f"{later.what} (line {later.line}) was complete"
        )
        value = outcome.differences[0].words if outcome.differences else "the values came out the same this time"
        notes = "".join(f"; {note}" for note in [*plan.notes, *filter(None, [outcome.detail])])
        still = f"{earlier.what} (line {earlier.line}) was still {outcome.earlier_status}"
        return Verdict(device, CONFIRMED, f"{seen} while {still}; {value}{notes}")
    if outcome.order == "held":
        return Verdict(
            device, HELD_BACK, f"this runtime kept the order of {pair}: {outcome.detail}; another one need not"
        )
    if outcome.order == "blocked":
        return Verdict(device, HELD_BACK, f"this runtime kept the order of {pair}: {outcome.detail}")
    if outcome.order == "gate-ignored":
        return Verdict(device, INCONCLUSIVE, f"{outcome.detail}: this runtime does not honour user events")
    return Verdict(device, INCONCLUSIVE, outcome.detail)


def verify(
    subjects: Sequence[Subject],
    devices: Sequence[dict[str, Any]],
    deadline: float = DEADLINE,
    progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[Finding, list[Verdict]]]:
    """Yield every finding with a verdict for each device."""
    with Player() as player:
        for number, subject in enumerate(subjects, 1):
            yield subject.finding, replay(subject, devices, player, deadline)
            if progress is not None:
                progress(number)
