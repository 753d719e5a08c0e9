"""Tables of cases: each names its rule, bad chunks say where with `# expect: CODE`, good ones get nothing."""

from __future__ import annotations

import re

import pytest

from kexec_lint import rulebook
from kexec_lint.findings import Finding
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.analysis import Analysis, analyse
from kexec_lint.opencl.report import findings, scan_python
from kexec_lint.source import Options, Source

EXPECT = re.compile(r"expect:\s*([A-Z]{3}\d{3})")
START = re.compile(r"^(?:def|class) (\w+)", re.M)
CASE = re.compile(r"^(?=(?:def|class) (?:bad|good|Bad|Good)\w*)", re.M)

PRELUDE = '''
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pyopencl.tools as cl_tools
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel
from pyopencl.tools import ScalarArg, VectorArg

OOO = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
PROFILING = cl.command_queue_properties.PROFILING_ENABLE
RW = cl.mem_flags.READ_WRITE
COMPLETE = cl.command_execution_status.COMPLETE
SRC = """
__kernel void fill(__global float *x) { x[get_global_id(0)] = 1.0f; }
__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }
__kernel void copy(__global const float *x, __global float *y) { y[get_global_id(0)] = x[get_global_id(0)]; }
__kernel void add(__global const float *a, __global const float *b, __global float *c) {
    int i = get_global_id(0);
    c[i] = a[i] + b[i];
}
"""

'''.lstrip()


class NoProject:
    """A tree of one file."""

    def module(self, name: str, level: int, importer: str) -> Source | None:
        return None

    def read(self, path: str, relative_to: str) -> Source | None:
        return None


def codes(text: str, *wanted: str) -> list[str]:
    """Return the codes that these rules find in a module, whatever their confidence."""
    source = Source("a.py", text, text.encode())
    return sorted(f.code for f in scan_python(source, NoProject(), Options(frozenset(wanted), "possible")).findings)


def cases(code: str, text: str, at_least: int = 6) -> list[object]:
    """Return the chunks of a table as parameters (code, source); at least so many bad and good ones."""
    chunks = [chunk for chunk in CASE.split(text) if START.match(chunk)]
    names = [START.match(chunk)[1].lower() for chunk in chunks]  # type: ignore[index]
    for kind in ("bad", "good"):
        count = sum(name.startswith(kind) for name in names)
        assert count >= at_least, f"{code}: {count} {kind} cases"
    for name, chunk in zip(names, chunks, strict=True):
        assert bool(EXPECT.search(chunk)) == name.startswith("bad"), f"{code}: {name} contradicts its comments"
    return [pytest.param(code, chunk, id=f"{code}-{name}") for name, chunk in zip(names, chunks, strict=True)]


def verify(code: str, chunk: str, out_of_order: bool = False) -> None:
    """Analyse a chunk with the rules that are on by default and `code`; compare with its comments."""
    text = PRELUDE + chunk
    rules = rulebook.load()
    codes = frozenset(c for c, rule in rules.items() if c.startswith("OCL") and (rule.default or c == code))
    source = Source("case.py", text, text.encode())
    options = Options(codes, assume_out_of_order=out_of_order, explicit=frozenset({code}) - {"OCL505"})
    analysis = analyse(source, NoProject(), options)
    found = [f for f in findings(analysis, source, options) if f.confidence.rank < 2]
    expected = [(row, c) for row, line in enumerate(text.split("\n"), 1) for c in EXPECT.findall(line)]
    assert sorted((f.location.row, f.code) for f in found) == expected, render(text, found, analysis)


def render(text: str, found: list[Finding], analysis: Analysis) -> str:
    """Return the source with row numbers, the findings and the graphs."""
    rows = [f"{row:4} {line}" for row, line in enumerate(text.split("\n"), 1) if row > PRELUDE.count("\n")]
    said = [f"{f.location.row}: {f.code} {f.confidence.value} {f.message}" for f in found]
    return "\n".join(["", *rows, *said, *(_draw(graph) for graph in analysis.graphs)])


def _draw(graph: g.EnqueueGraph) -> str:
    lines = [f"{graph.name}{' (threads)' if graph.threaded else ''}"]
    for node in graph.nodes:
        before = ", ".join(f"{source.index}{'' if sure else '?'}" for source, sure, _ in node.before)
        touches = ", ".join(f"{a.memory.name}:{a.reads}/{a.writes}" for a in node.accesses)
        if isinstance(node, g.Command):
            assert node.queue is not None
            what = f"{node.kind} {node.what} on {node.queue.name} ({node.queue.order.value}), list {node.wait_list}"
        else:
            what = f"host {getattr(node, 'kind', '')} {getattr(node, 'what', '')}"
        lines.append(f"  {node.index} {what} [{touches}] after {before} under {sorted(node.guard)}")
    return "\n".join(lines)
