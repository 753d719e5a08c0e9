"""From a trace: every call that asked a GPU driver for something, with its device, driver and meaning."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from kexec_lint.boundary.descriptors import OPENS, Descriptors
from kexec_lint.boundary.events import Call
from kexec_lint.boundary.logs import Trace
from kexec_lint.boundary.nvstatus import status_in
from kexec_lint.boundary.requests import (
    BLIND,
    DRM_TYPE,
    FAMILY,
    FIRST_DRIVER,
    LAST_DRIVER,
    Request,
    candidates,
    family_of,
    parse_request,
)
from kexec_lint.boundary.strings import descriptor_of, path_of

CHECKS = {"access": 0, "faccessat": 1, "faccessat2": 1}
LIBRARIES = (
    ("amdgpu", ("libdrm_amdgpu", "radeonsi", "radv", "libhsa-runtime", "libamdocl")),
    ("nouveau", ("libdrm_nouveau", "nouveau")),
    ("radeon", ("libdrm_radeon", "r600_dri")),
    ("msm", ("libdrm_freedreno", "freedreno")),
    ("i915", ("libdrm_intel", "i965_dri", "_i915")),
    ("xe", ("_xe(", "_xe+", "xe_")),
    ("etnaviv", ("libdrm_etnaviv", "etnaviv")),
    ("panfrost", ("panfrost",)),
    ("v3d", ("v3d",)),
)
"""Words in stack frames and opened libraries that decide between drivers that the numbers leave open."""


@dataclass(frozen=True)
class Asked:
    """One call to a driver. `what` is open, ioctl, mmap or access; `kind` the class of the request.

    `path` is the node as the log names it, None where it was never seen; `serial` tells openings apart; `index` is
    the place of the call in the trace.
    """

    call: Call
    index: int
    process: int
    what: str
    family: str
    path: str | None
    serial: int
    requests: tuple[Request, ...]
    printed: str

    @property
    def fd(self) -> int | None:
        """The descriptor that was used or returned."""
        if self.what in ("open", "access"):
            return self.call.result if (self.call.result or -1) >= 0 and self.what == "open" else None
        return descriptor_of(self.call.args[4 if self.what == "mmap" else 0])[0]

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The classes that the request can be of."""
        if self.what != "ioctl":
            return frozenset({"open" if self.what == "open" else "map" if self.what == "mmap" else "access"})
        return frozenset(r.kind for r in self.requests) or frozenset({"other"})

    @cached_property
    def kind(self) -> str:
        """One class: a submission wins where the request stays ambiguous."""
        kinds = self.kinds
        return "submit" if "submit" in kinds else sorted(kinds)[0]

    @cached_property
    def name(self) -> str:
        """The request by name, or its number where no table has it, or the name of the call."""
        if self.what != "ioctl":
            return self.call.name
        names = list(dict.fromkeys(r.name for r in self.requests))
        return (
            " or ".join(names[:4]) + (f" or {len(names) - 4} others" if len(names) > 4 else "")
            if names
            else self.printed
        )

    @cached_property
    def driver(self) -> str | None:
        """The kernel driver, "a or b" where the log leaves it open, None where only the DRM core was asked."""
        if self.family not in ("drm", "accel"):
            return None if self.family == "other" else self.family
        drivers = sorted({r.driver for r in self.requests} - {"drm"})
        return " or ".join(drivers) if 0 < len(drivers) <= 3 else None

    @property
    def failed(self) -> bool:
        """Whether the call returned an error."""
        return self.call.errno is not None and (self.call.result is None or self.call.result < 0)


def asked(trace: Trace) -> list[Asked]:
    """Return every call on a device node, requests narrowed to the one driver that a node has."""
    table = Descriptors(trace)
    found: list[Asked] = []
    drivers: dict[str, str] = {}
    libraries: Counter[str] = Counter()
    for index, call in enumerate(trace.events):
        if not isinstance(call, Call):
            continue
        item = device_call(call, index, trace.process(call.tid), table)
        if item is not None:
            found.append(item)
            for frame in call.stack:
                libraries.update(d for d, words in LIBRARIES if any(w in frame for w in words))
        elif call.name in ("readlink", "readlinkat"):
            _sysfs_driver(call, drivers)
        elif call.name in OPENS and (call.result or -1) >= 0:
            path = path_of(call.args[OPENS[call.name][0]]) or "" if len(call.args) > OPENS[call.name][0] else ""
            if ".so" in path:
                libraries.update(d for d, words in LIBRARIES if any(w in path for w in words))
        table.feed(call)
    return narrow(found, drivers, libraries)


