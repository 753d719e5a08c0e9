"""Which functions of a module can matter to the enqueue graph: those that name the API, or call one that does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kexec_lint.opencl import program as p
from kexec_lint.opencl.api import pyopencl as api

SMALL = 12
"""Rows of a function that is entered in any case: it may normalise a wait list or hand out a queue."""

_WORD = re.compile(r"[^\W\d]\w*")
_ROLE = re.compile(r"(?:^|_)\w*queue(?:s?\d*_?$|_)", re.IGNORECASE)
_COMMON = frozenset(name for table in api.METHODS.values() for name in table)
_SHORT = frozenset({"q", "cq"})
_QUEUE_MADE = re.compile(r"^([^=\n]*[^=!<>\s])\s*=(?!=)[^\n]*\bCommandQueue\b", re.MULTILINE)
"""An assignment of a queue, whatever its author calls it."""


class Relevance:
    """Answers for the functions of one module, from the words of their source rows."""

    def __init__(self, text: str, body: tuple[p.Statement, ...]) -> None:
        rows = text.splitlines()
        words: dict[int, set[str]] = {}
        names: dict[str, list[int]] = {}
        for function in _functions(body):
            first, last = function.span.row - 1, function.span.end_row
            words[id(function)] = set(_WORD.findall("\n".join(rows[first:last])))
            names.setdefault(function.name, []).append(id(function))
        made = {word for match in _QUEUE_MADE.finditer(text) for word in _WORD.findall(match[1])} - {"self"}
        self._relevant = {key for key, found in words.items() if _names_api(found) or not made.isdisjoint(found)}
        pending = True
        while pending:
            called = {name for name, keys in names.items() if any(key in self._relevant for key in keys)}
            called = {name for name in called if name not in _COMMON and not name.startswith("__")}
            grown = {key for key, found in words.items() if key not in self._relevant and not called.isdisjoint(found)}
            self._relevant |= grown
            pending = bool(grown)

    def matters(self, function: p.Function) -> bool:
        """Return whether a function names the API, or calls a function of its module that does."""
        return id(function) in self._relevant

    def enter(self, function: p.Function) -> bool:
        """Return whether a call of a function is worth following."""
        short = function.span.end_row - function.span.row < SMALL
        return short or function.name == "__init__" or self.matters(function)


def _names_api(words: set[str]) -> bool:
    return (
        not api.TRIGGERS.isdisjoint(words)
        or not _SHORT.isdisjoint(words)
        or any(_ROLE.search(word) is not None for word in words)
    )


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
