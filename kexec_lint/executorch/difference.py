"""What changed between two models or builds: operators, scalar types, delegates, bytes of code, planned arenas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kexec_lint.executorch import size, tables
from kexec_lint.executorch.build import Build
from kexec_lint.executorch.checks.programs import describe
from kexec_lint.executorch.keys import dtype_name, key_dtypes
from kexec_lint.executorch.program import Program


@dataclass(frozen=True)
class Side:
    """One of the two: operator → names of its scalar types (empty where they are not known)."""

    name: str
    operators: dict[str, frozenset[str]]
    backends: list[str]
    code_bytes: int
    file_bytes: int | None = None
    arenas: dict[str, list[int]] = field(default_factory=dict)
    inputs: dict[str, list[str]] = field(default_factory=dict)


def of_program(model: Program, release: tables.Release) -> Side:
    """Return a model's side."""
    dtypes = {
        operator: frozenset(dtype_name(number) for number in numbers) for operator, numbers in model.dtypes.items()
    }
    return Side(
        model.path,
        dtypes,
        sorted(model.backends),
        size.total(size.costs(dtypes, release), release),
        model.size,
        {method.name: list(method.arenas) for method in model.methods},
        {method.name: [describe(value) for value in method.inputs] for method in model.methods},
    )


def of_build(build: Build) -> Side:
    """Return a build's side: what it registers, and the primitive operators that come with its core library."""
    operators = {
        operator: frozenset(dtype_name(number) for entry in entries for number in key_dtypes(entry.key))
        for operator, entries in build.registered.items()
    }
    for operator in operators:
        kept = build.dtypes.get(operator.removeprefix("aten::"))
        if kept:
            operators[operator] = kept
    cost = size.total(size.costs(operators, build.release, build), build.release)
    for operator in build.prim:
        operators.setdefault(operator, frozenset())
    return Side(build.name, operators, sorted(build.backends), cost)


def difference(before: Side, after: Side) -> dict[str, Any]:
    """Return the changes, JSON-able; `same` is true when nothing that matters at run time changed."""
    common = before.operators.keys() & after.operators.keys()
    dtypes = {
        operator: {
            "added": sorted(after.operators[operator] - before.operators[operator]),
            "removed": sorted(before.operators[operator] - after.operators[operator]),
        }
        for operator in sorted(common)
        if before.operators[operator] != after.operators[operator]
        and before.operators[operator]
        and after.operators[operator]
    }
    changes: dict[str, Any] = {
        "before": before.name,
        "after": after.name,
        "operators": {
            "added": sorted(after.operators.keys() - before.operators.keys()),
            "removed": sorted(before.operators.keys() - after.operators.keys()),
        },
        "dtypes": dtypes,
        "backends": {
            "added": sorted(set(after.backends) - set(before.backends)),
            "removed": sorted(set(before.backends) - set(after.backends)),
        },
        "delegates": {"before": len(before.backends), "after": len(after.backends)},
        "code_bytes": {"before": before.code_bytes, "after": after.code_bytes},
        "file_bytes": {"before": before.file_bytes, "after": after.file_bytes},
        "arenas": {"before": before.arenas, "after": after.arenas},
        "inputs": {"before": before.inputs, "after": after.inputs},
    }
    changes["same"] = (
        before.operators.keys() == after.operators.keys()
        and not dtypes
        and before.backends == after.backends
        and before.arenas == after.arenas
        and before.inputs == after.inputs
    )
    return changes


def text(changes: dict[str, Any]) -> str:
    """Return the changes for people."""
    if changes["same"]:
        return (
            f"no difference in operators, types, delegates, inputs or arenas: {changes['before']}, {changes['after']}\n"
        )
    lines = [f"--- {changes['before']}", f"+++ {changes['after']}"]
    lines += [f"- {operator}" for operator in changes["operators"]["removed"]]
    lines += [f"+ {operator}" for operator in changes["operators"]["added"]]
    for operator, types in changes["dtypes"].items():
        parts = [f"-{name}" for name in types["removed"]] + [f"+{name}" for name in types["added"]]
        lines.append(f"~ {operator}: {' '.join(parts)}")
    lines += [f"- backend {name}" for name in changes["backends"]["removed"]]
    lines += [f"+ backend {name}" for name in changes["backends"]["added"]]
    if changes["delegates"]["before"] != changes["delegates"]["after"]:
        lines.append(f"~ delegates: {changes['delegates']['before']} → {changes['delegates']['after']}")
    for what, label in (("inputs", "inputs"), ("arenas", "arenas")):
        for method in sorted({*changes[what]["before"], *changes[what]["after"]}):
            old, new = changes[what]["before"].get(method), changes[what]["after"].get(method)
            if old != new:
                lines.append(f"~ {method} {label}: {_shown(old)} → {_shown(new)}")
    old, new = changes["code_bytes"]["before"], changes["code_bytes"]["after"]
    lines.append(f"~ code: ≈ {old:,} → {new:,} bytes ({new - old:+,})")
    if changes["file_bytes"]["before"] is not None and changes["file_bytes"]["after"] is not None:
        old, new = changes["file_bytes"]["before"], changes["file_bytes"]["after"]
        lines.append(f"~ file: {old:,} → {new:,} bytes ({new - old:+,})")
    return "\n".join(lines) + "\n"


def _shown(value: list[Any] | None) -> str:
    return "none" if value is None else "[" + ", ".join(str(entry) for entry in value) + "]"
