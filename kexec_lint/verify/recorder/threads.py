"""What orders the program's own threads: starting, joining, locks and what is built on them, queues, futures.

Event, Condition, Semaphore, Barrier, queue.Queue and Future hold a lock of `threading`, so that wrapping locks sees
them all. A hand-over that is not seen here (a flag that another thread reads, a pipe) makes no order; pairs for
which that matters are never reported as they are, only after a gate has shown them (`trace`).
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable
from typing import Any

Sync = Callable[[str, int], None]
"""Notes "release" or "acquire" of something with a number, "begin" or "end" of a thread."""

_numbers = itertools.count(1)


def install(sync: Sync) -> None:
    """Wrap threads, locks and simple queues; what exists already stays as it is."""
    locks: Any = threading
    locks.Lock, locks.RLock = _lock(threading.Lock, sync), _reentrant(threading.RLock, sync)
    queues: Any = queue
    queues.SimpleQueue = _simple_queue(queue.SimpleQueue, sync)
    _threads(sync)


def _threads(sync: Sync) -> None:
    kind: Any = threading.Thread
    start, body, join = kind.start, getattr(kind, "_bootstrap_inner", None), kind.join
    if body is None:
        return  # threads are then unknown ones, in order with everything

    def start_(self: Any) -> None:
        self._kexec_lint = next(_numbers)
        sync("fork", self._kexec_lint)
        start(self)

    def body_(self: Any) -> None:
        number = getattr(self, "_kexec_lint", 0)
        sync("begin", number)
        body(self)
        sync("end", number)

    def join_(self: Any, timeout: float | None = None) -> None:
        join(self, timeout)
        number = getattr(self, "_kexec_lint", 0)
        if number and not self.is_alive():
            sync("acquire", number)

    kind.start, kind._bootstrap_inner, kind.join = start_, body_, join_


def _lock(make: Any, sync: Sync) -> type:
    class Lock:
        """A lock that tells when it is taken and given back."""

        def __init__(self) -> None:
            self._lock = make()
            self._number = next(_numbers)

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            taken: bool = self._lock.acquire(blocking, timeout)
            if taken:
                sync("acquire", self._number)
            return taken

        def release(self) -> None:
            sync("release", self._number)
            self._lock.release()

        def __enter__(self) -> bool:
            return self.acquire()

        def __exit__(self, *error: Any) -> None:
            self.release()

        def __reduce_ex__(self, protocol: Any) -> Any:
            return self._lock.__reduce_ex__(protocol)  # refuses, in the words that people know

        def __getattr__(self, name: str) -> Any:
            return getattr(self._lock, name)

        def __repr__(self) -> str:
            return repr(self._lock)

    return Lock


def _reentrant(make: Any, sync: Sync) -> type:
    class RLock(_lock(make, sync)):  # type: ignore[misc]
        """The same for a lock that its owner may take again, with what Condition needs of it."""

        def _release_save(self) -> Any:
            sync("release", self._number)
            return self._lock._release_save()

        def _acquire_restore(self, state: Any) -> None:
            self._lock._acquire_restore(state)
            sync("acquire", self._number)

    return RLock


def _simple_queue(original: Any, sync: Sync) -> type:
    class SimpleQueue(original):  # type: ignore[misc]
        """A queue that tells when something is put in and taken out."""

        def __init__(self) -> None:
            self._number = next(_numbers)

        def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
            sync("release", self._number)
            super().put(item, block, timeout)

        def put_nowait(self, item: Any) -> None:
            self.put(item)

        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            item = super().get(block, timeout)
            sync("acquire", self._number)
            return item

        def get_nowait(self) -> Any:
            return self.get(False)

    return SimpleQueue
