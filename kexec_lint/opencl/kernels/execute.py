"""Walks a kernel symbolically: which global elements each work-item touches, between which barriers, and when."""

from __future__ import annotations

from kexec_lint.opencl.kernels.expressions import evaluate
from kexec_lint.opencl.kernels.loops import run_loop
from kexec_lint.opencl.kernels.symbolic import (
    Dep,
    Value,
    constant,
)
from kexec_lint.opencl.kernels.syntax import (
    Block,
    Declare,
    Do,
    Function,
    If,
    Jump,
    Loop,
    Node,
    Return,
    Switch,
)
from kexec_lint.opencl.kernels.unit import Unit
from kexec_lint.opencl.kernels.walk import Frame, GaveUp, Guard, Walk


def run_block(walk: Walk, nodes: tuple[Node, ...]) -> bool:
    """Walk statements; return whether control goes on after them."""
    return all(run_statement(walk, node) for node in nodes)


def run_statement(walk: Walk, node: Node) -> bool:
    """Walk one statement; return whether control goes on after it."""
    walk.tick()
    match node:
        case Declare():
            run_declaration(walk, node)
        case Do(value=value):
            evaluate(walk, value)
        case If():
            return run_if(walk, node)
        case Loop():
            return run_loop(walk, node)
        case Switch():
            return run_switch(walk, node)
        case Block(body=body):
            return run_block(walk, body)
        case Return(value=value):
            if value is not None:
                walk.returned.append(evaluate(walk, value))
            walk.leave(walk.functions[-1], node)
            return False
        case Jump(kind="break"):
            if walk.loops:
                walk.leave(walk.loops[-1], node)
            return False
        case Jump(kind="continue"):
            if walk.loops:
                frame = walk.loops[-1]
                frame.skips += walk.exit_guards(frame)
            return False
        case Jump():
            raise GaveUp
    return True


def run_declaration(walk: Walk, node: Declare) -> None:
    """Give a variable its first value; arrays and local memory become places of their own."""
    if node.shape == "array" or node.space == "local":
        space = "local" if node.space == "local" else "constant" if node.space == "constant" else "private"
        root = f"{space}:{walk.active[-1]}:{node.key}"
        value = evaluate(walk, node.value) if node.value is not None else None
        walk.contents[root] = value.deps if value is not None else Dep.NONE
        walk.env[node.key] = Value((), Dep.NONE, frozenset({root}), node.type)
        if node.shape != "array" and node.shape != "pointer":
            walk.env[node.key] = Value((), Dep.NONE, frozenset({root}), f"={node.type}")
    elif node.value is not None:
        walk.env[node.key] = evaluate(walk, node.value)
    else:
        walk.env[node.key] = walk.algebra.fresh(node.key, Dep.NONE)


def run_if(walk: Walk, node: If) -> bool:
    """Walk both arms and join them."""
    test = evaluate(walk, node.test)
    known = constant(test.terms)
    if known is not None:
        return run_block(walk, node.then if known else node.orelse)
    walk.branches += 1
    number, before = walk.branches, dict(walk.env)
    goes_on = []
    ends: list[dict[str, Value]] = []
    for arm, nodes in enumerate((node.then, node.orelse)):
        walk.env = dict(before)
        with_guard = Guard(test, "if", node.test.start, node.test.end, arm == 0)
        walk.guards.append(with_guard)
        walk.path.append((number, arm))
        on = run_block(walk, nodes)
        walk.path.pop()
        walk.guards.pop()
        goes_on.append(on)
        if on:
            ends.append(walk.env)
    walk.join(ends or [before], test.deps)
    return any(goes_on)


def run_switch(walk: Walk, node: Switch) -> bool:
    """Walk every case and join them."""
    subject = evaluate(walk, node.subject)
    walk.branches += 1
    number, before = walk.branches, dict(walk.env)
    ends = [before]
    outer = walk.loops[-1] if walk.loops else None
    for arm, (label, nodes) in enumerate(node.cases):
        walk.env = dict(before)
        span = (label or node.subject).start, (label or node.subject).end
        walk.guards.append(Guard(subject, "if", *span))
        walk.path.append((number, arm))
        walk.loops.append(Frame(len(walk.guards)))
        run_block(walk, nodes)
        inner = walk.loops.pop()
        if outer is not None:
            outer.skips += inner.skips
        walk.path.pop()
        walk.guards.pop()
        ends.append(walk.env)
    walk.join(ends, subject.deps)
    return True


def execute(unit: Unit, function: Function, required: tuple[int, int, int] | None) -> Walk:
    """Walk a kernel and return what happened. `required` is its `reqd_work_group_size`. Raises GaveUp."""
    walk = Walk(unit, function, required, run_block)
    for param in function.params:
        if param.pointer:
            accessible = param.kind in ("global", "unknown")
            root = param.name if accessible else f"{param.kind}:{param.name}"
            if accessible:
                walk.globals.add(root)
            walk.env[param.name] = Value((), Dep.NONE, frozenset({root}), param.type)
        else:
            walk.env[param.name] = walk.algebra.symbol(param.name)
    walk.functions.append(Frame(0))
    walk.active.append(function.name)
    run_block(walk, function.body)
    return walk
