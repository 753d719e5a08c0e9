"""The text at a node's span, parsed again, is the node."""

from __future__ import annotations

import ast
import dataclasses
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rendering import block, module, value

from kexec_lint.opencl.frontend.positions import cut, split_rows
from kexec_lint.opencl.program import (
    Call,
    Class,
    Format,
    Function,
    If,
    Import,
    Lambda,
    Opaque,
    Operation,
    Slice,
    Span,
    Star,
    Statement,
    Value,
)


def nodes(node: Any) -> Iterator[Value | Statement]:
    """Yield every node that has a text of its own: what lowering adds carries the span of what it comes from."""
    if isinstance(node, If) and isinstance(node.test, Operation) and _is_assert(node.test):
        yield from nodes((node.test.operands, node.then[0].value))  # type: ignore[attr-defined]
        return
    if isinstance(node, Call) and node.span == node.func.span:  # the isinstance of a pattern
        return
    if isinstance(node, Value | Statement) and not (isinstance(node, Value) and _is_pattern(node)):
        yield node
    if isinstance(node, tuple) and not isinstance(node, Span):
        for part in node:
            yield from nodes(part)
    elif isinstance(node, Lambda):
        yield from nodes((node.params, node.body[0].value))  # type: ignore[attr-defined]
    elif isinstance(node, Operation):  # the links of a chained comparison
        yield from nodes(tuple(part for part in node.operands if part.span != node.span))
    elif isinstance(node, Format) or (isinstance(node, Opaque) and node.kind == "match"):
        return
    elif dataclasses.is_dataclass(node):
        for one in dataclasses.fields(node):
            yield from nodes(getattr(node, one.name))


def _is_assert(test: Operation) -> bool:
    return test.op == "not" and test.span == test.operands[0].span


def _is_pattern(node: Value) -> bool:
    """Return whether a value is what `case` compares: its text is a pattern, which is no expression."""
    if not isinstance(node, Operation):
        return "match " in value(node)
    if node.op == "or":
        return any(_is_pattern(part) for part in node.operands)
    return any(part.span == node.span for part in node.operands) or "match " in value(node)


def again(text: str) -> str:
    """Lower the text of an expression and render it."""
    try:
        (statement,) = module(f"_v = (\n{text}\n)").body
    except ValueError:
        (statement,) = module(f"_v = _i[\n{text}\n]").body  # what only stands between brackets: slices
        return value(statement.value.index)  # type: ignore[attr-defined]
    return value(statement.value)  # type: ignore[attr-defined]


def check(text: str) -> int:
    """Check all spans of a text, return how many."""
    rows = split_rows(text)
    count = 0
    for node in nodes(module(text).body):
        count += 1
        written = cut(rows, node.span)
        if isinstance(node, Slice):
            assert again(written) == value(node), (node.span, written)
        elif isinstance(node, Star):
            assert again(written.removeprefix("*")) == value(node.value), (node.span, written)
        elif isinstance(node, Value):
            assert again(written) == value(node), (node.span, written)
        elif not isinstance(node, Import):
            check_statement(rows, node, written)
    return count


def check_statement(rows: list[str], node: Statement, written: str) -> None:
    """Check that the text of a statement is that statement again."""
    indent = rows[node.span.row - 1][: node.span.column - 1]
    if indent.strip() or not indent.strip("\f"):
        indent = ""  # it stands behind a colon or a semicolon, or a form feed
    if written.startswith("elif"):
        written = "if" + written[4:]
    if isinstance(node, Function | Class):
        node = dataclasses.replace(node, decorators=())
    source = ("if 1:\n" if indent else "") + indent + written + "\n"
    (statement,) = module(source).body
    if indent:
        (statement,) = statement.then  # type: ignore[attr-defined]
    assert block((statement,)) == block((node,)), (node.span, written)


