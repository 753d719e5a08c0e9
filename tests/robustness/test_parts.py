"""Parts of a run on real sources: joined they are the report of the whole."""

from __future__ import annotations

import json

FORMATS = ("json", "sarif")


def test_joined_parts_are_the_whole(planted, tool):
    def check(name: str, *arguments: str) -> None:
        outputs = [f"--output-format={format}:../{name}.{format}" for format in FORMATS]
        called = tool("check", "--select", "ALL", "--confidence", "possible", *outputs, *arguments)
        assert called.returncode == 1, called.stderr

    check("whole")
    for part in "123":
        check(part, "--shard", f"{part}/3")
    sizes = {name: (planted.parent / f"{name}.json").stat().st_size for name in ("whole", *"123")}
    assert max(sizes[part] for part in "123") < sizes["whole"] * 2 / 3

    joined = tool("merge", "--exit-zero", *(f"../{part}.json" for part in "231"))
    assert joined.stdout == (planted.parent / "whole.json").read_text(encoding="utf-8")
    assert len(json.loads(joined.stdout)) > 60

    (run,) = json.loads(tool("merge", *(f"../{part}.sarif" for part in "231")).stdout)["runs"]
    (whole,) = json.loads((planted.parent / "whole.sarif").read_text(encoding="utf-8"))["runs"]
    for document in (run, whole):  # what could not be checked is told part by part
        document["invocations"][0]["toolExecutionNotifications"].sort(key=str)
    assert run == whole
