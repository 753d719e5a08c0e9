"""What a check yields, and the register of checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kexec_lint.findings import Confidence, Severity
from kexec_lint.opencl import graph as g


@dataclass(frozen=True)
class Evidence:
    """A finding in terms of the graph: `at` is the primary site, `against` the site that it forms a pair with.

    The location of a pair is the place in the innermost activation that both sites share.
    """

    code: str
    at: g.Site
    message: str
    help: str
    against: g.Site | None = None
    hazard: str | None = None
    confidence: Confidence = Confidence.CERTAIN
    severity: Severity | None = None
    related: tuple[tuple[str, g.Site], ...] = ()
    nodes: tuple[g.Node, ...] = ()
    """Earlier and later node of a pair, for drawings, fixes and replays."""


Check = Callable[[g.EnqueueGraph], Iterator[Evidence]]

CHECKS: list[tuple[frozenset[str], Check]] = []
"""Every check with the codes that it may report."""


def check(*codes: str) -> Callable[[Check], Check]:
    """Register a check over one enqueue graph for these codes."""

    def register(function: Check) -> Check:
        CHECKS.append((frozenset(codes), function))
        return function

    return register


def place(at: g.Site, against: g.Site | None) -> g.Place:
    """Return the place of `at` in the innermost activation that it shares with `against`.

    Two threads share none: then it is the command itself.
    """
    if not against or at[0].frame != against[0].frame:
        return at[-1]
    shared = 0
    for mine, other in zip(at, against, strict=False):
        if mine.frame != other.frame:
            break
        shared += 1
        if mine.span != other.span:
            break
    return at[shared - 1]
