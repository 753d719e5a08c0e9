"""Which message belongs to which refusal: the closest in meaning first, then the nearest."""

from __future__ import annotations

from bisect import bisect_right

from kexec_lint.boundary.asked import Asked
from kexec_lint.boundary.following import index_of
from kexec_lint.boundary.logs import Trace
from kexec_lint.boundary.messages import ERRNO_KINDS, Said, errnos_of, kinds_of, names_other_file
from kexec_lint.boundary.nvstatus import status_name

NEAR = 10.0
"""Seconds within which a message that does not name the errno or its kind can still belong to a refusal."""
MOST_GROUPS = 64
"""Kinds of refusal that a message is compared with; more than that in one log say nothing new."""


class Group:
    """Refusals that one message would speak of alike: same request, error and node, in order."""

    def __init__(self) -> None:
        self.items: list[Asked] = []
        self.close = 0
        """Items before this place have a message that names them."""
        self.near = 0
        """Items before this place have at least some message."""
        self._lineage: frozenset[int] | None = None

    def lineage(self, trace: Trace) -> frozenset[int]:
        """Return the process of the refusals and its ancestors."""
        if self._lineage is None:
            self._lineage = trace.lineage(self.items[0].process)
        return self._lineage

    def before(self, message: Said) -> int:
        """Return how many items precede the message."""
        return bisect_right(self.items, message.index, key=index_of)


def tie(refused: list[Asked], errors: list[Said], trace: Trace) -> dict[int, tuple[int, Said]]:
    """Return, by the index of the refused call, the message that belongs to it and its closeness."""
    groups: dict[tuple[object, ...], Group] = {}
    for item in refused:
        key = (item.call.errno, item.call.status, item.family, item.name, item.path, item.process)
        groups.setdefault(key, Group()).items.append(item)
    chosen: dict[int, tuple[int, Said]] = {}
    for message in errors:
        heard = Heard(message)
        scored: list[tuple[int, Group]] = []
        for group in list(groups.values())[:MOST_GROUPS]:
            count = group.before(message)
            if count:
                score = closeness(group.items[count - 1], heard)
                # words that fit any failure are believed of the process itself and of those that started it
                far = score < 3 and trace.births and message.process not in group.lineage(trace)
                scored.append((0 if far else score, group))
        best = max((score for score, _ in scored), default=0)
        if best == 0:
            continue
        if best >= 3:
            claimed = [(score, group) for score, group in scored if score >= 3]
        else:
            free = [(s, g) for s, g in scored if s and g.near < g.before(message)]
            latest = max(free, key=lambda f: f[1].items[f[1].before(message) - 1].index, default=None)
            claimed = [f for f in free if latest and _alike(f[1], latest[1])]
        for score, group in claimed:
            count = group.before(message)
            for item in group.items[group.close if score >= 3 else max(group.close, group.near) : count]:
                chosen[item.index] = (score, message)
            group.near = max(group.near, count)
            if score >= 3:
                group.close = max(group.close, count)
    return chosen


def _alike(one: Group, other: Group) -> bool:
    a, b = one.items[0], other.items[0]
    return (a.call.errno, a.call.status, a.family) == (b.call.errno, b.call.status, b.family)


class Heard:
    """What a message names, worked out once."""

    def __init__(self, message: Said) -> None:
        self.message = message
        self.text = message.text
        self.low = message.text.lower()
        self.kinds = kinds_of(message.text)
        self.errnos = errnos_of(message.text, message.cut)
        self.other_file = names_other_file(message.text)


def closeness(item: Asked, heard: Heard) -> int:
    """Return 4: names the errno, 3: its kind or the call, 2: only a failure, 1: another kind, 0: too far off."""
    call, message = item.call, heard.message
    if call.errno_text and call.errno_text.lower() in heard.low:
        return 4
    if call.errno in heard.errnos:
        return 4
    if call.status is not None and call.errno is None and status_name(call.status) in heard.text:
        return 4
    if heard.kinds & expected_kinds(item):
        return 3
    if message.time is not None and call.end is not None and message.time - call.end > NEAR:
        return 0
    if not heard.kinds and not heard.errnos:
        return 3 if _names_call(item, heard.text) else 2
    # another kind: only if it can be about the device at all
    return 1 if (heard.kinds or _names_call(item, heard.text)) and not heard.other_file else 0


def expected_kinds(item: Asked) -> frozenset[str]:
    """Return the kinds of failure that a truthful message about this refusal may name."""
    if item.call.errno is not None:
        return ERRNO_KINDS.get(item.call.errno, frozenset())
    name = status_name(item.call.status or 0)
    return kinds_of(name.replace("NV_ERR_", "")) | kinds_of(name.replace("NV_ERR_", "").replace("_", " ").lower())


def _names_call(item: Asked, text: str) -> bool:
    words = [r.name for r in item.requests] + ([item.path] if item.path else [])
    return any(w in text or w.removeprefix("DRM_IOCTL_") in text for w in words)
