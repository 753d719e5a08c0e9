"""Symbolic values of expressions and places, with the memory accesses that evaluating them makes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from kexec_lint.opencl.kernels.calls import content_of, evaluate_call, recast
from kexec_lint.opencl.kernels.symbolic import (
    NOTHING,
    Dep,
    Terms,
    Value,
    add_terms,
    constant,
    dimension,
    divide,
)
from kexec_lint.opencl.kernels.syntax import (
    Assign,
    Binary,
    Call,
    Cast,
    Choice,
    Group,
    Index,
    Literal,
    Member,
    Node,
    Ref,
    Unary,
)
from kexec_lint.opencl.kernels.walk import Guard, Walk


def evaluate_quietly(walk: Walk, node: Node) -> Value:
    """Evaluate without noting anything."""
    walk.silent += 1
    kept = dict(walk.env)
    try:
        return evaluate(walk, node)
    finally:
        walk.silent -= 1
        walk.env = kept


def locate_quietly(walk: Walk, node: Node) -> Value:
    """Return a place without noting anything."""
    walk.silent += 1
    try:
        return locate(walk, node)
    finally:
        walk.silent -= 1


def evaluate(walk: Walk, node: Node) -> Value:
    """Return the value of an expression, noting the accesses it makes."""
    walk.tick()
    algebra = walk.algebra
    match node:
        case Literal(value=number):
            if isinstance(number, int):
                return algebra.number(number)
            return algebra.symbol(f"#{number}")
        case Ref(key=key, local=local):
            found = walk.env.get(key) if local or key in walk.env else None
            if found is None:
                return algebra.symbol(f"::{key}")
            return load_from(walk, node, found) if found.unit.startswith("=") else found
        case Cast(pointer=True, type=kind, value=inner):
            value = evaluate(walk, inner)
            return replace(value, unit=kind, terms=value.terms if kind == value.unit else recast(walk, value, kind))
        case Cast(type=kind, value=Group(kind="comma" | "list", items=items)) if kind[-1:].isdigit():
            parts = tuple(evaluate(walk, item) for item in items)
            return make_vector(walk, parts)
        case Cast(value=inner):
            return evaluate(walk, inner)
        case Binary():
            return evaluate_binary(walk, node)
        case Unary(op="*") | Index():
            return load_from(walk, node, locate(walk, node))
        case Unary(op="&", operand=operand):
            return address_of(walk, operand)
        case Unary(op="-", operand=operand):
            return algebra.multiply(evaluate(walk, operand), algebra.number(-1))
        case Unary(op="+", operand=operand):
            return evaluate(walk, operand)
        case Unary(op=op, operand=operand):
            value = evaluate(walk, operand)
            known = constant(value.terms)
            if op == "!" and known is not None:
                return algebra.number(int(not known))
            return algebra.opaque(op, (value.terms,), value.deps)
        case Member():
            return evaluate_member(walk, node)
        case Assign():
            return evaluate_assignment(walk, node)
        case Choice(test=test, then=then, orelse=orelse):
            condition = evaluate(walk, test)
            known = constant(condition.terms)
            if known is not None:
                return evaluate(walk, then if known else orelse)
            first = evaluate_under(walk, then, condition, test, True)
            second = evaluate_under(walk, orelse, condition, test, False)
            deps = condition.deps | first.deps | second.deps
            if first.roots or second.roots:
                return walk.merged("choice", [first, second], condition.deps)
            return algebra.opaque("?", (condition.terms, first.terms, second.terms), deps)
        case Call():
            return evaluate_call(walk, node, [evaluate(walk, argument) for argument in node.arguments])
        case Group(kind="comma", items=items) if items:
            return [evaluate(walk, item) for item in items][-1]
        case Group(kind=kind, items=items):
            parts = tuple(evaluate(walk, item) for item in items)
            vector = make_vector(walk, parts)
            return vector if kind == "list" else replace(vector, deps=vector.deps | Dep.MAYBE, parts=())
    return algebra.fresh("unread", Dep.MAYBE)


def make_vector(walk: Walk, parts: tuple[Value, ...]) -> Value:
    """Return a vector of these components."""
    deps = Dep.NONE
    for part in parts:
        deps |= part.deps
    value = walk.algebra.opaque("vector", tuple(part.terms for part in parts), deps)
    return replace(value, parts=parts)


def evaluate_under(walk: Walk, node: Node, condition: Value, test: Node, holds: bool) -> Value:
    """Return the value of an expression that is only evaluated if a condition holds or fails."""
    walk.guards.append(Guard(condition, "if", test.start, test.end, holds))
    value = evaluate(walk, node)
    walk.guards.pop()
    return value


def evaluate_binary(walk: Walk, node: Binary) -> Value:
    """Return the value of a binary operator."""
    algebra, op = walk.algebra, node.op
    left = evaluate(walk, node.left)
    if op in ("&&", "||"):
        known = constant(left.terms)
        if known is not None:
            if (op == "&&") != bool(known):
                return algebra.number(int(op == "||"))
            return evaluate(walk, node.right)
        right = evaluate_under(walk, node.right, left, node.left, op == "&&")
        return algebra.opaque(op, (left.terms, right.terms), left.deps | right.deps)
    right = evaluate(walk, node.right)
    deps = left.deps | right.deps
    if op in ("+", "-") and (left.roots or right.roots):
        pointer, offset = (left, right) if left.roots else (right, left)
        if op == "-" and right.roots:
            return algebra.opaque("-", (left.terms, right.terms), deps)
        moved = algebra.add(pointer, replace(offset, roots=frozenset()), -1 if op == "-" else 1)
        return replace(moved, roots=pointer.roots, unit=pointer.unit)
    if op == "+":
        return algebra.add(left, right)
    if op == "-":
        return algebra.add(left, right, -1)
    if op == "*":
        return algebra.multiply(left, right)
    shift = constant(right.terms)
    if op == "<<" and shift is not None and 0 <= shift < 31:
        return algebra.multiply(left, algebra.number(1 << shift))
    if op in ("<", ">", "<=", ">=", "==", "!="):
        return evaluate_comparison(walk, op, left, right)
    first = constant(left.terms)
    if first is not None and shift is not None and (folded := _fold(op, first, shift)) is not None:
        return algebra.number(folded)
    if op in ("/", ">>"):
        return evaluate_quotient(walk, op, left, right)
    if op in ("%", "&") and deps & (Dep.LOCAL | Dep.GLOBAL | Dep.GROUP):
        deps |= Dep.TILE
        if op == "&" and (shift is None or shift < 0):
            deps |= Dep.MAYBE  # a mask may leave only what the whole group shares
    return algebra.opaque(op, (left.terms, right.terms), deps)


def evaluate_quotient(walk: Walk, op: str, left: Value, right: Value) -> Value:
    """Return left / right; the quotient of an id may be the same for the whole group."""
    algebra = walk.algebra
    amount = constant(right.terms)
    by = right if op == "/" or amount is None or not 0 <= amount < 31 else algebra.number(1 << amount)
    exact = (
        divide(tuple(t for t in left.terms if not any(a.startswith("lid") for a in t[0])), by.terms)
        if op == "/" or by is not right
        else None
    )
    rest = tuple(t for t in left.terms if any(a.startswith("lid") for a in t[0]))
    for d in range(3):
        if exact is not None and rest == (((f"lid{d}",), 1),) and by.terms == walk.size(d).terms:
            return Value(exact, algebra.deps(exact) | left.deps & Dep.GROUP)  # (grp * lsz + lid) / lsz
    deps = left.deps | right.deps
    if deps & (Dep.LOCAL | Dep.GLOBAL):
        deps |= Dep.MAYBE | Dep.TILE
    elif deps & Dep.GROUP:
        deps |= Dep.TILE
    return algebra.opaque("/", (left.terms, by.terms), deps)


def evaluate_comparison(walk: Walk, op: str, left: Value, right: Value) -> Value:
    """Return the value of a comparison; a number where the ranges of ids decide it."""
    algebra = walk.algebra
    difference = add_terms(left.terms, right.terms, -1)
    known = constant(difference)
    if known is not None:
        return algebra.number(
            int(
                {
                    "<": known < 0,
                    ">": known > 0,
                    "<=": known <= 0,
                    ">=": known >= 0,
                    "==": known == 0,
                    "!=": known != 0,
                }[op]
            )
        )
    flipped = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    for small, large, sign in ((left, right, op), (right, left, flipped.get(op, op))):
        for d, (lid, gid, lsz, gsz) in enumerate(walk.ids):
            below = small.terms == lid and (
                large.terms == lsz or (walk.required is not None and (constant(large.terms) or 0) >= walk.required[d])
            )
            below = below or (small.terms == gid and large.terms == gsz)
            if below and sign in ("<", "<=", "!="):
                return algebra.number(1)
            if below and sign in (">=", ">", "=="):
                return algebra.number(0)
            if constant(small.terms) == 0 and large.terms in (lid, gid, lsz, gsz) and sign in ("<=", ">"):
                return algebra.number(int(sign == "<="))  # no id is negative
    return algebra.opaque(op, (left.terms, right.terms), comparison_deps(walk, left, right, difference))


def comparison_deps(walk: Walk, left: Value, right: Value, difference: Terms) -> int:
    """Return what a comparison depends on: what cancels out of the difference does not matter."""
    given = left.deps | right.deps
    deps = walk.algebra.deps(difference)
    for d in range(3):  # a local id that stands here only as a part of a global one
        local, whole = dimension(Dep.LOCAL0, d), dimension(Dep.GLOBAL0, d)
        if deps & local and not given & local and given & whole:
            deps = (deps & ~local) | whole
    return deps & (given | ~Dep.TILE) | (given & Dep.MAYBE)


def locate(walk: Walk, node: Node) -> Value:
    """Return a pointer to the element that an lvalue is or lies in; no roots when it is no memory we follow."""
    match node:
        case Index(base=base, index=index):
            pointer = address_of(walk, base) if isinstance(base, (Index, Member)) else evaluate(walk, base)
            offset = evaluate(walk, index)
            if isinstance(base, (Index, Member)):  # row of an array of arrays, array inside a structure
                inner = walk.algebra.opaque("[]", (pointer.terms, offset.terms), pointer.deps | offset.deps)
                return replace(inner, roots=pointer.roots, unit="[]")
            moved = walk.algebra.add(pointer, offset)
            return replace(moved, roots=pointer.roots, unit=pointer.unit, parts=())
        case Unary(op="*", operand=operand):
            return evaluate(walk, operand)
        case Member(base=base, arrow=True):
            return evaluate(walk, base)
        case Member(base=base):
            return locate(walk, base)
        case Ref(key=key) if key in walk.env and walk.env[key].unit.startswith("="):
            return walk.env[key]
        case Cast(value=inner):
            return locate(walk, inner)
        case Ref() | Literal():
            return Value((), Dep.NONE)
    return evaluate(walk, node)


def address_of(walk: Walk, node: Node) -> Value:
    """Return `&node`."""
    if isinstance(node, Ref):
        found = walk.env.get(node.key)
        if found is not None and found.roots:
            return found
        root = f"private:&{node.key}"
        walk.contents.setdefault(root, found.deps if found is not None else Dep.NONE)
        return Value((), Dep.NONE, frozenset({root}), "&")
    return locate(walk, node)


def load_from(walk: Walk, node: Node, pointer: Value) -> Value:
    """Return what is read through a pointer."""
    walk.access("read", node, pointer)
    return content_of(walk, pointer)


def store_to(walk: Walk, node: Node, pointer: Value, value: Value) -> None:
    """Note a store through a pointer."""
    walk.access("write", node, pointer)
    for root in pointer.roots - walk.globals:
        walk.contents[root] = walk.contents.get(root, Dep.NONE) | value.deps | walk.control()


def evaluate_member(walk: Walk, node: Member) -> Value:
    """Return `base.name` or `base->name`."""
    base = node.base
    if node.arrow or isinstance(base, (Index, Unary, Cast, Member)):
        pointer = locate(walk, node)
        if pointer.roots:
            return load_from(walk, node, pointer)
        return replace(walk.algebra.opaque(f".{node.name}", (pointer.terms,), pointer.deps), parts=())
    value = evaluate(walk, base)
    position = "xyzw".find(node.name) if len(node.name) == 1 else -1
    if re.fullmatch(r"s[0-9a-fA-F]", node.name):
        position = int(node.name[1], 16)
    if 0 <= position < len(value.parts):
        return value.parts[position]
    return walk.algebra.opaque(f".{node.name}", (value.terms,), value.deps)


def evaluate_assignment(walk: Walk, node: Assign) -> Value:
    """Carry out an assignment and return its value."""
    target = node.target
    simple = isinstance(target, Ref) and not walk.env.get(target.key, NOTHING).unit.startswith("=")
    if node.op == "=":
        result = evaluate(walk, node.value)
        old = result
    else:
        old = evaluate(walk, target)
        result = combined(walk, node, old)
    if simple and isinstance(target, Ref):
        walk.env[target.key] = result
    elif (
        isinstance(target, Member)
        and isinstance(target.base, Ref)
        and not target.arrow
        and not locate(walk, target).roots
    ):
        key = target.base.key
        known = walk.env.get(key, NOTHING)
        walk.env[key] = walk.algebra.fresh(key.partition("#")[0], known.deps | result.deps)
    else:
        store_to(walk, target, locate(walk, target), result)
    return old if node.postfix else result


def combined(walk: Walk, node: Assign, old: Value) -> Value:
    """Return the result of a compound assignment, the right side walked once."""
    start, end = node.start, node.end
    hidden = f"'{start}"
    walk.env[hidden] = old
    result = evaluate_binary(walk, Binary(start, end, node.op[:-1], Ref(start, start, hidden, True), node.value))
    del walk.env[hidden]
    return result


def _fold(op: str, left: int, right: int) -> int | None:
    operations: dict[str, Callable[[], int | None]] = {
        "/": lambda: int(left / right) if right else None,
        "%": lambda: left - right * int(left / right) if right else None,
        "&": lambda: left & right,
        "|": lambda: left | right,
        "^": lambda: left ^ right,
        ">>": lambda: left >> right if 0 <= right < 64 else None,
    }
    return operations[op]() if op in operations and abs(left) < 2**52 else None
