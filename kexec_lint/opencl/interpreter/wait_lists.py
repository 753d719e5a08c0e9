"""OCL306 and OCL308: what may stand in a wait list, seen at the call that gets it."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import (
    ABSENT,
    NONE,
    AbstractValue,
    BoundApi,
    ClassValue,
    FunctionValue,
    Known,
    Object,
    TupleValue,
    Unknown,
    options,
)

NOT_EVENTS = {
    "queue": "a queue",
    "memory": "a memory object",
    "array": "an Array",
    "host": "a host array",
    "kernel": "a kernel",
    "program": "a program",
    "context": "a context",
    "generated": "a kernel",
    "map": "a mapped array",
}
"""Kinds of objects that are no events, and their names in a sentence."""

FIX = "give it a list of events: wait_for=[event], wait_for=events"


def examine(m: Machine, value: AbstractValue | None, span: p.Span, context: object = None) -> None:
    """Remark on a wait list that PyOpenCL refuses. `context` is that of the queue that gets it.

    PyOpenCL (`src/wrap_cl.hpp`, PYOPENCL_PARSE_WAIT_FOR) iterates over the list and takes events only; the
    specification asks that all of them belong to the context of the queue (CL_INVALID_CONTEXT).
    """
    if value is None or m.scratch:
        return
    for guard, option in options(value):
        if option in (NONE, ABSENT) or g.exclusive(guard, m.guard | m.assumed):
            continue
        wrong = "one event, not a list of events" if _is_event(option) else _not_an_event(m, option, whole=True)
        if wrong is not None:
            _remark(m, "OCL306", span, guard, f"The wait list is {wrong}", FIX)
            continue
        seen: set[object] = set()
        for inner, element in _elements(option, guard):
            if g.exclusive(inner, m.guard | m.assumed):
                continue
            key, found = _judge_element(m, element, context)
            if found is not None and key not in seen:
                seen.add(key)
                _remark(m, found[0], span, inner, found[1], found[2])
            elif _is_event(element) and context is None:
                context = _context(element)


def _elements(value: AbstractValue, guard: g.Guard) -> Iterator[tuple[g.Guard, AbstractValue]]:
    items: tuple[AbstractValue, ...] = ()
    if isinstance(value, TupleValue):
        items = value.items
    elif isinstance(value, Object) and value.kind in ("list", "set") and not value.state.get("open"):
        items = value.items()
    for item in items:
        alternatives = list(options(item, guard))
        # A list among others: `if not isinstance(events, list): events = [events]`, whatever it is that asks.
        wrapped = not all(_is_list(element) or element == ABSENT for _, element in alternatives)
        yield from ((inner, element) for inner, element in alternatives if not (wrapped and _is_list(element)))


def _judge_element(m: Machine, element: AbstractValue, context: object) -> tuple[object, tuple[str, str, str] | None]:
    if element == ABSENT:
        return None, None
    if element == NONE:
        return "none", (
            "OCL308",
            "The wait list may hold None where no command was enqueued before",
            "leave None out: wait_for=[event] if event is not None else None",
        )
    if _is_list(element):
        return "nested", (
            "OCL306",
            "The wait list holds another list, not events",
            "join the lists: a + b, [*a, *b]",
        )
    wrong = _not_an_event(m, element)
    if wrong is not None:
        return wrong, ("OCL306", f"The wait list holds {wrong}, not an event", FIX)
    other = _context(element)
    both = isinstance(context, Object) and isinstance(other, Object) and context.kind == other.kind == "context"
    if both and other is not context:
        return "context", (
            "OCL308",
            "The wait list holds an event of another context",
            "events order commands within one context only: wait for it on the host first (event.wait())",
        )
    return None, None


def _not_an_event(m: Machine, value: AbstractValue, whole: bool = False) -> str | None:
    """Name a value that is certainly no event, or as a `whole` wait list no list of events."""
    if isinstance(value, Unknown) and (value in m.unknown_queues or value in m.unknown_memory):
        return "a queue" if value in m.unknown_queues else "a memory object"
    match value:
        case Unknown(key=("attr", Unknown() as owner, "event")) if whole and owner in m.unknown_memory:
            return "`event` of an Array"  # its storage is an operand; as an element it might be a wrapper's event
        case Object(kind=kind):
            return NOT_EVENTS.get(kind)
        case Known(value=bool() | int() | float() | str() | bytes() as constant):
            return f"`{constant!r}`"
        case BoundApi(receiver=Object(kind="array"), name=name):
            return f"`{name}` of an Array"
        case BoundApi(receiver=Object(kind="event"), name=name):
            return f"the method `{name}` of an event"
        case FunctionValue() | ClassValue():
            return "a function"
    return None


def _is_list(value: AbstractValue) -> bool:
    return isinstance(value, TupleValue) or (isinstance(value, Object) and value.kind in ("list", "set"))


def _is_event(value: AbstractValue) -> bool:
    return isinstance(value, Object) and value.kind == "event"


def _context(value: AbstractValue) -> object:
    if not isinstance(value, Object) or not isinstance(value.model, g.Event):
        return None
    event = value.model
    if event.command is not None and event.command.queue is not None:
        return event.command.queue.context
    return event.context


def _remark(m: Machine, code: str, span: p.Span, guard: g.Guard, message: str, help: str) -> None:
    m.remark(code, span, message, help, confidence="certain" if guard <= m.guard else "likely")
