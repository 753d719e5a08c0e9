"""Options and loading of source models, shared by `opset` and `delegate`: torch is imported when one is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from kexec_lint.cli import Failure

if TYPE_CHECKING:
    from kexec_lint.executorch.export.lowering import Lowered
    from kexec_lint.findings import Finding


def partitioner_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--partitioner`."""
    return click.option(
        "--partitioner",
        metavar="NAME",
        help="xnnpack, coreml, vulkan, none or module:object, as the source model ships.",
    )(function)


def source_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--model` and `--partitioner`."""
    return click.option(
        "--model",
        "sources",
        multiple=True,
        metavar="SOURCE",
        help="module:function, file.py::name or model.pt2, exported as it ships (extra `export`); repeatable.",
    )(partitioner_option(function))


def is_source(spec: str) -> bool:
    """Return whether a MODEL argument names a source model instead of a file. A Python file alone names none."""
    if spec.endswith(".py"):
        raise Failure(f"{spec}: name the model in it: {spec}::NAME")
    if ":" not in spec and not spec.endswith(".pt2"):
        return False
    from kexec_lint.executorch.export import source

    return source.is_source(spec)


def export(spec: str, partitioner: str | None) -> Lowered:
    """Return the lowered program of a source model; what goes wrong is one line and exit code 2."""
    from kexec_lint.executorch.export import ExportError, lowering

    if partitioner is None:
        click.echo(f"note: {spec} is lowered without a partitioner; name the one it ships with", err=True)
    try:
        return lowering.lower_spec(spec, partitioner or "none")
    except ExportError as error:
        raise Failure(str(error)) from None


def with_reasons(findings: Iterable[Finding], exported: Iterable[Lowered]) -> list[Finding]:
    """Return the findings, those of EXT202 with what each partitioner said about the nodes that stay outside."""
    from dataclasses import replace

    known = {lowered.program.path: lowered.left for lowered in exported}
    found: list[Finding] = []
    for finding in findings:
        left = known.get(str(dict(finding.extra).get("model")), ())
        if finding.code == "EXT202" and left:
            reasons: dict[str, list[str]] = {}
            for node in left:
                if node.reason not in reasons.setdefault(node.operator, []):
                    reasons[node.operator].append(node.reason)
            text = "; ".join(f"{operator}: {', '.join(said)}" for operator, said in sorted(reasons.items()))
            finding = replace(
                finding,
                help=f"{finding.help}. Why they stay: {text}",
                extra=(*finding.extra, ("reasons", reasons)),
            )
        found.append(finding)
    return found
