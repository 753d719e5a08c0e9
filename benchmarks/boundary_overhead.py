"""What watching costs: one command under each tracer, in interleaved rounds, as ratios to the command alone.

python benchmarks/boundary_overhead.py [ROUNDS] -- COMMAND...    (default: 3 rounds of importing torch)
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def ways(command: list[str], log: str) -> dict[str, list[str]]:
    """Return the ways to run the command, by name."""
    boundary = [sys.executable, "-m", "kexec_lint", "boundary", "run", "--output", os.devnull]
    found = {"alone": command}
    if shutil.which("strace"):
        found |= {
            "strace -f": ["strace", "-f", "-o", log, *command],
            "boundary run": [*boundary, "--", *command],
            "boundary run --no-seccomp-bpf": [*boundary, "--no-seccomp-bpf", "--", *command],
            "boundary run --nvstatus": [*boundary, "--nvstatus", "--", *command],
        }
    if shutil.which("bpftrace") and os.geteuid() == 0:
        found["boundary run --bpf"] = [*boundary, "--bpf", "--", *command]
    return found


def seconds(line: list[str]) -> float:
    """Run a command and return its wall-clock time."""
    start = time.perf_counter()
    subprocess.run(
        line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def main() -> None:
    """Measure and print one line a way: median and least seconds, each with its ratio to the command alone."""
    arguments = sys.argv[1:]
    command = (
        arguments[arguments.index("--") + 1 :] if "--" in arguments else [sys.executable, "-c", "import torch"]
    )
    rounds = int(arguments[0]) if arguments and arguments[0].isdigit() else 3
    with tempfile.TemporaryDirectory() as folder:
        lines = ways(command, os.path.join(folder, "log"))
        seconds(command)  # warms the page cache
        times: dict[str, list[float]] = {name: [] for name in lines}
        for _ in range(rounds):
            for name, line in lines.items():
                times[name].append(seconds(line))
    alone, least = statistics.median(times["alone"]), min(times["alone"])
    for name, row in times.items():
        middle = statistics.median(row)
        print(
            f"{name:<32} median {middle:6.2f} s = {middle / alone:4.2f}   least {min(row):6.2f} s = {min(row) / least:4.2f}"
        )


if __name__ == "__main__":
    main()
