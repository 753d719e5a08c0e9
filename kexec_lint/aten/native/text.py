"""A parsed C++ or CUDA file: its syntax tree, places, and its text without comments and strings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from tree_sitter import Language, Node, Parser

from kexec_lint.findings import Location
from kexec_lint.source import Source

_CUDA_WORDS = re.compile(
    rb"\b(__global__|__device__|__host__|__forceinline__|__restrict__|__shared__|__inline__|__noinline__|C10_EXPORT|"
    rb"TORCH_API|C10_API|C10_HOST_DEVICE|C10_LAUNCH_BOUNDS_\d\([^)]*\)|__launch_bounds__\([^)]*\)|TORCH_EXTENSION_API)"
)
_LAUNCH = re.compile(rb"<<<(?P<config>[^;{}]*?)>>>", re.S)
_HIDDEN = re.compile(
    rb'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]{0,16})\(.*?\)(?P=tag)"|"(?:[^"\\\n]|\\.)*"|'
    rb"(?<![0-9A-Za-z])'(?:[^'\\\n]|\\.)*'",
    re.S,
)


@cache
def _parser() -> Parser:
    import tree_sitter_cpp

    return Parser(Language(tree_sitter_cpp.language()))


class NativeFile:
    """`code` is the file with CUDA's extra words and launch configurations blanked, byte for byte as long.

    `plain` is `code` with comments and string contents blanked, for searches by pattern.
    """

    def __init__(self, source: Source, text: str | None = None, base: Location | None = None) -> None:
        self.path = source.path
        self.data = (source.text if text is None else text).encode()
        self.base = base
        code = _CUDA_WORDS.sub(lambda m: _blank(m.group()), self.data)
        self.plain = _HIDDEN.sub(_hide, self.data)
        self.code = _LAUNCH.sub(lambda m: b"/*" + _blank(m.group()[2:-2]) + b"*/", code)
        self.tree = _parser().parse(self.code)
        self._starts = [0]
        for match in re.finditer(rb"\n", self.data):
            self._starts.append(match.end())

    def text(self, node: Node | None) -> str:
        """Return a node's source text."""
        return self.code[node.start_byte : node.end_byte].decode(errors="replace") if node is not None else ""

    def at(self, node: Node) -> Location:
        """Return a node's span."""
        return self.span(node.start_byte, node.end_byte)

    def span(self, start: int, end: int) -> Location:
        """Return the span of a range of bytes."""
        if self.base is not None:  # C++ inside a Python string: the place is the string's
            row = self.base.row + self.data.count(b"\n", 0, start)
            return Location(self.path, row, 1, row, 2, self.base.cell)
        row, column = self._place(start)
        end_row, end_column = self._place(end)
        return Location(self.path, row, column, end_row, end_column)

    def _place(self, offset: int) -> tuple[int, int]:
        from bisect import bisect_right

        row = bisect_right(self._starts, offset)
        start = self._starts[row - 1]
        return row, len(self.data[start:offset].decode(errors="replace")) + 1


def _blank(text: bytes) -> bytes:
    return bytes(c if c in b"\r\n" else 32 for c in text)


def _hide(match: re.Match[bytes]) -> bytes:
    text = match.group()
    if text.startswith((b"//", b"/*")):
        return _blank(text)
    return text[:1] + _blank(text[1:-1]) + text[-1:]


def walk(node: Node, *kinds: str) -> Iterator[Node]:
    """Yield the descendants of these types in source order, with an explicit stack (files can nest deeply)."""
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type in kinds:
            yield current
        stack.extend(reversed(current.children))


CONTAINERS = frozenset(
    (
        "translation_unit",
        "namespace_definition",
        "declaration_list",
        "linkage_specification",
        "template_declaration",
        "preproc_if",
        "preproc_ifdef",
        "preproc_else",
        "preproc_elif",
        "ERROR",
    )
)


def functions(node: Node) -> Iterator[Node]:
    """Yield the function definitions of a file outside classes; bodies, most of the tree, are not entered."""
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type == "function_definition":
            yield current
        elif current.type in CONTAINERS:
            stack.extend(reversed(current.children))


def split_arguments(text: str) -> list[str]:
    """Split a comma-separated text at commas outside brackets and strings."""
    parts, depth, last, quoted = [], 0, 0, ""
    for index, character in enumerate(text):
        if quoted:
            if character == quoted and text[index - 1] != "\\":
                quoted = ""
        elif character in "\"'":
            quoted = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[last:index].strip())
            last = index + 1
    parts.append(text[last:].strip())
    return parts if parts != [""] else []


def guard(node: Node, file: NativeFile) -> tuple[str, ...]:
    """Return the preprocessor branches around a node, outermost first."""
    found: list[str] = []
    child, parent = node, node.parent
    while parent is not None:
        if parent.type in ("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_else"):
            alternative = parent.child_by_field_name("alternative")
            if alternative is None or alternative.id != child.id:
                if not _is_include_guard(parent):
                    found.append(f"#@{parent.start_byte}")
            else:
                found.append(f"#@{parent.start_byte}:else")
        child, parent = parent, parent.parent
    return tuple(reversed(found))


def _is_include_guard(node: Node) -> bool:
    """Whether a branch is `#ifndef NAME` that starts with `#define NAME`."""
    name = node.child_by_field_name("name")
    if name is None or not node.text or not node.text.startswith(b"#ifndef"):
        return False
    first = next((c for c in node.named_children if c.id != name.id and c.type != "comment"), None)
    defined = first.child_by_field_name("name") if first is not None and first.type == "preproc_def" else None
    return defined is not None and defined.text == name.text
