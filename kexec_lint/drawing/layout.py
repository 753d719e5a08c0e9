"""Where everything stands: a row for each step, a column for each lane, tracks for edges beside the lanes.

A row holds one box only, so an edge that leaves a box sideways, runs along a track between the lanes and enters the
other box sideways crosses no box. Edges of one kind to one target share their track, as wires share a bus.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kexec_lint.drawing.picture import Link, Missing, Picture

ROW = 46
BOX = 34
WIDTH = 172
TRACK = 11
GUTTER = 19
COLUMN = 24
MARGIN = 16
LETTER = 7
MEMORIES = 40
"""So many memory objects have a column; those of missing edges come first."""


def label(missing: Missing) -> str:
    """Return the words beside a missing edge."""
    memory = missing.memory if len(missing.memory) <= 18 else f"{missing.memory[:17]}…"
    return f"{missing.code} {missing.hazard}" + (f" on {memory}" if memory else "")


@dataclass(frozen=True)
class Wire:
    """An edge on the paper: out of one side of a box, along `x`, into the side of another."""

    link: Link | Missing
    x: float
    out: float
    into: float
    straight: bool = False


@dataclass(frozen=True)
class Layout:
    """`left` are the left edges of the boxes of each lane; `columns` the middle of each memory object's column."""

    picture: Picture
    left: tuple[float, ...]
    wires: tuple[Wire, ...]
    columns: dict[int, float]
    width: float
    height: float
    hidden: int

    def middle(self, step: int) -> float:
        """Return the y of the middle of a row."""
        return step * ROW + ROW / 2


def lay_out(picture: Picture) -> Layout:
    """Return the places of a picture."""
    edges: list[Link | Missing] = [link for link in picture.links if _beside(picture, link)]
    edges += picture.missing
    tracks = _tracks(picture, edges)
    count = {side: 1 + max(taken.values()) for side, taken in tracks.items()}
    shown = _columns(picture)
    columns = {memory: MARGIN + COLUMN * (place + 0.5) for place, memory in enumerate(shown)}
    left: list[float] = []
    x = MARGIN + COLUMN * float(len(shown))
    for lane in range(len(picture.lanes)):
        x += GUTTER + TRACK * count.get((lane, False), 0)
        left.append(x)
        x += WIDTH + GUTTER + TRACK * count.get((lane, True), 0)
    x += max((LETTER * len(label(m)) for m in picture.missing if _side(picture, m)[0] == len(left) - 1), default=0)
    wires = [_straight(picture, link, left) for link in picture.links if _is_straight(picture, link)]
    for link in edges:
        lane, right = _side(picture, link)
        track = tracks[lane, right][_bundle(link)]
        at = left[lane] + WIDTH + 12 + TRACK * track if right else left[lane] - 12 - TRACK * track
        home = left[picture.steps[link.source].lane]
        out = home + WIDTH if home + WIDTH <= at else home
        wires.append(Wire(link, at, out, left[lane] + WIDTH if right else left[lane]))
    return Layout(
        picture,
        tuple(left),
        tuple(wires),
        columns,
        x + MARGIN,
        ROW * len(picture.steps) + MARGIN,
        len(picture.memories) - len(shown),
    )


def _beside(picture: Picture, link: Link) -> bool:
    """Return whether an edge runs beside a lane; what follows a wait of the host is shown by a line across."""
    return link.kind != "resume" and not _is_straight(picture, link)


Side = tuple[int, bool]
"""A lane, and whether it is its right side."""

Bundle = tuple[int, str]
"""The target and the kind of edges that share a track."""


def _bundle(link: Link | Missing) -> Bundle:
    return link.target, link.kind if isinstance(link, Link) else f"missing from {link.source}"


def _tracks(picture: Picture, edges: Iterable[Link | Missing]) -> dict[Side, dict[Bundle, int]]:
    """Return the track of every bundle beside every lane: short ones next to the boxes, no two on one place."""
    rows: dict[tuple[Side, Bundle], set[int]] = {}
    for link in edges:
        rows.setdefault((_side(picture, link), _bundle(link)), set()).update((link.source, link.target))
    taken: dict[Side, list[list[tuple[int, int]]]] = {}
    found: dict[Side, dict[Bundle, int]] = {}
    spans = [(max(r) - min(r), min(r), max(r), side, bundle) for (side, bundle), r in rows.items()]
    for _, first, last, side, bundle in sorted(spans):
        found.setdefault(side, {})[bundle] = _free(taken.setdefault(side, []), first, last)
    return found


def _is_straight(picture: Picture, link: Link) -> bool:
    """Return whether an edge joins a step with the next one of its lane in queue order."""
    source, target = picture.steps[link.source], picture.steps[link.target]
    between = picture.steps[link.source + 1 : link.target]
    return link.kind == "queue" and source.lane == target.lane and all(s.lane != source.lane for s in between)


def _straight(picture: Picture, link: Link, left: list[float]) -> Wire:
    x = left[picture.steps[link.source].lane] + WIDTH / 2
    return Wire(link, x, x, x, straight=True)


def _side(picture: Picture, link: Link | Missing) -> Side:
    """Return where an edge runs: beside the lane of its target, on the side from which it comes."""
    source, target = picture.steps[link.source].lane, picture.steps[link.target].lane
    if source == target:
        return target, isinstance(link, Missing)
    return target, source > target


def _free(tracks: list[list[tuple[int, int]]], first: int, last: int) -> int:
    """Return the number of a track on which nothing else runs between two rows, and occupy it."""
    for number, taken in enumerate(tracks):
        if all(last < begin or end < first for begin, end in taken):
            taken.append((first, last))
            return number
    tracks.append([(first, last)])
    return len(tracks) - 1


def _columns(picture: Picture) -> list[int]:
    """Return the memory objects that get a column, in order of first use."""
    names = {missing.memory for missing in picture.missing}
    order = sorted(range(len(picture.memories)), key=lambda m: picture.memories[m] not in names)
    return sorted(order[:MEMORIES])
