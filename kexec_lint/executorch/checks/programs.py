"""EXT122, 123, 205, 207, 302, 303, 304, 307: what a program file says by itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kexec_lint.executorch import tables
from kexec_lint.executorch.keys import MAX_NAME, dtype_name
from kexec_lint.executorch.program import Call, Program, Tensor
from kexec_lint.executorch.registration import finding, place
from kexec_lint.findings import Finding

TRAINING_FLAGS = {
    "aten::native_dropout.out": (2, "a dropout that is active"),
    "aten::_native_batch_norm_legit.out": (
        5,
        "batch normalisation in training mode, which its kernel refuses (0x12)",
    ),
    "aten::native_batch_norm.out": (5, "a batch normalisation that updates its statistics"),
}
"""Operator → position of its `training` argument and what it means when true."""

_BLOCKING = "only blocking copies are supported"
CONSTRAINTS = {
    "aten::_fft_r2c.out": (3, False, "onesided=False is not supported yet"),
    "aten::_softmax.out": (2, True, "half to float conversion is not supported on CPU"),
    "aten::_log_softmax.out": (2, True, "half to float conversion is not supported on CPU"),
    "aten::_to_copy.out": (1, True, _BLOCKING),
    "aten::convolution_backward.out": (7, True, "a transposed convolution's gradient is not supported yet"),
    "aten::copy.out": (2, True, _BLOCKING),
    "aten::copy_": (2, True, _BLOCKING),
    "dim_order_ops::_clone_dim_order.out": (1, True, _BLOCKING),
    "dim_order_ops::_to_dim_order_copy.out": (1, True, _BLOCKING),
}
"""Operator → (position of a boolean argument, the value its kernel refuses, why).

From the checks at the head of each kernel: kernels/portable/cpu/op_copy.cpp, op_convolution_backward.cpp,
util/copy_ops_util.cpp, util/activation_ops_util.cpp, kernels/optimized/cpu/op_fft_r2c.cpp of v1.4.1.
"""

# Identifier at byte 4 of a blob, by backend (backends/*/serialization; older XNNPACK blobs have no XH00 header).
BLOB_IDS = {"XnnpackBackend": {b"XH00", b"XN00", b"XN01"}, "VulkanBackend": {b"VH00", b"VK00"}}


def check(program: Program, release: tables.Release, data: frozenset[str] | None = None) -> Iterator[Finding]:
    """Yield what is wrong or worth knowing about one program; `data` are the tensors that its .ptd files bring."""
    at = place(program.path)
    for operator in program.operators:
        if len(operator) > MAX_NAME:
            yield finding(
                "EXT307",
                f"{operator[:40]}… has {len(operator)} characters, the loader's buffer holds {MAX_NAME}: "
                "loading fails with 0x1 (truncated due to internal buffer limit)",
                at,
                help="shorten the operator's or overload's name",
                operator=operator,
                model=program.path,
            )
    yield from training(program)
    for call in sorted(program.calls, key=lambda entry: (entry.operator, entry.key)):
        yield from constraint(program, call)
    yield from external(program, data)
    yield from fragmentation(program)
    yield from blobs(program)


def training(program: Program) -> Iterator[Finding]:
    """Yield EXT123 for operators in training mode; a program made for training on the device says so in its
    methods.
    """
    if any(method.name.startswith("__et_training") for method in program.methods):
        return
    seen: set[str] = set()
    for call in sorted(program.calls, key=lambda entry: (entry.operator, entry.key)):
        known = TRAINING_FLAGS.get(call.operator)
        if known is None or call.operator in seen or (known[0], True) not in call.flags:
            continue
        seen.add(call.operator)
        yield finding(
            "EXT123",
            f"{program.path} calls {call.operator} with train=True: {known[1]} in an inference program",
            place(program.path),
            help="call .eval() on the model before torch.export",
            operator=call.operator,
            model=program.path,
        )


def constraint(program: Program, call: Call) -> Iterator[Finding]:
    """Yield EXT122 for an argument that the operator's kernel refuses when it runs."""
    known = CONSTRAINTS.get(call.operator)
    if known is not None and (known[0], known[1]) in call.flags:
        yield finding(
            "EXT122",
            f"{program.path} calls {call.operator} with an argument its kernel refuses: {known[2]} (0x12 at run time)",
            place(program.path),
            help="change the call before export",
            operator=call.operator,
            model=program.path,
        )


