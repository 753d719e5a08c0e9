"""Macros that the file defines: constants are read in place, those that wrap calls of interest are expanded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from kexec_lint.opencl.frontend.c_unit import Macro, Unit, named, words

_TOKEN = re.compile(r'[A-Za-z_]\w*|\d[\w.]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|##|#|\s+|.', re.DOTALL)
_CONTINUED = re.compile(r"\\\r?\n")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_LIMIT = 20_000
_DEPTH = 6


def define(unit: Unit, node: Any) -> None:
    """Remember the macro of a `#define` node."""
    name = node.child_by_field_name("name")
    value = node.child_by_field_name("value")
    if name is None:
        return
    body = _COMMENT.sub(" ", _CONTINUED.sub("\n", unit.text(value))).strip() if value is not None else ""
    params: tuple[str, ...] | None = None
    if node.type == "preproc_function_def":
        listed = node.child_by_field_name("parameters")
        params = tuple(unit.text(p) for p in listed.children if p.type in ("identifier", "...")) if listed else ()
    macro = Macro(unit.text(name), params, body)
    unit.macros.setdefault(macro.name, macro)


def wraps(unit: Unit, name: str, interesting: Callable[[str], bool], depth: int = 4) -> bool:
    """Return whether a function-like macro of the file holds, itself or through another, a call of interest."""
    macro = unit.macros.get(name)
    if macro is None or macro.params is None or name in unit.expanding or len(unit.expanding) > _DEPTH:
        return False
    for word in words(macro.body):
        if interesting(word):
            return True
        if depth and word != name and word in unit.macros and wraps(unit, word, interesting, depth - 1):
            return True
    return False


def expanded(unit: Unit, name: str, arguments: Iterable[Any]) -> str | None:
    """Return the body of a function-like macro with the texts of its arguments; None if it grows too large."""
    macro = unit.macros[name]
    assert macro.params is not None
    given = [unit.text(node) for node in arguments]
    values = dict(zip(macro.params, given, strict=False))
    if macro.params and macro.params[-1] in ("...", "__VA_ARGS__"):
        rest = ", ".join(given[len(macro.params) - 1 :])
        values["__VA_ARGS__"] = rest
    parts: list[str] = []
    size = 0
    tokens = _TOKEN.findall(macro.body)
    for number, token in enumerate(tokens):
        if token == "##":
            while parts and parts[-1].isspace():
                parts.pop()
            continue
        if token == "#":
            continue
        if token.isspace() and number and any(t == "##" for t in tokens[max(0, number - 1) : number]):
            continue
        before = next((t for t in reversed(tokens[:number]) if not t.isspace()), "")
        value = values.get(token, token)
        if before == "#" and token in values:
            value = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        parts.append(value)
        size += len(value)
        if size > _LIMIT:
            return None
    return "".join(parts)


def arguments_of(node: Any) -> list[Any]:
    """Return the argument nodes of a call."""
    listed = node.child_by_field_name("arguments")
    return named(listed) if listed is not None else []
