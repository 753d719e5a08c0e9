"""Comments that silence findings, and findings about comments that do not."""

from __future__ import annotations

import pytest
from briefly import brief

from kexec_lint.engine.rules import Selection

PYTHON = [
    ("on the line", "x = 1  # MARK[OCL101] kexec: ignore[OCL101] a reason\n", []),
    ("noqa", "x = 1  # MARK[OCL101] # noqa: OCL101\n", []),
    ("noqa among others", "x = 1  # MARK[OCL101] # noqa: E501, OCL101 W291\n", []),
    ("noqa in lower case", "x = 1  # MARK[OCL101] #noqa:ocl101\n", []),
    ("several codes", "x = 1  # MARK[OCL101] MARK[OCL102] kexec: ignore[OCL101, OCL102]\n", []),
    ("the line below", "# kexec: ignore[OCL101] why\nx = 1  # MARK[OCL101]\n", []),
    ("the next line of code", "# kexec: ignore[OCL101]\n\n# more\nx = 1  # MARK[OCL101]\n", []),
    (
        "the whole file",
        "x = 1  # MARK[OCL101]\ny = 2  # MARK[OCL101]\n# kexec: file-ignore[OCL101] generated\n",
        [],
    ),
    ("another line", "# kexec: ignore[OCL101]\nx = 1\ny = 2  # MARK[OCL101]\n", ["1 KXL001", "3 OCL101"]),
    ("another code", "x = 1  # MARK[OCL101] kexec: ignore[OCL102]\n", ["1 KXL001", "1 OCL101"]),
    ("a bare noqa is for others", "x = 1  # MARK[OCL101] # noqa\n", ["1 OCL101"]),
    ("no code", "x = 1  # MARK[OCL101] kexec: ignore\n", ["1 KXL002", "1 OCL101"]),
    ("unknown code", "x = 1  # kexec: ignore[OCL999]\n", ["1 KXL002"]),
    ("unknown codes of others", "x = 1  # noqa: E501, F401\n", []),
    ("unknown code of ours in noqa", "x = 1  # noqa: OCL999\n", ["1 KXL002"]),
    ("nothing to silence", "x = 1  # kexec: ignore[OCL101]\n", ["1 KXL001"]),
    ("one of two idle", "x = 1  # MARK[OCL101] kexec: ignore[OCL101, OCL102]\n", ["1 KXL001"]),
    ("idle for the file", "# kexec: file-ignore[OCL101]\n", ["1 KXL001"]),
    ("idle on purpose", "x = 1  # kexec: ignore[OCL101, KXL001]\n", []),
    ("a rule that is off is not judged", "x = 1  # kexec: ignore[ATN206]\n", []),
    ("only possible", "x = 1  # MARK[OCL101 possible] kexec: ignore[OCL101]\n", []),
    ("text in a string", "x = '# kexec: ignore[OCL101]'\n", []),
    ("text in a string silences nothing", "x = '# kexec: ignore[OCL101] MARK[OCL101]'\n", ["1 OCL101"]),
    ("a docstring", '"""\n# kexec: ignore[OCL101]\n"""\n', []),
    ("kernel source in a string", 's = """\nf(); // kexec: ignore[OCL101] MARK[OCL101]\n"""\n', []),
    ("kernel source, idle", 's = """\nf(); // kexec: ignore[OCL101]\n"""\n', []),
    ("not parsed, not judged", "SYNTAX # kexec: ignore[OCL101]\n", []),
]


@pytest.mark.parametrize(("text", "expected"), [c[1:] for c in PYTHON], ids=[c[0] for c in PYTHON])
def test_python(tree, run, text, expected):
    tree({"a.py": text})
    assert sorted(line.removeprefix("a.py:") for line in brief(run())) == sorted(expected)


C = [
    ("line comment", "f(); // MARK[OCL101] kexec: ignore[OCL101] reason\n", []),
    ("block comment", "f(); /* kexec: ignore[OCL101] */ // MARK[OCL101]\n", []),
    ("above", "/* kexec: ignore[OCL101] */\nf(); // MARK[OCL101]\n", []),
    ("above, two rows", "/* kexec: ignore[OCL101]\n   because */\nf(); // MARK[OCL101]\n", []),
    ("file", "/* kexec: file-ignore[OCL101] */\nf();\ng(); // MARK[OCL101]\n", []),
    ("in a string", 'char *s = "// kexec: ignore[OCL101] MARK[OCL101]";\n', ["1 OCL101"]),
    ("idle", "f(); // kexec: ignore[OCL101]\n", ["1 KXL001"]),
    ("a quote in a comment", "// don't\nf(); // kexec: ignore[OCL101] MARK[OCL101]\n", []),
]


@pytest.mark.parametrize(("text", "expected"), [c[1:] for c in C], ids=[c[0] for c in C])
def test_c(tree, run, text, expected):
    tree({"a.c": text})
    assert sorted(line.removeprefix("a.c:") for line in brief(run())) == sorted(expected)


def test_a_suppression_for_a_rule_that_is_not_selected_is_not_idle(tree, run):
    tree({"a.py": "x = 1  # kexec: ignore[OCL101]\n"})
    assert brief(run(selection=Selection(select=("OCL102", "KXL")))) == []


def test_the_place_of_an_idle_comment(tree, run):
    tree({"a.py": "x = 'é'  # see  kexec: ignore[OCL101] why\n"})
    (found,) = run().findings
    assert (found.location.row, found.location.column, found.location.end_column) == (1, 17, 38)
    assert found.message == "OCL101 (missing-wait-edge) is not reported here, so its suppression is not needed"


def test_silenced_findings_are_counted(tree, run):
    tree({"a.py": "x = 1  # MARK[OCL101] kexec: ignore[OCL101]\n"})
    assert run().silenced == 1
