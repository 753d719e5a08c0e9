"""Preprocessor conditions in three-valued logic: a name that a build option may define is unknown, not 0."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_TOKENS = re.compile(r"\s*(?:(\d\w*)|(defined)\b|([A-Za-z_]\w*)|(&&|\|\||[=!<>]=|<<|>>|[-+*/%<>!~&|^()?:,]))")
_PRECEDENCE = [
    ["||"],
    ["&&"],
    ["|"],
    ["^"],
    ["&"],
    ["==", "!="],
    ["<", "<=", ">", ">="],
    ["<<", ">>"],
    ["+", "-"],
    ["*", "/", "%"],
]
_MAX_DEPTH = 40

Lookup = Callable[[str], "str | bool | None"]


def evaluate(condition: str, lookup: Lookup, choices: Mapping[str, bool]) -> bool | None:
    """Return the truth of an `#if` condition, or None when the text alone does not decide it.

    `lookup` gives a macro's body, False for a name surely undefined, None for one that may be defined outside;
    `choices` are truths assumed so far, by condition without blanks.
    """
    assumed = choices.get(re.sub(r"\s+", "", condition))
    if assumed is not None:
        return assumed
    try:
        value = _Reader(condition, lookup, choices).whole()
    except (ValueError, IndexError, OverflowError, ZeroDivisionError, RecursionError):
        return None
    return None if value is None else bool(value)


class _Reader:
    """A recursive-descent reader of one condition; None is the unknown value."""

    def __init__(self, text: str, lookup: Lookup, choices: Mapping[str, bool], depth: int = 0) -> None:
        self.tokens: list[tuple[str, str, str, str]] = []
        self.lookup, self.choices, self.depth = lookup, choices, depth
        at, text = 0, text.strip()
        while at < len(text):
            match = _TOKENS.match(text, at)
            if match is None:
                raise ValueError(text)
            self.tokens.append((match[1] or "", match[2] or "", match[3] or "", match[4] or ""))
            at = match.end()
        self.at = 0
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deeply")

    def whole(self) -> int | None:
        value = self.choice()
        if self.at < len(self.tokens):
            raise ValueError("trailing tokens")
        return value

    def accept(self, *operators: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at][3] in operators:
            self.at += 1
            return self.tokens[self.at - 1][3]
        return None

    def choice(self) -> int | None:
        test = self.binary(0)
        if self.accept("?") is None:
            return test
        then = self.choice()
        if self.accept(":") is None:
            raise ValueError("no ':'")
        orelse = self.choice()
        return None if test is None else then if test else orelse

    def binary(self, level: int) -> int | None:
        if level == len(_PRECEDENCE):
            return self.unary()
        left = self.binary(level + 1)
        while (operator := self.accept(*_PRECEDENCE[level])) is not None:
            left = _apply(operator, left, self.binary(level + 1))
        return left

    def unary(self) -> int | None:
        operator = self.accept("!", "-", "+", "~")
        if operator is not None:
            value = self.unary()
            if value is None:
                return None
            return {"!": int(not value), "-": -value, "+": value, "~": ~value}[operator]
        if self.accept("(") is not None:
            value = self.choice()
            if self.accept(")") is None:
                raise ValueError("no ')'")
            return value
        number, defined, name, _ = self.tokens[self.at]
        self.at += 1
        if number:
            return int(number.rstrip("uUlL"), 0) if not re.match(r"0\d", number) else int(number.rstrip("uUlL"), 8)
        if defined:
            bracket = self.accept("(")
            name = self.tokens[self.at][2]
            self.at += 1
            if bracket is not None and self.accept(")") is None:
                raise ValueError("no ')'")
            body = self.lookup(name)
            if body is None or body is False:
                assumed = self.choices.get(f"defined({name})")
                return int(assumed) if assumed is not None else None if body is None else 0
            return 1
        if name:
            return self.macro(name)
        raise ValueError("no operand")

    def macro(self, name: str) -> int | None:
        body = self.lookup(name)
        if body is False:
            return 0
        if body is None or body is True or not body.strip() or body.strip() == name:
            return None
        return _Reader(body, self.lookup, self.choices, self.depth + 1).whole()


def _apply(operator: str, left: int | None, right: int | None) -> int | None:
    if operator == "&&":
        if 0 in (left, right):
            return 0
        return None if left is None or right is None else 1
    if operator == "||":
        if left or right:
            return 1
        return None if left is None or right is None else 0
    if left is None or right is None:
        return None
    if operator in ("<<", ">>") and not 0 <= right < 64:
        return None
    return {
        "|": lambda: left | right,
        "^": lambda: left ^ right,
        "&": lambda: left & right,
        "==": lambda: int(left == right),
        "!=": lambda: int(left != right),
        "<": lambda: int(left < right),
        "<=": lambda: int(left <= right),
        ">": lambda: int(left > right),
        ">=": lambda: int(left >= right),
        "<<": lambda: left << right,
        ">>": lambda: left >> right,
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: int(left / right),
        "%": lambda: left % right,
    }[operator]()
