"""Where the host waits or asks: finish, wait, flush, user events, callbacks, profiling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.interpreter import (
    attributes,
    commands,
    wait_lists,
)
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import (
    NONE,
    AbstractValue,
    FunctionValue,
    Known,
    Object,
)

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.calls import Arguments


Bound = dict[str, AbstractValue]


def finish(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    target = receiver if receiver != NONE else arguments.bind(row.params).get(row.queue, NONE)
    commands.finish(m, target, span)
    return NONE


def flush(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    m.point("flush", span, queue=commands.queue_model(m, receiver))
    return NONE


def wait(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    events = arguments.bind(row.params).get(row.wait, NONE)
    wait_lists.examine(m, events, span)
    commands.wait_for(m, events, span)
    return NONE


def wait_self(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    commands.wait_for(m, m.list_of([receiver]), span)
    return NONE


def opaque(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    commands.everything_may_wait(m, span, "a call")
    return m.fresh("call")


def set_status_call(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    """`UserEvent.set_status`: edge E7 from here to every command that waits for it, earlier ones too."""
    assert isinstance(receiver, Object)
    set_status(m, receiver, arguments.bind(row.params).get("status", NONE), span)
    return NONE


def set_status(m: Machine, receiver: Object, status: AbstractValue, span: p.Span) -> None:
    """The status of a user event is set: what waits for it may go on."""
    event: g.Event = receiver.model
    point = m.point("status", span, events=(event,), what=_status(status))
    for command in m.graph.commands:
        if any(waited is event for waited, _ in command.waits):
            command.after(point, True, "user event")


def _status(value: AbstractValue) -> str:
    """Return "complete", "failed" (negative), "invalid" (an intermediate status) or "unknown"."""
    match value:
        case Known(value=frozenset() as names):
            return "complete" if "COMPLETE" in names else "invalid"
        case Known(value=int() as number):
            return "complete" if number == 0 else "failed" if number < 0 else "invalid"
    return "unknown"


def set_callback(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    receiver.model.escaped = True
    callback = arguments.bind(row.params).get("callback", NONE)
    if isinstance(callback, FunctionValue):
        m.graph.callbacks.append(g.Callback(m.site(span), callback, receiver.model))
    m.graph.threaded = True
    return NONE


def profile(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    assert isinstance(receiver, Object)
    m.point("profile", span, events=(receiver.model,))
    return m.fresh("timestamp")


def poll(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    assert isinstance(receiver, Object)
    param = arguments.bind(row.params).get("param", NONE)
    names = param.value if isinstance(param, Known) and isinstance(param.value, frozenset) else frozenset()
    if m.scratch or "COMMAND_EXECUTION_STATUS" not in names:
        return m.fresh("info")
    return attributes.status(m, receiver, span)