def device_call(call: Call, index: int, process: int, table: Descriptors) -> Asked | None:
    """Return what a call asked of a driver, None if it is about anything else."""
    name, args = call.name, call.args
    if name in OPENS or name in CHECKS:
        at = OPENS[name][0] if name in OPENS else CHECKS[name]
        path = call.opened or table.path(call, at)
        family = family_of(path) if path else None
        if family is None:
            return None
        what = "open" if name in OPENS else "access"
        return Asked(call, index, process, what, family, path, -index - 1, (), name)
    if name == "ioctl" and len(args) >= 2:
        opened = table.look_up(call.tid, args[0])
        path = opened.path if opened else None
        family = family_of(path) if path else None
        if family is None and path is not None:
            return None
        rows = candidates(args[1], family)
        if family is None:
            # the opening was not traced: only requests that GPU drivers alone use speak for a device
            families = {FAMILY.get(r.driver, "drm") for r in rows}
            if "drm" in families:
                families = {"drm"}  # accel nodes share DRM's numbers
            if len(families) != 1 or not _unmistakable(args[1], rows):
                return None
            family = families.pop()
        serial = opened.serial if opened else 0
        names, number = parse_request(args[1])
        printed = number.text if number and not names else " or ".join(names) or args[1]
        if family in BLIND and call.status is None and call.result == 0 and len(args) > 2 and '"' in args[2]:
            call = replace(call, status=status_in(rows, args[2]))
        return Asked(call, index, process, "ioctl", family, path, serial, rows, printed)
    if name in ("mmap", "mmap2") and len(args) >= 5:
        opened = table.look_up(call.tid, args[4]) if not args[4].startswith("-1") else None
        family = family_of(opened.path) if opened and opened.path else None
        if family is not None and opened is not None:
            return Asked(call, index, process, "mmap", family, opened.path, opened.serial, (), name)
    return None


def _unmistakable(argument: str, rows: tuple[Request, ...]) -> bool:
    names, number = parse_request(argument)
    if number is not None:
        exact = any(r.size == number.size and r.direction == number.direction for r in rows)
        return number.type in (DRM_TYPE, 0x46) or (exact and number.direction != 0) or number.size == 0x3000
    return any(n.startswith(("DRM_IOCTL_", "AMDKFD_", "IOCTL_KGSL_", "KBASE_", "DMA_BUF_IOCTL")) for n in names)


def _sysfs_driver(call: Call, drivers: dict[str, str]) -> None:
    """Note `readlink("/sys/dev/char/226:128/device/driver") = ".../i915"`: the log's own word for the driver."""
    text = " ".join(call.args)
    minor = re.search(r"/sys/dev/char/226:(\d+)/device/driver\b", text)
    target = re.search(r"/drivers/([\w-]+)\"", text)
    if minor and target:
        number = int(minor[1])
        drivers[("/dev/dri/renderD" if number >= 128 else "/dev/dri/card") + str(number)] = target[1]


def narrow(found: list[Asked], told: dict[str, str], libraries: Counter[str]) -> list[Asked]:
    """Keep, for each DRM node, the requests of the driver that explains most of what it was asked."""
    by_node: dict[str, list[Asked]] = defaultdict(list)
    for item in found:
        if item.family in ("drm", "accel") and item.what == "ioctl":
            by_node[node_key(item)].append(item)
    chosen = {node: _drivers_of(items, told.get(node), libraries) for node, items in by_node.items()}
    result = []
    for item in found:
        drivers = chosen.get(node_key(item)) if item.family in ("drm", "accel") and item.what == "ioctl" else None
        kept = tuple(r for r in item.requests if drivers and (r.driver in drivers or r.driver == "drm"))
        result.append(replace(item, requests=kept) if kept else item)
    return result


def node_key(item: Asked) -> str:
    """One key a node: its path where known, else the opening."""
    return item.path.split("<", 1)[0] if item.path else f"#{item.serial}"


def _drivers_of(items: Iterable[Asked], told: str | None, libraries: Counter[str]) -> frozenset[str]:
    """Return the drivers that explain the most distinct requests of one node; fewer when something else tells."""
    votes: Counter[str] = Counter()
    for requests in {i.requests for i in items}:
        own = {
            r.driver for r in requests if r.driver != "drm" and FIRST_DRIVER <= (r.nr or FIRST_DRIVER) <= LAST_DRIVER
        }
        votes.update(own)
    if told is not None and told in votes:
        return frozenset({told})
    best = max(votes.values(), default=0)
    leading = {d for d, n in votes.items() if n == best}
    backed = {d for d in leading if libraries[d]}
    return frozenset(backed if len(leading) > 1 and backed else leading)
