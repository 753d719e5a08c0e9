"""Fuzzes what reads files that others wrote: `python benchmarks/fuzz.py [--minutes 10] [--seed 1] [TARGET…]`.

Each target gets its share of the time in a process of its own. A fault writes the input to `fuzz-TARGET-N` and is
printed; the exit code says whether there was one. Memory is the peak of the process, seconds are processor time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "executorch"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import fuzzing

_FAULTS = 5


def fuzz(name: str, seconds: float, seed: int) -> None:
    """Feed mutants to one target until the time is over; exit with the number of faults."""
    sys.setrecursionlimit(3000)
    target = fuzzing.targets()[name]
    seeds = target.seeds()
    for data in seeds:
        target.read(data)
    start = _peak()
    choose = random.Random(f"{seed}-{name}")
    count = faults = 0
    slowest = 0.0
    end = time.monotonic() + seconds
    while time.monotonic() < end and faults < _FAULTS:
        data = fuzzing.mutated(choose, seeds)
        began = time.process_time()
        try:
            target.read(data)
            taken = time.process_time() - began
            assert taken < fuzzing.SECONDS, f"{taken:.1f} s"
        except Exception:  # whatever a reader raises is what this looks for
            faults += 1
            file = Path(f"fuzz-{name}-{faults}")
            file.write_bytes(data)
            print(f"{name}: fault {faults}, input in {file}", flush=True)
            traceback.print_exc(limit=-4)
            continue
        count += 1
        slowest = max(slowest, taken)
    print(
        f"{name}: {count} inputs from {len(seeds)} seeds, {faults} faults, slowest {slowest:.2f} s, "
        f"{_peak() - start} MB over the {start} MB of the seeds",
        flush=True,
    )
    sys.exit(faults)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> int:
    names = list(fuzzing.targets())
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="for all targets together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(names))
    arguments = parser.parse_args()
    chosen = arguments.targets or names
    seconds = arguments.minutes * 60 * arguments.jobs / len(chosen)
    context = multiprocessing.get_context("spawn")
    waiting = [context.Process(target=fuzz, args=(name, seconds, arguments.seed), name=name) for name in chosen]
    running: list[multiprocessing.process.BaseProcess] = []
    bad = 0
    while waiting or running:
        while waiting and len(running) < arguments.jobs:
            running.append(waiting.pop(0))
            running[-1].start()
        for process in list(running):
            process.join(0.2)
            if process.exitcode is not None:
                running.remove(process)
                if process.exitcode < 0:
                    print(f"{process.name}: killed by signal {-process.exitcode}")
                bad += process.exitcode != 0
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
