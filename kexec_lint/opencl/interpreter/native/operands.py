"""Arguments of API calls in C and C++: wait lists by count and pointer, events and statuses that are written back."""

from __future__ import annotations

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.interpreter import commands, expressions
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.native import events, pointers
from kexec_lint.opencl.interpreter.values import ABSENT, NONE, AbstractValue, Known, Object, Phi, Unknown, options

Bound = dict[str, AbstractValue]
NOTHING = (NONE, Known(0), Known(False))


def is_null(value: AbstractValue | None) -> bool:
    """Return whether an argument is NULL, 0 or left out."""
    return value is None or value in NOTHING


def plain(m: Machine, value: AbstractValue) -> AbstractValue:
    """Return a handle behind a pointer or reference to it."""
    while isinstance(value, pointers.Address):
        value = pointers.load(m, value)
    return value


def wait_list(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Return the wait list of a call: None, or a list of its events, open if some cannot be seen."""
    given = bound.get(row.wait)
    counted = "num" in row.params
    count = bound.get("num") if counted else None
    if counted:
        _check_count(m, count, given, span)
    if given is None or is_null(given) or (counted and is_null(count)):
        return NONE
    choices = [(guard, _events(m, option, count, span)) for guard, option in options(given) if not is_null(option)]
    if not choices:
        return NONE
    made = m.merge(choices) if len(choices) > 1 else choices[0][1]
    if len(choices) < len(list(options(given))):
        return Phi(((frozenset(), NONE), *((guard, value) for guard, value in choices)))
    return made


def _check_count(m: Machine, count: AbstractValue | None, given: AbstractValue | None, span: p.Span) -> None:
    """OCL306: CL_INVALID_EVENT_WAIT_LIST if the list is NULL and the count is not 0, or the other way round."""
    if m.scratch or count is None or given is None:
        return
    number = count.value if isinstance(count, Known) and isinstance(count.value, int) else None
    if number is not None and number > 0 and is_null(given):
        m.remark(
            "OCL306",
            span,
            f"The wait list is NULL, but {number} events are announced: CL_INVALID_EVENT_WAIT_LIST",
            "pass the events, or 0, NULL",
        )
    elif number == 0 and not is_null(given) and _surely_some(given):
        m.remark(
            "OCL306",
            span,
            "A wait list is given, but the count says 0: CL_INVALID_EVENT_WAIT_LIST",
            "say how many events the list holds, or pass 0, NULL",
        )
    elif number is not None and isinstance(given, Object) and isinstance(given.state.get("length"), Known):
        length = given.state["length"].value
        if isinstance(length, int) and number > length:
            m.remark(
                "OCL306",
                span,
                f"The wait list is said to hold {number} events, but the array has {length} elements",
                "let the count match the array",
            )


def _surely_some(given: AbstractValue) -> bool:
    return isinstance(given, pointers.Address | Object)


def _events(m: Machine, given: AbstractValue, count: AbstractValue | None, span: p.Span) -> AbstractValue:
    """Return the elements of a wait list from where its pointer leads."""
    number = count.value if isinstance(count, Known) and isinstance(count.value, int) else None
    if isinstance(given, pointers.Address) and given.base is None:
        held = given.state.get(given.key)
        if isinstance(held, Object) and held.kind in ("list", "dict"):
            given = held
        elif isinstance(held, Phi) and any(isinstance(o, Object) and o.kind == "list" for _, o in held.options):
            return held
        elif number == 1 or not isinstance(held, Unknown) or held.key[0] == "uninit":
            return m.list_of([_present(m, pointers.load(m, given, span))])
        else:
            return m.list_of([Unknown(("spread", held))])
    if isinstance(given, Object) and given.kind == "list":
        if number is None or number >= len(given.items()):
            return given
        return m.list_of(given.items()[:number])
    base, start = given, 0
    if isinstance(given, pointers.Address):
        assert given.base is not None
        base = given.base
        if isinstance(given.index, Known) and isinstance(given.index.value, int):
            start = given.index.value
        elif number == 1:
            return m.list_of([pointers.load(m, given, span)])
        else:
            return _all(m, base) if isinstance(base, Object) else base
    if isinstance(base, Object) and base.kind in ("dict", "list") and number is not None and number <= 64:
        return m.list_of([pointers.element(m, base, Known(start + i), span) for i in range(number)])
    if isinstance(base, Object) and base.kind in ("dict", "list"):
        return _all(m, base)
    if isinstance(base, Object) and base.kind == "event":
        return m.list_of([base])
    if isinstance(base, Unknown) and number is not None and number <= 16:
        return m.list_of([pointers.element(m, base, Known(start + i), span) for i in range(number)])
    return base if not isinstance(base, Known) else m.list_of([Unknown(("spread", m.fresh("list")))])


def _present(m: Machine, value: AbstractValue) -> AbstractValue:
    """Return an event without the paths on which there is none: a count of 0 goes with them."""
    if not isinstance(value, Phi):
        return value
    choices = [(guard, option) for guard, option in value.options if option not in (NONE, Known(0))]
    return m.merge(choices) if choices else value


def _all(m: Machine, base: Object) -> Object:
    """Return the events that an array holds, as a list whose length is not known: the count may leave out the rest."""
    elements = [_present(m, e) for e in pointers.spread(base) if not is_null(e)]
    elements = [e for e in elements if not (isinstance(e, Unknown) and e.key[0] == "uninit")]
    return m.list_of([*elements, Unknown(("spread", base))])


def never_written(m: Machine, element: AbstractValue) -> bool:
    """Return whether a value is that of a local event variable, or array element, that nothing has written."""
    if not isinstance(element, Unknown) or m.graph.threaded:
        return False
    if element.key[0] == "uninit":
        return isinstance(element.key[1], int)
    if element.key[0] != "element" or not isinstance(element.key[2], Known):
        return False
    holder = m.memo.get(("keep", element.key[1]))
    if not pointers.is_array(holder) if holder is not None else True:
        return False
    assert isinstance(holder, Object)
    local = any(value is holder for value in m.frame.variables.values())
    return (
        local
        and not holder.state.get("open")
        and not any(k[0] == "index" for k in holder.state if isinstance(k, tuple))
    )


def hand_out(m: Machine, at: AbstractValue | None, value: AbstractValue, span: p.Span) -> None:
    """Write a result through an out-parameter."""
    if at is None or is_null(at):
        return
    match at:
        case Phi():
            kept = [(guard, option) for guard, option in at.options if not is_null(option)]
            for guard, option in kept:
                if not g.exclusive(guard, m.guard):
                    hand_out(m, option, value, span)
        case pointers.Address():
            if at.base is None:
                held = at.state.get(at.key)
                if isinstance(held, AbstractValue) and not isinstance(held, pointers.Reference):
                    events.overwritten(m, held, span, (at.state, at.key))
            elif isinstance(at.base, Object) and at.index is not None:
                held = at.base.state.get(expressions.place(at.index))
                if isinstance(held, AbstractValue) and isinstance(at.index, Known):
                    events.overwritten(m, held, span, (at.base.state, expressions.place(at.index)))
            pointers.store(m, at, value, span)
        case Object(kind="dict" | "list"):
            pointers.set_element(m, at, Known(0), value, span)
        case Unknown():
            state = m.state_of(at)
            if state is not None:
                m.heap.write(state, ("key", 0), value)
            if isinstance(value, Object) and value.kind == "event":
                value.model.escaped = True


def give_event(m: Machine, bound: Bound, event: Object, span: p.Span) -> None:
    """Hand the event of a command out, or note that nobody wants it."""
    at = bound.get("event")
    if at is None or is_null(at):
        if event.model is not None:
            event.model.captured = False
        return
    hand_out(m, at, event, span)


def operand(m: Machine, value: AbstractValue, role: str, span: p.Span) -> AbstractValue:
    """Return a memory operand: a handle behind an address, or host memory at it."""
    match value:
        case Phi():
            choices = [(guard, operand(m, o, role, span)) for guard, o in value.options if not is_null(o)]
            return m.merge(choices) if choices else NONE
        case pointers.Address():
            if value.base is None:
                held = value.state.get(value.key)
                if role == "ptr":
                    return pointers.cell(m, value, span)
                if isinstance(held, AbstractValue):
                    return operand(m, held, role, span)
                return m.fresh("operand")
            if role == "ptr":
                return value.base if isinstance(value.base, Object) and value.base.kind == "host" else m.fresh("part")
            return pointers.load(m, value, span)
        case Object(kind="instance") if role == "ptr":
            return _host_view(m, value, span)
        case Object(kind="dict" | "list"):
            if role == "ptr":
                return _host_view(m, value, span)
            return m.list_of(pointers.spread(value))
        case Known():
            return NONE
    return value


def _host_view(m: Machine, value: Object, span: p.Span) -> Object:
    """An array of structs, used as the host side of a transfer."""
    found = value.state.get("#host")
    if not isinstance(found, Object):
        memory = g.Memory(value.name or "an array", "host", known=True, created=m.site(span))
        found = Object("host", {}, model=memory, site=m.site(span), name=value.name)
        value.state["#host"] = found
    return found


def is_memory_like(m: Machine, value: AbstractValue) -> bool:
    """Return whether a value is a memory object or may be one."""
    return isinstance(value, Object) and value.kind in ("memory", "host", "map")


__all__ = [
    "ABSENT",
    "Bound",
    "commands",
    "give_event",
    "hand_out",
    "is_null",
    "operand",
    "plain",
    "wait_list",
]
