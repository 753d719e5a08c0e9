"""Questions about subtrees of a kernel's syntax."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.opencl.kernels.syntax import (
    Assign,
    Binary,
    Declare,
    Index,
    Jump,
    Member,
    Node,
    Ref,
    Unary,
    children,
)


def nested(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Yield the nodes and everything inside them, in source order."""
    stack = list(reversed(nodes))
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(list(children(node)))


def assignments(nodes: tuple[Node, ...]) -> Iterator[Assign]:
    """Yield assignments, and what may change a variable through its address as one without a plain value."""
    for node in nested(nodes):
        if isinstance(node, Assign):
            yield node
        elif isinstance(node, Unary) and node.op == "&" and isinstance(node.operand, Ref):
            yield Assign(node.start, node.end, "&", node.operand, node.operand)


def assigned_names(nodes: tuple[Node, ...]) -> Iterator[str]:
    """Yield the variables that are declared or changed."""
    for node in nested(nodes):
        if isinstance(node, Declare):
            yield node.key
    for assign in assignments(nodes):
        target: Node = assign.target
        while isinstance(target, Member) and not target.arrow:
            target = target.base
        if isinstance(target, Ref):
            yield target.key


def names_in(node: Node) -> Iterator[str]:
    """Yield the names that occur."""
    return (part.key for part in nested((node,)) if isinstance(part, Ref))


def has_effects(node: Node) -> bool:
    """Say whether an expression assigns or reads memory."""
    return any(
        isinstance(part, (Assign, Index)) or (isinstance(part, Unary) and part.op == "*") for part in nested((node,))
    )


def has_continue(nodes: tuple[Node, ...]) -> bool:
    """Say whether there is a `continue`."""
    return any(isinstance(node, Jump) and node.kind == "continue" for node in nested(nodes))


def has_break(nodes: tuple[Node, ...]) -> bool:
    """Say whether there is a `break`."""
    return any(isinstance(node, Jump) and node.kind == "break" for node in nested(nodes))


def conjuncts(node: Node) -> list[Node]:
    """Return a, b, c of `a && b && c`."""
    if isinstance(node, Binary) and node.op == "&&":
        return [*conjuncts(node.left), *conjuncts(node.right)]
    return [node]
