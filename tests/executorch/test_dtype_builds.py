"""EXT110 and EXT111 against dtype-selective C++ builds of executorch 1.4.1, recorded as they ran.

A row is a program's calls, the keys of the selection from which codegen made the header (the program's own by
gen_oplist, that of another program, or `opset minimal`), and how the binary ended: the name and scalar type on which it
aborted, or null.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pte
import pytest
import yaml
from click.testing import CliRunner

from kexec_lint.cli.opset import command
from kexec_lint.executorch.keys import BFLOAT16, HALF

ROWS = json.loads((Path(__file__).parent / "recorded" / "dtype_builds.json").read_text())


def dtypes(row: dict[str, Any]) -> set[int]:
    parts = [part for call in row["calls"] for arguments in call.values() for part in arguments]
    return {int(part.split(";")[0]) for part in parts if isinstance(part, str)}


def test_what_was_built() -> None:
    reduced = {row["model"] for row in ROWS if dtypes(row) & {HALF, BFLOAT16}}
    assert len(reduced) >= 20
    for selection in ("own", "minimal"):
        assert any(row["selection"] == selection for row in ROWS)
    assert {row["aborts"] is None for row in ROWS} == {True, False}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['model']} on {row['selection']}")
def test_verdict_is_that_of_the_binary(row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.pte").write_bytes(pte.program({"forward": {"calls": row["calls"]}}))
    flags = {"include_all_overloads": False, "is_root_operator": True, "is_used_for_training": True}
    selection = {"et_kernel_metadata": row["keys"], "operators": dict.fromkeys(row["keys"], flags)}
    Path("ops.yaml").write_text(yaml.safe_dump(selection))
    result = CliRunner().invoke(
        command,
        [
            *("check", "net.pte", "--build", "ops.yaml", "--dtype-selective", "--target-version", "1.4.1"),
            *("--select", "EXT110,EXT111", "--output-format", "json"),
        ],
    )
    found = set()
    for entry in json.loads(result.stdout):
        said = re.search(r'"v1/(\d+);"', entry["help"])
        name = re.search(r"for operator (\S+)`", entry["message"])
        assert said is not None
        found.add((name[1] if name else entry["operator"].removeprefix("aten::"), int(said[1])))
    if row["aborts"] is None:
        assert found == set()
    else:
        assert tuple(row["aborts"]) in found
