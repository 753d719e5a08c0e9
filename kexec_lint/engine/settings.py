"""Settings from `[tool.kexec-lint]` in pyproject.toml or from kexec-lint.toml: found, read, checked by hand."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from kexec_lint.engine.patterns import Patterns

NAMES = ("kexec-lint.toml", ".kexec-lint.toml", "pyproject.toml")
"""Files that may hold settings, the first that does wins within a folder."""

CONFIDENCES = ("certain", "likely", "possible")


class SettingsError(ValueError):
    """A settings file that cannot be used; the text names the file, the line and what to write instead."""


class Settings(NamedTuple):
    """What a settings file says. `file` is None for the built-in settings, `base` the folder patterns start from.

    `select` None means the rules that are on by default. `models` declares own helpers, see docs/configuration;
    `diagnose` names knowledge files of `kexec-lint diagnose`, relative to `base`.
    (Every run makes this class; a frozen data class takes ten times as long to make as a named tuple.)
    """

    file: str | None = None
    base: str = ""
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    exclude: tuple[str, ...] = ()
    confidence: str = "likely"
    assume_out_of_order: bool = False
    compile_commands: str | None = None
    models: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    diagnose: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class Finder:
    """Settings by folder: those of the closest file at or above it, or one file, or none for all folders."""

    def __init__(self, config: str | None = None, isolated: bool = False) -> None:
        self._fixed = Settings() if isolated else read(os.path.abspath(config)) if config else None
        self._known: dict[str, Settings] = {}
        self._excludes: dict[str | None, Patterns] = {}

    def of(self, folder: str) -> Settings:
        """Return the settings in force for files directly in `folder`. Raises SettingsError."""
        if self._fixed is not None:
            return self._fixed
        known = self._known.get(folder)
        if known is None:
            own = _in_folder(folder)
            above = os.path.dirname(folder)
            if own is None:
                own = Settings() if above == folder else self.of(above)
            known = self._known[folder] = own
        return known

    def exclude(self, folder: str) -> Patterns:
        """Return the `exclude` patterns in force in `folder`."""
        settings = self.of(folder)
        patterns = self._excludes.get(settings.file)
        if patterns is None:
            patterns = self._excludes[settings.file] = Patterns(settings.base, settings.exclude)
        return patterns


def _in_folder(folder: str) -> Settings | None:
    for name in NAMES:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and (name != "pyproject.toml" or _mentions_us(path)):
            try:
                return read(path)
            except _NoTable:
                continue
    return None


def _mentions_us(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return b"kexec-lint" in file.read()
    except OSError:
        return False


class _NoTable(SettingsError):
    """A pyproject.toml without our table: the search goes on above it."""


def read(path: str) -> Settings:
    """Read one settings file, absolute `path`. Raises SettingsError with file, line and remedy."""
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not UTF-8 text") from None
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not TOML: {error}") from None
    table: Any = document
    header = ""
    if os.path.basename(path) == "pyproject.toml":
        tool = document.get("tool")
        if not isinstance(tool, dict) or "kexec-lint" not in tool:
            raise _NoTable(f"{path}: has no table [tool.kexec-lint]")
        table = tool["kexec-lint"]
        header = "tool.kexec-lint"
    return _Reader(path, text, header).settings(table)


class _Reader:
    """Checks one table and says where each error stands."""

    def __init__(self, path: str, text: str, header: str) -> None:
        self.path = path
        self.text = text
        self.header = header

    def settings(self, table: Any) -> Settings:
        if not isinstance(table, dict):
            raise self._error("kexec-lint", "must be a table")
        values: dict[str, Any] = {"file": self.path, "base": os.path.dirname(self.path)}
        for key, value in table.items():
            if key not in KEYS:
                raise self._error(key, f"unknown key {key!r}{_meant(key, KEYS)}")
            values[key.replace("-", "_")] = KEYS[key](self, key, value)
        return Settings(**values)

    def strings(self, key: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._error(key, f"{key} must be a list of strings")
        return tuple(value)

    def existing(self, key: str, value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise self._error(key, f"{key} must be the path of a file")
        path = os.path.normpath(os.path.join(os.path.dirname(self.path), value))
        if not os.path.isfile(path):
            raise self._error(key, f"{path}: no such file")
        return path

    def flag(self, key: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self._error(key, f"{key} must be true or false")
        return value

    def confidence(self, key: str, value: Any) -> str:
        if value not in CONFIDENCES:
            raise self._error(key, f"{key} must be one of {', '.join(CONFIDENCES)}{_meant(value, CONFIDENCES)}")
        return str(value)

    def codes_by_pattern(self, key: str, value: Any) -> dict[str, tuple[str, ...]]:
        if not isinstance(value, dict):
            raise self._error(key, f"{key} must be a table of pattern = [codes]")
        return {pattern: self.strings(pattern, codes) for pattern, codes in value.items()}

    def models(self, key: str, value: Any) -> dict[str, dict[str, Any]]:
        if not isinstance(value, dict) or not all(isinstance(model, dict) for model in value.values()):
            raise self._error(key, f'{key} must be a table of "module.function" = {{ … }}')
        return value

    def diagnose(self, key: str, value: Any) -> dict[str, tuple[str, ...]]:
        if not isinstance(value, dict) or not set(value) <= {"knowledge"}:
            raise self._error(key, f'{key} must be a table that holds knowledge = ["file.yaml"]')
        return {name: self.strings(name, files) for name, files in value.items()}

    def _error(self, key: str, message: str) -> SettingsError:
        return SettingsError(f"{self.path}:{self._row(key)}: {message}")

    def _row(self, key: str) -> int:
        """Return the line on which `key` stands; TOML parsers keep no positions, so the text is searched."""
        start = 0
        table = re.search(rf"^\s*\[\s*{re.escape(self.header)}\b", self.text, re.M) if self.header else None
        if table is not None:
            start = table.start()
        name = re.escape(key)
        for pattern in (
            rf"^\s*[\"']?{name}[\"']?\s*[.=]",
            rf"^\s*\[[^\]\n]*[.\s\"']{name}[\"']?\s*\]",
            rf"[\"'{{,.\s]{name}[\"']?\s*=",
        ):
            found = re.compile(pattern, re.M).search(self.text, start)
            if found is not None:
                place = found.start() + len(found[0]) - len(found[0].lstrip())
                return self.text.count("\n", 0, place) + 1
        return self.text.count("\n", 0, start) + 1


def row_of(file: str, text: str) -> int:
    """Return the line of a settings file on which a string stands, the last one if it is written several times."""
    with open(file, encoding="utf-8-sig") as source:
        rows = [row for row, line in enumerate(source, 1) if f'"{text}"' in line or f"'{text}'" in line]
    return rows[-1] if rows else 1


KEYS: dict[str, Callable[[_Reader, str, Any], Any]] = {
    "select": _Reader.strings,
    "extend-select": _Reader.strings,
    "ignore": _Reader.strings,
    "per-file-ignores": _Reader.codes_by_pattern,
    "exclude": _Reader.strings,
    "confidence": _Reader.confidence,
    "assume-out-of-order": _Reader.flag,
    "compile-commands": _Reader.existing,
    "models": _Reader.models,
    "diagnose": _Reader.diagnose,
}


def _meant(word: object, words: Mapping[str, object] | tuple[str, ...]) -> str:
    import difflib

    close = difflib.get_close_matches(str(word).replace("_", "-"), list(words), n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(words)}"
