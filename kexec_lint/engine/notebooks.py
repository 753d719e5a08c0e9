"""What of a notebook can matter (not the pictures in its outputs, which are most of its bytes), and edits of cells."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

LIMIT = 64 * 1024 * 1024
"""A longer notebook is not read, pictures or not."""

_PICTURES = (b'"image/', b'"application/', b'"audio/', b'"video/', b";base64,")
"""What stands before a string of the outputs that no one reads: a media type as key, or the start of a data URL."""

_LONG = 200


def without_pictures(data: bytes) -> bytes:
    """Return a notebook with what its outputs embed taken out, to look for words in and to judge its size."""
    for mark in _PICTURES:
        data = _without(data, mark)
    return data


def _without(data: bytes, mark: bytes) -> bytes:
    """Take out the long run without a space or quote that begins a few bytes behind every `mark`."""
    kept = []
    done = 0
    at = data.find(mark)
    while at >= 0:
        start = at + len(mark)
        if mark[:1] == b'"':  # the rest of the key, and the quote that opens its string
            start = max(data.find(b'"', data.find(b'"', start) + 1) + 1, start)
        end = data.find(b'"', start)
        if end < 0:
            break
        if end - start > _LONG and data.find(b" ", start, end) < 0:
            kept.append(data[done:start])
            done = end - 1 if data[end - 1 : end] == b"\\" else end
        at = data.find(mark, end)
    return b"".join([*kept, data[done:]]) if kept else data


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
