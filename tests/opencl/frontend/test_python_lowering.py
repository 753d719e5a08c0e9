"""Each construct of Python 3.10 to 3.14, and what the host program makes of it."""

from __future__ import annotations

import pickle
import sys

import pytest
from rendering import lines, module

from kexec_lint.opencl.frontend import SyntaxProblem
from kexec_lint.opencl.program import Function, Statement

VALUES = [
    ("1, -1, 1.5, 'a' \"b\", b'x', None, True, ...", "tuple<1, -1, 1.5, 'ab', b'x', None, True, Ellipsis>"),
    ("-x, +x, ~x, not x", "tuple<<neg x>, x, <~ x>, <not x>>"),
    ("a.b[0][1:2, ::n][...]", "a.b[0][tuple<<1:2:->, <-:-:n>>][Ellipsis]"),
    ("f(a, *b, k=c, **d)(x)", "f(a, *b, k=c, **d)(x)"),
    ("f(k=1, *b)", "f(*b, k=1)"),
    ("[a, *b], (a,), {a, b}, {}, ()", "tuple<list<a, *b>, tuple<a>, set<a, b>, dict<>, tuple<>>"),
    ("{1: a, **b}", "dict<1: a, -: b>"),
    ("a + b - c * d // e ** f @ g", "<- <+ a b> <@ <// <* c d> <** e f>> g>>"),
    ("a | b & c ^ d << 1 >> 2", "<| a <^ <& b c> <>> <<< d 1> 2>>>"),
    ("a / b % c", "<% </ a b> c>"),
    ("a and b and c or not d", "<or <and a b c> <not d>>"),
    ("a < b", "<< a b>"),
    ("a < b <= c != d", "<and << a b> <<= b c> <!= c d>>"),
    ("a is b is not c in d not in e", "<and <is a b> <is not b c> <in c d> <not in d e>>"),
    ("a if b else c", "<b ? a : c>"),
    ("'%s' % (a, b)", "<% '%s' tuple<a, b>>"),
    (
        "f'a{b}c{d!r}{e:>{w}}{f:d}' 'g'",
        "format<'a', b, 'c', repr(d), format(e, format<'>', w>), format(f, 'd'), 'g'>",
    ),
    ("f'{a!s:x}{b=}'", "format<format(str(a), 'x'), 'b=', repr(b)>"),
    ("'a' f'b'", "format<'ab'>"),
    ("[x for x in y if a if b for z in x]", "list<x for x in y if a if b for z in x>"),
    ("{x for x in y}, {k: v for k, v in y}", "tuple<set<x for x in y>, dict<k: v for tuple<k, v> in y>>"),
    ("f(x async for x in y)", "f(generator<x for x in y>)"),
    ("lambda a, *b, c=1, **d: a", "lambda<a, *b, kw c=1, **d: return a>"),
    ("f((n := g()))", "f(<n := g()>)"),
    ("(yield), (yield a), (yield from b), await c", "tuple<?yield<>, ?yield<a>, ?yield from<b>, ?await<c>>"),
]


@pytest.mark.parametrize(("source", "expected"), VALUES)
def test_values(source: str, expected: str) -> None:
    assert lines(f"v = {source}\n") == [f"v = {expected}"]


