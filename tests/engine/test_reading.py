"""What is read of files, by one process or by several, which see the same."""

from __future__ import annotations

import os
import random
import re
import sys
import threading
from pathlib import Path

import pytest

from kexec_lint.engine import notebooks, reading
from kexec_lint.engine.executors import Reader
from kexec_lint.engine.reading import Seen, Wish

PLANTS = Reader("plants", "plants", {".py": (b"root_a", b"root_b", b"leaf")}, {".py": (b"tree",)})
STONES = Reader("stones", "stones", {".py": (b"flint",)})
SILENCING = re.compile(rb"noqa[ \t]*:[^\n]*\b(?i:OCL)")


def wishes(folder: Path, texts: list[bytes | None]) -> list[Wish]:
    """Write files, None for one that is not there, and return the wishes for them."""
    found = []
    for number, text in enumerate(texts):
        path = folder / f"f{number}.py"
        if text is not None:
            path.write_bytes(text)
        found.append(Wish(str(path), ".py", (PLANTS, STONES), SILENCING))
    return found


@pytest.mark.parametrize(
    ("text", "wanted", "commented"),
    [
        (b"x = 1\n", (), False),
        (b"tree root_b\n", (0,), False),
        (b"tree root_\n", (), False),
        (b"root_a\n", (), False),
        (b"tree leaf flint\n", (0, 1), False),
        (b"x  # kexec: ignore[OCL101]\n", (), True),
        (b"flint  # noqa: E501, ocl101\n", (1,), True),
        (b"x  # noqa: E501\n", (), False),
    ],
)
def test_what_matters_is_told(tmp_path, text, wanted, commented):
    (wish,) = wishes(tmp_path, [text])
    assert reading.look(wish) == Seen(wanted, commented, text if wanted or commented else None)


@pytest.fixture
def forking(monkeypatch):
    """A process that may fork for a few files, whatever threads the tests' runner has; the forks are counted."""
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    forks: list[int] = []
    fork = os.fork
    monkeypatch.setattr(reading, "_SHARE", 5)
    monkeypatch.setattr(reading, "_may_fork", lambda: True)
    monkeypatch.setattr(os, "fork", lambda: forks.append(0) or fork())
    return forks


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_several_processes_see_what_one_sees(tmp_path, forking):
    kinds = [b"x = 1\n", b"tree leaf\n", None, b"# noqa: OCL1\n", b"flint\n" * 30_000]
    several = wishes(tmp_path, [kinds[number % 5] for number in range(40)])
    several += [Wish("nowhere", ".py", (STONES,), None, b"flint"), Wish(str(tmp_path), ".py", (STONES,))]
    alone = list(reading.look_all(several, 1))
    assert list(reading.look_all(several, 3)) == alone
    assert len(forking) == 2
    assert {seen.problem for seen in alone if seen.problem} == {
        "no such file or directory, not checked",
        "is a directory, not checked",
    }
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # none of them is left


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_a_process_that_died_did_not_tell_is_looked_at_here(tmp_path, forking, monkeypatch):
    several = wishes(tmp_path, [b"flint"] * 20)
    here = os.getpid()
    look = reading.look
    monkeypatch.setattr(reading, "look", lambda wish: look(wish) if os.getpid() == here else os._exit(1))
    assert [seen.wanted for seen in reading.look_all(several, 4)] == [(1,)] * 20


def test_a_process_that_cannot_be_had_is_done_without(tmp_path, forking, monkeypatch):
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    several = wishes(tmp_path, [b"flint"] * 20)
    monkeypatch.setattr(os, "fork", refused)
    assert [seen.wanted for seen in reading.look_all(several, 4)] == [(1,)] * 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_nothing_is_forked_beside_a_thread(tmp_path, monkeypatch):
    several = wishes(tmp_path, [b"flint"] * 20)
    monkeypatch.setattr(reading, "_SHARE", 5)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked"))
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert len(list(reading.look_all(several, 4))) == 20
    finally:
        end.set()
        thread.join()


def test_a_file_that_is_too_long_is_named_and_not_kept(tmp_path):
    path = tmp_path / "long.py"
    path.write_bytes(b"flint\n" + b"#" * reading.LIMIT)
    assert reading.look(Wish(str(path), ".py", (STONES,))) == Seen(problem="larger than 5 MB, not checked")
    assert len(reading.content(str(path), 10)) <= 10 + 1 + 2 * reading.MEGABYTE


@pytest.mark.skipif(not os.path.exists("/proc/version"), reason="only Linux has such a file")
def test_a_file_that_does_not_tell_its_size_is_read():
    assert b"Linux" in reading.content("/proc/version", reading.LIMIT)


def test_pictures_of_a_notebook_do_not_count(tmp_path):
    path = tmp_path / "a.ipynb"
    path.write_bytes(b'{"image/png": "' + b"A" * reading.LIMIT + b'", "source": "flint"}')
    assert reading.look(Wish(str(path), ".ipynb", (STONES,))).wanted == (0,)
    assert reading.LIMIT < notebooks.LIMIT


@pytest.mark.parametrize("alphabet", ["root_ableaftreflintkxc:noqa \n", "tr_a\n"])
def test_one_look_leaves_out_nothing(tmp_path, alphabet):
    pytest.importorskip("ahocorasick_rs")
    found = reading.finder(".py", (PLANTS, STONES), silencing=True)
    assert found is not None
    words = [b"root_a", b"root_b", b"leaf", b"flint", b"kexec:", b"noqa"]
    chance = random.Random(7)
    held = 0
    for _ in range(400):
        parts = [chance.choice(words) if chance.random() < 0.2 else chance.choice(alphabet).encode() for _ in range(12)]
        text = b"".join(parts)
        (wish,) = wishes(tmp_path, [text])
        assert bool(found(text)) is any(word in text for word in words)
        assert reading.look(wish._replace(found=found)) == reading.look(wish)
        held += bool(found(text))
    assert 100 < held < 400


def test_without_the_extra_each_word_is_looked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    assert reading.finder(".py", (PLANTS,), silencing=True) is None


@pytest.mark.parametrize("there", [True, False])
def test_a_run_finds_the_same_with_the_extra_and_without(tree, run, monkeypatch, there):
    if there:
        pytest.importorskip("ahocorasick_rs")
    else:
        monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    tree({f"f{number}.py": "MARK[OCL101]\n" if number % 9 == 0 else "x = 1\n" for number in range(90)})
    report = run()
    assert (len(report.findings), report.files, report.analysed) == (10, 90, 10)
