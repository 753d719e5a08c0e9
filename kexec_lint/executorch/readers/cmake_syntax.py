"""Splits CMake source into commands and arguments with their lines, and expands plain variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kexec_lint.executorch.registration import place
from kexec_lint.findings import Location

_TOKEN = re.compile(
    r"""(?P<bracket_comment>\#\[(?P<c>=*)\[.*?\](?P=c)\])
      | (?P<comment>\#[^\n]*)
      | (?P<space>\s+)
      | (?P<bracket>\[(?P<b>=*)\[(?P<raw>.*?)\](?P=b)\])
      | (?P<quoted>"(?P<text>(?:[^"\\]|\\.)*)")
      | (?P<open>\()
      | (?P<close>\))
      | (?P<word>(?:[^\s()"#\\]|\\.|"(?:[^"\\]|\\.)*")+)
    """,
    re.X | re.S,
)
_REFERENCE = re.compile(r"\$(?:CACHE)?\{([\w./+-]+)\}")


@dataclass(frozen=True)
class Argument:
    """An argument as written (without its quotes) and where it stands."""

    text: str
    at: Location
    quoted: bool = False


@dataclass(frozen=True)
class Command:
    """A command call; `name` is in lower case."""

    name: str
    arguments: tuple[Argument, ...]
    at: Location

    def words(self) -> list[str]:
        """Return the arguments' texts."""
        return [argument.text for argument in self.arguments]


def commands(path: str, source: str) -> Iterator[Command]:
    """Yield the commands of a file in order. What does not lex is skipped: a half-typed file is no error."""
    position, depth = 0, 0
    name: tuple[str, Location] | None = None
    arguments: list[Argument] = []
    starts = [0, *(match.end() for match in re.finditer("\n", source))]
    row = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            position += 1
            continue
        while row + 1 < len(starts) and starts[row + 1] <= position:
            row += 1
        at = place(path, row + 1, position - starts[row] + 1, len(match[0].split("\n")[0]))
        position = match.end()
        kind = match.lastgroup
        if match["open"] is not None:
            depth += 1
            if depth > 1:
                arguments.append(Argument("(", at))
        elif match["close"] is not None:
            depth = max(depth - 1, 0)
            if depth:
                arguments.append(Argument(")", at))
            elif name is not None:
                yield Command(name[0].lower(), tuple(arguments), name[1])
                name, arguments = None, []
        elif match["word"] is not None:
            if depth:
                arguments.append(Argument(match["word"], at))
            else:
                name, arguments = (match["word"], at), []
        elif match["quoted"] is not None and depth:
            arguments.append(Argument(match["text"], at, quoted=True))
        elif match["bracket"] is not None and depth:
            arguments.append(Argument(match["raw"], at, quoted=True))
        assert kind is not None


class Variables:
    """Values of `set` and `option`, as far as they are plain; an unknown reference stays as written."""

    def __init__(self, folder: str) -> None:
        here = folder or "."
        self.values = {
            "CMAKE_CURRENT_SOURCE_DIR": here,
            "CMAKE_CURRENT_LIST_DIR": here,
            "CMAKE_SOURCE_DIR": here,
            "PROJECT_SOURCE_DIR": here,
        }

    def expand(self, text: str) -> str:
        """Return the text with references replaced by values, at most eight deep."""
        for _ in range(8):
            replaced = _REFERENCE.sub(lambda match: self.values.get(match[1], match[0]), text)
            if replaced == text or len(replaced) > 100_000:
                return replaced
            text = replaced
        return text

    def expand_all(self, arguments: tuple[Argument, ...]) -> list[Argument]:
        """Return the arguments after expansion; an unquoted list becomes several arguments, as in CMake."""
        found = []
        for argument in arguments:
            text = self.expand(argument.text)
            if argument.quoted:
                found.append(Argument(text, argument.at, True))
            else:
                found.extend(Argument(piece, argument.at) for piece in text.split(";") if piece)
        return found


def keywords(arguments: list[Argument], names: set[str]) -> tuple[list[Argument], dict[str, list[Argument]]]:
    """Split arguments as `cmake_parse_arguments` does: what stands before the first keyword, and each one's
    values.
    """
    before: list[Argument] = []
    found: dict[str, list[Argument]] = {}
    current = before
    for argument in arguments:
        if argument.text in names and not argument.quoted:
            current = found.setdefault(argument.text, [])
        else:
            current.append(argument)
    return before, found


def is_true(value: str) -> bool:
    """Return whether CMake takes the value for true, as far as a constant tells."""
    upper = value.upper()
    return upper in ("1", "ON", "YES", "TRUE", "Y") or bool(re.fullmatch(r"[1-9]\d*", upper))


def is_false(value: str) -> bool:
    """Return whether CMake takes the value for false."""
    upper = value.upper()
    return upper in ("", "0", "OFF", "NO", "FALSE", "N", "IGNORE", "NOTFOUND") or upper.endswith("-NOTFOUND")
