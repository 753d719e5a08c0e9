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
        negative = unit.data[node.start_byte : name.start_byte].lstrip().startswith((b"#ifndef", b"#elifndef"))
        if text == "__cplusplus":
            return (unit.language == "c++") is not negative
        return ("!" if negative else "") + text
    test = node.child_by_field_name("condition")
    text = " ".join(unit.text(test).split()) if test is not None else "?"
    number = _NUMBER.match(text)
    if number is not None:
        return number[1] != "0"
    defined = _DEFINED.match(text.lstrip("! "))
    if defined is not None:
        negative = text.startswith("!")
        if defined[1] == "__cplusplus":
            return (unit.language == "c++") is not negative
        return ("!" if negative else "") + defined[1]
    return text.replace("!", "not ")
