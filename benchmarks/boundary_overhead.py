"""What watching costs: one command under each tracer, in interleaved rounds, as ratios to the command alone.

    python benchmarks/boundary_overhead.py [ROUNDS] [-- COMMAND...]    (default: 3 rounds of importing torch)

Processor time (of the command and the tracer, read from a control group of their own, which needs root) holds on a
busy machine; wall-clock time does not.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GROUPS = (Path("/sys/fs/cgroup/cpuacct"), Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))


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


def make_group() -> Path | None:
    """Return a new control group that counts processor time, None where there is none to be had."""
    for root in GROUPS:
        group = root / f"kexec-lint-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / "cpuacct.usage").exists() or (group / "cpu.stat").exists():
            return group
        group.rmdir()
    return None


def used(group: Path) -> float:
    """Return the seconds of processor time that a group has used."""
    if (group / "cpuacct.usage").exists():
        return int((group / "cpuacct.usage").read_text()) / 1e9
    return int((group / "cpu.stat").read_text().split("usage_usec ")[1].split()[0]) / 1e6


def measure(line: list[str]) -> tuple[float, float]:
    """Run a command; return its wall-clock and its processor time in seconds (nan where that is not counted)."""
    group = make_group()
    wrapped = ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh", *line] if group else line
    start = time.perf_counter()
    ended = subprocess.run(wrapped, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    if ended.returncode != 0:
        if group is not None:
            group.rmdir()
        raise SystemExit(f"exit code {ended.returncode}, nothing to measure: {' '.join(line)}")
    if group is None:
        return wall, float("nan")
    cpu = used(group)
    time.sleep(0.2)
    group.rmdir()
    return wall, cpu


def main() -> None:
    """Measure; print one line a way: median wall-clock and processor time, each with its ratio to the command."""
    arguments = sys.argv[1:]
    command = arguments[arguments.index("--") + 1 :] if "--" in arguments else [sys.executable, "-c", "import torch"]
    rounds = int(arguments[0]) if arguments and arguments[0].isdigit() else 3
    with tempfile.TemporaryDirectory() as folder:
        lines = ways(command, os.path.join(folder, "log"))
        measure(command)  # warms the page cache
        rows: dict[str, list[tuple[float, float]]] = {name: [] for name in lines}
        for _ in range(rounds):
            for name, line in lines.items():
                rows[name].append(measure(line))
    middle = {name: [statistics.median(column) for column in zip(*row, strict=True)] for name, row in rows.items()}
    wall, cpu = middle["alone"]
    for name, (w, c) in middle.items():
        print(f"{name:<31} wall {w:6.2f} s = {w / wall:4.2f}   processor {c:6.2f} s = {c / cpu:4.2f}", flush=True)


if __name__ == "__main__":
    main()
