"""OCL307: lists of events that a function builds, or takes, and never reads again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.interpreter import attributes
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import (
    ABSENT,
    NONE,
    AbstractValue,
    Frame,
    Known,
    Object,
    Phi,
    Unknown,
    options,
)


def note_read(value: AbstractValue, times: int = 1) -> None:
    """Count that a name was read whose value is a list; `-1` takes back a read that only appended to it."""
    for _, option in [((), value)] if not isinstance(value, Phi) else value.options:
        if isinstance(option, Object) and option.kind == "list":
            option.state["reads"] = option.state.get("reads", 0) + times


def note_built(frame: Frame, statement: p.Assign, value: AbstractValue) -> None:
    """Remember a list that an assignment to one name builds on the spot."""
    match statement:
        case p.Assign(targets=(p.Name(id=name),), value=p.Seq() | p.Operation(op="+")):
            if isinstance(value, Object) and value.kind == "list" and frame.function:
                frame.built.setdefault((name, statement.span), []).append(value)


def examine(m: Machine, frame: Frame, node: p.Function | p.Lambda) -> None:
    """Remark on lists of events held by variables of a finished activation that nothing has read."""
    for (name, span), lists in frame.built.items():
        made = lists[-1]
        if frame.variables.get(name) is not made or any(one.state.get("reads", 0) > 0 for one in lists):
            continue  # in a loop, the next iteration may be the reader
        items = [event for item in made.items() for _, event in options(item) if event not in (NONE, ABSENT)]
        if not all(_is_event(item) or _is_spread(item) for item in items):
            continue
        named = [value for key, value in frame.variables.items() if key != name]
        if not any(_is_event(item) and (_is_spread(item) or any(item is v for v in named)) for item in items):
            continue  # the list is the only holder of its events: it keeps them alive
        if name in frame.nonlocals | frame.globals_declared or name in set(_inner_names(node)):
            continue
        m.remark(
            "OCL307",
            span,
            f"The list of events `{name}` is built here and never used: no command and no wait gets it",
            f"pass it on (wait_for={name}), or leave it out",
        )


WAIT_LISTS = frozenset({"wait_for", "wait_list"})
"""What a parameter is called that takes the events to wait for."""


def examine_parameters(m: Machine, frame: Frame, node: p.Function) -> None:
    """Remark on a wait list that a function takes, gives a default to, and uses for none of its commands."""
    for param in node.params:
        if param.name not in WAIT_LISTS or m.scratch:
            continue
        key = ("wait list", id(node), param.name)
        if key not in m.memo:
            m.memo[key] = Known(_only_defaulted(node, param.name))
        default = m.memo[key]
        if not isinstance(default, Known) or default.value is None:
            continue
        here = [c for c in m.commands if any(place.frame == frame.number for place in c.site)]
        loose = [c.site for c in here if c.queue is not None and c.queue.order is g.Order.OUT_OF_ORDER]
        if not loose or any(r.code == "OCL307" and r.site[-1].frame == frame.number for r in m.graph.remarks):
            continue
        m.remark(
            "OCL307",
            default.value,
            f"`{param.name}` gets a list here and is never used: no command waits for the events that callers pass",
            f"pass it on (wait_for={param.name}), or drop the parameter",
            related=tuple(("this is enqueued without it", site) for site in loose[:3]),
            confidence="likely",
        )


def _only_defaulted(node: p.Function, name: str) -> p.Span | None:
    """Return where a function gives a parameter another value, if it is read for nothing else."""
    at: p.Span | None = None
    idle = 0
    from kexec_lint.opencl.interpreter.objects import statements_in

    for statement in statements_in(node.body):
        match statement:
            case p.Assign(targets=(p.Name(id=target),), value=p.Value() as value) if target == name:
                at = statement.span
                idle += 1 + _mentions(value, name)
            case p.If(test=test) if _asks_for_none(test):
                idle += _mentions(test, name)
    return at if at is not None and _mentions(node.body, name) == idle else None


def _asks_for_none(test: p.Value) -> bool:
    match test:
        case p.Operation(op="is" | "is not" | "==" | "!=", operands=(p.Name(), p.Const(value=None))):
            return True
        case p.Name() | p.Operation(op="not", operands=(p.Name(),)):
            return True
    return False


def _mentions(node: object, name: str) -> int:
    return sum(isinstance(inner, p.Name) and inner.id == name for inner in _inside(node))


def _is_event(value: AbstractValue) -> bool:
    if isinstance(value, Object):
        return value.kind == "event"
    return isinstance(value, Unknown) and _is_spread(value) and _events_by_name(value.key[1])


def _is_spread(value: AbstractValue) -> bool:
    return isinstance(value, Unknown) and value.key[0] == "spread"


def _events_by_name(value: AbstractValue) -> bool:
    return attributes.is_event_name(value) or (
        isinstance(value, Unknown) and value.key[0] == "param" and value.key[2] in ("wait_for", "events")
    )


def _inner_names(node: p.Function | p.Lambda) -> Iterator[str]:
    """Yield the names used in functions, lambdas and comprehensions inside a function."""
    for inner in _inside(node.body):
        if isinstance(inner, p.Function | p.Lambda | p.Comprehension | p.Class):
            yield from (n.id for n in _inside(inner) if isinstance(n, p.Name))


def _inside(node: object) -> Iterator[object]:
    """Yield a node of the host program and everything below it."""
    if isinstance(node, tuple) and not hasattr(node, "_fields"):
        for element in node:
            yield from _inside(element)
    elif is_dataclass(node):
        yield node
        for part in fields(node):
            yield from _inside(getattr(node, part.name))


def names_in_functions(body: tuple[p.Statement, ...]) -> set[str]:
    """Return the names that functions and classes of a module mention."""
    return {
        name.id
        for inner in _inside(body)
        if isinstance(inner, p.Function | p.Class)
        for name in _inside(inner)
        if isinstance(name, p.Name)
    }
