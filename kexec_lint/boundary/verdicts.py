"""Each refusal tied to what the framework then did: reported, swallowed, relabelled, retried, probe, blind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from kexec_lint.boundary.asked import Asked, asked
from kexec_lint.boundary.events import Call, Exit
from kexec_lint.boundary.following import Following, announces_retry, index_of, last_word, named_between
from kexec_lint.boundary.logs import Trace, exits
from kexec_lint.boundary.messages import Said, errnos_of, failures, in_words, kinds_of, said
from kexec_lint.boundary.noise import aside
from kexec_lint.boundary.nvstatus import is_refusal, status_name
from kexec_lint.boundary.requests import BLIND, DOORBELL
from kexec_lint.boundary.tying import expected_kinds, tie


class Verdict(str, Enum):
    """What became of a driver's refusal."""

    SWALLOWED = "swallowed"
    RELABELLED = "relabelled"
    REPORTED = "reported"
    RETRIED = "retried"
    PROBE = "probe"
    BLIND = "blind"
    UNKNOWN = "unknown"


FINDINGS = frozenset({Verdict.SWALLOWED, Verdict.RELABELLED, Verdict.REPORTED, Verdict.UNKNOWN})
"""Verdicts that make exit code 1."""


DEVICE_WORDS = re.compile(r"cuda|nvidia|nvml|\bgpu|device|assert|launch", re.I)
"""Words of a message that is about the device rather than about anything else."""


HOW = {
    4: "the message names the error",
    3: "the message names its kind or the call",
    2: "the message says that it failed",
}


@dataclass(frozen=True)
class Refusal:
    """One refused call and what followed. `because` says in words why the verdict is what it is."""

    asked: Asked
    verdict: Verdict
    because: str
    message: Said | None = None

    @property
    def errno(self) -> str:
        """The errno, or the NvStatus where the call itself returned 0."""
        call = self.asked.call
        return call.errno or (status_name(call.status) if call.status is not None else "")

    @property
    def after(self) -> float | None:
        """Seconds from the call's return to the message."""
        end = self.asked.call.end
        if self.message is None or self.message.time is None or end is None:
            return None
        return max(0.0, self.message.time - end)


@dataclass(frozen=True)
class Blind:
    """A driver whose calls do not explain a failure: how many returned 0, and what the framework said.

    `answered` says that the log holds their NvStatus, all fine: then the failure came from launched work.
    """

    family: str
    calls: int
    message: Said | None
    answered: bool


@dataclass(frozen=True)
class Report:
    """The whole answer for one trace."""

    trace: Trace
    asked: tuple[Asked, ...]
    refusals: tuple[Refusal, ...]
    blind: tuple[Blind, ...]
    noise: Counter[str]
    doorbells: tuple[str, ...]

    @property
    def findings(self) -> tuple[Refusal, ...]:
        """The refusals that a reader must see."""
        return tuple(r for r in self.refusals if r.verdict in FINDINGS)


def judge(trace: Trace) -> Report:
    """Judge every failed driver call of a trace."""
    items = asked(trace)
    lines = said(trace)
    ended = exits(trace.events, trace.process)
    refused, probes, noise = _sorted_out(items)
    noise.update(_other_noise(trace, items))
    words = {i.call.errno_text.lower() for i in refused if i.call.errno_text}
    errors = list(failures(lines, words))
    follow = Following(items)
    settled: list[Refusal] = []
    open_: list[Asked] = []
    retries: dict[int, Asked] = {}
    named = {errno: m.index for m in errors if not announces_retry(m) for errno in errnos_of(m.text, m.cut)}
    for item in refused:
        again = follow.success(item)
        if again is None or named_between(item, again, errors):
            open_.append(item)
        elif named.get(item.call.errno or "", -1) > again.index:
            retries[item.index] = again  # named all the same, once the loop was over?
            open_.append(item)
        else:
            settled.append(Refusal(item, Verdict.RETRIED, _retried(item, again)))
    none_found = max((m.index for m in errors if "nodevice" in kinds_of(m.text)), default=-1)
    for item, why in probes:
        if last_word(item, follow, none_found):
            open_.append(item)
        else:
            settled.append(Refusal(item, Verdict.PROBE, why))
    open_.sort(key=index_of)
    messages = tie(open_, errors, trace)
    for item in open_:
        tied, again = messages.get(item.index), retries.get(item.index)
        if again is not None and (tied is None or tied[0] < 4 or announces_retry(tied[1])):
            settled.append(Refusal(item, Verdict.RETRIED, _retried(item, again)))
        else:
            settled.append(_settle(item, tied, _end_of(item, ended, trace), bool(lines)))
    settled.sort(key=lambda r: r.asked.index)
    blind = _blind(items, settled, errors)
    return Report(trace, tuple(items), tuple(settled), tuple(blind), noise, _doors(items))


