"""OCL317: queue properties that are asked for in a way that has no effect."""

from __future__ import annotations

from kexec_lint.opencl import program as p
from kexec_lint.opencl.api import pyopencl as api
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import NONE, AbstractValue, Known, Object, TupleValue, options

PROPERTIES = frozenset({api.OUT_OF_ORDER, api.PROFILING, api.ON_DEVICE, "ON_DEVICE_DEFAULT"})
"""Names of `command_queue_properties`."""

FIX = "write cl.CommandQueue(context, properties=cl.command_queue_properties.A | cl.command_queue_properties.B)"


def examine(m: Machine, span: p.Span, device: AbstractValue, properties: AbstractValue) -> None:
    """Remark on the arguments of `CommandQueue(context, device, properties)`."""
    for _, option in options(device):
        if _flags(option) & PROPERTIES:
            m.remark("OCL317", span, "The properties stand in the place of the device, so the queue has none", FIX)
    for _, option in options(properties):
        if option == Known(frozenset()):
            m.remark("OCL317", span, "Properties joined with & leave none: the queue is in-order, not profiled", FIX)
        elif isinstance(option, TupleValue) or (isinstance(option, Object) and option.kind == "list"):
            items = option.items if isinstance(option, TupleValue) else option.items()
            if any(_flags(key) & PROPERTIES for key in items[::2]):
                m.remark(
                    "OCL317",
                    span,
                    "A list of properties holds pairs of key and value; here flags stand where a key must",
                    "write [cl.queue_properties.PROPERTIES, flags], or properties=flags without a list",
                )


def examine_choice(m: Machine, op: str, node: p.Value, left: AbstractValue, right: AbstractValue) -> None:
    """Remark on `A or B`, `A and B` of two property constants, of which only one remains."""
    constants = isinstance(node, p.Operation) and all(isinstance(n, p.Attr) for n in node.operands)
    if constants and _flags(left) & PROPERTIES and _flags(right) & PROPERTIES:
        kept = left if op == "or" else right
        m.remark("OCL317", node.span, f"`{op}` keeps {_words(kept)} alone: flags are joined with |", FIX)


def examine_assignment(m: Machine, owner: AbstractValue, name: str, value: AbstractValue, span: p.Span) -> None:
    """Remark on `queue.properties = …`: a queue keeps those that it was made with."""
    if name == "properties" and isinstance(owner, Object) and owner.kind == "queue" and value != NONE:
        m.remark("OCL317", span, "The properties of a queue cannot be changed after it was made", FIX)


def _flags(value: AbstractValue) -> frozenset[str]:
    return value.value if isinstance(value, Known) and isinstance(value.value, frozenset) else frozenset()


def _words(value: AbstractValue) -> str:
    return ", ".join(sorted(_flags(value)))