STATEMENTS = [
    ("a = b = c", ["a = b = c"]),
    ("a, *b = c", ["tuple<a, *b> = c"]),
    ("a: int = 1; b: 'list[int]'", ["a = 1 : int", "b = - : 'list[int]'"]),
    ("x.y += 1; a[0] @= b", ["x.y += 1", "a[0] @= b"]),
    ("'docstring'\npass\n...\nf()", ["f()"]),
    ("assert a, b", ["if <not a>", "  raise b"]),
    ("assert a", ["if <not a>", "  raise -"]),
    ("raise\nraise A from b", ["raise -", "raise A"]),
    ("del a, b[0], (c, d)", ["del a, b[0], tuple<c, d>"]),
    ("if a: x\nelif b: y\nelse: z", ["if a", "  x", "else", "  if b", "    y", "  else", "    z"]),
    ("for a, b in c: break\nelse: d", ["for tuple<a, b> in c", "  break", "else", "  d"]),
    ("while a: continue\nelse: d", ["while a", "  continue", "else", "  d"]),
    ("with a as b, c: d", ["with a as b, c", "  d"]),
    ("with (a as b, c as (d, e)): f", ["with a as b, c as tuple<d, e>", "  f"]),
    (
        "try: a\nexcept (A, B) as e: b\nexcept: c\nelse: d\nfinally: f",
        ["try", "  a", "except tuple<A, B> as e", "  b", "except - as -", "  c", "else", "  d", "finally", "  f"],
    ),
    ("try: a\nexcept* A: b", ["try", "  a", "except A as -", "  b"]),
    ("import a.b, c as d", ["import a.b: - as -", "import c: - as d"]),
    ("from .. import a as b", ["import ..: a as b"]),
    ("from .a.b import *", ["import .a.b: * as -"]),
    ("from a import (b,\n c as d)", ["import a: b as -, c as d"]),
    ("@d(1)\n@e\nclass A(B, metaclass=M): x = 1", ["@d(1)", "@e", "class A(B)", "  x = 1"]),
    (
        "@d\nasync def f(a, /, b=1, *, c: int = 2): return a",
        ["@d", "async def f(a, b=1, kw c: int=2)", "  return a"],
    ),
    ("def f(*a: int, **k): yield", ["generator def f(*a: int, **k)", "  ?yield<>"]),
    ("def f():\n global a, b\n nonlocal c", ["def f()", "  global a, b", "  nonlocal c"]),
    ("type A[T] = list[T]\nx = 1", ["x = 1"]),
    ("def f[T: (int, str), *Ts, **P](a: T) -> T: return a", ["def f(a: T)", "  return a"]),
    ("class A[T = int](B): x = 1", ["class A(B)", "  x = 1"]),
]


@pytest.mark.parametrize(("source", "expected"), STATEMENTS)
def test_statements(source: str, expected: list[str]) -> None:
    assert lines(source) == expected


def test_inner_generators_do_not_make_the_outer_function_one() -> None:
    source = "def f():\n def g(): yield\n return lambda: (yield)\n"
    assert lines(source) == [
        "def f()",
        "  generator def g()",
        "    ?yield<>",
        "  return lambda<: return ?yield<>>",
    ]


def test_async_statements_lower_like_their_plain_forms() -> None:
    source = "async def f():\n async for a in b: c\n async with d as e: g\n"
    assert lines(source) == ["async def f()", "  for a in b", "    c", "  with d as e", "    g"]


MATCHES = [
    ("case 1 | 'a': y", ["if <or <== x 1> <== x 'a'>>", "  y"]),
    ("case None: y\n case a.B: z", ["if <is x None>", "  y", "else", "  if <== x a.B>", "    z"]),
    ("case n: y", ["n = x", "y"]),
    ("case 1: y\n case _: z", ["if <== x 1>", "  y", "else", "  z"]),
    ("case n if n > 1: y", ["if <and <or <n := x> True> <> n 1>>", "  y"]),
    ("case _ if g: y", ["if g", "  y"]),
    ("case [a, *_, 2]: y", ["if <and ?match<x> <== x[-1] 2>>", "  a = x[0]", "  y"]),
    ("case [a, *b]: y", ["if ?match<x>", "  a = x[0]", "  b = ?match<x[-1]>", "  y"]),
    (
        "case {'k': v, **r}: y",
        ["if <and ?match<x> <in 'k' x>>", "  v = x['k']", "  r = ?match<x>", "  y"],
    ),
    (
        "case P(a, q=2): y",
        ["if <and isinstance(x, P) <== x.q 2>>", "  a = ?match<x>", "  y"],
    ),
    ("case int(n) as m: y", ["if isinstance(x, int)", "  n = x", "  m = x", "  y"]),
    ("case (1 as n) | (2 as n): y", ["if <or <== x 1> <== x 2>>", "  n = ?match<x>", "  y"]),
]


