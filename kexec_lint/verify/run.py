"""`verify run`: runs a program with PyOpenCL recorded, judges what it did, and repeats it as experiments."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from kexec_lint import rulebook
from kexec_lint.findings import Confidence, Finding
from kexec_lint.opencl import checks
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.words import name, row, start
from kexec_lint.opencl.report import judged
from kexec_lint.source import Options, Source
from kexec_lint.verify import VerifyError, runtimes
from kexec_lint.verify.recorder.recorder import Experiment
from kexec_lint.verify.trace import UNKNOWN, Ran, Trace, load, segments

JUDGE_SECONDS = 60.0
CODES = frozenset({"OCL204", "OCL205"}).union(
    *(codes for codes, _ in checks.registered() if "OCL101" in codes)
) - frozenset({"OCL211"})  # reported on request only
"""Rules about the order of two commands, or of a command and the host."""


@dataclass(frozen=True)
class Program:
    """What to run: a script or a module, and its arguments as `sys.argv` has them."""

    argv: tuple[str, ...]
    script: str | None = None
    module: str | None = None


def program(words: Sequence[str], module: str | None) -> Program:
    """Return the program that a command line means: SCRIPT ARGS, or `-m MODULE ARGS`, or COMMAND ARGS.

    Raises VerifyError if there is none.
    """
    import shutil

    if module is not None:
        return Program((module, *words), module=module)
    if not words:
        raise VerifyError("no program: give a script, -m MODULE, or -- COMMAND")
    first, *rest = words
    if re.fullmatch(r"python[\d.]*(\.exe)?", os.path.basename(first)) and rest:
        if rest[0] == "-m" and len(rest) > 1:
            return Program(tuple(rest[1:]), module=rest[1])
        return program(rest, None)
    if os.path.isfile(first):
        return Program((first, *rest), script=first)
    found = shutil.which(first)
    if found is not None:
        with open(found, "rb") as file:
            head = file.readline(200)
        if head.startswith(b"#!") and b"python" in head:
            return Program((found, *rest), script=found)
        raise VerifyError(f"{first}: not a Python program, so its OpenCL calls cannot be recorded")
    raise VerifyError(f"{first}: no such script or command")


@dataclass
class Seen:
    """What a run showed: its exit code, trace and the contents that it left."""

    code: int
    seconds: float
    trace: Trace
    contents: dict[str, Any] = field(default_factory=dict)


def execute(what: Program, experiment: Experiment, quiet: bool = False, limit: float | None = None) -> Seen:
    """Run a program once. `quiet` runs are repetitions: their output is not shown.

    Raises VerifyError for a repetition that does not end within `limit` seconds.
    """
    runtimes.require()
    with tempfile.TemporaryDirectory(prefix="kexec-lint-") as folder:
        records = os.path.join(folder, "records")
        contents = os.path.join(folder, "contents.npz") if experiment.contents else None
        asked = asdict(replace(experiment, contents=contents))
        job = {
            "records": records,
            "experiment": asked,
            "argv": what.argv,
            "module": what.module,
            "script": what.script,
        }
        silent = subprocess.DEVNULL if quiet else None
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "kexec_lint.verify.launcher", json.dumps(job)],
            stdin=silent,
            stdout=silent,
            stderr=silent,
        )
        while True:
            try:
                code = process.wait(timeout=limit)
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise VerifyError(f"a repetition did not end within {limit:.0f} s and was stopped") from None
            except KeyboardInterrupt:
                continue  # the program got it too, and decides
        seconds = time.monotonic() - began
        trace = load(records) if os.path.exists(records) else Trace()
        values: dict[str, Any] = {}
        if contents is not None and os.path.exists(contents):
            import numpy as np

            with np.load(contents, allow_pickle=False) as stored:
                values = {name: stored[name] for name in stored.files}
        return Seen(code, seconds, trace, values)


@dataclass(frozen=True)
class Pair:
    """A finding of a run and the two commands behind it, as they ran."""

    finding: Finding
    earlier: Ran | None
    later: Ran | None
    graph: g.EnqueueGraph
    by_time: bool = False
    """Only the clock kept the two apart in this run."""


def judge(trace: Trace, confidence: str = "likely", by_time: bool = False) -> list[Pair]:
    """Return the findings in what ran, one for each place in the source, in the order of a report.

    `by_time`: also pairs of two threads that only the clock kept apart in this run. They are *possible* ones, since a
    hand-over between the threads may have gone unseen; a gate can show them.
    """
    options = Options(CODES, explicit=CODES)
    ran = {id(command.command): command for command in trace.commands}
    best: dict[tuple[object, ...], Pair] = {}
    end = time.monotonic() + JUDGE_SECONDS
    for graph in segments(trace):
        if time.monotonic() > end:
            trace.notes.append("judging stopped after a minute; later parts of the run were not judged")
            break
        for pair in _judged(graph, options, ran):
            _keep(best, pair)
        if id(graph) in trace.by_time and (by_time or confidence == "possible"):
            with _without_clock(graph):
                for pair in _judged(graph, options, ran):
                    words = f"{pair.finding.help}; in this run only the time at which two threads acted kept them apart"
                    finding = replace(pair.finding, confidence=Confidence.POSSIBLE, help=words)
                    _keep(best, replace(pair, finding=finding, by_time=True))
    threshold = Confidence(confidence).rank
    kept = [pair for pair in best.values() if pair.by_time or pair.finding.confidence.rank <= threshold]
    return sorted(kept, key=lambda pair: pair.finding.sort_key)


def _keep(best: dict[tuple[object, ...], Pair], pair: Pair) -> None:
    at = pair.finding.location
    key = (pair.finding.code, at.filename, at.row, at.column)
    known = best.get(key)
    if known is None or pair.finding.confidence.rank < known.finding.confidence.rank:
        best[key] = pair


@contextmanager
def _without_clock(graph: g.EnqueueGraph) -> Iterator[None]:
    """Take the edges away for which only the clock speaks."""
    kept = [node.before for node in graph.nodes]
    for node in graph.nodes:
        node.before = [edge for edge in node.before if edge[2] != "time"]
    graph.forget()
    try:
        yield
    finally:
        for node, before in zip(graph.nodes, kept, strict=True):
            node.before = before
        graph.forget()


def _judged(graph: g.EnqueueGraph, options: Options, ran: dict[int, Ran]) -> Iterator[Pair]:
    for path in {node.site[-1].path for node in graph.nodes if node.site} - {UNKNOWN.path}:
        shown = os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path
        source = Source(path, "", b"")
        for finding, evidence, _ in judged([graph], source, options):
            nodes = evidence.nodes
            earlier, later = (ran.get(id(nodes[0])), ran.get(id(nodes[1]))) if len(nodes) == 2 else (None, None)
            finding = _pool_words(finding, earlier, later)
            yield Pair(_shown(finding, path, shown), earlier, later, graph)


def _pool_words(finding: Finding, earlier: Ran | None, later: Ran | None) -> Finding:
    """Say OCL504 where two blocks that a pool handed out are the same memory."""
    if earlier is None or later is None:
        return finding
    for one in earlier.command.accesses:
        for two in later.command.accesses:
            a, b = one.memory, two.memory
            if a.pool is None or a is b or a.root is not b.root or finding.code == "OCL504":
                continue
            if one.writes is False and two.writes is False:
                continue
            line = row(earlier.command.site, later.command.site)
            assert earlier.command.queue is not None
            queue = earlier.command.queue.name
            return replace(
                finding,
                code="OCL504",
                name=rulebook.rule("OCL504").name,
                severity=rulebook.rule("OCL504").severity,
                message=(
                    f"{start(later.command)} got the pool's block of `{a.name}`, which {name(earlier.command)} "
                    f"(line {line}) on `{queue}` may still use: it went back to the pool in between, which does "
                    "not wait"
                ),
                help=(
                    f"finish `{queue}` before the block goes back, give each queue a pool of its own, or use "
                    "SVMPool with an SVMAllocator(context, queue=queue)"
                ),
            )
    return finding


def _shown(finding: Finding, path: str, shown: str) -> Finding:
    """Return the finding with file names as the user gave them."""

    def named(location: Any) -> Any:
        return replace(location, filename=shown) if location.filename == path else location

    def all_named(items: Any) -> Any:
        return tuple(replace(item, location=named(item.location)) for item in items)

    return replace(
        finding,
        location=named(finding.location),
        related=all_named(finding.related),
        steps=all_named(finding.steps),
    )
