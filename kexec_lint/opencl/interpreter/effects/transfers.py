"""Transfers, fills, markers and barriers: commands whose operands a row names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.interpreter import (
    commands,
    expressions,
)
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

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.calls import Arguments


Bound = dict[str, AbstractValue]


def blocking_of(m: Machine, row: CallModel, bound: Bound) -> bool | None:
    """Return whether a call blocks: its flag, or the default of the row."""
    if row.blocking is None:
        return False
    flag = bound.get(row.blocking)
    return row.blocking_default if flag is None else expressions.truth(m, flag)


def command(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    bound = arguments.bind(row.params)
    operands: list[g.Access] = []
    for name in row.operands:
        value = bound.get(name)
        if value is None:
            continue
        on_host = name in ("hostbuf",)
        operands.extend(
            commands.accesses(
                m,
                value,
                name,
                name in row.reads,
                name in row.writes,
                kind="host" if on_host else "buffer",
                **extent(m, bound, name),
            )
        )
    waits = bound.get(row.wait)
    if arguments.open_keywords and waits is None:
        waits = Unknown(("param", 0, "kwargs"))
    return commands.enqueue(
        m,
        span,
        row.kind,
        bound.get(row.queue, NONE),
        waits,
        operands,
        blocking_of(m, row, bound),
        row.returns,
        what=row.kind,
    )


OFFSETS = {
    "dest": ("dest_offset", "dst_offset", "device_offset", "dest_origin", "dst_origin", "buffer_origin", "origin"),
    "dst": ("dst_offset", "dst_origin"),
    "src": ("src_offset", "device_offset", "src_origin", "buffer_origin", "origin"),
    "mem": ("device_offset", "offset", "buffer_origin", "origin"),
    "hostbuf": ("host_origin",),
}
"""Parameters that say where in an operand a transfer starts."""

SIZES = ("byte_count", "size", "region")


def extent(m: Machine, bound: Bound, operand: str) -> dict[str, Any]:
    """Return the byte range of an operand, or that only a part of it is used."""
    offset = next((bound[name] for name in OFFSETS.get(operand, ()) if name in bound), None)
    size = next((bound[name] for name in SIZES if name in bound), None)
    if offset is None and size is None:
        return {}
    start = 0 if offset is None or _is_origin(offset) else commands.byte_count(m, offset)
    length = None if size is None else commands.byte_count(m, size)
    if start is not None and length is not None:
        return {"range": (start, start + length)}
    if offset is None or start == 0:
        return {}
    return {"partial": True}


def _is_origin(offset: AbstractValue) -> bool:
    return isinstance(offset, TupleValue) and all(item == Known(0) for item in offset.items)


def copy(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    """`enqueue_copy`: the sides decide the kind; only a transfer with a host side can block."""
    bound = arguments.bind(row.params)
    dest, src = bound.get("dest", NONE), bound.get("src", NONE)
    sides = _side(m, dest), _side(m, src)
    if sides[0] is None and sides[1] is None:
        if "is_blocking" in bound or "device_offset" in bound:
            sides = ("either", "either")
    elif sides[0] is None:
        sides = ("device" if sides[1] == "host" else "either" if "is_blocking" in bound else None, sides[1])
        if sides[0] == "either":
            sides = ("host", sides[1])
    elif sides[1] is None:
        sides = (sides[0], "device" if sides[0] == "host" else "host" if "is_blocking" in bound else None)
    kind = {("host", "device"): "read", ("device", "host"): "write"}.get((sides[0] or "", sides[1] or ""), "copy")
    svm = any(_is_svm(side) for side in (dest, src))
    if kind == "copy" and sides == ("device", "device") and not svm:
        blocking: bool | None = False
        returns = "event"
    elif kind == "copy" and not svm:
        flag = bound.get("is_blocking")
        blocking = None if flag is None else expressions.truth(m, flag)
        returns = "nanny"
    else:
        blocking = blocking_of(m, row, bound)
        returns = "event" if svm else "nanny"
    operands = [
        *commands.accesses(
            m, src, "src", True, False, kind="host" if sides[1] == "host" else "buffer", **extent(m, bound, "src")
        ),
        *commands.accesses(
            m,
            dest,
            "dest",
            False,
            True,
            kind="host" if sides[0] == "host" else "buffer",
            **extent(m, bound, "dest"),
        ),
    ]
    event = commands.enqueue(
        m,
        span,
        kind,
        bound.get("queue", NONE),
        bound.get("wait_for"),
        operands,
        blocking,
        returns,
        what="svm copy" if svm else kind,
    )
    if svm and blocking is False and not m.scratch:
        m.pinned.extend((side, event.model.command) for side in (dest, src) if _plain_host_array(side))
    return event


def _plain_host_array(value: AbstractValue) -> TypeGuard[Object]:
    return isinstance(value, Object) and value.kind == "host" and value.model.kind == "host"


def _is_svm(value: AbstractValue) -> bool:
    return isinstance(value, Object) and isinstance(value.model, g.Memory) and value.model.kind.startswith("svm")


def _side(m: Machine, value: AbstractValue) -> str | None:
    """Return "host" or "device" for an operand of a copy, None if that cannot be told."""
    match value:
        case Phi():
            sides = {_side(m, option) for _, option in value.options if option != NONE}
            return sides.pop() if len(sides) == 1 else None
        case Object(kind="memory" | "array"):
            return "device"
        case Object(kind="host"):
            return "device" if _is_svm(value) and value.state.get("as_svm") else "host"
        case Object(kind="map" | "scalar"):
            return "host"
        case Unknown():
            owner = commands.canonical(value)
            if owner in m.unknown_memory:
                return "host" if m.unknown_memory[owner].kind == "host" else "device"
            if owner is not value:
                return "device"
    return None
