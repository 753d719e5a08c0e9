"""OCL401 barrier-is-not-global and OCL402 barrier-divergence: what a kernel's text alone shows of its barriers."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kexec_lint.findings import Confidence
from kexec_lint.opencl.kernels import read_units
from kexec_lint.opencl.kernels.execute import execute
from kexec_lint.opencl.kernels.merge import required_size
from kexec_lint.opencl.kernels.ownership import Judge
from kexec_lint.opencl.kernels.symbolic import Dep, dimension
from kexec_lint.opencl.kernels.walk import Event, GaveUp, Guard, Poll, Walk

MAX_STEPS = 60_000
"""Steps of the symbolic walk after which the rest of a text's kernels is not judged (about a second)."""
MAX_PAIRS = 40_000
"""Reads times writes of one parameter beyond which a kernel is not judged."""


@dataclass(frozen=True)
class KernelIssue:
    """Something wrong in a kernel's text. Spans are half-open offsets in characters of that text.

    `many_groups`: it needs more than one work-group, so a launch with exactly one makes it void.
    """

    code: str
    kernel: str
    span: tuple[int, int]
    message: str
    help: str
    related: tuple[tuple[str, tuple[int, int]], ...]
    confidence: Confidence
    many_groups: bool


@lru_cache(maxsize=256)
def kernel_issues(text: str) -> tuple[KernelIssue, ...]:
    """Return the issues of every kernel of an OpenCL C text by place, one of a code for a line. Never raises."""
    if "kernel" not in text or not any(word in text for word in ("barrier", "mem_fence", "while", "for")):
        return ()
    found: dict[tuple[str, int], KernelIssue] = {}
    seen: set[tuple[str, ...]] = set()
    steps = 0
    for unit in read_units(text)[0]:
        for place in unit.kernels():
            functions = unit.reachable(place)
            key = tuple(unit.expanded.text[slice(*function.body)] for function in functions)
            if key in seen or not any(_CANDIDATE.search(body) for body in key):
                continue
            seen.add(key)
            function = unit.function(place)
            if not function.sound or not function.named_params or steps > MAX_STEPS:
                continue
            try:
                walk = execute(unit, function, required_size(unit, place))
            except (GaveUp, RecursionError):
                steps += MAX_STEPS // 4
                continue
            steps += walk.steps
            for issue in (*_divergence(walk), *_not_global(walk), *_polling(walk)):
                found.setdefault((issue.code, text.count("\n", 0, issue.span[0])), issue)
    return tuple(sorted(found.values(), key=lambda issue: (issue.span, issue.code)))


_CANDIDATE = re.compile(r"\b(work_group_)?barrier\s*\(|mem_fence\s*\(|\bwhile\s*\(|\bfor\s*\(\s*;\s*;|\bbreak\b")
"""What a kernel or a helper of it must hold to have one of these issues: a barrier, a fence, or a polling loop."""


def _quote(walk: Walk, start: int, end: int) -> str:
    """Return the author's expression on one line, shortened."""
    text = " ".join(walk.unit.expanded.text[start:end].split())
    return text if len(text) <= 60 else text[:57] + "…"


def _span(walk: Walk, node: Event | Guard | Poll) -> tuple[int, int]:
    return walk.unit.expanded.original_span(node.start, node.end)


# --- OCL402


def _divergence(walk: Walk) -> Iterator[KernelIssue]:
    """Yield barriers that some work-items of a group may not reach, or not equally often.

    OpenCL C specification, "Synchronization Functions": all work-items of the group must execute the barrier
    before any may go on; in a conditional, all must enter it if any does; in a loop, all in each iteration.
    """
    done: set[int] = set()
    for event in walk.events:
        if event.kind not in ("barrier", "local barrier"):
            continue
        reason = next((guard for guard in event.guards if _divergent(walk, guard)), None)
        if reason is None or reason.start in done:  # one finding a condition, at the first barrier that it spoils
            continue
        done.add(reason.start)
        condition = _quote(walk, reason.start, reason.end)
        why = {
            "if": f"`{condition}` differs between work-items of one work-group",
            "loop": f"work-items of one work-group make different numbers of iterations of `{condition}`",
            "exit": f"work-items leave early where `{condition}` {'fails' if reason.holds else 'holds'}",
        }[reason.kind]
        what = "barrier() is not reached by all work-items"
        related = [("the condition", _span(walk, reason))]
        span = _span(walk, event)
        if event.call is not None and walk.function.start <= reason.start < walk.function.end:
            related.append(("the barrier", span))
            span = walk.unit.expanded.original_span(*event.call)
            what = "the barrier in this call is not reached by all work-items"
        yield KernelIssue(
            code="OCL402",
            kernel=walk.function.name,
            span=span,
            message=f"{what}: {why}",
            help="Move the barrier out of the condition, or let every work-item of the group take part and guard "
            "only the work between the barriers.",
            related=tuple(related),
            confidence=Confidence.LIKELY,
            many_groups=False,
        )


def _divergent(walk: Walk, guard: Guard) -> bool:
    """Say whether a condition surely can differ between work-items of one group.

    A global id counts only in dimensions in which the kernel's groups have more than one item as far as its local
    ids tell: `row = get_global_id(1)` beside `get_local_id(0)` alone is one row a group. Nor does it where it says of
    no memory which part is the work-item's: there the items of one group share the work by their local ids.
    """
    deps = guard.value.deps
    if deps & Dep.MAYBE:
        return False
    if deps & Dep.LOCAL:
        return True
    used = walk.local_dimensions
    for d in range(3):
        parts = walk.addressed is None or d in walk.addressed
        if deps & dimension(Dep.GLOBAL0, d) and (d in used or not used) and parts:
            return True
    return not deps & Dep.GLOBAL and bool(deps & Dep.DATA)


