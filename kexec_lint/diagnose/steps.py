"""Fill in what the log names: operator, file, program, command, into causes and next steps."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kexec_lint.diagnose.chain import Diagnosis
from kexec_lint.diagnose.clean import Line

_PLACE = re.compile(r"\{(\w+)(?:\|([^{}]*))?\}")
_OPERATOR = re.compile(
    r"\boperator[:' ]{1,3}(?P<op>\w+::\w+(?:\.\w+)?)"
    r"|\b(?P<op2>(?!torch::|std::|c10::|at::)[a-z_]\w{1,40}::[a-z_]\w*(?:\.\w+)?)\b(?!\()"
)
_FRAME = re.compile(
    r'File "(?P<file>[^"\n]{1,400})", line (?P<row>\d+)'
    r"|(?P<file2>[\w./\\+\-]{1,300}\.(?:py|ipynb|c|cc|cpp|cxx|h|hpp|cu|cl|mm|txt|cmake|ya?ml)):(?P<row2>\d+)"
)
_FOREIGN = re.compile(r"site-packages|dist-packages|[/\\]lib[/\\]python3|<frozen|<string>|<stdin>|^/usr/|^/opt/")
_PTE = re.compile(r"[\w./\-]{1,200}\.pte\b")
_MOST = 3
"""A step that names an operator is given for at most so many of them."""


def frames(lines: Iterable[Line]) -> list[tuple[str, int]]:
    """Return the (file, row) positions that a log names in the user's own code, in order, each once."""
    found: dict[tuple[str, int], None] = {}
    for line in lines:
        for match in _FRAME.finditer(line.text):
            path = match["file"] or match["file2"]
            if not _FOREIGN.search(path):
                found[path, int(match["row"] or match["row2"])] = None
    return list(found)


def fill(diagnosis: Diagnosis, lines: Sequence[Line], command: str | None) -> Diagnosis:
    """Return the diagnosis with every placeholder filled in; a step that lacks its value is left out."""
    known = dict(diagnosis.fields)
    if "op" not in known and any("{op" in step for step in diagnosis.next_steps):
        known["op"] = tuple(_operators_near(diagnosis, lines))
    if command is not None:
        known["cmd"] = (command,)
    files = [path for path, _ in frames(lines) if os.path.exists(path)]
    if files:
        known.setdefault("file", (files[-1],))
    for line in lines:
        if match := _PTE.search(line.text):
            known.setdefault("pte", (match[0],))
            break
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
    numbers = {number for number, _ in diagnosis.lines[:5]}
    found: dict[str, None] = {}
    for line in lines:
        if any(abs(line.number - number) <= 4 for number in numbers):
            for match in _OPERATOR.finditer(line.text):
                found[match["op"] or match["op2"]] = None
    return list(found)[:_MOST]
