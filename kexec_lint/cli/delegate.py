"""`kexec-lint delegate`: what a backend took, what it left and why, and whether its numbers are right."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from kexec_lint.cli import Failure
from kexec_lint.cli.models import export, is_source, partitioner_option

if TYPE_CHECKING:
    from kexec_lint.executorch.checks.numerics import Difference
    from kexec_lint.executorch.export.comparison import Comparison, Step
    from kexec_lint.executorch.export.lowering import Lowered
    from kexec_lint.executorch.export.partial import Taken
    from kexec_lint.executorch.program import Program


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Look into ExecuTorch delegates.

    What they fused, what stays on the CPU and why, whose numbers are wrong.

    MODEL is a .pte file, or a source model: module:function, file.py::name, model.pt2 (extra `export`).
    """


@command.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL…")
@partitioner_option
@click.option("--output-format", type=click.Choice(["full", "json"]), default="full", show_default=True)
def show(models: tuple[str, ...], partitioner: str | None, output_format: str) -> None:
    """Show which nodes each delegate fused and what stays on the CPU.

    The reasons why a node stays are the partitioner's own, so they need a source model.
    """
    described = {model: _described(model, partitioner) for model in models}
    if output_format == "json":
        click.echo(json.dumps(described, indent=2))
        return
    for model, methods in described.items():
        click.echo(model)
        for method, what in methods.items():
            click.echo(f"  method {method}")
            for delegate in what["delegates"]:
                click.echo(f"    delegate {delegate['index']}: {delegate['backend']}, {delegate['bytes'] or 0:,} bytes")
                for title in ("nodes", "operations"):
                    if delegate[title] is not None:
                        click.echo(f"      {title}: {', '.join(delegate[title]) or 'none'}")
            for left in what["cpu"]:
                node = f"{left['node']}: " if left["node"] else ""
                click.echo(
                    f"    on the CPU: {node}{left['operator']}" + (f" ({left['reason']})" if left["reason"] else "")
                )
            if not what["delegates"]:
                click.echo("    no delegates")


def _described(model: str, partitioner: str | None) -> dict[str, Any]:
    """Return method → delegates and what stays on the CPU, JSON-able."""
    lowered: Lowered | None = None
    if is_source(model):
        lowered = export(model, partitioner)
        program, data = lowered.program, lowered.data
    else:
        program, data = _read(model)
    return {
        method.name: {
            "delegates": [
                {
                    "index": index,
                    "backend": delegate.backend,
                    "bytes": delegate.blob[1] - delegate.blob[0] if delegate.blob else None,
                    "nodes": _fused(lowered, method.name, index),
                    "operations": _operations(delegate, data),
                }
                for index, delegate in enumerate(method.delegates)
            ],
            "cpu": _left(lowered, method.name, sorted({step for step in method.steps if isinstance(step, str)})),
        }
        for method in program.methods
    }


def _read(path: str) -> tuple[Program, bytes]:
    from kexec_lint.executorch.loading import load_program
    from kexec_lint.findings import Finding

    try:
        program = load_program(path)
        if isinstance(program, Finding):
            raise Failure(program.message)
        with open(path, "rb") as file:
            return program, file.read()
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None


def _operations(delegate: Any, data: bytes) -> list[str] | None:
    from kexec_lint.executorch import blobs
    from kexec_lint.executorch.flatbuffer import FormatError

    try:
        return blobs.nodes(delegate, data)
    except FormatError as error:
        raise Failure(f"the blob of {delegate.backend}: {error}") from None


def _fused(lowered: Lowered | None, method: str, index: int) -> list[str] | None:
    """Return the graph's nodes in a delegate; None where only the file is known or partitions are not one delegate
    each.
    """
    if lowered is None:
        return None
    groups = lowered.fused.get(method, [])
    return groups[index] if index < len(groups) else None


def _left(lowered: Lowered | None, method: str, operators: Sequence[str]) -> list[dict[str, Any]]:
    if lowered is None or not lowered.left:
        return [{"node": None, "operator": operator, "reason": None} for operator in operators]
    return [
        {"node": left.node, "operator": left.operator, "reason": left.reason}
        for left in lowered.left
        if left.method == method
    ]