# --- OCL401

_SPLIT = (
    "Split the kernel here and launch the rest as a second kernel: an in-order queue, or the first launch's event "
    "in the second's wait list, orders the two."
)


def _not_global(walk: Walk) -> Iterator[KernelIssue]:
    """Yield reads that meet another group's write, with nothing but barriers or fences in between.

    OpenCL C specification, "Synchronization Functions": a barrier orders the work-items of one work-group.
    """
    joins = [i for i, event in enumerate(walk.events) if event.kind in ("barrier", "fence")]
    if not joins:
        return
    stops = [i for i, event in enumerate(walk.events) if event.kind in ("atomic", "unknown")]
    judge = Judge(walk.algebra)
    judge.size = walk.required[0] if walk.required is not None else None
    done: set[tuple[int, int]] = set()
    early: set[tuple[int, int]] = set()
    for root in sorted(walk.globals):
        touching = [(i, e) for i, e in enumerate(walk.events) if e.root == root]
        writes = _distinct([(i, e) for i, e in touching if e.kind == "write"], joins)
        reads = _distinct([(i, e) for i, e in touching if e.kind in ("read", "atomic")], joins)
        if not writes or len(writes) * len(reads) > MAX_PAIRS:
            continue
        for i, read in reads:
            if (read.start, read.end) in done:
                continue
            apart = [(j, w, _between(joins, i, j)) for j, w in writes]
            foreign = [
                (j, write, between)
                for j, write, between in apart
                if between and not _between(stops, i, j) and judge.foreign(read, write) is True
            ]
            for j, write, between in foreign:
                barrier = next((walk.events[k] for k in between if _joins(walk.events[k], read, write)), None)
                if barrier is None or _exclusive(read, write) or _own(judge, read, i, writes):
                    continue
                if i < j and (barrier.start, write.start) in early:  # said once of a write that comes too early
                    continue
                early.add((barrier.start, write.start))
                done.add((read.start, read.end))
                yield _foreign_read(walk, read, write, barrier, later=i > j)
                break


def _between(places: list[int], one: int, other: int) -> list[int]:
    """Return those of the sorted places that lie strictly between two."""
    low, high = min(one, other), max(one, other)
    return places[bisect_right(places, low) : bisect_left(places, high)]


def _distinct(events: list[tuple[int, Event]], joins: list[int]) -> list[tuple[int, Event]]:
    """Return the events without those that repeat an earlier one between the same barriers."""
    seen: set[tuple[object, ...]] = set()
    out: list[tuple[int, Event]] = []
    for i, event in events:
        key = (event.start, event.index.terms, event.guards, event.path, bisect_left(joins, i))
        if key not in seen:
            seen.add(key)
            out.append((i, event))
    return out


def _own(judge: Judge, read: Event, at: int, writes: list[tuple[int, Event]]) -> bool:
    """Say whether the read meets what its own work-item, or its whole group, has written before."""
    return any(j < at and judge.foreign(read, write) is False for j, write in writes)


def _exclusive(one: Event, other: Event) -> bool:
    """Say whether no work-item does both: they stand in different arms of one branch."""
    arms = dict(one.path)
    return any(arms.get(branch, arm) != arm for branch, arm in other.path)


def _joins(event: Event, one: Event, other: Event) -> bool:
    return not _exclusive(event, one) and not _exclusive(event, other)


def _foreign_read(walk: Walk, read: Event, write: Event, barrier: Event, later: bool) -> KernelIssue:
    what = _quote(walk, read.start, read.end)
    name = _quote(walk, barrier.start, barrier.end).partition("(")[0]
    if later:
        message = f"`{what}` may be an element that another work-group writes, and {name}() does not wait for it"
    else:
        message = f"`{what}` may be overwritten by another work-group first: {name}() does not hold that group back"
    return KernelIssue(
        code="OCL401",
        kernel=walk.function.name,
        span=_span(walk, read),
        message=message,
        help=f"Barriers and fences order the work-items of one work-group only. {_SPLIT}",
        related=(
            ("written here" if later else "overwritten here", _span(walk, write)),
            ("joins one work-group only", _span(walk, barrier)),
        ),
        confidence=Confidence.POSSIBLE if read.kind == "atomic" else Confidence.LIKELY,
        many_groups=True,
    )


def _polling(walk: Walk) -> Iterator[KernelIssue]:
    """Yield loops that wait, without atomics, for what another work-group writes.

    OpenCL specification, "Execution Model": work-groups run independently; none is guaranteed to run while another
    waits, and memory of one becomes visible to another by atomics alone.
    """
    judge = Judge(walk.algebra)
    done: set[tuple[int, int]] = set()
    for poll in walk.polls:
        writes = [e for e in walk.events if e.root == poll.root and e.kind in ("write", "atomic")]
        where = judge.split(poll.index.terms)
        own = any(e.index.terms == poll.index.terms and where.group for e in writes)
        if not writes or own or where.deps & Dep.MAYBE or (poll.start, poll.end) in done:
            continue
        done.add((poll.start, poll.end))
        what = _quote(walk, poll.start, poll.end)
        yield KernelIssue(
            code="OCL401",
            kernel=walk.function.name,
            span=_span(walk, poll),
            message=f"this loop waits for another work-group to change `{what}`, and may never see it",
            help=f"Work-groups need not run at the same time, and a plain read need not see writes. {_SPLIT}",
            related=(("written here", _span(walk, writes[0])),),
            confidence=Confidence.LIKELY,
            many_groups=True,
        )
