"""Events of the C API: who owns them, when they are released (OCL304 event-leak, OCL305 event-use-after-release)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.interpreter import lifetimes
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.native import pointers
from kexec_lint.opencl.interpreter.values import (
    AbstractValue,
    Frame,
    Known,
    Object,
    Phi,
    TupleValue,
    Unknown,
    options,
)


def own(event: Object) -> Object:
    """Mark an event that the C API handed out: the program has to release it."""
    event.state["owned"] = True
    return event


def release(m: Machine, value: AbstractValue, span: p.Span) -> None:
    """`clReleaseEvent(value)`."""
    for guard, option in options(value):
        if g.exclusive(guard, m.guard):
            continue
        if isinstance(option, Object) and option.kind == "event":
            option.state["given back"] = True
            if not guard <= m.guard or option.state.get("retained"):
                continue
            use(m, option, span, "released again")
            m.heap.write(option.state, "released", TupleValue((Known(m.site(span)), Known(m.guard))))
        elif isinstance(option, Unknown) and option.key[0] == "element":
            holder = m.memo.get(("keep", option.key[1]))
            for element in pointers.spread(holder) if holder is not None else ():
                for _, event in options(element):
                    if isinstance(event, Object) and event.kind == "event":
                        event.state["given back"] = True


def retain(value: AbstractValue) -> None:
    """`clRetainEvent(value)`: it has another owner from here on."""
    for _, option in options(value):
        if isinstance(option, Object) and option.kind == "event":
            option.state["retained"] = True
            option.state["given back"] = True


def use(m: Machine, value: AbstractValue, span: p.Span, how: str) -> None:
    """An event is used: after its last release it is no event any more."""
    for guard, option in options(value):
        if not (isinstance(option, Object) and option.kind == "event") or option.state.get("retained"):
            continue
        released = option.state.get("released")
        if not isinstance(released, TupleValue):
            continue
        site, condition = (item.value for item in released.items if isinstance(item, Known))
        if condition <= m.guard and guard <= m.guard and not m.scratch:
            m.remark(
                "OCL305",
                span,
                f"The event is {how} after clReleaseEvent gave up the only reference to it (line {site[-1].span.row})",
                "release the event after its last use, or take a reference of its own with clRetainEvent",
                related=(("it is released here", site),),
            )


def overwritten(m: Machine, old: AbstractValue, span: p.Span, slot: tuple[dict[Any, Any], Any]) -> None:
    """A variable gets another value: an event that only it held can never be released."""
    if m.scratch or not isinstance(old, Object) or old.kind != "event":
        return
    state, key = slot
    if state.get("open") == pointers.LONGER and old.state.get("given back"):
        state["releases"] = True  # of an array without a known length a loop may release more than was followed
    if not _lost(m, old) or state.get("releases") or not raw(m, state, key):
        return
    kept = state.pop(key, None)
    try:
        held = lifetimes.held(m, old)
    finally:
        if kept is not None:
            state[key] = kept
    if not held:
        created: g.Site = old.model.created
        old.state["given back"] = True
        m.remark(
            "OCL304",
            span,
            f"The only variable that holds an event (line {created[-1].span.row if created else 0}) is overwritten, "
            "so that the event can never be released",
            "call clReleaseEvent first, or give every command an event of its own",
            related=(("the event comes from here", created),) if created else (),
        )


def _spans(event: Object) -> tuple[p.Span, ...]:
    """Return the calls that an event comes from, whichever turn of their loops it was."""
    return tuple(place.span for place in event.model.created)


def raw(m: Machine, state: dict[Any, Any], key: Any) -> bool:
    """Return whether an entry is a plain `cl_event`, which nothing releases by itself."""
    for frame in m.frames:
        if state is frame.variables:
            return frame.types.get(key, "").startswith(("cl_event", "static cl_event"))
        for name, value in frame.variables.items():
            if isinstance(value, Object) and value.state is state and value.kind in ("dict", "list"):
                return "cl_event" in frame.types.get(name, "")
        receiver = frame.receiver
        if isinstance(receiver, Object) and receiver.state is state and isinstance(key, str):
            from kexec_lint.opencl.interpreter.native import scopes

            return (scopes.member_type(receiver, key) or "").startswith("cl_event")
    return False


def _lost(m: Machine, event: Object) -> bool:
    model: g.Event = event.model
    return bool(event.state.get("owned")) and not event.state.get("given back") and not model.escaped


def leave(m: Machine, frame: Frame, names: Sequence[str], result: AbstractValue, span: p.Span) -> None:
    """Variables end: events that only they held, and that nothing ever releases, are lost."""
    if m.scratch or frame.function == "main":
        return
    for name in names:
        value = frame.variables.get(name)
        if not isinstance(value, AbstractValue) or "cl_event" not in frame.types.get(name, ""):
            continue
        if frame.types.get(name, "").startswith("static "):
            continue
        events = list(_inside(value))
        released = {_spans(event) for event in events if event.state.get("given back")}
        for event in events:
            if _spans(event) in released:
                continue  # a loop makes them, and a loop that was followed less far releases them
            if not _lost(m, event) or lifetimes.leads_to(m, [result], event):
                continue
            others = {k: v for k, v in frame.variables.items() if k != name}
            if lifetimes.leads_to(m, others.values(), event) or _held_outside(m, frame, event):
                continue
            event.state["given back"] = True
            created: g.Site = event.model.created
            m.graph.remarks.append(
                g.Remark(
                    "OCL304",
                    created,
                    f"The event in `{name}` is never released: the runtime keeps it, and what it refers to, until "
                    "the process ends",
                    "pass NULL if nothing needs the event, or call clReleaseEvent after its last use",
                    guard=event.model.guard,
                )
            )


def after_loop(array: AbstractValue) -> None:
    """A loop was followed for some turns only: if it released events of an array, then the others, too."""
    found = list(_inside(array))
    if any(event.state.get("given back") for event in found):
        for event in found:
            event.state["given back"] = True


def _inside(value: AbstractValue) -> Iterator[Object]:
    """Yield the events in a variable, those of an array too."""
    elements = pointers.spread(value) or (value,)
    for element in elements:
        if isinstance(element, Object) and element.kind == "event":
            yield element
        elif isinstance(element, Phi):
            yield from (o for _, o in element.options if isinstance(o, Object) and o.kind == "event")


def _held_outside(m: Machine, frame: Frame, event: Object) -> bool:
    roots: list[Any] = list(frame.scope.frame.variables.values())
    if frame.receiver is not None:
        roots.append(frame.receiver)
    for other in m.frames:
        if other is not frame:
            roots.extend(other.variables.values())
    return lifetimes.leads_to(m, roots, event)
