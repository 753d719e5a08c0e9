"""Small questions about statements and expressions: what ends a block, what an index or a condition is made of."""

from __future__ import annotations

import ast


def basic_index(node: ast.expr) -> bool:
    """Whether indexing with it gives a view: integers, slices, None and `...`."""
    if isinstance(node, ast.Tuple):
        return all(basic_index(e) for e in node.elts)
    if isinstance(node, ast.UnaryOp):
        return basic_index(node.operand)
    return isinstance(node, ast.Slice) or (
        isinstance(node, ast.Constant) and (node.value is None or node.value is ... or type(node.value) is int)
    )


def operands(node: ast.expr) -> list[ast.expr]:
    """Return the parts of a condition joined by and, or, not."""
    if isinstance(node, ast.BoolOp):
        return [part for value in node.values for part in operands(value)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return operands(node.operand)
    return [node]


def ends(body: list[ast.stmt]) -> bool:
    """Whether control never runs off the end of these statements."""
    for statement in reversed(body):
        if isinstance(statement, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
            return True
        if isinstance(statement, ast.If):
            return bool(statement.orelse) and ends(statement.body) and ends(statement.orelse)
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            return ends(statement.body)
        if isinstance(statement, ast.Try):
            if ends(statement.finalbody):
                return True
            handlers = all(ends(h.body) for h in statement.handlers)
            return (ends(statement.body) or ends(statement.orelse)) and handlers
        if isinstance(statement, ast.While):
            endless = isinstance(statement.test, ast.Constant) and bool(statement.test.value)
            return endless and not any(isinstance(n, ast.Break) for n in ast.walk(statement))
        if isinstance(statement, ast.Match):
            wild = any(
                isinstance(c.pattern, ast.MatchAs) and c.pattern.pattern is None and c.guard is None
                for c in statement.cases
            )
            return wild and all(ends(c.body) for c in statement.cases)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            return ast.unparse(statement.value.func) in ("sys.exit", "os._exit", "pytest.fail", "pytest.skip")
        if isinstance(statement, ast.Assert):
            return isinstance(statement.test, ast.Constant) and not statement.test.value
        return False
    return False


def is_stub(body: list[ast.stmt]) -> bool:
    """Whether a body is only `...` after an optional docstring: a declaration whose kernels stand elsewhere."""
    last = body[-1]
    only = all(isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) for s in body)
    return only and isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant) and last.value.value is ...
