"""Finds the functions of expanded OpenCL C: which are kernels, where they begin and end, what they take."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from kexec_lint.opencl.kernels.source import ADDRESS_SPACES, Expanded
from kexec_lint.opencl.kernels.syntax import Param

_MARKS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[{}();]|\n\n')
_NOT_FUNCTIONS = {"if", "for", "while", "switch", "return", "sizeof", "do", "else", "case"}

SCALARS = {
    "char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8,
    "half": 2, "float": 4, "double": 8, "size_t": 8, "ptrdiff_t": 8, "intptr_t": 8, "uintptr_t": 8,
    "bool": 1, "cl_mem_fence_flags": 4,
}  # fmt: skip
"""Bytes of OpenCL C's scalar types (OpenCL C specification, "Built-in Scalar Data Types"), 64-bit device."""

_IMAGE = re.compile(r"image(1d|2d|3d)(_array|_buffer|_depth|_msaa)*_t$|image2d_array_depth_t$")
_QUALIFYING = {"const", "volatile", "restrict", "static", "register", "extern", "inline", "unsigned", "signed"}


@dataclass(frozen=True, slots=True)
class Text:
    """Where one function stands in the expanded text."""

    name: str
    name_start: int
    start: int
    params: tuple[int, int]
    body: tuple[int, int]
    closed: bool
    kernel: bool


def find(expanded: Expanded) -> list[Text]:
    """Return the functions defined in the text, in order."""
    text = expanded.text
    kernels = [offset for offset, word in expanded.qualifiers if word == "kernel"]
    found: list[Text] = []
    depth = parens = statement = 0
    opened = -1
    group: tuple[int, int] | None = None
    head: tuple[str, int, int, tuple[int, int], int] | None = None
    next_kernel = 0
    for match in _MARKS.finditer(text):
        mark, at = match[0], match.start()
        while next_kernel < len(kernels) and kernels[next_kernel] < at:
            offset = kernels[next_kernel]
            next_kernel += 1
            if depth or parens:  # no kernel stands inside braces: the text before it does not balance
                if head is not None:
                    found.append(_text(head, offset, False, kernels))
                depth, parens, group, head, statement = 0, 0, None, None, offset
        if mark == "(":
            if parens == 0:
                opened = at
            parens += 1
        elif mark == ")":
            parens = max(parens - 1, 0)
            if parens == 0 and depth == 0:
                group = (opened, at + 1)
        elif mark == "{":
            if depth == 0:
                head = _head(text, statement, group, at) if group else None
                if head is None and re.search(
                    r"\bextern\s*$|\bextern\s*\"C\"\s*$|\bnamespace\s+\w+\s*$", text[statement:at]
                ):
                    statement, group = at + 1, None
                    continue
            depth += 1
        elif mark == "}":
            if depth == 1 and head is not None:
                found.append(_text(head, at + 1, True, kernels))
                head = None
            depth = max(depth - 1, 0)
            if depth == 0:
                statement, group, parens = at + 1, None, 0
        elif mark == ";" and depth == 0 and parens == 0:
            statement, group = at + 1, None
    if depth and head is not None:
        found.append(_text(head, len(text), False, kernels))
    return found


_Head = tuple[str, int, int, tuple[int, int], int]


def _head(text: str, statement: int, group: tuple[int, int] | None, brace: int) -> _Head | None:
    """Return (name, its offset, start, parameter span, brace) when a function is defined before the brace."""
    if group is None or text[group[1] : brace].strip():
        return None
    name = re.search(r"([A-Za-z_]\w*)\s*$", text[statement : group[0]])
    if name is None or name[1] in _NOT_FUNCTIONS:
        return None
    return name[1], statement + name.start(1), statement, (group[0] + 1, group[1] - 1), brace


def _text(head: _Head, end: int, closed: bool, kernels: list[int]) -> Text:
    name, name_start, statement, params, brace = head
    first = bisect_left(kernels, statement)
    kernel = first < len(kernels) and kernels[first] < name_start
    return Text(name, name_start, kernels[first] if kernel else name_start, params, (brace, end), closed, kernel)


def split_commas(text: str) -> list[tuple[int, str]]:
    """Return (offset, piece) of the text's top-level comma-separated pieces."""
    pieces: list[tuple[int, str]] = []
    depth = start = 0
    for match in re.finditer(r"[(){}\[\],]", text):
        if match[0] in "([{":
            depth += 1
        elif match[0] in ")]}":
            depth -= 1
        elif match[0] == "," and depth == 0:
            pieces.append((start, text[start : match.start()]))
            start = match.end()
    pieces.append((start, text[start:]))
    return pieces


