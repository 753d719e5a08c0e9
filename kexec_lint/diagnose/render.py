"""Show diagnoses: as text for a terminal, or as the JSON list that docs/diagnose.md describes."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence

import click

from kexec_lint.diagnose.chain import UNKNOWN, Diagnosis
from kexec_lint.diagnose.endings import Ending
from kexec_lint.diagnose.knowledge import Knowledge

_EXECUTORS = {"opencl": "OpenCL", "aten": "PyTorch ATen", "executorch": "ExecuTorch"}
_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}
_LINES = 6


def as_json(diagnoses: Sequence[Diagnosis]) -> str:
    """Return a JSON list of objects, root cause first, with `lines` as numbers from 1."""
    rows = [
        {
            "id": d.id,
            "executor": d.executor,
            "layer": d.layer,
            "severity": d.severity,
            "root": d.root,
            "lines": [number for number, _ in d.lines],
            "cause": d.cause,
            "next_steps": list(d.next_steps),
            "rules": list(d.rules),
            "sources": list(d.sources),
        }
        for d in diagnoses
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def as_text(
    diagnoses: Sequence[Diagnosis],
    knowledge: Knowledge,
    rule_names: dict[str, str],
    *,
    ending: Ending | None = None,
    width: int = 100,
) -> str:
    """Return the report: root cause in full, what followed in brief, what is noise in one line."""
    parts: list[str] = []
    noise = [d for d in diagnoses if d.layer == "noise"]
    shown = [d for d in diagnoses if d.layer != "noise"]
    for index, diagnosis in enumerate(d for d in shown if d.root):
        parts.append("\n".join(_full(diagnosis, knowledge, rule_names, width, first=index == 0)))
    for title, group in (
        ("followed from it", [d for d in shown if not d.root and d.after]),
        ("also seen", [d for d in shown if not d.root and not d.after]),
    ):
        if group:
            parts.append("\n".join([click.style(title, bold=True), *(x for d in group for x in _brief(d, width))]))
    if noise:
        lines = sum(len(d.lines) for d in noise)
        parts.append(f"noise: {lines} line{'s' * (lines != 1)} ({', '.join(d.id for d in noise)}), no cause for alarm")
    if not parts:
        parts.append("nothing in this says that something failed")
    if ending is not None and ending.bad and not any(d.id == UNKNOWN for d in diagnoses):
        parts.append(f"the command {ending.text}")
    return "\n\n".join(parts)


def _full(d: Diagnosis, knowledge: Knowledge, rule_names: dict[str, str], width: int, *, first: bool) -> Iterator[str]:
    executor = f"{_EXECUTORS[d.executor]}: " if d.executor else ""
    layer = knowledge.layer.get(d.layer)
    title = f" ({layer.title})" if layer else ""
    unknown = d.layer == UNKNOWN
    head = click.style(f"{executor}{'unknown layer' if unknown else d.layer}", fg=_COLOURS[d.severity], bold=True)
    yield head if d.id == UNKNOWN else f"{head}{title}  {d.severity}  {d.id}"
    label = "root cause" if first and not unknown else "cause"
    yield from _wrapped(f"{label}: {d.cause}", width, "  ")
    if d.beware:
        yield from _wrapped(f"beware: {d.beware}", width, "  ")
    if d.lines:
        yield ""
        digits = len(str(d.lines[min(len(d.lines), _LINES) - 1][0]))
        for number, text in d.lines[:_LINES]:
            yield click.style(f"  {number:>{digits}} | ", fg="blue") + _cut(text.strip(), width - digits - 6)
        if len(d.lines) > _LINES:
            yield f"  {'':>{digits}} | … and {len(d.lines) - _LINES} more lines"
    if d.next_steps:
        yield ""
        yield "  next"
        for number, step in enumerate(d.next_steps, 1):
            yield from _wrapped(f"{number}. {step}", width, "    ", "       ")
    if d.rules:
        yield ""
        said = [f"{code} {rule_names[code]}" if code in rule_names else code for code in d.rules]
        yield from _wrapped(f"caught earlier by: {', '.join(said)} (kexec-lint rule {d.rules[0]})", width, "  ", "    ")
    if d.sources:
        yield ""
        for source in d.sources[:3]:
            yield f"  {click.style(source, dim=True)}"


def _brief(d: Diagnosis, width: int) -> Iterator[str]:
    numbers = ", ".join(str(number) for number, _ in d.lines[:8]) + (", …" if len(d.lines) > 8 else "")
    lines = f"line{'s' * (len(d.lines) > 1)} {numbers}"
    yield f"  {click.style(d.layer, fg=_COLOURS[d.severity])}  {d.id}  {lines}"
    said = d.cause if d.cause.startswith("As ") else d.lines[0][1].strip() if d.lines else ""
    yield "    " + click.style(_cut(said, width - 4), dim=True)


def _wrapped(text: str, width: int, indent: str, following: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        max(40, width),
        initial_indent=indent,
        subsequent_indent=following if following is not None else indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _cut(text: str, width: int) -> str:
    """Return at most `width` characters (never fewer than 40 are kept)."""
    width = max(40, width)
    return text if len(text) <= width else text[: width - 1] + "…"
