"""What of a notebook can matter (not the pictures in its outputs, which are most of its bytes), and edits of cells."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

LIMIT = 64 * 1024 * 1024
"""A longer notebook is not read, pictures or not."""

_PICTURES = (
    re.compile(rb'("(?:image|application|audio|video)/[\w.+-]+": *")[^"\\]*(?:\\n[^"\\]*)*'),
    re.compile(rb"(;base64,)[\w+/=]*"),
)


def without_pictures(data: bytes) -> bytes:
    """Return a notebook with what its outputs embed taken out, to look for words in and to judge its size."""
    for pattern in _PICTURES:
        data = pattern.sub(rb"\1", data)
    return data


def rewritten(text: str, changes: Mapping[int, Callable[[str], str]]) -> str:
    """Return a notebook with the sources of some cells changed, by number from 1; every other byte stays."""
    whole = next(_items(text, _gap(text, 0), members=True, key="cells"))
    parts, last = [], 0
    for number, (_, cell, _) in enumerate(_items(text, whole[1], members=False), 1):
        if number in changes:
            _, start, end = next(_items(text, cell, members=True, key="source"))
            parts += [text[last:start], _source(text[start:end], changes[number])]
            last = end
    return "".join((*parts, text[last:]))


def _source(raw: str, change: Callable[[str], str]) -> str:
    """Return the JSON of a cell's source changed; a list of lines keeps its layout and the lines that stay theirs."""
    value = json.loads(raw)
    if isinstance(value, str):
        return json.dumps(change(value), ensure_ascii="\\u" in raw)
    known = {line: raw[start:end] for line, (_, start, end) in zip(value, _items(raw, 0, members=False), strict=True)}
    lines = re.findall(r"[^\n]*\n|[^\n]+\Z", change("".join(value)))
    items = [known.get(line) or json.dumps(line, ensure_ascii="\\u" in raw) for line in lines]
    first = raw[1 : _gap(raw, 1)]
    tail = raw[len(raw[:-1].rstrip()) : -1]
    return "[" + first + f",{first or ' '}".join(items) + tail + "]"


def _items(text: str, at: int, members: bool, key: str | None = None) -> Iterator[tuple[str, int, int]]:
    """Yield name, start and end of the values of the JSON object or list at a place, or of one name only."""
    decoder = json.JSONDecoder()
    at = _gap(text, at + 1)
    while text[at] not in "]}":
        name = ""
        if members:
            name, at = decoder.raw_decode(text, at)
            at = _gap(text, _gap(text, at) + 1)
        end = decoder.raw_decode(text, at)[1]
        if key in (None, name):
            yield name, at, end
        at = _gap(text, end)
        if text[at] == ",":
            at = _gap(text, at + 1)


def _gap(text: str, at: int) -> int:
    """Return the first place from `at` on that is no white space."""
    while text[at : at + 1] in (" ", "\t", "\r", "\n"):
        at += 1
    return at
