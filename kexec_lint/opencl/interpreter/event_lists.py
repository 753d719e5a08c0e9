"""OCL307: lists of events that a function builds and never reads again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from kexec_lint.opencl import program as p
from kexec_lint.opencl.interpreter import attributes
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import ABSENT, NONE, AbstractValue, Frame, Object, Phi, Unknown, options


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
