"""Joins reports in JSON or SARIF that parts of a run wrote: the same document as that of the whole run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from kexec_lint.report import TOOL


class MergeError(ValueError):
    """A report that cannot be joined; the text names its file."""


class Merged(NamedTuple):
    """The joined document, how many findings it holds, and internal errors of the parts."""

    document: Any
    findings: int
    errors: list[str]


def merge(documents: Mapping[str, Any]) -> Merged:
    """Join the documents, by file name. Raises MergeError."""
    kinds = {file: "JSON" if isinstance(document, list) else "SARIF" for file, document in documents.items()}
    if len(set(kinds.values())) > 1:
        raise MergeError("; ".join(f"{file}: {kind}" for file, kind in kinds.items()) + ": cannot be joined")
    join = _json if "JSON" in kinds.values() else _sarif
    try:
        return join(documents)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        if isinstance(error, MergeError):
            raise
        raise MergeError(f"{', '.join(documents)}: not all are reports that kexec-lint wrote") from None


def _json(documents: Mapping[str, Any]) -> Merged:
    entries = _once(entry for document in documents.values() for entry in document)
    entries.sort(key=lambda e: (e["filename"], e["cell"] or 0, *_place(e["location"]), e["code"], e["message"]))
    return Merged(entries, len(entries), [])


def _place(at: Mapping[str, int]) -> tuple[int, int]:
    return at["row"], at["column"]


def _sarif(documents: Mapping[str, Any]) -> Merged:
    runs = [run for document in documents.values() for run in document["runs"]]
    drivers = [run["tool"]["driver"] for run in runs]
    tools = sorted({f"{driver['name']} {driver['version']}" for driver in drivers})
    if len(tools) != 1 or drivers[0]["name"] != TOOL:
        raise MergeError(f"{', '.join(documents)}: reports of {', '.join(tools) or 'no run'} cannot be joined")
    first = next(iter(documents.values()))
    rules = sorted(_once(rule for driver in drivers for rule in driver["rules"]), key=lambda rule: rule["id"])
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    results = _once({**result, "ruleIndex": index[result["ruleId"]]} for run in runs for result in run["results"])
    invocations = [invocation for run in runs for invocation in run["invocations"]]
    told = _once(note for invocation in invocations for note in invocation["toolExecutionNotifications"])
    told.sort(key=lambda note: note["level"] == "error")
    run = {
        **runs[0],
        "tool": {"driver": {**drivers[0], "rules": rules}},
        "results": sorted(results, key=_order),
        "invocations": [
            {
                "executionSuccessful": all(invocation["executionSuccessful"] for invocation in invocations),
                "toolExecutionNotifications": told,
            }
        ],
    }
    errors = [note["message"]["text"] for note in told if note["level"] == "error"]
    return Merged({**first, "runs": [run]}, len(results), errors)


def _order(result: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what a report of check is sorted by."""
    at = result["locations"][0]
    physical = at["physicalLocation"]
    region = physical["region"]
    cell = int(at["logicalLocations"][0]["name"].removeprefix("cell ")) if "logicalLocations" in at else 0
    place = (region["startLine"], region["startColumn"])
    return (unquote(physical["artifactLocation"]["uri"]), cell, *place, result["ruleId"], result["message"]["text"])


def _once(items: Iterable[Any]) -> list[Any]:
    return list({json.dumps(item, sort_keys=True): item for item in items}.values())
