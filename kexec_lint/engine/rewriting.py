"""Edits on the bytes of a file, whose encoding and line ends stay, and its atomic replacement."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial

from kexec_lint.engine import notebooks
from kexec_lint.engine.decoding import encoding_of
from kexec_lint.findings import Edit, Finding, Fix

_ROW = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def apart(findings: Iterable[Finding]) -> list[Finding]:
    """Return those findings whose fixes touch no place that a fix before them touches."""
    chosen: list[Finding] = []
    taken: list[Edit] = []
    for finding in findings:
        edits = finding.fix.edits if finding.fix is not None else ()
        if edits and not any(_touch(edit, other) for edit in edits for other in taken):
            chosen.append(finding)
            taken += edits
    return chosen


def _touch(one: Edit, other: Edit) -> bool:
    a, b = one.location, other.location
    meet = (a.row, a.column) <= (b.end_row, b.end_column) and (b.row, b.column) <= (a.end_row, a.end_column)
    return meet and a.cell == b.cell


def applied(filename: str, data: bytes, fixes: Sequence[Fix]) -> bytes:
    """Return the bytes of a file with fixes applied that touch one another nowhere."""
    encoding = encoding_of(data, python=filename.lower().endswith((".py", ".pyi", ".pyw")))
    text = data.decode(encoding)
    edits = [edit for fix in fixes for edit in fix.edits]
    cells: dict[int, list[Edit]] = {}
    for edit in edits:
        if edit.location.cell is not None:
            cells.setdefault(edit.location.cell, []).append(edit)
    if cells:
        changed = notebooks.rewritten(text, {cell: partial(_changed, edits=here) for cell, here in cells.items()})
    else:
        changed = _changed(text, edits)
    return changed.encode(encoding)


def _changed(text: str, edits: Sequence[Edit]) -> str:
    rows = _ROW.findall(text)
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))
    end = next((_end(row) for row in rows if _end(row)), "\n")
    parts, last = [], 0
    for edit in sorted(edits, key=lambda edit: edit.location):
        at = edit.location
        start, stop = starts[at.row - 1] + at.column - 1, starts[at.end_row - 1] + at.end_column - 1
        here = (_end(rows[at.row - 1]) if at.row <= len(rows) else "") or end
        parts += [text[last:start], edit.content.replace("\n", here)]
        last = stop
    return "".join((*parts, text[last:]))


def _end(row: str) -> str:
    return row[len(row.rstrip("\r\n")) :]


def write(filename: str, data: bytes) -> None:
    """Replace a file in one step; owner and permissions stay, a link goes on pointing at it. Raises OSError.

    A file that has several names, or whose owner we cannot give, is written over instead, while a whole copy of what
    is to be written lies beside it.
    """
    path = os.path.realpath(filename)
    status = os.stat(path)
    if not os.access(path, os.W_OK):
        raise PermissionError(13, "Permission denied")
    handle, temporary = tempfile.mkstemp(prefix=".kexec-lint-", dir=os.path.dirname(path))
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        if status.st_nlink > 1 or not _given(temporary, status):
            with open(path, "r+b") as file:
                file.write(data)
                file.truncate()
                file.flush()
                os.fsync(file.fileno())
            os.unlink(temporary)
        else:
            os.chmod(temporary, stat.S_IMODE(status.st_mode))
            os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _given(path: str, status: os.stat_result) -> bool:
    """Give a file the owner that another has; return whether it has it."""
    own = os.stat(path)
    if (own.st_uid, own.st_gid) == (status.st_uid, status.st_gid):
        return True
    try:
        os.chown(path, status.st_uid, status.st_gid)
    except (OSError, AttributeError):
        return False
    return True
