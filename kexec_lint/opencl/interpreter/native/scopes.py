"""Variables of C and C++: declared with a type in a block, found in it and around it, gone at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api import native as api
from kexec_lint.opencl.interpreter import calls, host, lifetimes
from kexec_lint.opencl.interpreter.machine import Flow, Machine
from kexec_lint.opencl.interpreter.native import events, pointers
from kexec_lint.opencl.interpreter.values import (
    NONE,
    AbstractValue,
    ClassValue,
    Frame,
    FunctionValue,
    Known,
    Object,
    Phi,
    Unknown,
)

POINTERS = ("std::unique_ptr<", "std::shared_ptr<", "unique_ptr<", "shared_ptr<")


# --- names ----------------------------------------------------------------------------------------------------


def state_of(m: Machine, name: str) -> dict[Any, Any] | None:
    """Return the state that holds a variable of that name, from the innermost scope outwards."""
    frame: Frame | None = m.frames[-1]
    while frame is not None:
        if name in frame.variables:
            return frame.variables
        if frame.receiver is not None and isinstance(frame.receiver, Object):
            receiver = frame.receiver
            if name in receiver.state or member_type(receiver, name) is not None:
                return receiver.state
        frame = frame.parent
    outer = m.frames[-1].scope.frame.variables
    return outer if name in outer else None


def find(m: Machine, name: str, span: p.Span) -> AbstractValue | None:
    """Return the value of a variable, member or function by its name, None if nothing has it."""
    frame: Frame | None = m.frames[-1]
    while frame is not None:
        value = frame.variables.get(name)
        if value is not None:
            kind = value.__class__
            if kind is Phi:
                return pointers.written(value)
            return pointers.load(m, value, span) if kind is pointers.Reference else value  # type: ignore[arg-type]
        receiver = frame.receiver
        if isinstance(receiver, Object) and receiver.kind == "instance" and _has(receiver, name):
            return pointers.member(m, receiver, name, span)
        frame = frame.parent
    scope = m.frames[-1].scope
    found = scope.lookup(name, m)
    if found is None and "::" in name:
        found = scope.lookup(name.rpartition("::")[2], m)
        if not isinstance(found, FunctionValue | ClassValue):
            return None
    return found


def _has(receiver: Object, name: str) -> bool:
    if name in receiver.state or member_type(receiver, name) is not None:
        return True
    return receiver.cls is not None and receiver.cls.lookup(name) is not None


def member_type(instance: Object, name: str) -> str | None:
    """Return the declared type of a member."""
    if instance.cls is None:
        return None
    from kexec_lint.opencl.interpreter.objects import lineage

    for cls in lineage(instance.cls):
        types = cls.variables.get("#types")
        if isinstance(types, Object) and name in types.state:
            found: str = types.state[name]
            return found
    return None


def assign_name(m: Machine, name: str, value: AbstractValue, span: p.Span) -> None:
    """Carry out `name = value`."""
    state = state_of(m, name)
    if state is None:
        state = m.frames[-1].scope.frame.variables
    old = state.get(name)
    if isinstance(old, pointers.Reference):
        pointers.store(m, old, value, span)
        return
    if isinstance(old, AbstractValue) and pointers.is_cell(old):
        host.write(m, old, span, "an assignment")
        return
    if isinstance(old, Object) and old.kind == "list" and isinstance(value, Object) and value.kind == "list":
        m.heap.write(old.state, "items", value.items())
        m.heap.write(old.state, "open", bool(value.state.get("open")))
        return
    if isinstance(old, Object) and old.kind == "host" and old.state.get("vector") and not _new_host(m, old, value):
        host.write(m, old, span, "an assignment")
        return
    _call_it(value, name)
    if isinstance(old, AbstractValue):
        events.overwritten(m, old, span, (state, name))
    m.heap.write(state, name, value)


def _new_host(m: Machine, old: Object, value: AbstractValue) -> bool:
    return isinstance(value, Object) and value.kind in ("host", "map") and id(old.model.root) not in m.users


def _call_it(value: AbstractValue, name: str) -> None:
    if value.__class__ is not Object:
        return
    from kexec_lint.opencl.interpreter.statements import name_value

    name_value(value, name)


# --- declarations ---------------------------------------------------------------------------------------------


def declare(m: Machine, name: str, type_: str, value: AbstractValue | None, span: p.Span, copies: bool) -> None:
    """Carry out `type name = value;`. `copies` says that the value belongs to another variable."""
    frame = m.frame
    if not frame.function and not m.places and frame is frame.scope.frame:
        made = _global(m, name, type_, value, span)
        if made is None:
            return
    else:
        made = _local(m, name, type_, value, span, copies)
    _call_it(made, name)
    frame.types[name] = type_
    m.heap.write(frame.variables, name, made)


def _global(m: Machine, name: str, type_: str, value: AbstractValue | None, span: p.Span) -> AbstractValue | None:
    """A variable of the file: what functions leave in it is not known unless it is constant."""
    m.frame.types[name] = type_
    made = container(m, type_, name, span)
    if made is not None:
        if isinstance(value, Object) and value.kind == "list":
            _fill(m, made, value)
        return made
    if value is None or value == NONE or value == Known(0):
        return None
    return value


def _local(m: Machine, name: str, type_: str, value: AbstractValue | None, span: p.Span, copies: bool) -> AbstractValue:
    element = api.element_of(type_)
    plain = type_.removeprefix("static ")
    if plain.endswith("&") and value is not None:
        return value
    if element is not None and not plain.endswith("*"):
        if isinstance(value, Object) and value.kind in ("host", "list", "dict") and not copies:
            if value.kind == "list" and (plain.endswith("[]") or _scalar(element)):
                made = container(m, type_, name, span)
                assert made is not None
                _fill(m, made, value)
                return made
            if value.kind == "host":
                value.state["vector"] = True
            return value
        if isinstance(value, Object) and value.kind == "list":
            made = m.list_of(value.items())
            made.state["open"] = bool(value.state.get("open"))
            return made
        if isinstance(value, Object) and value.kind == "host":
            host.read(m, value, span, "a copy")
        if isinstance(value, Unknown) and not _scalar(element):
            return value
        made_container = container(m, type_, name, span)
        assert made_container is not None
        return made_container
    if value is None:
        return uninitialised(m, name, plain, span)
    value = allocated(m, plain, pointers.value_of(m, value, span))
    if isinstance(value, Object) and value.kind == "list" and not plain.endswith("*"):
        cls = m.frame.scope.lookup(plain, m)
        if isinstance(cls, ClassValue):
            instance = calls.instantiate(m, cls, calls.Arguments(), span)
            for field, item in zip(_fields(cls), value.items(), strict=False):
                assert isinstance(instance, Object)
                instance.state[field] = item
            return instance
        if api.kind_of(plain) is None and plain != "auto":
            return Object("instance", name=name)
        return value.items()[0] if value.items() else Known(0)
    return value


def allocated(m: Machine, type_: str, value: AbstractValue) -> AbstractValue:
    """Return what fresh memory is when its pointer has a type: an array of handles, a struct, else plain memory."""
    fresh = isinstance(value, Object) and value.kind == "host" and value.name == "host memory"
    if not fresh or not type_.endswith("*") or type_.startswith(("void", "auto")):
        return value
    assert isinstance(value, Object)
    element = type_[:-1]
    kind = api.kind_of(element)
    if kind == "scalar" and not element.endswith("*"):
        return value
    if kind is not None or element.endswith("*"):
        return Object("dict", {"array": True}, site=value.site, name=value.name)
    return Object("instance", {}, cls=_class(m, element), site=value.site, name=element)


def _class(m: Machine, name: str) -> ClassValue | None:
    found = m.frame.scope.lookup(name.rpartition("::")[2], m)
    return found if isinstance(found, ClassValue) else None


def _fields(cls: ClassValue) -> list[str]:
    types = cls.variables.get("#types")
    return list(types.state) if isinstance(types, Object) else []


def _scalar(type_: str) -> bool:
    return api.kind_of(type_) == "scalar" and not type_.endswith("*")


def container(m: Machine, type_: str, name: str, span: p.Span) -> Object | None:
    """Return an empty array or vector of that type, None if it is no such type."""
    element = api.element_of(type_)
    plain = type_.removeprefix("static ").rstrip("&")
    if element is None or plain.endswith("*"):
        return None
    inner = api.element_of(element)
    if _scalar(element) or (inner is not None and _scalar(inner) and plain.endswith("[]")):
        made = host.make(m, span, name)
        made.state["vector"] = True
        made.state["owner"] = not type_.startswith("static ")
        if inner is not None:
            made.state["rows"] = True
        return made
    if plain.endswith("[]"):
        return Object("dict", {"array": True}, site=m.site(span), name=name)
    return m.list_of(())


def _fill(m: Machine, made: Object, value: Object) -> None:
    if made.kind == "dict":
        for number, item in enumerate(value.items()):
            made.state["key", number] = item
        made.state["length"] = Known(len(value.items()))
    elif made.kind == "list":
        made.state["items"] = value.items()


def uninitialised(m: Machine, name: str, type_: str, span: p.Span) -> AbstractValue:
    """Return what a variable holds before it is assigned: an object of its class, or nothing known."""
    if not type_.endswith("*") and api.kind_of(type_) is None:
        cls = find(m, type_, span) if type_ not in ("auto", "void") else None
        from kexec_lint.opencl.interpreter.native import construct

        if isinstance(cls, ClassValue):
            return calls.instantiate(m, construct.completed(m, cls), calls.Arguments(), span)
        if type_.startswith(("cl::UserEvent", "boost::compute::wait_list", "compute::wait_list", "wait_list")):
            return construct.construct(m, type_, calls.Arguments(), span)
    frame = m.frame.number
    if api.kind_of(type_) == "event":
        return Unknown(("uninit", frame, name))
    return Unknown(("local", frame, name))


# --- blocks ---------------------------------------------------------------------------------------------------


def run_block(m: Machine, body: Sequence[p.Statement], span: p.Span) -> Flow:
    """Execute a block of its own scope."""
    from kexec_lint.opencl.interpreter.statements import execute_block

    names = [t.id for s in body if isinstance(s, p.Assign) and s.type for t in s.targets if isinstance(t, p.Name)]
    variables, types = m.frames[-1].variables, m.frames[-1].types
    hidden = {name: (variables.get(name), types.get(name)) for name in names}
    for name in names:
        if name in variables:
            m.heap.remove(variables, name)
    flow = execute_block(m, body)
    if flow is Flow.NEXT:
        end = p.Span(span.end_row, max(span.end_column - 1, 1), span.end_row, span.end_column)
        leave(m, m.frame, names, NONE, end)
        for name, (value, type_) in hidden.items():
            if value is not None:
                m.heap.write(variables, name, value)
            else:
                m.heap.remove(variables, name)
            if type_ is not None:
                types[name] = type_
    return flow


def leave(m: Machine, frame: Frame, names: Sequence[str], result: AbstractValue, span: p.Span) -> None:
    """The scope of these variables ends: arrays and objects on the stack are gone, destructors run."""
    for name in reversed(names):
        value = frame.variables.get(name)
        type_ = frame.types.get(name, "")
        if not isinstance(value, Object) or type_.startswith("static ") or value is result:
            continue
        if value.kind == "host" and (pointers.is_cell(value) or value.state.get("owner")) and "&" not in type_:
            if not type_.endswith("*") or pointers.is_cell(value):
                _dies(m, value, result, span)
        elif value.kind == "instance" and value.cls is not None and not type_.endswith(("*", "&")):
            _destroy(m, value, span)
        elif value.kind == "memory" and "::" in type_ and not type_.endswith(("*", "&")) and not m.scratch:
            _release(m, frame, names, value, result, span)
    events.leave(m, frame, names, result, span)


def _release(
    m: Machine, frame: Frame, names: Sequence[str], value: Object, result: AbstractValue, span: p.Span
) -> None:
    """A memory object of C++ is released with its variable, unless something else holds it."""
    others = [held for name, held in frame.variables.items() if name not in names]
    if not lifetimes.leads_to(m, [result, *others], value):
        value.model.released = m.site(span)


def _dies(m: Machine, value: Object, result: AbstractValue, span: p.Span) -> None:
    memory: g.Memory = value.model
    used = [one for one in (memory, memory.host_pointer) if one is not None and id(one.root) in m.users]
    if m.scratch or not used or lifetimes.leads_to(m, [result], value):
        return
    point = m.point("release", span, what="scope", memory=memory)
    point.accesses.extend(g.Access(one, False, True, role="scope") for one in used)


def _destroy(m: Machine, value: Object, span: p.Span) -> None:
    assert value.cls is not None
    found = value.cls.lookup(f"~{value.cls.node.name}")
    if found is not None:
        method, owner = found
        calls.enter(m, FunctionValue(method, owner.scope, owner.closure, value, owner), calls.Arguments(), span)
