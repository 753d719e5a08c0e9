"""Python statements to those of the host program: one small function for each node type of `ast`.

A function's body is lowered when it is first looked at: what the analysis never enters costs nothing, and no guess
about what it may need can be wrong.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from kexec_lint.opencl.frontend import TOO_DEEP, SyntaxProblem
from kexec_lint.opencl.frontend.match import lower_match
from kexec_lint.opencl.frontend.values import OPERATORS, Text, maybe, params, value, values
from kexec_lint.opencl.program import (
    Assign,
    AugAssign,
    Class,
    Delete,
    Evaluate,
    Function,
    If,
    Import,
    Jump,
    Loop,
    Operation,
    Raise,
    Return,
    Scope,
    Statement,
    Try,
    With,
)


def block(text: Text, nodes: Sequence[ast.stmt]) -> tuple[Statement, ...]:
    """Lower statements in order; what does nothing (pass, docstrings, type aliases) leaves no trace."""
    body: list[Statement] = []
    for node in nodes:
        lowered = _LOWER[type(node)](text, node)
        if isinstance(lowered, Statement):
            body.append(lowered)
        else:
            body.extend(lowered)
    return tuple(body)


class _LazyFunction(Function):
    """A function whose body is lowered when it is first looked at."""

    _text: Text
    _node: ast.FunctionDef | ast.AsyncFunctionDef

    @cached_property
    def body(self) -> tuple[Statement, ...]:
        try:
            return block(self._text, self._node.body)
        except RecursionError:
            raise SyntaxProblem(self._node.lineno, TOO_DEEP) from None

    @cached_property
    def is_generator(self) -> bool:
        return _yields(self._node.body)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the plain function, which needs no syntax tree."""
        fields = (self.span, self.name, self.params, self.body, self.decorators, self.is_async, self.is_generator)
        return Function, fields


def _yields(nodes: Iterable[ast.AST]) -> bool:
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))
    return False


def _function(text: Text, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Statement:
    function = object.__new__(_LazyFunction)
    function.__dict__.update(
        span=text.span(node),
        name=node.name,
        params=params(text, node.args),
        decorators=values(text, node.decorator_list),
        is_async=isinstance(node, ast.AsyncFunctionDef),
        _text=text,
        _node=node,
    )
    return function


def _class(text: Text, node: ast.ClassDef) -> Statement:
    decorators = values(text, node.decorator_list)
    return Class(text.span(node), node.name, values(text, node.bases), block(text, node.body), decorators)


def _nothing(text: Text, node: ast.stmt) -> tuple[Statement, ...]:
    return ()


def _expression(text: Text, node: ast.Expr) -> Statement | tuple[Statement, ...]:
    return () if isinstance(node.value, ast.Constant) else Evaluate(text.span(node), value(text, node.value))


def _assign(text: Text, node: ast.Assign) -> Statement:
    return Assign(text.span(node), values(text, node.targets), value(text, node.value))


def _annotated(text: Text, node: ast.AnnAssign) -> Statement:
    target, written = value(text, node.target), text.written(node.annotation)
    return Assign(text.span(node), (target,), maybe(text, node.value), written)


def _augmented(text: Text, node: ast.AugAssign) -> Statement:
    target = value(text, node.target)
    return AugAssign(text.span(node), target, OPERATORS[type(node.op)], value(text, node.value))


def _return(text: Text, node: ast.Return) -> Statement:
    return Return(text.span(node), maybe(text, node.value))


def _raise(text: Text, node: ast.Raise) -> Statement:
    return Raise(text.span(node), maybe(text, node.exc))


def _assert(text: Text, node: ast.Assert) -> Statement:
    span = text.span(node)
    fails = Operation(text.span(node.test), "not", (value(text, node.test),))
    return If(span, fails, (Raise(span, maybe(text, node.msg)),), ())


def _break(text: Text, node: ast.Break) -> Statement:
    return Jump(text.span(node), "break")


def _continue(text: Text, node: ast.Continue) -> Statement:
    return Jump(text.span(node), "continue")


def _if(text: Text, node: ast.If) -> Statement:
    chain = [node]  # hundreds of elif are no deeper here than one
    while len(chain[-1].orelse) == 1 and isinstance(chain[-1].orelse[0], ast.If):
        chain.append(chain[-1].orelse[0])
    orelse = block(text, chain[-1].orelse)
    for link in reversed(chain[1:]):
        orelse = (If(text.span(link), value(text, link.test), block(text, link.body), orelse),)
    return If(text.span(node), value(text, node.test), block(text, node.body), orelse)


def _for(text: Text, node: ast.For | ast.AsyncFor) -> Statement:
    target, source = value(text, node.target), value(text, node.iter)
    return Loop(text.span(node), target, source, None, block(text, node.body), block(text, node.orelse))


def _while(text: Text, node: ast.While) -> Statement:
    test = value(text, node.test)
    return Loop(text.span(node), None, None, test, block(text, node.body), block(text, node.orelse))


def _with(text: Text, node: ast.With | ast.AsyncWith) -> Statement:
    items = tuple([(value(text, one.context_expr), maybe(text, one.optional_vars)) for one in node.items])
    return With(text.span(node), items, block(text, node.body))


def _try(text: Text, node: Any) -> Statement:
    body = block(text, node.body)
    handlers = tuple([(maybe(text, one.type), one.name, block(text, one.body)) for one in node.handlers])
    return Try(text.span(node), body, handlers, block(text, node.orelse), block(text, node.finalbody))


def _match(text: Text, node: ast.Match) -> list[Statement]:
    return lower_match(text, node, block)


def _delete(text: Text, node: ast.Delete) -> Statement:
    return Delete(text.span(node), values(text, node.targets))


def _global(text: Text, node: ast.Global) -> Statement:
    return Scope(text.span(node), "global", tuple(node.names))


def _nonlocal(text: Text, node: ast.Nonlocal) -> Statement:
    return Scope(text.span(node), "nonlocal", tuple(node.names))


def _import(text: Text, node: ast.Import) -> list[Statement]:
    return [Import(text.span(alias), alias.name, (("", alias.asname),)) for alias in node.names]


def _import_from(text: Text, node: ast.ImportFrom) -> Statement:
    names = tuple([(alias.name, alias.asname) for alias in node.names])
    return Import(text.span(node), node.module or "", names, node.level)


_LOWER: dict[type[ast.stmt], Callable[[Text, Any], Statement | Sequence[Statement]]] = {
    ast.AnnAssign: _annotated,
    ast.Assert: _assert,
    ast.Assign: _assign,
    ast.AsyncFor: _for,
    ast.AsyncFunctionDef: _function,
    ast.AsyncWith: _with,
    ast.AugAssign: _augmented,
    ast.Break: _break,
    ast.ClassDef: _class,
    ast.Continue: _continue,
    ast.Delete: _delete,
    ast.Expr: _expression,
    ast.For: _for,
    ast.FunctionDef: _function,
    ast.Global: _global,
    ast.If: _if,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Match: _match,
    ast.Nonlocal: _nonlocal,
    ast.Pass: _nothing,
    ast.Raise: _raise,
    ast.Return: _return,
    ast.Try: _try,
    ast.While: _while,
    ast.With: _with,
}
if sys.version_info >= (3, 11):
    _LOWER[ast.TryStar] = _try
if sys.version_info >= (3, 12):
    _LOWER[ast.TypeAlias] = _nothing
