"""Joins what the preprocessor configurations of a text say of a kernel; where they differ, it is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kexec_lint.opencl.kernels import Barrier, Kernel, KernelParam
from kexec_lint.opencl.kernels.functions import Text, size_of
from kexec_lint.opencl.kernels.syntax import Block, Call, Do, Function, Node, Ref, Return, children
from kexec_lint.opencl.kernels.unit import Unit

BARRIERS = {"barrier", "work_group_barrier"}
_FENCES = {"CLK_GLOBAL_MEM_FENCE": "global", "CLK_LOCAL_MEM_FENCE": "local", "CLK_IMAGE_MEM_FENCE": "image"}


def merge(read: tuple[tuple[Unit, ...], bool]) -> dict[str, Kernel]:
    """Return the kernels by name from all configurations of a text."""
    units, covered = read
    versions: dict[str, list[tuple[Kernel, int]]] = {}
    for number, unit in enumerate(units):
        for text in unit.kernels():
            versions.setdefault(text.name, []).append((_kernel(unit, text, covered), number))
    return {name: _join(found) for name, found in versions.items()}


def fences(call: Call) -> frozenset[str] | None:
    """Return the memories that a barrier or fence call names, None when its flags are not plain constants."""
    if not call.arguments:
        return frozenset()
    found: set[str] = set()
    stack: list[Node] = [call.arguments[0]]
    while stack:
        node = stack.pop()
        if isinstance(node, Ref):
            if node.key not in _FENCES:
                return None
            found.add(_FENCES[node.key])
        stack += children(node)
    return frozenset(found)


def calls(nodes: tuple[Node, ...], names: set[str]) -> Iterator[Call]:
    """Yield the calls of these names in nested statements, in source order."""
    stack: list[Node] = list(reversed(nodes))
    while stack:
        node = stack.pop()
        if isinstance(node, Call) and node.name in names:
            yield node
        stack += reversed(list(children(node)))


def _kernel(unit: Unit, text: Text, covered: bool) -> Kernel:
    function = unit.function(text)
    summary = unit.summary(function)
    span = unit.expanded.original_span
    params = []
    for i, param in enumerate(function.params):
        reads: bool | None = False
        writes: bool | None = False
        atomic_only = False
        if param.pointer or param.kind in ("image", "pipe"):
            seen = summary is not None and i < len(summary.accesses)  # text that is no C may say it in several ways
            access = summary.accesses[i] if summary is not None and seen else None
            reads, writes = access.answer() if access is not None else (None, None)
            atomic_only = access is not None and access.atomic and not access.plain and not access.lost
            if not covered:
                reads, writes = reads or None, writes or None
                atomic_only = False
            if writes is None and (param.const or param.kind == "constant"):
                writes = False
            if param.kind == "image":
                declared = param.access or "read_only"
                reads = False if declared == "write_only" else reads
                writes = False if declared == "read_only" else writes
        elif param.kind == "unknown":
            reads = writes = None
        size = None if param.pointer else 4 if param.type.startswith("enum ") else size_of(param.type)
        params.append(KernelParam(param.name, param.kind, param.type, size, param.const, reads, writes, atomic_only))
    barriers = tuple(Barrier(span(c.start, c.end), fences(c)) for c in calls(function.body, BARRIERS))
    return Kernel(
        name=text.name,
        params=tuple(params),
        barriers=barriers,
        required_work_group_size=required_size(unit, text),
        ends_with_global_barrier=_ends_with_global_barrier(function),
        span=span(text.start, text.body[1]),
        name_span=span(text.name_start, text.name_start + len(text.name)),
        complete=function.sound and function.known_signature and covered,
        signature_known=function.known_signature,
    )


def required_size(unit: Unit, text: Text) -> tuple[int, int, int] | None:
    """Return the constants of `reqd_work_group_size` before the kernel's body, None when there are none."""
    for offset, inside in unit.expanded.attributes:
        before = offset < text.start and not unit.expanded.text[offset : text.start].strip()
        if before or text.start <= offset < text.body[0]:
            match = re.search(r"reqd_work_group_size(?:__)?\s*\(([^()]*)\)", inside)
            numbers = [part.strip().rstrip("uUlL") for part in match[1].split(",")] if match else []
            if len(numbers) == 3 and all(number.isdigit() for number in numbers):
                return int(numbers[0]), int(numbers[1]), int(numbers[2])
    return None


def _ends_with_global_barrier(function: Function) -> bool:
    """Say whether the last thing that the kernel does is to wait at a barrier with a global fence."""
    body = function.body
    while body and isinstance(body[-1], (Block, Return)):
        last = body[-1]
        body = last.body if isinstance(last, Block) else body[:-1]
    statement = body[-1] if body else None
    call = statement.value if isinstance(statement, Do) else None
    return isinstance(call, Call) and call.name in BARRIERS and "global" in (fences(call) or ())


def _join(versions: list[tuple[Kernel, int]]) -> Kernel:
    kernels = [kernel for kernel, _ in versions]
    first = kernels[0]
    if all(kernel == first for kernel in kernels[1:]) and len({number for _, number in versions}) == len(versions):
        return first
    longest = max(kernels, key=lambda kernel: len(kernel.params))
    signatures = {tuple((p.name, p.kind) for p in kernel.params) for kernel in kernels}
    same = len(signatures) == 1
    params = tuple(_join_param([k.params[i] for k in kernels if i < len(k.params)]) for i in range(len(longest.params)))
    sizes = {kernel.required_work_group_size for kernel in kernels}
    barriers = {barrier.span: barrier for kernel in kernels for barrier in kernel.barriers}
    return Kernel(
        name=first.name,
        params=params,
        barriers=tuple(barriers[span] for span in sorted(barriers)),
        required_work_group_size=sizes.pop() if len(sizes) == 1 else None,
        ends_with_global_barrier=all(kernel.ends_with_global_barrier for kernel in kernels),
        span=first.span,
        name_span=first.name_span,
        complete=same and all(kernel.complete for kernel in kernels),
        signature_known=same and all(kernel.signature_known for kernel in kernels),
    )


def _join_param(versions: list[KernelParam]) -> KernelParam:
    """Return what all versions of the parameter at one position agree on."""

    def agreed(values: list[bool | None]) -> bool | None:
        return values[0] if all(value == values[0] for value in values) else None

    first = versions[0]
    if len({(version.name, version.kind) for version in versions}) > 1:
        return KernelParam(first.name, "unknown", "", None, False, None, None)
    return KernelParam(
        name=first.name,
        kind=first.kind,
        type=first.type if len({version.type for version in versions}) == 1 else "",
        size=first.size if len({version.size for version in versions}) == 1 else None,
        const=all(version.const for version in versions),
        reads=agreed([version.reads for version in versions]),
        writes=agreed([version.writes for version in versions]),
        atomic_only=all(version.atomic_only for version in versions),
    )
