"""What calls mean in a symbolic walk: ids and sizes, barriers, atomics, memory functions, helper functions."""

from __future__ import annotations

import re
from dataclasses import replace

from kexec_lint.opencl.kernels.access import PURE, builtin
from kexec_lint.opencl.kernels.merge import BARRIERS, fences
from kexec_lint.opencl.kernels.symbolic import (
    Dep,
    Terms,
    Value,
    constant,
)
from kexec_lint.opencl.kernels.syntax import (
    Call,
    Function,
    Ref,
    Unary,
)
from kexec_lint.opencl.kernels.walk import Frame, GaveUp, Walk

MAX_INLINE = 6
_FENCE_CALLS = {"mem_fence", "read_mem_fence", "write_mem_fence"}
_UNIFORM_CALLS = {
    "get_local_size": "lsz",
    "get_enqueued_local_size": "lsz",
    "get_num_groups": "ngrp",
    "get_global_size": "gsz",
    "get_global_offset": "goff",
}
_COLLECTIVE = re.compile(r"work_group_(any|all|broadcast|reduce_\w+)")


def content_of(walk: Walk, pointer: Value) -> Value:
    """Return what is read through a pointer."""
    algebra = walk.algebra
    differs = pointer.deps & Dep.DIVERGENT
    deps = (pointer.deps & (Dep.MAYBE | Dep.ATOMIC | Dep.TILE)) | (Dep.DATA if differs else Dep.NONE)
    deps |= pointer.deps & (Dep.GROUP | Dep.DIVERGENT)
    if not pointer.roots:
        return algebra.opaque("load", (pointer.terms,), deps | Dep.MAYBE)
    for root in pointer.roots:
        if root in walk.globals:
            deps |= Dep.LOAD
        elif root.startswith("private:"):
            deps |= walk.contents.get(root, Dep.NONE) | pointer.deps
        elif root.startswith("local:"):
            deps |= walk.contents.get(root, Dep.NONE) & (Dep.ATOMIC | Dep.LOAD)
    if len(pointer.roots) > 1:
        return algebra.fresh("load", deps)
    (root,) = pointer.roots
    if root in walk.globals or root.startswith("constant:"):
        tag = (root, pointer.unit, walk.stores.get(root, 0))
        return algebra.opaque("load", (pointer.terms,), deps, tag)
    return algebra.fresh("load", deps)


def recast(walk: Walk, value: Value, kind: str) -> Terms:
    """Return a pointer's offset in units of another type: unknown unless it is zero."""
    if not value.terms:
        return ()
    return walk.algebra.opaque("recast", (value.terms,), value.deps, (value.unit, kind)).terms


def evaluate_call(walk: Walk, node: Call, arguments: list[Value]) -> Value:
    """Return the value of a call, noting what it does."""
    name, algebra = node.name, walk.algebra
    if name in BARRIERS:
        names = fences(node)
        walk.log("barrier" if names is None or "global" in names else "local barrier", node)
        return algebra.number(0)
    if name in _FENCE_CALLS:
        walk.log("fence" if "global" in (fences(node) or ()) else "local fence", node)
        return algebra.number(0)
    if name == "atomic_work_item_fence":
        walk.log("atomic", node)
        return algebra.number(0)
    helper = walk.unit.find(name, len(node.arguments)) if name else None
    if helper is not None:
        return call_inline(walk, node, helper, arguments)
    deps = Dep.NONE
    for argument in arguments:
        deps |= argument.deps
    work_item = call_work_item(walk, name, arguments)
    if work_item is not None:
        return work_item
    effects = builtin(name)
    if effects is not None:
        for argument in arguments if "image" in name else ():
            walk.address(argument)
        return call_builtin(walk, node, arguments, effects, deps)
    if name in ("mul24", "mad24", "mad", "fma") and len(arguments) >= 2:
        product = algebra.multiply(arguments[0], arguments[1])
        return algebra.add(product, arguments[2]) if len(arguments) > 2 else product
    if PURE.fullmatch(name):
        return algebra.opaque(name, tuple(argument.terms for argument in arguments), deps)
    for argument in arguments:  # not in the text: it may touch what it is given
        for root in argument.roots & walk.globals:
            walk.log("lost", node, root)
        for root in argument.roots - walk.globals:
            walk.contents[root] = Dep.MAYBE
    if any(argument.roots for argument in arguments) or not name:
        walk.log("unknown", node)
        walk.addressed = {0, 1, 2}
    return algebra.fresh(name or "call", deps | Dep.MAYBE)


