"""Time and memory as a tree grows tenfold: `python benchmarks/scale.py FOLDER [--sizes 1000 10000 100000] [--dask]`.

Makes a tree of each size in FOLDER: of every 25 files one is an example of a rule page or a test program, the others
are modules of the standard library cut to a few kilobytes; each file differs. Every run is a process. Wall times
are told as multiples of `ruff check --no-cache` on the same tree in the same round, processor time in seconds with all
workers, memory as the largest process. A run that takes longer than --limit is stopped and told as such.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import planting

ROOT = Path(__file__).parent.parent
EVERY = 25
LENGTH = 6000


def make(top: Path, count: int) -> None:
    """Write a tree of so many files, a hundred a folder."""
    host = list(planting.sources())
    library = Path(sysconfig.get_paths()["stdlib"])
    plain = [path.read_bytes()[:LENGTH].rpartition(b"\n")[0] for path in sorted(library.glob("*.py"))]
    for number in range(count):
        folder = top / f"{number // 10_000:02}" / f"{number // 100 % 100:02}"
        if number % 100 == 0:
            folder.mkdir(parents=True)
        if number % EVERY:
            name, data = f"plain{number}.py", plain[number % len(plain)]
        else:
            source, text = host[number // EVERY % len(host)]
            name, data = f"host{number}_{source.replace('/', '_')}", text.encode()
        mark = {".py": b"#", ".yaml": b"#", ".cmake": b"#", ".bzl": b"#", ".txt": b"#"}.get(Path(name).suffix, b"//")
        (folder / name).write_bytes(data + b"\n" + mark + b" %d\n" % number)


class Measured:
    """What a run took."""

    def __init__(self, name: str, command: list[str], top: Path, limit: float) -> None:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=top, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.name = name
        self.code: int | None = None
        while self.code is None:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            elif time.perf_counter() - began > limit:
                process.terminate()
                limit = float("inf")
            else:
                time.sleep(0.005)
        process.returncode = self.code
        if self.code:
            self.name += f" (exit code {self.code})"
        self.wall = time.perf_counter() - began
        self.processor = usage.ru_utime + usage.ru_stime
        self.megabytes = usage.ru_maxrss // 1024


def runs(top: Path, folder: Path, dask: str | None, limit: float) -> list[Measured]:
    """Return the runs on one tree."""
    cache = folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    check = [sys.executable, "-m", "kexec_lint", "check", "--isolated", "--exit-zero", "--output-format", "concise"]
    kept = [*check, "--cache-dir", str(cache)]
    measured = []
    ruff = shutil.which("ruff") or str(Path(sys.executable).parent / "ruff")

    def go(name: str, command: list[str]) -> None:
        measured.append(Measured(name, command, top, limit))

    if Path(ruff).is_file():
        go(
            "ruff --no-cache",
            [ruff, "check", "--isolated", "--exit-zero", "--no-cache", "--output-format=concise", "."],
        )
    go("serial, no cache", [*check, "--no-cache", "-j1"])
    go("2 processes, no cache", [*check, "--no-cache", "-j2"])
    if dask:
        go("Dask, 2 workers, no cache", [*check, "--no-cache", "--executor", dask])
    go("2 processes, fills its cache", [*kept, "-j2"])
    go("all from the cache", [*kept, "-j2"])
    changed = next(path for path in sorted(top.rglob("host*.py")))
    changed.write_bytes(changed.read_bytes() + b"# changed\n")
    go("one host file changed", [*kept, "-j2"])
    go("a tenth: --shard 1/10, no cache", [*check, "--no-cache", "-j2", "--shard", "1/10"])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for one run")
    arguments = parser.parse_args()
    os.environ["PYTHONPATH"] = str(ROOT)
    cluster = None
    if arguments.dask:
        from distributed import LocalCluster

        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    address = cluster.scheduler_address.replace("tcp://", "dask://") if cluster else None
    for size in arguments.sizes:
        top = arguments.folder.resolve() / str(size)
        if not top.exists():
            make(top, size)
        measured = runs(top, arguments.folder.resolve(), address, arguments.limit)
        print(f"\n{size} files\n\n| run | times ruff | processor seconds | largest process, MB |\n|---|---|---|---|")
        for run in measured:
            ratio = f"{run.wall / measured[0].wall:.1f}" if measured[0].name.startswith("ruff") else "-"
            print(f"| {run.name} | {ratio} | {run.processor:.1f} | {run.megabytes} |", flush=True)
    if cluster is not None:
        cluster.close()


if __name__ == "__main__":
    main()
