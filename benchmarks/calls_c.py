"""Count the enqueue calls of C and C++ files as text and as the front end finds them.

    python benchmarks/calls_c.py TREE…

The text count takes every name that ends in `nqueueXxx(`, comments, strings and vendored `CL/*.h` left out; the other
one the calls of such names in the lowered program, every function body included. Declarations are in the first only.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from kexec_lint.opencl import NATIVE
from kexec_lint.opencl import program as p
from kexec_lint.opencl.frontend.c import lower
from kexec_lint.source import Source

CALL = re.compile(r"\b\w*[eE]nqueue(?:[A-Z]\w*|_\w+)\s*\(")
NAME = re.compile(r"(?:^|\W)\w*[eE]nqueue(?:[A-Z]\w*|_\w+)$")
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
VENDORED = re.compile(r"(?:^|/)(?:CL|OpenCL)/|(?:^|/)(?:cl|cl2|opencl)\.hpp$|boost/compute/")


def calls(node: object) -> Iterator[p.Call]:
    """Yield the calls in a statement or value, however deep."""
    if isinstance(node, p.Call):
        yield node
    if isinstance(node, p.Function):
        for one in node.body:
            yield from calls(one)
    elif isinstance(node, tuple):
        for one in node:
            yield from calls(one)
    elif dataclasses.is_dataclass(node) and not isinstance(node, type):
        for field in dataclasses.fields(node):
            yield from calls(getattr(node, field.name))


def counts(source: Source) -> tuple[int, int]:
    """Return how many calls the text has, and how many places of calls the front end finds."""
    text = len(CALL.findall(NOISE.sub(" ", source.text)))
    if not text:
        return 0, 0
    found = set()
    for call in calls(lower(source).body):
        func = call.func
        name = func.id if isinstance(func, p.Name) else func.name if isinstance(func, p.Attr) else ""
        if NAME.search(name):
            found.add((call.span, name))
    return text, min(text, len(found))


def main() -> int:
    """Print one row a tree, and the sum."""
    sys.setrecursionlimit(10_000)
    total = [0, 0, 0]
    for tree in sys.argv[1:]:
        row = [0, 0, 0]
        for path in sorted(Path(tree).rglob("*")):
            if path.suffix.lower() in NATIVE and path.is_file() and not VENDORED.search(str(path)):
                data = path.read_bytes()
                text, found = counts(Source(str(path), data.decode("utf-8", "replace"), data))
                row = [row[0] + bool(text), row[1] + text, row[2] + found]
        print(f"{tree}: {row[0]} files, {row[1]} calls as text, {row[2]} found")
        total = [a + b for a, b in zip(total, row, strict=True)]
    print(f"all: {total[0]} files, {total[1]} as text, {total[2]} found, {100 * total[2] / max(total[1], 1):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
