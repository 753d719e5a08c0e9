"""Checks a tree of sources given as text, without the engine, and compares with the `expect: CODE` marks in it."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass, field

from kexec_lint import aten, rulebook
from kexec_lint.findings import Finding
from kexec_lint.source import Options, Source

MARK = re.compile(r"expect:\s*([A-Z]{3}\d{3}(?:\s*,\s*[A-Z]{3}\d{3})*)")
DEFAULT = frozenset(code for code, rule in rulebook.load().items() if code.startswith("ATN") and rule.default)


@dataclass
class Tree:
    """A `Project` over texts; paths are relative with forward slashes."""

    files: dict[str, str]
    looked_up: list[str] = field(default_factory=list)

    def source(self, path: str) -> Source | None:
        self.looked_up.append(path)
        text = self.files.get(posixpath.normpath(path))
        return None if text is None else Source(path, text, text.encode())

    def module(self, name: str, level: int, importer: str) -> Source | None:
        folder = posixpath.dirname(importer)
        for _ in range(max(level - 1, 0)):
            folder = posixpath.dirname(folder)
        base = posixpath.join(folder if level else "", name.replace(".", "/")).strip("/")
        return self.source(f"{base}.py") or self.source(posixpath.join(base, "__init__.py"))

    def read(self, path: str, relative_to: str) -> Source | None:
        return self.source(posixpath.join(posixpath.dirname(relative_to), path))


def check(files: dict[str, str], confidence: str = "likely", codes: frozenset[str] = DEFAULT) -> list[Finding]:
    """Scan every file that holds a needle, send the facts through JSON, conclude."""
    options = Options(codes, confidence)
    tree, facts = Tree(files), {}
    for path, text in files.items():
        data = text.encode()
        suffix = "." + path.rpartition(".")[2]
        if suffix in aten.SUFFIXES and any(needle in data for needle in aten.needles(codes, suffix)):
            result = aten.scan(Source(path, text, data), tree, options)
            assert not result.findings
            if result.facts is not None:
                facts[path] = json.loads(json.dumps(result.facts))
    return aten.conclude(facts, options)


def expected(files: dict[str, str]) -> list[tuple[str, int, str]]:
    return sorted(
        (path, row, code)
        for path, text in files.items()
        for row, line in enumerate(text.split("\n"), 1)
        for codes in MARK.findall(line)
        for code in re.split(r"\s*,\s*", codes)
    )


def found(findings: list[Finding]) -> list[tuple[str, int, str]]:
    return sorted((f.location.filename, f.location.row, f.code) for f in findings)
