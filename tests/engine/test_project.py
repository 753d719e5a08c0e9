"""What an executor finds when it asks for a module or a file."""

from __future__ import annotations

import os

import pytest

from kexec_lint.engine.tree import RecordingProject, Tree

FILES = {
    "pyproject.toml": "",
    "src/app/__init__.py": "top",
    "src/app/main.py": "main",
    "src/app/tools/__init__.py": "tools",
    "src/app/tools/queue.py": "queue",
    "src/app/kernels/sum.cl": "sum",
    "scripts/run.py": "run",
    "scripts/near.py": "near",
    "lib/other.py": "other",
    "namespace/part/deep.py": "deep",
    "../outside.py": "outside",
    "latin.py": "",
}


@pytest.fixture
def project(tree):
    top = tree(FILES)
    (top / "latin.py").write_bytes(b"'\xff'")
    return RecordingProject(Tree(os.getcwd(), (str(top / "lib"),)))


@pytest.mark.parametrize(
    ("name", "level", "importer", "text"),
    [
        ("app.main", 0, "src/app/tools/queue.py", "main"),
        ("app", 0, "src/app/main.py", "top"),
        ("app.tools", 0, "scripts/run.py", "tools"),
        ("near", 0, "scripts/run.py", "near"),
        ("other", 0, "scripts/run.py", "other"),
        ("namespace.part.deep", 0, "scripts/run.py", "deep"),
        ("queue", 1, "src/app/tools/__init__.py", "queue"),
        ("main", 2, "src/app/tools/queue.py", "main"),
        ("", 1, "src/app/tools/queue.py", "tools"),
        ("", 2, "src/app/tools/queue.py", "top"),
        ("tools.queue", 1, "src/app/main.py", "queue"),
        ("numpy", 0, "src/app/main.py", None),
        ("missing", 1, "src/app/main.py", None),
        ("outside", 4, "src/app/main.py", None),
        ("latin", 0, "scripts/run.py", None),
        ("", 0, "scripts/run.py", None),
    ],
)
def test_modules(project, name, level, importer, text):
    found = project.module(name, level, importer)
    assert (found and found.text) == text


@pytest.mark.parametrize(
    ("path", "origin", "text"),
    [
        ("kernels/sum.cl", "src/app/main.py", "sum"),
        ("../kernels/sum.cl", "src/app/tools/queue.py", "sum"),
        ("sum.cl", "src/app/main.py", None),
        ("../../../outside.py", "src/app/main.py", None),
        ("/etc/passwd", "src/app/main.py", None),
        ("kernels", "src/app/main.py", None),
    ],
)
def test_named_files(project, path, origin, text):
    found = project.read(path, origin)
    assert (found and found.text) == text


def test_the_same_file_is_the_same_source(project):
    assert project.module("app.main", 0, "scripts/run.py") is project.module("main", 1, "src/app/x.py")


def test_shown_names_are_those_of_the_report(project):
    assert project.module("app.main", 0, "scripts/run.py").path == os.path.join("src", "app", "main.py")


def test_every_look_up_is_a_dependency(project):
    project.module("near", 0, "scripts/run.py")
    project.module("numpy", 0, "scripts/run.py")
    project.read("nothing.cl", "scripts/run.py")
    digests = dict(project.dependencies())
    assert digests[("module", "near", 0, "scripts/run.py")] is not None
    assert digests[("module", "numpy", 0, "scripts/run.py")] is None
    assert digests[("read", "nothing.cl", 0, "scripts/run.py")] is None
