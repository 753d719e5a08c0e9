"""Descriptor tables rebuilt from a trace: open, dup, close, exec, fork, threads, descriptors sent over sockets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kexec_lint.boundary.events import Call
from kexec_lint.boundary.logs import NEW_THREAD, Trace
from kexec_lint.boundary.strings import descriptor_of, path_of

OPENS = {"open": (0, 1), "openat": (1, 2), "openat2": (1, 2), "creat": (0, 0)}
"""Call → the places of its path and of its flags."""
DUPLICATES = ("dup", "dup2", "dup3")
FRESH = (
    "socket", "accept", "accept4", "eventfd", "eventfd2", "epoll_create", "epoll_create1", "memfd_create",
    "inotify_init", "inotify_init1", "signalfd", "signalfd4", "timerfd_create", "pidfd_open", "userfaultfd",
    "perf_event_open",
    "io_uring_setup", "fanotify_init", "memfd_secret", "landlock_create_ruleset", "bpf", "pidfd_getfd",
)  # fmt: skip
PASSED = re.compile(r"SCM_RIGHTS\D*?cmsg_data=\[([^\]]*)\]")
F_DUPFD = ("F_DUPFD", "F_DUPFD_CLOEXEC", "0x406", "1030", "0")


@dataclass(frozen=True)
class Opened:
    """One opening of a file: the path (None if never seen), the line of the call, and a number of its own."""

    path: str | None
    line: int
    serial: int
    closes_on_exec: bool = False


class Descriptors:
    """The descriptor table of every process, as it stands after the calls that were fed so far."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._tables: dict[int, dict[int, Opened]] = {}
        self._serial = 0
        self._in_flight: list[list[Opened | None]] = []

    def table(self, tid: int) -> dict[int, Opened]:
        """Return the table of a thread, made on its first call: shared, inherited, or new with three streams."""
        chain: list[int] = []
        while tid not in self._tables and tid not in chain:
            chain.append(tid)
            birth = self._trace.births.get(tid)
            tid = birth.parent if birth is not None else tid
        for newborn in reversed(chain):  # ancestors first, without recursion: a log can claim any descent
            self._tables[newborn] = self._first_table(newborn)
        return self._tables[chain[0] if chain else tid]

    def _first_table(self, tid: int) -> dict[int, Opened]:
        birth = self._trace.births.get(tid)
        if birth is not None and birth.parent in self._tables:
            parent = self._tables[birth.parent]
            return parent if birth.shares_files else dict(parent)
        if self._tables and not self._trace.births:
            return next(iter(self._tables.values()))  # births not traced: taken for a thread
        return {n: self._new(f"<{s}>", 0) for n, s in enumerate(("stdin", "stdout", "stderr"))}

    def look_up(self, tid: int, argument: str) -> Opened | None:
        """Return what a descriptor argument refers to; a path printed beside it wins over the table."""
        number, path = descriptor_of(argument)
        if number is None:
            return None
        table = self.table(tid)
        known = table.get(number)
        if path is not None and (known is None or not _same(known.path, path)):
            if known is not None and (known.path or "").startswith("<std"):
                return known if number in (1, 2) else replace(known, path=path)
            known = table[number] = self._new(path, 0)
        if known is None and number >= 0:
            known = table[number] = self._new(None, 0)
        return known

    def path(self, call: Call, at: int) -> str | None:
        """Return the path that is argument `at` of a call, joined with its directory where that is known."""
        path = path_of(call.args[at]) if len(call.args) > at else None
        if path is None or path.startswith("/") or at == 0:
            return path
        number, folder = descriptor_of(call.args[0])
        if folder is None and number is not None and number in self.table(call.tid):
            folder = self.table(call.tid)[number].path
        folder = folder or (call.args[0].partition("<")[2].removesuffix(">") or None)
        return f"{folder}/{path}" if folder and folder.startswith("/") else path

    def feed(self, call: Call) -> None:
        """Apply what a finished call did to its thread's table."""
        result = call.result
        if call.name == "close" and call.args:
            number, _ = descriptor_of(call.args[0])
            if number is not None and result == 0:
                self.table(call.tid).pop(number, None)
            return
        if result is None or result < 0:
            return
        table = self.table(call.tid)
        name, args = call.name, call.args
        if name in OPENS and args:
            at, flags = OPENS[name]
            path = call.opened or self.path(call, at)
            on_exec = len(args) > flags and ("CLOEXEC" in args[flags])
            table[result] = self._new(path, call.line, on_exec)
        elif name in DUPLICATES or (name == "fcntl" and len(args) > 1 and args[1].split(" ")[0] in F_DUPFD):
            source = self.look_up(call.tid, args[0])
            if source is not None:
                table[result] = replace(source, closes_on_exec=any("CLOEXEC" in a for a in args[1:]))
        elif name in ("socketpair", "pipe", "pipe2"):
            for number in re.findall(r"(?:^\[|, )(\d+)", args[0 if name != "socketpair" else -1]):
                table[int(number)] = self._new(None, call.line)
        elif name in FRESH:
            table[result] = self._new(call.opened or name, call.line)
        elif name == "close_range" and len(args) > 1:
            self._close_range(table, args)
        elif name in NEW_THREAD and result > 0:
            self.table(result)  # the child's copy is of this moment
        elif name.startswith("exec"):
            kept = {n: o for n, o in table.items() if not o.closes_on_exec}
            self._tables[call.tid] = kept
        elif name in ("sendmsg", "sendmmsg"):
            for sent in PASSED.findall(" ".join(args)):
                self._in_flight.append([self.look_up(call.tid, a.strip()) for a in sent.split(",")])
        elif name in ("recvmsg", "recvmmsg"):
            for got in PASSED.findall(" ".join(args)):
                self._receive(call, [a.strip() for a in got.split(",")])

    def _receive(self, call: Call, numbers: list[str]) -> None:
        # Only one message under way, and of that size: then it is this one. Else the path stays unknown.
        sent = self._in_flight.pop() if len(self._in_flight) == 1 and len(self._in_flight[0]) == len(numbers) else None
        for place, text in enumerate(numbers):
            number, path = descriptor_of(text)
            if number is None:
                continue
            origin = sent[place] if sent is not None else None
            self.table(call.tid)[number] = origin if path is None and origin else self._new(path, call.line)

    def _close_range(self, table: dict[int, Opened], args: tuple[str, ...]) -> None:
        first, last = (descriptor_of(a)[0] for a in args[:2])
        if first is not None and "CLOEXEC" not in " ".join(args[2:]):
            for number in [n for n in table if n >= first and (last is None or last < first or n <= last)]:
                del table[number]

    def _new(self, path: str | None, line: int, closes_on_exec: bool = False) -> Opened:
        self._serial += 1
        return Opened(path, line, self._serial, closes_on_exec)


def _same(known: str | None, annotated: str) -> bool:
    """Say whether a path from `open` and one printed by -y or -yy name the same file."""
    if known is None:
        return False
    bare = annotated.split("<", 1)[0]
    return known == annotated or known.split("<", 1)[0] == bare or bare.endswith(known.lstrip("."))


def calls(trace: Trace) -> Iterator[Call]:
    """Yield the calls of a trace."""
    return (e for e in trace.events if isinstance(e, Call))
