"""Strings and descriptors as a tracer prints them → the text and the numbers that they stand for."""

from __future__ import annotations

import re

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "a": "\a", "b": "\b", "e": "\x1b"}
ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))", re.S)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\.\.\.)?', re.S)
DESCRIPTOR = re.compile(r"(-?\d{1,10}(?!\d))(?:<((?:->|[^<>]|<[^<>]*>)*)>)?")
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


def _byte(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return bytes([int(match[1], 16)])
    if match[2]:
        return bytes([int(match[2], 8) & 0xFF])
    letter = match[3].decode("latin-1")
    return ESCAPES.get(letter, letter).encode("latin-1")


def unescape(text: str) -> str:
    r"""Return what a printed C string means: `\n`, `\"`, octal and `\x` bytes, read as UTF-8."""
    if "\\" not in text:
        return text
    return ESCAPE.sub(_byte, text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")


def raw_bytes(argument: str) -> bytes | None:
    r"""Return the bytes of the last quoted string of an argument (`"\x01" => "\x51"`), None if it has none."""
    found = list(STRING.finditer(argument))
    return ESCAPE.sub(_byte, found[-1][1].encode("utf-8", "surrogateescape")) if found else None


def strings(argument: str) -> list[tuple[str, bool]]:
    """Return each quoted string of an argument, unescaped, and whether the tracer cut it short."""
    return [(unescape(m[1]), m[2] is not None) for m in STRING.finditer(argument)]


def path_of(argument: str) -> str | None:
    """Return the path that an argument of `open` holds, quoted or, as perf prints it, bare."""
    quoted = strings(argument)
    if quoted:
        return quoted[0][0]
    return argument if argument.startswith("/") else None


def descriptor_of(argument: str) -> tuple[int | None, str | None]:
    """Return the number and the annotated path of a descriptor argument (`3</dev/kfd<char 235:0>>`)."""
    match = DESCRIPTOR.match(argument)
    if match is None:
        return None, None
    path = unescape(match[2]) if match[2] is not None else None
    return int(match[1]), path


def plain(text: str) -> str:
    """Return text without terminal colours."""
    return ANSI.sub("", text) if "\x1b" in text else text
