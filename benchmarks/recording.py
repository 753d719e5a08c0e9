"""What recording costs: the same program plain and under `verify run`, empty kernels and kernels that compute.

    python benchmarks/recording.py [--repeat 7]

Plain and recorded runs alternate. Printed are the medians and every figure behind them, by the wall clock, by the
processor time of the whole process and by that of the thread that launches, which a busy machine disturbs least.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

PROGRAM = '''
import sys, time
import numpy as np
import pyopencl as cl

launches, work = int(sys.argv[1]), int(sys.argv[2])
ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
program = cl.Program(ctx, """
__kernel void empty(__global float *x) {}
__kernel void compute(__global float *x, int n) {
    float v = x[get_global_id(0)];
    for (int i = 0; i < n; ++i) v = v * 0.999f + 0.5f;
    x[get_global_id(0)] = v;
}
""").build()
x = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4 * 4096)
cl.enqueue_fill_buffer(queue, x, np.float32(1), 0, 4 * 4096)
empty, compute = program.empty, program.compute
compute.set_scalar_arg_dtypes([None, np.int32])
for _ in range(20):
    empty(queue, (64,), None, x)
    compute(queue, (4096,), None, x, 1)
queue.finish()
clocks = time.perf_counter, time.process_time, time.thread_time
began = [clock() for clock in clocks]
for i in range(launches):
    if work:
        compute(queue, (4096,), None, x, work)
    else:
        empty(queue, (64,), None, x)
    if i % 50 == 49:
        queue.finish()
queue.finish()
print(*(clock() - start for clock, start in zip(clocks, began)))
'''


CLOCKS = ("wall", "process", "launching thread")


def seconds(arguments: list[str], recorded: bool, folder: str) -> list[float]:
    """Return the seconds that the program took by its own clocks."""
    script = os.path.join(folder, "program.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    if recorded:
        records = os.path.join(folder, "records")
        if os.path.exists(records):
            os.unlink(records)
        job = {
            "records": records,
            "experiment": {},
            "argv": [script, *arguments],
            "module": None,
            "script": script,
        }
        command = [sys.executable, "-W", "ignore", "-m", "kexec_lint.verify.launcher", json.dumps(job)]
    else:
        command = [sys.executable, "-W", "ignore", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    """Measure both, alternating, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for what, arguments in (("empty kernels", ["5000", "0"]), ("computing kernels", ["300", "3000"])):
            plain, recorded = [], []
            for _ in range(options.repeat):
                plain.append(seconds(arguments, False, folder))
                recorded.append(seconds(arguments, True, folder))
            count = int(arguments[0])
            print(f"{what}, {count} launches, µs for each:")
            for clock, before, after in zip(CLOCKS, zip(*plain, strict=True), zip(*recorded, strict=True), strict=True):
                one, two = statistics.median(before), statistics.median(after)
                raw = ", ".join(
                    f"{a / count * 1e6:.1f}/{b / count * 1e6:.1f}" for a, b in zip(before, after, strict=True)
                )
                print(
                    f"  {clock}: {one / count * 1e6:.1f} plain, {two / count * 1e6:.1f} recorded, {two / one:.3f} times"
                    f" ({raw})"
                )


if __name__ == "__main__":
    main()
