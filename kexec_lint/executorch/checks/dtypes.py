"""EXT110, 111, 112: a dtype-selective build that lacks a scalar type a kernel is called or computes with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum

from kexec_lint.executorch.build import Build
from kexec_lint.executorch.keys import BOOL, DOUBLE, FLOAT, REDUCED, SCALAR_TYPES, dtype_name
from kexec_lint.executorch.program import Call, Program
from kexec_lint.executorch.registration import finding, place
from kexec_lint.executorch.tables import Release
from kexec_lint.findings import Confidence, Finding, Location, Severity

# Types that promoteTypes orders among themselves: Byte with a signed type gives the next wider signed one.
_INTEGERS = {0: 8, 1: 8, 2: 16, 3: 32, 4: 64}
_FLOATING = {5, 6, 7, 15}
_ORDER = [11, 0, 1, 2, 3, 4, 5, 15, 6, 7]  # Bool, Byte … Long, Half, BFloat16, Float, Double
_GIVEN = {"aten::masked_fill.Scalar_out": 1, "aten::scatter.src_out": 1, "aten::scatter.value_out": 1}
"""Which of its tensors a kernel takes for of the one type it can have (a mask, an index) and asks nothing about."""


def promote(left: int, right: int) -> int | None:
    """Return the type of a mixed operation as `promoteTypes`, None outside the real types and Bool."""
    if left == right:
        return left
    if left not in _ORDER or right not in _ORDER:
        return None
    if {left, right} == set(REDUCED):
        return FLOAT
    if {left, right} == {0, 1}:
        return 2  # Byte with Char: Short
    return max(left, right, key=_ORDER.index)


def promote_number(tensors: int | None, number: int) -> int | None:
    """Return the type of tensors with a plain number as `promote_type_with_scalar`: its kind counts only if higher."""
    if tensors is None or tensors in _FLOATING:
        return tensors
    if number == DOUBLE:
        return FLOAT
    return number if tensors == BOOL else tensors


def compute_type(call: Call, release: Release) -> int | None:
    """Return the type that a kernel with `get_compute_type` computes in, None for another kernel.

    The tensors of a key are the inputs, then the out tensor as argument and as result.
    """
    rule = release.dtype_compute.get(call.operator)
    if rule is None:
        return None
    inputs = [dtype for dtype, _, listed in call.tensors[:-2] if not listed]
    if call.operator.startswith("aten::where") and len(inputs) == 3:
        inputs = inputs[1:]
    common: int | None = inputs[0] if inputs else None
    for dtype in inputs[1:]:
        common = promote(common, dtype) if common is not None else None
    for position, number in call.numbers:
        if position in release.dtype_promoted.get(call.operator, ()):
            common = promote_number(common, number)
    if common is None:
        return None
    if (
        common in REDUCED
        or (rule == "float" and common not in _FLOATING)
        or (rule == "mixed" and common in _FLOATING and len(set(inputs)) > 1)
    ):
        common = FLOAT
    return DOUBLE if rule == "double" and common != FLOAT else common


class Why(Enum):
    """Why a kernel asks for a scalar type."""

    TENSOR = 1
    COMPUTES = 2
    NUMBER = 3


def asked(call: Call, release: Release) -> dict[int, Why]:
    """Return the scalar types for which a kernel that checks them asks in a call."""
    if _only_copies(call):
        return {}
    given = _GIVEN.get(call.operator)
    found = {dtype: Why.TENSOR for place, (dtype, _, _) in enumerate(call.tensors) if place != given}
    compute = compute_type(call, release)
    if compute is not None:
        found.setdefault(compute, Why.COMPUTES)
    for position, number in call.numbers:
        if position in release.dtype_values.get(call.operator, ()):
            found.setdefault(number, Why.NUMBER)
    return found


def _only_copies(call: Call) -> bool:
    """Return whether the kernel copies bytes in this call, whatever they are."""
    if call.operator == "dim_order_ops::_clone_dim_order.out":
        return call.tensors[0][1] == call.tensors[-1][1]
    return call.operator == "aten::native_dropout.out" and (2, False) in call.flags


def missing_dtypes(program: Program, build: Build) -> Iterator[tuple[Call, str, int, Why]]:
    """Yield (call, name checked, scalar type, why it is asked for) for what the header lacks."""
    checked = build.release.dtype_checked
    seen: set[tuple[str, int]] = set()
    for call in sorted(program.calls, key=lambda entry: (entry.operator, entry.key)):
        name = checked.get(call.operator)
        if name is None or not build.has(call.operator):
            continue
        kept = build.dtypes.get(name, frozenset())
        if kept is None:
            continue
        for dtype, why in sorted(asked(call, build.release).items()):
            if (dtype >= len(SCALAR_TYPES) or SCALAR_TYPES[dtype] not in kept) and (
                call.operator,
                dtype,
            ) not in seen:
                seen.add((call.operator, dtype))
                yield call, name, dtype, why


def check(program: Program, build: Build) -> Iterator[Finding]:
    """Yield EXT110 and EXT111; without word on dtype selection they are only possible."""
    confidence = Confidence.CERTAIN if build.dtype_selective else Confidence.POSSIBLE
    if build.dtype_selective is None and not build.selective:
        return
    for call, name, dtype, why in missing_dtypes(program, build):
        at = _entry(build, call.operator)
        kept = build.dtypes.get(name)
        listed = ", ".join(sorted(kept)) if kept else "none"
        condition = "" if build.dtype_selective else "if the build is dtype-selective: "
        if why is not Why.TENSOR:
            own = ", ".join(dtype_name(number) for number in sorted({d for d, _, _ in call.tensors}))
            does = "computes" if why is Why.COMPUTES else "reads the number it puts into"
            form = "in" if why is Why.COMPUTES else "as"
            yield finding(
                "EXT111",
                f"{condition}{call.operator} {does} {own} tensors {form} {dtype_name(dtype)}, which is not selected "
                f"({listed}): the program aborts with `dtype '{dtype}' not selected for operator {name}`",
                at,
                help=f'add "v1/{dtype};" to the keys of {call.operator}, or switch dtype selection off',
                operator=call.operator,
                model=program.path,
                confidence=confidence,
            )
        else:
            other = f" (the kernel asks for {name})" if name != call.operator.removeprefix("aten::") else ""
            yield finding(
                "EXT110",
                f"{condition}{program.path} calls {call.operator} with {dtype_name(dtype)} tensors, selected are "
                f"{listed}{other}: the program aborts",
                at,
                help=f'add "v1/{dtype};" to the keys of {call.operator}',
                operator=call.operator,
                model=program.path,
                confidence=confidence,
            )


def ineffective(build: Build, programs: list[Program]) -> Iterator[Finding]:
    """Yield EXT112 for a dtype-selective build whose operators are built for all dtypes all the same."""
    if build.dtype_selective is None:
        return
    used = {operator for program in programs for operator in program.operators} & build.registered.keys()
    inert = sorted(
        operator for operator in used & build.release.portable if operator not in build.release.dtype_checked
    )
    if not inert:
        return
    found = finding(
        "EXT112",
        f"dtype selection does nothing for {len(inert)} of {len(used)} operators: their kernels of executorch "
        f"{build.release.version} have no check ({', '.join(inert[:4])}{', …' if len(inert) > 4 else ''})",
        build.dtype_selective,
        help="no harm; do not expect a smaller binary from these",
        build=build.name,
    )
    yield replace(found, severity=Severity.INFO)


def _entry(build: Build, operator: str) -> Location:
    """Return the line of the operator's keys in the selection, or the line that asks for dtype selection.

    A selection that is made from a model has no line of its own.
    """
    asked = build.dtype_selective
    for entry in build.selection:
        if entry.operator == operator and not (asked and entry.at.filename.endswith((".pte", ".bpte"))):
            return entry.keys_at or entry.at
    return asked or (build.parts[0].at if build.parts else place(build.name))
