"""Where C and C++ files find one another: include paths, headers by their name in the tree, a header's source file.

What a compilation database says goes first. Without one, `#include "util/cl.hpp"` means the file beside the includer,
else the one in the tree whose path ends so and that lies nearest to it; two that lie equally near mean neither.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence

from kexec_lint.engine.patterns import DEFAULT_EXCLUDE
from kexec_lint.source import Flags

_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inl", ".cl", ".clh", ".ocl", ".inc", ".opencl")
_SOURCES = (".c", ".cc", ".cpp", ".cxx")
_READ = frozenset((*_HEADERS, *_SOURCES))
_DATABASE = "compile_commands.json"
_LARGEST = 64 * 1024 * 1024
_MOST = 100_000
_VENDORED = re.compile(
    r"(?:^|/)(?:(?:cl|cl2|opencl)\.(?:h|hpp)|(?:CL|OpenCL)/cl_[a-z0-9_]+\.h|cl_(?:platform|ext|ext_intel|gl|gl_ext|egl|"
    r"half|icd|layer|version|function_types|d3d1[01]|dx9_media_sharing(?:_intel)?)\.h|boost/compute[\w./]*\.hpp)$"
)
"""Headers of the API itself: its tables say what they would."""


class Includes:
    """Answers for one tree. `bases` are the folders whose files count."""

    def __init__(self, bases: Sequence[str], is_file: Callable[[str], bool]) -> None:
        self.bases = tuple(bases)
        self._is_file = is_file
        self._names: dict[str, list[str]] | None = None
        self._databases: dict[str, dict[str, Flags]] = {}
        self._found: dict[str, str | None] = {}

    def header(self, name: str, importer: str, chosen: str) -> str | None:
        """Return the file that `#include` means in an absolute path; `<name>` for one between angles."""
        angled = name.startswith("<")
        name = name.strip("<>").replace("\\", "/")
        if _VENDORED.search(name):
            return None
        folder = os.path.dirname(importer)
        if not angled and self._is_file(beside := os.path.normpath(os.path.join(folder, name))):
            return beside
        flags = self.flags(importer, chosen)
        for directory in flags.include if flags is not None else ():
            if self._is_file(path := os.path.normpath(os.path.join(directory, name))):
                return path
        if angled and "/" not in name:
            return None
        tail = "/".join(part for part in name.split("/") if part not in (".", ".."))
        return self._nearest((p for p in self._called(tail) if p.endswith(f"{os.sep}{tail}")), importer)

    def source(self, header: str) -> str | None:
        """Return the source file that goes with a header by its name, None if there is none, or several."""
        stem = os.path.splitext(header)[0]
        for suffix in _SOURCES:
            if self._is_file(stem + suffix):
                return stem + suffix
        name = os.path.basename(stem)
        return self._nearest((path for suffix in _SOURCES for path in self._called(name + suffix)), header)

    def database(self, path: str, chosen: str) -> str | None:
        """Return the compilation database for a file: the chosen one, or one at the top of the tree or below it."""
        if chosen:
            return chosen if os.path.isfile(chosen) else None
        for base in self.bases:
            if not path.startswith(base.rstrip(os.sep) + os.sep):
                continue
            if base not in self._found:
                self._found[base] = _database_in(base)
            if self._found[base] is not None:
                return self._found[base]
        return None

    def flags(self, path: str, chosen: str) -> Flags | None:
        """Return the include folders and macros of a file; those of all files for a header, which has none."""
        database = self.database(path, chosen)
        if database is None:
            return None
        if database not in self._databases:
            self._databases[database] = _read(database)
        entries = self._databases[database]
        return entries.get(path, entries.get(""))

    def _called(self, name: str) -> list[str]:
        if self._names is None:
            self._names = {}
            for path in _walk(self.bases):
                self._names.setdefault(path[path.rfind(os.sep) + 1 :], []).append(path)
        return self._names.get(name[name.rfind("/") + 1 :], [])

    def _nearest(self, paths: Iterable[str], origin: str) -> str | None:
        folders = origin.split(os.sep)[:-1]

        def shared(path: str) -> int:
            parts = path.split(os.sep)[:-1]
            return next((n for n, (a, b) in enumerate(zip(parts, folders, strict=False)) if a != b), len(parts))

        ranked = sorted(((shared(path), path) for path in paths if self._is_file(path)), reverse=True)
        if not ranked or (len(ranked) > 1 and ranked[0][0] == ranked[1][0]):
            return None
        return ranked[0][1]


def _walk(bases: Iterable[str]) -> Iterator[str]:
    seen = 0
    pending = list(dict.fromkeys(bases))
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                listing = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listing:
            if "." in entry.name and os.path.splitext(entry.name)[1].lower() in _READ:
                seen += 1
                if seen > _MOST:
                    return
                yield entry.path
            elif entry.name not in DEFAULT_EXCLUDE and entry.name[0] != "." and entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)


def _database_in(base: str) -> str | None:
    """Return the database in a folder or in one below it, such as `build`; of several, none."""
    own = os.path.join(base, _DATABASE)
    if os.path.isfile(own):
        return own
    try:
        with os.scandir(base) as entries:
            below = [os.path.join(e.path, _DATABASE) for e in entries if e.is_dir(follow_symlinks=False)]
    except OSError:
        return None
    found = [path for path in below if os.path.isfile(path)]
    return found[0] if len(found) == 1 else None


def _read(path: str) -> dict[str, Flags]:
    """Return the flags by absolute path; under "" the include folders of all files. Nothing of what is no database."""
    try:
        if os.path.getsize(path) > _LARGEST:
            return {}
        with open(path, encoding="utf-8", errors="replace") as file:
            document = json.load(file)
    except (OSError, ValueError):
        return {}
    entries: dict[str, Flags] = {}
    every: dict[str, None] = {}
    for entry in document if isinstance(document, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
            continue
        directory = os.path.normpath(os.path.join(os.path.dirname(path), str(entry.get("directory", ""))))
        flags = _flags(_words(entry), directory)
        entries.setdefault(os.path.normpath(os.path.join(directory, entry["file"])), flags)
        every.update(dict.fromkeys(flags.include))
    if entries:
        entries[""] = Flags(tuple(every), ())
    return entries


def _words(entry: dict[str, object]) -> list[str]:
    arguments, command = entry.get("arguments"), entry.get("command")
    if isinstance(arguments, list):
        return [str(word) for word in arguments]
    try:
        return shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return []


def _flags(words: list[str], directory: str) -> Flags:
    """Read `-I`, `-isystem`, `-iquote`, `-D` and `-U`, their value joined to them or in the next word."""
    folders: list[str] = []
    defines: dict[str, str | None] = {}
    rest = iter(words)
    for word in rest:
        match = re.match(r"(-isystem|-iquote|-idirafter|[-/]I|[-/]D|-U)(.*)", word, re.DOTALL)
        if match is None:
            continue
        value = match[2].removeprefix("=") if match[1] in ("-isystem", "-iquote") else match[2]
        value = value or next(rest, "")
        if match[1][1:] == "D":
            name, equals, text = value.partition("=")
            defines[name] = text if equals else "1"
        elif match[1] == "-U":
            defines[value] = None
        elif value:
            folders.append(os.path.normpath(os.path.join(directory, value)))
    return Flags(tuple(dict.fromkeys(folders)), tuple(defines.items()))
