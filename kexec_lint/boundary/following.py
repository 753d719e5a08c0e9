"""What came after a driver call: the retry that succeeded, the node opened instead, the end of a device."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

from kexec_lint.boundary.asked import Asked, node_key
from kexec_lint.boundary.messages import Said
from kexec_lint.boundary.nvstatus import is_refusal

RETRY_WITHIN = 8
"""A retry is the same request on the same opening by the same thread, at most this many driver calls later."""


class Following:
    """The driver calls after a given one: by thread and opening, and the successful opens of each node."""

    def __init__(self, items: list[Asked]) -> None:
        self.by_opening: dict[tuple[int, str], list[Asked]] = defaultdict(list)
        self.opened: dict[str, list[Asked]] = defaultdict(list)
        for item in items:
            if item.what not in ("open", "access"):
                self.by_opening[item.call.tid, _opening(item)].append(item)
            elif not item.failed:
                for key in _answers(item):
                    self.opened[key].append(item)

    def later(self, item: Asked) -> Iterator[Asked]:
        """Yield the calls of the same thread on the same opening after `item`."""
        row = self.by_opening[item.call.tid, _opening(item)]
        return islice(row, bisect_right(row, item.index, key=index_of), None)

    def success(self, item: Asked) -> Asked | None:
        """Return the call that did later what `item` was refused, if there is one."""
        if item.what in ("open", "access"):
            return next((o for key in _questions(item) if (o := self._after(key, item))), None)
        for other in islice(self.later(item), RETRY_WITHIN):
            fine = not other.failed and not (other.call.status is not None and is_refusal(other.call.status))
            if other.what == item.what and other.name == item.name and fine and other.call.result is not None:
                return other
        return None

    def family_opened(self, item: Asked) -> bool:
        """Say whether any node of the family was ever opened."""
        return bool(self.opened.get(f"family {item.family}"))

    def _after(self, key: str, item: Asked) -> Asked | None:
        row = self.opened.get(key, [])
        place = bisect_right(row, item.index, key=index_of)
        return row[place] if place < len(row) else None


def index_of(item: Asked | Said) -> int:
    """Return the place in the trace."""
    return item.index


def _opening(item: Asked) -> str:
    return f"{node_key(item)}#{item.serial}" if item.path is None else node_key(item)


def _answers(item: Asked) -> list[str]:
    """Return the questions that a successful open or access answers."""
    keys = [f"{item.what} {item.path}"]
    if item.what == "open":
        keys += [f"access {item.path}", f"family {item.family}"]
        if "/renderD" in (item.path or ""):
            keys.append("render node")
    return keys


def _questions(item: Asked) -> list[str]:
    """Return what would answer a refused open: the same node, or a render node where the primary was refused."""
    primary = item.what == "open" and item.family == "drm" and "/card" in (item.path or "")
    return [f"{item.what} {item.path}"] + (["render node"] if primary else [])


def announces_retry(message: Said) -> bool:
    """Say whether a message speaks of another attempt."""
    low = message.text.lower()
    return "retr" in low or "again" in low


def named_between(item: Asked, again: Asked, errors: list[Said]) -> bool:
    """Say whether the framework spoke of the failure before the call succeeded, without announcing a retry."""
    first = bisect_right(errors, item.index, key=index_of)
    for message in islice(errors, first, first + RETRY_WITHIN):
        if message.index >= again.index:
            return False
        if message.process == item.process and not announces_retry(message):
            return True
    return False


def last_word(item: Asked, follow: Following, none_found: int) -> bool:
    """Say whether a probe ended a device: nothing more was asked of it, and then the runtime found no device.

    `none_found` is the index of the last message that speaks of a missing device, -1 if there is none.
    """
    if none_found < item.index:
        return False
    if item.what in ("open", "access"):
        # a runtime scans the DRI nodes; that one of them is missing says nothing
        return "/dri/" not in (item.path or "") and item.what == "open" and not follow.family_opened(item)
    return next(follow.later(item), None) is None and "legacy" not in item.kinds
