"""What a finding of a pair lacks: the commands that nothing orders before the later node, and where they stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from kexec_lint.findings import Confidence
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.confidence import judge
from kexec_lint.opencl.checks.evidence import Evidence, place
from kexec_lint.opencl.fixes import Key
from kexec_lint.opencl.fixes.calls import called
from kexec_lint.opencl.fixes.tree import Line, Tree
from kexec_lint.opencl.program import Span


@dataclass(kw_only=True)
class Pair:
    """A finding to be fixed, whatever its language: its evidence, and the graph that it comes from."""

    path: str
    graph: g.EnqueueGraph
    evidence: Evidence
    key: Key
    taken: set[str] = field(default_factory=set)

    @property
    def later(self) -> g.Node:
        """The node that lacks an edge."""
        return self.evidence.nodes[-1]

    def span_of(self, node: g.Node) -> Span | None:
        """Return where a node stands in the activation that it shares with the later one, None if elsewhere."""
        at = place(node.site, self.later.site)
        return at.span if at.path == self.path else None

    @property
    def here(self) -> Span | None:
        """Where the later node stands in the activation that it shares with the earlier one, None if elsewhere."""
        at = place(self.later.site, self.evidence.nodes[0].site)
        return at.span if at.path == self.path else None

    @cached_property
    def earlier(self) -> list[g.Command]:
        """The commands that have to be complete before the later node and are not, the latest of each chain."""
        first = self.evidence.nodes[0]
        assert isinstance(first, g.Command)
        missing: dict[tuple[Span, ...], g.Command] = {spans(first.site): first}
        for conflict in self.graph.conflicts():
            if conflict.later is not self.later or not isinstance(conflict.earlier, g.Command):
                continue
            sure = judge(self.graph, conflict)
            if sure is not None and sure is not Confidence.POSSIBLE:
                missing.setdefault(spans(conflict.earlier.site), conflict.earlier)
        found = sorted(missing.values(), key=lambda command: command.index)
        return [
            command
            for command in found
            if not any(other is not command and self.graph.reaches(command, other, True) for other in found)
        ]

    @property
    def between(self) -> list[g.Node]:
        """The nodes between the first earlier one and the later one."""
        return self.graph.nodes[self.evidence.nodes[0].index + 1 : self.later.index]


@dataclass(kw_only=True)
class Case(Pair):
    """A finding in Python, with the tree of the file."""

    tree: Tree

    def call_of(self, node: g.Node) -> cst.Call | None:
        """Return the call that enqueues a node, or the call of the helper that does."""
        span = self.span_of(node)
        return self.tree.call_at(span) if span is not None else None

    def launches(self, call: cst.Call) -> bool:
        """Return whether a call is that of the kernel itself, whatever the kernel's name."""
        later = self.later
        is_kernel = isinstance(later, g.Command) and later.kind == "kernel" and later.site[-1].path == self.path
        return is_kernel and self.tree.call_at(later.site[-1].span) is call and not called(call).startswith("enqueue")

    @cached_property
    def at(self) -> cst.CSTNode | None:
        """The syntax of the later node, in the activation that it shares with the earlier one."""
        here = self.here
        return None if here is None else self.tree.call_at(here) or self.tree.node_at(here)

    @property
    def line(self) -> Line | None:
        """The statement before which the later node can be held back."""
        return self.tree.line(self.at) if self.at is not None else None


def spans(site: g.Site) -> tuple[Span, ...]:
    """Return the spans of a call chain, by which a node is found again after a change."""
    return tuple(at.span for at in site)


def queue_text(tree: Tree, call: cst.Call | None) -> str | None:
    """Return the expression of the queue that a call is given, if it can be written again elsewhere."""
    if call is None:
        return None
    named = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value in ("queue", "cq")]
    first = call.args[0].value if call.args and call.args[0].keyword is None and not call.args[0].star else None
    value = named[0] if named else first
    return tree.source(value) if value is not None and _steady(value) else None


def _steady(value: cst.BaseExpression) -> bool:
    match value:
        case cst.Name():
            return True
        case cst.Attribute(value=base):
            return _steady(base)
        case cst.Subscript(value=base, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer() | cst.Name()))]):
            return _steady(base)
    return False
