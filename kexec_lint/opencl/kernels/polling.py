"""Finds spin loops: loops that do nothing but wait for a global element to change."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.opencl.kernels.expressions import locate_quietly
from kexec_lint.opencl.kernels.syntax import (
    Assign,
    Block,
    Call,
    Declare,
    If,
    Index,
    Jump,
    Loop,
    Node,
    Ref,
    Return,
    Unary,
)
from kexec_lint.opencl.kernels.tree import assigned_names, assignments, conjuncts, nested
from kexec_lint.opencl.kernels.walk import Poll, Walk


def find_polls(walk: Walk, node: Loop) -> None:
    """Note a loop that waits for a global element to change without changing it itself."""
    conditions: list[Node] = [node.test] if node.test is not None else []
    for item in node.body:
        if isinstance(item, If) and item.then and isinstance(item.then[-1], (Jump, Return)):
            conditions.append(item.test)
        elif isinstance(item, If) and len(item.then) == 1 and isinstance(item.then[0], Block):
            inner = item.then[0].body
            if inner and isinstance(inner[-1], (Jump, Return)):
                conditions.append(item.test)
    inside = [event for event in walk.events if node.start <= event.start < node.end]
    touched = {event.root for event in inside if event.kind in ("write", "lost")}
    if any(event.kind in ("atomic", "unknown") for event in inside) or not conditions:
        return
    values = {
        assign.target.key: assign.value
        for assign in assignments(node.body)
        if isinstance(assign, Assign) and isinstance(assign.target, Ref) and assign.op == "="
    }
    values |= {d.key: d.value for d in nested(node.body) if isinstance(d, Declare) and d.value is not None}
    counts: dict[str, int] = {}
    for key in assigned_names((*node.body, *([node.step] if node.step is not None else []))):
        counts[key] = counts.get(key, 0) + 1
    for condition in conditions:
        for part in conjuncts(condition):
            seen: set[str] = set()
            reads = [n for n in unfold(walk, part, values, counts, seen) if isinstance(n, (Index, Unary))]
            reads = [n for n in reads if isinstance(n, Index) or n.op == "*"]
            if len(reads) != 1 or "" in seen:
                continue
            pointer = locate_quietly(walk, reads[0])
            if len(pointer.roots) == 1 and pointer.roots <= walk.globals and not pointer.roots & touched:
                (root,) = pointer.roots
                walk.polls.append(Poll(reads[0].start, reads[0].end, root, pointer, walk.conditions()))


def unfold(walk: Walk, node: Node, values: dict[str, Node], counts: dict[str, int], seen: set[str]) -> Iterator[Node]:
    """Yield a condition's nodes, through variables set once in the loop; "" in `seen` if one changes otherwise."""
    for part in nested((node,)):
        yield part
        if isinstance(part, Assign) or (isinstance(part, Call) and not part.name.startswith("get_")):
            seen.add("")
        if isinstance(part, Ref) and counts.get(part.key):
            if counts[part.key] == 1 and part.key in values and part.key not in seen:
                seen.add(part.key)
                yield from unfold(walk, values[part.key], values, counts, seen)
            elif part.key not in seen:
                seen.add("")
