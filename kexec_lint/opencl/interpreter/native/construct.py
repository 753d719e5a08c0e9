"""Constructors of C++: the classes of opencl.hpp and Boost.Compute, vectors, classes of the tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kexec_lint.opencl import program as p
from kexec_lint.opencl.api import boost_compute, hpp
from kexec_lint.opencl.api import native as api
from kexec_lint.opencl.interpreter import calls, host
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.native import effects, events, pointers, scopes
from kexec_lint.opencl.interpreter.values import NONE, AbstractValue, ClassValue, Known, Object, Unknown

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.calls import Arguments

_MAKERS = re.compile(r"^(?:std::|boost::)?(?:make_shared|make_unique|make_optional)<(.*)>$")
_COUNTED = re.compile(r"^(?:std::|boost::)?(?:unique_ptr|shared_ptr|optional)<(.*)>$")


def is_type(m: Machine, name: str) -> bool:
    """Return whether a name that is called is a type that is constructed."""
    return (
        _row(m, name) is not None
        or api.element_of(name) is not None
        or bool(_MAKERS.match(name) or _COUNTED.match(name))
    )


def _row(m: Machine, name: str) -> object:
    plain = name.partition("<")[0]
    scope, _, last = plain.rpartition("::")
    if last in hpp.CLASSES and (scope in ("cl", "::cl") or (not scope and m.frame.scope.opens_cl)):
        return hpp.CLASSES[last]
    if last in boost_compute.CLASSES and scope in ("compute", "boost::compute"):
        return boost_compute.CLASSES[last]
    return None


def construct(m: Machine, type_: str, arguments: Arguments, span: p.Span) -> AbstractValue:
    """Return a new object of a type."""
    type_ = type_.removeprefix("static ").rstrip("&")
    inner = _MAKERS.match(type_) or _COUNTED.match(type_)
    if inner is not None:
        if len(arguments.positional) == 1 and _COUNTED.match(type_) and not inner[1].endswith("[]"):
            return arguments.positional[0]
        if inner[1].endswith("[]"):
            if arguments.positional and isinstance(arguments.positional[0], Object):
                return arguments.positional[0]
            return host.make(m, span, "array")
        return construct(m, inner[1], arguments, span)
    for value in arguments.positional:
        events.retain(value)  # the new object may be the owner from here on
    element = api.element_of(type_)
    if element is not None:
        return vector(m, element, arguments, span)
    row = _row(m, type_)
    if row is not None:
        return _api_object(m, row, arguments, span)
    kind = api.kind_of(type_)
    if kind == "scalar":
        return arguments.positional[0] if arguments.positional else Known(0)
    if kind is not None and arguments.positional:
        return arguments.positional[0]
    found = scopes.find(m, type_.partition("<")[0], span)
    if isinstance(found, ClassValue):
        return calls.instantiate(m, completed(m, found), arguments, span)
    if "thread" in type_ or "async" in type_:
        m.graph.threaded = True
    calls.opaque(m, arguments.positional, span, what=type_)
    return m.fresh("object", type_)


def completed(m: Machine, cls: ClassValue) -> ClassValue:
    """Return a class of a header with the methods that the file next to the header defines."""
    other = m.loader.counterpart(cls.scope.path)
    found = other.lookup(cls.node.name, m) if other is not None and cls.node.name in other.bindings else None
    return found if isinstance(found, ClassValue) and cls in found.bases else cls


def _api_object(m: Machine, row: object, arguments: Arguments, span: p.Span) -> AbstractValue:
    from kexec_lint.opencl.api.model import CallModel

    assert isinstance(row, CallModel)
    given = arguments.positional
    match row.does:
        case "functor":
            kernel = given[0] if given else NONE
            if isinstance(kernel, Object) and kernel.kind == "program":
                kernel = effects.run(m, hpp.CLASSES["Kernel"], arguments, span)
            return m.object("functor", span, kernel=kernel)
        case "enqueue_args":
            return m.object("enqueue_args", span, arguments=m.list_of(given))
        case "range":
            return Object("ranges", {"items": tuple(given)})
        case "event_list":
            return m.list_of(list(given))
        case "device_queue":
            return m.fresh("device queue")
        case "buffer" | "queue" | "kernel" | "program" | "image" if len(given) == 1 and _same(given[0], row.does):
            return given[0]
        case "kernel" if not given:
            return m.fresh("kernel")
        case "buffer" | "queue" if not given and row.does == "buffer":
            return Unknown(("uninit buffer", m.serial))
        case "program" if given and isinstance(given[0], Known):
            return effects.run(m, row, calls.Arguments([NONE, *given]), span)
    return effects.run(m, row, arguments, span)


def _same(value: AbstractValue, does: str) -> bool:
    kinds = {"buffer": "memory", "image": "memory"}
    value = value if not isinstance(value, pointers.Address) else pointers.target(value)
    return (isinstance(value, Object) and value.kind == kinds.get(does, does)) or isinstance(value, Unknown)


def vector(m: Machine, element: str, arguments: Arguments, span: p.Span) -> AbstractValue:
    """`std::vector<element>(…)`: host memory for numbers, a list for anything else."""
    given = arguments.positional
    kind = api.kind_of(element)
    if kind == "scalar" and not element.endswith("*"):
        for value in given:
            host.read(m, value, span, "a copy")
        made = host.make(m, span, "vector")
        made.state["vector"] = True
        made.state["owner"] = True
        return made
    first = given[0] if given else None
    if isinstance(first, Object) and first.kind == "list":
        copied = m.list_of(first.items())
        copied.state["open"] = bool(first.state.get("open"))
        return copied
    if isinstance(first, pointers.Address) and len(given) == 2 and isinstance(first.base, Object):
        return m.list_of(pointers.spread(first.base))
    if isinstance(first, Known) and isinstance(first.value, int) and kind != "scalar":
        fill = given[1] if len(given) > 1 else None
        inner = api.element_of(element)
        if inner is not None and api.kind_of(inner) == "scalar" and 0 < first.value <= 16:
            rows = [vector(m, inner, calls.Arguments(), span) for _ in range(first.value)]
            for row in rows:
                row.state["owner"] = False  # type: ignore[attr-defined]
            return m.list_of(rows)
        if first.value <= 16:
            m.serial += 1
            return m.list_of(
                fill if fill is not None else Unknown(("uninit", f"{m.serial}.{i}", "an element"))
                for i in range(first.value)
            )
        made = m.list_of(())
        made.state["open"] = True
        return made
    if (
        first is not None and len(given) <= 2 and isinstance(first, Unknown) and kind in ("event", "memory", "queue")
    ) and first.key[0] not in ("uninit",):
        made = m.list_of(())
        made.state["open"] = True
        return made
    return m.list_of(given)


def functor_call(m: Machine, functor: Object, arguments: Arguments, span: p.Span) -> AbstractValue:
    """`functor(EnqueueArgs(queue, events, global, local), arguments…)`: sets the arguments and enqueues."""
    given = arguments.positional
    launch = given[0] if given and isinstance(given[0], Object) and given[0].kind == "enqueue_args" else None
    kernel = functor.state.get("kernel", NONE)
    state = m.state_of(kernel)
    values = {number: pointers.target(value) for number, value in enumerate(given[1:])}
    if state is not None:
        for number, value in values.items():
            m.heap.write(state, ("arg", number), value)
    parts = list(launch.state["arguments"].items()) if launch is not None else []
    queue: AbstractValue = Unknown(("default queue",))
    if parts and isinstance(pointers.target(parts[0]), Object) and pointers.target(parts[0]).kind == "queue":  # type: ignore[attr-defined]
        queue = pointers.target(parts.pop(0))
    elif parts and isinstance(parts[0], Unknown) and len(parts) > 1:
        queue = parts.pop(0)
    waits: AbstractValue = NONE
    if parts and not (isinstance(parts[0], Object) and parts[0].kind == "ranges"):
        first = pointers.target(parts.pop(0))
        waits = first if isinstance(first, Object) and first.kind == "list" else m.list_of([first])
    ranges = [part for part in parts if isinstance(part, Object) and part.kind == "ranges"]
    bound = {"queue": queue, "events": waits}
    if ranges:
        bound["global"] = ranges[1] if len(ranges) == 3 else ranges[0]
    if len(ranges) > 1:
        bound["local"] = ranges[-1]
    return effects.launch(m, hpp.QUEUE["enqueueTask"], bound, kernel, values, span)


def transfer(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    """`cl::copy([queue,] begin, end, buffer)`: a blocking map, a copy and an unmap that is waited for.

    It takes no wait list, so on an out-of-order queue nothing orders it after earlier commands.
    """
    from kexec_lint.opencl.interpreter import commands

    given = [pointers.target(value) for value in arguments.positional]
    queue: AbstractValue = Unknown(("default queue",))
    if given and commands.is_queue(m, given[0]):
        queue = given.pop(0)
    if len(given) != 3:
        return Known(0)
    to_device = isinstance(given[2], Object) and given[2].kind == "memory"
    memory = given[2] if to_device else given[0]
    side = given[0] if to_device else given[2]
    reads = commands.accesses(m, side, "ptr", to_device, not to_device, kind="host")
    operands = [*commands.accesses(m, memory, "mem", not to_device, to_device), *reads]
    commands.enqueue(m, span, "write" if to_device else "read", queue, NONE, operands, True, what="cl::copy")
    return Known(0)
