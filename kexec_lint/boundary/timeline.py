"""A report as a timeline: Chrome trace events (.json, for Perfetto) or one self-contained page (.html)."""

from __future__ import annotations

import json
from collections import defaultdict
from importlib.resources import files
from typing import Any

from kexec_lint.boundary.asked import Asked
from kexec_lint.boundary.events import Call
from kexec_lint.boundary.messages import Said, failures, said
from kexec_lint.boundary.text import aftermath, answer, device, duration
from kexec_lint.boundary.verdicts import Refusal, Report
from kexec_lint.report.markup import escape

COLOURS = {
    "swallowed": "#c62828", "relabelled": "#8e24aa", "reported": "#ef6c00", "unknown": "#6d4c41",
    "retried": "#2e7d32", "probe": "#90a4ae", "ok": "#b0bec5",
}  # fmt: skip
WIDTH, LEFT, LANE = 1100, 150, 34
ANCHORS = ("start", "middle", "middle", "middle", "end")


def chrome_trace(report: Report) -> dict[str, Any]:
    """Return the driver calls and the messages of failure as Chrome trace events, times in microseconds."""
    clock = _Clock(report)
    verdicts = {r.asked.index: r for r in report.refusals}
    events: list[dict[str, Any]] = []
    for item in report.asked:
        r = verdicts.get(item.index)
        arguments: dict[str, Any] = {"device": item.path, "driver": item.driver, "line": item.call.line}
        if r is not None:
            arguments |= {"errno": r.errno, "verdict": r.verdict.value, "because": r.because}
        events.append(
            {
                "name": item.name,
                "cat": r.verdict.value if r else item.kind,
                "ph": "X",
                "ts": round(clock.of(item) * 1e6, 3),
                "dur": round((item.call.duration or 0) * 1e6, 3),
                "pid": item.process,
                "tid": item.call.tid,
                "args": arguments,
            }
        )
    for line in failures(said(report.trace)):
        at = round(clock.at(line.index, line.time) * 1e6, 3)
        events.append(
            {
                "name": line.text,
                "cat": "message",
                "ph": "i",
                "s": "t",
                "ts": at,
                "pid": line.process,
                "tid": line.tid,
            }
        )
    return {"traceEvents": events, "displayTimeUnit": "ms"}


class _Clock:
    """Seconds since the first driver call; the place in the log where it has no times."""

    def __init__(self, report: Report) -> None:
        times = [a.call.time for a in report.asked]
        self.timed = bool(times) and all(t is not None for t in times)
        self.start = min((t for t in times if t is not None), default=0.0)
        self.first = report.asked[0].index if report.asked else 0

    def of(self, item: Asked) -> float:
        return self.at(item.index, item.call.time)

    def label(self, at: float) -> str:
        return duration(at) if self.timed else f"line {at:.0f}"

    def at(self, index: int, time: float | None) -> float:
        return time - self.start if self.timed and time is not None else float(index - self.first)


def page(report: Report) -> str:
    """Return the timeline as one HTML page: a lane a thread, a bar a driver call, a mark a message of failure."""
    clock = _Clock(report)
    messages = list(failures(said(report.trace)))
    ends = [clock.of(a) + (a.call.duration or 0) for a in report.asked] + [clock.at(m.index, m.time) for m in messages]
    span = max([e for e in ends if e >= 0], default=0.0) or 1.0
    lanes = list(dict.fromkeys([a.call.tid for a in report.asked] + [m.tid for m in messages]))
    place = {tid: 30 + n * LANE for n, tid in enumerate(lanes)}
    scale = (WIDTH - LEFT - 20) / span
    bars = _bars(report, clock, place, scale) + _marks(messages, clock, place, scale)
    names = "".join(f'<text x="8" y="{y + 17}">thread {tid}</text>' for tid, y in place.items())
    rules = "".join(
        f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y + 24}" y2="{y + 24}" class="rule"/>' for y in place.values()
    )
    height = 40 + len(lanes) * LANE
    ticks = "".join(
        f'<text x="{LEFT + n * (WIDTH - LEFT - 20) / 4:.1f}" y="16" class="tick" text-anchor="{ANCHORS[n]}">'
        f"{escape(clock.label(span * n / 4))}</text>"
        for n in range(5)
    )
    legend = "".join(
        f'<span><i style="background:{c}"></i>{escape(k)}</span>' for k, c in COLOURS.items() if _has(report, k)
    )
    template = (files("kexec_lint.boundary") / "data" / "timeline.html").read_text(encoding="utf-8")
    return template.format(
        title=escape(", ".join(report.trace.files) or "boundary run"),
        legend=legend,
        width=WIDTH,
        height=height,
        drawing=ticks + rules + names + bars,
        rows="".join(_row(n, r) for n, r in enumerate(report.refusals)),
        calls=len(report.asked),
    )


