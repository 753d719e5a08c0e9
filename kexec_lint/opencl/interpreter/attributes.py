"""Reads and writes attributes of abstract values: fields, methods, API members, the storage behind an Array."""

from __future__ import annotations

import posixpath
from typing import Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api import host as host_api
from kexec_lint.opencl.api import pyopencl as api
from kexec_lint.opencl.interpreter import commands, host, objects
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import (
    NONE,
    AbstractValue,
    BoundApi,
    ClassValue,
    External,
    FunctionValue,
    Known,
    ModuleValue,
    Object,
    Phi,
    TupleValue,
    Unknown,
)

FLAG_SETS = frozenset(
    [
        "mem_flags",
        "map_flags",
        "command_queue_properties",
        "queue_properties",
        "svm_mem_flags",
        "device_type",
        "channel_order",
        "channel_type",
        "profiling_info",
        "event_info",
        "command_execution_status",
        "mem_migration_flags",
    ]
)
"""Classes of constants; a constant is the set of its names, so that `|` joins them."""


def get(m: Machine, base: AbstractValue, name: str, span: p.Span) -> AbstractValue:
    """Return `base.name`."""
    match base:
        case Phi():
            choices = [(guard, get(m, option, name, span)) for guard, option in base.options if option != NONE]
            return m.merge(choices) if choices else m.fresh("attribute")
        case External(dotted=dotted):
            if dotted.rpartition(".")[2] in FLAG_SETS:
                return Known(frozenset({name}))
            return External(f"{dotted}.{name}")
        case ModuleValue(scope=scope):
            found = scope.lookup(name, m)
            if found is not None:
                return found
            return m.loader.module(name, 1, scope.path)
        case ClassValue():
            return _class_attribute(m, base, name)
        case Object():
            return _object_attribute(m, base, name, span)
        case Known(value=str() | bytes() | int() | float()):
            return BoundApi(base, name)
        case TupleValue():
            return BoundApi(base, name)
        case Unknown():
            state = m.unknown_state.get(base)
            if state is not None and name in state:
                found_value: AbstractValue = state[name]
                return found_value
            if name == "command_execution_status":
                m.point("poll", span, events=(commands.event_model(m, base),))
            return Unknown(("attr", base, name))
    return m.fresh("attribute", name)


def _class_attribute(m: Machine, cls: ClassValue, name: str) -> AbstractValue:
    if name in cls.variables:
        return cls.variables[name]
    found = cls.lookup(name)
    if found is not None:
        method, owner = found
        bound = cls if objects.decorated(method, "classmethod") else None
        return FunctionValue(method, owner.scope, owner.closure, bound, owner)
    for base in cls.bases:
        if isinstance(base, ClassValue) and base is not cls:
            inherited = _class_attribute(m, base, name)
            if not isinstance(inherited, Unknown):
                return inherited
    return Unknown(("classattr", id(cls), name))


def _object_attribute(m: Machine, base: Object, name: str, span: p.Span) -> AbstractValue:
    if name in base.state and isinstance(base.state[name], AbstractValue):
        value: AbstractValue = base.state[name]
        return value
    match base.kind:
        case "instance":
            return objects.instance_attribute(m, base, name, span)
        case "array":
            return _array_attribute(m, base, name)
        case "program":
            if name in api.METHODS["program"]:
                return BoundApi(base, name)
            return objects.kernel_of(m, base, name)
        case "event" if name == "profile":
            return Object("profile", model=base.model)
        case "event" if name == "command_execution_status":
            return status(m, base, span)
        case "profile":
            m.point("profile", span, events=(base.model,), what=name)
            return m.fresh("timestamp")
        case "map":
            if name == "base":
                return Object("mapping", model=base.model)
            return _host_attribute(m, base, name)
        case "mapping":
            return BoundApi(base, name) if name in api.METHODS["map"] else m.fresh("mapping")
        case "host":
            return _host_attribute(m, base, name)
        case "path":
            if name == "parent":
                return Object("path", {"path": Known(posixpath.dirname(base.state["path"].value))})
            return BoundApi(base, name)
        case "memory" if name == "mem":
            return base.state.get("array") or base
        case "lock" | "list" | "set" | "dict" | "generated" | "pool" | "allocator" | "local" | "environment":
            return BoundApi(base, name)
        case "super":
            return objects.super_attribute(m, base, name)
    table = api.METHODS.get(base.kind, {})
    if name in table:
        return BoundApi(base, name)
    return Unknown(("attr", _identity(m, base), name))


def status(m: Machine, event: Object, span: p.Span) -> Unknown:
    """Ask an event for its status. The value names the poll by its index."""
    if m.scratch:
        return m.fresh("status")
    m.point("poll", span, events=(event.model,))
    return Unknown(("status", id(event.model), m.host.index))


def note_tested(m: Machine, test: AbstractValue) -> None:
    """Remember that a branch or loop depends on the status of an event."""
    if not isinstance(test, Unknown):
        return
    if test.key[0] == "status" and not m.scratch and test.key[2] < len(m.graph.nodes):
        poll = m.graph.nodes[test.key[2]]
        if isinstance(poll, g.HostPoint) and poll.kind == "poll":
            poll.what = "tested"
    elif test.key[0] in ("test", "not", "op"):
        for part in test.key[1:]:
            if isinstance(part, Unknown):
                note_tested(m, part)


