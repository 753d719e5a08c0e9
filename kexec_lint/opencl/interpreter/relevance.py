"""Which functions of a module can matter to the enqueue graph: those that name the API, or call one that does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate

from kexec_lint.opencl import program as p
from kexec_lint.opencl.api import pyopencl as api

SMALL = 12
"""Rows of a function that is entered in any case: it may normalise a wait list or hand out a queue."""

_WORD = re.compile(r"[^\W\d]\w*")
_ROW_END = re.compile(r"\r\n|\r|\n")
_ROLE = re.compile(r"(?:^|_)\w*queue(?:s?\d*_?$|_)", re.IGNORECASE)
_COMMON = frozenset(name for table in api.METHODS.values() for name in table)
_SHORT = frozenset({"q", "cq"})
_NO_COMMANDS = frozenset(word for word in api.TRIGGERS if "enqueue" not in word)
_MAKER = "CommandQueue"
_QUEUE_MADE = re.compile(rf"([^=\n]*[^=!<>\s])\s*=(?!=)[^\n]*\b{_MAKER}\b")
"""An assignment of a queue, whatever its author calls it."""


class Relevance:
    """Answers for the functions of one module, from the words of their source rows."""

    def __init__(self, text: str, body: tuple[p.Statement, ...]) -> None:
        pending = _telling(text)
        known = set(pending)
        self._relevant: set[int] = set()
        functions = list(_functions(body)) if pending else []
        rows = _starts(text) if functions else []
        while pending:
            # Functions that hold one of the words, then those that hold one of their names.
            called = set()
            rest = []
            for function in functions:
                if _holds(text, pending, rows[function.span.row - 1], rows[function.span.end_row]):
                    self._relevant.add(id(function))
                    called.add(function.name)
                else:
                    rest.append(function)
            functions = rest
            pending = {word for word in called - known if word not in _COMMON and not word.startswith("__")}
            known |= pending

    def matters(self, function: p.Function) -> bool:
        """Return whether a function names the API, or calls a function of its module that does."""
        return id(function) in self._relevant

    def enter(self, function: p.Function) -> bool:
        """Return whether a call of a function is worth following."""
        short = function.span.end_row - function.span.row < SMALL
        return short or function.name == "__init__" or self.matters(function)


def concerns(text: str) -> bool:
    """Return whether a module names the API, or a queue, anywhere: without, nothing of it matters."""
    return _holds(text, _telling(text), 0, len(text))


def _telling(text: str) -> set[str]:
    """Return the words in a text that tell of the API; some may only be parts of others."""
    names = api.TRIGGERS if "enqueue" in text else _NO_COMMANDS
    return {word for word in _made(text) | names | _SHORT if word in text} | _roles(text)


def _starts(text: str) -> list[int]:
    """Return the offset of each row, and of the end."""
    if "\r" not in text:
        return [0, *accumulate(len(row) + 1 for row in text.split("\n"))]
    return [0, *(match.end() for match in _ROW_END.finditer(text)), len(text)]


def _holds(text: str, words: Iterable[str], start: int, end: int) -> bool:
    """Return whether one of the words stands in a part of the text."""
    return any(next(_places(text, word, start, end), None) is not None for word in words)


def _places(text: str, word: str, start: int, end: int) -> Iterator[int]:
    """Yield where a word stands in a part of the text; a regular expression of many words takes ten times as long."""
    at = text.find(word, start, end)
    while at >= 0:
        after = at + len(word)
        if not (_goes_on(text[at - 1 : at]) or _goes_on(text[after : after + 1])):
            yield at
        at = text.find(word, after, end)


def _goes_on(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _made(text: str) -> set[str]:
    """Return the words of what queues are assigned to."""
    made: set[str] = set()
    for at in _places(text, _MAKER, 0, len(text)):
        match = _QUEUE_MADE.match(text, text.rfind("\n", 0, at) + 1)
        if match is not None:
            made.update(_WORD.findall(match[1]))
    return made - {"self"}


def _roles(text: str) -> set[str]:
    """Return the words of a text that are the name of a queue."""
    found = set()
    for part in ("ueue", "UEUE"):
        at = text.find(part)
        while at >= 0:
            start = at
            while start and _goes_on(text[start - 1]):
                start -= 1
            match = _WORD.search(text, start)
            assert match is not None
            found.add(match[0])
            at = text.find(part, match.end())
    return {word for word in found if _ROLE.search(word)}


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
