"""NvStatus: the answer that NVIDIA's driver leaves inside the argument struct while ioctl() itself returns 0."""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from kexec_lint.boundary.events import Call, Event
from kexec_lint.boundary.requests import Request, parse_request
from kexec_lint.boundary.strings import raw_bytes

LARGEST = 0xFFFF
"""NV_ERR_GENERIC; what is larger is a warning (NV_WARN_, 0x10001 and up) or no status at all."""
VERSION_FILE = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True)
class Place:
    """Where one request keeps its NvStatus: byte offset in the struct; `size` is that struct's, None for any.

    `offset` is None where the request was dropped; `since` is the first driver release that has it so, () for the
    oldest read.
    """

    request: str
    driver: str
    size: int | None
    offset: int | None
    since: tuple[int, ...]


@cache
def _table() -> dict[str, object]:
    text = (files("kexec_lint.boundary") / "data" / "nvstatus.json").read_text(encoding="utf-8")
    loaded: dict[str, object] = json.loads(text)
    return loaded


@cache
def codes() -> dict[int, str]:
    """Return value → name (NV_ERR_NO_MEMORY) of the codes in nvstatuscodes.h."""
    table = _table()["codes"]
    assert isinstance(table, dict)
    return {int(value): str(name) for value, name in table.items()}


@cache
def all_places() -> tuple[Place, ...]:
    """Return every known status field, with the release since which it is there."""
    rows = _table()["places"]
    assert isinstance(rows, list)
    return tuple(Place(r, d, s, o, release(since) if since else ()) for r, d, s, o, since in rows)


def places(driver_release: tuple[int, ...] | None) -> list[Place]:
    """Return the status fields of one driver release; of an unknown one, those that never moved."""
    by_struct: dict[tuple[str, int | None], list[Place]] = {}
    for place in all_places():
        by_struct.setdefault((place.request, place.size), []).append(place)
    chosen = []
    for rows in by_struct.values():
        if driver_release is not None:
            rows = [row for row in rows if row.since <= driver_release][-1:]
        elif len({row.offset for row in rows}) > 1:
            continue
        chosen += [row for row in rows[-1:] if row.offset is not None]
    return chosen


def release(text: str) -> tuple[int, ...]:
    """Return a driver release (580.105.08) as numbers."""
    return tuple(int(part) for part in text.split("."))


def loaded_release() -> tuple[int, ...] | None:
    """Return the release of the NVIDIA kernel module that is loaded, None if there is none."""
    try:
        found = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", VERSION_FILE.read_text())
    except OSError:
        return None
    return release(found[1]) if found else None


def status_name(status: int) -> str:
    """Return the name of a status, or its number where the headers have none."""
    return codes().get(status, f"NvStatus {status:#x}")


def status_in(requests: Iterable[Request], argument: str) -> int | None:
    """Return the NvStatus in a struct that the tracer printed as bytes (strace 6.11 -v), else None."""
    data = raw_bytes(argument)
    if data is None:
        return None
    names = {r.name for r in requests}
    for place in places(None):
        if place.request in names and place.size in (None, len(data)) and (place.offset or 0) + 4 <= len(data):
            return int.from_bytes(data[place.offset or 0 :][:4], "little")
    return None


def is_refusal(status: int) -> bool:
    """Say whether a value is an error: not NV_OK, no warning, and in the range of NvStatus at all."""
    return 0 < status <= LARGEST


def with_statuses(events: Iterable[Event], recorded: Iterable[Call]) -> list[Event]:
    """Return the events with the NvStatus that a shim recorded for the same thread's same requests, in order."""
    queues: dict[int, deque[Call]] = defaultdict(deque)
    for call in recorded:
        if call.name == "ioctl":
            queues[call.tid].append(call)
    result: list[Event] = []
    for event in events:
        queue = queues.get(event.tid)
        if isinstance(event, Call) and event.name == "ioctl" and queue and _same_request(event, queue[0]):
            told = queue.popleft()
            event = replace(event, status=told.status, detail=told.detail)
        result.append(event)
    return result


def _same_request(call: Call, recorded: Call) -> bool:
    return len(call.args) > 1 and parse_request(call.args[1])[1] == parse_request(recorded.args[1])[1]


def annotate(log: Path, events: Iterable[Event]) -> None:
    """Write each NvStatus behind its call in strace's log, so that the log alone tells it."""
    told = {e.returned or e.line: e for e in events if isinstance(e, Call) and e.status is not None}
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    for number, call in told.items():
        lines[number - 1] += f" [NvStatus={call.status:#x}{' ' + call.detail if call.detail else ''}]"
    log.write_text("\n".join(lines), encoding="utf-8")
