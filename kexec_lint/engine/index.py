"""A compact index of rule pages and executors' needles, so that a run need not parse pages nor import executors.

It is rebuilt whenever a file of the package or a page changes, and read from the pages where it cannot be kept.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kexec_lint import __version__
from kexec_lint.engine import executors
from kexec_lint.engine.rules import RuleEntry
from kexec_lint.findings import Severity

PACKAGE = Path(__file__).parent.parent


@dataclass
class Index:
    """Rules by code, one note for each page that does not load, and what was learnt of executors."""

    digest: str
    rules: dict[str, RuleEntry] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    file: Path | None = None
    _readers: dict[str, dict[str, list[Any]]] = field(default_factory=dict)

    def readers(self, codes: frozenset[str]) -> list[executors.Reader]:
        """Return suffixes and needles of every executor for a set of rules."""
        key = hashlib.blake2b(",".join(sorted(codes)).encode(), digest_size=16).hexdigest()
        known = self._readers.get(key, {})
        result = []
        learnt = False
        for name, module in executors.EXECUTORS.items():
            entry = known.get(name)
            if entry is not None and entry[0] == module:
                suffixes, needles = entry[1:]
                needles = tuple(needle.encode("latin-1") for needle in needles)
                result.append(executors.Reader(name, module, frozenset(suffixes), needles))
                continue
            try:
                reader = executors.reader(name, module, codes)
            except Exception as error:
                self.errors.append(f"{name}: internal error: {type(error).__name__}: {error}")
                continue
            result.append(reader)
            if module.startswith("kexec_lint."):  # only of our own modules does the digest tell when they change
                known[name] = [module, sorted(reader.suffixes), [n.decode("latin-1") for n in reader.needles]]
                learnt = True
        if learnt:
            if len(self._readers) > 50:
                self._readers.clear()
            self._readers[key] = known
            self.save()
        return result

    def save(self) -> None:
        """Write the index; a folder that cannot be written only costs time on the next run."""
        if self.file is None or self.notes:
            return
        document = {
            "digest": self.digest,
            "rules": [[r.code, r.name, r.severity.value, r.default, r.family] for r in self.rules.values()],
            "readers": self._readers,
        }
        temporary = self.file.with_name(f"{self.file.name}.{os.getpid()}")
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(document), encoding="utf-8")
            temporary.replace(self.file)
        except OSError:
            return


def load(directory: Path | None) -> Index:
    """Return the index kept in the cache folder `directory` if it is of this very package, else a new one."""
    digest = package_digest()
    file = directory / "index.json" if directory else None
    if file is not None:
        try:
            document = json.loads(file.read_bytes())
            if document["digest"] == digest:
                rules = [
                    RuleEntry(code, name, Severity(severity), default, family)
                    for code, name, severity, default, family in document["rules"]
                ]
                return Index(digest, {rule.code: rule for rule in rules}, file=file, _readers=document["readers"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass  # absent, half-written or of another version: built anew below
    index = Index(digest, file=file)
    _read_pages(index)
    index.save()
    return index


def _read_pages(index: Index) -> None:
    from kexec_lint import rulebook

    for page in sorted(rulebook.rules_directory().rglob("[A-Z]*.md")):
        try:
            rule = rulebook.read(page)
        except (rulebook.RulePageError, OSError, UnicodeDecodeError) as error:
            index.notes.append(f"rule page not loaded: {error}")
            continue
        index.rules[rule.code] = RuleEntry(rule.code, rule.name, rule.severity, rule.default, page.parent.name)


def package_digest() -> str:
    """Return a digest of version, sources and pages of this installation.

    A built install is told by names and sizes, so that a cache can move between machines; an editable one, whose
    files change, by their times too.
    """
    built = (PACKAGE / "_rules").is_dir()
    digest = hashlib.blake2b(__version__.encode(), digest_size=16)
    pending = [str(PACKAGE)] if built else [str(PACKAGE), str(PACKAGE.parent / "rules")]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name.endswith((".py", ".md", ".yaml", ".json", ".toml")):
                status = entry.stat()
                digest.update(f"{entry.path[len(folder) :]}:{status.st_size}".encode())
                if not built:
                    digest.update(f":{status.st_mtime_ns}".encode())
            elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                pending.append(entry.path)
                digest.update(entry.name.encode())
    return digest.hexdigest()
