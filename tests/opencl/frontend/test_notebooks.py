"""IPython's syntax in notebooks: what stays, what goes, and that every row and column stays where it is."""

from __future__ import annotations

import json

import pytest
from rendering import block

from kexec_lint.opencl.frontend.notebook import plain
from kexec_lint.opencl.frontend.python import lower
from kexec_lint.opencl.program import Assign, Call, Const, Span
from kexec_lint.source import Source


def notebook(*cells: str) -> Source:
    rows = [(number, row, line) for number, cell in enumerate(cells, 1) for row, line in enumerate(cell.split("\n"), 1)]
    text = "\n".join(line for *_, line in rows)
    return Source("test.ipynb", text, b"", tuple((number, row) for number, row, _ in rows))


LINES = [
    ("%matplotlib inline", "0"),
    ("%time x = f()", "0;    x = f()"),
    ("%timeit -n 10 -r3 f(x)", "0;                f(x)"),
    ("if a:\n    %time f()", "if a:\n    0;    f()"),
    ("%timeit for x in y: pass", "0"),
    ("x = %time f()", "x =       f()"),
    ("x[(0, 'a')] = %timeit -o f()", "x[(0, 'a')] =            f()"),
    ("files = !ls -l | grep 'x", "files = _"),
    ("x = %sql select 'it''s'", "x = _"),
    ("!pip install pyopencl  # it's", "0"),
    ("!echo a \\\n  b\nx = 1", "0\n\nx = 1"),
    ("np.array?\n?np.array\nf??", "0\n0\n0"),
    ("%run -i other.py", "0"),
    ("x = (a\n % b)", "x = (a\n % b)"),
    ("s = '''\n%time f()\n!ls\n'''", "s = '''\n%time f()\n!ls\n'''"),
    ("x = a \\\n % b", "x = a \\\n % b"),
    ("f(a\n%b)", "f(a\n%b)"),
    ("s = 'x = %d' % y  # = %d\nt = a != b", "s = 'x = %d' % y  # = %d\nt = a != b"),
    ("%%time\nf()", "0\nf()"),
    ("%%capture out\n%time f()", "0\n0;    f()"),
    ("%%bash\nls 'x\necho", "\n\n"),
    ("%%cython -a\ncdef int x", "\n"),
]


@pytest.mark.parametrize(("cell", "expected"), LINES)
def test_cells(cell: str, expected: str) -> None:
    text, _, notes = plain(notebook(cell))
    assert text == expected
    assert not notes


def test_a_cell_that_is_no_python_is_left_out_with_a_note() -> None:
    module = lower(notebook("x = 1", "ls *.cl\n", "def f(:", "y = x"))
    assert block(module.body) == ["x = 1", "y = x"]
    assert module.body[1].span == Span(5, 1, 5, 6)
    assert [note.partition(":")[0] for note in module.notes] == ["cell 2, line 1", "cell 3, line 1"]


KERNELS = """\
%%cl_kernel -o "-cl-fast-relaxed-math -DN=4"
// __kernel void not_me(int a)
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void scale(__global float *a) { a[get_global_id(0)] *= 2; }
kernel void add(global float *a, global const float *b) { }
void helper(__global float *a);"""


def test_a_kernel_cell_defines_its_kernels() -> None:
    module = lower(notebook("import pyopencl as cl\nctx = cl.create_some_context()", KERNELS, "scale(q, n, None, a)"))
    source = KERNELS.partition("\n")[2]
    assert block(module.body) == [
        "import pyopencl: - as cl",
        "ctx = cl.create_some_context()",
        "import pyopencl: - as -",
        f"cl_kernel 3 = pyopencl.Program(ctx, {source!r}).build(options='-cl-fast-relaxed-math -DN=4')",
        "scale = cl_kernel 3.scale",
        "add = cl_kernel 3.add",
        "scale(q, n, None, a)",
    ]
    assert module.body[4].span == Span(6, 6, 6, 11)
    program = module.body[3]
    assert isinstance(program, Assign)
    assert isinstance(program.value, Call)
    assert next(part for part in _constants(program.value) if part.value == source).span.row == 4


def _constants(call: Call) -> list[Const]:
    inner = [arg.value for arg in call.args]
    func = getattr(call.func, "base", None)
    found = [value for value in inner if isinstance(value, Const)]
    return found + (_constants(func) if isinstance(func, Call) else [])


def test_the_context_of_a_kernel_cell_is_the_one_the_magic_takes() -> None:
    module = lower(notebook("cl_ctx = make()", "%%cl_kernel\nkernel void f() {}"))
    assert "Program(cl_ctx, " in block(module.body)[2]


def test_the_cells_are_read_as_they_stand_in_the_file() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["%%cl_kernel"]},
        {"cell_type": "code", "source": ["%%cl_kernel\n", "kernel void f() {}\n"]},
        {"cell_type": "code", "source": "f(q)"},
    ]
    data = json.dumps({"cells": cells, "nbformat": 4}).encode()
    source = Source("test.ipynb", "#\n#\nf(q)\n", data, ((2, 1), (2, 2), (3, 1)))
    assert block(lower(source).body)[-2:] == ["f = cl_kernel 1.f", "f(q)"]


def test_a_notebook_without_code_is_empty() -> None:
    assert lower(Source("test.ipynb", "", b"{}", ())).body == ()
