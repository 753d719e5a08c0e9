"""Draws what ran: commands per queue on a time axis, edges, conflicts that overlap, waits of the host."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.words import name
from kexec_lint.report.markup import escape
from kexec_lint.verify import VerifyError
from kexec_lint.verify.run import Pair
from kexec_lint.verify.trace import Ran, Trace

SUFFIXES = (".html", ".svg", ".json")
MOST = 3000
"""Commands in a drawing; more would be neither drawn nor read in time. Perfetto gets all."""


@dataclass(frozen=True)
class Bar:
    """A command or a wait on its lane; times in microseconds from the first one."""

    lane: str
    label: str
    start: float
    end: float
    kind: str
    detail: str
    key: int = 0


@dataclass(frozen=True)
class Drawing:
    """Bars, edges between bars by key (earlier, later, kind), conflicts by key (earlier, later, overlap)."""

    bars: tuple[Bar, ...]
    edges: tuple[tuple[int, int, str], ...]
    conflicts: tuple[tuple[int, int, bool], ...]
    measured: bool
    """Whether the times are the device's; else they are those of the enqueue calls."""

    @property
    def lanes(self) -> list[str]:
        """Names of the lanes from top to bottom."""
        return list(dict.fromkeys(bar.lane for bar in self.bars))


def draw(trace: Trace, pairs: Sequence[Pair], most: int | None = MOST) -> Drawing:
    """Lay out a trace."""
    commands = trace.commands[:most]
    shown = {id(ran.command): ran for ran in commands}
    offset = _offset(commands)
    spans = {ran.number: _span(ran, offset) for ran in commands}
    cut = len(commands) < len(trace.commands)
    waits = [wait for wait in trace.waits if not cut or wait[1] <= commands[-1].end]
    starts = [span[0] for span in spans.values()] + [begin for _, begin, _, _ in waits]
    zero = min(starts, default=0)
    queues = {q: n for n, q in enumerate(dict.fromkeys(r.command.queue for r in commands), 1)}
    bars = [
        Bar(
            _lane(ran.command.queue, queues),
            _label(ran.command),
            (spans[ran.number][0] - zero) / 1e3,
            (spans[ran.number][1] - zero) / 1e3,
            ran.command.kind,
            _detail(ran),
            ran.number,
        )
        for ran in commands
    ]
    threads = {thread: n for n, thread in enumerate(dict.fromkeys(w[3] for w in waits), 1)}
    for point, begin, end, thread in waits:
        lane = "host waits" if len(threads) < 2 else f"host waits, thread {threads[thread]}"
        where = f"line {point.site[-1].span.row}" if point.site else ""
        bars.append(Bar(lane, point.what, (begin - zero) / 1e3, (end - zero) / 1e3, "wait", where))
    edges = []
    for ran in commands:
        for source, _, kind in ran.command.before:
            earlier = shown.get(id(source))
            if earlier is not None:
                edges.append((earlier.number, ran.number, kind))
    conflicts = []
    for pair in pairs:
        if pair.earlier is not None and pair.later is not None and {pair.earlier, pair.later} <= set(commands):
            one, two = spans[pair.earlier.number], spans[pair.later.number]
            conflicts.append((pair.earlier.number, pair.later.number, two[0] < one[1]))
    return Drawing(tuple(_apart(bars)), tuple(edges), tuple(conflicts), offset is not None)


def _apart(bars: Sequence[Bar]) -> Iterator[Bar]:
    """Yield the bars with more lanes for a queue whose commands run at the same time.

    Perfetto reads bars of one lane as nested calls and drops those that overlap in part.
    """
    ends: dict[str, list[float]] = {}
    more: dict[int, int] = {}
    for bar in sorted(bars, key=lambda bar: bar.start):
        lanes = ends.setdefault(bar.lane, [])
        free = next((number for number, end in enumerate(lanes) if end <= bar.start), len(lanes))
        lanes[free : free + 1] = [bar.end]
        more[id(bar)] = free
    order = {lane: number for number, lane in enumerate(dict.fromkeys(bar.lane for bar in bars))}
    for bar in sorted(bars, key=lambda bar: (order[bar.lane], more[id(bar)])):
        beside = more[id(bar)]
        yield replace(bar, lane=f"{bar.lane}, beside {beside}") if beside else bar


def _offset(commands: Sequence[Ran]) -> int | None:
    """Return what to add to device times to get host times, None without device times.

    A command cannot have been queued after its call returned, so the smallest distance is the best estimate.
    """
    return min((ran.end - ran.device[0] for ran in commands if ran.device is not None), default=None)


