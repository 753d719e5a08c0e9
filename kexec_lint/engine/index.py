"""A compact index of rule pages and executors' needles, so that a run need not parse pages nor import executors.

It is rebuilt whenever a file of the package or a page changes, and read from the pages where it cannot be kept.
"""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

from kexec_lint import __version__, plugins
from kexec_lint.engine import executors
from kexec_lint.engine.rules import RuleEntry
from kexec_lint.engine.settings import SettingsError
from kexec_lint.plugins import PluginError

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_KEPT = 50  # sets of rules whose needles are kept


class Index:
    """Rules by code, one note for each page that does not load, one error for each executor that does not.

    `fingerprint` tells versions of this installation apart.
    """

    def __init__(self, fingerprint: str, file: str | None) -> None:
        self.fingerprint = fingerprint
        self.rules: dict[str, RuleEntry] = {}
        self.notes: list[str] = []
        self.errors: list[str] = []
        self._file = file
        self._environment = plugins.environment()
        self._readers: dict[str, dict[str, list[Any]]] = {}

    def readers(self, codes: frozenset[str]) -> list[executors.Reader]:
        """Return suffixes and needles of every executor for a set of rules."""
        key = " ".join(sorted(codes))
        known = self._readers.get(key, {})
        result = []
        learnt = False
        others = {plugin.name: plugin.module for plugin in plugins.installed(plugins.EXECUTORS)}
        for name, module in {**others, **executors.EXECUTORS}.items():
            if name in known and known[name][0] == module:
                _, alone, needles, mentions, unless = known[name]
                by_suffix = {suffix: _bytes(words) for suffix, words in needles.items()}
                said = {suffix: _bytes(words) for suffix, words in mentions.items()}
                parts = {needle.encode("latin-1"): _bytes(words) for needle, words in unless.items()}
                result.append(executors.Reader(name, module, by_suffix, said, alone, parts))
                continue
            try:
                reader = executors.reader(name, module, codes)
            except Exception as error:
                self.errors.append(f"{name}: internal error: {type(error).__name__}: {error}")
                continue
            result.append(reader)
            if module.startswith("kexec_lint."):  # only of our own modules the fingerprint tells when they change
                needles = {suffix: _texts(words) for suffix, words in reader.needles.items()}
                mentions = {suffix: _texts(words) for suffix, words in reader.mentions.items()}
                unless = {needle.decode("latin-1"): _texts(words) for needle, words in reader.unless.items()}
                known[name] = [module, reader.alone, needles, mentions, unless]
                learnt = True
        if learnt:
            if len(self._readers) >= _KEPT:
                self._readers.clear()
            self._readers[key] = known
            self.save()
        return result

    def restore(self) -> bool:
        """Read the index that an earlier run saved. Return whether there was one of this very installation."""
        if self._file is None:
            return False
        try:
            with open(self._file, encoding="utf-8") as file:
                seal, _, text = file.read().partition("\n")
            if seal != _seal(text):
                return False
            document = json.loads(text)
            if document["fingerprint"] != self.fingerprint or document["environment"] != self._environment:
                return False
            plugins.remember(document["plugins"])
            if document["plug-ins"] != plugins.fingerprint():
                return False
            rules = [RuleEntry(*fields) for fields in document["rules"]]
            self._readers = document["readers"]
        except (OSError, ValueError, KeyError, TypeError):
            return False
        self.rules = {rule.code: rule for rule in rules}
        return True

    def save(self) -> None:
        """Write the index; a folder that cannot be written only costs time on the next run."""
        if self._file is None or self.notes:
            return
        document = {
            "fingerprint": self.fingerprint,
            "environment": self._environment,
            "plugins": plugins.installed(),
            "plug-ins": plugins.fingerprint(),
            "rules": list(self.rules.values()),
            "readers": self._readers,
        }
        text = json.dumps(document)
        temporary = f"{self._file}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._file), exist_ok=True)
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(f"{_seal(text)}\n{text}")
            os.replace(temporary, self._file)
        except OSError:
            return


def _seal(text: str) -> str:
    """Return a check sum: a needle that a disk fault changed would miss files."""
    return f"{zlib.crc32(text.encode()):08x}"


def load(directory: str | os.PathLike[str] | None) -> Index:
    """Return the index kept in the cache folder `directory` if it is of this very installation, else a new one.

    Raises SettingsError for a plug-in that cannot be used.
    """
    # One file an installation: two of them, run in turn, must not overwrite each other's.
    name = f"index-{zlib.crc32(os.fsencode(PACKAGE)):08x}.json"
    index = Index(fingerprint(), os.path.join(directory, name) if directory else None)
    try:
        if not index.restore():
            _read_pages(index)
            index.save()
    except PluginError as error:
        raise SettingsError(str(error)) from None
    index.fingerprint += plugins.fingerprint()
    return index


def _texts(words: tuple[bytes, ...]) -> list[str]:
    return [word.decode("latin-1") for word in words]


def _bytes(words: list[str]) -> tuple[bytes, ...]:
    return tuple(word.encode("latin-1") for word in words)


def _read_pages(index: Index) -> None:
    from kexec_lint import rulebook

    for page in rulebook.pages():
        try:
            rule = rulebook.read(page)
        except (rulebook.RulePageError, OSError, UnicodeDecodeError) as error:
            index.notes.append(f"rule page not loaded: {error}")
            continue
        if rule.code in index.rules:
            index.notes.append(f"rule page not loaded: {page}: there is a rule {rule.code} already")
            continue
        index.rules[rule.code] = RuleEntry(rule.code, rule.name, rule.severity.value, rule.default, page.parent.name)


def fingerprint() -> str:
    """Return version, and names and sizes of the sources and pages of this installation.

    An editable one, whose files change, is told by their times too; a built one is not, so that a cache can move
    between machines.
    """
    built = os.path.isdir(os.path.join(PACKAGE, "_rules"))
    parts = [__version__]
    pending = [PACKAGE] if built else [PACKAGE, os.path.join(os.path.dirname(PACKAGE), "rules")]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            name = entry.name
            if name.endswith((".py", ".md", ".yaml", ".json", ".toml")):
                status = entry.stat()
                parts.append(f"{name}:{status.st_size}" if built else f"{name}:{status.st_size}:{status.st_mtime_ns}")
            elif "." not in name and name != "__pycache__" and entry.is_dir():
                parts.append(name)
                pending.append(entry.path)
    return " ".join(parts)
