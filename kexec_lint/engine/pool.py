"""Runs the analysis of files: a few in this process, many in forked workers; a file that crashes is named."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Executor as Pool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from kexec_lint.engine import bounds, executors, wire
from kexec_lint.engine.decoding import Unreadable, decode
from kexec_lint.engine.tree import RecordingProject, Tree
from kexec_lint.source import FileResult, ModelError, Options

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing.process import BaseProcess

_ENDING = (signal.SIGINT, signal.SIGTERM)

_LARGE = 64 * 1024
"""Bytes from which on a file may take so long that its size decides when it is begun."""

FEW = 8
"""Up to so many files, starting workers costs more than it gains."""


@dataclass(frozen=True, eq=False)
class Job:
    """One file for one executor. `run` tells apart the runs of one process, whose trees must not be shared."""

    module: str
    shown: str
    path: str
    data: bytes
    options: Options
    start: str
    roots: tuple[str, ...]
    run: int


@dataclass
class Outcome:
    """What became of a job: findings, facts, notes and dependencies as JSON, or an internal error in one line.

    `refused` is what the executor has to say of the user's settings; what is `passing` may be another next time.
    """

    value: str = ""
    error: str = ""
    refused: ModelError | None = None
    seconds: float = 0.0
    passing: bool = False


class Remote(Protocol):
    """Machines that analyse files; what they see of the tree may be something else than what stands here.

    `here` counts the files that had to be analysed here after all.
    """

    here: int

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Outcome | None]]:
        """Yield every job with its outcome, or None if it was lost."""

    def close(self) -> None:
        """Leave them."""


def outcomes(jobs: Sequence[Job], workers: int, pool: Pool | Remote | None = None) -> Generator[tuple[Job, Outcome]]:
    """Yield every job with its outcome, as they end, large files first.

    `pool` may be any `concurrent.futures.Executor`, or machines elsewhere; without one, workers are forked where that
    is possible and there are more than a few files.
    """
    # Neighbours import the same modules, which a worker keeps for a while; what takes long must not come last.
    ordered = sorted(jobs, key=lambda job: (-max(len(job.data), _LARGE), job.path, job.module))
    if isinstance(pool, Pool):
        yield from _in_pool(pool, ordered)
    elif pool is not None:
        yield from _elsewhere(pool, ordered, workers)
    elif workers < 2 or len(ordered) <= FEW:
        for job in ordered:
            yield job, scan(job)
    else:
        for module in {job.module: None for job in ordered}:
            prepare = getattr(executors.load(module), "prepare", None)
            if prepare is not None:
                prepare()
        gc.collect()
        gc.freeze()
        try:
            with _processes(min(workers, len(ordered))) as processes:
                yield from _in_pool(processes, ordered)
        finally:
            gc.unfreeze()


def _elsewhere(remote: Remote, jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, Outcome]]:
    here = []
    for job, outcome in remote.outcomes(jobs):
        if outcome is not None and _seen_here(job, outcome):
            yield job, outcome
        else:
            here.append(job)
    remote.here = len(here)
    remote.close()  # its threads must not be there when workers are forked
    if here:
        with _processes(min(workers, len(here))) as processes:
            yield from _in_pool(processes, here)


def _seen_here(job: Job, outcome: Outcome) -> bool:
    """Return whether all that the analysis looked up elsewhere is what stands here."""
    if not outcome.value:
        return True
    here = tree(job.run, job.start, job.roots)
    dependencies = json.loads(outcome.value)[3]
    return all(here.digest((kind, name, level, origin)) == known for (kind, name, level, origin), known in dependencies)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let signals wait while processes are forked: what is raised in the hooks that Python calls then is lost."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes, which end at once if the block does not end as it should."""
    pool = _process_pool(workers)
    try:
        yield pool
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _process_pool(workers: int) -> ProcessPoolExecutor:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Forking shares what is imported; a spawned worker would import everything again (half a second).
    method = "fork" if sys.platform.startswith("linux") else "spawn"
    return ProcessPoolExecutor(workers, multiprocessing.get_context(method), initializer=_start_worker)


