"""SARIF 2.1.0, shaped for code scanning: rule help, related places, code flows, stable fingerprints."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import Any

from kexec_lint import rulebook
from kexec_lint.engine.check import Report
from kexec_lint.findings import Confidence, Finding, Fix, Location, Related, Severity
from kexec_lint.report import TOOL, TOOL_URL, Context, relative_uri, repository_root, rule_url
from kexec_lint.report.fingerprint import fingerprints

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PRECISION = {Confidence.CERTAIN: "very-high", Confidence.LIKELY: "high", Confidence.POSSIBLE: "medium"}
_SHORT = 1024  # code scanning cuts descriptions here


def render(report: Report, context: Context) -> str:
    """Return one run with its findings; file names are relative to the repository around the working folder."""
    root = repository_root(context.start)
    writer = _Writer(context, root)
    codes = sorted({finding.code for finding in report.findings})
    uris = [writer.uri(finding.location) for finding in report.findings]
    prints = fingerprints(report, uris)
    run = {
        "tool": {
            "driver": {
                "name": TOOL,
                "version": context.version,
                "semanticVersion": context.version,
                "informationUri": TOOL_URL,
                "rules": [_rule(code) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": Path(root).as_uri().rstrip("/") + "/"}},
        "results": [
            writer.result(finding, codes.index(finding.code), print_)
            for finding, print_ in zip(report.findings, prints, strict=True)
        ],
        "invocations": [
            {
                "executionSuccessful": not report.errors,
                "toolExecutionNotifications": [
                    *({"level": "warning", "message": {"text": note}} for note in report.notes),
                    *({"level": "error", "message": {"text": error}} for error in report.errors),
                ],
            }
        ],
    }
    return dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str) -> dict[str, Any]:
    rule = rulebook.rule(code)
    return {
        "id": code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.name.replace("-", " ")},
        "fullDescription": {"text": rule.summary[:_SHORT]},
        "help": {"text": rule.body, "markdown": rule.body},
        "helpUri": rule_url(code),
        "defaultConfiguration": {"level": _LEVEL[rule.severity], "enabled": rule.default},
        "properties": {"tags": [rule.page.parent.name, rule.layer], "problem.severity": _problem(rule.severity)},
    }


def _problem(severity: Severity) -> str:
    return {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}[severity]


class _Writer:
    """Turns findings into results, with file names relative to one root."""

    def __init__(self, context: Context, root: str) -> None:
        self._context = context
        self._root = root

    def uri(self, at: Location) -> str:
        return relative_uri(at.filename, self._context, self._root)

    def result(self, finding: Finding, index: int, fingerprint: str) -> dict[str, Any]:
        """Return one result. `message` repeats the help, the only other text that code scanning shows."""
        text = finding.message if not finding.help else f"{finding.message}\n{finding.help}"
        result: dict[str, Any] = {
            "ruleId": finding.code,
            "ruleIndex": index,
            "level": _LEVEL[finding.severity],
            "message": {"text": text},
            "locations": [self.location(finding.location)],
            "partialFingerprints": {"primaryLocationLineHash": fingerprint},
            "properties": {
                "confidence": finding.confidence.value,
                "precision": _PRECISION[finding.confidence],
                **({"hazard": finding.hazard} if finding.hazard else {}),
                **dict(finding.extra),
            },
        }
        if finding.related:
            result["relatedLocations"] = [
                {"id": number, **self.location(item.location, item.message)}
                for number, item in enumerate(finding.related, 1)
            ]
        if finding.steps:
            result["codeFlows"] = [{"threadFlows": [{"locations": self.flow(finding.steps)}]}]
        if finding.fix is not None:
            result["fixes"] = [self.fix(finding.fix)]
        return result

    def flow(self, steps: Sequence[Related]) -> list[dict[str, Any]]:
        return [
            {"location": self.location(step.location, step.message), "executionOrder": number}
            for number, step in enumerate(steps, 1)
        ]

    def location(self, at: Location, message: str | None = None) -> dict[str, Any]:
        location: dict[str, Any] = {
            "physicalLocation": {"artifactLocation": self.artifact(at), "region": _region(at)},
        }
        if at.cell is not None:
            location["logicalLocations"] = [{"name": f"cell {at.cell}", "kind": "module"}]
        if message:
            location["message"] = {"text": message}
        return location

    def artifact(self, at: Location) -> dict[str, Any]:
        from urllib.parse import quote

        uri = self.uri(at)
        if uri.startswith("/") or uri[1:3] == ":/":
            return {"uri": Path(uri).as_uri()}
        return {"uri": quote(uri, errors="surrogateescape"), "uriBaseId": "SRCROOT"}

    def fix(self, fix: Fix) -> dict[str, Any]:
        files: dict[str, list[dict[str, Any]]] = {}
        artifacts = {}
        for edit in fix.edits:
            artifacts[edit.location.filename] = self.artifact(edit.location)
            files.setdefault(edit.location.filename, []).append(
                {"deletedRegion": _region(edit.location), "insertedContent": {"text": edit.content}}
            )
        return {
            "description": {"text": fix.message},
            "artifactChanges": [
                {"artifactLocation": artifacts[filename], "replacements": edits} for filename, edits in files.items()
            ],
        }


def _region(at: Location) -> dict[str, int]:
    return {
        "startLine": at.row,
        "startColumn": at.column,
        "endLine": at.end_row,
        "endColumn": at.end_column,
    }
