"""Python expressions to values of the host program: one small function for each node type of `ast`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from typing import Any

from kexec_lint.opencl.frontend.positions import SpanOf, cut, spans_of, split_rows
from kexec_lint.opencl.program import (
    Arg,
    Attr,
    Bind,
    Call,
    Choice,
    Clause,
    Comprehension,
    Const,
    Format,
    Item,
    Lambda,
    Mapping,
    Name,
    Opaque,
    Operation,
    Param,
    Return,
    Seq,
    Slice,
    Span,
    Star,
    Value,
)

OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.And: "and",
    ast.Or: "or",
    ast.Not: "not",
    ast.USub: "neg",
    ast.Invert: "~",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_LONG = 40
"""Operands of a sum from which on it is joined as a balanced tree."""
_CONVERSIONS = {ord("s"): "str", ord("r"): "repr", ord("a"): "ascii"}


class Text:
    """The text whose nodes are lowered: its rows, and the span of each node."""

    rows: list[str]
    span: SpanOf

    def __init__(self, text: str) -> None:
        self.rows = split_rows(text)
        self.span = spans_of(text)

    def written(self, node: ast.expr | None) -> str | None:
        """Return an annotation as its author wrote it."""
        return None if node is None else cut(self.rows, self.span(node))


def value(text: Text, node: ast.expr) -> Value:
    """Lower one expression."""
    return _LOWER[type(node)](text, node)


def maybe(text: Text, node: ast.expr | None) -> Value | None:
    """Lower one expression, if there."""
    return None if node is None else _LOWER[type(node)](text, node)


def values(text: Text, nodes: Sequence[ast.expr]) -> tuple[Value, ...]:
    """Lower expressions in order."""
    return tuple([_LOWER[type(node)](text, node) for node in nodes])


def params(text: Text, node: ast.arguments) -> tuple[Param, ...]:
    """Lower a parameter list in source order."""
    plain = [*node.posonlyargs, *node.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(node.defaults)), *node.defaults]
    found = [_param(text, one, default) for one, default in zip(plain, defaults, strict=True)]
    if node.vararg:
        found.append(_param(text, node.vararg, star=1))
    for one, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
        found.append(_param(text, one, default, keyword_only=True))
    if node.kwarg:
        found.append(_param(text, node.kwarg, star=2))
    return tuple(found)


def _param(
    text: Text, node: ast.arg, default: ast.expr | None = None, star: int = 0, keyword_only: bool = False
) -> Param:
    return Param(node.arg, maybe(text, default), star, text.written(node.annotation), keyword_only)


def _constant(text: Text, node: ast.Constant) -> Value:
    return Const(text.span(node), node.value)


def _name(text: Text, node: ast.Name) -> Value:
    return Name(text.span(node), node.id)


def _attribute(text: Text, node: ast.Attribute) -> Value:
    return Attr(text.span(node), value(text, node.value), node.attr)


def _subscript(text: Text, node: ast.Subscript) -> Value:
    return Item(text.span(node), value(text, node.value), value(text, node.slice))


def _slice(text: Text, node: ast.Slice) -> Value:
    return Slice(text.span(node), maybe(text, node.lower), maybe(text, node.upper), maybe(text, node.step))


def _call(text: Text, node: ast.Call) -> Value:
    func = value(text, node.func)
    args = [
        Arg(value(text, one.value), None, 1) if type(one) is ast.Starred else Arg(value(text, one)) for one in node.args
    ]
    args += [Arg(value(text, one.value), one.arg, 0 if one.arg else 2) for one in node.keywords]
    return Call(text.span(node), func, tuple(args))


def _starred(text: Text, node: ast.Starred) -> Value:
    return Star(text.span(node), value(text, node.value))


def _list(text: Text, node: ast.List) -> Value:
    return Seq(text.span(node), "list", values(text, node.elts))


def _tuple(text: Text, node: ast.Tuple) -> Value:
    return Seq(text.span(node), "tuple", values(text, node.elts))


def _set(text: Text, node: ast.Set) -> Value:
    return Seq(text.span(node), "set", values(text, node.elts))


def _dict(text: Text, node: ast.Dict) -> Value:
    items = zip(node.keys, node.values, strict=True)
    return Mapping(text.span(node), tuple([(maybe(text, key), value(text, one)) for key, one in items]))


def _binary(text: Text, node: ast.BinOp) -> Value:
    links = [node]  # a + b + … leans to the left, in generated sources by hundreds of strings: no recursion
    while isinstance(links[-1].left, ast.BinOp):
        links.append(links[-1].left)
    left = value(text, links[-1].left)
    if len(links) > _LONG and all(isinstance(link.op, ast.Add) for link in links):
        return _balanced(text.span(node), [left, *[value(text, link.right) for link in reversed(links)]])
    for link in reversed(links):
        left = Operation(text.span(link), OPERATORS[type(link.op)], (left, value(text, link.right)))
    return left


def _balanced(span: Span, parts: Sequence[Value]) -> Value:
    """Join the parts of a long sum as a balanced tree, so that who walks it needs no deep recursion either."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return Operation(span, "+", (_balanced(span, parts[:middle]), _balanced(span, parts[middle:])))


