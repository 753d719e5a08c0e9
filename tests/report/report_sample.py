"""Two findings with every field in use, over files that exist."""

from __future__ import annotations

from kexec_lint.findings import Confidence, Edit, Finding, Fix, Location, Related, Severity

HOST = """\
import pyopencl as cl


def run(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    x = cl.Buffer(ctx, cl.mem_flags.READ_ONLY, host.nbytes)


    up = cl.enqueue_copy(queue, x, host, is_blocking=False)

    run = prg.square(
        queue, host.shape, None,
        x, y,
    )
    name = "é😀"; return out[0]
"""
KERNEL = "__kernel void square(__global const float *x,\n  __global float *y) { y[0] = x[0]; }\n"


def at(filename: str, row: int, column: int, end_row: int, end_column: int) -> Location:
    return Location(filename, row, column, end_row, end_column)


COPY, LAUNCH = at("src/app.py", 9, 10, 9, 60), at("src/app.py", 11, 11, 14, 6)

RACE = Finding(
    code="OCL101",
    name="missing-wait-edge",
    severity=Severity.ERROR,
    confidence=Confidence.LIKELY,
    message="`square` reads `x` while the copy into it may still run",
    location=LAUNCH,
    help="pass the copy's event to the kernel: wait_for=[up]",
    hazard="read-after-write",
    related=(
        Related("writes `x`, event `up`", COPY),
        Related("out-of-order queue", at("src/app.py", 5, 13, 5, 49)),
        Related("reads its argument", at("src/k.cl", 2, 3, 2, 20)),
    ),
    steps=(Related("the copy writes `x`", COPY), Related("`square` reads `x`", LAUNCH)),
    extra=(("operator", "square"),),
)
READ = Finding(
    code="OCL201",
    name="host-read-before-wait",
    severity=Severity.WARNING,
    confidence=Confidence.CERTAIN,
    message="`out` is read <here> & now: 100%",
    location=at("src/app.py", 15, 25, 15, 31),
    fix=Fix("safe", "wait for the event", (Edit(at("src/app.py", 15, 18, 15, 18), "up.wait(); "),)),
)
