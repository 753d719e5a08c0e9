"""Runs an `opset` example of a rule page: files after `=== name` lines, the command in the first line.

`.pte` and `.ptd` sections hold descriptions (see `pte.py`), others the text itself. A finding in a binary file
or on its first row is reported on the row of the section's head, so that an example can say there what it expects.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pte
import yaml

from kexec_lint.engine.rules import Selection
from kexec_lint.executorch import loading, lock, program, tables
from kexec_lint.executorch.build import assemble
from kexec_lint.executorch.checks import missing, numerics, programs
from kexec_lint.executorch.compare import compare, unique
from kexec_lint.executorch.pages import rule as page
from kexec_lint.findings import Confidence, Finding, Severity
from kexec_lint.rulebook import Example, Rule


def run(rule: Rule, example: Example, folder: Path, selection: Selection) -> list[Finding]:
    """Return the findings of the example's command under a selection."""
    lines = example.text.split("\n")
    command = shlex.split(lines[0].removeprefix("$").split(" #")[0])
    heads = write(lines, folder)
    found = [
        finding
        for finding in execute(command, folder)
        if wanted(finding, selection) and finding.confidence is not Confidence.POSSIBLE
    ]
    placed = []
    for finding in found:
        head = heads.get(finding.location.filename.removeprefix(f"{folder}/"), 1)
        row = head if finding.location.row == 1 else finding.location.row
        placed.append(replace(finding, location=replace(finding.location, row=row)))
    return placed


def wanted(finding: Finding, selection: Selection) -> bool:
    if selection.select is not None:
        return finding.code in selection.select
    return page(finding.code).default and finding.severity is not Severity.INFO


def write(lines: list[str], folder: Path) -> dict[str, int]:
    """Write the sections as files whose rows are those of the example; return the row of each head."""
    heads: dict[str, int] = {}
    sections: dict[str, list[str]] = {}
    kinds: dict[str, str] = {}
    for row, line in enumerate(lines[1:], 2):
        head = re.match(r"=== (\S+)(?: \((\w+)\))?(?: *#.*)?$", line)
        if head:
            name = head[1]
            heads[name], kinds[name] = row, head[2] or ""
            sections[name] = [""] * row
        else:
            sections[name].append(line)
    for name, content in sections.items():
        body = "\n".join(content)
        data = body.encode()
        if kinds[name] == "text":
            data = body.lstrip("\n").encode()
        elif name.endswith(".pte"):
            data = pte.program(yaml.safe_load(body) or {})
            data = data[: len(data) // 2] if kinds[name] == "truncated" else data
        elif name.endswith(".ptd"):
            data = pte.external(yaml.safe_load(body) or [])
        elif name.endswith(".lock"):
            shipped = program.read("net.pte", pte.program(yaml.safe_load(body)))
            data = lock.write(assemble("shipped", [], tables.load()), [shipped]).encode()
        (folder / name).write_bytes(data)
    return heads


def execute(command: list[str], folder: Path) -> list[Finding]:
    """Run `check MODEL… [--build PATH] …`, `exported MODEL`, or `compared MODEL BACKEND` over differences.json."""
    models, options = [], {}
    words = iter(command[1:])
    for word in words:
        if word.startswith("--"):
            options[word[2:]] = True if word == "--dtype-selective" else next(words)
        else:
            models.append(str(folder / word))
    if command[0] == "compared":
        listed = json.loads((folder / "differences.json").read_text())
        return list(numerics.check(command[1], command[2], [numerics.Difference(**entry) for entry in listed]))
    release = tables.load()
    loaded = [loading.load_program(path) for path in models if path.endswith(".pte")]
    broken = [entry for entry in loaded if isinstance(entry, Finding)]
    sound = [entry for entry in loaded if not isinstance(entry, Finding)]
    if command[0] == "exported":
        return [entry for model in sound for entry in missing.no_kernel_anywhere(model, release)]
    brought = [loading.load_external(path) for path in models if path.endswith(".ptd")]
    data = frozenset().union(*brought) if brought else None
    backends = options["backends"].split(",") if "backends" in options else None
    builds = []
    if "build" in options:
        path = ",".join(str(folder / piece) for piece in options["build"].split(","))
        libraries = options.get("libs", "").split(",") if "libs" in options else []
        builds = loading.load_builds([path], release, libraries, backends, "dtype-selective" in options)
    limit = int(options["max-arena"]) if "max-arena" in options else None
    found = [*broken, *compare(sound, builds, release, data, limit).findings]
    if "lock" in options:
        _, _, known = lock.read(options["lock"], (folder / options["lock"]).read_text())
        for model in sound:
            found += programs.inputs(model, known[Path(model.path).name]["inputs"])
    return unique(found)
