"""Refusals announced while the command still runs; their verdicts follow in the report."""

from __future__ import annotations

from collections.abc import Callable

from kexec_lint.boundary.asked import device_call
from kexec_lint.boundary.descriptors import Descriptors
from kexec_lint.boundary.events import Call, Event
from kexec_lint.boundary.logs import Trace
from kexec_lint.boundary.noise import aside

MOST = 20


class Announcer:
    """Says each new kind of refusal once, as it arrives, and at most `MOST` of them."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._table = Descriptors(Trace((), {}, (), True))
        self._said: set[tuple[object, ...]] = set()

    def hear(self, event: Event) -> None:
        """Take one event from the tracer."""
        if not isinstance(event, Call):
            return
        item = device_call(event, 0, event.tid, self._table)
        self._table.feed(event)
        if item is None or not item.failed or aside(item) is not None:
            return
        key = (item.name, item.call.errno, item.path)
        if key in self._said or len(self._said) >= MOST:
            return
        self._said.add(key)
        name = f"ioctl {item.name}" if item.what == "ioctl" else item.call.name
        self._say(f"refused: {name} = -1 {item.call.errno} on {item.path or item.family}, thread {event.tid}")