def call_work_item(walk: Walk, name: str, arguments: list[Value]) -> Value | None:
    """Return the value of a work-item or collective function."""
    algebra = walk.algebra
    d = constant(arguments[0].terms) if arguments else None
    if name in ("get_global_id", "get_local_id", "get_group_id"):
        if d is None or not 0 <= d <= 2:
            deps = {"get_global_id": Dep.GLOBAL | Dep.GROUP, "get_local_id": Dep.LOCAL | Dep.TILE}
            return algebra.fresh(name, deps.get(name, Dep.GROUP))
        if name == "get_local_id":
            walk.local_dimensions.add(d)
            return walk.local_id(d)
        return walk.global_id(d) if name == "get_global_id" else algebra.symbol(f"grp{d}", Dep.GROUP)
    if name in _UNIFORM_CALLS:
        if name == "get_local_size" and d is not None and 0 <= d <= 2:
            walk.local_dimensions.add(d)
            return walk.size(d)
        return algebra.symbol(f"{_UNIFORM_CALLS[name]}{d if d is not None else '?'}")
    if name == "get_global_linear_id":
        return algebra.symbol("glin", Dep.GLOBAL0 | Dep.GROUP)
    if name in ("get_local_linear_id", "get_sub_group_id", "get_sub_group_local_id"):
        if walk.required == (1, 1, 1):
            return algebra.number(0)
        return algebra.symbol(name, Dep.LOCAL0 | Dep.TILE)
    if name in ("get_work_dim", "get_num_sub_groups", "get_max_sub_group_size"):
        return algebra.symbol(name)
    if _COLLECTIVE.fullmatch(name):
        return algebra.fresh(name, Dep.NONE)
    if name.startswith(("work_group_scan", "sub_group_")):
        return algebra.fresh(name, Dep.DATA | Dep.MAYBE)
    return None


def call_builtin(
    walk: Walk, node: Call, arguments: list[Value], effects: tuple[tuple[int, str], ...], deps: int
) -> Value:
    """Return the value of a built-in that takes pointers, noting its accesses."""
    algebra, name = walk.algebra, node.name
    width, lanes = 1, re.search(r"(\d+)(_rt[ezpn])?$", name)
    if re.match(r"v(load|store)", name):
        width = int(lanes[1]) if lanes else 1
        at = 1 if name.startswith("vload") else 2
        if len(arguments) > at:
            offset = algebra.multiply(
                arguments[at - 1], algebra.number(4 if width == 3 and "a_half" in name else width)
            )
            pointer = arguments[at]
            moved = algebra.add(pointer, offset)
            arguments[at] = replace(moved, roots=pointer.roots, unit=pointer.unit)
    result = algebra.fresh(name, deps)
    for index, effect in effects:
        if index >= len(arguments):
            continue
        pointer = arguments[index]
        if effect == "return":
            return pointer
        span: int | None = None if name.startswith("async") else width
        if effect in ("a", "l", "s"):
            walk.access("atomic", node, pointer, span)
            if pointer.roots & walk.globals:
                result = algebra.fresh(name, deps | Dep.DATA | Dep.ATOMIC | Dep.LOAD)
            else:
                result = algebra.fresh(name, deps | Dep.DATA)
            continue
        if "r" in effect:
            walk.access("read", node, pointer, span)
            if name.startswith("vload"):
                result = content_of(walk, pointer)
        if "w" in effect:
            walk.access("write", node, pointer, span)
            for root in pointer.roots - walk.globals:
                walk.contents[root] = walk.contents.get(root, Dep.NONE) | deps
    return result


def call_inline(walk: Walk, node: Call, helper: Function, arguments: list[Value]) -> Value:
    """Walk a helper function with these arguments; return what it returns."""
    if (
        not helper.sound
        or not helper.named_params
        or len(walk.active) >= MAX_INLINE
        or helper.name in walk.active
        or len(arguments) != len(helper.params)
    ):
        raise GaveUp
    outer, returned, loops = walk.env, walk.returned, walk.loops
    walk.env, walk.returned, walk.loops = {}, [], []
    for param, argument in zip(helper.params, arguments, strict=True):
        walk.env[param.name] = (
            replace(argument, unit=param.type) if argument.roots and argument.unit == "" else argument
        )
        if argument.roots and param.pointer and param.type != argument.unit and argument.unit != "&":
            walk.env[param.name] = replace(argument, unit=param.type, terms=recast(walk, argument, param.type))
    walk.functions.append(Frame(len(walk.guards)))
    walk.active.append(helper.name)
    walk.calls.append((node.start, node.end))
    walk.run_block(walk, helper.body)
    walk.calls.pop()
    walk.active.pop()
    frame = walk.functions.pop()
    results = walk.returned
    walk.env, walk.returned, walk.loops = outer, returned, loops
    for given in node.arguments:  # what a helper stored through `&x`
        if isinstance(given, Unary) and given.op == "&" and isinstance(given.operand, Ref):
            key = given.operand.key
            stored = walk.contents.pop(f"private:&{key}", None)
            if stored is not None and key in walk.env and not walk.env[key].roots:
                walk.env[key] = walk.algebra.fresh(key.partition("#")[0], stored | walk.control())
    if not results:
        return walk.algebra.number(0)
    if len(results) == 1 and not frame.exits:
        return results[0]
    control = Dep.NONE
    for guard in frame.exits:
        control |= guard.value.deps
    return walk.merged(helper.name, results, control)
