"""Runs the example of a rule page; languages that are no source files get a runner of their executor here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from kexec_lint.engine.check import check
from kexec_lint.engine.request import Request
from kexec_lint.engine.rules import Selection
from kexec_lint.findings import Finding
from kexec_lint.rulebook import Example, Rule

sys.path.insert(0, str(Path(__file__).parent.parent / "executorch"))

import scenario

SUFFIXES = {
    "python": ".py",
    "c": ".c",
    "cpp": ".cpp",
    "opencl": ".cl",
    "yaml": ".yaml",
    "cmake": ".cmake",
    "starlark": ".bzl",
}
"""Language of a fence → suffix of the file that the engine checks."""

Runner = Callable[[Rule, Example, Path, Selection], list[Finding]]


def _tree(rule: Rule, example: Example, folder: Path, selection: Selection) -> list[Finding]:
    """Check a folder: each file starts after a line `=== path` and keeps the rows that it has in the example."""
    name, lines = "", example.text.split("\n")
    files: dict[str, list[str]] = {}
    for row, line in enumerate(lines):
        if line.startswith("=== "):
            name = line[4:]
            files[name] = [""] * (row + 1)
        else:
            files[name].append(line)
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("\n".join(content), encoding="utf-8")
    report = check(Request(paths=(str(folder),), selection=selection, isolated=True, jobs=1))
    return report.findings


RUNNERS: dict[str, Runner] = {"tree": _tree, "opset": scenario.run}
"""Language of a fence → what runs it, for languages that are no source files of the engine."""


def run(rule: Rule, example: Example, folder: Path, selection: Selection) -> list[Finding]:
    """Return the findings of an example under a selection. `folder` is empty and may be written to.

    Options of the fence: `assume-out-of-order`, `confidence=possible`, `extend-select=CODE`, `name=sub/file.py`.
    """
    if example.language in RUNNERS:
        return RUNNERS[example.language](rule, example, folder, selection)
    options = dict(option.partition("=")[::2] for option in example.options)
    more = options.pop("extend-select", "")
    file = folder / options.pop("name", f"example{SUFFIXES[example.language]}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(example.text, encoding="utf-8")
    report = check(
        Request(
            paths=(str(file),),
            selection=selection._replace(extend_select=(more,)) if more else selection,
            confidence=options.pop("confidence", None),
            assume_out_of_order="assume-out-of-order" in options,
            isolated=True,
            jobs=1,
        )
    )
    options.pop("assume-out-of-order", None)
    assert not options, f"options that no runner knows: {options}"
    assert not report.notes + report.errors, report.notes + report.errors
    return report.findings
