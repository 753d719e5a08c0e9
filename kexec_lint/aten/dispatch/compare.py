"""The same operator through different registered kernels: runs both on the same inputs and compares the
results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kexec_lint.aten.dispatch import table
from kexec_lint.aten.dispatch.functions import function_name, python_site
from kexec_lint.aten.dispatch.inputs import make
from kexec_lint.aten.dispatch.table import load_torch

TOLERANCE = {
    "float64": (1e-7, 1e-7),
    "float32": (1.3e-5, 1e-5),
    "float16": (1e-2, 1e-3),
    "bfloat16": (3.2e-2, 1e-3),
    "complex64": (1.3e-5, 1e-5),
    "complex128": (1e-7, 1e-7),
}
"""dtype → (rtol, atol): those of torch.testing, times ten for float32 and float16, whose reductions add up."""

UNCOMPARED = frozenset(("nondeterministic_seeded", "nondeterministic_bitwise"))
FACTORIES = (
    "empty",
    "new_empty",
    "empty_like",
    "empty_strided",
    "new_empty_strided",
    "resize_",
    "rand",
    "randn",
    "lift",
)
REFERENCE = "float64"


@dataclass(frozen=True)
class Kernel:
    """The kernel of one side: device, dispatch key, function and site."""

    device: str
    key: str
    function: str | None
    site: str


@dataclass(frozen=True)
class Difference:
    """One operator whose results differ: what (values, shape, dtype, an error), the largest error and where."""

    operator: str
    call: int
    output: int
    what: str
    inputs: tuple[str, ...]
    first: Kernel
    second: Kernel
    max_abs: float = 0.0
    max_rel: float = 0.0
    at: tuple[int, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Outcome: the operators compared, those left out with the reason, and the differences in program order."""

    devices: tuple[str, str]
    compared: int
    skipped: tuple[tuple[str, str], ...]
    differences: tuple[Difference, ...]
    note: str = ""


def kernel_of(overload: Any, device: str) -> Kernel:
    """Return the kernel that the backend key of a device runs, below autograd."""
    torch = load_torch()
    name = table.qualified_name(overload)
    key = str(torch._C._dispatch_key_for_device(device))
    row = table.rows(name).get(key)
    try:
        final = str(torch._ops.resolve_key(overload, getattr(torch._C.DispatchKey, key))).rpartition(".")[2]
    except (NotImplementedError, RuntimeError):  # resolve_key's two ways to say that the key has no kernel of its own
        final = key
    site = table.short_site(row.site) if row else ""
    own = python_site(name, final)
    return Kernel(device, final if row else "(no kernel)", function_name(name, row, final), own or site)


def compare_operator(
    overload: Any,
    args: list[Any],
    kwargs: dict[str, Any],
    devices: tuple[str, str],
    tolerance: tuple[float, float] | None,
) -> Comparison:
    """Run one operator on both devices ("float64" as second: on the first in double precision)."""
    real = make([args, kwargs], devices[0])
    shadow = Shadow(devices, tolerance)
    with load_torch().no_grad():
        shadow.call(overload, tuple(real[0]), real[1], lambda: overload(*real[0], **real[1]))
    return shadow.outcome()


