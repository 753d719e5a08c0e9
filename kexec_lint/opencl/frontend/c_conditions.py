"""Conditional compilation: `#if` branches are the arms of an If whose test is the condition as written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from kexec_lint.opencl.frontend.c_unit import Unit, named
from kexec_lint.opencl.program import If, Name, Statement

Lower = Callable[[Unit, Iterable[Any]], tuple[Statement, ...]]
_NUMBER = re.compile(r"^\(*\s*(\d+)\s*\)*$")
_DEFINED = re.compile(r"^defined\s*\(?\s*(\w+)\s*\)?$")


def conditional(unit: Unit, node: Any, lower: Lower) -> tuple[Statement, ...]:
    """Lower `#if`, `#ifdef`, `#ifndef` around statements."""
    arms: list[tuple[Any, str | bool]] = []
    rest = node
    while rest is not None and rest.type in ("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef"):
        arms.append((rest, condition(unit, rest)))
        rest = rest.child_by_field_name("alternative")
    orelse = lower(unit, inside(rest)) if rest is not None else ()
    for arm, test in reversed(arms):
        if isinstance(test, bool):
            orelse = lower(unit, inside(arm)) if test else orelse
            continue
        then = lower(unit, inside(arm))
        span = unit.span(arm)
        negated = test.startswith("!")
        name = Name(span, f"#{test.lstrip('!')}")
        if then or orelse:
            orelse = (If(span, name, orelse, then) if negated else If(span, name, then, orelse),)
    return orelse


def inside(node: Any) -> list[Any]:
    """Return what a branch of conditional compilation holds."""
    skip = [node.child_by_field_name(name) for name in ("name", "condition", "alternative")]
    starts = {one.start_byte for one in skip if one is not None}
    return [one for one in named(node) if one.start_byte not in starts]


def condition(unit: Unit, node: Any) -> str | bool:
    """Return the condition of a branch as written ("!" before what must not be defined), or what it always is."""
    name = node.child_by_field_name("name")
    if name is not None:
        text = unit.text(name)
        known = _told(unit, text)
        negative = unit.data[node.start_byte : name.start_byte].lstrip().startswith((b"#ifndef", b"#elifndef"))
        if text == "__cplusplus":
            return (unit.language == "c++") is not negative
        if known is not None:
            return known is not negative
        return ("!" if negative else "") + text
    test = node.child_by_field_name("condition")
    text = " ".join(unit.text(test).split()) if test is not None else "?"
    number = _NUMBER.match(text)
    if number is not None:
        return number[1] != "0"
    decided = _decided(unit, text)
    if decided is not None:
        return decided
    defined = _DEFINED.match(text.lstrip("! "))
    if defined is not None:
        negative = text.startswith("!")
        if defined[1] == "__cplusplus":
            return (unit.language == "c++") is not negative
        return ("!" if negative else "") + defined[1]
    return text.replace("!", "not ")


def _told(unit: Unit, name: str) -> bool | None:
    """Return whether the compiler is told that a macro is defined, None if it is told nothing of it."""
    return unit.defines[name] is not None if name in unit.defines else None


def _decided(unit: Unit, text: str) -> bool | None:
    """Return the value of a condition if it hangs on nothing but numbers and macros that the compiler is given."""
    if not unit.defines or len(text) > 200:
        return None
    known = True

    def defined(match: re.Match[str]) -> str:
        nonlocal known
        told = _told(unit, match[1] or match[2])
        known = known and told is not None
        return str(int(bool(told)))

    def value(match: re.Match[str]) -> str:
        nonlocal known
        body = unit.defines.get(match[0], "")
        number = _NUMBER.match(body) if body else None
        known = known and match[0] in unit.defines and (body is None or number is not None)
        return number[1] if number is not None else "0"

    plain = _NAME.sub(value, _ASKED.sub(defined, text))
    plain = re.sub(r"!(?!=)", " not ", plain.replace("&&", " and ").replace("||", " or "))
    plain = re.sub(r"\b0+(?=\d)|(?<=\d)[uUlL]+\b", "", plain)
    if not known or not _ARITHMETIC.match(plain) or "**" in plain or "//" in plain:
        return None
    try:
        return bool(eval(plain, {"__builtins__": {}}))  # digits, operators and parentheses only
    except (SyntaxError, ArithmeticError, TypeError, ValueError):
        return None


_ASKED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
_ARITHMETIC = re.compile(r"^(?:[\d\s()<>=!+*/%-]|and|or|not)+$")
