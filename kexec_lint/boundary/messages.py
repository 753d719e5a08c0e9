"""What the framework said: lines written to its streams, whether one speaks of a failure, and of which kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from kexec_lint.boundary.descriptors import Descriptors
from kexec_lint.boundary.events import Call, Printed
from kexec_lint.boundary.logs import Trace
from kexec_lint.boundary.strings import plain, strings

WRITES = ("write", "writev", "pwrite64", "pwritev", "sendto", "send", "sendmsg")
STREAM = re.compile(
    r"^<std(?:out|err)>$|^/dev/(?:pts/|tty|console|kmsg|log$)|\.log$|/log/|/run/systemd/journal/|^UNIX.*journal"
)
LONGEST = 2000


@dataclass(frozen=True)
class Said:
    """One line of output. `cut` says that the tracer showed only its beginning (`-s`)."""

    index: int
    time: float | None
    tid: int
    process: int
    stream: str
    text: str
    cut: bool


def said(trace: Trace) -> list[Said]:
    """Return the lines that the program wrote, pieces of one line joined, in the order of their first piece."""
    table = Descriptors(trace)
    open_lines: dict[tuple[int, str], Said] = {}
    lines: list[Said] = []
    for index, event in enumerate(trace.events):
        if isinstance(event, Printed):
            heard = "stderr" if event.file == "stderr" else "output"
            process = trace.process(event.tid)
            lines.append(Said(index, event.time, event.tid, process, heard, plain(event.text), False))
        if not isinstance(event, Call):
            continue
        stream = _stream(event, table) if event.name in WRITES and event.args else None
        table.feed(event)
        if stream is None or (event.result is not None and event.result < 0):
            continue
        process = trace.process(event.tid)
        text, cut = _text(event)
        key = (process, stream)
        begun = open_lines.pop(key, None)
        if begun is not None and len(begun.text) < LONGEST and not begun.cut:
            first, text = begun, begun.text + text
        else:
            if begun is not None:
                lines.append(begun)
            first = Said(index, event.time, event.tid, process, stream, "", False)
        *whole, rest = text.split("\n")
        for line in whole:
            lines.append(Said(first.index, first.time, first.tid, process, stream, plain(line), False))
            first = Said(index, event.time, event.tid, process, stream, "", False)
        if rest:
            open_lines[key] = Said(first.index, first.time, first.tid, process, stream, plain(rest), cut)
    lines += open_lines.values()
    return sorted((line for line in lines if line.text.strip()), key=lambda s: s.index)


def _stream(call: Call, table: Descriptors) -> str | None:
    opened = table.look_up(call.tid, call.args[0])
    number = call.args[0].split("<", 1)[0]
    if number in ("1", "2"):
        return "stdout" if number == "1" else "stderr"
    path = opened.path if opened else None
    return path.strip("<>") if path and STREAM.search(path) else None


def _text(call: Call) -> tuple[str, bool]:
    pieces = strings(" ".join(call.args[1:]))
    if call.name in ("write", "pwrite64", "sendto", "send"):
        pieces = pieces[:1]
    return "".join(text for text, _ in pieces), any(cut for _, cut in pieces)


# Kinds of failure, as errno names them and as frameworks word them.
ERRNO_KINDS: dict[str, frozenset[str]] = {
    name: frozenset(kinds.split())
    for name, kinds in {
        "ENOMEM": "memory", "ENOSPC": "memory", "EACCES": "permission", "EPERM": "permission", "EINVAL": "invalid",
        "E2BIG": "invalid", "ERANGE": "invalid", "EFAULT": "fault", "EIO": "io lost hang",
        "ECANCELED": "lost cancelled",
        "ENODEV": "lost nodevice", "ENXIO": "lost nodevice", "ENOENT": "nodevice", "EDEADLK": "lost hang deadlock",
        "EPROTO": "lost hang", "EOWNERDEAD": "lost", "ESTALE": "lost", "EBUSY": "busy", "EAGAIN": "busy",
        "ETIME": "timeout hang", "ETIMEDOUT": "timeout hang", "EOPNOTSUPP": "unsupported", "ENOTTY": "unsupported",
        "ENOSYS": "unsupported", "EMFILE": "files", "ENFILE": "files", "EBADF": "descriptor", "EEXIST": "exists",
        "EHWPOISON": "io", "EREMOTEIO": "io", "ENOLINK": "lost",
    }.items()
}  # fmt: skip
KIND_WORDS: tuple[tuple[str, str], ...] = (
    (
        "memory",
        r"out[ _]?of[ _]?(?:host[ _]|device[ _])?(?:memory|resources)|OutOfMemory|OutOfResources|\bOOM\b|"
        r"cannot allocate|"
        r"can't allocate|not enough (?:memory|space|resources)|insufficient (?:memory|resources)|memory exhausted|"
        r"bad_alloc|no space left|MEM(?:ORY|_OBJECT)_ALLOC\w*(?:_FAILURE)?|MEMORY_ALLOCATION|NO_MEMORY|"
        r"INSUFFICIENT_RESOURCES|\bCL error -[456]\b|clEnqueue\w+.*\(-[456]\)|returned 4104|"
        r"alloc\w* failed|failed to alloc\w*",
    ),
    (
        "permission",
        r"permission|not permitted|access denied|denied|not authori[sz]ed|unauthori[sz]ed|forbidden|privilege",
    ),
    (
        "invalid",
        r"invalid (?:argument|value|parameter|handle|request|flag)|\bCL_INVALID_\w+|"
        r"INVALID_(?:ARGUMENT|PARAMETER|VALUE)|bad argument",
    ),
    ("fault", r"bad address|illegal (?:memory )?address|illegal memory access|segmentation fault|page fault"),
    ("io", r"input/output error|\bI/O error"),
    ("hang", r"\bhang\b|\bhung\b|wedged|lockup|gpu reset|reset required"),
    (
        "lost",
        r"(?:device|context|gpu)(?: is| was| has been)? lost|DEVICE_LOST|CONTEXT_LOST|GPU_IS_LOST|"
        r"context was reset|fallen off",
    ),
    ("cancelled", r"cancell?ed|aborted by"),
    (
        "nodevice",
        r"no such device|no (?:\S{1,24} ){0,3}(?:devices?|gpus?|accelerators?|platforms?)\b(?! lost)|"
        r"devices?[ _]not[ _](?:found|available)|"
        r"not find (?:any |a )?(?:\S{1,24} ){0,2}(?:device|gpu)|DEVICE_NOT_FOUND|PLATFORM_NOT_FOUND|"
        r"number of (?:devices|platforms)\W+0\b|\b0 (?:\S{1,24} )?(?:devices|gpus|platforms)\b|"
        r"NoDevice\b|no cuda gpus|CL_PLATFORM_NOT_FOUND_KHR|-1001\b",
    ),
    ("busy", r"\bbusy\b|in use|temporarily unavailable"),
    ("timeout", r"time[d]?[ -]?out|timer expired|TIMEOUT"),
    ("unsupported", r"not supported|unsupported|not implemented|inappropriate ioctl|NOT_SUPPORTED"),
    ("files", r"too many open files"),
    ("descriptor", r"bad file descriptor"),
    ("deadlock", r"deadlock"),
    ("unknown", r"unknown error|unspecified (?:error|failure|launch failure)"),
)
FAILURE = re.compile(
    r"\berr(?:or|no)?\b|error|exception|fail(?:s|ed|ure|ing)?\b|\bcannot\b|can't|could ?n[o']t|unable|refused|"
    r"reject|abort|assert|fatal|panic|traceback|unavailable|not available|fall(?:ing)? ?back|"
    r"CL_(?:OUT|INVALID|DEVICE|MEM|BUILD|COMPILER)\w+|NV_ERR_|VK_ERROR|HSA_STATUS_ERROR|hipError|cudaError|denied",
    re.I,
)
NOT_A_FAILURE = re.compile(
    r"\b(?:no|zero|0|without(?: any)?) (?:errors?|failures?|failed)\b|errors?(?: count)?\s*[:=]\s*0\b|"
    r"fail(?:ed|ures?)\s*[:=]\s*0\b|"
    r"(?:rel(?:ative)?|abs(?:olute)?|max|mean|rms|training|validation|test)[ _-]?err(?:or)?\b|"
    r"error rate|CL_SUCCESS|cudaSuccess|"
    r"error[ _]?(?:handling|checking|code)[: =]+(?:enabled|on|off|0\b)",
    re.I,
)
ERRNO_WORDS = {
    "EIO": "input/output error", "ENOMEM": "cannot allocate memory", "EACCES": "permission denied",
    "EPERM": "operation not permitted", "EINVAL": "invalid argument", "EFAULT": "bad address",
    "ENODEV": "no such device",
    "ENXIO": "no such device or address", "EBUSY": "device or resource busy", "ENOSPC": "no space left on device",
    "ECANCELED": "operation canceled", "ETIME": "timer expired", "ETIMEDOUT": "connection timed out",
    "EDEADLK": "resource deadlock avoided", "EOPNOTSUPP": "operation not supported", "EPROTO": "protocol error",
    "ENOENT": "no such file or directory", "EMFILE": "too many open files", "EBADF": "bad file descriptor",
    "EOWNERDEAD": "owner died", "E2BIG": "argument list too long", "ENOTTY": "inappropriate ioctl for device",
}  # fmt: skip
ERRNO_NUMBERS = {
    "EPERM": 1, "ENOENT": 2, "EIO": 5, "ENXIO": 6, "E2BIG": 7, "EBADF": 9, "ENOMEM": 12, "EACCES": 13,
    "EFAULT": 14, "EBUSY": 16, "ENODEV": 19, "EINVAL": 22, "EMFILE": 24, "ENOTTY": 25, "ENOSPC": 28, "EDEADLK": 35,
    "ETIME": 62,
    "EPROTO": 71, "EOPNOTSUPP": 95, "ETIMEDOUT": 110, "ECANCELED": 125, "EOWNERDEAD": 130,
}  # fmt: skip
NUMBERED = re.compile(
    r"(?:errno|ret(?:urned|val|code)?|error|failed|rejected|status|rc)\s*(?:code\s*)?[:=]?\s*\(?-?(\d{1,3})\b(?!\.)",
    re.I,
)
NAMED = re.compile(r"\b(E[A-Z0-9]{2,14})\b")


KIND_NAMES = {
    "memory": "memory", "permission": "a permission", "invalid": "an invalid argument", "busy": "a busy device",
    "io": "an input/output error", "fault": "a bad address", "hang": "a hang", "lost": "a lost device",
    "cancelled": "a cancelled submission", "nodevice": "a missing device", "timeout": "a timeout",
    "files": "too many open files", "unsupported": "something unsupported", "descriptor": "a bad descriptor",
    "deadlock": "a deadlock", "unknown": "an unknown error", "exists": "something that exists already",
}  # fmt: skip


def in_words(kinds: Iterable[str]) -> str:
    """Return kinds of failure as a person would say them."""
    return " or ".join(KIND_NAMES[kind] for kind in sorted(kinds))


@cache
def _kind_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(words, re.I)) for kind, words in KIND_WORDS)


@cache
def _any_kind() -> re.Pattern[str]:
    return re.compile("|".join(words for _, words in KIND_WORDS), re.I)


def kinds_of(text: str) -> frozenset[str]:
    """Return the kinds of failure that a message names; empty if it only says that something failed."""
    text = text[:LONGEST]
    if not _any_kind().search(text):
        return frozenset()
    return frozenset(kind for kind, pattern in _kind_patterns() if pattern.search(text))


def errnos_of(text: str, cut: bool = False) -> frozenset[str]:
    """Return the errno values that a message spells out, by name, by number or in strerror's English words.

    Of a message that the tracer `cut` short, the beginning of such words at its end counts too.
    """
    text = text[:LONGEST]
    low = text.lower()
    found = {n for n in NAMED.findall(text) if n in ERRNO_KINDS}
    found |= {name for name, words in ERRNO_WORDS.items() if words in low}
    if cut:
        found |= {e for e, words in ERRNO_WORDS.items() if any(low.endswith(words[:n]) for n in range(9, len(words)))}
    numbers = {int(n) for n in NUMBERED.findall(text)}
    found |= {name for name, number in ERRNO_NUMBERS.items() if number in numbers and number > 1}
    return frozenset(found)


OTHER_FILE = re.compile(r"(?<![\w/.])/(?!dev/)[\w.+-]+(?:/[\w.+-]+)*")
SOURCE_FILE = re.compile(r"\.(?:c|cc|cpp|cu|cuh|h|hpp|hip|py|rs|cl)$")


def names_other_file(text: str) -> bool:
    """Say whether a message is about a file that is neither a device node nor the source line that speaks."""
    return any(not SOURCE_FILE.search(path) for path in OTHER_FILE.findall(text[:LONGEST]))


def is_failure(text: str) -> bool:
    """Say whether a line of output speaks of a failure."""
    text = text[:LONGEST]
    if NOT_A_FAILURE.search(text):
        return bool(FAILURE.search(NOT_A_FAILURE.sub("", text)))
    return (
        bool(FAILURE.search(text))
        or bool(kinds_of(text) & SAYS_FAILURE)
        or any(n in ERRNO_KINDS for n in NAMED.findall(text))
    )


SAYS_FAILURE = frozenset(["memory", "nodevice", "lost", "io", "fault", "unsupported", "unknown", "files", "descriptor"])
"""Kinds whose words alone make a line a failure; a timeout or a permission is also spoken of in peace."""


FRAME = re.compile(r'\s*File "[^"]*", line \d+')


def failures(lines: Iterable[Said], words: Iterable[str] = ()) -> Iterator[Said]:
    """Yield the lines that speak of a failure; of a Python traceback only the last, which names the exception.

    `words` (lower case) speak of one too: the errno texts of the log, in whatever language they are.
    """
    words = [w for w in words if len(w) > 3]
    inside: set[tuple[int, str]] = set()
    for line in lines:
        key = (line.process, line.stream)
        if line.text.startswith("Traceback (most recent call last)"):
            inside.add(key)
        elif key in inside and line.text[:1] in " |":
            continue
        elif key in inside:
            inside.discard(key)
            yield line
        elif not FRAME.match(line.text) and (is_failure(line.text) or any(w in line.text.lower() for w in words)):
            yield line
