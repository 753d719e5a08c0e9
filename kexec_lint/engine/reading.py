"""Reads files and tells which of them matter: they hold a needle of an executor, or may hold a suppression.

Nearly all the time of a tree without GPU code goes here, so many files are shared among processes.
"""

from __future__ import annotations

import marshal
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from kexec_lint.engine import notebooks
from kexec_lint.engine.executors import Reader

MEGABYTE = 1024 * 1024
LIMIT = 5 * MEGABYTE
"""A longer file is not read: no one writes five megabytes of source by hand."""

_SHARE = 250
"""For so many files another process is worth its start."""
_MOST = 8
"""Processes; more of them wait for the one that finds the files."""

_SILENCING = (b"kexec:", b"noqa")


class Wish(NamedTuple):
    """A file to look at. `readers`: whose needles count; `silencing`: what a suppression in it looks like, or None if
    it does not matter; `data`: what stands for the file on the disk; `found`: see `finder`."""

    path: str
    suffix: str
    readers: tuple[Reader, ...]
    silencing: re.Pattern[bytes] | None = None
    data: bytes | None = None
    found: Callable[[bytes], Any] | None = None


class Seen(NamedTuple):
    """What is in a file: positions of the readers that want it, whether it may hold a suppression, its bytes if
    either, and why it could not be read."""

    wanted: tuple[int, ...] = ()
    commented: bool = False
    data: bytes | None = None
    problem: str = ""


_NOTHING = Seen()


def look(wish: Wish) -> Seen:
    """Read one file and look for what matters."""
    data = wish.data
    notebook = wish.suffix == ".ipynb"
    limit = notebooks.LIMIT if notebook else LIMIT
    if data is None:
        try:
            data = content(wish.path, limit)
        except OSError as error:
            return Seen(problem=f"{(error.strerror or str(error)).lower()}, not checked")
    if len(data) > limit:
        return Seen(problem=f"larger than {limit // MEGABYTE} MB, not checked")
    code, suffix = data, wish.suffix
    if notebook:
        code, suffix = notebooks.without_pictures(data), ".py"
        if len(code) > LIMIT:
            return Seen(problem=f"larger than {LIMIT // MEGABYTE} MB without its pictures, not checked")
    if wish.found is not None and not wish.found(code):
        return _NOTHING
    known: dict[bytes, bool] = {}
    wanted = tuple([at for at, reader in enumerate(wish.readers) if reader.wants(suffix, code, known)])
    commented = wish.silencing is not None and (
        _SILENCING[0] in code or (_SILENCING[1] in code and wish.silencing.search(code) is not None)
    )
    return Seen(wanted, commented, data) if wanted or commented else _NOTHING


def finder(suffix: str, readers: Sequence[Reader], silencing: bool) -> Callable[[bytes], Any] | None:
    """Return what tells by one look whether a file holds any needle or a word of suppressions, None without the extra
    `fast`: then each word is looked for in turn."""
    try:
        from ahocorasick_rs import BytesAhoCorasick, MatchKind
    except ImportError:
        return None
    words = set(_SILENCING) if silencing else set()
    for reader in readers:
        words.update(reader.needles.get(".py" if suffix == ".ipynb" else suffix, ()))
    # Of matches that overlap it tells only one: which needles there are is asked again where there is any.
    return BytesAhoCorasick(sorted(words), matchkind=MatchKind.LeftmostFirst).find_matches_as_indexes


def content(path: str, limit: int) -> bytes:
    """Return the bytes of a file, or a few more than `limit` of one that is longer. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        size = min(os.fstat(descriptor).st_size, limit) + 1
        data = os.read(descriptor, size)
        if 0 < len(data) < size:
            return data
        parts = [data]  # the end was not seen: the file is too long, grows, or does not tell its size
        while parts[-1] and limit >= 0:
            parts.append(os.read(descriptor, MEGABYTE))
            limit -= len(parts[-1])
        return b"".join(parts)
    finally:
        os.close(descriptor)


def look_all(wishes: Sequence[Wish], workers: int) -> Iterator[Seen]:
    """Yield what is in each file, in order; up to `workers` processes share them."""
    count = min(workers, _MOST, len(wishes) // _SHARE)
    if count < 2 or not _may_fork():
        yield from map(look, wishes)
        return
    parts = [wishes[first::count] for first in range(count)]
    others = [_Other(part) for part in parts[1:]]
    try:
        lists = [list(map(look, parts[0])), *(other.result() for other in others)]
    finally:
        for other in others:
            other.close()
    for at in range(len(wishes)):
        yield lists[at % count][at // count]


def _may_fork() -> bool:
    """Return whether this process can be copied: there is a fork, and no thread but this one that could hold a lock."""
    threading = sys.modules.get("threading")
    return sys.platform.startswith("linux") and (threading is None or threading.active_count() == 1)


class _Other:
    """A copy of this process that looks at a part of the files and tells of those in which something is."""

    def __init__(self, wishes: Sequence[Wish]) -> None:
        self._wishes = wishes
        self._end, start = os.pipe()
        try:
            self._process = os.fork()
        except OSError:  # no process or memory to be had: `result` looks at all of it here
            self._process = -1
        if not self._process:
            _tell(wishes, start)
        os.close(start)

    def result(self) -> list[Seen]:
        """Return what the copy saw, with the bytes; what it could not tell is looked at here."""
        with open(self._end, "rb", closefd=False) as pipe:
            text = pipe.read()
        try:
            told: dict[int, tuple[tuple[int, ...], bool, str]] = marshal.loads(text)
        except (EOFError, ValueError, TypeError):
            return list(map(look, self._wishes))
        return [self._seen(at, *told[at]) if at in told else _NOTHING for at in range(len(self._wishes))]

    def _seen(self, at: int, wanted: tuple[int, ...], commented: bool, problem: str) -> Seen:
        if problem:
            return Seen(problem=problem)
        wish = self._wishes[at]
        try:
            return Seen(wanted, commented, content(wish.path, notebooks.LIMIT) if wish.data is None else wish.data)
        except OSError:
            return look(wish)

    def close(self) -> None:
        """End the copy, whether or not it is done."""
        import signal

        os.close(self._end)
        if self._process < 0:
            return
        try:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
        except (ProcessLookupError, ChildProcessError):
            return


def _tell(wishes: Sequence[Wish], pipe: int) -> None:
    """In the copy: look, tell, end. Nothing of the original's (open files, handlers at exit) may run."""
    try:
        told = {}
        for at, wish in enumerate(wishes):
            seen = look(wish)
            if seen is not _NOTHING:
                told[at] = (seen.wanted, seen.commented, seen.problem)
        with open(pipe, "wb") as end:
            end.write(marshal.dumps(told))
    finally:
        os._exit(0)
