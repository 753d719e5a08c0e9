"""Tie a diagnosis to static findings about the file, operator or queue that the log names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kexec_lint.diagnose.chain import Diagnosis
from kexec_lint.diagnose.steps import Named
from kexec_lint.findings import Finding

_NEAR = 3
"""Rows between a frame and a finding that is still taken as the same place."""
_QUOTED = re.compile(r"[`'\"](\w[\w.:]{1,60})[`'\"]")


def named_files(names: Named) -> list[str]:
    """Return the files of the user's tree that a log names and that are there."""
    here = os.getcwd() + os.sep
    return list(
        dict.fromkeys(
            path for path, _ in names.frames if os.path.isfile(path) and os.path.abspath(path).startswith(here)
        )
    )


def related(diagnoses: Sequence[Diagnosis], names: Named, found: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Return findings by the id of the diagnosis that they belong to.

    A finding belongs to a diagnosis of the same executor if its rule is one of the entry's rules or the log names
    its place; where the message names an operator, if it names that operator.
    """
    places = [(os.path.abspath(path), row) for path, row in names.frames]
    result: dict[str, list[Finding]] = {}
    for finding in found:
        path = os.path.abspath(finding.location.filename)
        at = any(path == p and abs(row - finding.location.row) <= _NEAR for p, row in places)
        for diagnosis in diagnoses:
            if _belongs(diagnosis, finding, at):
                result.setdefault(diagnosis.id, []).append(finding)
                break
    return result


def _belongs(diagnosis: Diagnosis, finding: Finding, at: bool) -> bool:
    executor = {"OCL": "opencl", "ATN": "aten", "EXT": "executorch"}.get(finding.code[:3])
    if executor is None or diagnosis.executor not in (executor, None):
        return False
    operators = diagnosis.fields.get("op", ())
    names = {_bare(op) for op in operators} | {op.replace("::", ".").split(".")[0] for op in operators if ":" in op}
    names |= {*diagnosis.fields.get("ns", ()), *diagnosis.fields.get("cls", ())} - {""}
    said = {_bare(word) for word in _QUOTED.findall(finding.message)} | {
        _bare(str(value)) for key, value in finding.extra if key == "operator"
    }
    if names:
        return bool(names & said) or (at and finding.code in diagnosis.rules)
    return finding.code in diagnosis.rules or at


def _bare(operator: str) -> str:
    """Return the name of an operator without namespace and overload."""
    return operator.replace("::", ".").removesuffix(".default").split(".")[-1 if operator.count(".") < 2 else 1]


def joined(diagnosis: Diagnosis, findings: Sequence[Finding]) -> Diagnosis:
    """Return the diagnosis with the findings as its first step, and their rules first."""
    steps = []
    order = {code: rank for rank, code in enumerate(diagnosis.rules)}
    findings = sorted(findings, key=lambda finding: order.get(finding.code, len(order)))
    for finding in findings[:5]:
        at = finding.location
        said = f"{finding.code} {finding.name}: {finding.message}"
        steps.append(f"{at.filename}:{at.row}: {said} (kexec-lint check {at.filename})")
    rules = tuple(dict.fromkeys([*(f.code for f in findings), *diagnosis.rules]))
    return replace(diagnosis, next_steps=(*steps, *diagnosis.next_steps), rules=rules)
