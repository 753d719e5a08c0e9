"""Methods of the standard containers, on lists of handles and on host memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kexec_lint.opencl import program as p
from kexec_lint.opencl.interpreter import host
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.native import pointers
from kexec_lint.opencl.interpreter.values import ABSENT, NONE, AbstractValue, Known, Object, Phi, Unknown

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.calls import Arguments

ITERATORS = frozenset(["data", "begin", "end", "cbegin", "cend", "rbegin", "rend", "get", "c_str"])
_SIZES = frozenset(["size", "empty", "capacity", "reserve", "shrink_to_fit", "max_size", "length", "use_count"])


def host_method(m: Machine, receiver: Object, name: str, arguments: Arguments, span: p.Span) -> AbstractValue:
    """A method of a vector of numbers."""
    if name in ITERATORS:
        return receiver
    if name in _SIZES:
        return Unknown(("size", id(receiver.model)))
    if name in ("resize", "push_back", "emplace_back", "clear", "assign", "fill", "insert", "swap", "reset"):
        host.write(m, receiver, span, f"{name}()")
        return NONE
    if name in ("at", "front", "back"):
        host.read(m, receiver, span, f"{name}()")
        return m.fresh("element")
    return m.fresh(name)


def _is_whole(receiver: Object) -> bool:
    """Whether the elements that are known are all that there are."""
    state = receiver.state
    some = any(isinstance(e, Phi) or e == ABSENT for e in receiver.items())
    return not (some or state.get("open") or state.get("before"))


def list_method(m: Machine, receiver: Object, name: str, arguments: Arguments, span: p.Span) -> AbstractValue:
    """A method of a vector of handles, or of a C array behind `std::array`."""
    items = receiver.items()
    given = arguments.positional
    first = pointers.value_of(m, given[0], span) if given else NONE
    match name:
        case "push_back" | "emplace_back" | "push" | "push_front" | "insert" | "add" | "emplace":
            if name == "insert" and len(given) == 3:
                source = given[1].base if isinstance(given[1], pointers.Address) else given[1]
                more = pointers.spread(source) if source is not None else ()
                m.heap.write(receiver.state, "items", (*items, *more))
                if not more or (isinstance(source, Object) and source.state.get("open")):
                    m.heap.write(receiver.state, "open", True)
                return NONE
            added = given[-1] if name == "insert" and given else first
            if isinstance(added, pointers.Address) and added.base is None:
                added = pointers.load(m, added)
            if not given:
                m.serial += 1
                added = Unknown(("uninit", str(m.serial), "an element"))
            m.heap.write(receiver.state, "items", (*items, added))
            return pointers.to_element(receiver, Known(len(items)))
        case "pop_back" | "pop":
            m.heap.write(receiver.state, "items", items[:-1])
            return NONE
        case "pop_front":
            m.heap.write(receiver.state, "items", items[1:])
            return NONE
        case "clear":
            m.heap.write(receiver.state, "items", ())
            m.heap.write(receiver.state, "open", False)
            return NONE
        case "resize" | "assign":
            if isinstance(first, Known) and isinstance(first.value, int) and 0 <= first.value <= 16:
                fill = [Unknown(("uninit", f"{m.serial}.{i}", "an element")) for i in range(first.value)]
                m.serial += 1
                m.heap.write(receiver.state, "items", tuple([*items, *fill][: first.value]))
            else:
                m.heap.write(receiver.state, "open", True)
            return NONE
        case "size" | "length":
            exact = _is_whole(receiver)
            return Known(len(items)) if exact and receiver.kind == "list" else Unknown(("size", id(receiver)))
        case "empty":
            exact = _is_whole(receiver)
            return Known(not items) if exact else m.fresh("empty")
        case "back":
            if items and not receiver.state.get("open"):
                return items[-1]
            return m.fresh("element")
        case "front":
            return pointers.element(m, receiver, Known(0), span)
        case "at":
            return pointers.element(m, receiver, first, span)
        case "wait":
            from kexec_lint.opencl.interpreter import commands

            commands.wait_for(m, receiver, span)
            return NONE
        case "swap" if given and isinstance(pointers.target(given[0]), Object):
            m.heap.write(receiver.state, "open", True)
            return NONE
    if name in ITERATORS:
        return pointers.to_element(receiver, Known(0)) if name not in ("end", "cend") else m.fresh("end")
    return m.fresh(name)


def address_of_element(value: AbstractValue, name: str, arguments: Arguments) -> AbstractValue | None:
    """Return what `&vector.back()` and its kin point to, None for other calls."""
    if not (isinstance(value, Object) and value.kind in ("list", "dict")):
        return None
    if name == "back" and value.items():
        return pointers.to_element(value, Known(len(value.items()) - 1))
    if name == "front":
        return pointers.to_element(value, Known(0))
    if name == "at" and arguments.positional:
        return pointers.to_element(value, arguments.positional[0])
    return None
