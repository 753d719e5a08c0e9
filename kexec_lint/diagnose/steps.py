"""Fill in what the log names: operator, file, program, command, into causes and next steps."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kexec_lint.diagnose.chain import Diagnosis
from kexec_lint.diagnose.clean import Line

_PLACE = re.compile(r"\{(\w+)(?:\|([^{}]*))?\}")
_OPERATOR = re.compile(
    r"\boperator[:' ]{1,3}(?P<op>\w+::\w+(?:\.\w+)?)"
    r"|\b(?P<op2>(?!torch::|std::|c10::|at::)[a-z_]\w{1,40}::[a-z_]\w*(?:\.\w+)?)\b(?!\()"
)
_FRAME = re.compile(r'File "([^"\n]{1,400})", line (\d+)')
_POSITION = re.compile(r"\.(?:py|ipynb|c|cc|cpp|cxx|h|hpp|cu|cl|mm|txt|cmake|ya?ml):(\d+)")
_PATH_END = re.compile(r"[\w./\\+\-]{1,300}$")
_FOREIGN = re.compile(r"site-packages|dist-packages|[/\\]lib[/\\]python3|<frozen|<string>|<stdin>|^/usr/|^/opt/")
_MOST = 3
"""A step that names an operator is given for at most so many of them."""


@dataclass(frozen=True)
class Named:
    """What a log names: positions in the user's own code as (file, row), and the first ExecuTorch program.

    `file` is the last of the files that exists here.
    """

    frames: tuple[tuple[str, int], ...]
    program: str | None
    file: str | None = None


def named(lines: Iterable[Line]) -> Named:
    """Return the positions and the program that `lines` name, in order, each once."""
    frames: dict[tuple[str, int], None] = {}
    program = None
    for line in lines:
        text = line.text
        places = [(m[1], m[2]) for m in _FRAME.finditer(text)] if 'File "' in text else []
        if ":" in text:
            places += [(_path_before(text, m.end() - len(m[1]) - 1), m[1]) for m in _POSITION.finditer(text)]
        for path, row in places:
            if path and not _FOREIGN.search(path):
                frames[path, int(row[:9])] = None
        if program is None and ".pte" in text:
            program = _path_before(text, text.index(".pte") + 4)
    file = next((path for path, _ in list(frames)[:-201:-1] if os.path.exists(path)), None)
    return Named(tuple(frames), program, file)


def _path_before(text: str, end: int) -> str:
    match = _PATH_END.search(text, max(0, end - 300), end)
    return match[0] if match else ""


def fill(diagnosis: Diagnosis, lines: Sequence[Line], names: Named, command: str | None) -> Diagnosis:
    """Return the diagnosis with every placeholder filled in; a step that lacks its value is left out."""
    known = dict(diagnosis.fields)
    if "op" not in known and any("{op" in step for step in diagnosis.next_steps):
        known["op"] = tuple(_operators_near(diagnosis, lines))
    if command is not None:
        known["cmd"] = (command,)
    if names.file:
        known.setdefault("file", (names.file,))
    if names.program:
        known.setdefault("pte", (names.program,))
    steps = [filled for step in diagnosis.next_steps for filled in _filled(step, known)]
    cause = next(iter(_filled(diagnosis.cause, known, missing="?")), diagnosis.cause)
    cause = re.sub(r": \?$|: $", "", cause)
    return replace(diagnosis, cause=cause, next_steps=tuple(dict.fromkeys(steps)), fields=known)


def _filled(text: str, known: Mapping[str, tuple[str, ...]], missing: str | None = None) -> list[str]:
    """Return `text` once for each value of the placeholder that has most; nothing if one has none."""
    names = {match[1] for match in _PLACE.finditer(text)}
    count = max((len(known.get(name, ())) for name in names), default=1) or 1
    out = []
    for index in range(1 if missing is not None else min(count, _MOST)):
        lacking = False

        def value(match: re.Match[str], index: int = index) -> str:
            nonlocal lacking
            values = known.get(match[1]) or ()
            if values:
                return values[min(index, len(values) - 1)]
            if match[2] is not None:
                return match[2]
            lacking = True
            return missing or ""

        filled = _PLACE.sub(value, text)
        if not lacking or missing is not None:
            out.append(filled)
    return out


def _operators_near(diagnosis: Diagnosis, lines: Sequence[Line]) -> list[str]:
    """Return operators named within a few lines of the evidence."""
    at = [bisect_left(lines, number, key=lambda line: line.number) for number, _ in diagnosis.lines[:5]]
    found: dict[str, None] = {}
    for index in at:
        for line in lines[max(0, index - 4) : index + 5]:
            for match in _OPERATOR.finditer(line.text):
                found[match["op"] or match["op2"]] = None
    return list(found)[:_MOST]
