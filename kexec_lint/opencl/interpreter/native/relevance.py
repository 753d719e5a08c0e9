"""Which functions of a C or C++ file can matter to the enqueue graph: those that name the API or call one that does.

`foreign` are the functions and classes that matter in the headers that the file includes, and in their source files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias, cast

from kexec_lint.opencl import program as p
from kexec_lint.opencl.api import c as c_api
from kexec_lint.opencl.api.native import TRIGGERS

SMALL = 12
"""Rows of a function that is entered in any case."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_ROLE = re.compile(r"queue|[Cc]md[Qq]|cl_event|Event\b")
_COMMON = frozenset(
    ["main", "init", "run", "get", "set", "wait", "size", "data", "begin", "end", "push_back", "clear", "operator"]
)


class Relevance:
    """Answers for the functions of one file, from the words of their source rows."""

    def __init__(self, text: str, module: p.Module, foreign: frozenset[str] = frozenset()) -> None:
        words, names, telling = _words(text, module)
        telling = telling | foreign - _COMMON
        self._relevant = {key for key, found in words.items() if not telling.isdisjoint(found)}
        self._body = module.body
        pending = True
        while pending:
            called = {name for name, keys in names.items() if any(key in self._relevant for key in keys)} - _COMMON
            grown = {key for key, found in words.items() if key not in self._relevant and not called.isdisjoint(found)}
            self._relevant |= grown
            pending = bool(grown)

    @property
    def names(self) -> frozenset[str]:
        """Functions that matter, and classes with a method that does."""
        return frozenset(
            statement.name
            for statement in self._body
            if (isinstance(statement, p.Function) and self.matters(statement))
            or (isinstance(statement, p.Class) and any(self.matters(one) for one in functions(statement.body)))
        )

    def matters(self, function: p.Function) -> bool:
        """Return whether a function names the API, or calls a function of its file that does."""
        return id(function) in self._relevant

    def enter(self, function: p.Function) -> bool:
        """Return whether a call of a function is worth following."""
        short = function.span.end_row - function.span.row < SMALL
        return short or function.name in ("__init__", "__call__") or self.matters(function)


_Words: TypeAlias = tuple[dict[int, set[str]], dict[str, list[int]], frozenset[str]]


def _words(text: str, module: p.Module) -> _Words:
    """Return the words of each function, the functions by name, and the words of the text that tell of the API."""
    if "words" not in module.memo:
        rows = text.split("\n")
        words: dict[int, set[str]] = {}
        names: dict[str, list[int]] = {}
        for function in functions(module.body):
            first, last = function.span.row - 1, function.span.end_row
            words[id(function)] = set(_WORD.findall("\n".join(rows[first:last])))
            names.setdefault(function.name, []).append(id(function))
        telling = frozenset(
            word
            for word in set().union(*words.values())
            if word in TRIGGERS or _ROLE.search(word) is not None or c_api.WRAPPED.match(word) is not None
        )
        module.memo["words"] = words, names, telling
    return cast("_Words", module.memo["words"])


def functions(body: tuple[p.Statement, ...]) -> Iterator[p.Function]:
    """Yield functions and methods."""
    for statement in body:
        if isinstance(statement, p.Function):
            yield statement
        elif isinstance(statement, p.Class):
            yield from functions(statement.body)


def local(text: str, module: p.Module) -> Relevance:
    """Return what a file says by itself; headers come up again and again."""
    if "local" not in module.memo:
        module.memo["local"] = Relevance(text, module)
    return cast(Relevance, module.memo["local"])
