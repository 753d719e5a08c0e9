"""Comments written at findings silence exactly those."""

from __future__ import annotations

import pytest
from briefly import brief

from kexec_lint.engine import ignores

CASES = [
    ("a.py", "x = 1 ; 'MARK[OCL101]'\n", "x = 1 ; 'MARK[OCL101]'  # kexec: ignore[OCL101]\n"),
    (
        "a.py",
        "'MARK[OCL102]', 'MARK[OCL101]'\n",
        "'MARK[OCL102]', 'MARK[OCL101]'  # kexec: ignore[OCL101, OCL102]\n",
    ),
    ("a.py", "'MARK[OCL101]'  # why\n", "'MARK[OCL101]'  # why  # kexec: ignore[OCL101]\n"),
    (
        "a.py",
        "'MARK[OCL101]', 'MARK[OCL102]'  # kexec: ignore[OCL101] known\n",
        "'MARK[OCL101]', 'MARK[OCL102]'  # kexec: ignore[OCL101, OCL102] known\n",
    ),
    ("a.py", "x = '''\nMARK[OCL101]\n'''\n", None),
    ("a.py", "x = 'MARK[OCL101]' + \\\n    'y'\n", None),
    (
        "a.py",
        "x = '''\n__kernel void f() {} MARK[OCL101]\n'''\n",
        "x = '''\n__kernel void f() {} MARK[OCL101]  // kexec: ignore[OCL101]\n'''\n",
    ),
    ("a.py", "'é MARK[OCL101]'\r\ny = 1\r\n", "'é MARK[OCL101]'  # kexec: ignore[OCL101]\r\ny = 1\r\n"),
    ("a.py", "'MARK[OCL101]'", "'MARK[OCL101]'  # kexec: ignore[OCL101]"),
    ("a.py", "'a\x0cb'\n'MARK[OCL101]'\n", "'a\x0cb'\n'MARK[OCL101]'  # kexec: ignore[OCL101]\n"),
    ("a.c", "f(MARK[OCL101]);\n", "f(MARK[OCL101]);  // kexec: ignore[OCL101]\n"),
    ("a.c", "#define F MARK[OCL101] \\\n  g\n", None),
    ("a.c", "/* MARK[OCL101]\n*/\n", None),
]


@pytest.mark.parametrize(("name", "before", "after"), CASES)
def test_comments(tree, run, name, before, after):
    top = tree({})
    (top / name).write_bytes(before.encode())
    report = run()
    left, notes = ignores.add(report.findings)
    assert (top / name).read_bytes().decode() == (before if after is None else after)
    if after is None:
        assert (len(left), len(notes)) == (len(report.findings), len(left))
        assert "no place for a comment on this line" in notes[0]
    else:
        assert (left, notes) == ([], [])
        assert brief(run()) == []
