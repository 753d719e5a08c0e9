"""Time the Python front end against the bare parsers, on the same files in one run.

    python benchmarks/frontend.py PATH...

Per tree: seconds of `ast.parse`, of `lower` (functions not entered), of `lower` with every function body, and of
`libcst.parse_module`; lines a second; files that do not lower, one line each.
"""

from __future__ import annotations

import ast
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import libcst

from kexec_lint.opencl.frontend import SyntaxProblem
from kexec_lint.opencl.frontend.python import lower
from kexec_lint.opencl.program import Class, Function, If, Loop, Module, Statement, Try, With
from kexec_lint.source import Source


def main(trees: list[str]) -> None:
    warnings.simplefilter("ignore")
    for tree in trees:
        sources = list(read(Path(tree)))
        lines = sum(source.text.count("\n") for source in sources)
        parse = timed(lambda source: ast.parse(source.text), sources)
        lazy = timed(lower, sources)
        full = timed(lambda source: enter(lower(source).body), sources)
        cst = timed(lambda source: libcst.parse_module(source.text), sources)
        print(f"{tree}: {len(sources)} files, {lines} lines")
        for name, seconds in [("ast.parse", parse), ("lower", lazy), ("lower, all bodies", full), ("libcst", cst)]:
            print(f"  {name:18} {seconds:7.2f} s  {lines / seconds:9.0f} lines/s  {seconds / parse:5.2f} x ast.parse")
        for source in sources:
            try:
                enter(lower(source).body)
            except SyntaxProblem as problem:
                print(f"  {source.path}: {problem}")


def read(tree: Path) -> Iterable[Source]:
    for path in sorted(tree.rglob("*.py")):
        data = path.read_bytes()
        yield Source(str(path), data.decode("utf-8", "replace"), data)


def timed(work: Callable[[Source], Module | object], sources: list[Source]) -> float:
    start = time.perf_counter()
    for source in sources:
        with suppress(SyntaxError, SyntaxProblem, libcst.ParserSyntaxError, ValueError):
            work(source)
    return time.perf_counter() - start


def enter(body: tuple[Statement, ...]) -> None:
    """Look at every function's body."""
    for statement in body:
        match statement:
            case Function(body=inner) | Class(body=inner) | With(body=inner):
                enter(inner)
            case If(then=then, orelse=orelse):
                enter(then)
                enter(orelse)
            case Loop(body=inner, orelse=orelse):
                enter(inner)
                enter(orelse)
            case Try(body=inner, handlers=handlers, orelse=orelse, final=final):
                for part in (inner, *(handler for _, _, handler in handlers), orelse, final):
                    enter(part)


if __name__ == "__main__":
    main(sys.argv[1:])
