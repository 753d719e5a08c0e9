"""The scanned tree as executors see it: imported modules and named files, every look-up recorded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache

from kexec_lint.engine.decoding import Unreadable, decode
from kexec_lint.engine.discovery import shown
from kexec_lint.engine.includes import Includes
from kexec_lint.engine.reading import LIMIT
from kexec_lint.source import Flags, Source

Lookup = tuple[str, str, int, str]
"""("module", name, level, importer), ("read", path, 0, relative_to); in C and C++ ("include", name, 0, importer),
("counterpart", "", 0, header) and ("flags", "", 0, path), which finds the compilation database. The path of one that
the user named stands behind these three kinds and a space.
"""

_NATIVE = ("include", "counterpart", "flags")
PROJECT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "kexec-lint.toml", ".hg")


class Tree:
    """Files of one run, each read once. `roots` are the folders that the user named, absolute."""

    def __init__(self, start: str, roots: Sequence[str]) -> None:
        self.start = start
        self.roots = tuple(roots)
        self._data: dict[str, bytes | None] = {}
        self._digests: dict[str, str | None] = {}
        self._sources: dict[str, Source | None] = {}
        self._resolved: dict[tuple[str, str, int, str], str | None] = {}
        self._includes: dict[tuple[str, ...], Includes] = {}

    def resolve(self, lookup: Lookup) -> str | None:
        """Return the absolute path of the file that a look-up means, or None."""
        kind, name, level, origin = lookup
        path = self._absolute(origin)
        folder = os.path.dirname(path)
        native = kind.startswith(_NATIVE)
        key = (kind, name, level, path if native else folder)
        if key not in self._resolved:
            if native:
                find = self._native_path(kind, name, path)
            else:
                find = self._module_path(name, level, folder) if kind == "module" else self._named_path(name, folder)
            self._resolved[key] = find
        return self._resolved[key]

    def flags(self, path: str, database: str) -> Flags | None:
        """Return what the compilation database says of a file; `database` is the one that the user named, or ""."""
        absolute = self._absolute(path)
        return self._around(os.path.dirname(absolute)).flags(absolute, database)

    def _native_path(self, kind: str, name: str, path: str) -> str | None:
        kind, _, database = kind.partition(" ")
        around = self._around(os.path.dirname(path))
        if kind == "flags":
            return around.database(path, database)
        found = around.header(name, path, database) if kind == "include" else around.source(path)
        return found if found is not None and self._inside(found, os.path.dirname(path)) else None

    def _around(self, folder: str) -> Includes:
        """Return what knows the C and C++ files around a folder."""
        bases = self.roots if any(f"{folder}{os.sep}".startswith(f"{r}{os.sep}") for r in self.roots) else ()
        bases = bases or (project_root(folder),)
        if bases not in self._includes:
            self._includes[bases] = Includes(bases, self._is_file)
        return self._includes[bases]

    def digest(self, lookup: Lookup) -> str | None:
        """Return a digest of what a look-up finds, path and content, or None if it finds nothing."""
        path = self.resolve(lookup)
        if path is None:
            return None
        if path not in self._digests:
            data = self._bytes(path) if not lookup[0].startswith("flags") else _whole(path)
            named = os.fsencode(path) + b"\0"
            self._digests[path] = None if data is None else content_digest(named + data)
        return self._digests[path]

    def source(self, lookup: Lookup) -> Source | None:
        """Return the file that a look-up finds as text, or None."""
        path = self.resolve(lookup)
        if path is None:
            return None
        if path not in self._sources:
            data = self._bytes(path)
            try:
                self._sources[path] = None if data is None else decode(shown(path, self.start), data)
            except Unreadable:
                self._sources[path] = None
        return self._sources[path]

    def overlay(self, path: str, data: bytes) -> None:
        """Let `data` stand for the content of a file: standard input, an unsaved editor buffer."""
        self._data[path] = data

    def _absolute(self, path: str) -> str:
        return path if os.path.isabs(path) else os.path.normpath(os.path.join(self.start, path))

    def _bytes(self, path: str) -> bytes | None:
        if path not in self._data:
            try:
                with open(path, "rb") as file:
                    data = file.read(LIMIT + 1)
                self._data[path] = data if len(data) <= LIMIT else None
            except OSError:
                self._data[path] = None
        return self._data[path]

    def _module_path(self, name: str, level: int, folder: str) -> str | None:
        parts = name.split(".") if name else []
        if level:
            base = folder
            for _ in range(level - 1):
                base = os.path.dirname(base)
            return self._module_file(base, parts) if self._inside(base, folder) else None
        if not parts:
            return None
        bases = [_package_root(folder), folder, *self.roots, project_root(folder)]
        for base in dict.fromkeys(b for root in bases for b in (root, os.path.join(root, "src"))):
            found = self._module_file(base, parts)
            if found is not None:
                return found
        return None

    def _named_path(self, name: str, folder: str) -> str | None:
        path = os.path.normpath(os.path.join(folder, name))
        return path if self._inside(path, folder) and self._is_file(path) else None

    def _module_file(self, base: str, parts: list[str]) -> str | None:
        stem = os.path.join(base, *parts) if parts else base
        for path in (os.path.join(stem, "__init__.py"), f"{stem}.py" if parts else ""):
            if path and self._is_file(path):
                return path
        return None

    def _is_file(self, path: str) -> bool:
        return os.path.isfile(path)

    def _inside(self, path: str, folder: str) -> bool:
        """Return whether a path lies in the scanned folders or in the project that `folder` belongs to."""
        bounds = (*self.roots, project_root(folder), _package_root(folder))
        return any(path == bound or path.startswith(bound.rstrip(os.sep) + os.sep) for bound in bounds)


class RecordingProject:
    """A `Project` for one file: looks up in the tree and remembers what was asked, found or not."""

    def __init__(self, tree: Tree, database: str = "") -> None:
        self._tree = tree
        self._database = database
        self._suffix = f" {database}" if database else ""
        self._asked: dict[Lookup, None] = {}

    def module(self, name: str, level: int, importer: str) -> Source | None:
        """Return the source of Python module `name`, imported with `level` leading dots by file `importer`."""
        return self._look_up(("module", name, level, importer))

    def read(self, path: str, relative_to: str) -> Source | None:
        """Return a text file named by the source, relative to file `relative_to`."""
        return self._look_up(("read", path, 0, relative_to))

    def include(self, name: str, importer: str) -> Source | None:
        """Return the file that an `#include` means."""
        return self._look_up((f"include{self._suffix}", name, 0, importer))

    def counterpart(self, header: str) -> Source | None:
        """Return the source file that holds what a header declares."""
        return self._look_up((f"counterpart{self._suffix}", "", 0, header))

    def flags(self, path: str) -> Flags | None:
        """Return what the compilation database says of a file, None if there is none."""
        self._asked[f"flags{self._suffix}", "", 0, path] = None
        return self._tree.flags(path, self._database)

    def dependencies(self) -> list[tuple[Lookup, str | None]]:
        """Return every look-up with the digest of what it found."""
        return [(lookup, self._tree.digest(lookup)) for lookup in self._asked]

    def _look_up(self, lookup: Lookup) -> Source | None:
        self._asked[lookup] = None
        return self._tree.source(lookup)


def content_digest(data: bytes) -> str:
    """Return the digest by which the cache tells contents apart."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _whole(path: str) -> bytes | None:
    """Return the content of a compilation database, which may be larger than any source."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


@lru_cache(maxsize=4096)
def _package_root(folder: str) -> str:
    """Return the folder that holds the outermost package around `folder`."""
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return folder


@lru_cache(maxsize=4096)
def project_root(folder: str) -> str:
    """Return the closest folder at or above that looks like the top of a project, or `folder` itself."""
    above = folder
    while True:
        if any(os.path.exists(os.path.join(above, mark)) for mark in PROJECT_MARKS):
            return above
        parent = os.path.dirname(above)
        if parent == above:
            return folder
        above = parent
