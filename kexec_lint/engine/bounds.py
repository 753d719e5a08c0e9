"""What one file may take of the processor and of memory: nobody waits for ever for a file made to be waited for.

Time is the processor's, so that a busy machine finds the same. An analysis that takes too long is stopped where it runs
Python; in a worker, one that hangs in a parser is stopped by the kernel. Memory is bounded in workers.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable

SECONDS = 60.0
"""For the analysis of one file; the slowest files of public code take two."""

HARD_SECONDS = 2 * SECONDS
MEMORY = 4 * 1024**3

_STACK = 256 * 1024 * 1024
_RECURSION = 10_000
_GRACE = 5.0

_worker = False


class TooLong(BaseException):
    """Raised where the analysis is: no handler of errors in files must take it for one."""


def deep(work: Callable[[], None]) -> bool:
    """Do the work on a stack deep enough for deeply nested code; return whether it ended of itself."""
    limit = sys.getrecursionlimit()
    previous = threading.stack_size(_STACK)
    ended = []

    def guarded() -> None:
        try:
            _roomy(work)
            ended.append(True)
        except TooLong:
            pass

    try:
        sys.setrecursionlimit(max(limit, _RECURSION))
        thread = threading.Thread(target=guarded, daemon=True)
        _alarm(HARD_SECONDS)
        thread.start()
        began = time.process_time()
        thread.join(1.0)
        while thread.is_alive():
            taken = time.process_time() - began
            if taken > SECONDS:
                _stop(thread)
            if taken > SECONDS + _GRACE:
                break
            thread.join(1.0)
    except RuntimeError:  # no memory for such a stack
        guarded()
    finally:
        _alarm(0)
        threading.stack_size(previous)
        sys.setrecursionlimit(limit)
    return bool(ended)


def _roomy(work: Callable[[], None]) -> None:
    work()


# CPython keeps the frames of calls in chunks of 16 KB, and gives one back with the first call in it: a recursion that
# goes to and fro over an edge maps and unmaps memory each time, a tenth of all time. Frames within this one, which
# claims to need half a million words, share its chunk; what they do not touch takes no memory.
_roomy.__code__ = _roomy.__code__.replace(co_stacksize=1 << 19)


def bound_worker() -> None:
    """Bound this process, a worker that may be lost: memory for all it does, time for each file."""
    global _worker
    _worker = True
    if not sys.platform.startswith("linux"):
        return
    import resource

    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            own = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # no /proc in a bare chroot: what the worker has at its start is not known
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = own + MEMORY
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _alarm(seconds: float) -> None:
    """Let the kernel end this worker after so much processor time: it hears no exception in a parser."""
    if _worker and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _stop(thread: threading.Thread) -> None:
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(TooLong))
