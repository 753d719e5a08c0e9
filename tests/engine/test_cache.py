"""A warm run answers from the cache, and never with what is no longer true."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import marker_executor
import pytest
from briefly import brief

from kexec_lint.engine.results import Cache


def scanned() -> list[str]:
    """Return the files analysed since the last call."""
    names = sorted(marker_executor.SCANNED)
    marker_executor.SCANNED.clear()
    return names


def test_a_second_run_analyses_nothing_and_says_the_same(tree, run):
    tree({"a.py": "MARK[OCL101] FACT x\n", "b.py": "FACT x\n", "c.py": "SYNTAX\n"})
    first = run()
    assert scanned() == ["a.py", "b.py", "c.py"]
    second = run()
    assert scanned() == []
    assert (second.findings, second.notes) == (first.findings, first.notes)
    assert brief(second) == ["a.py:1 OCL101", "a.py:1 OCL201", "b.py:1 OCL201"]
    assert (first.analysed, first.cached, second.analysed, second.cached) == (3, 0, 0, 3)


def test_changed_content_is_analysed_again(tree, run):
    tree({"a.py": "MARK[OCL101]\n", "b.py": "MARK[OCL101]\n"})
    run()
    scanned()
    tree({"a.py": "MARK[OCL102]\n"})
    assert brief(run()) == ["a.py:1 OCL102", "b.py:1 OCL101"]
    assert scanned() == ["a.py"]


@pytest.mark.parametrize(
    ("line", "dependency"),
    [("IMPORT helper 0", "helper.py"), ("IMPORT .helper 1", ""), ("READ kernels/k.txt", "kernels/k.txt")],
)
def test_what_a_file_depends_on_counts(tree, run, line, dependency):
    line, dependency = line.replace(" .helper", " helper"), dependency or "helper.py"
    top = tree({"a.py": f"{line}\n"})
    assert brief(run()) == [], "a look-up that fails is a dependency too"
    scanned()
    run()
    assert scanned() == []
    tree({dependency: "first = 1\n"})
    (found,) = run().findings
    assert found.related[0].message == "first = 1"
    tree({dependency: "second = 2\n"})
    (found,) = run().findings
    assert found.related[0].message == "second = 2"
    scanned()
    run()
    assert scanned() == []
    (top / dependency).unlink()
    assert brief(run()) == []


def test_options_and_rules_have_results_of_their_own(tree, run):
    from kexec_lint.engine.rules import Selection

    tree({"a.py": "MARK[OCL101]\n"})
    run()
    scanned()
    run(assume_out_of_order=True)
    assert scanned() == ["a.py"]
    run(selection=Selection(select=("OCL102",)))
    assert scanned() == ["a.py"]
    run(confidence="possible")
    assert scanned() == [], "the threshold is applied to stored results"


def test_the_cache_can_be_left_out(tree, run, tmp_path: Path):
    tree({"a.py": "MARK[OCL101]\n"})
    run(cache_results=False)
    assert not (tmp_path / "cache" / "results.sqlite").exists()
    run()
    scanned()
    run(cache_results=False)
    assert scanned() == ["a.py"]


def test_identical_files_in_different_places_are_told_apart(tree, run):
    tree({"a/x.py": "IMPORT near 0\n", "b/x.py": "IMPORT near 0\n", "a/near.py": "1\n"})
    assert brief(run()) == ["a/x.py:1 OCL102"]
    assert brief(run()) == ["a/x.py:1 OCL102"]


@pytest.mark.parametrize("damage", [b"", b"not a database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_cache_is_an_empty_one(tree, run, tmp_path: Path, damage: bytes):
    tree({"a.py": "MARK[OCL101]\n"})
    run()
    for file in (tmp_path / "cache").iterdir():
        file.write_bytes(damage)
    assert brief(run()) == ["a.py:1 OCL101"]
    scanned()
    assert brief(run()) == ["a.py:1 OCL101"]
    assert scanned() == [], "and it works again after that"


@pytest.mark.parametrize("keep", [100, 4096, 5000])
def test_a_truncated_cache_is_an_empty_one(tree, run, tmp_path: Path, keep: int):
    tree({f"{i}.py": "MARK[OCL101]\n" + "#" * 1000 for i in range(6)})
    run()
    database = tmp_path / "cache" / "results.sqlite"
    database.write_bytes(database.read_bytes()[:keep])
    assert len(run().findings) == 6
    assert len(run().findings) == 6


@pytest.mark.parametrize(
    "value", ["", "3", "[]", "{}", "[[], null, []]", "[[], null, [], [[1]]]", "[[3], null, [], []]"]
)
def test_a_value_of_another_shape_is_analysed_again(tree, run, tmp_path: Path, value):
    tree({"a.py": "MARK[OCL101]\n"})
    run()
    cache = Cache(tmp_path / "cache")
    connection = cache._open()
    (key,) = connection.execute("SELECT key FROM results").fetchone()
    cache.put({key: value})
    cache.close()
    assert brief(run()) == ["a.py:1 OCL101"]


def test_a_cache_folder_that_cannot_be_made_costs_only_time(tree, run, tmp_path: Path):
    tree({"a.py": "MARK[OCL101]\n"})
    (tmp_path / "file").write_text("")
    report = run(cache_directory=str(tmp_path / "file" / "cache"))
    assert brief(report) == ["a.py:1 OCL101"]
    assert (report.notes, report.errors) == ([], [])
    assert brief(run(cache_directory=None)) == ["a.py:1 OCL101"]


def test_many_processes_share_one_cache(tmp_path: Path):
    program = (
        "import sys, pathlib; from kexec_lint.engine.results import Cache\n"
        "for round in range(30):\n"
        "    cache = Cache(pathlib.Path(sys.argv[1])); n = sys.argv[2]\n"
        "    cache.put({f'{n}-{round}-{i}': n for i in range(20)})\n"
        "    cache.get([f'{n}-{round}-{i}' for i in range(20)]); cache.close()\n"
    )
    with ThreadPoolExecutor(4) as threads:
        codes = threads.map(
            lambda n: subprocess.run([sys.executable, "-c", program, str(tmp_path), str(n)]).returncode, range(4)
        )
    assert list(codes) == [0, 0, 0, 0]
    cache = Cache(tmp_path)
    found = cache.get(f"{n}-{round}-{i}" for n in range(4) for round in range(30) for i in range(20))
    assert len(found) == 4 * 30 * 20
    cache.close()


def test_old_results_are_forgotten(tmp_path: Path):
    cache = Cache(tmp_path)
    cache.put({"old": "1", "still used": "2"})
    cache._open().execute("UPDATE results SET used = 0")
    cache.put({"new": "3"}, used=["still used"])
    assert cache.get(["old", "still used", "new"]) == {"still used": "2", "new": "3"}
    cache.close()
