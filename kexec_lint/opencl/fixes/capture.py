"""The event of a command as an expression: the variable that holds it, or one that is made to hold it."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from kexec_lint.opencl.fixes.calls import called
from kexec_lint.opencl.fixes.changes import Change
from kexec_lint.opencl.fixes.tree import Tree

_VERBS = ("read", "write", "copy", "fill", "map", "migrate", "acquire", "release", "barrier", "marker")


class Captured(NamedTuple):
    """`text` is the event's expression, `*text` for a list that holds it; `changes` make it so."""

    text: str
    changes: tuple[Change, ...] = ()


def event_of(tree: Tree, call: cst.Call, taken: set[str], mapped: bool = False) -> Captured | None:
    """Return how the event that a call returns can be named behind it, None if it cannot.

    `mapped`: the call returns a pair of an array and its event. A name that has to be made up is none of `taken`,
    and is added to them.
    """
    holder = tree.parent(call)
    if isinstance(holder, cst.Expr):
        name = _fresh(tree, call, taken)
        start = tree.whole(call)[0]
        return Captured(name, (Change(start, start, f"_, {name} = " if mapped else f"{name} = "),))
    if isinstance(holder, (cst.Assign, cst.AnnAssign)) and holder.value is call:
        target = holder.targets[0].target if isinstance(holder, cst.Assign) else holder.target
        if mapped:
            return _second(tree, call, target, taken)
        if isinstance(target, (cst.Name, cst.Attribute)) or _plain_item(target):
            return Captured(tree.source(target))
        return None
    if isinstance(holder, cst.NamedExpr) and isinstance(holder.target, cst.Name) and not mapped:
        return Captured(holder.target.value)
    if isinstance(holder, cst.Arg) and holder.keyword is None and not holder.star and not mapped:
        name = _fresh(tree, call, taken)
        start, end = tree.whole(call)
        around = tree.parent(holder)
        if not isinstance(around, cst.Call) or len(around.args) > 1:
            return Captured(name, (Change(start, start, f"({name} := "), Change(end, end, ")")))
        return Captured(name, (Change(start, start, f"{name} := "),))
    return None


def array_of(tree: Tree, call: cst.Call) -> str | None:
    """Return the variable of the array that a map returns beside its event."""
    holder = tree.parent(call)
    target = holder.targets[0].target if isinstance(holder, cst.Assign) and holder.value is call else None
    first = target.elements[0].value if isinstance(target, cst.Tuple) and len(target.elements) == 2 else None
    return first.value if isinstance(first, cst.Name) else None


def kept_in(tree: Tree, call: cst.Call, before: cst.CSTNode) -> Captured | None:
    """Return the variable that holds the event of a call on another path, if it has a value on every path."""
    holder = tree.parent(call)
    if not isinstance(holder, cst.Assign) or not isinstance(holder.targets[0].target, cst.Name):
        return None
    variable = holder.targets[0].target.value
    return Captured(variable) if tree.bound(variable, before) else None


def list_of(tree: Tree, call: cst.Call) -> Captured | None:
    """Return the list to which the event that a call returns is appended."""
    holder = tree.parent(call)
    around = tree.parent(holder) if isinstance(holder, cst.Arg) else None
    if isinstance(around, cst.Call) and isinstance(around.func, cst.Attribute) and called(around) == "append":
        return Captured(f"*{tree.source(around.func.value)}")
    return None


def _plain_item(target: cst.CSTNode) -> bool:
    """Return whether it is `name[name]` or `name[number]`, which mean the same again later."""
    if not isinstance(target, cst.Subscript) or not isinstance(target.value, (cst.Name, cst.Attribute)):
        return False
    inner = [element.slice for element in target.slice]
    return all(isinstance(i, cst.Index) and isinstance(i.value, (cst.Name, cst.Integer)) for i in inner)


def _second(tree: Tree, call: cst.Call, target: cst.BaseExpression, taken: set[str]) -> Captured | None:
    if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
        return None
    event = target.elements[1].value
    if not isinstance(event, cst.Name):
        return Captured(tree.source(event)) if isinstance(event, cst.Attribute) else None
    if event.value.strip("_"):
        return Captured(event.value)
    if tree.reads(event.value, tree.function(call)):
        return None
    name = _fresh(tree, call, taken)
    return Captured(name, (Change(*tree.range(event), name),))


def _fresh(tree: Tree, call: cst.Call, taken: set[str]) -> str:
    """Make up a name for the event of a call: `copy_done` for `enqueue_copy`, `blur_done` for a kernel `blur`."""
    words = called(call).strip("_").split("_")
    if words[0] == "enqueue" and len(words) > 1:
        words = [next((word for word in words if word in _VERBS), "kernel")]
    base = "_".join(word for word in words if word).lower() or "kernel"
    name, number = f"{base}_done", 1
    while name in tree.names or name in taken:
        number += 1
        name = f"{base}_done_{number}"
    taken.add(name)
    return name
