"""Programs under `verify run`: a beginning that they share, and ways to run one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HEAD = '''
import sys
import numpy as np
import pyopencl as cl
import pyopencl.array as cla
from pyopencl.tools import ImmediateAllocator, MemoryPool

OOO = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
RW = cl.mem_flags.READ_WRITE
SRC = """
__kernel void fill(__global float *x) { x[get_global_id(0)] = 1.0f; }
__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }
__kernel void copy(__global const float *x, __global float *y) { y[get_global_id(0)] = x[get_global_id(0)]; }
"""
ctx = cl.create_some_context(interactive=False)
program = cl.Program(ctx, SRC).build()
host = np.arange(64, dtype=np.float32)
x = cl.Buffer(ctx, RW, host.nbytes)
y = cl.Buffer(ctx, RW, host.nbytes)
'''.lstrip()


def run(folder: Path, body: str, *options: str, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    script = folder / "program.py"
    script.write_text(HEAD + body)
    command = [sys.executable, "-m", "kexec_lint", "verify", "run", *options, str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=folder, check=False)


def found(folder: Path, body: str, *options: str) -> list[tuple[str, str]]:
    """Return code and source line of what a run finds."""
    result = run(folder, body, "--output-format", "concise", *options)
    rows = re.findall(r"program\.py:(\d+):\d+: (OCL\d+)", result.stderr)
    lines = (HEAD + body).split("\n")
    return [(code, lines[int(row) - 1].strip()) for row, code in rows]
