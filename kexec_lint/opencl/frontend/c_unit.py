"""A C or C++ translation unit while it is lowered: its text, its syntax tree's positions, its macros."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from kexec_lint.opencl.program import Span

_CPP = re.compile(
    r"\b(?:cl::|std::|boost::|namespace\s+\w+|template\s*<|class\s+\w+|public:|private:|nullptr|static_cast|"
    r"constexpr|using\s+\w+|try\s*\{|catch\s*\()"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def language_of(suffix: str, text: str) -> str:
    """Return "c" or "c++": by the suffix, for `.h` by what the text uses."""
    if suffix == ".c":
        return "c"
    if suffix in (".h", ".inl"):
        return "c++" if _CPP.search(text) else "c"
    return "c++"


@cache
def parser(language: str) -> Any:
    """Return the tree-sitter parser of a language."""
    import importlib

    from tree_sitter import Language, Parser

    grammar = importlib.import_module("tree_sitter_c" if language == "c" else "tree_sitter_cpp")
    return Parser(Language(grammar.language()))


@dataclass(frozen=True)
class Macro:
    """A macro of the file; `params` None for an object-like one."""

    name: str
    params: tuple[str, ...] | None
    body: str


@dataclass
class Unit:
    """The text under lowering. `fixed` is the span of all nodes while an expanded macro is lowered."""

    language: str
    data: bytes
    macros: dict[str, Macro] = field(default_factory=dict)
    members: dict[str, dict[str, str]] = field(default_factory=dict)
    """Class → member → type as written, for constructors' initialiser lists."""
    defaults: dict[tuple[str, str], dict[int, str]] = field(default_factory=dict)
    """(class or "", function) → position → default argument as written, where only a declaration has it."""
    fixed: Span | None = None
    defines: dict[str, str | None] = field(default_factory=dict)
    """Macros that the compiler is given, None for one that it is told to forget."""
    nesting: int = 0
    expanding: tuple[str, ...] = ()
    _wide: dict[int, bytes] | None = None

    def span(self, node: Any) -> Span:
        """Return the span of a syntax node."""
        if self.fixed is not None:
            return self.fixed
        (row, column), (end_row, end_column) = node.start_point, node.end_point
        if self._wide is None:
            rows = enumerate(self.data.split(b"\n")) if not self.data.isascii() else ()
            self._wide = {number: line for number, line in rows if not line.isascii()}
        if self._wide:
            column, end_column = self._column(row, column), self._column(end_row, end_column)
        # a named tuple, without a call in Python
        return tuple.__new__(Span, (row + 1, column + 1, end_row + 1, end_column + 1))

    def _column(self, row: int, offset: int) -> int:
        line = self._wide.get(row) if self._wide else None
        return offset if line is None else len(line[:offset].decode("utf-8", "replace"))

    def text(self, node: Any) -> str:
        """Return the text of a syntax node."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def expansion(self, text: str, span: Span, name: str = "") -> Unit:
        """Return a unit for a piece of text that stands at one place of this one (a macro's expansion)."""
        inner = Unit(self.language, text.encode(), self.macros, self.members, self.defaults, self.fixed or span)
        inner.defines = self.defines
        inner.expanding = (*self.expanding, name) if name else self.expanding
        inner.nesting = self.nesting
        return inner


def named(node: Any) -> list[Any]:
    """Return the named children of a node, comments left out."""
    return [child for child in node.named_children if child.type != "comment"]


@lru_cache(maxsize=1024)
def words(text: str) -> tuple[str, ...]:
    """Return the identifiers of a text, each once."""
    return tuple(dict.fromkeys(_WORD.findall(text)))
