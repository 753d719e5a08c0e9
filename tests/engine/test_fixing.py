"""Edits on bytes and the replacement of files: encodings, line ends, permissions, links."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

import pytest

from kexec_lint.engine.rewriting import apart, applied, write
from kexec_lint.engine.unneeded import without_code
from kexec_lint.findings import Confidence, Edit, Finding, Fix, Location, Severity
from kexec_lint.source import Source


def edit(row: int, column: int, end_row: int, end_column: int, content: str) -> Edit:
    return Edit(Location("a.py", row, column, end_row, end_column), content)


INSERT = edit(2, 1, 2, 1, "y = 0\n")


@pytest.mark.parametrize(
    ("before", "edits", "after"),
    [
        (b"x = 1\nz = 2\n", [INSERT], b"x = 1\ny = 0\nz = 2\n"),
        (b"x = 1\r\nz = 2\r\n", [INSERT], b"x = 1\r\ny = 0\r\nz = 2\r\n"),
        (b"x = 1\rz = 2\r", [INSERT], b"x = 1\ry = 0\rz = 2\r"),
        (b"x = 1\r\nz = 2", [INSERT], b"x = 1\r\ny = 0\r\nz = 2"),
        (codecs.BOM_UTF8 + b"x = 1\nz = 2\n", [edit(1, 1, 1, 2, "w")], codecs.BOM_UTF8 + b"w = 1\nz = 2\n"),
        (b"# coding: latin-1\n\xe9 = f(\xe9)\n", [edit(2, 7, 2, 8, "w")], b"# coding: latin-1\n\xe9 = f(w)\n"),
        ("x = 'é𝄞' + f(a)\n".encode(), [edit(1, 14, 1, 15, "b")], "x = 'é𝄞' + f(b)\n".encode()),
        (b"a\x0cb\nc\n", [edit(2, 1, 2, 2, "d")], b"a\x0cb\nd\n"),
        (b"x = 1", [edit(1, 6, 1, 6, "\ny = 0")], b"x = 1\ny = 0"),
        (b"a\nb\nc\n", [edit(3, 1, 3, 2, "C"), edit(1, 1, 2, 1, "")], b"b\nC\n"),
    ],
)
def test_applied(before: bytes, edits: list[Edit], after: bytes) -> None:
    assert applied("a.py", before, [Fix("safe", "", tuple(edits))]) == after


def finding(*edits: Edit) -> Finding:
    place = Location("a.py", 1, 1, 1, 2)
    fix = Fix("safe", "", edits)
    return Finding("OCL101", "", Severity.ERROR, Confidence.CERTAIN, "", place, fix=fix)


def test_fixes_that_touch_wait_for_the_next_round() -> None:
    first = finding(edit(1, 5, 1, 5, "a"), edit(3, 1, 3, 1, "b"))
    same_place = finding(edit(1, 5, 1, 5, "c"))
    within = finding(edit(2, 1, 4, 1, "d"))
    elsewhere = finding(edit(5, 1, 5, 2, "e"))
    assert apart([first, same_place, within, elsewhere]) == [first, elsewhere]


def test_write_keeps_permissions_and_links(tmp_path: Path) -> None:
    real, link = tmp_path / "real.py", tmp_path / "link.py"
    real.write_bytes(b"x")
    real.chmod(0o754)
    link.symlink_to(real)
    write(str(link), b"y")
    assert link.is_symlink()
    assert real.read_bytes() == b"y"
    assert stat.S_IMODE(real.stat().st_mode) == 0o754
    assert sorted(os.listdir(tmp_path)) == ["link.py", "real.py"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_stays(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"x")
    file.chmod(0o444)
    with pytest.raises(PermissionError):
        write(str(file), b"y")
    assert file.read_bytes() == b"x"


@pytest.mark.parametrize(
    ("line", "written", "after"),
    [
        ("f()  # kexec: ignore[OCL101] why\n", "kexec: ignore[OCL101]", "f()\n"),
        (
            "f()  # kexec: ignore[OCL101, OCL102]\n",
            "kexec: ignore[OCL101, OCL102]",
            "f()  # kexec: ignore[OCL102]\n",
        ),
        (
            "f()  # kexec: ignore[OCL102, OCL101]\n",
            "kexec: ignore[OCL102, OCL101]",
            "f()  # kexec: ignore[OCL102]\n",
        ),
        ("f()  # kexec: ignore[OCL101] # type: ignore\n", "kexec: ignore[OCL101]", "f() # type: ignore\n"),
        ("f()  # pragma: none # kexec: ignore[OCL101]\n", "kexec: ignore[OCL101]", "f()  # pragma: none\n"),
        ("    # kexec: ignore[OCL101]\n    f()\n", "kexec: ignore[OCL101]", "    f()\n"),
        ("f()  # noqa: OCL101\n", "# noqa: OCL101", "f()\n"),
        ("f()  # noqa: E501, OCL101\n", "# noqa: E501, OCL101", "f()  # noqa: E501\n"),
        ("f();  // kexec: ignore[OCL101]\n", "kexec: ignore[OCL101]", "f();\n"),
        ("# kexec: file-ignore[OCL101]\nf()\n", "kexec: file-ignore[OCL101]", "f()\n"),
    ],
)
def test_unneeded_suppression(line: str, written: str, after: str) -> None:
    column = line.index(written) + 1
    at = Location("a.py", 1, column, 1, column + len(written))
    message = "OCL101 (missing-wait-edge) is not reported here, so its suppression is not needed"
    idle = Finding("KXL001", "unused-suppression", Severity.WARNING, Confidence.CERTAIN, message, at)
    fix = without_code(Source("a.py", line, line.encode()), idle)
    assert fix is not None
    assert applied("a.py", line.encode(), [fix]) == after.encode()


def test_block_comments_stay() -> None:
    line = "f(); /* kexec: ignore[OCL101] */\n"
    at = Location("a.c", 1, 9, 1, 30)
    idle = Finding("KXL001", "", Severity.WARNING, Confidence.CERTAIN, "OCL101 is idle", at)
    assert without_code(Source("a.c", line, line.encode()), idle) is None
