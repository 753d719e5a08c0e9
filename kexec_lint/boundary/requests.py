"""Which driver a device node belongs to, and what an ioctl request means to it: data/ioctl as look-ups.

A request number is `_IOC`: nr in bits 0-7, type 8-15, size of the argument 16-29, direction 30-31 (x86, Arm). The
exact number is matched first, then (type, nr) with any size, since structs grow; (type, nr) alone means little (up
to 22 drivers share one), so the driver of the node decides.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

DRM_TYPE = 0x64
FIRST_DRIVER, LAST_DRIVER = 0x40, 0x9F
"""DRM request numbers in this range are the driver's own; the others belong to the DRM core."""
DIRECTIONS = {"none": 0, "write": 1, "read": 2, "both": 3}
TYPES_OF_ONE = {0x64}
"""Request types that only GPU drivers use: such a request says "device" even on an unknown descriptor."""


@dataclass(frozen=True)
class Request:
    """One row of a table. `size` is the argument's size in bytes, None where any is meant."""

    name: str
    driver: str
    direction: int
    type: int
    nr: int
    size: int | None
    kind: str


@dataclass(frozen=True)
class Number:
    """A decoded request number."""

    direction: int
    type: int
    nr: int
    size: int | None

    @property
    def text(self) -> str:
        """As strace prints it."""
        names = {0: "_IOC_NONE", 1: "_IOC_WRITE", 2: "_IOC_READ", 3: "_IOC_READ|_IOC_WRITE"}
        return f"_IOC({names[self.direction]}, {self.type:#x}, {self.nr:#x}, {self.size or 0:#x})"


@dataclass(frozen=True)
class Tables:
    """All rows, by driver, by name, by exact number and by (type, nr)."""

    by_driver: dict[str, tuple[Request, ...]]
    by_name: dict[str, tuple[Request, ...]]
    by_place: dict[tuple[int, int], tuple[Request, ...]]
    nodes: tuple[tuple[str, re.Pattern[str]], ...]


@cache
def tables() -> Tables:
    """Load data/ioctl/*.json."""
    by_driver: dict[str, tuple[Request, ...]] = {}
    nodes: dict[str, str] = {}
    folder = files("kexec_lint.boundary") / "data" / "ioctl"
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        table = json.loads(entry.read_text(encoding="utf-8"))
        driver = table["driver"]
        by_driver[driver] = tuple(
            Request(n, driver, DIRECTIONS[d], t, nr, s, k) for n, d, t, nr, s, k in table["requests"]
        )
        nodes.setdefault(table["nodes"], FAMILY.get(driver, "drm"))
    by_name: dict[str, list[Request]] = {}
    by_place: dict[tuple[int, int], list[Request]] = {}
    for rows in by_driver.values():
        for row in rows:
            by_name.setdefault(row.name, []).append(row)
            by_place.setdefault((row.type, row.nr), []).append(row)
    return Tables(
        by_driver,
        {k: tuple(v) for k, v in by_name.items()},
        {k: tuple(v) for k, v in by_place.items()},
        tuple((family, re.compile(pattern)) for pattern, family in nodes.items()),
    )


FAMILY = {
    "kfd": "kfd", "nvidia": "nvidia", "nvidia-uvm": "nvidia-uvm", "kgsl": "kgsl", "mali": "mali", "sync": "sync",
    "dma-buf": "dma-buf", "dma-heap": "dma-heap", "other": "other", "ivpu": "accel", "qaic": "accel",
    "habanalabs": "accel",
}  # fmt: skip
"""Driver → family of nodes; every other driver lives behind the DRM nodes."""
BLIND = frozenset({"nvidia", "nvidia-uvm"})
"""Families whose ioctl returns 0 whatever the driver decided: the answer is an NvStatus inside the struct."""
DOORBELL = frozenset({"nvidia", "nvidia-uvm", "kfd"})
"""Families whose launches are stores to mapped memory: no call is made for them."""


@cache
def family_of(path: str) -> str | None:
    """Return the family of a device node ("drm", "kfd", "nvidia", …), None for any other file."""
    bare = path.split("<", 1)[0].removesuffix(" (deleted)")
    if "dev/" in bare or "anon_inode" in bare or "dmabuf" in bare or "sync" in bare:
        for family, pattern in tables().nodes:
            if pattern.search(bare):
                return family
    major = re.search(r"<char (\d+):(\d+)>", path)
    if major is not None:  # /dev names can be anything in a container; DRM's and NVIDIA's majors are fixed
        return {"226": "drm", "195": "nvidia", "261": "accel"}.get(major[1])
    return None


