"""Places in memory: the address of a variable, a member or an element, and what is read and written through it."""

from __future__ import annotations

from typing import Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.interpreter import attributes, expressions, host
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import (
    NONE,
    AbstractValue,
    Known,
    Object,
    Phi,
    TupleValue,
    Unknown,
)


class Address(AbstractValue):
    """`&variable`, `&s.member`, `&array[i]`: an entry of a state, or an element of a container."""

    __slots__ = ("base", "index", "key", "state", "type")

    def __init__(
        self,
        state: dict[Any, Any],
        key: Any,
        base: AbstractValue | None = None,
        index: AbstractValue | None = None,
        type: str = "",
    ) -> None:
        self.state, self.key, self.base, self.index, self.type = state, key, base, index, type

    @property
    def held(self) -> AbstractValue | None:
        """What stands there."""
        found = self.state.get(self.key)
        return found if isinstance(found, AbstractValue) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and self.state is other.state and self.key == other.key

    def __hash__(self) -> int:
        return hash((id(self.state), self.key))


class Reference(Address):
    """A C++ reference: a name for another variable."""

    __slots__ = ()


LONGER = "longer"
"""What stands under "open" of a list whose first elements are known, and which may have more."""
_SET_UP = frozenset({"queue", "kernel", "program", "context"})


def written(value: AbstractValue) -> AbstractValue:
    """Return a variable's value without the paths on which nothing has written it: they do not come here."""
    if not isinstance(value, Phi):
        return value
    kept = tuple(
        (guard, o) for guard, o in value.options if not (isinstance(o, Unknown) and o.key[0] in ("uninit", "local"))
    )
    if not kept:
        return value
    if len(kept) == 1 or _made_alike([option for _, option in kept]):
        return kept[-1][1]
    return Phi(kept)


def _made_alike(found: list[AbstractValue]) -> bool:
    """Return whether these are queues, kernels or programs that one line makes: a loop over devices that ends early."""
    places = {
        (o.kind, o.site[-1].span) if isinstance(o, Object) and o.kind in _SET_UP and o.site else None for o in found
    }
    return len(places) == 1 and None not in places


def is_array(value: AbstractValue) -> bool:
    """Return whether a value is a C array of handles or structs."""
    return isinstance(value, Object) and value.kind == "dict" and bool(value.state.get("array"))


def is_cell(value: AbstractValue) -> bool:
    """Return whether a value is a variable that is itself the host memory of a transfer."""
    return isinstance(value, Object) and value.kind == "host" and bool(value.state.get("cell"))


def pointer_to(held: Object) -> Object:
    """Return the address of host memory: that of a variable is no read of it."""
    return Object("host", {}, model=held.model, site=held.site, name=held.name) if is_cell(held) else held


def to_element(base: AbstractValue, index: AbstractValue) -> Address:
    """Return the address of an element of an array or vector."""
    assert isinstance(base, Object)
    return Address(base.state, expressions.place(index), base, index)


def load(m: Machine, at: Address, span: p.Span = p.NOWHERE) -> AbstractValue:
    """Read what stands at an address."""
    if at.base is not None and at.index is not None:
        return element(m, at.base, at.index, span)
    found = at.state.get(at.key)
    if isinstance(found, AbstractValue):
        return load(m, found, span) if isinstance(found, Reference) else written(found)
    return Unknown(("deref", id(at.state), at.key if isinstance(at.key, str) else str(at.key)))


def store(m: Machine, at: Address, value: AbstractValue, span: p.Span) -> None:
    """Write to an address."""
    if at.base is not None and at.index is not None:
        set_element(m, at.base, at.index, value, span)
        return
    old = at.state.get(at.key)
    if isinstance(old, Reference):
        store(m, old, value, span)
        return
    if isinstance(old, AbstractValue) and is_cell(old):
        host.write(m, old, span, "an assignment")
        return
    m.heap.write(at.state, at.key, value)


def deref(m: Machine, value: AbstractValue, span: p.Span) -> AbstractValue:
    """Return `*value`."""
    match value:
        case Phi():
            return m.merge([(guard, deref(m, option, span)) for guard, option in value.options if option != NONE])
        case Address():
            return load(m, value, span)
        case Object(kind="instance" | "event" | "queue" | "memory" | "kernel"):
            return value  # a smart pointer, an iterator
        case Object(kind="list" | "dict" | "host" | "map"):
            return element(m, value, Known(0), span)
        case Unknown():
            state = m.unknown_state.get(value)
            if state is not None and ("key", 0) in state:
                found: AbstractValue = state["key", 0]
                return found
            if host.is_host(m, value):
                host.read(m, value, span, "a dereference")
                return m.fresh("element")
            return Unknown(("item", value, Known(0)))
    return m.fresh("deref")


