"""Lines of the other tracers: perf trace, FreeBSD truss, gVisor's strace log → the same events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from kexec_lint.boundary import strace
from kexec_lint.boundary.errnos import FREEBSD, linux_name
from kexec_lint.boundary.events import Call, Event, Exit, Printed

PERF = re.compile(
    r"\s*(?P<ms>\d{1,12}\.\d{1,9}|\?)\s+\(\s*(?:(?P<took>\d{1,12}\.\d{1,9})\s+ms)?\s*\):\s+"
    r"(?:(?P<comm>\S[^/]*)/(?P<tid>\d{1,10})\s+)?(?P<body>.*)$"
)
CONTINUED = re.compile(r"\.\.\. \[continued\]: ([a-z_0-9]+)\(\)\)?")
TRUSS = re.compile(r"(?:\s*(?P<tid>\d{1,10}):\s+)?(?:(?P<time>\d{1,12}\.\d{1,9})\s+)?(?P<body>[a-z_][a-z0-9_]*\(.*)$")
TRUSS_ERROR = re.compile(r"\s*(?:=\s*-1\s+)?ERR#(\d{1,5})\s+'([^']*)'\s*$")
GVISOR = re.compile(
    r".*strace\.go:\d+\]\s+\[\s*(?P<pid>\d{1,10})(?::\s*(?P<tid>\d{1,10}))?\]\s+\S+\s+(?P<way>[EX])\s+(?P<body>[a-z_][a-z0-9_]*\(.*)$"
)
GVISOR_CLOCK = re.compile(r"[IDWE]\d{4} (\d\d):(\d\d):(\d\d\.\d+)")
GVISOR_ERROR = re.compile(r"errno=(\d{1,5})\s+\(([^()]*)\)")


def parse_perf(lines: Iterable[str], file: str, tid: int = 0) -> Iterator[Event]:
    """Yield the events of a `perf trace` log; times are in milliseconds there, seconds here."""
    pending: dict[int, Call] = {}
    for number, raw in enumerate(lines, 1):
        match = PERF.match(raw.rstrip("\r\n"))
        if match is None:
            if raw.strip():
                yield Printed(file, number, tid, None, raw.rstrip("\r\n"))
            continue
        thread = int(match["tid"]) if match["tid"] else tid
        time = float(match["ms"]) / 1000 if match["ms"] != "?" else None
        head = strace.Head(thread, time, None)
        body = match["body"]
        took = float(match["took"]) / 1000 if match["took"] else None
        if again := CONTINUED.match(body):
            begun = pending.pop(thread, None)
            tail = strace.parse_call(f"{again[1]}()" + body[again.end() :], head, file, number)
            if tail is not None and begun is not None and begun.name == tail.name:
                tail = replace(tail, args=begun.args, line=begun.line, time=begun.time)
            if tail is not None:
                yield replace(tail, duration=took)
            continue
        call = strace.parse_call(body, head, file, number)
        if call is None and body.endswith(" ..."):
            call = strace.parse_call(body[:-4].rstrip().removesuffix(")") + ") = ?", head, file, number)
            if call is not None:
                pending[thread] = call
        elif call is not None:
            yield replace(call, duration=took)
            if call.name == "exit_group" and call.args and re.fullmatch(r"[0-9]{1,10}", call.args[0]):
                yield Exit(file, number, thread, time, int(call.args[0]), None)


def parse_truss(lines: Iterable[str], file: str, tid: int = 0) -> Iterator[Event]:
    """Yield the events of a FreeBSD `truss` log (`ERR#22 'Invalid argument'`)."""
    for number, raw in enumerate(lines, 1):
        text = raw.rstrip("\r\n")
        match = TRUSS.match(text)
        call = None
        if match is not None:
            head = strace.Head(
                int(match["tid"]) if match["tid"] else tid, float(match["time"]) if match["time"] else None, None
            )
            body = match["body"]
            split = strace.split_arguments(body, body.index("(") + 1)
            error = TRUSS_ERROR.match(body, split[1]) if split else None
            if error is not None and split is not None:
                body = f"{body[: split[1]]} = -1 {FREEBSD.get(int(error[1]), f'ERRNO_{error[1]}')} ({error[2]})"
            call = strace.parse_call(body, head, file, number)
            if call is None and (left := re.match(r"exit\((?:0x)?([0-9]{1,10})\)", body)):
                yield Exit(file, number, head.tid or 0, head.time, int(left[1]), None)
                continue
        if call is not None:
            yield call
        elif ended := re.match(r"process exit, rval = (\d{1,10})", text):
            yield Exit(file, number, tid, None, int(ended[1]), None)
        elif text.strip():
            yield Printed(file, number, tid, None, text)


def parse_gvisor(lines: Iterable[str], file: str, tid: int = 0) -> Iterator[Event]:
    """Yield the events of a gVisor (`runsc --strace`) log: its `X` lines, one a finished call."""
    for number, raw in enumerate(lines, 1):
        text = raw.rstrip("\r\n")
        match = GVISOR.match(text)
        if match is None or match["way"] != "X":
            continue
        clock = GVISOR_CLOCK.match(text)
        time = int(clock[1]) * 3600 + int(clock[2]) * 60 + float(clock[3]) if clock else None
        body = re.sub(r"(?<=\()(0x[0-9a-f]+) (/[^,]*)", _descriptor, match["body"], count=1)
        body = re.sub(r"(, 0x[0-9a-f]+) (/[^,]*)", r'\1 "\2"', body, count=1)
        head = strace.Head(int(match["tid"] or match["pid"]), time, None)
        call = strace.parse_call(body, head, file, number)
        if call is None:
            continue
        args = tuple(a[a.index('"') :] if re.match(r'0x[0-9a-f]+ "', a) else a for a in call.args)
        if error := GVISOR_ERROR.search(body):
            name = linux_name(int(error[1]))
            call = replace(call, result=-1, errno=name, errno_text=error[2])
        yield replace(call, args=args)


def _descriptor(match: re.Match[str]) -> str:
    return f"{int(match[1], 16)}<{match[2]}>"


Parser = Callable[[Iterable[str], str, int], Iterator[Event]]


def parser_for(sample: list[str]) -> Parser:
    """Return the parser whose lines the sample holds; strace's when in doubt."""
    votes: dict[Parser, int] = {
        parse_gvisor: sum(1 for s in sample if GVISOR.match(s)),
        parse_perf: sum(1 for s in sample if PERF.match(s)),
        parse_truss: sum(1 for s in sample if "ERR#" in s or re.search(r"\{ IOR?W? 0x|\) = -?\d+ \(0x[0-9a-f]+\)$", s)),
    }
    best = max(votes, key=lambda p: votes[p])
    return best if votes[best] else partial(strace.parse)
