"""Which files a run reads, and what it says of those it cannot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from briefly import brief

MARK = "x = 1  # MARK[OCL101]\n"


def test_folders_are_walked_and_results_are_in_order(tree, run):
    tree({"b/two.py": MARK, "a.py": MARK, "b/one.c": "int x; // MARK[OCL101]\n", "b/notes.txt": MARK})
    assert brief(run()) == ["a.py:1 OCL101", "b/one.c:1 OCL101", "b/two.py:1 OCL101"]


@pytest.mark.parametrize("folder", [".venv", "node_modules", "build", "__pycache__", "a/.git", "site-packages"])
def test_folders_without_own_source_are_left_out(tree, run, folder):
    tree({f"{folder}/x.py": MARK, "y.py": MARK})
    assert brief(run()) == ["y.py:1 OCL101"]


@pytest.mark.parametrize(
    ("ignore", "kept"),
    [
        ("gen.py\n", ["sub/keep.py"]),
        ("*.py\n!keep.py\n", ["sub/keep.py"]),
        ("/gen.py\n", ["sub/gen.py", "sub/keep.py"]),
        ("sub/\n", ["gen.py"]),
        ("# a comment\n\nsub/gen.py\n", ["gen.py", "sub/keep.py"]),
    ],
)
def test_gitignore(tree, run, ignore, kept):
    tree({".gitignore": ignore, "gen.py": MARK, "sub/gen.py": MARK, "sub/keep.py": MARK})
    assert [f.location.filename for f in run().findings] == kept


def test_inner_gitignore_overrules_the_outer(tree, run):
    tree({".gitignore": "*.py\n", "sub/.gitignore": "!keep.py\n", "sub/keep.py": MARK, "sub/other.py": MARK})
    assert brief(run()) == ["sub/keep.py:1 OCL101"]


def test_gitignore_above_the_folder_counts_up_to_the_repository(tree, run):
    top = tree({".gitignore": "gen/\n", ".git/HEAD": "", "src/gen/x.py": MARK, "src/y.py": MARK})
    assert brief(run("src")) == ["src/y.py:1 OCL101"]
    assert brief(run(str(top / "src" / "gen"))) == ["src/gen/x.py:1 OCL101"], "named itself, it is wanted"


def test_exclude_holds_for_folders_and_with_force_for_files(tree, run):
    tree({"kexec-lint.toml": 'exclude = ["old/", "*_pb2.py"]\n', "old/x.py": MARK, "a_pb2.py": MARK, "b.py": MARK})
    assert brief(run()) == ["b.py:1 OCL101"]
    assert brief(run("old/x.py", "a_pb2.py")) == ["a_pb2.py:1 OCL101", "old/x.py:1 OCL101"]
    assert brief(run("old/x.py", "a_pb2.py", "b.py", force_exclude=True)) == ["b.py:1 OCL101"]


def test_a_file_is_checked_once_however_often_it_is_named(tree, run):
    tree({"a/x.py": MARK})
    assert brief(run("a", "a/x.py", ".", "a/../a")) == ["a/x.py:1 OCL101"]


def test_links_are_followed_once_and_loops_are_said(tree, run):
    top = tree({"real/x.py": MARK})
    os.symlink(top, top / "real" / "loop")
    os.symlink(top / "real", top / "again")
    os.symlink(top / "real" / "x.py", top / "alias.py")
    os.symlink(top / "nowhere.py", top / "dangling.py")
    report = run()
    assert brief(report) == ["real/x.py:1 OCL101"]
    assert sorted(report.notes) == [
        "dangling.py: dangling link, not checked",
        f"real/loop: link leads back to {top}, not followed",
    ]


def test_a_linked_folder_outside_is_walked(tree, run, tmp_path: Path):
    tree({"x.py": "pass\n"})
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "y.py").write_text(MARK)
    os.symlink(tmp_path / "outside", "linked")
    assert brief(run()) == ["linked/y.py:1 OCL101"]


def test_a_pipe_is_not_opened(tree, run):
    tree({"x.py": MARK})
    os.mkfifo("pipe.py")
    report = run()
    assert brief(report) == ["x.py:1 OCL101"]
    assert report.notes == ["pipe.py: not a file, not checked"]


def test_unreadable_files_and_folders_are_said(tree, run):
    top = tree({"shut.py": MARK, "shut/x.py": MARK, "y.py": MARK})
    (top / "shut.py").chmod(0)
    if os.access("shut.py", os.R_OK):
        pytest.skip("this user reads every file")
    (top / "shut").chmod(0)
    report = run()
    (top / "shut").chmod(0o755)
    assert brief(report) == ["y.py:1 OCL101"]
    assert sorted(report.notes) == [
        "shut.py: permission denied, not checked",
        "shut: permission denied, folder not checked",
    ]


def test_huge_files_are_said(tree, run):
    tree({"big.py": MARK + "#" * (5 * 1024 * 1024), "y.py": MARK})
    report = run()
    assert brief(report) == ["y.py:1 OCL101"]
    assert report.notes == ["big.py: larger than 5 MB, not checked"]


def test_a_missing_path_is_an_error(tree, run):
    tree({})
    with pytest.raises(FileNotFoundError, match=r"nowhere\.py: no such file or folder"):
        run("nowhere.py")


def test_a_named_file_that_no_executor_reads_is_said(tree, run):
    tree({"notes.txt": MARK})
    assert run("notes.txt").notes == ["notes.txt: no executor reads .txt files, not checked"]