def external(program: Program, data: frozenset[str] | None) -> Iterator[Finding]:
    """Yield EXT302 for tensors whose data no given .ptd file brings."""
    wanted = set(program.external) - set(program.named_data)
    lacking = sorted(wanted - (data or frozenset()))
    if lacking:
        given = "no .ptd file is given" if data is None else "the given .ptd files lack them"
        yield finding(
            "EXT302",
            f"{program.path} keeps {len(lacking)} tensors outside ({', '.join(lacking[:3])}"
            f"{', …' if len(lacking) > 3 else ''}) and {given}: loading fails with 0x2",
            place(program.path),
            help="name the .ptd file beside the model, and ship it",
            model=program.path,
            tensors=lacking,
        )


def fragmentation(program: Program) -> Iterator[Finding]:
    """Yield EXT205 for a method that goes back and forth between a backend and the CPU."""
    for method in program.methods:
        if len(method.delegates) < 2:
            continue
        turns = sum(isinstance(before, int) != isinstance(after, int) for before, after in pairwise(method.steps))
        first = next((i for i, step in enumerate(method.steps) if isinstance(step, int)), 0)
        last = max((i for i, step in enumerate(method.steps) if isinstance(step, int)), default=0)
        between = sorted({step for step in method.steps[first:last] if isinstance(step, str)})
        if between:
            yield finding(
                "EXT205",
                f"{program.path}, method {method.name}: {len(method.delegates)} delegates, {turns} changes "
                "between "
                f"backend and CPU; between them run {', '.join(between)}",
                place(program.path),
                help="an operator that the backend takes would join the parts",
                model=program.path,
            )


def blobs(program: Program) -> Iterator[Finding]:
    """Yield EXT207 for a blob whose identifier is not one that the backend's runtime reads."""
    for method in program.methods:
        for delegate in method.delegates:
            known = BLOB_IDS.get(delegate.backend)
            if known is None or delegate.blob is None or len(delegate.magic) < 8 or delegate.magic[4:8] in known:
                continue
            shown = delegate.magic[4:8].decode("ascii", "replace")
            yield finding(
                "EXT207",
                f"{program.path}: a blob of {delegate.backend} is marked {shown!r}, known are "
                f"{', '.join(sorted(mark.decode() for mark in known))}",
                place(program.path),
                help="export with the release that is deployed",
                model=program.path,
                backend=delegate.backend,
            )


def inputs(program: Program, baseline: dict[str, list[str]]) -> Iterator[Finding]:
    """Yield EXT303 where a method's inputs differ from the baseline's, method → descriptions by `describe`."""
    for method in program.methods:
        before = baseline.get(method.name)
        if before is None:
            continue
        now = [describe(value) for value in method.inputs]
        if now != before:
            changes = [
                f"input {index}: {old} became {new}"
                for index, (old, new) in enumerate(zip(before, now, strict=False))
                if old != new
            ]
            if len(now) != len(before):
                changes.append(f"{len(before)} inputs became {len(now)}")
            yield finding(
                "EXT303",
                f"{program.path}, method {method.name}, takes other inputs than what shipped: {'; '.join(changes)}",
                place(program.path),
                help="change the application's inputs with it, or export with the old shapes and types",
                model=program.path,
            )


def describe(value: Tensor | str) -> str:
    """Return a value's contract: `Float[1, 8]`, with the dimension order where it is not the usual one."""
    if isinstance(value, str):
        return value
    order = "" if value.dim_order == tuple(range(len(value.sizes))) else f" order {list(value.dim_order)}"
    dynamic = {1: " bounded", 2: " unbounded"}.get(value.dynamism, "")
    return f"{dtype_name(value.dtype)}{list(value.sizes)}{order}{dynamic}"


def memory(program: Program, limit: int | None) -> Iterator[Finding]:
    """Yield EXT304 for a method whose planned arenas exceed the board's memory."""
    for method in program.methods:
        total = sum(method.arenas)
        if limit is not None and total > limit:
            yield finding(
                "EXT304",
                f"{program.path}, method {method.name}, plans {total:,} bytes of arenas "
                f"({', '.join(f'{size:,}' for size in method.arenas if size)}), the limit is {limit:,}",
                place(program.path),
                help="planned memory only: the method allocator and the backends need more",
                model=program.path,
                planned_bytes=total,
            )
