"""Explanations, traces and comparisons as text, JSON, HTML and Chrome trace events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kexec_lint.aten.dispatch.compare import Comparison, Kernel
from kexec_lint.aten.dispatch.explain import Explanation, Step
from kexec_lint.aten.dispatch.table import Row, short_site
from kexec_lint.aten.dispatch.trace import Event
from kexec_lint.report.markup import escape


def explanation_text(found: Explanation) -> str:
    """Return an explanation as plain text, the winner marked."""
    lines = [found.schema, f"  schema registered at {found.schema_site}"]
    lines += [f"  input {text}" for text in found.inputs]
    lines.append(f"  keys of the arguments   {' '.join(found.keys)}")
    lines.append(f"  thread-local include    {' '.join(found.include) or '-'}")
    lines.append(f"  thread-local exclude    {_shorten(found.exclude)}")
    lines.append("  from the highest priority down:")
    width = max([len(s.key) for s in found.chain], default=0)
    for step in found.chain:
        mark = "=>" if step == found.winner else "->" if step in found.below else "  "
        lines.append(f"  {mark} {step.key:<{width}}  {_step_text(step)}")
    if found.winner is not None:
        lines.append(f"  runs: {_kernel_text(found.winner)}")
        for step in found.below:
            lines.append(f"  goes on to: {_kernel_text(step)}")
    if found.decomposes:
        lines.append(f"  decomposes into: {', '.join(found.decomposes)}")
    if found.error:
        lines.append(f"  no kernel: {found.error}")
        keys = sorted({r.key for r in found.registered if not r.fallthrough and not r.inactive})
        lines.append(f"  keys with a kernel: {', '.join(keys) or 'none'}")
        if found.closest:
            lines.append(f"  closest registration: {found.closest.key} at {short_site(found.closest.site)}")
    lines += [f"  note: {note}" for note in found.notes]
    return "\n".join(lines)


def _shorten(keys: Sequence[str]) -> str:
    autocast = [k for k in keys if k.startswith("Autocast")]
    rest = [k for k in keys if not k.startswith("Autocast")]
    if len(autocast) > 3:
        rest.append(f"Autocast* ({len(autocast)} keys)")
        autocast = []
    return " ".join([*rest, *autocast]) or "-"


def _step_text(step: Step) -> str:
    if step.row is None:
        return "no kernel"
    if step.row.fallthrough:
        return f"falls through  [{step.row.tag}]  {step.site}"
    via = f" as {step.registered_as}" if step.registered_as not in ("", step.key) else ""
    return f"[{step.row.tag}{via}]  {step.function or ''}  {step.site}".replace("  ", " ")


def _kernel_text(step: Step) -> str:
    tag = step.row.tag if step.row else ""
    return f"{step.registered_as or step.key} kernel {step.function or '(function not named)'} [{tag}] {step.site}"


def table_text(rows: dict[str, Row]) -> str:
    """Return the computed table, one key a line."""
    width = max(map(len, rows), default=0)
    return "\n".join(
        f"{row.key:<{width}}  {'fallthrough ' if row.fallthrough else ''}[{row.tag}]  {short_site(row.site)}"
        for row in rows.values()
    )


def as_json(value: Any) -> str:
    """Return a data class, or a list of them, as JSON."""
    data = [asdict(v) for v in value] if isinstance(value, list) else asdict(value)
    return json.dumps(data, indent=2, default=str)


def page(title: str, text: str) -> str:
    """Return text as a small HTML page that needs nothing else."""
    return (
        f"<!doctype html><meta charset=utf-8><title>{escape(title)}</title>"
        "<style>body{font:14px/1.5 monospace;margin:2em;white-space:pre-wrap}b{background:#ffec99}</style>"
        + "\n".join(
            f"<b>{escape(line)}</b>" if line.lstrip().startswith(("=>", "runs:", "no kernel")) else escape(line)
            for line in text.splitlines()
        )
        + "\n"
    )


def tree_text(events: Sequence[Event], failed: Event | None = None) -> str:
    """Return a trace as an indented tree: operator, key, kernel, site, time; the failed event is marked."""
    lines = []
    for event in events:
        via = f" -> {event.registered_as}" if event.registered_as != event.key else ""
        name = f" {event.function}" if event.function else ""
        tag = f" [{event.tag}]" if event.tag and event.tag != "kernel" else ""
        mark = " !" if event is failed else ""
        lines.append(
            f"{event.duration * 1e3:9.3f} ms {'  ' * event.depth}{event.operator} @ {event.key}{via}{tag}{name}"
            f" ({_last(event.site)}){mark}"
        )
        if event is failed:
            lines.append(f"{' ' * 13}{'  ' * event.depth}{brief(event.error or '')}")
    return "\n".join(lines)


def _last(site: str) -> str:
    return site.rpartition("/")[2] or "-"


def brief(error: object) -> str:
    """Return the first line of an error; of a missing kernel's only the first sentence, a list of keys follows."""
    line = next(iter(str(error).strip().splitlines()), "")
    return line.partition(" This could be because")[0] if "Could not run '" in line else line


def chrome(events: Sequence[Event]) -> str:
    """Return the trace in Chrome's trace-event format (chrome://tracing, Perfetto)."""
    first = min((e.start for e in events), default=0.0)
    return json.dumps(
        {
            "traceEvents": [
                {
                    "name": e.operator,
                    "cat": e.key,
                    "ph": "X",
                    "pid": 1,
                    "tid": 1,
                    "ts": (e.start - first) * 1e6,
                    "dur": e.duration * 1e6,
                    "args": {
                        "key": e.key,
                        "registered_as": e.registered_as,
                        "function": e.function,
                        "site": e.site,
                        "inputs": list(e.inputs),
                        "error": e.error,
                    },
                }
                for e in events
            ]
        }
    )


def comparison_text(found: Comparison) -> str:
    """Return a comparison; the first difference in full, the others in a line."""
    first, second = found.devices
    lines = [f"{first} against {second}: {found.compared} calls compared"]
    if found.note:
        lines.append(f"  note: {found.note}")
    reasons: dict[str, list[str]] = {}
    for name, reason in found.skipped:
        reasons.setdefault(reason, []).append(name)
    lines += [f"  not compared ({reason}): {', '.join(names)}" for reason, names in reasons.items()]
    if not found.differences:
        lines.append("  no difference beyond the tolerance")
    for number, item in enumerate(found.differences):
        where = (
            f" output {item.output}" if item.output > 0 else " (argument written in place)" if item.output < 0 else ""
        )
        size = (
            f", largest error {item.max_abs:.3g} (relative {item.max_rel:.3g}) at {list(item.at)}"
            if item.max_abs
            else ""
        )
        lines.append(
            f"  {'first difference: ' if not number else ''}call {item.call} {item.operator}{where}: {item.what}{size}"
        )
        if not number:
            lines.append(f"    inputs {', '.join(item.inputs)}")
            lines += [f"    {_side(k)}" for k in (item.first, item.second)]
    return "\n".join(lines)


def _side(kernel: Kernel) -> str:
    return f"{kernel.device}: {kernel.key} kernel {kernel.function or '(function not named)'} {kernel.site}"
