"""Time whole runs of `kexec-lint check` beside its peers and the floors, in one run on one machine.

    python benchmarks/speed.py TREE… [--rounds 3] [--jobs 2] [--python-only]

For all trees together: cold (no cache) and warm (cache filled) against ruff with its default rules, without and with
its cache, against flake8 and fixit where they are installed, and against reading the bytes of every file in Python.
For one file: `import click`, `import libcst` with a parse. Rounds alternate, so that a machine that slows down slows
all of them; the ratio is that of the medians. Prints a Markdown table.

With `--python-only` all of them see a copy with the Python files and notebooks alone (without their pictures), the
only files of these that ruff reads: like with like. kexec-lint runs from bytecode, as pip installs it and its peers.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READ = """
import os, sys
for top in sys.argv[1:]:
    for folder, _, names in os.walk(top):
        for name in names:
            if name.endswith((".py", ".pyi", ".c", ".h", ".cpp", ".hpp", ".cl", ".yaml")):
                with open(os.path.join(folder, name), "rb") as file:
                    file.read()
"""
PARSE = "import libcst, sys; libcst.parse_module(open(sys.argv[1], 'rb').read())"


def python_of(tree: str, copies: str) -> str:
    """Copy the Python files and notebooks of a tree, pictures left out, and return the copy's path."""
    top = os.path.join(copies, os.path.basename(os.path.normpath(tree)))
    for folder, _, names in os.walk(tree):
        target = os.path.join(top, os.path.relpath(folder, tree))
        for name in names:
            source = os.path.join(folder, name)
            if name.endswith((".py", ".pyi", ".ipynb")) and os.path.isfile(source):
                os.makedirs(target, exist_ok=True)
                shutil.copyfile(source, os.path.join(target, name))
                if name.endswith(".ipynb"):
                    without_pictures(os.path.join(target, name))
    return top


def without_pictures(path: str) -> None:
    """Take the pictures out of the results in a notebook."""
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    for cell in notebook.get("cells", []):
        cell.pop("attachments", None)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            for kind in [kind for kind in data if kind.startswith("image/") or len(str(data[kind])) > 20_000]:
                del data[kind]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(notebook, file, indent=1)


def commands(trees: list[str], jobs: int, caches: str) -> dict[str, list[str]]:
    """Return the command lines by name."""
    me = [sys.executable, "-m", "kexec_lint", "check", "--isolated", "--jobs", str(jobs), "--output-format", "concise"]
    found = {
        "kexec-lint cold": [*me, "--no-cache", *trees],
        "kexec-lint warm": [*me, "--cache-dir", f"{caches}/kexec", *trees],
        "reading the bytes": [sys.executable, "-c", READ, *trees],
    }
    ruff = shutil.which("ruff")
    if ruff:
        found["ruff, no cache"] = [ruff, "check", "--isolated", "--no-cache", *trees]
        found["ruff, cache"] = [ruff, "check", "--isolated", "--cache-dir", f"{caches}/ruff", *trees]
    for name, rest in (("flake8", ["--isolated", f"--jobs={jobs}"]), ("fixit", ["lint"])):
        path = shutil.which(name)
        if path:
            found[name] = [path, *rest, *trees]
    return found


def single(path: str, jobs: int) -> dict[str, list[str]]:
    """Return the command lines for one staged file."""
    me = [sys.executable, "-m", "kexec_lint", "check", "--isolated", "--no-cache", "--jobs", str(jobs)]
    return {
        "kexec-lint, one file": [*me, path],
        "import click": [sys.executable, "-c", "import click"],
        "import libcst and parse it": [sys.executable, "-c", PARSE, path],
    }


def measure(runs: dict[str, list[str]], rounds: int) -> dict[str, tuple[float, float]]:
    """Return the median wall and processor seconds of each command, rounds interleaved after a first one."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, command in runs.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            began = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            wall = time.perf_counter() - began
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if number:
                times[name].append((wall, used))
    return {
        name: (statistics.median(w for w, _ in rows), statistics.median(c for _, c in rows))
        for name, rows in times.items()
    }


def table(title: str, figures: dict[str, tuple[float, float]], against: str) -> None:
    """Print one table, with ratios to the row `against`."""
    print(f"\n### {title}\n\n| command | wall s | processor s | wall, times {against} | processor, times {against} |")
    print("|---|---|---|---|---|")
    wall, used = figures[against]
    for name, (w, c) in figures.items():
        print(f"| {name} | {w:.2f} | {c:.2f} | {w / wall:.2f} | {c / max(used, 0.001):.2f} |")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--python-only", action="store_true", help="leave out what ruff does not read")
    parser.add_argument("--file", action="append", default=[], help="also time this one file")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    print(f"{os.cpu_count()} processors, Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as caches, tempfile.TemporaryDirectory() as copies:
        trees = [python_of(tree, copies) for tree in options.trees] if options.python_only else options.trees
        figures = measure(commands(trees, options.jobs, caches), options.rounds)
    names = ", ".join(Path(tree).name for tree in options.trees)
    table(names, figures, "ruff, no cache" if "ruff, no cache" in figures else "reading the bytes")
    for path in options.file:
        table(Path(path).name, measure(single(path, options.jobs), options.rounds), "import click")
    return 0


if __name__ == "__main__":
    sys.exit(main())
