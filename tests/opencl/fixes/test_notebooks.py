"""Fixes in notebooks: the cell changes, the rest of the file does not."""

from __future__ import annotations

import json
from pathlib import Path

from fixing import run

HEAD = """import numpy as np
import pyopencl as cl
%matplotlib inline
ctx = cl.create_some_context()
queue = cl.CommandQueue(ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
host = np.ones(64, np.float32)
x = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, host.nbytes)"""
KERNEL = "%%cl_kernel\n__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }"
RUN = """twice(queue, host.shape, None, x)  # once
%time twice(queue, host.shape, None, x)
!nvidia-smi"""


def notebook(*sources: str) -> str:
    cells = [
        {"cell_type": "code", "execution_count": n, "metadata": {}, "outputs": [], "source": source.splitlines(True)}
        for n, source in enumerate(sources, 1)
    ]
    document = {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def test_the_cell_is_changed_and_nothing_else(tmp_path: Path) -> None:
    fixed, report = run(tmp_path / "a.ipynb", notebook(HEAD, KERNEL, RUN))
    after = "twice_done = " + RUN.replace("None, x)\n!", "None, x, wait_for=[twice_done])\n!")
    assert fixed == notebook(HEAD, KERNEL, after)
    assert [(f.code, f.location.cell, f.location.row) for f in report.findings] == []
    assert run(tmp_path / "a.ipynb", fixed)[0] == fixed


def test_a_new_line_stands_in_the_cell_of_the_line_below_it(tmp_path: Path) -> None:
    read = "done = cl.enqueue_copy(queue, host, x, is_blocking=False)"
    fixed, report = run(tmp_path / "a.ipynb", notebook(HEAD, read, "print(host.sum())\nqueue.finish()"))
    assert fixed == notebook(HEAD, read, "done.wait()\nprint(host.sum())\nqueue.finish()")
    assert report.findings == []