class Shadow:
    """Repeats every operator of a program on a second device with the inputs of the first and compares the
    outputs."""

    def __init__(self, devices: tuple[str, str], tolerance: tuple[float, float] | None) -> None:
        self.devices = devices
        self.tolerance = tolerance
        self.compared = 0
        self.calls = 0
        self.skipped: dict[str, str] = {}
        self.differences: list[Difference] = []

    def mode(self) -> Any:
        """Return a TorchDispatchMode that compares each operator below autograd while it is active."""
        from torch.utils._python_dispatch import TorchDispatchMode

        shadow = self

        class ShadowMode(TorchDispatchMode):  # type: ignore[misc]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                given = kwargs or {}
                return shadow.call(func, args, given, lambda: func(*args, **given))

        return ShadowMode()

    def call(self, overload: Any, args: Any, kwargs: Any, run: Any) -> Any:
        """Run an operator and its shadow; return the result of the first."""
        self.calls += 1
        name = table.qualified_name(overload)
        reason = _not_comparable(overload, name)
        before = None
        if reason is None:
            try:
                before = self._move((args, kwargs))
            except Exception as error:
                reason = f"its inputs cannot be moved: {type(error).__name__}"
        result = run()
        if reason is not None:
            self.skipped.setdefault(name, reason)
            return result
        assert before is not None
        number = self.calls
        try:
            with load_torch().no_grad():
                other = overload(*before[0], **before[1])
        except Exception as error:
            text = str(error).strip().splitlines()[0][:200] if str(error).strip() else ""
            if self.devices[1] == REFERENCE and "float" in text.lower():
                self.skipped.setdefault(name, f"no double precision: {text[:80]}")
                return result
            self._report(overload, number, 0, f"{self.devices[1]} raises {type(error).__name__}: {text}", args, kwargs)
            return result
        self.compared += 1
        written = list(_leaves((args, kwargs)))
        for index, (left, right) in enumerate(zip(_leaves(result), _leaves(other), strict=False)):
            self._judge(overload, number, index, left, right, args, kwargs)
        if overload._schema.is_mutable:
            for left, right in zip(written, _leaves(before), strict=False):
                self._judge(overload, number, -1, left, right, args, kwargs)
        return result

    def _move(self, value: Any) -> Any:
        torch = load_torch()
        target = self.devices[1]
        if isinstance(value, torch.Tensor):
            detached = value.detach()
            if target == REFERENCE:
                wide = torch.complex128 if value.is_complex() else torch.float64
                copied = detached.clone()
                return copied.to(wide) if value.is_floating_point() or value.is_complex() else copied
            return detached.to(target) if value.device.type != target else detached.clone()
        if isinstance(value, torch.device):
            return value if target == REFERENCE else torch.device(target)
        if isinstance(value, torch.dtype) and target == REFERENCE:
            return torch.float64 if value.is_floating_point else value
        if isinstance(value, (list, tuple)):
            return type(value)(self._move(v) for v in value)
        if isinstance(value, dict):
            return {k: self._move(v) for k, v in value.items()}
        return value

    def _judge(self, overload: Any, call: int, index: int, left: Any, right: Any, args: Any, kwargs: Any) -> None:
        torch = load_torch()
        if not isinstance(left, torch.Tensor) or not isinstance(right, torch.Tensor):
            return
        if left.shape != right.shape:
            what = f"shape {tuple(left.shape)} and {tuple(right.shape)}"
            self._report(overload, call, index, what, args, kwargs)
            return
        reference = self.devices[1] == REFERENCE
        if left.dtype != right.dtype and not (reference and right.dtype in (torch.float64, torch.complex128)):
            self._report(overload, call, index, f"dtype {left.dtype} and {right.dtype}", args, kwargs)
            return
        if "meta" in (left.device.type, right.device.type) or left.is_sparse or left.numel() == 0:
            return
        wide = torch.complex128 if left.is_complex() else torch.float64
        a, b = left.detach().cpu().to(wide), right.detach().cpu().to(wide)
        rtol, atol = self.tolerance or TOLERANCE.get(str(left.dtype).rpartition(".")[2], (0.0, 0.0))
        error = (a - b).abs()
        same = torch.isclose(a, b, rtol, atol, equal_nan=True)
        if bool(same.all()):
            return
        error = torch.where(same, torch.zeros_like(error), torch.nan_to_num(error, nan=float("inf")))
        worst = int(error.flatten().argmax())
        position = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), error.shape)) if error.dim() else ()
        scale = float(b.flatten()[worst].abs())
        largest = float(error.flatten()[worst])
        self._report(
            overload,
            call,
            index,
            f"values ({int((~same).sum())} of {same.numel()})",
            args,
            kwargs,
            largest,
            largest / scale if scale else float("inf"),
            position,
        )

    def _report(
        self,
        overload: Any,
        call: int,
        index: int,
        what: str,
        args: Any,
        kwargs: Any,
        max_abs: float = 0.0,
        max_rel: float = 0.0,
        at: tuple[int, ...] = (),
    ) -> None:
        from kexec_lint.aten.dispatch.trace import _brief

        reference = self.devices[1] == REFERENCE
        second = kernel_of(overload, self.devices[0] if reference else self.devices[1])
        if reference:
            second = replace(second, device=f"{self.devices[0]} in float64")
        inputs = tuple(map(_brief, args)) + tuple(f"{k}={_brief(v)}" for k, v in kwargs.items())
        self.differences.append(
            Difference(
                table.qualified_name(overload),
                call,
                index,
                what,
                inputs,
                kernel_of(overload, self.devices[0]),
                second,
                max_abs,
                max_rel,
                at,
            )
        )

    def outcome(self, note: str = "") -> Comparison:
        """Return what was compared so far."""
        return Comparison(self.devices, self.compared, tuple(self.skipped.items()), tuple(self.differences), note)


def _not_comparable(overload: Any, name: str) -> str | None:
    tags = {str(t).rpartition(".")[2] for t in getattr(overload, "tags", ())}
    if tags & UNCOMPARED:
        return "random"
    base = name.partition("::")[2].partition(".")[0]
    if base in FACTORIES:
        return "uninitialised or random memory"
    if base in ("_local_scalar_dense", "_to_copy", "copy_", "detach", "set_", "data", "lift_fresh"):
        return "moves data only"
    if overload._schema.is_mutable and not any(r.alias_info for r in overload._schema.returns):
        return None
    return None


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    else:
        yield value
