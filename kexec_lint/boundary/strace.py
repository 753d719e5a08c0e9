"""Grammar of strace's lines (all of -f -ff -o -y -yy -Y -k -i -n -t -tt -ttt -r -T -N, -X raw|verbose) → events.

Every pattern is linear: no part of one can match the same text in two ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kexec_lint.boundary.errnos import linux_name
from kexec_lint.boundary.events import Call, Event, Exit, Printed

PREFIX = re.compile(
    r"(?:\[pid\s+(?P<bracket>\d{1,10})(?:<[^>]*>)?\]\s+|(?P<bare>\d{1,10})(?:<[^>]*>)?\s+)?"
    r"(?:(?P<epoch>\d{9,12}(?:\.\d{1,9})?)\s|(?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?)\s)?"
    r"(?:\(\+\s*\d+\.\d+\)\s|\s*(?P<relative>\d{1,12}\.\d{3,9})\s)?"
    r"(?:\[\s*(?:\d+|[0-9a-f?]{8,16})\]\s)*"
)
CALL = re.compile(r"([a-z_][a-z0-9_]*)\(")
RESUMED = re.compile(r"<\.\.\. ([a-z_][a-z0-9_]*) resumed>")
EXITED = re.compile(
    r"\+\+\+ (?:exited with (?P<status>\d{1,10})|killed by (?P<signal>SIG\w+)(?: \(core dumped\))?) \+\+\+"
)
NOT_A_CALL = re.compile(r"---.*---$|\+\+\+ .*\+\+\+$|strace: |/?\S*strace: Process \d+")
STACK = re.compile(r" > (?P<frame>.+?)(?: \[0x[0-9a-f]+\].*)?$")
ATTACHED = re.compile(r"strace: Process \d+ (?:attached|detached)$")

# What can hide a comma or a bracket inside an argument: a string, a comment, the path behind a descriptor.
TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"?'
    r"|/\*(?:[^*]|\*(?!/))*(?:\*/)?"
    r"|(?<=[0-9DT])<(?![<=. ])(?:->|[^<>]|<[^<>]*>)*>?"
    r"|[()\[\]{},]",
    re.S,
)
RESULT = re.compile(r"\s*=\s+(?P<value>0x[0-9a-f]+|-?\d{1,20}|\?)")
RETURNED_PATH = re.compile(r"<((?:->|[^<>]|<[^<>]*>)*)>")
ERRNO = re.compile(r"\s+(?P<name>ERRNO_(?P<number>\d{1,5})|E[A-Z0-9]+)(?:\s+\((?P<text>(?:[^()]|\([^()]*\))*)\))?")
DURATION = re.compile(r"<(\d+\.\d+)>\s*$")
STATUS = re.compile(r"NvStatus=(0x[0-9a-fA-F]+|\d{1,10}\b)")
DETAIL = re.compile(r"\b(?:class|cmd)=0x[0-9a-fA-F]+")
ARGUMENT_NAME = re.compile(r"[a-z_][a-z0-9_]*(?:=|: )")


@dataclass(frozen=True)
class Head:
    """What stands before the body of a line."""

    tid: int | None
    time: float | None
    relative: float | None


def split_arguments(text: str, start: int) -> tuple[tuple[str, ...], int] | None:
    """Return the arguments of the call whose `(` ends at `start`, the place behind its `)`; None if cut short."""
    arguments: list[str] = []
    depth, begin = 1, start
    for token in TOKEN.finditer(text, start):
        first = text[token.start()]
        if first in "([{":
            depth += 1
        elif first in ")]}":
            depth -= 1
            if depth == 0:
                last = text[begin : token.start()].strip()
                if last or arguments:
                    arguments.append(last)
                return tuple(arguments), token.end()
        elif first == "," and depth == 1:
            arguments.append(text[begin : token.start()].strip())
            begin = token.end()
    return None


def strip_name(argument: str) -> str:
    """Drop the `fd=` of strace -N or the `fd: ` of perf."""
    named = ARGUMENT_NAME.match(argument)
    return argument[named.end() :] if named else argument


def parse_call(text: str, head: Head, file: str, line: int) -> Call | None:
    """Return the call that `text` holds from its start, or None if it is not a whole one."""
    name = CALL.match(text)
    split = split_arguments(text, name.end()) if name else None
    if name is None or split is None:
        return None
    arguments, end = split
    result = RESULT.match(text, end)
    if result is None:
        return None
    rest = text[result.end() :]
    value = result["value"]
    error = ERRNO.match(rest) if value.startswith("-") or value == "?" else None
    opened = RETURNED_PATH.match(rest)
    duration = DURATION.search(rest[-40:])
    status = STATUS.search(rest) if "NvStatus" in rest else None
    detail = DETAIL.search(rest) if rest.endswith("]") else None
    return Call(
        file=file,
        line=line,
        tid=head.tid or 0,
        name=name[1],
        args=tuple(map(strip_name, arguments)),
        time=head.time,
        duration=float(duration[1]) if duration else None,
        result=None if value == "?" else int(value, 16 if value.startswith("0x") else 10),
        opened=opened[1] if opened else None,
        errno=(linux_name(int(error["number"])) if error["number"] else error["name"]) if error else None,
        errno_text=error["text"] if error else None,
        status=int(status[1], 16 if status[1].startswith("0x") else 10) if status else None,
        detail=detail[0] if detail else "",
        injected="(INJECTED)" in rest,
    )


def read_head(line: str) -> tuple[Head, str]:
    """Split a line into what precedes the body (thread, time) and the body."""
    match = PREFIX.match(line)
    assert match is not None  # every part of PREFIX is optional
    tid = match["bracket"] or match["bare"]
    time = float(match["epoch"]) if match["epoch"] else None
    if match["clock"]:
        hours, minutes, seconds = match["clock"].split(":")
        time = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    relative = float(match["relative"]) if match["relative"] and time is None else None
    return Head(int(tid) if tid else None, time, relative), line[match.end() :]


def parse(lines: Iterable[str], file: str, tid: int = 0) -> Iterator[Event]:
    """Yield the events of one log, unfinished and resumed lines joined, stacks attached.

    `tid` is the thread of lines that name none (one file of `-ff`). A call is yielded when it returns; one that
    never returns is yielded at the end with no result.
    """
    pending: dict[int, tuple[str, Head, int]] = {}
    held: Call | None = None
    cut: tuple[str, Head, int] | None = None
    clock, day, previous = 0.0, 0.0, None
    for number, raw in enumerate(lines, 1):
        text = raw.rstrip("\r\n")
        if text.startswith(" > "):
            frame = STACK.match(text)
            if held is not None and frame is not None:
                held = replace(held, stack=(*held.stack, frame["frame"]))
            continue
        if held is not None:
            yield held
            held = None
        head, body = read_head(text)
        if head.relative is not None:
            clock += head.relative
            head = replace(head, time=clock)
        elif head.time is not None and head.time < 86400.0:
            if previous is not None and head.time < previous - 43200:
                day += 86400.0  # -tt past midnight
            previous = head.time
            head = replace(head, time=head.time + day)
        if head.tid is None:
            head = replace(head, tid=tid)
        thread = head.tid or 0
        if resumed := RESUMED.match(body):
            start, at, origin = pending.pop(thread, (f"{resumed[1]}(", head, number))
            if not start.startswith(resumed[1] + "("):
                start, at, origin = f"{resumed[1]}(", head, number
            held = parse_call(start + body[resumed.end() :], at, file, origin)
            if held is not None and held.duration is None and head.time is not None and at.time is not None:
                held = replace(held, duration=max(0.0, head.time - at.time))
            held = replace(held, returned=number) if held is not None else None
        elif CALL.match(body):
            if body.endswith("<unfinished ...>"):
                pending[thread] = (body[: -len("<unfinished ...>")].removesuffix(" "), head, number)
                continue
            if interruption := ATTACHED.search(body):
                cut = (body[: interruption.start()], head, number)
                continue
            held = parse_call(body, head, file, number)
            if held is None:
                # the program's own output ran into the line: `write(2, "text\n", 5text` and then `) = 5`
                cut = (body, head, number)
                yield from _written(body, head, file, number)
        elif ended := EXITED.match(body):
            status = int(ended["status"]) if ended["status"] else None
            yield Exit(file, number, thread, head.time, status, ended["signal"])
            if thread in pending:
                yield from _unfinished(pending.pop(thread), file)
        elif NOT_A_CALL.match(body) or not text.strip():
            continue
        elif cut is not None and text[0] in "),":
            start, at, origin = cut
            cut = None
            call = parse_call(start + text, at, file, origin)
            if call is not None and not call.name.startswith("write"):
                held = call
        else:
            yield Printed(file, number, thread, head.time, text)
    if held is not None:
        yield held
    for left in pending.values():
        yield from _unfinished(left, file)


def _unfinished(start: tuple[str, Head, int], file: str) -> Iterator[Call]:
    """Yield the call that never returned, with the arguments that were printed."""
    text, head, line = start
    call = parse_call(text + ") = ?", head, file, line)
    if call is not None:
        yield call


BROKEN_WRITE = re.compile(r'write\((?P<fd>[^,]*), (?P<text>"(?:[^"\\]|\\.)*")(?P<more>\.\.\.)?, (?P<rest>\d.*)$', re.S)


def _written(text: str, head: Head, file: str, line: int) -> Iterator[Call]:
    """Yield a write whose line was broken by the very text that it wrote, which is whole where -s cut it."""
    broken = BROKEN_WRITE.match(text)
    if broken is None:
        return
    shown = broken["text"]
    start = shown[1:-1].split("\\n", 1)[0]
    at = broken["rest"].find(start) if broken["more"] and "\\" not in start else -1
    if at > 0:
        shown = '"' + broken["rest"][at:].replace("\\", "\\\\").replace('"', '\\"') + '\\n"'
    call = parse_call(f"write({broken['fd']}, {shown}, 0) = ?", head, file, line)
    if call is not None:
        yield call
