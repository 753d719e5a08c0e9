"""Symbolic walk of loops: induction variables, iterations, and whether all work-items make as many of them."""

from __future__ import annotations

from dataclasses import replace

from kexec_lint.opencl.kernels.expressions import evaluate, evaluate_quietly
from kexec_lint.opencl.kernels.polling import find_polls
from kexec_lint.opencl.kernels.symbolic import (
    Dep,
    Terms,
    Value,
    add_terms,
    constant,
    divide,
)
from kexec_lint.opencl.kernels.syntax import (
    Assign,
    Binary,
    Do,
    Group,
    Loop,
    Node,
    Ref,
)
from kexec_lint.opencl.kernels.tree import (
    assigned_names,
    assignments,
    has_break,
    has_continue,
    has_effects,
    names_in,
)
from kexec_lint.opencl.kernels.walk import Frame, Guard, Walk


def run_loop(walk: Walk, node: Loop) -> bool:
    """Walk a loop twice, after a silent pass that finds what its variables depend on."""
    walk.run_block(walk, node.init)
    assigned = set(assigned_names((*node.body, *(part for part in (node.test, node.step) if part is not None))))
    before = dict(walk.env)
    steps = find_induction(walk, node, assigned, before)
    deps: dict[str, int] = {key: before[key].deps for key in assigned if key in before}
    passes = 1 if walk.silent else 3  # the first one only finds what the variables depend on
    control = Dep.NONE
    frame = Frame(len(walk.guards))
    walk.loops.append(frame)
    pointers: dict[str, Value] = {}
    repeat: Guard | None = None
    last = before
    for number in range(passes):
        dry = number == 0 and passes > 1
        walk.silent += dry
        walk.env = loop_head(walk, before, assigned, steps, deps, pointers, node.start)
        last = dict(walk.env)
        if repeat is not None and number == passes - 1:
            walk.guards.append(repeat)
        test = run_iteration(walk, node)
        del walk.guards[frame.guards :]
        walk.silent -= dry
        if test is not None:
            control |= test.value.deps
            repeat = test if node.test_last else None
        frame.skips.clear()
        for key in assigned & before.keys():
            if key in walk.env:
                deps[key] = deps.get(key, Dep.NONE) | walk.env[key].deps
                if walk.env[key].roots and not dry:
                    pointers[key] = walk.env[key]
    if not walk.silent:
        find_polls(walk, node)
    leaving = Dep.NONE
    for guard in frame.exits:
        leaving |= guard.value.deps
    walk.loops.pop()
    for key in assigned:
        if key in before:
            values = [before[key], last.get(key, before[key]), walk.env.get(key, before[key])]
            if any(value != values[0] for value in values):
                walk.env[key] = walk.merged(key, values, control | leaving)
    forever = node.test is None or constant(evaluate_quietly(walk, node.test).terms) not in (None, 0)
    return not (forever and not frame.exits and not has_break(node.body))


def loop_head(
    walk: Walk,
    before: dict[str, Value],
    assigned: set[str],
    steps: dict[str, Value],
    deps: dict[str, int],
    pointers: dict[str, Value],
    at: int,
) -> dict[str, Value]:
    """Return the environment at the head of an iteration: induction variables as start + n * step."""
    env = dict(before)
    count = walk.algebra.symbol(f"iter@{at}")
    for key in assigned:
        if key not in before:
            continue
        old = before[key]
        if key in steps:
            moved = walk.algebra.add(old, walk.algebra.multiply(count, steps[key]))
            env[key] = replace(moved, roots=old.roots, unit=old.unit)
        elif old.roots:
            env[key] = pointers.get(key, old)
        else:
            env[key] = walk.algebra.symbol(f"{key.partition('#')[0]}@{at}", deps[key])
            walk.algebra.atoms[f"{key.partition('#')[0]}@{at}"] = replace(
                walk.algebra.atoms[f"{key.partition('#')[0]}@{at}"], deps=deps[key]
            )
            env[key] = replace(env[key], deps=deps[key])
    return env


