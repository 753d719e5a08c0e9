"""Log files → one list of events in the order in which the calls returned, with the process of each thread."""

from __future__ import annotations

import errno
import gzip
import heapq
import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from kexec_lint.boundary.dialects import parser_for
from kexec_lint.boundary.events import Call, Event, Exit

SUFFIX = re.compile(r"\.(\d{1,10})$")
STATUS = re.compile(r"[0-9]{1,10}\b")
NEW_THREAD = ("clone", "clone3", "fork", "vfork")
CLONE_FILES, CLONE_THREAD = 0x400, 0x10000
SAMPLE = 400


@dataclass(frozen=True)
class Birth:
    """A thread's origin: its creator, and whether the two share descriptors and the process."""

    parent: int
    shares_files: bool
    same_process: bool


@dataclass(frozen=True)
class Trace:
    """All that was read: events in order, the births seen, and the files they came from."""

    events: tuple[Event, ...]
    births: dict[int, Birth]
    files: tuple[str, ...]
    ordered: bool
    """False for several files without absolute times, whose mutual order is unknown."""

    def lineage(self, process: int) -> frozenset[int]:
        """Return a process and those that it descends from."""
        found: set[int] = set()
        while process not in found:
            found.add(process)
            birth = self.births.get(process)
            process = self.process(birth.parent) if birth is not None else process
        return frozenset(found)

    def process(self, tid: int) -> int:
        """Return the process of a thread: its group leader where births tell, else the first thread of the log."""
        seen = set()
        while tid in self.births and self.births[tid].same_process and tid not in seen:
            seen.add(tid)
            tid = self.births[tid].parent
        return tid


def expand(names: Iterable[str]) -> list[Path]:
    """Return the files that the names mean: a prefix given to `strace -ff -o` stands for its `prefix.PID` files.

    Raises:
        FileNotFoundError: nothing has that name or prefix.
    """
    found: list[Path] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.is_file() and SUFFIX.search(p.name))
            found += inside
            if not inside:
                raise FileNotFoundError(name)
        elif path.exists():
            found.append(path)
        else:
            parts = [p for p in path.parent.glob(glob_escape(path.name) + ".*") if SUFFIX.search(p.name)]
            if not parts:
                raise FileNotFoundError(name)
            found += sorted(parts, key=_suffix)
    return list(dict.fromkeys(found))


def glob_escape(name: str) -> str:
    """Return `name` so that glob takes it literally."""
    return re.sub(r"([*?[])", r"[\1]", name)


def _suffix(path: Path) -> int:
    match = SUFFIX.search(path.name)
    return int(match[1]) if match else 0


def read(paths: Iterable[Path]) -> Trace:
    """Read and merge logs. Raises OSError for a file that cannot be read."""
    streams: list[list[Event]] = []
    files = []
    for path in paths:
        lines = text_of(path).split("\n")
        files.append(str(path))
        parser = parser_for(lines[:SAMPLE])
        streams.append(list(parser(lines, str(path), _suffix(path))))
    return trace(streams, files)


def text_of(path: Path) -> str:
    """Return a log's text, decompressed if it is gzip. Raises OSError."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise OSError(errno.EIO, "a damaged gzip file", str(path)) from None
    return data.decode("utf-8", "replace")


def read_lines(stream: Iterable[str], name: str) -> Trace:
    """Read one log from lines."""
    lines = [line.rstrip("\n") for line in stream]
    return trace([list(parser_for(lines[:SAMPLE])(lines, name, 0))], [name])


def trace(streams: list[list[Event]], files: Iterable[str]) -> Trace:
    """Return the merged trace of one event list a file."""
    births: dict[int, Birth] = {}
    for stream in streams:
        births.update(_births(stream))
    streams = [_name_main(s, births) for s in streams]
    if len(streams) == 1:
        return Trace(tuple(streams[0]), births, tuple(files), True)
    absolute = all(e.time is not None for s in streams for e in s if isinstance(e, Call))
    relative = absolute and all(s[0].time == 0 for s in streams if s and isinstance(s[0], Call))
    if absolute and not relative:
        merged = heapq.merge(*streams, key=lambda e: (e.end if isinstance(e, Call) else e.time) or 0.0)
        return Trace(tuple(merged), births, tuple(files), True)
    return Trace(tuple(_nest(streams)), births, tuple(files), False)


def _births(events: list[Event]) -> dict[int, Birth]:
    found = {}
    for event in events:
        if isinstance(event, Call) and event.name in NEW_THREAD and event.result is not None and event.result > 0:
            flags = clone_flags(" ".join(event.args))
            found[event.result] = Birth(event.tid, bool(flags & CLONE_FILES), bool(flags & CLONE_THREAD))
    return found


def clone_flags(text: str) -> int:
    """Return CLONE_FILES and CLONE_THREAD as a clone's arguments name them, in words or as a number."""
    flags = (CLONE_FILES if "CLONE_FILES" in text else 0) | (CLONE_THREAD if "CLONE_THREAD" in text else 0)
    raw = re.search(r"(?:flags=|^|\s)(0x[0-9a-f]+)(?=[|, /}]|$)", text)
    return flags | (int(raw[1], 16) if raw and "CLONE_" not in text else 0)


def _name_main(events: list[Event], births: dict[int, Birth]) -> list[Event]:
    """Give lines without a thread the number of the first process, which strace prints once there are two."""
    if not any(e.tid == 0 for e in events):
        return events
    first = next((e.tid for e in events if e.tid and e.tid not in births), 0)
    return [replace(e, tid=first) if e.tid == 0 else e for e in events] if first else events


def _nest(streams: list[list[Event]]) -> list[Event]:
    """Order threads without times: each starts where its creator's call returned it."""
    by_tid = {s[0].tid: s for s in streams if s}
    placed: set[int] = set()
    ordered: list[Event] = []

    children = {e.result for s in streams for e in s if isinstance(e, Call) and e.name in NEW_THREAD}
    roots = [tid for tid in by_tid if tid not in children]
    for root in roots + list(by_tid):
        stack = [] if root in placed else [(root, iter(by_tid[root]))]
        placed.add(root)
        while stack:
            _, events = stack[-1]
            for event in events:
                ordered.append(event)
                if isinstance(event, Call) and event.name in NEW_THREAD and event.result in by_tid:
                    child = event.result
                    if child is not None and child not in placed:
                        placed.add(child)
                        stack.append((child, iter(by_tid[child])))
                        break
            else:
                stack.pop()
    return ordered


def exits(events: Iterable[Event], process: Callable[[int], int]) -> dict[int, Exit]:
    """Return how each thread ended, and each process: by `exit_group` where the log leaves the `+++` lines out."""
    found: dict[int, Exit] = {}
    for event in events:
        if isinstance(event, Exit):
            found[event.tid] = event
        elif isinstance(event, Call) and event.name == "exit_group" and event.args and STATUS.match(event.args[0]):
            status = int(STATUS.findall(event.args[0])[0]) & 0xFF
            told = Exit(event.file, event.line, event.tid, event.time, status, None)
            found.setdefault(event.tid, told)
            found.setdefault(process(event.tid), told)
    return found
