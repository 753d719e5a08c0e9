"""The scout finds every call by name that the tree holds."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest

from kexec_lint.opencl.frontend.scout import rows_naming, touches
from kexec_lint.opencl.program import Span

ROWS = [
    ("a\nf(x)\n  b.f\n# f\n'f'\nff g_f\n", ["f"], [2, 3, 4, 5]),
    ("f", ["f", "g"], [1]),
    ("\n\r\n\rf g\r\ng\n", ["f", "g"], [4, 5]),
    ("a\x0cf\n\u2028f", ["f"], [1, 2]),
    ("", ["f"], []),
]


@pytest.mark.parametrize(("text", "names", "rows"), ROWS)
def test_rows(text: str, names: list[str], rows: list[int]) -> None:
    assert rows_naming(text, frozenset(names)) == rows


def test_touches() -> None:
    rows = [3, 7]
    spans = [
        Span(1, 1, 2, 1),
        Span(1, 1, 3, 1),
        Span(3, 1, 3, 9),
        Span(4, 1, 6, 1),
        Span(4, 1, 9, 1),
        Span(8, 1, 9, 1),
    ]
    assert [touches(span, rows) for span in spans] == [False, True, True, False, True, False]


@pytest.mark.parametrize("name", ["argparse.py", "logging/__init__.py", "asyncio/tasks.py"])
def test_no_call_is_missed_in_real_files(name: str) -> None:
    text = (Path(sysconfig.get_path("stdlib")) / name).read_text(encoding="utf-8")
    called = frozenset({"append", "get", "wait", "isinstance", "release"})
    rows = rows_naming(text, called)
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    assert functions
    for function in functions:
        calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
        if called & {getattr(func, "attr", getattr(func, "id", None)) for func in calls}:
            assert touches(Span(function.lineno, 1, function.end_lineno or 0, 1), rows), function.name
