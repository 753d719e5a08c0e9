"""Tables of cases in C and C++: a chunk starts with `// bad name` or `// good name` and ends before the next one."""

from __future__ import annotations

import re

import pytest
from opencl_cases import NoProject

from kexec_lint import rulebook
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.analysis import analyse
from kexec_lint.opencl.report import findings
from kexec_lint.source import Options, Source

EXPECT = re.compile(r"expect:\s*([A-Z]{3}\d{3})")
CASE = re.compile(r"^// (?=(?:bad|good) )", re.M)

C = """\
#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>
#define OOO CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
#define HERE cl_context ctx, cl_device_id dev, cl_kernel k, size_t n
static const char *source =
    "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }"
    "__kernel void load(__global const float *x, __global float *y) { y[get_global_id(0)] = x[get_global_id(0)]; }";
"""

CPP = """\
#include <CL/opencl.hpp>
#include <vector>
constexpr auto OOO = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
"""


def cases(code: str, text: str, at_least: int = 6) -> list[object]:
    """Return the chunks of a table as parameters (code, source); at least so many bad and good ones."""
    chunks = [chunk for chunk in CASE.split(text) if chunk.startswith(("bad ", "good "))]
    for kind in ("bad", "good"):
        count = sum(chunk.startswith(f"{kind} ") for chunk in chunks)
        assert count >= at_least, f"{code}: {count} {kind} cases"
    rows = []
    for chunk in chunks:
        name = chunk.partition("\n")[0]
        assert bool(EXPECT.search(chunk)) == name.startswith("bad"), f"{code}: {name} contradicts its comments"
        rows.append(pytest.param(code, f"// {chunk}", id=f"{code}-{name}"))
    return rows


def verify(code: str, chunk: str, language: str = "c") -> None:
    """Analyse a chunk with the rules that are on by default and `code`; compare with its comments."""
    text = (C if language == "c" else CPP) + chunk
    rules = rulebook.load()
    codes = frozenset(c for c, rule in rules.items() if c.startswith("OCL") and (rule.default or c == code))
    source = Source("case.c" if language == "c" else "case.cpp", text, text.encode())
    options = Options(codes, explicit=frozenset({code}))
    analysis = analyse(source, NoProject(), options)
    found = [f for f in findings(analysis, source, options) if f.confidence.rank < 2]
    expected = [(row, c) for row, line in enumerate(text.split("\n"), 1) for c in EXPECT.findall(line)]
    said = [(f.location.row, f.code) for f in found]
    assert said == expected, "\n".join(
        [*(f"{f.location.row} {f.code} {f.message}" for f in found), *map(_drawn, analysis.graphs)]
    )


def _drawn(graph: g.EnqueueGraph) -> str:
    rows = [f"graph {graph.name}"]
    for node in graph.nodes:
        kind = node.kind if isinstance(node, g.Command | g.HostPoint) else "?"
        before = ", ".join(f"{source.index}{'' if certain else '?'}" for source, certain, _ in node.before)
        uses = ", ".join(
            f"{a.memory.name}:{'r' if a.reads is not False else ''}{'w' if a.writes is not False else ''}"
            for a in node.accesses
        )
        rows.append(f"  {node.index} {kind} {sorted(node.guard)} after [{before}] {uses}")
    return "\n".join(rows)
