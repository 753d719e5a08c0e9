"""What changed since a revision is reported, and what that changes elsewhere, and nothing more."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from briefly import brief

from kexec_lint.engine.settings import SettingsError

OLD = {
    "old.py": "MARK[OCL101]\n",
    "user.py": "MARK[OCL102]\nIMPORT helper 0\n",
    "reader.py": "READ kernels/k.cl\n",
    "helper.py": "x = 1\n",
    "one.py": "FACT one\n",
    "two.py": "FACT two\n",
    "kernels/k.cl": "kernel\n",
    "both.py": "FACT both\n",
    "both2.py": "FACT both\n",
}


def git(*arguments: str) -> str:
    options = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    called = subprocess.run(["git", *options, *arguments], check=True, capture_output=True, text=True)
    return called.stdout.strip()


@pytest.fixture
def repository(tree) -> Path:
    top: Path = tree(OLD)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "old")
    return top


def test_nothing_changed(repository, run):
    report = run(since="HEAD")
    assert (report.findings, report.files, report.notes) == ([], 0, [])
    assert len(run().findings) == 6


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"old.py": "MARK[OCL101] MARK[OCL101]\n"}, ["old.py:1 OCL101", "old.py:1 OCL101"]),
        ({"new.py": "MARK[OCL101]\n"}, ["new.py:1 OCL101"]),
        ({"helper.py": "x = 2\n"}, ["user.py:1 OCL102", "user.py:2 OCL102"]),
        ({"helper.py": None}, ["user.py:1 OCL102"]),
        ({"kernels/k.cl": "other\n"}, ["reader.py:1 OCL102"]),
        ({"kernels/k.cl": None}, []),
        ({"one.py": "FACT one FACT two\nFACT two\n"}, ["one.py:2 OCL201", "two.py:1 OCL201"]),
        ({"new.py": "FACT one\n"}, ["new.py:1 OCL201", "one.py:1 OCL201"]),
        ({"both2.py": None}, []),
        ({"both.py": "FACT both  # moved\n"}, ["both.py:1 OCL201"]),
        ({"notes.txt": "nothing that is read\n"}, []),
        ({"kexec-lint.toml": 'ignore = ["OCL102"]\n'}, ["both.py:1 OCL201", "both2.py:1 OCL201", "old.py:1 OCL101"]),
        ({"pyproject.toml": '[project]\nname = "x"\n'}, []),
    ],
)
def test_changes_and_what_they_change_elsewhere(repository, run, changes, found):
    run()
    for name, text in changes.items():
        (repository / name).unlink() if text is None else (repository / name).write_text(text)
    assert brief(run(since="HEAD")) == found, "warm"
    assert brief(run(since="HEAD", cache_results=False)) == found, "cold"
    assert brief(run(since="HEAD", jobs=4)) == found
    git("add", "-A")
    assert brief(run(since="HEAD")) == found, "staged"
    git("commit", "-qm", "new")
    assert brief(run(since="HEAD")) == []
    assert brief(run(since="HEAD~")) == found, "committed"


def test_a_module_that_hides_another_touches_who_imports_it(repository, run):
    (repository / "helper").mkdir()
    (repository / "helper" / "__init__.py").write_text("y = 3\n")
    assert brief(run(since="HEAD")) == ["user.py:1 OCL102", "user.py:2 OCL102"]


def test_what_another_branch_did_is_no_change_of_ours(repository, run):
    git("checkout", "-qb", "ours")
    (repository / "new.py").write_text("MARK[OCL101]\n")
    git("add", ".")
    git("commit", "-qm", "ours")
    git("checkout", "-q", "main")
    (repository / "old.py").write_text("MARK[OCL101]\n# theirs\n")
    git("commit", "-qam", "theirs")
    git("checkout", "-q", "ours")
    assert brief(run(since="main")) == ["new.py:1 OCL101"]


def test_parts_of_what_changed(repository, run):
    (repository / "new.py").write_text("FACT one\nMARK[OCL101]\n")
    (repository / "helper.py").write_text("x = 2\n")
    whole = brief(run(since="HEAD"))
    assert len(whole) == 5
    parts = [name for part in (1, 2, 3) for name in brief(run(since="HEAD", shard=(part, 3)))]
    assert sorted(parts) == sorted(whole)


def test_below_the_top_and_through_a_link(repository, run, monkeypatch, tmp_path):
    (repository / "kernels" / "new.py").write_text("MARK[OCL101]\n")
    (repository / "old.py").write_text("MARK[OCL101]\n\n")
    monkeypatch.chdir(repository / "kernels")
    assert brief(run(since="HEAD")) == ["new.py:1 OCL101"]
    (tmp_path / "link").symlink_to(repository)
    assert brief(run(str(tmp_path / "link"), since="HEAD")) == [
        f"{tmp_path}/link/{name} OCL101" for name in ("kernels/new.py:1", "old.py:1")
    ]


def test_a_repository_within_is_new_as_a_whole(repository, run):
    (repository / "inner").mkdir()
    (repository / "inner" / "a.py").write_text("MARK[OCL101]\n")
    subprocess.run(["git", "init", "-q", "inner"], check=True)
    assert brief(run(since="HEAD")) == ["inner/a.py:1 OCL101"]


def test_notes_on_unchanged_files_are_left_out(repository, run):
    (repository / "syntax.py").write_text("SYNTAX\n")
    assert run(since="HEAD").notes == ["syntax.py:1: not valid Python (invalid syntax), not checked"]
    git("add", ".")
    git("commit", "-qm", "new")
    assert run(since="HEAD").notes == []


@pytest.mark.parametrize("revision", ["nothing", "--output=x", "", "HEAD:old.py"])
def test_an_unknown_revision_is_one_line(repository, run, revision):
    with pytest.raises(SettingsError, match=r"--since: git knows no revision '"):
        run(since=revision)
    assert not (repository / "x").exists()


def test_outside_a_repository(tree, run, tmp_path):
    tree({"a.py": "MARK[OCL101]\n"})
    with pytest.raises(SettingsError, match="this folder is in no git repository"):
        run(since="HEAD")


def test_a_path_elsewhere(repository, run, tmp_path):
    with pytest.raises(SettingsError, match=r"lies outside the git repository"):
        run(str(tmp_path), since="HEAD")