def target(value: AbstractValue) -> AbstractValue:
    """Return what a pointer to an object with members points to, for `p->x` and `r.x`."""
    if isinstance(value, Address) and value.base is None:
        found = value.state.get(value.key)
        if isinstance(found, AbstractValue):
            return target(found) if isinstance(found, Address) else found
        return Unknown(("deref", id(value.state), str(value.key)))
    return value


def element(m: Machine, base: AbstractValue, index: AbstractValue, span: p.Span) -> AbstractValue:
    """Return `base[index]`."""
    match base:
        case Phi():
            return m.merge([(guard, element(m, o, index, span)) for guard, o in base.options if o != NONE])
        case Address(base=AbstractValue() as inner, index=AbstractValue() as start):
            return element(m, inner, expressions.binary(m, "+", start, index, span), span)
        case Address():
            if index == Known(0):
                return load(m, base, span)
            return element(m, load(m, base, span), index, span)
        case Object(kind="host" | "map"):
            if is_cell(base):
                host.read(m, base, span, "a dereference")
                return m.fresh("element")
            if base.state.get("rows"):
                return _row(m, base, index)
            host.read(m, base, span, "an element")
            return m.fresh("element")
        case Object(kind="memory" | "kernel" | "event" | "queue" | "instance"):
            return base if index == Known(0) else m.fresh("element")
        case Known(value=str()):
            return m.fresh("character")
        case Object(kind="list") if base.state.get("open") == LONGER and isinstance(index, Known):
            items = base.items()
            if isinstance(index.value, int) and 0 <= index.value < len(items):
                return written(items[index.value])
    return written(expressions.item(m, base, index, span))


_FAR = 1 << 40
"""Bytes between the rows of an array of arrays or vectors: they share none."""


def _row(m: Machine, base: Object, index: AbstractValue) -> Object:
    """Return a row of an array of arrays or vectors: one of its own if its number is known."""
    number = index.value if isinstance(index, Known) and isinstance(index.value, int) else None
    if number is None or base.state.get("part"):
        row = host.view(m, base, part=True)
        assert isinstance(row, Object)
        row.state["rows"] = False
        return row
    if ("row", number) not in base.state:
        place = (number * _FAR, (number + 1) * _FAR)
        memory = g.Memory(base.model.name, "host", known=True, created=base.site, parent=base.model, range=place)
        base.state["row", number] = Object("host", {"vector": True}, model=memory, site=base.site, name=base.name)
    found: Object = base.state["row", number]
    return found


def set_element(m: Machine, base: AbstractValue, index: AbstractValue, value: AbstractValue, span: p.Span) -> None:
    """Carry out `base[index] = value`."""
    match base:
        case Phi():
            for _, option in base.options:
                if option != NONE:
                    set_element(m, option, index, value, span)
            return
        case Address(base=AbstractValue() as inner, index=AbstractValue() as start):
            set_element(m, inner, expressions.binary(m, "+", start, index, span), value, span)
            return
        case Address():
            if index == Known(0):
                store(m, base, value, span)
            else:
                set_element(m, load(m, base), index, value, span)
            return
        case Object(kind="host" | "map"):
            host.write(m, base, span, "an assignment to elements")
            return
        case Object(kind="list"):
            items = base.items()
            number = index.value if isinstance(index, Known) else None
            if isinstance(number, int) and 0 <= number < len(items):
                m.heap.write(base.state, "items", (*items[:number], value, *items[number + 1 :]))
                return
            m.heap.write(base.state, ("unseen", index), value)
            m.heap.write(base.state, "items", (*items, value))
            m.heap.write(base.state, "open", True)
            return
        case Object(kind="dict"):
            m.heap.write(base.state, expressions.place(index), value)
            return
    if host.is_host(m, base):
        host.write(m, base, span, "an assignment to elements")
        return
    state = m.state_of(base)
    if state is not None:
        m.heap.write(state, expressions.place(index), value)


def member(m: Machine, base: AbstractValue, name: str, span: p.Span) -> AbstractValue:
    """Return `base.name`, `base->name`."""
    if isinstance(base, Phi):
        return m.merge([(guard, member(m, o, name, span)) for guard, o in base.options if o != NONE])
    base = target(base)
    if isinstance(base, Address):
        base = load(m, base, span)
    if is_cell(base):
        host.read(m, base, span, "a member")
        return m.fresh("member")
    if is_array(base):
        base = element(m, base, Known(0), span)
    if isinstance(base, Object) and base.kind in ("host", "map"):
        host.read(m, base, span, "a member")
        return m.fresh("member")
    if isinstance(base, Unknown) and host.is_host(m, base):
        state = m.unknown_state.get(base)
        if not state:
            host.read(m, base, span, "a member")
    if isinstance(base, Object) and base.kind == "instance":
        if isinstance(base.state.get("#host"), Object):
            host.read(m, base.state["#host"], span, "a member")
        found = base.state.get(name)
        if found is None:
            return _default_member(m, base, name, span)
        return load(m, found, span) if isinstance(found, Reference) else found
    if isinstance(base, Phi | Known):
        return member(m, base, name, span) if isinstance(base, Phi) else m.fresh("member")
    if isinstance(base, Object) and base.kind in ("event", "queue", "memory", "kernel", "list", "dict"):
        found = base.state.get(name)
        return found if isinstance(found, AbstractValue) else m.fresh("member", name)
    return attributes.get(m, base, name, span)


