"""A report as text: one line a refusal, then what was set aside and what the log cannot show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click

from kexec_lint.boundary.messages import Said
from kexec_lint.boundary.verdicts import FINDINGS, Blind, Refusal, Report, Verdict

COLOURS = {
    Verdict.SWALLOWED: "red",
    Verdict.RELABELLED: "magenta",
    Verdict.REPORTED: "yellow",
    Verdict.UNKNOWN: "yellow",
    Verdict.RETRIED: "green",
    Verdict.PROBE: "cyan",
    Verdict.BLIND: "blue",
}
WRAPPERS = ("_start", "drmIoctl", "drmCommandWriteRead", "drmCommandWrite", "kmtIoctl", "intel_ioctl")
LONGEST_QUOTE = 160


@dataclass(frozen=True)
class Row:
    """Refusals that read alike, told once."""

    first: Refusal
    count: int


def rows(report: Report, everything: bool) -> list[Row]:
    """Return the refusals to print, equal ones joined; probes only if `everything`."""
    groups: dict[tuple[object, ...], list[Refusal]] = {}
    for r in report.refusals:
        if r.verdict is Verdict.PROBE and not everything:
            continue
        said = r.message.text if r.message else r.because if r.verdict is not Verdict.RETRIED else ""
        key = (
            r.verdict,
            r.asked.name,
            r.asked.call.detail,
            r.errno,
            r.asked.path,
            r.asked.driver,
            r.asked.call.tid,
            said,
        )
        groups.setdefault(key, []).append(r)
    found = [Row(g[0], len(g)) for g in groups.values()]
    return sorted(found, key=lambda row: (row.first.verdict not in FINDINGS, row.first.asked.index))


def lines(report: Report, everything: bool = False) -> Iterator[str]:
    """Yield the lines of the report, with terminal colours (click strips them where there is no terminal)."""
    for row in rows(report, everything):
        yield refusal_line(row)
    for blind in report.blind:
        yield blind_line(blind)
    yield from summary(report)


def refusal_line(row: Row) -> str:
    """Say in one line which call was refused, with what, by which device, to which thread, and what followed."""
    r = row.first
    call = r.asked.call
    verdict = click.style(f"{r.verdict.value:<10}", fg=COLOURS[r.verdict], bold=True)
    times = f", {row.count} times" if row.count > 1 else ""
    asked = answer(r)
    where = device(r)
    thread = f", thread {call.tid}" if call.tid else ""
    clock = f", {moment(call.time)}" if call.time is not None else ""
    frames = under(call.stack)
    injected = ", injected by the tracer" if call.injected else ""
    told = f"{asked}{times}{where}{thread}{clock}{frames}{injected}; {aftermath(r)}"
    return f"{call.file}:{call.line}: {verdict} {told}"


def answer(r: Refusal) -> str:
    """Return `ioctl NAME = -1 EIO`, `openat = -1 EACCES` or `ioctl NAME = 0, NV_ERR_NO_MEMORY (0x51)`."""
    call = r.asked.call
    name = f"ioctl {r.asked.name}" if r.asked.what == "ioctl" else call.name
    name += f" [{call.detail}]" if call.detail else ""
    if call.errno is not None:
        return f"{name} = -1 {call.errno}"
    return f"{name} = 0, {r.errno} ({call.status or 0:#x})"


def device(r: Refusal) -> str:
    """Return ` on PATH (driver)` as far as the log tells."""
    driver = r.asked.driver
    if r.asked.path is None:
        return f" on descriptor {r.asked.fd}, opened before the log began ({driver or r.asked.family})"
    name = r.asked.path.split("<", 1)[0]
    return f" on {name}" + (f" ({driver})" if driver and r.asked.what == "ioctl" else "")


def moment(time: float) -> str:
    """Return a time of the log: a clock for -tt and -ttt, seconds since its start for the rest."""
    if time >= 1e8:
        from datetime import datetime, timezone

        return datetime.fromtimestamp(time, timezone.utc).strftime("%H:%M:%S.%fZ")
    if time >= 3600:
        return f"{int(time) // 3600 % 24:02d}:{int(time) // 60 % 60:02d}:{time % 60:09.6f}"
    return f"{time:.6f} s"


def under(stack: tuple[str, ...]) -> str:
    """Return the callers of a call that -k recorded, wrappers and the C library left out."""
    names = []
    for frame in stack:
        path, _, rest = frame.rpartition("(") if "(" in frame else (frame, "", "")
        library, symbol = path.rpartition("/")[2], rest.split("+0x", 1)[0].rstrip(")")
        if symbol and symbol not in WRAPPERS and not library.startswith(("libc.so", "libc-", "ld-linux", "libpthread")):
            names.append(f"{symbol} ({library})")
    return f", under {' ← '.join(names[:3])}" if names else ""


def aftermath(r: Refusal) -> str:
    """Say what followed a refusal, and how long after it."""
    if r.message is None:
        return r.because
    after = f"{duration(r.after)} later " if r.after is not None else "then "
    return f'{after}{r.message.stream} said "{quoted(r.message)}": {r.because}'


def duration(seconds: float) -> str:
    """Return a length of time in the unit in which it reads best."""
    for unit, factor in (("µs", 1e6), ("ms", 1e3)):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def blind_line(blind: Blind) -> str:
    """Say that a driver's calls do not tell what failed, and what to ask instead."""
    verdict = click.style(f"{'blind':<10}", fg=COLOURS[Verdict.BLIND], bold=True)
    said = f' {blind.message.stream} said "{quoted(blind.message)}".' if blind.message is not None else ""
    if blind.answered:
        return (
            f"{verdict} all {blind.calls} {blind.family} calls were answered NV_OK, and yet{said} What "
            "failed is work that was launched by doorbell, or above the driver: ask `dmesg | grep -i xid`."
        )
    return (
        f"{verdict} {blind.calls} {blind.family} ioctl calls returned 0 whatever the driver decided: its "
        f"answer is an NvStatus inside the struct, and the log has none.{said} "
        "Ask `dmesg | grep -i xid`, or run again with `kexec-lint boundary run --nvstatus`."
    )


