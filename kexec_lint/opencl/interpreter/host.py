"""Host memory: arrays that commands fill or empty, and where host code reads or writes them."""

from __future__ import annotations

from typing import Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import AbstractValue, Known, Object, Phi, TupleValue, Unknown


def make(m: Machine, span: p.Span, what: str, initialised: bool = True, dimensions: int | None = None) -> Object:
    """Return a new host array."""
    memory = g.Memory(what, "host", known=True, created=m.site(span), initialised=initialised)
    return m.object("host", span, what, memory, dimensions=dimensions)


def memory(m: Machine, value: AbstractValue) -> g.Memory | None:
    """Return the host memory behind a value, None if it is not known to be any."""
    if isinstance(value, Object):
        if value.kind == "host":
            model: g.Memory = value.model
            return model
        if value.kind == "map":
            mapped: g.Memory = value.model.host
            return mapped
    elif value.__class__ is Unknown and m.unknown_memory:
        known = m.unknown_memory.get(value)
        return known if known is not None and known.kind == "host" else None
    return None


def is_host(m: Machine, value: AbstractValue) -> bool:
    """Return whether a value is host memory."""
    if isinstance(value, Phi):
        return any(is_host(m, option) for _, option in value.options)
    return memory(m, value) is not None


def access(
    m: Machine,
    value: AbstractValue,
    span: p.Span,
    what: str,
    reads: bool,
    writes: bool,
    certain: bool = True,
    role: str = "",
) -> None:
    """Record that host code touches a host array, if commands or mappings concern it."""
    if m.scratch:
        return
    if isinstance(value, Phi):
        for _, option in value.options:
            access(m, option, span, what, reads, writes, certain=False, role=role)
        return
    if isinstance(value, TupleValue):
        for element in value.items:
            access(m, element, span, what, reads, writes, certain)
        return
    if isinstance(value, Object) and value.kind == "list":
        for element in value.items():
            access(m, element, span, what, reads, writes, certain)
        return
    target = memory(m, value)
    if target is None:
        return
    mapping = value.model if isinstance(value, Object) and value.kind == "map" else None
    if mapping is None and id(target.root) not in m.users and target.host_pointer is None:
        return
    part = isinstance(value, Object) and bool(value.state.get("part"))
    point = m.point("access", span, what=what, mapping=mapping)
    point.accesses.append(g.Access(target, reads, writes, certain, partial=part, role=role))


def read(m: Machine, value: AbstractValue, span: p.Span, what: str) -> None:
    """Record a read of a host array by host code."""
    if isinstance(value, Object | Unknown | Phi | TupleValue):
        access(m, value, span, what, reads=True, writes=False)


def write(m: Machine, value: AbstractValue, span: p.Span, what: str, also_reads: bool = False) -> None:
    """Record a write to a host array by host code."""
    access(m, value, span, what, reads=also_reads, writes=True)


def element(m: Machine, base: AbstractValue, index: AbstractValue, span: p.Span) -> AbstractValue:
    """Return `array[index]`: a view for slices, else an element, which is read."""
    if _only_slices(index):
        return view(m, base, part=True)
    indices = len(index.items) if isinstance(index, TupleValue) else 1
    dimensions = base.state.get("dimensions") if isinstance(base, Object) else None
    if isinstance(dimensions, int) and indices < dimensions:
        return view(m, base, part=True)
    read(m, base, span, "an element")
    return m.fresh("element")


def view(m: Machine, base: AbstractValue, part: bool = False) -> AbstractValue:
    """Return another array over the same memory."""
    if isinstance(base, Object) and base.kind in ("host", "map"):
        state: dict[Any, Any] = {**base.state, "part": part or base.state.get("part", False), "dimensions": None}
        return Object(base.kind, state, model=base.model, site=base.site, name=base.name)
    return base


def _only_slices(index: AbstractValue) -> bool:
    if isinstance(index, TupleValue):
        if index.items and index.items[0] == Known("slice"):
            return True
        return any(_only_slices(item) for item in index.items)
    return isinstance(index, Known) and index.value in (Ellipsis, None)