def _span(ran: Ran, offset: int | None) -> tuple[int, int]:
    if ran.device is not None and offset is not None:
        return ran.device[2] + offset, max(ran.device[3], ran.device[2] + 1) + offset
    return ran.begin, ran.end


def _lane(queue: g.Queue | None, numbers: dict[g.Queue | None, int]) -> str:
    assert queue is not None
    return f"{queue.name} ({queue.order.value}, queue {numbers[queue]})"


def _label(command: g.Command) -> str:
    return name(command).removeprefix("the ").removeprefix("kernel ")


def _detail(ran: Ran) -> str:
    command = ran.command
    where = f"{command.site[-1].path}:{command.site[-1].span.row}" if command.site else ""
    touched = ", ".join(
        f"{'writes' if a.writes else 'reads'} {a.memory.name}" + (" (?)" if a.writes is None else "")
        for a in command.accesses
    )
    return f"{name(command)} · {where} · {touched}"


def write(file: str, trace: Trace, pairs: Sequence[Pair]) -> None:
    """Write a drawing in the format that the file's name asks for. Raises VerifyError if that fails."""
    if file.endswith(".json"):
        text = json.dumps({"traceEvents": list(perfetto(draw(trace, pairs, None)))})
    else:
        drawing = draw(trace, pairs)
        picture = svg(drawing)
        text = page(drawing, picture, len(trace.commands)) if file.endswith(".html") else picture
    try:
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        raise VerifyError(f"{file}: {(error.strerror or str(error)).lower()}, timeline not written") from None


def perfetto(drawing: Drawing) -> Iterator[dict[str, object]]:
    """Yield events of the Trace Event Format, which Perfetto and chrome://tracing read."""
    lanes = {lane: n for n, lane in enumerate(drawing.lanes, 1)}
    for lane, number in lanes.items():
        yield {"ph": "M", "pid": 1, "tid": number, "name": "thread_name", "args": {"name": lane}}
    by_key = {bar.key: bar for bar in drawing.bars if bar.key}
    for bar in drawing.bars:
        common = {"pid": 1, "tid": lanes[bar.lane], "ts": bar.start, "cat": bar.kind}
        yield {**common, "ph": "X", "name": bar.label, "dur": bar.end - bar.start, "args": {"detail": bar.detail}}
    arrows = [
        *((a, b, kind) for a, b, kind in drawing.edges),
        *((a, b, "conflict") for a, b, _ in drawing.conflicts),
    ]
    for number, (a, b, kind) in enumerate(arrows):
        one, two = by_key[a], by_key[b]
        if two.start < one.start:
            one, two = two, one  # a conflict whose later command came first; arrows do not go back in time
        common = {"pid": 1, "cat": kind, "name": kind, "id": number}
        yield {**common, "ph": "s", "tid": lanes[one.lane], "ts": one.start}
        yield {**common, "ph": "f", "bp": "e", "tid": lanes[two.lane], "ts": two.start}


ROW, LEFT, WIDTH, TOP = 46, 230, 1240, 40


