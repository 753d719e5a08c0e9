"""Keep patterns cheap: the literals that a match must hold, tested first, and a bound on every repetition."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    from re import _parser as sre  # type: ignore[attr-defined]
else:
    import sre_parse as sre

_IGNORECASE = 2
_MOST = 30


def needles(pattern: str) -> tuple[str, ...]:
    """Return strings of which every match of `pattern` holds at least one; empty if no such literal exists.

    Raises re.error for a pattern that is not a regular expression.
    """
    found = _best(sre.parse(pattern))
    return tuple(sorted(found)) if found else ()


def _best(sequence: Any) -> set[str] | None:
    """Return the most telling set of alternatives among the parts that every match passes through."""
    candidates: list[set[str]] = []
    runs = {""}
    for operator, argument in sequence:
        name = str(operator)
        letters = {chr(argument)} if name == "LITERAL" else _class(name, argument)
        if letters and len(letters) * len(runs) <= _MOST:
            runs = {run + letter for run in runs for letter in letters}
            continue
        candidates.append(runs)
        runs = {""}
        inner = _inner(name, argument)
        if inner:
            candidates.append(inner)
    candidates.append(runs)
    found = max(candidates, key=lambda c: (min(len(s) for s in c), -len(c)))
    return found if min(len(s) for s in found) else None


def _class(name: str, argument: Any) -> set[str]:
    """Return the letters of a small character class, or nothing."""
    letters: set[str] = set()
    if name != "IN":
        return letters
    for kind, value in argument:
        if str(kind) == "LITERAL":
            letters.add(chr(value))
        elif str(kind) == "RANGE" and value[1] - value[0] < _MOST:
            letters.update(map(chr, range(value[0], value[1] + 1)))
        else:
            return set()
    return letters


def _inner(name: str, argument: Any) -> set[str] | None:
    if name == "BRANCH":
        parts = [_best(alternative) for alternative in argument[1]]
        return None if any(not p for p in parts) else set().union(*(p for p in parts if p))
    if name == "SUBPATTERN":
        return None if argument[1] & _IGNORECASE else _best(argument[3])
    if name in ("MAX_REPEAT", "MIN_REPEAT") and argument[0] > 0:
        return _best(argument[2])
    if name == "ASSERT" and argument[0] > 0:
        return _best(argument[1])
    return None


def bounded(pattern: str, most: int = 200) -> str:
    r"""Return `pattern` with every open repetition (`\w+`, `.*`) limited to `most`: no line makes it slow."""
    out: list[str] = []
    in_class = False
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            out.append(pattern[position : position + 2])
            position += 2
            continue
        if char == "[" and not in_class:
            in_class = True
            head = 2 if pattern.startswith(("[]", "[^"), position) else 1
            head += pattern.startswith("[^]", position)
            out.append(pattern[position : position + head])
            position += head
            continue
        if char == "]":
            in_class = False
        if char in "+*" and not in_class:
            char = f"{{{int(char == '+')},{most}}}"
        out.append(char)
        position += 1
    return "".join(out)
