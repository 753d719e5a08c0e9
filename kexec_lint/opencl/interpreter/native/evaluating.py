"""Values of C and C++ that Python has not: addresses, casts, commas, names by scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kexec_lint.opencl import program as p
from kexec_lint.opencl.api import c as api
from kexec_lint.opencl.interpreter import expressions
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.native import calling, pointers, scopes
from kexec_lint.opencl.interpreter.values import NONE, AbstractValue, Known, Object, Unknown


def name(m: Machine, node: p.Name) -> AbstractValue:
    """Return the value of a name."""
    found = scopes.find(m, node.id, node.span)
    if found is not None:
        return found
    if node.id in api.CONSTANTS:
        return Known(api.CONSTANTS[node.id])
    if node.id in ("cl::NullRange", "NullRange"):
        return Object("ranges", {"items": (), "null": True})
    if "::" not in node.id:
        return Unknown(("name", m.frames[-1].scope.path, node.id))
    if node.id.startswith("cl::QueueProperties::"):
        last = node.id.rpartition("::")[2]
        return Known(frozenset({{"OutOfOrder": "OUT_OF_ORDER_EXEC_MODE_ENABLE"}.get(last, "PROFILING_ENABLE")}))
    if node.id.startswith("boost::compute::command_queue::") or node.id.startswith("compute::command_queue::"):
        flags = {"enable_out_of_order_execution": "OUT_OF_ORDER_EXEC_MODE_ENABLE"}
        return Known(frozenset({flags.get(node.id.rpartition("::")[2], "PROFILING_ENABLE")}))
    return Unknown(("name", m.frames[-1].scope.path, node.id))


def operation(m: Machine, node: p.Operation) -> AbstractValue:
    """Evaluate an operator in C or C++."""
    op, parts = node.op, node.operands
    match op:
        case "address":
            return calling.address(m, parts[0])
        case "deref":
            return pointers.deref(m, expressions.evaluate(m, parts[0]), node.span)
        case "cast":
            value = expressions.evaluate(m, parts[-1])
            kind = parts[0].value if len(parts) > 1 and isinstance(parts[0], p.Const) else ""
            return scopes.allocated(m, kind, value) if isinstance(kind, str) else value
        case "comma":
            return [expressions.evaluate(m, part) for part in parts][-1]
        case "checked":
            return _checked(m, parts)
        case "new":
            return expressions.evaluate(m, parts[0])
        case "post+" | "post-":
            from kexec_lint.opencl.interpreter.statements import assign

            old = pointers.value_of(m, expressions.evaluate(m, parts[0]), node.span)
            changed = pointers.offset(m, op[-1], old, Known(1), node.span)
            if changed is None:
                changed = expressions.binary(m, op[-1], old, Known(1), node.span)
            assign(m, parts[0], changed, node.span)
            return old
        case "and" | "or":
            return expressions.operation(m, op, parts, node)
    values = [pointers.value_of(m, expressions.evaluate(m, part), node.span) for part in parts]
    if op == "not":
        return expressions.negate(m, _truthy(values[0]))
    if len(values) == 1:
        value = values[0]
        return expressions.unary(m, op, value)
    if op in ("+", "-"):
        moved = pointers.offset(m, op, values[0], values[1], node.span)
        if moved is not None:
            return moved
    left, right = (_truthy(value) if op in ("==", "!=") else value for value in values)
    if op in ("==", "!=") and Known(0) in (left, right) and NONE in (left, right):
        return Known(op == "==")
    if isinstance(left, Object) and left.kind in ("host", "map", "list", "dict"):
        left = Unknown(("object", id(left)))
    if isinstance(right, Object) and right.kind in ("host", "map", "list", "dict"):
        right = Unknown(("object", id(right)))
    numbers = [v.value for v in (left, right) if isinstance(v, Known) and isinstance(v.value, int)]
    if op == "/" and len(numbers) == 2:
        return Known(int(numbers[0] / numbers[1])) if numbers[1] else m.fresh("/")
    if op in ("==", "!=") and any(isinstance(v, pointers.Address) for v in (left, right)):
        if NONE in (left, right) or Known(0) in (left, right):
            return Known(op == "!=")
        return m.fresh("comparison")
    return arithmetic(m, op, left, right, node.span)


def arithmetic(m: Machine, op: str, left: AbstractValue, right: AbstractValue, span: p.Span) -> AbstractValue:
    """Return `left op right`; what is added to 0 stays the same value, so that it is known again."""
    if op == "+" and left == Known(0) and isinstance(right, Unknown):
        return right
    return expressions.binary(m, op, left, right, span)


def _truthy(value: AbstractValue) -> AbstractValue:
    return NONE if value == NONE else value


def _checked(m: Machine, parts: tuple[p.Value, ...]) -> AbstractValue:
    """The arguments of a checking macro are evaluated; its value is that of the call that it checks."""
    result: AbstractValue = m.fresh("checked")
    for part in parts:
        value = expressions.evaluate(m, part)
        if isinstance(part, p.Call | p.Bind):
            result = value
    return result


def _attribute(m: Machine, node: p.Attr) -> AbstractValue:
    return pointers.member(m, expressions.evaluate(m, node.base), node.name, node.span)


def _item(m: Machine, node: p.Item) -> AbstractValue:
    base = expressions.evaluate(m, node.base)
    return pointers.element(m, base, expressions.evaluate(m, node.index), node.span)


EVALUATORS: dict[type[p.Value], Callable[[Machine, Any], AbstractValue]] = {
    **expressions.EVALUATORS,
    p.Name: name,
    p.Operation: operation,
    p.Attr: _attribute,
    p.Item: _item,
    p.Call: calling.call,
}
"""What evaluates each kind of value."""