def params(expanded: Expanded, span: tuple[int, int], types: dict[str, str]) -> tuple[tuple[Param, ...], str]:
    """Return the parameters in `span`: "sure", "named" if a kind is unknown, "cut" if the list was not understood.

    `types` maps the text's typedef names to what they stand for; "struct" for a structure, "" for anything else.
    """
    inside = expanded.text[slice(*span)]
    if inside.strip() in ("", "void"):
        return (), "sure"
    out: list[Param] = []
    sure = True
    for offset, piece in split_commas(inside):
        start = span[0] + offset
        low = bisect_left(expanded.qualifiers, (start, ""))
        high = bisect_left(expanded.qualifiers, (start + len(piece), ""))
        words = [word for _, word in expanded.qualifiers[low:high]]
        param = _param(piece, words, types)
        if param is None:
            return tuple(out), "cut"
        out.append(param)
        trailing = re.findall(r"\w+", piece.rpartition("*")[2])[:-1] if "*" in piece else []
        sure = sure and param.kind != "unknown" and set(trailing) <= _QUALIFYING
    return tuple(out), "sure" if sure else "named"


def _param(piece: str, qualifiers: list[str], types: dict[str, str]) -> Param | None:
    """Return one parameter, None when it is no plain declarator."""
    match = re.fullmatch(r"([\w\s*]*?)([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)", piece.strip(), re.S)
    if match is None:
        return None
    lead, name, arrays = match[1], match[2], match[3]
    words = re.findall(r"\w+|\*", lead)
    stars = words.count("*")
    const = "const" in (words[: words.index("*")] if stars else words)
    if not stars and not arrays and not any(w not in _QUALIFYING or w in ("unsigned", "signed") for w in words):
        return None  # a type without a name
    base = base_type(words)
    resolved, seen = base, 0
    while resolved in types and types[resolved] and seen < 8:
        resolved, seen = types[resolved], seen + 1
    if resolved.endswith("*"):
        resolved, stars = resolved.rstrip("* "), stars + 1
    access = next((word for word in qualifiers if word in ("read_only", "write_only", "read_write")), None)
    space = next((word for word in qualifiers if word in ADDRESS_SPACES), None)
    pointer = stars > 0 or bool(arrays)
    return Param(name, _kind(resolved, pointer, space), resolved, pointer, const, access)


def _kind(base: str, pointer: bool, space: str | None) -> str:
    if pointer:
        return space if space in ("global", "constant", "local") else "unknown"
    if _IMAGE.match(base):
        return "image"
    if base == "sampler_t":
        return "sampler"
    if base.startswith("pipe"):
        return "pipe"
    if size_of(base) is not None:
        return "scalar"
    if base.startswith(("struct ", "union ")):
        return "struct"
    return "scalar" if base.startswith("enum ") else "unknown"


def base_type(words: list[str]) -> str:
    """Return the canonical name of a type from its words: `unsigned long long` is "ulong"."""
    words = [word for word in words if word != "*" and word not in _QUALIFYING - {"unsigned", "signed"}]
    if "unsigned" in words or "signed" in words or words in (["long", "long"], ["long", "int"], ["short", "int"]):
        rest = [word for word in words if word not in ("unsigned", "signed", "int")] or ["int"]
        return ("u" if "unsigned" in words else "") + rest[0]
    return " ".join(words)


def size_of(name: str) -> int | None:
    """Return the bytes of a scalar or vector type; a vector of three counts as four (6.1.5)."""
    if name in SCALARS:
        return SCALARS[name]
    match = re.fullmatch(r"(u?(?:char|short|int|long)|half|float|double)(2|3|4|8|16)", name)
    if match is None:
        return None
    return SCALARS[match[1]] * (4 if match[2] == "3" else int(match[2]))


def typedefs(text: str) -> dict[str, str]:
    """Return what the typedef names of the text stand for; structures give "struct NAME", pointers end in "*"."""
    out: dict[str, str] = {}
    for match in re.finditer(r"\btypedef\b", text):
        at = match.end()
        depth = 0
        end = at
        for mark in re.compile(r"[{};]").finditer(text, at):
            if mark[0] == "{":
                depth += 1
            elif mark[0] == "}":
                depth -= 1
            elif depth == 0:
                end = mark.start()
                break
        else:
            continue
        declared = text[at:end]
        body = re.match(r"\s*((?:struct|union|enum)\b\s*\w*)\s*\{", declared)
        if body is not None:
            names = declared[declared.rfind("}") + 1 :]
            kind = "enum int" if body[1].startswith("enum") else f"{body[1].split()[0]} {match.start()}"
            for name in names.split(","):
                if re.fullmatch(r"\s*\w+\s*", name):
                    out[name.strip()] = kind
                elif word := re.search(r"(\w+)\s*$", name):
                    out[word[1]] = f"{kind} *" if "*" in name else ""
            continue
        plain = re.fullmatch(r"([\w\s]+?)([\s*]+)(\w+)\s*", declared)
        if plain is not None:
            base = base_type(plain[1].split())
            out[plain[3]] = f"{base} *" if "*" in plain[2] else base
        elif word := re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", declared):
            out[word[1]] = ""
    return out