@command.command()
@click.argument("model", metavar="MODULE:FUNCTION|MODEL")
@partitioner_option
@click.option("--inputs", metavar="FILE", help="Real inputs: .pt (a tuple, or a list of tuples), .npz, .npy.")
@click.option("--plot", metavar="FILE", help="Draw the error by node as SVG; lowers once for each node.")
@click.option("--output-format", type=click.Choice(["full", "json"]), default="full", show_default=True)
def compare(model: str, partitioner: str | None, inputs: str | None, plot: str | None, output_format: str) -> None:
    """Find the node whose numbers a delegate changes.

    Runs the model eager, undelegated and delegated on the same inputs.

    Exit codes: 0 the delegates agree, 1 an output is outside its tolerance (EXT206), 2 it could not be run.
    """
    if not is_source(model):
        raise Failure(f"{model}: a program file has no undelegated form; name its source or a .pt2")
    if partitioner is None or partitioner == "none":
        raise click.UsageError("name the partitioner with --partitioner")
    from kexec_lint.executorch.checks import numerics
    from kexec_lint.executorch.export import ExportError, lowering, require

    try:
        require()
        with lowering.quiet():
            from kexec_lint.executorch.export import comparison, partitioners, source, tensors
            from kexec_lint.executorch.export import plot as picture

            loaded = source.load(model)
            given = tensors.load(inputs) if inputs else None
            wanted = partitioner
            compared = comparison.compare(loaded, lambda: partitioners.make(wanted), given, plot is not None)
        if plot is not None:
            with open(plot, "w", encoding="utf-8") as file:
                file.write(picture.svg(f"{model}, {partitioner}", compared))
    except ExportError as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}") from None
    findings = [
        finding
        for one in compared
        for finding in numerics.check(model, ", ".join(one.backends) or partitioner, one.delegation)
    ]
    verdict = _verdict(model, compared, len(findings))
    if output_format == "json":
        click.echo(json.dumps({"verdict": verdict, "methods": [_as_object(one) for one in compared]}, indent=2))
    else:
        click.echo(verdict)
        for one in compared:
            click.echo("\n".join(_as_text(one)))
        for finding in findings:
            click.echo(f"{finding.severity.value}[{finding.code}] {finding.message}\n  = help: {finding.help}")
    sys.exit(1 if findings else 0)


def _verdict(model: str, compared: Sequence[Comparison], wrong: int) -> str:
    if not any(one.backends for one in compared):
        return f"nothing delegated: {model} runs on the CPU as a whole"
    backends = ", ".join(dict.fromkeys(backend for one in compared for backend in one.backends))
    if wrong:
        return f"differs: {backends} changes {wrong} output{'s' if wrong > 1 else ''} of {model}"
    return f"agrees: {model} with {backends} and without"


def _as_text(one: Comparison) -> list[str]:
    lines = [f"  method {one.method}"]
    for title, found in (("eager → undelegated", one.export), ("undelegated → delegated", one.delegation)):
        for entry in found:
            mark = "" if entry.excess <= 0 else "  OUTSIDE the tolerance"
            lines.append(
                f"    {title}, output {entry.output} ({entry.dtype}): "
                f"absolute {entry.absolute:.3g}, relative {entry.relative:.3g}{mark}"
            )
    if one.culprit is not None:
        culprit = one.culprit
        lines.append(f"    first in partition {culprit.partition} of {culprit.partitions}:")
        lines += [f"      {_node_text(node)}" for node in culprit.nodes]
        if culprit.alone is not None:
            lines.append(f"      delegated alone: absolute {culprit.alone.absolute:.3g}" + _alone(culprit.alone))
        lines += [f"      cannot be told apart: {reason}" for reason in culprit.unrunnable]
    for step in one.steps:
        lines.append(f"    up to {step.node.name}: {_step_text(step)}")
    return lines


def _alone(difference: Difference) -> str:
    return ", outside the tolerance" if not difference.excess <= 0 else ", inside: the errors of several nodes add up"


def _node_text(node: Taken) -> str:
    call = f"{node.operator}({node.attributes})"
    where = ", ".join(text for text in (f"module {node.module}" if node.module else "", node.source) if text)
    return f"{node.name} = {call}" + (f"  [{where}]" if where else "")


def _step_text(step: Step) -> str:
    if step.worst is None:
        return f"cannot be run: {step.error}"
    return f"absolute {step.worst.absolute:.3g}" + ("" if step.worst.excess <= 0 else " OUTSIDE")


def _numbers(difference: Difference | None) -> dict[str, Any] | None:
    """Return a difference JSON-able: infinity is no JSON number."""
    if difference is None:
        return None
    return {
        name: (str(value) if isinstance(value, float) and not math.isfinite(value) else value)
        for name, value in vars(difference).items()
    }


def _as_object(one: Comparison) -> dict[str, Any]:
    culprit = one.culprit
    return {
        "method": one.method,
        "backends": list(one.backends),
        "eager_to_undelegated": [_numbers(entry) for entry in one.export],
        "undelegated_to_delegated": [_numbers(entry) for entry in one.delegation],
        "first": None
        if culprit is None
        else {
            "partition": culprit.partition,
            "partitions": culprit.partitions,
            "nodes": [vars(node) for node in culprit.nodes],
            "alone": _numbers(culprit.alone),
            "unrunnable": list(culprit.unrunnable),
        },
        "steps": [{"node": step.node.name, "worst": _numbers(step.worst), "error": step.error} for step in one.steps],
    }