def _boolean(text: Text, node: ast.BoolOp) -> Value:
    return Operation(text.span(node), OPERATORS[type(node.op)], values(text, node.values))


def _unary(text: Text, node: ast.UnaryOp) -> Value:
    operand = value(text, node.operand)
    if isinstance(node.op, ast.UAdd):
        return operand
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        number = node.operand.value
        if isinstance(number, int | float | complex) and not isinstance(number, bool):
            return Const(text.span(node), -number)
    return Operation(text.span(node), OPERATORS[type(node.op)], (operand,))


def _compare(text: Text, node: ast.Compare) -> Value:
    span = text.span(node)
    operands = (value(text, node.left), *values(text, node.comparators))
    if len(node.ops) == 1:
        return Operation(span, OPERATORS[type(node.ops[0])], operands)
    pairs = zip(node.ops, operands[:-1], operands[1:], strict=True)
    links = [Operation(span, OPERATORS[type(op)], (left, right)) for op, left, right in pairs]
    return Operation(span, "and", tuple(links))


def _choice(text: Text, node: ast.IfExp) -> Value:
    test = value(text, node.test)
    return Choice(text.span(node), test, value(text, node.body), value(text, node.orelse))


def _format(text: Text, node: ast.JoinedStr) -> Value:
    span, outside = text.span(node), text.span
    if sys.version_info < (
        3,
        12,
    ):  # whose parser gives no right positions inside: there, all stands at the f-string
        text.span = lambda _: span
    try:
        parts = values(text, node.values)
        return Format(span, tuple([part for part in parts if not (isinstance(part, Const) and part.value == "")]))
    finally:
        text.span = outside


def _formatted(text: Text, node: ast.FormattedValue) -> Value:
    """Lower `{value!r:spec}` to `format(repr(value), spec)`, which is what it means."""
    span, inner = text.span(node), value(text, node.value)
    if node.conversion in _CONVERSIONS:
        inner = Call(span, Name(span, _CONVERSIONS[node.conversion]), (Arg(inner),))
    if node.format_spec is not None:
        spec = value(text, node.format_spec)
        if isinstance(spec, Format) and len(spec.parts) == 1 and isinstance(spec.parts[0], Const):
            spec = spec.parts[0]
        inner = Call(span, Name(span, "format"), (Arg(inner), Arg(spec)))
    return inner


def _template(text: Text, node: Any) -> Value:
    return Opaque(text.span(node), "template", values(text, node.values))


def _interpolation(text: Text, node: Any) -> Value:
    return value(text, node.value)


def _comprehension(kind: str) -> Callable[[Text, Any], Value]:
    def lower(text: Text, node: Any) -> Value:
        clauses = tuple(
            [Clause(value(text, one.target), value(text, one.iter), values(text, one.ifs)) for one in node.generators]
        )
        if kind == "dict":
            return Comprehension(text.span(node), kind, value(text, node.value), clauses, value(text, node.key))
        return Comprehension(text.span(node), kind, value(text, node.elt), clauses)

    return lower


def _lambda(text: Text, node: ast.Lambda) -> Value:
    body = value(text, node.body)
    return Lambda(text.span(node), params(text, node.args), (Return(body.span, body),))


def _bind(text: Text, node: ast.NamedExpr) -> Value:
    return Bind(text.span(node), value(text, node.target), value(text, node.value))


def _opaque(kind: str) -> Callable[[Text, Any], Value]:
    def lower(text: Text, node: Any) -> Value:
        return Opaque(text.span(node), kind, () if node.value is None else (value(text, node.value),))

    return lower


_LOWER: dict[type[ast.AST], Callable[[Text, Any], Value]] = {
    ast.Attribute: _attribute,
    ast.Await: _opaque("await"),
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.Constant: _constant,
    ast.Dict: _dict,
    ast.DictComp: _comprehension("dict"),
    ast.FormattedValue: _formatted,
    ast.GeneratorExp: _comprehension("generator"),
    ast.IfExp: _choice,
    ast.JoinedStr: _format,
    ast.Lambda: _lambda,
    ast.List: _list,
    ast.ListComp: _comprehension("list"),
    ast.Name: _name,
    ast.NamedExpr: _bind,
    ast.Set: _set,
    ast.SetComp: _comprehension("set"),
    ast.Slice: _slice,
    ast.Starred: _starred,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.UnaryOp: _unary,
    ast.Yield: _opaque("yield"),
    ast.YieldFrom: _opaque("yield from"),
}
if sys.version_info >= (3, 14):
    _LOWER |= {ast.TemplateStr: _template, ast.Interpolation: _interpolation}
