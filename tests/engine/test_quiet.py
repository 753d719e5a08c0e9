"""A file that was read in vain is not read again, until anything about it or about what is looked for changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from briefly import brief

from kexec_lint.engine import quiet, reading
from kexec_lint.engine.rules import Selection

FILES = {f"quiet{number}.py": "x = 1\n" for number in range(80)}


@pytest.fixture
def read(monkeypatch):
    """The displayed names of the files read since the last look."""
    names: list[str] = []
    look = reading.look

    def counted(wish):
        names.append(os.path.basename(wish.path))
        return look(wish)

    monkeypatch.setattr(reading, "look", counted)

    def taken() -> list[str]:
        seen = sorted(names)
        names.clear()
        return seen

    return taken


@pytest.fixture
def settled(monkeypatch):
    """As if all files had been left alone for long."""
    monkeypatch.setattr(quiet, "_SETTLED", -(10**18))


def test_only_what_matters_is_read_again(tree, run, read, settled):
    tree({**FILES, "a.py": "MARK[OCL101]\n", "b.py": "x = 1  # kexec: ignore[OCL101]\n"})
    first = run()
    assert len(read()) == 82
    second = run()
    assert read() == ["a.py", "b.py"]
    assert brief(second) == brief(first) == ["a.py:1 OCL101", "b.py:1 KXL001"]
    assert second.files == 82


def test_a_file_of_the_same_size_and_time_that_changed_is_read_again(tree, run, read, settled):
    top = tree({**FILES, "late.py": "x = 1; y = 222\n"})
    run()
    read()
    late = Path(top, "late.py")
    before = os.stat(late)
    late.write_text("MARK[OCL101] \n")
    os.utime(late, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(late).st_mtime_ns == before.st_mtime_ns
    assert brief(run()) == ["late.py:1 OCL101"]
    assert read() == ["late.py"]


def test_a_file_that_was_just_written_is_not_remembered(tree, run, read):
    tree(FILES)
    run()
    read()
    run()
    assert read() == sorted(FILES)


def test_other_needles_read_all_again(tree, run, read, settled, monkeypatch):
    import marker_executor

    tree({**FILES, "other.py": "OTHER\n"})
    run()
    read()
    monkeypatch.setattr(marker_executor, "needles", lambda codes, suffix: frozenset((b"OTHER",)))
    run(selection=Selection(select=("OCL101",)))
    assert len(read()) == 81


def test_what_an_editor_holds_is_read(tree, run, read, settled):
    top = tree(FILES)
    run()
    read()
    report = run(buffers=((os.path.join(top, "quiet3.py"), b"MARK[OCL101]\n"),))
    assert read() == ["quiet3.py"]
    assert brief(report) == ["quiet3.py:1 OCL101"]