IOC = re.compile(
    r"(?:_IOC)?\((?P<dir>(?:_IOC_)?(?:NONE|READ|WRITE)(?:\|(?:_IOC_)?(?:READ|WRITE))?|0x?[0-9a-f]*)\s*,\s*"
    r"(?P<type>0x[0-9a-f]{1,8}|\d{1,10}|'.')\s*,\s*(?P<nr>0x[0-9a-f]{1,8}|\d{1,10})\s*,\s*(?P<size>0x[0-9a-f]{1,8}|\d{1,10})\)"
)
NAME = re.compile(r"[A-Z][A-Z0-9_]+[A-Z0-9a-z_]*")


def decode_number(value: int) -> Number:
    """Split a request number as x86 and Arm lay it out."""
    return Number(value >> 30 & 3, value >> 8 & 0xFF, value & 0xFF, value >> 16 & 0x3FFF)


def parse_request(argument: str) -> tuple[tuple[str, ...], Number | None]:
    """Return the names and the number that a printed request holds (`A or B`, `_IOC(…)`, `0x… /* A */`)."""
    number = None
    if found := IOC.search(argument):
        direction = ("READ" in found["dir"]) * 2 + ("WRITE" in found["dir"])
        kind = ord(found["type"][1]) if found["type"].startswith("'") else _integer(found["type"])
        number = Number(direction, kind, _integer(found["nr"]), _integer(found["size"]))
    elif hexadecimal := re.match(r"0x[0-9a-f]+", argument):
        number = decode_number(int(hexadecimal[0], 16) & 0xFFFFFFFF)
    names = tuple(n for n in NAME.findall(IOC.sub("", argument)) if not n.startswith(("IOR", "IOW")))
    if names and number is None and all(n.startswith("DRM_") and not n.startswith("DRM_IOCTL_") for n in names):
        return _perf_names(names)
    return names, number


def _integer(text: str) -> int:
    return int(text, 16 if text.startswith("0x") else 10)


def _perf_names(names: tuple[str, ...]) -> tuple[tuple[str, ...], Number | None]:
    """Undo perf's naming: it calls every driver's request by i915's name, so only the place is known."""
    rows = [r for n in names for r in tables().by_name.get("DRM_IOCTL_" + n[4:], ())]
    if rows and FIRST_DRIVER <= rows[0].nr <= LAST_DRIVER:
        return (), Number(rows[0].direction, rows[0].type, rows[0].nr, None)
    return tuple("DRM_IOCTL_" + n[4:] for n in names), None


def candidates(argument: str, family: str | None) -> tuple[Request, ...]:
    """Return the rows that a printed request can mean on a node of that family; empty for an unknown request."""
    names, number = parse_request(argument)
    rows: tuple[Request, ...] = ()
    if number is not None:
        rows = _by_number(number, family)
    if not rows and names:
        rows = tuple(r for n in names for r in tables().by_name.get(n, ()))
        if not rows:
            rows = tuple(r for n in names for r in _unlisted(n))
    if family is not None:
        rows = tuple(
            r for r in rows if FAMILY.get(r.driver, "drm") == family or (family == "accel" and r.driver == "drm")
        )
    return rows


def _by_number(number: Number, family: str | None) -> tuple[Request, ...]:
    place = tables().by_place.get((number.type, number.nr), ())
    if family is not None:
        place = tuple(
            r for r in place if FAMILY.get(r.driver, "drm") == family or (family == "accel" and r.driver == "drm")
        )
    exact = tuple(
        r for r in place if number.size is not None and r.size == number.size and r.direction == number.direction
    )
    if exact:
        return exact
    if family is None and number.type not in TYPES_OF_ONE:
        return tuple(r for r in place if r.size is None and number.type == 0x46 and number.direction == 3)
    return place


def _unlisted(name: str) -> tuple[Request, ...]:
    """Return a row for a name of a newer kernel, its driver read from the prefix."""
    for prefix, driver in (
        ("AMDKFD_IOC_", "kfd"),
        ("IOCTL_KGSL_", "kgsl"),
        ("KBASE_IOCTL_", "mali"),
        ("DMA_BUF_", "dma-buf"),
    ):
        if name.startswith(prefix):
            return (Request(name, driver, 3, 0, 0, None, kind_by_name(name)),)
    if name.startswith("DRM_IOCTL_"):
        word = name.split("_")[2].lower()
        return (Request(name, word if word in tables().by_driver else "drm", 3, DRM_TYPE, 0, None, kind_by_name(name)),)
    return ()


def kind_by_name(name: str) -> str:
    """Return the class of a request that no table holds, from the words of its name."""
    for kind, words in (
        ("wait", "WAIT|BUSY"),
        ("query", "QUERY|PARAM|INFO|VERSION|GET_CAP"),
        ("submit", "SUBMIT|EXEC|_CS$"),
    ):
        if re.search(words, name):
            return kind
    return "other"
