"""A folder of real sources for runs of the whole tool: the examples of all rule pages, each under its rule's code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kexec_lint import rulebook

SUFFIXES = {"python": "py", "c": "c", "cpp": "cpp", "opencl": "cl", "yaml": "yaml", "cmake": "cmake", "starlark": "bzl"}
MORE = Path(__file__).parent / "data" / "programs"


def sources() -> Iterator[tuple[str, str]]:
    """Yield name and text of every source: the examples of rule pages and the test programs."""
    for code, rule in sorted(rulebook.load().items()):
        for number, example in enumerate(rule.examples()):
            folder = f"{code.lower()}_{number}"
            if example.language in SUFFIXES:
                yield f"{folder}.{SUFFIXES[example.language]}", example.text
            elif example.language == "tree":
                parts = re.split(r"^=== (.+)\n", example.text, flags=re.M)
                for name, text in zip(parts[1::2], parts[2::2], strict=True):
                    yield f"{folder}/{name}", text
    for path in sorted(MORE.glob("*.py")):
        yield path.name, path.read_text(encoding="utf-8")


def plant(folder: Path, every: int = 1) -> None:
    """Write all sources, or only every so many of them, into a folder."""
    for name, text in list(sources())[::every]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
