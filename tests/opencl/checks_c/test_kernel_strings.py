"""Findings in kernel sources that stand in string literals of C and C++ are shown at their place in the file."""

from __future__ import annotations

import pytest
from opencl_cases import NoProject

from kexec_lint.opencl.frontend.c_strings import kernel_strings
from kexec_lint.opencl.report import scan_native
from kexec_lint.source import Options, Source

BODY = """\
__kernel void f(__global float *x, __global float *y) {
    int i = get_global_id(0);
    x[i] = 1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    y[i] = x[i + 1000];
}
"""
QUOTED = "\n".join(f'    "{line}\\n"' for line in BODY.splitlines())

CASES = [
    pytest.param(f'const char *s = R"CLC(\n{BODY})CLC";\n', 6, 12, id="raw"),
    pytest.param(f"static const char *s =\n{QUOTED};\n", 6, 17, id="adjacent literals"),
    pytest.param('const char *s = "' + BODY.replace("\n", "\\n") + '";\n', 1, None, id="one literal"),
    pytest.param('const char *s = "' + BODY.replace("\n", "\\\n") + '";\n', 5, 12, id="continued"),
]


@pytest.mark.parametrize(("text", "row", "column"), CASES)
def test_place(text: str, row: int, column: int | None) -> None:
    source = Source("a.cpp", text, text.encode())
    found = scan_native(source, NoProject(), Options(frozenset({"OCL401"}))).findings
    assert [f.code for f in found] == ["OCL401"]
    assert found[0].location.row == row
    if column is not None:
        assert found[0].location.column == column


def test_every_character_is_found() -> None:
    text = f"static const char *s =\n{QUOTED};\n"
    (found,) = kernel_strings(Source("a.c", text, text.encode()))
    rows = text.split("\n")
    for offset, character in enumerate(found.value):
        if character != "\n":
            row, column = found.locate(offset)
            assert rows[row - 1][column - 1] == character