def _default_member(m: Machine, base: Object, name: str, span: p.Span) -> AbstractValue:
    """Return a member that nothing has set yet: an empty container by its type, else what its class gives it."""
    from kexec_lint.opencl.interpreter.native import scopes

    type_ = scopes.member_type(base, name)
    if type_ is not None and not m.scratch:
        made = scopes.container(m, type_, name, span)
        if made is not None:
            if m.instances.get(id(base.cls)) is base:
                made.state["before"] = True  # other methods may have filled it
            m.heap.write(base.state, name, made)
            return made
    return attributes.get(m, base, name, span)


def set_member(m: Machine, base: AbstractValue, name: str, value: AbstractValue, span: p.Span) -> None:
    """Carry out `base.name = value`."""
    if isinstance(base, Phi):
        for _, option in base.options:
            if option != NONE:
                set_member(m, option, name, value, span)
        return
    base = target(base)
    if isinstance(base, Address):
        base = load(m, base, span)
    if isinstance(base, Object) and base.kind in ("host", "map"):
        host.write(m, base, span, "an assignment to a member")
        return
    if is_array(base):
        base = element(m, base, Known(0), span)
    if isinstance(base, Unknown) and host.is_host(m, base):
        host.write(m, base, span, "an assignment to a member")
    if isinstance(base, Object) and isinstance(base.state.get("#host"), Object):
        host.write(m, base.state["#host"], span, "an assignment to a member")
    state = m.state_of(base)
    if state is not None:
        old = state.get(name)
        if isinstance(old, Reference):
            store(m, old, value, span)
            return
        m.heap.write(state, name, value)
        if isinstance(value, Address) and isinstance(base, Unknown):
            _escapes(m, value)


def _escapes(m: Machine, at: Address) -> None:
    """An address is kept where unseen code finds it."""
    held = load(m, at)
    if isinstance(held, Object) and held.kind == "event":
        held.model.escaped = True
        held.state["given back"] = True


def value_of(m: Machine, value: AbstractValue, span: p.Span) -> AbstractValue:
    """Return a value as an operand: a variable that is host memory is read."""
    if is_cell(value):
        host.read(m, value, span, "a variable")
        return m.fresh("value")
    return value


def cell(m: Machine, at: Address, span: p.Span) -> Object:
    """Return the variable at an address as host memory, because a command uses it as such."""
    held = at.state.get(at.key)
    if isinstance(held, Object) and held.kind in ("host", "map"):
        return held
    name = at.key if isinstance(at.key, str) else "a variable"
    memory = g.Memory(name, "host", known=True, created=m.site(span))
    made = Object("host", {"cell": True, "held": held}, model=memory, site=m.site(span), name=name)
    m.heap.write(at.state, at.key, made)
    return made


def offset(m: Machine, op: str, left: AbstractValue, right: AbstractValue, span: p.Span) -> AbstractValue | None:
    """Return `pointer + n`, None if neither operand is a pointer."""
    for base, count in ((left, right), (right, left)):
        if isinstance(base, Address) and base.base is not None and base.index is not None:
            index = expressions.binary(m, op, base.index, count, span)
            return to_element(base.base, index)
        if is_array(base) or (isinstance(base, Object) and base.kind == "list"):
            return to_element(base, count) if op == "+" else m.fresh("pointer")
        if isinstance(base, Object) and base.kind in ("host", "map") and not is_cell(base):
            if isinstance(count, Object) and count.kind in ("host", "map"):
                return m.fresh("difference")
            return host.view(m, base, part=True)
        if isinstance(base, Unknown) and host.is_host(m, base) and base.key[0] != "op":
            return base
    return None


def spread(value: AbstractValue) -> tuple[AbstractValue, ...]:
    """Return the elements that are known of an array or vector, in the order of their indices."""
    if isinstance(value, Object) and value.kind == "list":
        return value.items()
    if isinstance(value, Object) and value.kind == "dict":
        keys = [k for k in value.state if isinstance(k, tuple) and len(k) == 2 and k[0] in ("key", "index")]
        keys.sort(key=lambda k: (k[0] != "key", k[1] if isinstance(k[1], int) else 0))
        return tuple(v for v in (value.state[k] for k in keys) if isinstance(v, AbstractValue))
    if isinstance(value, TupleValue):
        return value.items
    return ()