def quoted(message: Said) -> str:
    """Return a message, shortened for one line; an ellipsis stands for what is missing."""
    text = message.text.strip()
    short = len(text) > LONGEST_QUOTE
    return text[: LONGEST_QUOTE - 1] + "…" if short else text + "…" * message.cut


def summary(report: Report) -> Iterator[str]:
    """Yield the closing lines: counts, what was set aside, what a log of this kind cannot show."""
    counts: dict[str, int] = {}
    for r in report.refusals:
        counts[r.verdict.value] = counts.get(r.verdict.value, 0) + 1
    nodes = sorted({a.path.split("<", 1)[0] for a in report.asked if a.path})
    calls = f"{len(report.asked)} driver call{'s' * (len(report.asked) != 1)}"
    on = f" on {', '.join(nodes[:6])}" + (f" and {len(nodes) - 6} more" if len(nodes) > 6 else "") if nodes else ""
    shown = ", ".join(f"{counts[v.value]} {v.value}" for v in Verdict if v is not Verdict.PROBE and v.value in counts)
    if not report.asked:
        yield "No driver call in this log: no GPU driver was asked for anything, or the trace left such calls out."
    elif shown:
        yield f"{calls}{on}: {shown}."
    else:
        unseen = sum(b.calls for b in report.blind if not b.answered)
        yield f"{calls}{on}: " + (
            f"no errno, and {unseen} answers that errno cannot show." if unseen else "no refusal."
        )
    if report.noise:
        aside = "; ".join(f"{n} ({reason})" for reason, n in report.noise.most_common())
        yield f"Set aside as normal: {aside}."
    if not report.trace.ordered:
        yield "The files have no absolute times (-tt, -ttt): what followed what is partly a guess."
    if report.asked:
        doors = f" ({', '.join(report.doorbells)} here)" if report.doorbells else ""
        yield (
            f"A launch by doorbell{doors} makes no call: without refusals, a log "
            "does not prove that launches were accepted."
        )
