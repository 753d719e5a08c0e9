"""Literals of C and C++: numbers, characters, strings with escapes, raw strings."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_PREFIX = re.compile(r"^(?:u8|u|U|L)?")


def number(text: str) -> int | float | None:
    """Return the value of a number literal, None if it has none that can be computed."""
    plain = text.replace("'", "").lower()
    try:
        if plain.startswith(("0x", "0b")) and "p" not in plain and "." not in plain:
            return int(plain.rstrip("ulz"), 0)
        if re.fullmatch(r"\d+[ulz]*", plain):
            digits = plain.rstrip("ulz")
            return int(digits, 8) if digits.startswith("0") and len(digits) > 1 else int(digits)
        return float(plain.rstrip("flh"))
    except ValueError:
        return None


def unescaped(text: str) -> str:
    """Return a character sequence with its escapes replaced."""

    def one(match: re.Match[str]) -> str:
        escape = match[1]
        if escape[0] in "xuU" and len(escape) > 1:
            code = int(escape[1:], 16)
            return chr(code) if code < 0x110000 else "?"
        if escape[0] in "01234567" and escape != "0":
            return chr(int(escape, 8))
        if escape.endswith("\n"):
            return ""
        return _SIMPLE.get(escape, escape)

    return _ESCAPE.sub(one, text) if "\\" in text else text


def string(text: str) -> str:
    """Return the value of a string literal as written, raw ones too."""
    text = _PREFIX.sub("", text, count=1)
    if text.startswith('R"'):
        head = text.find("(")
        delimiter = text[2:head]
        end = text.rfind(f"){delimiter}")
        return text[head + 1 : end if end > head else len(text)]
    return unescaped(text[1:-1] if text.endswith('"') and len(text) > 1 else text[1:])
