"""What machines read: JSON, SARIF, GitHub, GitLab, JUnit, rdjson."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SarifModel
from report_sample import HOST, RACE, READ, at

from kexec_lint.report import FORMATS

SARIF = Draft202012Validator(SarifModel.model_json_schema())


def sarif_run(text: str) -> dict:
    document = json.loads(text)
    assert [error.message for error in SARIF.iter_errors(document)] == []
    (run,) = document["runs"]
    return run


def test_json_has_the_fields_of_ruff_and_ours(write, project: Path):
    race, read = json.loads(write("json", RACE, READ))
    assert race == {
        "code": "OCL101",
        "name": "missing-wait-edge",
        "severity": "error",
        "confidence": "likely",
        "hazard": "read-after-write",
        "message": "`square` reads `x` while the copy into it may still run",
        "help": "pass the copy's event to the kernel: wait_for=[up]",
        "filename": f"{project}/src/app.py",
        "cell": None,
        "location": {"row": 11, "column": 11},
        "end_location": {"row": 14, "column": 6},
        "url": "https://kexec-lint.readthedocs.io/rules/OCL101/",
        "fix": None,
        "related": race["related"],
        "steps": race["steps"],
        "operator": "square",
    }
    assert race["related"][0] == {
        "message": "writes `x`, event `up`",
        "filename": f"{project}/src/app.py",
        "cell": None,
        "location": {"row": 9, "column": 10},
        "end_location": {"row": 9, "column": 60},
    }
    assert [step["message"] for step in race["steps"]] == ["the copy writes `x`", "`square` reads `x`"]
    assert read["fix"] == {
        "applicability": "safe",
        "message": "wait for the event",
        "edits": [
            {
                "content": "up.wait(); ",
                "location": {"row": 15, "column": 18},
                "end_location": {"row": 15, "column": 18},
            }
        ],
    }


@pytest.mark.parametrize(("name", "empty"), [("json", []), ("gitlab", [])])
def test_nothing_found_is_a_valid_document(write, name, empty):
    assert json.loads(write(name)) == empty


def test_sarif_says_where_why_and_in_which_order(write, project: Path):
    run = sarif_run(write("sarif", RACE, READ, notes=["x.py: not checked"], errors=["y.py: internal error"]))
    race, read = run["results"]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in (race, read)] == ["OCL101", "OCL201"]
    assert all(rule["help"]["markdown"].startswith("# ") and rule["helpUri"] for rule in rules)
    assert (race["level"], read["level"]) == ("error", "warning")
    place = race["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "src/app.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 11, "startColumn": 11, "endLine": 14, "endColumn": 6}
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == project.as_uri() + "/"
    assert [r["message"]["text"] for r in race["relatedLocations"]] == [r.message for r in RACE.related]
    (flow,) = race["codeFlows"]
    steps = flow["threadFlows"][0]["locations"]
    assert [s["location"]["physicalLocation"]["region"]["startLine"] for s in steps] == [9, 11]
    assert read["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"] == "up.wait(); "
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert [n["level"] for n in invocation["toolExecutionNotifications"]] == ["warning", "error"]


def test_sarif_of_nothing(write):
    assert sarif_run(write("sarif"))["results"] == []


def test_sarif_paths_are_escaped_and_those_outside_are_absolute(write, project: Path):
    odd = replace(READ, location=at("src/a b#é.py", 1, 1, 1, 2))
    outside = replace(READ, location=at("/elsewhere/x.py", 1, 1, 1, 2))
    inside, away = sarif_run(write("sarif", odd, outside))["results"]
    assert inside["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/a%20b%23%C3%A9.py"
    assert away["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///elsewhere/x.py"}


@pytest.mark.parametrize("name", ["sarif", "gitlab"])
def test_fingerprints_survive_moved_lines_and_tell_twins_apart(write, project: Path, name):
    def prints() -> list[str]:
        moved = replace(READ, location=at("src/app.py", 15 + shift, 25, 15 + shift, 31))
        document = json.loads(write(name, moved, moved, replace(moved, code="OCL101")))
        if name == "gitlab":
            return [issue["fingerprint"] for issue in document]
        return [r["partialFingerprints"]["primaryLocationLineHash"] for r in document["runs"][0]["results"]]

    shift = 0
    before = prints()
    assert len(set(before)) == 3
    shift = 2
    (project / "src" / "app.py").write_text("# new\n\n" + HOST, encoding="utf-8")
    assert prints() == before


def test_notebook_cells(write, project: Path):
    cell = {"cell_type": "code", "source": "a = 1\nb = 2\n", "metadata": {}}
    (project / "n.ipynb").write_text(json.dumps({"cells": [cell, cell], "metadata": {}, "nbformat": 4}))
    found = replace(READ, location=replace(at("n.ipynb", 2, 1, 2, 6), cell=2), fix=None)
    assert "--> n.ipynb:cell 2:2:1\n  |\n2 | b = 2\n  | ^^^^^\n" in write("full", found)
    assert json.loads(write("json", found))[0]["cell"] == 2
    (result,) = sarif_run(write("sarif", found))["results"]
    assert result["locations"][0]["logicalLocations"][0]["name"] == "cell 2"


def test_github(write):
    race, read = write("github", RACE, READ).splitlines()
    assert race.startswith(
        "::error title=kexec-lint OCL101 (missing-wait-edge),file=src/app.py,line=11,endLine=14::"
        "src/app.py:11:11: OCL101 `square` reads `x`"
    )
    assert "%0A  src/app.py:9:10: writes `x`, event `up`%0A" in race
    assert read.startswith("::warning title=kexec-lint OCL201 (host-read-before-wait),file=src/app.py,line=15,")
    assert ",col=25,endColumn=31::" in read
    assert read.endswith("100%25")


def test_gitlab(write):
    (issue, _) = json.loads(write("gitlab", RACE, READ))
    assert issue["check_name"] == "OCL101"
    assert issue["severity"] == "critical"
    assert issue["location"] == {
        "path": "src/app.py",
        "positions": {"begin": {"line": 11, "column": 11}, "end": {"line": 14, "column": 6}},
    }


def test_junit(write):
    bad = replace(READ, message="a \x00 null and \ud800 \U0001f600")
    suites = ElementTree.fromstring(write("junit", RACE, READ, bad).encode())
    (suite,) = suites
    assert (suite.get("name"), suite.get("failures"), len(suite)) == ("src/app.py", "3", 3)
    failure = suite[1][0]
    assert failure.get("message") == "`out` is read <here> & now: 100%"
    assert suite[2][0].get("message") == "a \ufffd null and \ufffd \U0001f600"
    (passed,) = ElementTree.fromstring(write("junit").encode())
    assert passed.get("failures") == "0"


def test_rdjson_counts_bytes(write):
    document = json.loads(write("rdjson", RACE, READ))
    race, read = document["diagnostics"]
    assert document["source"]["name"] == "kexec-lint"
    assert race["location"]["path"] == "src/app.py"
    assert len(race["relatedLocations"]) == 3
    assert read["location"]["range"]["start"] == {"line": 15, "column": 25 + 1 + 3}
    assert read["suggestions"][0]["text"] == "up.wait(); "


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_takes_every_finding(write, name):
    bare = replace(READ, fix=None, location=at("gone.py", 1, 1, 1, 1))
    assert write(name, bare)
