"""Runs random PyOpenCL programs, each with a gate on a random pair of its commands, and sees that every one ends.

    python scripts/soak_gates.py [--runs 1000] [--seed 1]

A program that ends before its gate would hold a command does not count as a run.

A run that hangs for a minute ends the script with the stacks of all threads; a queue with an unfinished command or
an event that never completes is counted as left over. Prints one line and exits with 1 if anything was.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from typing import Any

import numpy as np
import pyopencl as cl

import kexec_lint.verify
from kexec_lint.verify.recorder.gates import Gate, Gates
from kexec_lint.verify.recorder.patches import install
from kexec_lint.verify.recorder.recorder import Experiment, Recorder
from kexec_lint.verify.recorder.sites import Sites
from kexec_lint.verify.recorder.stream import Writer

SOURCE = """
__kernel void blend(__global float *x, __global const float *y)
{
    int i = get_global_id(0);
    x[i] = x[i] / 2 + y[i];
}
"""
HANG = 60


def program(choose: random.Random, context: Any, kernel: Any) -> list[Any]:
    """Run a random program: queues of both kinds, transfers, kernels, maps, markers, waits, drops, threads.

    Returns its queues.
    """
    kinds = cl.command_queue_properties
    queues = [
        cl.CommandQueue(context, properties=choose.choice((0, kinds.OUT_OF_ORDER_EXEC_MODE_ENABLE)))
        for _ in range(choose.randint(1, 3))
    ]
    buffers = [cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096) for _ in range(3)]
    hosts = [np.full(1024, n, np.float32) for n in range(3)]
    kept: list[Any] = []

    def step(most: int = 11) -> None:
        queue = choose.choice(queues)
        waits = choose.sample(kept, min(len(kept), choose.randint(0, 2))) or None
        buffer, host = choose.choice(buffers), choose.choice(hosts)
        blocking = choose.random() < 0.2
        event = None
        match choose.randint(0, most):
            case 0 | 1:
                event = cl.enqueue_copy(queue, buffer, host, is_blocking=blocking, wait_for=waits)
            case 2 | 3:
                event = cl.enqueue_copy(queue, host, buffer, is_blocking=blocking, wait_for=waits)
            case 4 | 5:
                other = choose.choice([b for b in buffers if b is not buffer])
                event = kernel(queue, (1024,), None, buffer, other, wait_for=waits)
            case 6:
                event = cl.enqueue_fill_buffer(queue, buffer, np.float32(1), 0, 4096, wait_for=waits)
            case 11:
                array, event = cl.enqueue_map_buffer(
                    queue, buffer, cl.map_flags.READ, 0, (1024,), np.float32, wait_for=waits, is_blocking=blocking
                )
                event.wait()
                array.base.release(queue)
            case 8:
                event = choose.choice((cl.enqueue_marker, cl.enqueue_barrier))(queue, wait_for=waits)
            case 9:
                queue.finish()
            case 10 if kept:
                choose.choice(kept).wait()
            case 7 if kept:
                cl.wait_for_events(choose.sample(kept, min(2, len(kept))))
        if event is not None and choose.random() < 0.7:
            kept.append(event)  # else it is dropped, which waits if it is a NannyEvent

    def body(count: int) -> None:
        for _ in range(count):
            step()
            if choose.random() < 0.02:
                raise ValueError("the program's own exception")

    try:
        if choose.random() < 0.2:
            # Without maps: PoCL 3.0 mixes up two maps of one buffer from two threads.
            threads = [threading.Thread(target=lambda: [step(10) for _ in range(6)]) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        else:
            body(choose.randint(2, 25))
    except ValueError:
        pass
    return queues


def main() -> int:
    """Run and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    package = os.path.dirname(str(kexec_lint.verify.__file__))
    results: Counter[str] = Counter()
    left_over = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(os.path.join(folder, "records"))
        sites = Sites(writer, os.path.dirname(os.path.abspath(cl.__file__)), package)
        recorder = Recorder(cl, np, writer, sites, Experiment(gates=((("0", 1), ("0", 2)),), deadline=0.05))
        install(recorder)
        context = cl.create_some_context(interactive=False)
        kernel = cl.Program(context, SOURCE).build().blend
        while sum(results.values()) - results["no gate"] < options.runs:
            choose = random.Random(options.seed * 1_000_003 + sum(results.values()))
            earlier = choose.randint(1, 8)
            gate = Gate(("0", earlier), ("0", earlier + choose.randint(1, 6)))
            if choose.random() < 0.2:
                gate = Gate(("0.1", choose.randint(1, 6)), ("0.2", choose.randint(1, 6)))
            recorder.gates = Gates(cl, [gate], 0.05)
            recorder.lanes.clear()
            faulthandler.dump_traceback_later(HANG, exit=True)
            queues = program(choose, context, kernel)
            recorder.gates.open_all("the program ended first")
            for queue in queues:
                marker = cl.enqueue_marker(queue)
                queue.flush()
                end = time.monotonic() + 10
                while marker.command_execution_status > 0 and time.monotonic() < end:
                    time.sleep(0.001)
                left_over += marker.command_execution_status > 0
            if gate.user is not None and gate.user.command_execution_status > 0:
                left_over += 1
            results[gate.result if gate.user is not None else "no gate"] += 1
            faulthandler.cancel_dump_traceback_later()
            writer.pending.clear()
    counts = ", ".join(f"{count} {name}" for name, count in sorted(results.items()))
    seconds = time.monotonic() - began
    print(f"{options.runs} gated runs in {seconds:.0f} s, none hung, {left_over} left something over: {counts}")
    return 1 if left_over else 0


if __name__ == "__main__":
    sys.exit(main())
