"""Eager, undelegated and delegated on the same inputs; then the first partition and node that differ."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kexec_lint.executorch import program
from kexec_lint.executorch.checks.numerics import Difference, tolerance
from kexec_lint.executorch.export import ExportError, lowering, one_line
from kexec_lint.executorch.export.partial import Allow, Partial, Taken
from kexec_lint.executorch.export.running import RunError, Runtime
from kexec_lint.executorch.export.source import Entry, SourceModel

Outputs = list[list[Any]]


@dataclass(frozen=True)
class Step:
    """What the outputs are off by when all nodes up to and with `node` are delegated; `error` where that fails."""

    node: Taken
    worst: Difference | None
    error: str | None = None


@dataclass(frozen=True)
class Culprit:
    """Where the result leaves the tolerance.

    `nodes` are the nodes between the last set that agrees and the first that does not: one, unless sets between
    them cannot be run (`unrunnable` says why). `alone` is what the outputs are off by with these nodes delegated
    and no others.
    """

    partition: int
    partitions: int
    nodes: tuple[Taken, ...]
    alone: Difference | None
    unrunnable: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """One method: how its outputs differ, the worst over all inputs, and who is the first to change them."""

    method: str
    backends: tuple[str, ...]
    export: tuple[Difference, ...]
    delegation: tuple[Difference, ...]
    culprit: Culprit | None = None
    steps: tuple[Step, ...] = ()


@dataclass
class _Trial:
    """One method of a model, ready to be lowered with any set of delegated nodes and run."""

    spec: str
    method: str
    exported: Any
    inputs: list[list[Any]]
    partitioners: Callable[[], list[Any]]
    runtime: Runtime

    def run(self, allow: Allow | None) -> tuple[Outputs, list[Taken], bytes]:
        """Return the outputs with the nodes delegated that `allow` lets through (all for None)."""
        used = [Partial(inner, allow) for inner in self.partitioners()]
        edge = lowering.to_edge(self.spec, {self.method: self.exported}, {self.method: used})
        data = lowering.to_executorch(self.spec, edge).buffer
        # Positions of several partitioners follow each other: each sees what the one before left.
        taken = [replace(node, tag=f"{index}:{node.tag}") for index, one in enumerate(used) for node in one.taken]
        return self.runtime.run(data, self.method, self.inputs), taken, data

    def reference(self) -> Outputs:
        """Return the outputs of the program without any delegate."""
        edge = lowering.to_edge(self.spec, {self.method: self.exported}, {self.method: []})
        data = lowering.to_executorch(self.spec, edge).buffer
        return self.runtime.run(data, self.method, self.inputs)


def compare(
    model: SourceModel,
    partitioners: Callable[[], list[Any]],
    given: Sequence[Any] | None = None,
    every_node: bool = False,
) -> list[Comparison]:
    """Compare each method of a model. `given` are inputs (tuples of arguments) in place of the example's.

    `every_node` measures each growing set of delegated nodes, for a plot. Raises ExportError.
    """
    if model.finished is not None:
        raise ExportError(f"{model.spec} gives a finished program: return the module and its inputs to compare it")
    with Runtime() as runtime:
        return [
            _compare(model.spec, name, entry, partitioners, given, runtime, every_node)
            for name, entry in model.methods.items()
        ]


def _compare(
    spec: str,
    method: str,
    entry: Entry,
    partitioners: Callable[[], list[Any]],
    given: Sequence[Any] | None,
    runtime: Runtime,
    every_node: bool,
) -> Comparison:
    from torch.utils._pytree import tree_flatten

    calls = [(tuple(arguments), {}) for arguments in given] if given else [(entry.inputs, dict(entry.keywords))]
    flat = [tree_flatten(call)[0] for call in calls]
    eager = _eager(spec, method, entry, calls)
    trial = _Trial(spec, method, lowering.exported(spec, method, entry), flat, partitioners, runtime)
    try:
        plain = trial.reference()
    except RunError as error:
        raise ExportError(f"{spec}: {method} does not run without delegates: {error}") from None
    try:
        outputs, taken, data = trial.run(None)
    except RunError as error:
        raise ExportError(f"{spec}: {method} does not run with delegates: {error}{_absent(runtime)}") from None
    backends = tuple(dict.fromkeys(program.read(spec, data).backends))
    export, delegation = differences(eager, plain), differences(plain, outputs)
    culprit = None
    if any(not one.excess <= 0 for one in delegation):
        culprit = _bisect(trial, plain, taken)
    steps = tuple(_steps(trial, plain, taken)) if every_node else ()
    if culprit is not None:
        name = ", ".join(node.name for node in culprit.nodes)
        delegation = [one if one.excess <= 0 else replace(one, node=name) for one in delegation]
    return Comparison(method, backends, tuple(export), tuple(delegation), culprit, steps)


def _absent(runtime: Runtime) -> str:
    return f" (backends of the installed runtime: {', '.join(runtime.backends())})"


def _eager(spec: str, method: str, entry: Entry, calls: Sequence[tuple[Any, dict[str, Any]]]) -> Outputs:
    """Return the outputs of the model itself; it must give the same twice."""
    import torch
    from torch.utils._pytree import tree_flatten

    def once() -> Outputs:
        outputs = []
        for arguments, keywords in calls:
            # A copy for each call: a model may change its buffers.
            module = copy.deepcopy(entry.module) if entry.module is not None else entry.program.module()
            arguments, keywords = copy.deepcopy((arguments, keywords))
            with torch.no_grad():
                outputs.append(tree_flatten(module(*arguments, **keywords))[0])
        return outputs

    try:
        first, second = once(), once()
    except Exception as error:
        raise ExportError(f"{spec}: {method} fails on the inputs: {one_line(error)}") from None
    if any(one.absolute > 0 or one.excess > 0 for one in differences(first, second)):
        raise ExportError(
            f"{spec}: {method} gives other results on the same inputs (dropout, random numbers): "
            "call eval(), or there is nothing to compare"
        )
    return first


def differences(expected: Outputs, actual: Outputs) -> list[Difference]:
    """Return how each output differs, the worst over all inputs."""
    worst: dict[int, Difference] = {}
    for left, right in zip(expected, actual, strict=True):
        if len(left) != len(right):
            raise ExportError(f"{len(left)} outputs against {len(right)}: these are different programs")
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            found = difference(str(index), one, other)
            known = worst.get(index)
            if known is None or not found.excess <= known.excess:
                worst[index] = found
    return [worst[index] for index in sorted(worst)]


def difference(name: str, expected: Any, actual: Any) -> Difference:
    """Return how `actual` differs; a NaN is equal to a NaN."""
    import torch

    if not isinstance(expected, torch.Tensor) or not isinstance(actual, torch.Tensor):
        expected, actual = (torch.as_tensor(value if value is not None else 0) for value in (expected, actual))
    dtype = _scalar_name(expected)
    if expected.shape != actual.shape:
        return Difference(name, dtype, float("inf"), float("inf"), float("inf"))
    if expected.numel() == 0:
        return Difference(name, dtype, 0.0, 0.0, 0.0)
    left, right = expected.detach().double(), actual.detach().double()
    same = (left == right) | (left.isnan() & right.isnan())
    gap = torch.where(same, 0.0, (left - right).abs())
    gap = torch.where(gap.isnan(), float("inf"), gap)
    absolute, relative = tolerance(dtype)
    finite = torch.where(left.isfinite(), left.abs(), 0.0)
    share = torch.where(gap == 0, 0.0, gap / finite.clamp_min(torch.finfo(torch.float64).tiny))
    excess = gap - (absolute + relative * finite)
    return Difference(name, dtype, gap.max().item(), share.max().item(), excess.max().item())


def _scalar_name(tensor: Any) -> str:
    names = {
        "float64": "Double", "float32": "Float", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long",
        "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool",
    }  # fmt: skip
    kind = str(tensor.dtype).removeprefix("torch.")
    return names.get(kind, kind)


def worst_of(found: Sequence[Difference]) -> Difference | None:
    """Return the output that exceeds its tolerance most."""
    return max(found, key=lambda one: one.excess, default=None)


def _bisect(trial: _Trial, plain: Outputs, taken: list[Taken]) -> Culprit | None:
    """Find the first partition, then the first node of it, with which the outputs leave the tolerance."""
    tags = list(dict.fromkeys(node.tag for node in taken))
    failures: list[str] = []

    def outside(nodes: Sequence[Taken]) -> bool | None:
        measured = _measure(trial, plain, nodes)
        if isinstance(measured, str):
            failures.append(measured)
            return None
        return measured is not None and not measured.excess <= 0

    upto = [[node for node in taken if node.tag in tags[: count + 1]] for count in range(len(tags))]
    _, partition = _first(upto, outside)
    before = upto[partition - 1] if partition else []
    members = [node for node in taken if node.tag == tags[partition]]
    sets = [[*before, *members[:end]] for end in _cuts(members)]
    failures.clear()
    last, node = _first(sets, outside)
    inside = len(sets[last]) if last is not None else len(before)
    suspects = tuple(sets[node][inside:])
    alone = _measure(trial, plain, suspects)
    return Culprit(
        partition + 1,
        len(tags),
        suspects,
        None if isinstance(alone, str) else alone,
        tuple(dict.fromkeys(failures)) if node - (last if last is not None else -1) > 1 else (),
    )


def _first(
    sets: Sequence[Sequence[Taken]], outside: Callable[[Sequence[Taken]], bool | None]
) -> tuple[int | None, int]:
    """Return the last set that agrees (None: not even the first) and the next that can be run and does not.

    The last set is known to disagree and no set at all to agree. Between two neighbours found so the result really
    crosses the tolerance, whatever the sets farther away do.
    """
    low, high = -1, len(sets) - 1
    closed: set[int] = set()
    while True:
        between = [index for index in range(low + 1, high) if index not in closed]
        if not between:
            return (low if low >= 0 else None), high
        middle = between[len(between) // 2]
        verdict = outside(sets[middle])
        if verdict is None:
            closed.add(middle)
        elif verdict:
            high = middle
        else:
            low = middle


def _cuts(members: Sequence[Taken]) -> list[int]:
    """Return after how many nodes of a partition a set may end: no quantized operation is cut in two.

    A backend takes `dequantize`, operation and `quantize` as one: a set that ends between them is another program.
    """
    cuts = []
    for end in range(1, len(members) + 1):
        last = members[end - 1]
        following = members[end] if end < len(members) else None
        if end < len(members) and "dequantize" in last.operator:
            continue
        if following is not None and _quantizes(following) and following.name in last.consumers:
            continue
        cuts.append(end)
    return cuts


def _quantizes(node: Taken) -> bool:
    return "quantize_per" in node.operator and "dequantize" not in node.operator


def _measure(trial: _Trial, plain: Outputs, nodes: Sequence[Taken]) -> Difference | str | None:
    """Return the worst difference with just these nodes delegated, or why that cannot be run."""
    wanted = {node.name for node in nodes}
    try:
        outputs, _, _ = trial.run(lambda node: node.name in wanted)
    except ExportError as error:
        return str(error)
    return worst_of(differences(plain, outputs))


def _steps(trial: _Trial, plain: Outputs, taken: list[Taken]) -> list[Step]:
    """Return the difference for each growing set of delegated nodes, partition by partition."""
    steps: list[Step] = []
    done: list[Taken] = []
    for tag in dict.fromkeys(node.tag for node in taken):
        members = [node for node in taken if node.tag == tag]
        for end in _cuts(members):
            measured = _measure(trial, plain, [*done, *members[:end]])
            if isinstance(measured, str):
                steps.append(Step(members[end - 1], None, measured))
            else:
                steps.append(Step(members[end - 1], measured))
        done += members
    return steps