def svg(drawing: Drawing) -> str:
    """Return the drawing as SVG."""
    lanes = drawing.lanes
    rows = {lane: float(TOP + ROW * n) for n, lane in enumerate(lanes)}
    total = max([bar.end for bar in drawing.bars], default=1.0) or 1.0
    scale = (WIDTH - LEFT - 30) / total
    height = TOP + ROW * len(lanes) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12">',
        f"<style>{_style()}</style>",
        f"<defs>{_head('a', '')}{_head('c', _RED)}</defs>",
    ]
    for lane, y in rows.items():
        parts.append(f'<rect class="lane" x="{LEFT}" y="{y}" width="{WIDTH - LEFT - 20}" height="{ROW - 8}"/>')
        parts.append(f'<text x="10" y="{y + 23}">{escape(_short(lane, 34))}</text>')
    for tick in range(6):
        x = LEFT + scale * total * tick / 5
        parts.append(f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{height - 34}"/>')
        parts.append(f'<text class="time" x="{x:.1f}" y="{height - 16}">{_time(total * tick / 5)}</text>')
    place: dict[int, tuple[float, float, float]] = {}
    for bar in drawing.bars:
        x, y = LEFT + bar.start * scale, rows[bar.lane] + 6.0
        width = max((bar.end - bar.start) * scale, 2.0)
        if bar.key:
            place[bar.key] = x, y, width
        title = f"{bar.label}: {_time(bar.start)} to {_time(bar.end)} · {bar.detail}"
        parts.append(
            f'<g class="bar {bar.kind}" data-key="{bar.key}"><title>{escape(title)}</title>'
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="26" rx="3"/>'
        )
        if width > 7 * len(bar.label) + 6:
            parts.append(f'<text x="{x + 5:.1f}" y="{y + 17:.1f}">{escape(bar.label)}</text>')
        parts.append("</g>")
    for a, b, kind in drawing.edges:
        if a in place and b in place and kind != "queue":
            parts.append(_arrow(place[a], place[b], "edge", "a", kind))
    for a, b, overlap in drawing.conflicts:
        if a in place and b in place:
            words = "conflict, overlapping in this run" if overlap else "conflict: nothing orders these two"
            one, two = place[a], place[b]
            if overlap and one[1] != two[1]:
                middle = (max(one[0], two[0]) + min(one[0] + one[2], two[0] + two[2])) / 2
                one, two = (middle, one[1], 0.0), (middle, two[1], 0.0)
            parts.append(_arrow(one, two, "conflict overlap" if overlap else "conflict", "c", words))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


_RED = ' class="conflict-head"'


def _head(name: str, more: str) -> str:
    """Return the head of an arrow."""
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="9" '
        f'markerHeight="9" orient="auto"><path{more} d="M0 0 8 4 0 8z"/></marker>'
    )


def _arrow(one: tuple[float, float, float], two: tuple[float, float, float], kind: str, head: str, words: str) -> str:
    x1, y1, x2, y2 = one[0] + one[2], one[1] + 13, two[0], two[1] + 13
    if x1 == x2:  # straight, from edge to edge
        gap = 13 if y1 < y2 else -13
        line = f"M{x1:.1f} {y1 + gap:.1f} L{x2:.1f} {y2 - gap:.1f}"
        return f'<path class="{kind}" marker-end="url(#{head})" d="{line}"><title>{escape(words)}</title></path>'
    bend = max(abs(x2 - x1) / 3, 24)
    lift = -26.0 if y1 == y2 else 0.0
    curve = f"M{x1:.1f} {y1:.1f} C{x1 + bend:.1f} {y1 + lift:.1f} {x2 - bend:.1f} {y2 + lift:.1f} {x2:.1f} {y2:.1f}"
    return f'<path class="{kind}" marker-end="url(#{head})" d="{curve}"><title>{escape(words)}</title></path>'


def page(drawing: Drawing, picture: str, commands: int) -> str:
    """Return the drawing as one HTML file that needs nothing else."""
    times = (
        "times measured by the device"
        if drawing.measured
        else "no device times: bars show the enqueue calls on the host"
    )
    left_out = f"; the first {MOST} are drawn" if commands > MOST else ""
    overlaps = sum(overlap for _, _, overlap in drawing.conflicts)
    conflicts = len(drawing.conflicts)
    template = files("kexec_lint.verify").joinpath("timeline.html").read_text(encoding="utf-8")
    summary = (
        f"{commands} commands{left_out}; {times}; {conflicts} unordered conflict{'' if conflicts == 1 else 's'}, "
        f"{overlaps} overlapping in this run"
    )
    return template.replace("{{summary}}", escape(summary)).replace("{{picture}}", picture)


def _style() -> str:
    return (
        "text{fill:#1c2430}.time{text-anchor:middle;fill:#667}.lane{fill:#eef1f5}.tick{stroke:#d5dae2}"
        ".bar rect{fill:#4f7cac}.bar text{fill:#fff}.kernel rect{fill:#2f6f5e}.read rect,.write rect,.memcpy rect"
        "{fill:#4f7cac}.copy rect,.fill rect{fill:#7a62a8}.map rect,.unmap rect{fill:#a0763a}.marker rect,"
        ".barrier rect{fill:#39424e}.wait rect{fill:#b7bfca}.wait text{fill:#1c2430}"
        ".edge{fill:none;stroke:#39424e;stroke-width:1.2}.conflict{fill:none;stroke:#c92a2a;stroke-width:2;"
        "stroke-dasharray:5 4}.overlap{stroke-dasharray:none;stroke-width:3}.conflict-head{fill:#c92a2a}"
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _time(microseconds: float) -> str:
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.2f} s"
    return f"{microseconds / 1e3:.2f} ms" if microseconds >= 1e3 else f"{microseconds:.0f} µs"
