"""Headers, their source files and compilation databases, as the tree resolves them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kexec_lint.engine.tree import RecordingProject, Tree
from kexec_lint.source import NativeProject


def tree(top: Path, *files: str) -> RecordingProject:
    for name in files:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"// {name}\n")
    return RecordingProject(Tree(str(top), (str(top),)))


@pytest.mark.parametrize(
    ("files", "name", "importer", "found"),
    [
        (["a/x.h", "a/main.c"], "x.h", "a/main.c", "a/x.h"),
        (["include/util/x.h", "src/main.c"], "util/x.h", "src/main.c", "include/util/x.h"),
        (["include/util/x.h", "src/main.c"], "<util/x.h>", "src/main.c", "include/util/x.h"),
        (["include/x.h", "src/main.c"], "<x.h>", "src/main.c", None),
        (["one/x.h", "two/x.h", "src/main.c"], "x.h", "src/main.c", None),
        (["app/one/inc/x.h", "app/two/inc/x.h", "app/two/main.c"], "x.h", "app/two/main.c", "app/two/inc/x.h"),
        (["inc/CL/cl.h", "src/main.c"], "CL/cl.h", "src/main.c", None),
        (["inc/cl_help.h", "src/main.c"], "cl_help.h", "src/main.c", "inc/cl_help.h"),
        (["build/x.h", "src/main.c"], "x.h", "src/main.c", None),
    ],
)
def test_include(tmp_path: Path, files: list[str], name: str, importer: str, found: str | None) -> None:
    source = tree(tmp_path, *files).include(name, importer)
    assert (source.path if source is not None else None) == found


@pytest.mark.parametrize(
    ("files", "header", "found"),
    [
        (["x.h", "x.cpp"], "x.h", "x.cpp"),
        (["include/x.h", "src/x.c"], "include/x.h", "src/x.c"),
        (["include/x.h", "one/x.c", "two/x.c"], "include/x.h", None),
        (["a/include/x.h", "a/src/x.c", "b/src/x.c"], "a/include/x.h", "a/src/x.c"),
        (["x.h"], "x.h", None),
    ],
)
def test_counterpart(tmp_path: Path, files: list[str], header: str, found: str | None) -> None:
    source = tree(tmp_path, *files).counterpart(header)
    assert (source.path if source is not None else None) == found


@pytest.mark.parametrize(
    ("entry", "defines"),
    [
        ({"arguments": ["cc", "-Iinc", "-DFAST", "-DN=4", "-UBUG", "main.c"]}, {"FAST": "1", "N": "4", "BUG": None}),
        ({"command": "cc -I inc -D FAST -D 'S=\"a b\"' -c main.c"}, {"FAST": "1", "S": '"a b"'}),
        ({"command": "cl.exe /Iinc /DFAST main.c"}, {"FAST": "1"}),
        ({"command": "cc -isystem inc -c 'main.c"}, None),
    ],
)
def test_database(tmp_path: Path, entry: dict[str, object], defines: dict[str, str | None] | None) -> None:
    project = tree(tmp_path, "src/main.c", "src/inc/x.h", "other/inc/x.h")
    document = [{"directory": str(tmp_path / "src"), "file": "main.c", **entry}]
    (tmp_path / "compile_commands.json").write_text(json.dumps(document))
    flags = project.flags("src/main.c")
    assert flags is not None
    assert dict(flags.defines) == (defines or {})
    header = project.include("<x.h>", "src/main.c")
    assert (header.path if header is not None else None) == ("src/inc/x.h" if defines is not None else None)


@pytest.mark.parametrize("text", ["", "{", "{}", '[1, {"file": 3}]', '[{"file": "main.c"}]'])
def test_what_is_no_database_says_nothing(tmp_path: Path, text: str) -> None:
    project = tree(tmp_path, "main.c")
    (tmp_path / "compile_commands.json").write_text(text)
    flags = project.flags("main.c")
    assert flags is None or not flags.include


def test_a_database_of_its_own_place(tmp_path: Path) -> None:
    top = tmp_path / "top"
    database = tmp_path / "elsewhere.json"
    tree(top, "main.c", "inc/x.h")
    database.write_text(json.dumps([{"directory": str(top), "file": "main.c", "arguments": ["cc", "-Iinc"]}]))
    project = RecordingProject(Tree(str(top), (str(top),)), str(database))
    header = project.include("<x.h>", "main.c")
    assert header is not None
    assert header.path == "inc/x.h"


def test_look_ups_are_dependencies(tmp_path: Path) -> None:
    project = tree(tmp_path, "x.h", "x.c", "main.c")
    assert isinstance(project, NativeProject)
    project.include("x.h", "main.c")
    project.counterpart("x.h")
    project.flags("main.c")
    before = dict(project.dependencies())
    assert len(before) == 3
    (tmp_path / "x.c").write_text("int other;\n")
    (tmp_path / "compile_commands.json").write_text("[]")
    later = Tree(str(tmp_path), (str(tmp_path),))
    changed = {lookup[0] for lookup, digest in before.items() if later.digest(lookup) != digest}
    assert changed == {"counterpart", "flags"}
