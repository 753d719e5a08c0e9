"""Syntax newer than the running Python is rewritten in place, by LibCST's reading of it."""

from __future__ import annotations

import sys

import pytest
from rendering import lines

from kexec_lint.opencl.frontend.newer import replaced

REWRITTEN = [
    ("type X[T] = list[T]\n", "pass               \n"),
    ("def f[T: (int, str) = int, *Ts, **P](x: T): pass\n", "def f" + " " * 31 + "(x: T): pass\n"),
    ("class C[T](B): pass\n", "class C   (B): pass\n"),
    ("try: a\nexcept* E: b\n", "try: a\nexcept  E: b\n"),
    ("try: a\nexcept A, B: b\n", "try: a\nexcept A| B: b\n"),
    ("try: a\nexcept (A, B): b\n", "try: a\nexcept (A, B): b\n"),
    ("a[*b]\n", "a[ b]\n"),
    ("def f(*a: *Ts): pass\n", "def f(*a:  Ts): pass\n"),
    ("x = t'a {b}'\n", "x = f'a {b}'\n"),
    ("x = f'a {b}'\n", "x = f'a {b}'\n"),
]


@pytest.mark.parametrize(("source", "expected"), REWRITTEN)
def test_rewritten(source: str, expected: str) -> None:
    assert replaced(source) == expected


REQUOTED = [
    ('x = f"{a["k"]}ü{b}"\n', "x = f\"{a['k']}ü{b}\"\n"),
    ('x = f"{a}{f"{f"{b}"}"}"\n', 'x = f"{a}{_          }"\n'),
    ('x = f"""{"\\n".join(a)} {b}"""\n', 'x = f"""{_           } {b}"""\n'),
    ('x = f"{\n  a  # c\n}"\n', "x = _ \\\n       \\\n  \n"),
]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads PEP 701 itself")
@pytest.mark.parametrize(("source", "expected"), REQUOTED)
def test_requoted(source: str, expected: str) -> None:
    assert replaced(source) == expected


def test_what_no_python_accepts_is_not_rewritten() -> None:
    assert replaced("print 'a'\n") is None


def test_rewritten_source_lowers_at_its_own_rows_and_columns() -> None:
    assert lines("class Q[T]:\n def f(self):\n  try: g()\n  except* A: return f'{x}'\n") == [
        "class Q()",
        "  def f(self)",
        "    try",
        "      g()",
        "    except A as -",
        "      return format<x>",
    ]
