"""A layout as SVG elements, in two parts: the head with the names of the lanes, the body with all else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kexec_lint.drawing.layout import BOX, ROW, WIDTH, Layout, Wire, label
from kexec_lint.drawing.picture import Link, Missing, Step
from kexec_lint.report.markup import escape

STYLE = """
.kx { --ink:#1f2328; --dim:#59636e; --paper:#ffffff; --lane:#f6f8fa; --line:#d1d9e0; --box:#ffffff;
  --queue:#59636e; --event:#0969da; --barrier:#8250df; --host:#1a7f37; --missing:#cf222e;
  font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
@media (prefers-color-scheme: dark) { .kx { --ink:#f0f6fc; --dim:#9198a1; --paper:#0d1117; --lane:#151b23;
  --line:#3d444d; --box:#212830; --queue:#9198a1; --event:#4493f8; --barrier:#ab7df8; --host:#3fb950;
  --missing:#ff7b72; } }
.kx text { fill: var(--ink); } .kx .dim { fill: var(--dim); font-size: 11px; }
.kx .title { font-weight: 600; } .kx .name { font-size: 15px; font-weight: 600; }
.kx .paper { fill: var(--paper); } .kx .lane { fill: var(--lane); } .kx .life { stroke: var(--line); }
.kx .box { fill: var(--box); stroke: var(--dim); } .kx .host .box { stroke: var(--host); }
.kx .wrong .box { stroke: var(--missing); stroke-width: 2; }
.kx path { fill: none; stroke-width: 1.5; } .kx .may { stroke-dasharray: 3 4; }
.kx path.queue { stroke: var(--queue); } .kx path.event { stroke: var(--event); }
.kx path.barrier { stroke: var(--barrier); } .kx path.host { stroke: var(--host); }
.kx path.missing { stroke: var(--missing); stroke-width: 2.2; stroke-dasharray: 7 4; }
.kx path.tip { stroke: none; } .kx path.tip.queue { fill: var(--queue); } .kx path.tip.event { fill: var(--event); }
.kx path.tip.barrier { fill: var(--barrier); } .kx path.tip.host { fill: var(--host); }
.kx path.tip.missing { fill: var(--missing); }
.kx text.missing { fill: var(--missing); font-weight: 600; font-size: 11.5px; paint-order: stroke;
  stroke: var(--paper); stroke-width: 4px; }
.kx .until { stroke: var(--host); stroke-dasharray: 1 5; stroke-linecap: round; stroke-width: 1.5; }
.kx .read { fill: var(--paper); stroke: var(--ink); stroke-width: 1.5; }
.kx .write { fill: var(--ink); stroke: var(--ink); stroke-width: 1.5; }
.kx .torn { stroke: var(--missing); } .kx .write.torn { fill: var(--missing); }
.kx a:hover .box { stroke-width: 2.5; } .kx a { cursor: pointer; }
""".strip()

_LABEL = 23
_KINDS = (
    ("queue", "queue order"),
    ("event", "event"),
    ("barrier", "barrier"),
    ("host", "the host waits"),
    ("missing", "missing"),
)


def head_height(layout: Layout) -> float:
    """Return the height of the head: room for the longest name of a memory object, written upwards."""
    longest = max((len(_short(layout.picture.memories[m], 18)) for m in layout.columns), default=0)
    return max(44.0, 16 + 6.6 * longest)


def head(layout: Layout) -> Iterator[str]:
    """Yield the names of lanes and memory objects, on a paper of `head_height`."""
    bottom = head_height(layout)
    for lane, left in zip(layout.picture.lanes, layout.left, strict=True):
        middle = left + WIDTH / 2
        yield _text(middle, bottom - 24, _short(lane.title, _LABEL), "title", 'text-anchor="middle"')
        yield _text(middle, bottom - 9, lane.about, "dim", 'text-anchor="middle"')
    for memory, x in layout.columns.items():
        turn = f'transform="rotate(-90 {x:.1f} {bottom - 8:.1f})"'
        yield _text(x + 4, bottom - 8, _short(layout.picture.memories[memory], 18), "dim", turn)


def body(layout: Layout, link: Callable[[int, Step], str] | None = None) -> Iterator[str]:
    """Yield everything below the head. `link` gives the address that a step opens."""
    picture = layout.picture
    for left in layout.left:
        yield f'<rect class="lane" x="{left - 8:.1f}" y="0" width="{WIDTH + 16}" height="{layout.height:.1f}" rx="6"/>'
    yield from _lives(layout)
    for number, step in enumerate(picture.steps):
        if step.waits:
            y = (number + 1) * ROW
            end = layout.left[-1] + WIDTH + 8
            yield f'<line class="until" x1="{layout.left[0]:.1f}" y1="{y}" x2="{end:.1f}" y2="{y}"/>'
    for wire in layout.wires:
        yield from _wire(layout, wire)
    wrong = {m.target for m in picture.missing}
    for number, step in enumerate(picture.steps):
        yield from _box(layout, number, step, number in wrong or bool(step.codes), link)
    for wire in layout.wires:
        if isinstance(wire.link, Missing):
            yield _label(layout, wire, wire.link)


def legend(x: float, y: float) -> Iterator[str]:
    """Yield what the lines and dots mean, in one row."""
    for kind, words in _KINDS:
        yield f'<path class="{kind}" d="M{x:.1f} {y - 4:.1f}h24"/>'
        yield _text(x + 30, y, words, "dim")
        x += 44 + 6.2 * len(words)
    for shape, words in (("read", "reads"), ("write", "writes")):
        yield f'<circle class="{shape}" cx="{x + 5:.1f}" cy="{y - 4:.1f}" r="4.5"/>'
        yield _text(x + 15, y, words, "dim")
        x += 30 + 6.2 * len(words)
    yield f'<circle class="read may" cx="{x + 5:.1f}" cy="{y - 4:.1f}" r="4.5"/>'
    yield _text(x + 15, y, "may read or write", "dim")


def _lives(layout: Layout) -> Iterator[str]:
    """Yield a line for each memory object from its first to its last use, and a dot for each use."""
    torn = {(step, m.memory) for m in layout.picture.missing for step in (m.source, m.target)}
    for memory, x in layout.columns.items():
        uses = [(n, use) for n, s in enumerate(layout.picture.steps) for use in s.uses if use.memory == memory]
        first, last = layout.middle(uses[0][0]), layout.middle(uses[-1][0])
        yield f'<line class="life" x1="{x:.1f}" y1="{first:.1f}" x2="{x:.1f}" y2="{last:.1f}"/>'
        title = escape(layout.picture.memories[memory])
        for number, use in uses:
            red = " torn" if (number, layout.picture.memories[memory]) in torn else ""
            about = f"<title>{use.how} {title}</title>"
            at = f'cx="{x:.1f}" cy="{layout.middle(number):.1f}"'
            if use.how == "reads and writes":
                yield f'<circle class="read{red}" {at} r="7">{about}</circle>'
            shape = "read" if use.how == "reads" else "write"
            if use.how == "uses":
                yield f'<circle class="read may{red}" {at} r="5">{about}</circle>'
            else:
                yield f'<circle class="{shape}{red}" {at} r="{4 if use.how != "reads" else 5}">{about}</circle>'


def _wire(layout: Layout, wire: Wire) -> Iterator[str]:
    link = wire.link
    start, end = layout.middle(link.source), layout.middle(link.target)
    kind = link.kind if isinstance(link, Link) else "missing"
    kind += " may" if isinstance(link, Link) and not link.certain else ""
    if wire.straight:
        start, end = start + BOX / 2, end - BOX / 2
        yield f'<path class="{kind}" d="M{wire.x:.1f} {start:.1f}V{end - 6:.1f}"/>'
        yield f'<path class="tip {kind}" d="M{wire.x:.1f} {end:.1f}l-4 -7h8z"/>'
        return
    # Leaves a little below the middle and enters a little above it, so that a way through a box can be told apart.
    down = 6 if end > start else -6
    start, end = start + down, end - down
    inward = 1 if wire.into > wire.x else -1
    outward = 1 if wire.x > wire.out else -1
    turn = min(5.0, abs(end - start) / 2, abs(wire.x - wire.out))
    sign = 1 if end > start else -1
    yield (
        f'<path class="{kind}" d="M{wire.out:.1f} {start:.1f}H{wire.x - outward * turn:.1f}'
        f"Q{wire.x:.1f} {start:.1f} {wire.x:.1f} {start + sign * turn:.1f}V{end - sign * turn:.1f}"
        f'Q{wire.x:.1f} {end:.1f} {wire.x + inward * turn:.1f} {end:.1f}H{wire.into - inward * 6:.1f}"/>'
    )
    yield f'<path class="tip {kind}" d="M{wire.into:.1f} {end:.1f}l{-7 * inward} -4v8z"/>'


def _label(layout: Layout, wire: Wire, missing: Missing) -> str:
    right = wire.into < wire.x
    x = wire.x + 6 if right else wire.x - 6
    anchor = "" if right else 'text-anchor="end"'
    return _text(x, layout.middle(missing.target) - 9, label(missing), "missing", anchor, missing.message)


def _box(
    layout: Layout, number: int, step: Step, wrong: bool, link: Callable[[int, Step], str] | None
) -> Iterator[str]:
    x, y = layout.left[step.lane], layout.middle(number) - BOX / 2
    memories = layout.picture.memories
    words = [f"{use.how} {memories[use.memory]}" for use in step.uses]
    about = "\n".join([f"{step.title}, {step.path}:{step.row}", *words, *step.notes, *step.codes])
    classes = " ".join(["step", "host" if step.lane == 0 else "", "wrong" if wrong else ""]).strip()
    address = link(number, step) if link else None
    if address:
        yield f'<a href="{escape(address)}" id="{escape(f"s{number}")}">'
    yield f'<g class="{classes}"><title>{escape(about)}</title>'
    yield f'<rect class="box" x="{x:.1f}" y="{y:.1f}" width="{WIDTH}" height="{BOX}" rx="{4 if step.lane else 15}"/>'
    notes = ", ".join((f"line {step.row}", *step.codes, *step.notes))
    title = step.title
    if step.lane == 0 and step.kind == "access":
        title = _short(", ".join(words) or title, _LABEL)
    yield _text(x + 10, y + 14.5, _short(title, _LABEL), "title")
    yield _text(x + 10, y + 28, _short(notes, 29), "dim") + "</g>"
    if address:
        yield "</a>"


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _text(x: float, y: float, text: str, classes: str, more: str = "", about: str = "") -> str:
    title = f"<title>{escape(about)}</title>" if about else ""
    return f'<text class="{classes}" x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}{title}</text>'
