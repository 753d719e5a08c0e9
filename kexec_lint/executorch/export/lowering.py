"""Lowers a source model as it ships: torch.export, to_edge_transform_and_lower, to_executorch."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kexec_lint.executorch import program
from kexec_lint.executorch.export import ExportError, one_line, require
from kexec_lint.executorch.export.source import Entry, SourceModel, load


@dataclass(frozen=True)
class Left:
    """A node that stays outside the delegates: its operator in the program, and why the partitioner refused it."""

    method: str
    node: str
    operator: str
    reason: str


@dataclass(frozen=True)
class Lowered:
    """A program as it ships. `fused` names, by method, the nodes of each delegate."""

    program: program.Program
    data: bytes
    left: tuple[Left, ...] = ()
    fused: Mapping[str, list[list[str]]] = field(default_factory=dict)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep progress bars, log lines and warnings of the exporters, and prints of the model, out of a report."""
    before = logging.root.manager.disable
    silent = io.StringIO()
    with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(before)


def lower_spec(spec: str, partitioner: str) -> Lowered:
    """Return the program of a source model. Raises ExportError."""
    require()
    with quiet():
        from kexec_lint.executorch.export import partitioners

        return lower(load(spec), partitioners.make(partitioner))


def exported(spec: str, name: str, entry: Entry) -> Any:
    """Return the exported program of a method. Raises ExportError."""
    import torch

    if entry.program is not None:
        return entry.program
    try:
        return torch.export.export(
            entry.module, entry.inputs, dict(entry.keywords), dynamic_shapes=entry.dynamic_shapes
        )
    except Exception as error:
        raise ExportError(f"{spec}: torch.export of {name} fails: {one_line(error)}") from None


def lower(model: SourceModel, partitioners: Sequence[Any]) -> Lowered:
    """Return the lowered program, what each delegate took and what was left. Raises ExportError."""
    from kexec_lint.executorch.export import reasons

    if model.finished is not None:
        data = model.finished.buffer
        return Lowered(program.read(model.spec, data), data)
    programs = {name: exported(model.spec, name, entry) for name, entry in model.methods.items()}
    with reasons.collected() as why:
        edge = to_edge(model.spec, programs, {name: list(partitioners) for name in programs})
    # Taken before to_executorch, which changes the targets of the nodes in place and keeps their names.
    outside = [
        (name, node.name, reasons.target_name(node), why.of(node) or _silence(node, partitioners))
        for name in programs
        for node in _outside(edge.exported_program(name).graph_module)
    ]
    fused = {name: _fused(edge.exported_program(name).graph_module) for name in programs}
    final = to_executorch(model.spec, edge)
    operators = {name: _operators(final.exported_program(name).graph_module) for name in programs}
    left = tuple(Left(name, node, operators[name].get(node, target), text) for name, node, target, text in outside)
    data = final.buffer
    return Lowered(program.read(model.spec, data), data, left, fused)


def to_edge(spec: str, programs: dict[str, Any], partitioners: dict[str, list[Any]]) -> Any:
    """Return the edge programs with delegates. Raises ExportError."""
    from executorch.exir import to_edge_transform_and_lower

    try:
        return to_edge_transform_and_lower(programs, partitioner=partitioners)
    except Exception as error:
        raise ExportError(f"{spec}: lowering fails: {one_line(error)}") from None


def to_executorch(spec: str, edge: Any) -> Any:
    """Return the finished program. Raises ExportError."""
    try:
        return edge.to_executorch()
    except Exception as error:
        if "Missing out variants" not in str(error):
            raise ExportError(f"{spec}: to_executorch fails: {one_line(error)}") from None
    try:
        # The out variants of quantized_decomposed come with the library of quantized kernels.
        import executorch.kernels.quantized  # noqa: F401

        return edge.to_executorch()
    except Exception as error:
        raise ExportError(
            f"{spec}: to_executorch fails: {one_line(error)}; load the library that defines them "
            "(gen_custom_ops_aot_lib)"
        ) from None


def _outside(module: Any) -> list[Any]:
    """Return the nodes that call an operator outside of every delegate, those of branches and loops too."""
    from executorch.exir.graph_module import get_control_flow_submodules

    found = [node for node in module.graph.nodes if node.op == "call_function" and hasattr(node.target, "_schema")]
    for _, inner, _ in get_control_flow_submodules(module):
        found += _outside(inner)
    return found


def _fused(module: Any) -> list[list[str]]:
    """Return the names of the nodes in each delegate, in the order of the calls; branches come last."""
    from executorch.exir.delegate import executorch_call_delegate
    from executorch.exir.graph_module import get_control_flow_submodules

    lowered = [
        getattr(module, node.args[0].target)
        for node in module.graph.nodes
        if node.op == "call_function" and node.target is executorch_call_delegate
    ]
    found = [
        [node.name for node in part.original_module.graph.nodes if hasattr(node.target, "_schema")] for part in lowered
    ]
    for _, inner, _ in get_control_flow_submodules(module):
        found += _fused(inner)
    return found


def _operators(module: Any) -> dict[str, str]:
    """Return node name → operator as the program names it."""
    names = {}
    for node in _outside(module):
        schema = node.target._schema
        names[node.name] = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
    return names


def _silence(node: Any, partitioners: Sequence[Any]) -> str:
    """Return what is known where a partitioner gave no reason."""
    from kexec_lint.executorch.export.reasons import target_name

    if not partitioners:
        return "no partitioner"
    short = ".".join(target_name(node).split(".")[-2:])
    configs = [getattr(partitioner, "target_partitioner_configs", None) for partitioner in partitioners]
    if all(known is not None and short not in known for known in configs):
        return f"{type(partitioners[0]).__name__} has no rule for {short}"
    return "the partitioner gave no reason"
