"""A cache that is damaged, of another version, or shared: never another result than without it."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import planting
import pytest

from kexec_lint.engine import index
from kexec_lint.engine.check import check
from kexec_lint.engine.request import Request
from kexec_lint.findings import Finding

OFFSETS = 120 * int(os.environ.get("KEXEC_LINT_FAULTS", "1"))
"""The long form: KEXEC_LINT_FAULTS=10 pytest tests/robustness."""

FILES = {f"f{i}.py": f"MARK[OCL101] FACT n{i}\nIMPORT helper 0\nFACT n{i + 1}\n# {i}\n" for i in range(20)} | {
    "helper.py": "x = 1\n",
    "note.py": "NOTE\n",
}


def damaged(data: bytes, choose: random.Random) -> bytes:
    """Return the bytes with one to sixteen of them changed, cut out, put in, or cut off."""
    out = bytearray(data)
    at = choose.randrange(len(out))
    length = choose.choice((1, 1, 1, 2, 16))
    kind = choose.randrange(5)
    if kind == 0:
        out[at] ^= 1 << choose.randrange(8)
    elif kind == 1:
        out[at : at + length] = choose.randbytes(length)
    elif kind == 2:
        out[at : at + length] = bytes(choose.choice(b"0123456789abcdef,]") for _ in range(length))
    elif kind == 3:
        del out[at : at + length]
    else:
        del out[at:]
    return bytes(out)


@pytest.mark.parametrize("name", ["results.sqlite", "index"])
def test_a_cache_damaged_anywhere_says_nothing_else(marker, tree, run, tmp_path: Path, name: str):
    tree(FILES)
    sound = run()
    assert len(sound.findings) == 78
    folder, kept = tmp_path / "cache", tmp_path / "kept"
    shutil.copytree(folder, kept)
    choose = random.Random(9)
    answered = 0
    for number in range(OFFSETS):
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        (file,) = (path for path in folder.iterdir() if path.name.startswith(name))
        file.write_bytes(damaged(file.read_bytes(), choose))
        report = run()
        assert (report.findings, report.notes, report.errors) == (sound.findings, sound.notes, []), f"damage {number}"
        answered += report.cached
        if number % 10 == 0:
            again = run()
            assert (again.findings, again.notes) == (sound.findings, sound.notes), f"after damage {number}"
    assert answered, "a damage that concerns one result leaves the others"


def test_an_index_damaged_anywhere_loses_no_file(planted: Path, tmp_path: Path):
    def look(*paths: str) -> list[Finding]:
        return check(Request(paths=paths, cache_directory=str(tmp_path / "cache"), isolated=True)).findings

    found = {finding.code[:3]: finding.location.filename for finding in look(".")}
    few = tuple(found.values())
    sound = look(*few)
    assert {finding.code[:3] for finding in sound} >= {"OCL", "ATN", "EXT"}
    (file,) = (tmp_path / "cache").glob("index-*.json")
    kept = file.read_bytes()
    choose = random.Random(10)
    for number in range(OFFSETS):
        file.write_bytes(damaged(kept, choose))
        assert look(*few) == sound, f"damage {number}"


def test_two_runs_at_once_share_a_cache(planted: Path, environment, tool):
    command = [sys.executable, "-m", "kexec_lint", "check", "--output-format", "concise"]
    alone = tool("check", "--output-format", "concise", "--no-cache")
    runs = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [run.communicate()[0] for run in runs] == [alone.stdout] * 3
    assert tool("check", "--output-format", "concise").stdout == alone.stdout


def test_a_cache_of_another_version_is_no_answer(marker, tree, run, tmp_path: Path, monkeypatch):
    tree(FILES)
    sound = run()
    with monkeypatch.context() as version:
        version.setattr(index, "__version__", "0.0.9")
        other = run()
    assert (other.findings, other.cached) == (sound.findings, 0)
    database = tmp_path / "cache" / "results.sqlite"
    connection = sqlite3.connect(database)
    connection.executescript("DROP TABLE results; CREATE TABLE results (name TEXT, findings BLOB)")
    connection.close()
    assert run().findings == sound.findings


@pytest.mark.parametrize("home", ["/proc", "/dev/null", "/dev/full"])
def test_a_home_that_cannot_be_written_costs_only_time(planted: Path, environment, home: str):
    variables = {k: v for k, v in environment.items() if k not in ("KEXEC_LINT_CACHE_DIR", "XDG_CACHE_HOME")}
    command = [
        sys.executable,
        "-m",
        "kexec_lint",
        "check",
        "--output-format",
        "concise",
        str(planting.MORE / "unordered.py"),
    ]
    called = subprocess.run(command, env={**variables, "HOME": home}, capture_output=True, text=True, check=False)
    assert (called.returncode, called.stderr) == (1, "")
    assert "OCL101" in called.stdout