def _start_worker() -> None:
    """Let signals end the worker without a word, and the end of the main process too: it says what there is to say."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    bounds.bound_worker()


def _end_with_parent() -> None:
    from multiprocessing import connection, parent_process

    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _in_pool(pool: Pool, jobs: Sequence[Job]) -> Iterator[tuple[Job, Outcome]]:
    from concurrent.futures import as_completed
    from concurrent.futures.process import BrokenProcessPool

    futures = {}
    unfinished = []
    try:
        with _undisturbed():
            for job in jobs:
                futures[pool.submit(scan, job)] = job
    except BrokenProcessPool:
        unfinished = list(jobs[len(futures) :])
    for future in as_completed(futures):
        job = futures[future]
        try:
            yield job, future.result()
        except BrokenProcessPool:
            unfinished.append(job)
    # The pool does not say which file killed it: the rest runs one by one, so that the file can be named.
    while unfinished:
        with _processes(1) as single:
            while unfinished:
                job = unfinished.pop(0)
                with _undisturbed():
                    future = single.submit(scan, job)
                (process,) = (single._processes or {}).values()
                try:
                    yield job, future.result()
                except BrokenProcessPool:
                    timed_out = _exit_code(process) == -getattr(signal, "SIGPROF", 0)
                    yield job, _too_long(job) if timed_out else Outcome(error="the worker process died")
                    break


def _exit_code(process: BaseProcess) -> int | None:
    """Return how a process ended. The pool's own thread may be the one that hears of it, a moment later than this."""
    for _ in range(200):
        process.join(0.01)
        if process.exitcode is not None:
            break
        time.sleep(0.01)
    return process.exitcode


def scan(job: Job, where: Tree | None = None) -> Outcome:
    """Run one executor on one file, within bounds. Raises nothing.

    Without `where` the file is looked at in this process's tree for the run.
    """
    where = where or tree(job.run, job.start, job.roots)
    outcome = Outcome()
    began = time.perf_counter()
    gc.disable()  # the collector would walk the cached modules again and again
    try:
        ended = bounds.deep(lambda: _scan(job, outcome, where))
    finally:
        gc.collect(0)
        gc.enable()
    if not ended:
        outcome = _too_long(job)
    outcome.seconds = time.perf_counter() - began
    return outcome


def _too_long(job: Job) -> Outcome:
    note = f"{job.shown}: takes more than {bounds.SECONDS:.0f} seconds, not checked"
    return Outcome(json.dumps([[], None, [note], []]), passing=True)


def _scan(job: Job, outcome: Outcome, where: Tree) -> None:
    project = RecordingProject(where, job.options.compile_commands)
    result = FileResult()
    try:
        executor = executors.load(job.module)
    except Exception as error:  # a fault of the executor's own source, not of the file
        outcome.error = describe(error)
        return
    try:
        source = decode(job.shown, job.data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # what Python has to say of the code is not ours to tell
            result = executor.scan(source, project, job.options)
    except Unreadable as error:
        result.notes = [f"{job.shown}: {error}"]
    except SyntaxError as error:
        result.notes = [f"{job.shown}:{error.lineno or 1}: not valid Python ({error.msg}), not checked"]
    except RecursionError:
        result.notes = [f"{job.shown}: nested too deeply, not checked"]
    except MemoryError:
        result.notes = [f"{job.shown}: takes too much memory or is nested too deeply, not checked"]
    except ModelError as error:
        outcome.refused = error
        return
    except Exception as error:
        outcome.error = describe(error)
        return
    findings = [wire.pack(finding) for finding in result.findings]
    try:
        notes = [note if note.startswith(job.shown) else f"{job.shown}: {note}" for note in result.notes]
        value = [findings, result.facts, notes, project.dependencies()]
        outcome.value = json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        outcome.error = f"the executor returned what JSON cannot hold ({error})"


def describe(error: BaseException) -> str:
    """Return an unexpected error as one line: what, and where in our code."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    text = (str(error).splitlines() or [""])[0][:200]
    return f"{type(error).__name__}{': ' if text else ''}{text}{where}"


@lru_cache(maxsize=1)
def tree(run: int, start: str, roots: tuple[str, ...]) -> Tree:
    """Return this process's tree for one run."""
    return Tree(start, roots)