@pytest.mark.parametrize(("source", "expected"), MATCHES)
def test_match(source: str, expected: list[str]) -> None:
    assert lines(f"match x:\n {source}\n") == expected


def test_match_evaluates_its_subject_once() -> None:
    held, first, *_ = lines("match f():\n case 1: a\n case 2: b\n")
    assert held == "match 1:7 = f()"
    assert first == "if <== match 1:7 1>"


INVALID = [
    ("print 'a'\n", 1, "Missing parentheses"),
    ("x = 1\ndef f(:\n", 2, "not valid Python"),
    ("x = (\n", 1, "never closed"),
    ("x = 'a\n", 1, "unterminated"),
    ("a\0b", 1, "null byte"),
    ("x = " + "(" * 300 + ")" * 300, 1, ""),
    ("\ud800", 1, "not"),
]


@pytest.mark.parametrize(("source", "row", "message"), INVALID)
def test_invalid_source_is_one_line(source: str, row: int, message: str) -> None:
    with pytest.raises(SyntaxProblem) as problem:
        lines(source) if "\ud800" not in source else module_of_surrogate(source)
    assert problem.value.row == row
    assert message in problem.value.message
    assert "\n" not in str(problem.value)


def module_of_surrogate(source: str) -> None:
    from kexec_lint.opencl.frontend.parsing import parse

    parse(source)


DEEP = [
    "x = " + "-" * 20_000 + "1",
    "x = " + "f(" * 190 + ")" * 190 + ".a" * 30_000,
    "def f():\n x = a" + "[0]" * 30_000,
    "".join(" " * depth + "if a:\n" for depth in range(99)) + " " * 99 + "x = " + "not " * 5_000 + "a",
]


def whole(source: str) -> list[tuple[Statement, ...]]:
    """Lower a source with all its functions' bodies."""
    return [one.body for one in module(source).body if isinstance(one, Function)]


@pytest.mark.parametrize("source", DEEP)
def test_deep_nesting_is_refused_without_a_traceback(source: str) -> None:
    with pytest.raises(SyntaxProblem, match=r"nested too deeply|too many|not valid"):
        whole(source)


def test_long_chains_are_not_deep() -> None:
    assert len(lines("x = " + " + ".join(["'a'"] * 900))) == 1
    elifs = "if a: b\n" + "".join(f"elif a{n}: b\n" for n in range(300))
    assert len(module(elifs).body) == 1


def test_a_body_is_lowered_when_first_looked_at() -> None:
    (function,) = module("def f():\n return 1\n").body
    assert isinstance(function, Function)
    assert "body" not in vars(function)
    assert len(function.body) == 1
    assert function.body is function.body


def test_functions_survive_pickling() -> None:
    (function,) = module("def f(a):\n yield a\n").body
    copy = pickle.loads(pickle.dumps(function))
    assert isinstance(copy, Function)
    assert (copy.name, copy.params, copy.body, copy.is_generator) == ("f", function.params, function.body, True)


def test_byte_order_mark_and_form_feed() -> None:
    assert lines("\ufeffx = 1\n\x0cy = 2\n") == ["x = 1", "y = 2"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str) -> None:
    first, second = module(f"x = 'é'{end}y: int = 2{end}").body
    assert (first.span.row, second.span.row, second.span.end_column) == (1, 2, 11)


def test_lowering_needs_no_libcst() -> None:
    import subprocess

    code = "import sys; from rendering import lines; lines('x = 1'); print('libcst' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=__file__.rpartition("/")[0]
    )
    assert run.stdout.strip() == "False"
