"""About how many bytes each operator costs: measured for portable kernels, or exact from a linker map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kexec_lint.executorch import tables
from kexec_lint.executorch.build import Build

MEASURED = "x86-64, gcc 12, -Os, executorch 1.4.1, sections as compiled; sums are good to about 15 %"
BASE_BYTES = 130_416 - 8_800
"""A stripped runner with relu.out alone, less relu.out: what every binary costs (same compiler and flags)."""


@dataclass(frozen=True)
class Cost:
    """An operator's code. `shared` names the object when several operators of the list live in it."""

    operator: str
    bytes: int | None
    exact: bool
    shared: str | None
    upper_bound: bool = False
    """Whether a dtype-selective build compiles less than these bytes."""


def costs(operators: Iterable[str], release: tables.Release, build: Build | None = None) -> list[Cost]:
    """Return the cost of each operator; a map in the build is exact, unknown stays None."""
    measured = tables.text_bytes()
    exact = _from_map(build)
    found = []
    listed = sorted(set(operators))
    files = [release.kernel_files.get(operator) for operator in listed]
    for operator in listed:
        file = release.kernel_files.get(operator)
        shared = file if file is not None and files.count(file) > 1 else None
        if operator in exact:
            # A map gives every operator of an object the object's bytes; where it names no objects, each its own.
            same = shared is not None and all(
                exact.get(other) == exact[operator]
                for other, source in zip(listed, files, strict=True)
                if source == file and other in exact
            )
            found.append(Cost(operator, exact[operator], True, shared if same else None))
        else:
            less = bool(build and build.dtype_selective and operator in release.dtype_checked)
            found.append(Cost(operator, measured.get(operator), False, shared, less))
    return found


def _from_map(build: Build | None) -> Mapping[str, int]:
    if build is None:
        return {}
    return {
        operator: sum(entry.bytes or 0 for entry in entries)
        for operator, entries in build.registered.items()
        if any(entry.bytes for entry in entries)
    }


def total(entries: Iterable[Cost], release: tables.Release) -> int:
    """Return the bytes together: operators of one object count once."""
    objects: dict[str, int] = {}
    for cost in entries:
        if cost.bytes is None:
            continue
        name = release.kernel_files.get(cost.operator, cost.operator) if cost.shared else cost.operator
        objects[name] = max(objects.get(name, 0), cost.bytes)
    return sum(objects.values())


def table(entries: list[Cost], unneeded: set[str], release: tables.Release) -> str:
    """Return the costs for people, dearest first, with their sums."""
    lines = []
    width = max((len(cost.operator) for cost in entries), default=0)
    for cost in sorted(entries, key=lambda entry: (-(entry.bytes or 0), entry.operator)):
        amount = "unknown" if cost.bytes is None else f"{cost.bytes:,}"
        mark = "" if cost.exact else "<" if cost.upper_bound else "≈"
        notes = [f"with {cost.shared}"] if cost.shared else []
        notes += ["not needed"] if cost.operator in unneeded else []
        lines.append(
            f"{cost.operator:<{width}}  {mark if cost.bytes else '':>1} {amount:>10}  {', '.join(notes)}".rstrip()
        )
    about = "≈" if any(not cost.exact for cost in entries) else " "
    lines.append(f"{'together':<{width}}  {about} {total(entries, release):>10,}  bytes of kernels")
    if unneeded:
        waste = total([cost for cost in entries if cost.operator in unneeded], release)
        lines.append(f"{'not needed':<{width}}  {about} {waste:>10,}  bytes, of {len(unneeded)} operators")
    if any(not cost.exact for cost in entries):
        lines.append(f"measured: {MEASURED}")
    return "\n".join(lines) + "\n"