def find_induction(walk: Walk, node: Loop, assigned: set[str], before: dict[str, Value]) -> dict[str, Value]:
    """Return the variables that every iteration moves by the same amount, with that amount."""
    moves: dict[str, list[Assign]] = {}
    always = [*node.body, *([Do(node.step.start, node.step.end, node.step)] if node.step is not None else [])]
    every = {id(item.value) for item in always if isinstance(item, Do)}
    for item in always:
        if isinstance(item, Do) and isinstance(item.value, Group) and item.value.kind == "comma":
            every |= {id(part) for part in item.value.items}
    for move in assignments((*node.body, *(part for part in (node.test, node.step) if part is not None))):
        if isinstance(move.target, Ref):
            moves.setdefault(move.target.key, []).append(move)
    out: dict[str, Value] = {}
    skipping = has_continue(node.body)
    for key, assigns in moves.items():
        assign = assigns[0]
        if len(assigns) != 1 or key not in before or id(assign) not in every:
            continue
        in_step = node.step is not None and node.step.start <= assign.start < node.step.end
        if skipping and not in_step:
            continue
        amount: Node | None = assign.value if assign.op in ("+=", "-=") else None
        sign = -1 if assign.op == "-=" else 1
        if assign.op == "=" and isinstance(assign.value, Binary) and assign.value.op in ("+", "-"):
            left, right = assign.value.left, assign.value.right
            if isinstance(left, Ref) and left.key == key:
                amount, sign = right, -1 if assign.value.op == "-" else 1
            elif isinstance(right, Ref) and right.key == key and assign.value.op == "+":
                amount = left
        if amount is None or any(name in assigned for name in names_in(amount)) or has_effects(amount):
            continue
        step = evaluate_quietly(walk, amount)
        out[key] = step if sign > 0 else walk.algebra.multiply(step, walk.algebra.number(-1))
    return out


def run_iteration(walk: Walk, node: Loop) -> Guard | None:
    """Walk one iteration; return the condition that decides whether there is another."""
    test: Guard | None = None
    if node.test is not None and not node.test_last:
        test = loop_guard(walk, node.test)
        if test is not None:
            walk.guards.append(test)
    walk.run_block(walk, node.body)
    if node.step is not None:
        evaluate(walk, node.step)
    if node.test is not None and node.test_last:
        test = loop_guard(walk, node.test)
    return test


def loop_guard(walk: Walk, test: Node) -> Guard | None:
    """Evaluate a loop condition; None for one that always holds."""
    value = evaluate(walk, test)
    if constant(value.terms) is not None:
        return None
    same = same_trips(walk, value)
    if same:
        value = replace(value, deps=value.deps & ~Dep.DIVERGENT)
    elif same is None:  # the bound may have been rounded to the group's size
        value = replace(value, deps=value.deps | Dep.MAYBE)
    return Guard(value, "loop", test.start, test.end)


def same_trips(walk: Walk, test: Value) -> bool | None:
    """Say whether `lid + n * step < bound` holds equally often for all items; None when that cannot be told.

    It does where step and bound are multiples of the group's size. A constant step is taken for that size.
    """
    if len(test.terms) != 1 or len(test.terms[0][0]) != 1:
        return False
    atom = walk.algebra.atoms[test.terms[0][0][0]]
    if atom.op not in ("<", ">") or len(atom.parts) != 2:
        return False
    left, right = atom.parts if atom.op == "<" else reversed(atom.parts)
    counted = tuple(term for term in left if any(name.startswith("iter@") for name in term[0]))
    start = tuple(term for term in left if term not in counted)
    if len(counted) != 1 or not any(name.startswith("lid") for atoms, _ in start for name in atoms):
        return False
    atoms, factor = counted[0]
    step: Terms = ((tuple(name for name in atoms if not name.startswith("iter@")), factor),)
    base = tuple(term for term in start if not walk.algebra.term_deps(term[0]) & (Dep.LOCAL | Dep.GLOBAL))
    sizes = [walk.size(d).terms for d in range(3) if divide(step, walk.size(d).terms) is not None] or [step]
    bound = add_terms(right, base, -1)
    if any(divide(bound, size) is not None for size in sizes):
        return True
    opaque = any(walk.algebra.atoms[name].parts for atoms, _ in bound for name in atoms)
    return None if opaque else False
