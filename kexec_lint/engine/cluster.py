"""The work of a run on an existing Dask cluster (extra `distributed`), with the results of this process.

A worker analyses only with the very same kexec-lint; a result counts only if what it looked up on the worker is what
stands here. Whatever the cluster loses, or sees in another state, is handed back and analysed here.
"""

from __future__ import annotations

import importlib.util
import itertools
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from kexec_lint.engine.pool import Job, Outcome, scan

if TYPE_CHECKING:
    from distributed import Client, Future

SCHEME = "dask://"

_BYTES, _FILES = 128 * 1024, 16
"""Most that one task holds: sending many small files one by one takes longer than to analyse them."""

_AHEAD = 4
"""Tasks in flight for each thread of the workers: the cluster never holds the whole tree."""

_PATIENCE = 20.0
"""Seconds to wait for a scheduler, and for a worker where there is none."""

_LIBRARIES = ("libcst", "tree-sitter", "tree-sitter-c", "tree-sitter-cpp", "PyYAML")

_ALONE = threading.Lock()


class ClusterError(ValueError):
    """A cluster that cannot be used, in one line."""


class Cluster:
    """A Dask cluster by the address of its scheduler, connected to when there is work. Raises ClusterError."""

    def __init__(self, address: str) -> None:
        if not address.startswith(SCHEME) or ":" not in address[len(SCHEME) :]:
            raise ClusterError(f"--executor {address}: give {SCHEME}HOST:PORT, the address of a Dask scheduler")
        found = importlib.util.find_spec("distributed")
        if found is None or found.origin is None:  # a folder of that name is no package
            needs = "the extra distributed: pip install 'kexec-lint[distributed]'"
            raise ClusterError(f"--executor {address} needs {needs}")
        self.address = address
        self.here = 0
        self._number = int.from_bytes(os.urandom(6), "big")
        self._client: Client | None = None

    def close(self) -> None:
        """Leave the cluster, whose unfinished tasks of ours are dropped."""
        client, self._client = self._client, None
        if client is not None:
            client.close(timeout=5)

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Outcome | None]]:
        """Yield every job with its outcome as they end, or with None if the cluster lost it. Raises ClusterError."""
        client, threads = self._connect()
        ours = identity()
        waiting = _batches([_numbered(job, self._number) for job in jobs])
        originals = dict(zip(map(_name, jobs), jobs, strict=True))
        done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        running: dict[Future, list[Job]] = {}
        seen = time.monotonic()

        def send() -> None:
            for batch in itertools.islice(waiting, max(threads * _AHEAD - len(running), 0)):
                future = client.submit(analyse, batch, ours, pure=False)
                running[future] = batch
                future.add_done_callback(done.put)

        send()
        while running:
            try:
                future = done.get(timeout=1.0)
            except queue.Empty:
                if client.status == "running" and client.scheduler_info()["workers"]:
                    seen = time.monotonic()
                elif time.monotonic() - seen > _PATIENCE:
                    break
                continue
            seen = time.monotonic()
            batch = running.pop(future, [])
            results = _result(future)
            if isinstance(results, str):
                raise ClusterError(f"{self.address}: {results}")
            for job, outcome in zip(batch, results or itertools.repeat(None), strict=False):
                yield originals[_name(job)], outcome
            send()
        for job in itertools.chain(*running.values(), *waiting):
            yield originals[_name(job)], None

    def _connect(self) -> tuple[Client, int]:
        """Return a client, and the number of threads of the workers that are there."""
        import warnings

        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions: told below, in one line
            try:
                from distributed import Client

                address = "tcp://" + self.address[len(SCHEME) :]
                self._client = client = Client(address, timeout=_PATIENCE, set_as_default=False)
            except Exception as error:  # of many kinds, by what is wrong with the other side
                raise ClusterError(f"{self.address}: no Dask scheduler answers ({_line(error)})") from None
            try:
                client.wait_for_workers(1, timeout=_PATIENCE)
                theirs = client.run(identity)
            except Exception as error:
                if not client.scheduler_info()["workers"]:
                    raise ClusterError(f"{self.address}: the cluster has no workers") from None
                raise ClusterError(f"{self.address}: the workers cannot run kexec-lint ({_line(error)})") from None
        ours = identity()
        for worker, other in theirs.items():
            if other != ours:
                raise ClusterError(f"{self.address}: {difference(ours, other, worker)}")
        return client, max(sum(client.nthreads().values()), 1)


def analyse(jobs: list[Job], ours: dict[str, str]) -> list[Outcome] | str:
    """Analyse files on a worker; a text says why this worker, which joined later, cannot."""
    if identity() != ours:
        return difference(ours, identity(), "a worker")
    with _ALONE:  # threads of one worker share one interpreter lock and one recursion limit
        return [scan(job) for job in jobs]


@cache
def identity() -> dict[str, str]:
    """Return what two machines must share to find the same: versions, and the sources and rules of kexec-lint."""
    import hashlib
    from importlib.metadata import PackageNotFoundError, version

    from kexec_lint import __version__, plugins, rulebook
    from kexec_lint.engine.index import PACKAGE

    digest = hashlib.blake2b(digest_size=8)
    for top in dict.fromkeys((PACKAGE, str(rulebook.rules_directory()))):
        for folder, below, names in os.walk(top):
            below.sort()
            below[:] = [name for name in below if name not in ("__pycache__", "_rules") or folder != top]
            for name in sorted(names):
                if name.endswith((".py", ".md", ".yaml", ".json", ".toml")):
                    digest.update(name.encode())
                    with open(os.path.join(folder, name), "rb") as file:
                        digest.update(file.read())
    found = {"kexec-lint": f"{__version__} ({digest.hexdigest()})", "Python": "{}.{}".format(*sys.version_info)}
    for library in (*_LIBRARIES, "distributed"):
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "none"
    return found | {f"plug-in {plugin.package}": plugin.version for plugin in plugins.installed()}


def difference(ours: dict[str, str], theirs: dict[str, str], worker: str) -> str:
    """Return what is not the same there, in one line."""
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    parts = (f"{name} {theirs.get(name, 'none')}, here {ours.get(name, 'none')}" for name in names)
    return f"{worker} has {'; '.join(parts)}: install the same there"


def _batches(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    batch: list[Job] = []
    size = 0
    for job in jobs:
        if batch and (size + len(job.data) > _BYTES or len(batch) == _FILES):
            yield batch
            batch, size = [], 0
        batch.append(job)
        size += len(job.data)
    if batch:
        yield batch


def _numbered(job: Job, number: int) -> Job:
    """Return a job whose run no other process that uses the workers has: they keep the tree of a run."""
    from dataclasses import replace

    return replace(job, run=(number << 16) + job.run)


def _name(job: Job) -> tuple[str, str]:
    return job.module, job.path


def _result(future: Future) -> Any:
    """Return what the worker did, None if it was lost."""
    try:
        return future.result(timeout=_PATIENCE)
    except Exception:  # killed, cancelled, out of reach; `scan` itself raises nothing
        return None


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:150]}"