def _sorted_out(items: list[Asked]) -> tuple[list[Asked], list[tuple[Asked, str]], Counter[str]]:
    """Return the refusals, the probes with their reason, and how much was set aside for which reason."""
    refused: list[Asked] = []
    probes: list[tuple[Asked, str]] = []
    noise: Counter[str] = Counter()
    for item in items:
        if item.call.status is not None and is_refusal(item.call.status):
            refused.append(item)
        elif item.failed:
            reason = aside(item)
            if reason is None:
                refused.append(item)
                continue
            noise[reason.reason] += 1
            if reason.probe:
                probes.append((item, reason.reason))
    return refused, probes, noise


def _retried(item: Asked, again: Asked) -> str:
    if again.path != item.path:
        return f"{again.path} was opened instead"
    return f"the same call succeeded at line {again.call.line}"


def _settle(item: Asked, tied: tuple[int, Said] | None, end: Exit | None, spoke: bool) -> Refusal:
    if tied is not None:
        score, message = tied
        if score == 1:
            theirs = in_words(kinds_of(message.text)) or " or ".join(sorted(errnos_of(message.text, message.cut)))
            ours = in_words(expected_kinds(item)) or item.call.errno or "something else"
            return Refusal(item, Verdict.RELABELLED, f"the message speaks of {theirs}, the driver of {ours}", message)
        because = HOW[score] + ("; the trace cut it short (strace -s)" if message.cut and score == 2 else "")
        return Refusal(item, Verdict.REPORTED, because, message)
    if end is None:
        return Refusal(item, Verdict.UNKNOWN, "the log ends before the process does, and no message follows")
    quiet = "no message follows" if spoke else "the log shows no output"
    if end.signal is not None:
        return Refusal(item, Verdict.REPORTED, f"the process was killed by {end.signal}, {quiet}")
    if end.status:
        return Refusal(item, Verdict.REPORTED, f"the process ended with status {end.status}, {quiet}")
    return Refusal(item, Verdict.SWALLOWED, f"the process ended with status 0, {quiet}")


def _end_of(item: Asked, ended: dict[int, Exit], trace: Trace) -> Exit | None:
    """Return how a call's process ended; where births were not traced, how the first thread of the log did."""
    if not trace.births and trace.events:
        return ended.get(trace.events[0].tid) or ended.get(item.call.tid)
    return ended.get(item.process) or ended.get(item.call.tid)


def _other_noise(trace: Trace, items: Iterable[Asked]) -> Counter[str]:
    """Count the failed ioctl calls on files that are no device: terminals, sockets, regular files."""
    device = {i.index for i in items}
    return Counter(
        "ioctl on a terminal, a socket or another file"
        for index, event in enumerate(trace.events)
        if isinstance(event, Call) and event.name == "ioctl" and event.errno and index not in device
    )


def _blind(items: list[Asked], settled: list[Refusal], errors: list[Said]) -> list[Blind]:
    """Return an entry for NVIDIA's drivers: without NvStatus always, with it if a failure stays unexplained."""
    fine = [i for i in items if i.family in BLIND and i.what == "ioctl" and not i.failed]
    if not fine:
        return []
    answered = any(i.call.status is not None for i in fine)
    refused = any(r.verdict in FINDINGS and r.asked.family in BLIND for r in settled)
    tied = {r.message.index for r in settled if r.message is not None}
    left = [m for m in errors if m.index > fine[0].index and m.index not in tied]
    message = next((m for m in left if DEVICE_WORDS.search(m.text)), left[0] if left else None)
    if answered and (refused or message is None):
        return []
    return [Blind(" and ".join(sorted({i.family for i in fine})), len(fine), message, answered)]


def _doors(items: list[Asked]) -> tuple[str, ...]:
    families = {i.family for i in items if i.family in DOORBELL}
    families |= {"xe" for i in items if i.driver == "xe"} | {"amdgpu user queues" for i in items if "USERQ" in i.name}
    return tuple(sorted(families))