def _has(report: Report, verdict: str) -> bool:
    return verdict == "ok" or any(r.verdict.value == verdict for r in report.refusals)


def _bars(report: Report, clock: _Clock, place: dict[int, int], scale: float) -> str:
    """Draw the calls; successful ones that fall on the same pixel are one bar."""
    verdicts = {r.asked.index: (n, r) for n, r in enumerate(report.refusals)}
    fine: dict[tuple[int, int], list[Asked]] = defaultdict(list)
    drawn = []
    for item in report.asked:
        x = LEFT + clock.of(item) * scale
        wide = max(2.0, (item.call.duration or 0) * scale)
        if item.index not in verdicts:
            fine[item.call.tid, int(x)].append(item)
            continue
        number, r = verdicts[item.index]
        tip = escape(f"{answer(r)}{device(r)}; {r.verdict.value}: {aftermath(r)}")
        drawn.append(
            f'<a href="#r{number}"><rect x="{x:.1f}" y="{place[item.call.tid]}" '
            f'width="{max(4.0, wide):.1f}" height="22" '
            f'fill="{COLOURS[r.verdict.value]}"><title>{tip}</title></rect></a>'
        )
    quiet = []
    for (tid, x), items in fine.items():
        wide = max(2.0, max(i.call.duration or 0 for i in items) * scale)
        tip = escape(items[0].name if len(items) == 1 else f"{len(items)} calls from {items[0].name}")
        quiet.append(
            f'<rect x="{x}" y="{place[tid] + 6}" width="{wide:.1f}" height="12" '
            f'fill="{COLOURS["ok"]}"><title>{tip}</title></rect>'
        )
    return "".join(quiet + drawn)


def _marks(messages: list[Said], clock: _Clock, place: dict[int, int], scale: float) -> str:
    drawn = []
    for message in messages:
        x, y = LEFT + max(0.0, clock.at(message.index, message.time)) * scale, place[message.tid]
        tip = escape(f"{message.stream}: {message.text.strip()}")
        drawn.append(f'<path d="M{x:.1f} {y + 2} l5 9 l-5 9 l-5 -9 z" class="said"><title>{tip}</title></path>')
    return "".join(drawn)


def _row(number: int, r: Refusal) -> str:
    call: Call = r.asked.call
    cells = (
        f"{call.file}:{call.line}",
        r.verdict.value,
        answer(r),
        device(r).removeprefix(" on "),
        str(call.tid),
        aftermath(r),
    )
    colour = COLOURS[r.verdict.value]
    inner = "".join(
        f'<td style="color:{colour};font-weight:600">{escape(c)}</td>' if n == 1 else f"<td>{escape(c)}</td>"
        for n, c in enumerate(cells)
    )
    return f'<tr id="r{number}">{inner}</tr>'


def render(report: Report, name: str) -> str:
    """Return the timeline for a file name: Chrome trace for `.json`, a page for `.html`.

    Raises:
        ValueError: the name has another suffix.
    """
    low = name.lower()
    if low.endswith(".json"):
        return json.dumps(chrome_trace(report), ensure_ascii=False) + "\n"
    if low.endswith((".html", ".htm")):
        return page(report)
    raise ValueError(f"{name}: a timeline is written as .html or .json")
