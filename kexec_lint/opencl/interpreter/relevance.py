"""Which functions of a module can matter to the enqueue graph: those that name the API, or call one that does."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from kexec_lint.opencl import program as p
from kexec_lint.opencl.api import pyopencl as api

SMALL = 12
"""Rows of a function that is entered in any case: it may normalise a wait list or hand out a queue."""

_WORD = re.compile(r"[^\W\d]\w*")
_ROW_END = re.compile(r"\r\n|\r|\n")
_ROLE = re.compile(r"(?:^|_)\w*queue(?:s?\d*_?$|_)", re.IGNORECASE)
_COMMON = frozenset(name for table in api.METHODS.values() for name in table)
_SHORT = frozenset({"q", "cq"})
_QUEUE_MADE = re.compile(r"^([^=\n]*[^=!<>\s])\s*=(?!=)[^\n]*\bCommandQueue\b", re.MULTILINE)
"""An assignment of a queue, whatever its author calls it."""


class Relevance:
    """Answers for the functions of one module, from the words of their source rows."""

    def __init__(self, text: str, body: tuple[p.Statement, ...]) -> None:
        made = {word for match in _QUEUE_MADE.finditer(text) for word in _WORD.findall(match[1])} - {"self"}
        pending = {word for word in made | api.TRIGGERS | _SHORT if word in text} | _roles(text)
        functions = list(_functions(body)) if pending else []
        ends = [match.start() for match in _ROW_END.finditer(text)]
        self._relevant: set[int] = set()
        known = set(pending)
        while pending:
            # Rows that hold one of the words, then the functions that hold one of the rows, then their names.
            found = re.finditer(rf"\b(?:{'|'.join(sorted(pending))})\b", text)
            rows = list(dict.fromkeys(bisect_left(ends, match.start()) + 1 for match in found))
            called = set()
            for function in functions:
                if id(function) not in self._relevant:
                    at = bisect_left(rows, function.span.row)
                    if at < len(rows) and rows[at] <= function.span.end_row:
                        self._relevant.add(id(function))
                        called.add(function.name)
            pending = {word for word in called - known if word not in _COMMON and not word.startswith("__")}
            known |= pending

    def matters(self, function: p.Function) -> bool:
        """Return whether a function names the API, or calls a function of its module that does."""
        return id(function) in self._relevant

    def enter(self, function: p.Function) -> bool:
        """Return whether a call of a function is worth following."""
        short = function.span.end_row - function.span.row < SMALL
        return short or function.name == "__init__" or self.matters(function)


def _roles(text: str) -> set[str]:
    """Return the words of a text that are the name of a queue."""
    rows = [row for row in text.split("\n") if "ueue" in row or "UEUE" in row]
    return {word for word in _WORD.findall("\n".join(rows)) if _ROLE.search(word)}


def _functions(body: tuple[p.Statement, ...]) -> Iterator[p.Function]:
    """Yield functions and methods, those under `if` and `try` and in inner classes too."""
    for statement in body:
        match statement:
            case p.Function():
                yield statement
            case p.Class(body=inner):
                yield from _functions(inner)
            case p.If(then=then, orelse=orelse):
                yield from _functions((*then, *orelse))
            case p.Try(body=inner, handlers=handlers, orelse=orelse, final=final):
                yield from _functions((*inner, *orelse, *final))
                for _, _, handler in handlers:
                    yield from _functions(handler)
            case p.With(body=inner):
                yield from _functions(inner)
