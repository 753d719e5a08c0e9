"""A possible fix before it has been tried, and the register of what proposes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.fixes.changes import Change
from kexec_lint.opencl.fixes.pairs import Pair


@dataclass(frozen=True)
class Candidate:
    """Changes that may put a finding right. `safe` as ruff means it; `first` goes before the general ones.

    `covers` are the earlier commands that it has to put first; the others that are missing may be so by the fix
    of another finding.
    """

    message: str
    changes: tuple[Change, ...]
    safe: bool = True
    first: bool = False
    covers: tuple[g.Command, ...] = ()


Proposer = Callable[[Any], Iterator[Candidate]]
"""Takes a `Case` of its language."""


@dataclass(frozen=True)
class Proposers:
    """The register of a language: code → what proposes fixes for it, and how many nodes the evidence must have."""

    by_code: dict[str, list[tuple[Proposer, int]]] = field(default_factory=dict)

    def fixes(self, *codes: str, nodes: int = 2) -> Callable[[Proposer], Proposer]:
        """Register a proposer for these codes; by default it is asked about pairs of nodes only."""

        def register(function: Proposer) -> Proposer:
            for code in codes:
                self.by_code.setdefault(code, []).append((function, nodes))
            return function

        return register

    def candidates(self, case: Pair) -> list[Candidate]:
        """Return what could be done about a finding: what fits its rule best first, unsafe ones last."""
        found = [
            candidate
            for propose, nodes in self.by_code.get(case.evidence.code, ())
            if len(case.evidence.nodes) >= nodes
            for candidate in propose(case)
        ]
        return sorted(found, key=lambda candidate: (not candidate.safe, not candidate.first))


PYTHON = Proposers()
NATIVE = Proposers()
fixes = PYTHON.fixes
