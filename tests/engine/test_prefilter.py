"""Which files are analysed at all."""

from __future__ import annotations

import marker_executor
import pytest

from kexec_lint.engine.executors import Reader, shortest


@pytest.mark.parametrize(
    ("needles", "kept"),
    [
        ({b"enqueue_", b"enqueue_copy", b"clEnqueue"}, (b"enqueue_", b"clEnqueue")),
        ({b"a", b"ab", b"ba", b"c"}, (b"a", b"c")),
        (set(), ()),
    ],
)
def test_a_needle_that_holds_another_is_not_needed(needles, kept):
    assert shortest(frozenset(needles)) == kept


@pytest.mark.parametrize(
    ("suffix", "data", "wanted"),
    [
        (".py", b"import torch; custom_op()", True),
        (".py", b"custom_op()", False),
        (".py", b"import torch", False),
        (".c", b"import torch; custom_op()", False),
    ],
)
def test_mentions_and_needles_must_both_be_there(suffix, data, wanted):
    reader = Reader("x", "x", {".py": (b"custom_op",)}, {".py": (b"torch",)})
    assert reader.wants(suffix, data) is wanted
    assert reader._replace(mentions={}).wants(".py", b"custom_op")


def test_files_without_a_needle_are_only_read(tree, run):
    tree({"a.py": "x = 1\n", "b.py": "MARK[OCL101]\n", "c.txt": "MARK[OCL101]\n"})
    report = run()
    assert marker_executor.SCANNED == ["b.py"]
    assert (report.files, report.analysed) == (2, 1)


def test_without_a_rule_nothing_is_wanted(tree, run, monkeypatch):
    monkeypatch.setattr(marker_executor, "needles", lambda codes, suffix: frozenset())
    tree({"b.py": "MARK[OCL101]\n"})
    assert run().analysed == 0
