"""Turn a raw log into numbered lines of plain text: no colours, no rank or time prefixes, no echoed source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

PIECE = 4000
"""Longest text, in characters, that a pattern is run over; longer lines are cut into overlapping pieces."""
OVERLAP = 400


class Line(NamedTuple):
    """A piece of a log. Long lines and progress bars give several pieces of one `number` (from 1)."""

    number: int
    text: str


_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,300}(?:\x07|\x1b\\)|[@-Z\\^_=>78])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ufeff\u200b]")
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d\u00a0", "''\"\" ")
_PREFIX = re.compile(
    r"""(?:
      \[(?:rank|default)?\d{1,5}\]:?\ ?                                  # torchrun: [rank0]:
    | \[\d+,\d+\]<std(?:err|out)>:\ ?                                    # mpirun
    | \((?:[\w.:\-]{1,60}\ )?(?:[\w.=]{1,40}\ )?pid=\d+[^)\n]{0,80}\)\ ? # Ray, vLLM: (EngineCore pid=7)
    | \d{4}-\d\d-\d\d[T\ ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\ ? # CI and logging time
    | \[\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d:\d\d[^\]\n]{0,20}\]:?\ ?
    | \[\ {0,8}\d{1,9}\.\d{3,9}\]\ ?                                     # dmesg
    | (?!(?:ERROR|WARN|FATAL|CRITICAL|SEVERE)\w{0,4}\ )[\w.\-]{1,40}\ {1,30}\|\  # docker compose; a severity stays
    | (?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\ \d\d-\d\d\ \d\d:\d\d:\d\d\ \[?\w{1,60}\.py:\d+\]\ ? # vLLM's logger
      (?=\ {2}|File\ "|Traceback|[\w.]{0,80}(?:Error|Exception)\b)
    | [VIWEC]\d{4}\ (?:[\d:.]{8,15}\ \d{1,20}\ )?[\w./]{3,120}\.py:\d+\]\  # torch's logger
      (?:\[\d+/\d+(?:_\d+)?\]\ )?(?:\[__\w{1,40}\]\ )?
      (?=\ {2}|File\ "|Traceback|[\w.]{0,80}(?:Error|Exception)\b)
    | !!\ |>\ (?=File\ ")
    )""",
    re.X,
)
_FRAME = re.compile(r' {2,12}File "[^"\n]{1,400}", line \d+')
_ECHO = re.compile(r"\s{4,}\S")
_CARETS = re.compile(r"\s*[\^~]{2,}[\^~ \-|]*$")
_ESCAPED = re.compile(r"(?<!\\)\\n")  # but no path: C:\\lib\\nvidia
_BOLD = re.compile(r"(?<![\w*/(])\*\*(?=\w)([^*\n]{1,300}?)(?<=\S)\*\*(?![\w*/])")
_ROW = re.compile(r"^\s{0,8}\|.{2,3000} \|$")
_ROW_GOES_ON = re.compile(r"^\s{0,8}\|(?: {2,200}\|){1,6} (?=\S)(.{1,3000}) \|\s{0,40}$")


def decode(data: bytes) -> str:
    """Return the text of a log file: UTF-16 with its mark (PowerShell writes it), else UTF-8."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8", "replace")


def clean(text: str) -> list[Line]:
    """Return the pieces of `text` worth matching, numbered as an editor numbers its lines."""
    lines: list[Line] = []
    echo = False
    escapes, quotes = "\x1b" in text, "\\'" in text or '\\"' in text
    bold, tables = "**" in text, " |\n" in text
    for number, raw in enumerate(text.split("\n"), 1):
        for piece in _pieces(raw):
            if escapes:
                piece = _ANSI.sub("", piece)
            piece = _unprefixed(_CONTROL.sub(" ", piece.translate(_QUOTES)))
            if bold:
                piece = _BOLD.sub(r"\1", piece)
            if tables and lines and (cell := _ROW_GOES_ON.match(piece)) and _ROW.match(lines[-1].text):
                # a table's cell, cut at its width (Triton's server): what stands in it is one message
                lines[-1] = Line(lines[-1].number, f"{lines[-1].text[:-2]}{cell[1]} |"[:PIECE])
                continue
            if quotes:
                piece = piece.replace("\\'", "'").replace('\\"', '"')
            if (echo and _ECHO.match(piece) and _FRAME.match(piece) is None) or _CARETS.match(piece):
                echo = False  # the source line under a traceback frame is code, not a message
                continue
            echo = _FRAME.match(piece) is not None
            if piece.strip():
                lines.append(Line(number, piece.rstrip()))
    return lines


def _pieces(raw: str) -> Iterator[str]:
    """Cut a line at carriage returns and escaped line ends, then into pieces of bounded length."""
    parts = raw.split("\r") if "\r" in raw else [raw]
    for part in parts:
        whole = _ESCAPED.split(part) if len(part) > 200 and "\\n" in part else [part]
        for text in whole:
            if len(text) <= PIECE:
                yield text
            else:
                for start in range(0, len(text), PIECE - OVERLAP):
                    yield text[start : start + PIECE]


def _unprefixed(text: str) -> str:
    for _ in range(4):
        match = _PREFIX.match(text)
        if match is None:
            break
        text = text[match.end() :]
    return text
