"""Time `kexec-lint check` on C and C++ against a bare parse by tree-sitter, and against clang-tidy's analyzer.

    python benchmarks/speed_c.py TREE… [--clang-tidy CLANG_TIDY] [--include DIR…] [--sample N] [--rounds N]

Three comparisons in one run, each by processor time of one job, the best of the rounds:

- all C and C++ files of the trees: a bare parse, and the whole command without its cache;
- those that hold OpenCL host code: a bare parse, lowering with every body, and the command;
- those of them that clang-tidy can compile (a sample): clang-tidy with the analyzer's checks, and the command.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kexec_lint import rulebook
from kexec_lint.opencl import NATIVE
from kexec_lint.opencl.api.native import HOST_CODE
from kexec_lint.opencl.frontend.c import lower, outline
from kexec_lint.opencl.frontend.c_unit import language_of, parser
from kexec_lint.opencl.program import Class, Function, Statement
from kexec_lint.source import Source

CHECKS = "-*,clang-analyzer-core.*,clang-analyzer-unix.*,clang-analyzer-cplusplus.*,clang-analyzer-deadcode.*"


def read(trees: Sequence[Path]) -> list[Source]:
    """Return the C and C++ files that `check` would read."""
    found = []
    for tree in trees:
        for path in sorted(tree.rglob("*")):
            if path.suffix.lower() in NATIVE and path.is_file() and path.stat().st_size < 5 << 20:
                data = path.read_bytes()
                found.append(Source(str(path), data.decode("utf-8", "replace"), data))
    return found


def rows(sources: Sequence[Source]) -> int:
    """Return the number of lines of files."""
    return sum(source.data.count(b"\n") for source in sources)


def parse(sources: Sequence[Source]) -> None:
    """Parse files and look at nothing."""
    for source in sources:
        parser(language_of(source.suffix, source.text)).parse(source.data)


def lower_all(sources: Sequence[Source]) -> None:
    """Lower files with the body of every function."""
    outline.cache_clear()
    for source in sources:
        _enter(lower(source).body)


def _enter(body: tuple[Statement, ...]) -> None:
    for one in body:
        if isinstance(one, Function | Class):
            _enter(one.body)


def check(paths: Sequence[str]) -> None:
    """Run the command on paths, one job, no cache."""
    command = [sys.executable, "-m", "kexec_lint", "check", "--isolated", "--no-cache", "-j1", "-q", "--exit-zero"]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "KEXEC_LINT_CACHE_DIR": cache}
        subprocess.run([*command, *paths], check=False, capture_output=True, env=environment)


def seconds(work: Callable[[], None], rounds: int) -> float:
    """Return the processor time of the best round, children included."""
    best = float("inf")
    for _ in range(rounds):
        before = _used()
        work()
        best = min(best, _used() - before)
    return best


def _used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def table(title: str, lines: int, times: dict[str, float]) -> None:
    """Print seconds, lines a second and the multiple of the first row."""
    first = next(iter(times.values()))
    print(title)
    for name, spent in times.items():
        print(f"  {name:28} {spent:8.2f} s {lines / spent:10.0f} lines/s {spent / first:7.2f}")


def tidy(command: str, source: Source, include: Sequence[str]) -> tuple[float, bool]:
    """Return the processor time of clang-tidy on a file, and whether it could compile it."""
    folder = Path(source.path).parent
    flags = ["-std=c++17"] if language_of(source.suffix, source.text) == "c++" else []
    near = [f"-I{one}" for one in (folder, folder.parent, folder / "include", folder.parent / "include", *include)]
    before = _used()
    found = subprocess.run(
        [command, "--quiet", f"-checks={CHECKS}", source.path, "--", *flags, *near, "-w"],
        check=False,
        capture_output=True,
        text=True,
    )
    return _used() - before, " error: " not in found.stdout + found.stderr


def main() -> int:
    """Run the comparisons and print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("trees", nargs="+", type=Path)
    options.add_argument("--clang-tidy", default="clang-tidy")
    options.add_argument("--include", nargs="*", default=[])
    options.add_argument("--sample", type=int, default=60)
    options.add_argument("--rounds", type=int, default=2)
    given = options.parse_args()
    every = read(given.trees)
    host = [source for source in every if HOST_CODE.search(source.text)]
    times = {
        "tree-sitter, bare parse": seconds(lambda: parse(every), given.rounds),
        "kexec-lint check": seconds(lambda: check([source.path for source in every]), given.rounds),
    }
    table(f"all: {len(every)} files, {rows(every)} lines", rows(every), times)
    paths = [source.path for source in host]
    times = {
        "tree-sitter, bare parse": seconds(lambda: parse(host), given.rounds),
        "lowered, every body": seconds(lambda: lower_all(host), given.rounds),
        "kexec-lint check": seconds(lambda: check(paths), given.rounds),
    }
    table(f"with host code: {len(host)} files, {rows(host)} lines", rows(host), times)
    units = [source for source in host if source.suffix in (".c", ".cc", ".cpp", ".cxx")]
    spent, compiled = 0.0, []
    for source in units[:: max(1, len(units) // given.sample)]:
        took, could = tidy(given.clang_tidy, source, given.include)
        if could:
            spent += took
            compiled.append(source)
    if compiled:
        paths = [source.path for source in compiled]
        times = {"clang-tidy": spent, "kexec-lint check": seconds(lambda: check(paths), given.rounds)}
        listed = subprocess.run(
            [given.clang_tidy, "--list-checks", f"-checks={CHECKS}"], check=False, capture_output=True, text=True
        )
        checks = sum(line.startswith("    ") for line in listed.stdout.splitlines())
        rules = sum(rule.default for code, rule in rulebook.load().items() if code.startswith("OCL"))
        table(
            f"compiled by clang-tidy: {len(compiled)} files, {rows(compiled)} lines; {checks} checks, {rules} rules",
            rows(compiled),
            times,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