def _identity(m: Machine, base: Object) -> Unknown:
    """Return an unknown value that stands for an object in the keys of its unknown attributes."""
    m.memo["keep", id(base)] = base
    return Unknown(("object", id(base)))


def _host_attribute(m: Machine, base: Object, name: str) -> AbstractValue:
    if name in host_api.METADATA:
        return Unknown(("attr", _identity(m, base), name))
    if name in ("T", "real", "imag", "data", "flat"):
        return base
    return BoundApi(base, name)


def _array_attribute(m: Machine, base: Object, name: str) -> AbstractValue:
    """Attributes of `pyopencl.array.Array`: its storage, its events, views."""
    if name in api.ARRAY_STORAGE:
        return objects.storage(base)
    if name == "events":
        return base.state["event_list"]  # type: ignore[no-any-return]
    if name == "queue":
        queue: AbstractValue = base.state.get("queue_value", NONE)
        return queue
    if name in ("T", "real", "imag", "mem"):
        return base
    if name in api.METHODS["array"]:
        return BoundApi(base, name)
    if name in ("shape", "dtype", "size", "nbytes", "strides", "ndim", "flags", "context", "allocator", "offset"):
        return Unknown(("attr", _identity(m, base), name))
    return BoundApi(base, name)


def put(m: Machine, base: AbstractValue, name: str, value: AbstractValue) -> None:
    """Carry out `base.name = value`."""
    if isinstance(base, Phi):
        for _, option in base.options:
            put(m, option, name, value)
        return
    if isinstance(base, Object) and base.kind == "array" and name == "events":
        m.heap.write(base.state, "event_list", value)
        return
    if isinstance(base, ModuleValue):
        m.heap.write(base.scope.frame.variables, name, value)
        return
    if isinstance(base, ClassValue):
        m.heap.write(base.variables, name, value)
        return
    state = m.state_of(base)
    if state is not None:
        m.heap.write(state, name, value)


def slice_memory(m: Machine, base: Object, index: AbstractValue, span: p.Span) -> AbstractValue:
    """Return `buffer[a:b]` (a sub-buffer) or a view of an Array, which shares its events."""
    if base.kind == "array":
        view = Object("array", dict(base.state), model=base.model, site=m.site(span), name=base.name)
        if not (isinstance(index, TupleValue) and index == TupleValue((Known("slice"), NONE, NONE, NONE))):
            view.state["part"] = _bounds(index) or "unknown"
        return view
    bounds = _bounds(index)
    parent: g.Memory = base.model
    part = g.Memory(
        parent.name, parent.kind, parent.known, m.site(span), parent=parent, range=bounds, partial=bounds is None
    )
    return Object("memory", {}, model=part, site=m.site(span), name=base.name)


def _bounds(index: AbstractValue) -> tuple[int, int] | None:
    match index:
        case TupleValue(items=(Known(value="slice"), lower, Known(value=int() as upper), Known(value=None))):
            start = lower.value if isinstance(lower, Known) else None
            start = 0 if lower == NONE else start
            if isinstance(start, int) and 0 <= start <= upper:
                return (start, upper)
    return None


def array_result(m: Machine, arrays: list[Object], span: p.Span) -> AbstractValue:
    """Return the new Array of an operator on Arrays: a kernel that waits for their events, and whose own it keeps."""
    return objects.array_operation(m, arrays, span, "operator")


def flags(op: str, left: AbstractValue, right: AbstractValue) -> AbstractValue | None:
    """Join sets of flags where one side is 0 or a number."""
    if op != "|":
        return None
    for a, b in ((left, right), (right, left)):
        if isinstance(a, Known) and isinstance(a.value, frozenset) and isinstance(b, Known) and b.value in (0, None):
            return a
    return None


def join_path(m: Machine, left: AbstractValue, right: AbstractValue) -> AbstractValue | None:
    """Return `path / name` for path objects, None for anything else."""
    if isinstance(left, Object) and left.kind == "path" and isinstance(right, Known):
        joined = posixpath.join(left.state["path"].value, str(right.value))
        return Object("path", {"path": Known(joined)})
    return None


def event_list(m: Machine, value: AbstractValue) -> tuple[AbstractValue, ...] | None:
    """Return the elements of something that is a list of events by its name or use, None otherwise."""
    if isinstance(value, Object) and value.kind in ("list", "set"):
        return value.items()
    if isinstance(value, Unknown) and value.key[0] == "attr" and value.key[2] == "events":
        return (Unknown(("spread", value)),)
    return None


def is_event_name(value: AbstractValue) -> bool:
    """Return whether an unknown value is an attribute called `events`."""
    return isinstance(value, Unknown) and value.key[0] == "attr" and value.key[2] == "events"


def touched(value: Any) -> bool:
    """Return whether a value is one of the modelled objects."""
    return isinstance(value, Object) and value.kind in ("queue", "memory", "event", "array", "map", "kernel")


__all__ = ["array_result", "event_list", "flags", "get", "host", "join_path", "put", "slice_memory", "touched"]