SOURCES = [
    "x = f(a.b[1:2, ...], *c, k=[d for d in e if g], **h)\n",
    "é = 'ü' + x['ß'] ; 名 = é.f('🙂', y)  # 🙂\nz = '🙂', é\n",
    "x = ('a'\n  'b' \"c\"\n 'ü') + y\n",
    "if a:\n    if b: c(\n  1)\n    elif d: e\n    else:\n        f\n",
    "class A:\n  @property\n  def f(self, a=(1, 2), *, b: 'ü'=3):\n    with x as y, z: return lambda q: q\n",
    "try: a()\nexcept (B, C) as d: e\nfinally:\n  f = yield_\n",
    "a = b if c < d <= e else not f\n",
    "x = f(y for y in z)\nw = (yield_, (n := 3), -1, - 2)\n",
    "for i, (j, *k) in x.y: i += j @ k; del i, j\nwhile not z: break\n",
    "async def f():\n  async with a as b: await c(d)\n  async for e in g: assert e, 'm'\n",
    "x = a \\\n  .b \\\n  (c)\n",
    "if 1:\n\tx = y\n\tz(w)\n",
    "\x0cx = 1\nif a:\n\x0c  y = 2\n",
    "x = '''\nü\n''' + f'''\n{a}\nü{b!r:>{c}}''' + z\n",
]


@pytest.mark.parametrize("source", SOURCES)
def test_spans_of_examples(source: str) -> None:
    assert check(source) > 3


def test_spans_of_patterns() -> None:
    assert check_values("match x.y:\n    case 1 | z.w | None: a\n    case q.r: b\n    case _: c(x)\n") > 3


STDLIB = Path(sysconfig.get_path("stdlib"))
FILES = ["argparse.py", "ast.py", "asyncio/tasks.py", "csv.py", "dataclasses.py", "json/encoder.py", "heapq.py"]


@pytest.mark.parametrize("name", FILES)
def test_spans_of_real_files(name: str) -> None:
    text = (STDLIB / name).read_text(encoding="utf-8")
    assert check_values(text) > 500


def check_values(text: str) -> int:
    """Check the spans of all values whose text is short: the long are made of them."""
    rows = split_rows(text)
    count = 0
    for node in nodes(module(text).body):
        if isinstance(node, Value) and not isinstance(node, Star) and node.span.row == node.span.end_row:
            count += 1
            assert again(cut(rows, node.span)) == value(node), node.span
    return count


NAMES = st.sampled_from(["a", "q", "ü", "名", "events"])
ATOMS = st.one_of(
    NAMES,
    st.integers(0, 99).map(str),
    st.sampled_from(["'é'", '"🙂"', "None", "'''\nü\n'''", "b'x'", "'a' 'ß'", "f'ü{a}'"]),
)


TEMPLATES = [
    "({0} + {1}{2})",
    "({0} and {1}{2} or {3})",
    "({0}).ü",
    "q[{0}:{2}, {3}]",
    "名({0},{1} *{2}, ü={3})",
    "[{0},{1}{2}]",
    "({0},)",
    "{{{0}: {2}}}",
    "({0} if {2} else{1}\n {3})",
    "[{0} for é in {2} if {3}]",
    "(lambda é={0}: {2})",
    "(ü := {0})",
    "({0} < {2} is not {3})",
    "(not {0})",
    "(-{0})",
]


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    space = st.sampled_from(["", " ", "\n  "])
    parts = st.tuples(st.sampled_from(TEMPLATES), inner, space, inner, inner)
    return parts.map(lambda filled: filled[0].format(*filled[1:]))


EXPRESSIONS = st.recursive(ATOMS, larger, max_leaves=12)
LINES = st.one_of(
    st.tuples(NAMES, EXPRESSIONS).map(" = ".join),
    EXPRESSIONS,
    EXPRESSIONS.map(lambda text: f"assert {text}"),
    st.tuples(EXPRESSIONS, EXPRESSIONS).map(lambda pair: f"with {pair[0]} as ü: é = {pair[1]}"),
    st.tuples(EXPRESSIONS, EXPRESSIONS).map(lambda pair: f"for ü in {pair[0]}:\n    return {pair[1]}"),
    st.tuples(EXPRESSIONS, EXPRESSIONS).map(lambda pair: f"def f(ü={pair[0]}):\n    yield {pair[1]}"),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=4))
def test_spans_of_random_programs(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    ast.parse(text)  # the strategy writes valid programs
    check(text)


def test_parts_of_f_strings_stand_at_least_at_the_string() -> None:
    (statement,) = module("x = f'ü{abc}'\n").body
    (whole,) = [node for node in nodes(statement) if isinstance(node, Format)]
    (_, name) = whole.parts
    assert whole.span == Span(1, 5, 1, 14)
    assert name.span == (Span(1, 9, 1, 12) if sys.version_info >= (3, 12) else whole.span)
