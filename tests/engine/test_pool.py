"""Many files, several workers: the same report, whatever happens to one of them."""

from __future__ import annotations

import sys
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import pytest
from briefly import brief

from kexec_lint.engine import bounds
from kexec_lint.engine.pool import FEW


def many(**more: str) -> dict[str, str]:
    return {f"f{i:02}.py": f"MARK[OCL101]{'#' * (i * 37 % 11)}\n" for i in range(FEW * 3)} | {
        f"{name}.py": text for name, text in more.items()
    }


def test_workers_change_nothing(tree, run):
    tree(many())
    alone = run(jobs=1, cache_results=False)
    assert len(alone.findings) == FEW * 3
    assert run(jobs=4, cache_results=False).findings == alone.findings


def test_workers_work_where_their_memory_cannot_be_read(tree, run, monkeypatch):
    def absent(*arguments, **options):
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(bounds, "open", absent, raising=False)  # as in a bare chroot, without /proc
    tree(many())
    report = run(jobs=2, cache_results=False)
    assert (len(report.findings), report.errors) == (FEW * 3, [])


class Slow(Executor):
    """Runs everything in the order opposite to the one it was handed."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[object], object]] = []

    def submit(self, function, /, *arguments, **keywords):
        future: Future[object] = Future()
        self.waiting.append((future, lambda: function(*arguments, **keywords)))
        if len(self.waiting) == FEW * 3:
            for done, call in reversed(self.waiting):
                done.set_result(call())
        return future


@pytest.mark.parametrize("pool", [ThreadPoolExecutor(2), Slow()], ids=["threads", "backwards"])
def test_any_executor_of_the_standard_interface_will_do(tree, run, pool):
    tree(many())
    alone = run(jobs=1, cache_results=False)
    assert run(pool=pool, cache_results=False).findings == alone.findings


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_internal_error_costs_one_file(tree, run, jobs):
    tree(many(bad="x = 1\nCRASH\n"))
    report = run(jobs=jobs)
    assert len(report.findings) == FEW * 3
    (error,) = report.errors
    assert error.startswith("bad.py: internal error: ZeroDivisionError: asked to crash at marker_executor.py:")
    assert run(jobs=jobs).errors == report.errors, "an error is not stored as a result"


def test_a_worker_that_dies_costs_one_file(tree, run):
    tree(many(bad="DIE\n", worse="DIE" + "#" * 1000))
    report = run(jobs=2)
    assert len(report.findings) == FEW * 3
    assert sorted(report.errors) == [
        "bad.py: internal error: the worker process died",
        "worse.py: internal error: the worker process died",
    ]


@pytest.fixture
def little(monkeypatch):
    monkeypatch.setattr(bounds, "SECONDS", 0.3)
    monkeypatch.setattr(bounds, "HARD_SECONDS", 1.0)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_file_that_takes_too_long_costs_itself(tree, run, little, jobs):
    tree(many(slow="SPIN\n", slower="SPIN " + "#" * 1000))
    for _ in range(2):
        report = run(jobs=jobs)
        assert len(report.findings) == FEW * 3
        assert sorted(report.notes) == [
            f"{name}.py: takes more than 0 seconds, not checked" for name in ("slow", "slower")
        ]
        assert report.errors == []
    assert report.cached == FEW * 3, "what was too long for a busy machine is tried again"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bounds set by Linux")
def test_a_file_that_hangs_a_parser_or_eats_the_memory_costs_itself(tree, run, little):
    tree(many(hang="HANG\n", eat="EAT\n"))
    report = run(jobs=2)
    assert len(report.findings) == FEW * 3
    assert sorted(report.notes) == [
        "eat.py: takes too much memory or is nested too deeply, not checked",
        "hang.py: takes more than 0 seconds, not checked",
    ]
    assert report.errors == []


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("x = 1\nSYNTAX\n", "a.py:1: not valid Python (invalid syntax), not checked"),
        ("NOTE\n", "a.py: line 1: odd, not checked"),
        ("DEEP\n", "a.py: nested too deeply, not checked"),
        ("MARK\0", "a.py: holds null bytes, not checked"),
    ],
)
def test_what_cannot_be_analysed_is_one_line(tree, run, text, note):
    tree({"a.py": text, "b.py": "MARK[OCL101]\n"})
    report = run()
    assert brief(report) == ["b.py:1 OCL101"]
    assert (report.notes, report.errors) == ([note], [])
