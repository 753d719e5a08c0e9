"""The scanned tree as executors see it: imported modules and named files, every look-up recorded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache

from kexec_lint.engine.check import LIMIT
from kexec_lint.engine.decoding import Unreadable, decode
from kexec_lint.engine.discovery import shown
from kexec_lint.source import Source

Lookup = tuple[str, str, int, str]
"""("module", name, level, importer) or ("read", path, 0, relative_to)."""

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

    def resolve(self, lookup: Lookup) -> str | None:
        """Return the absolute path of the file that a look-up means, or None."""
        kind, name, level, origin = lookup
        folder = os.path.dirname(self._absolute(origin))
        key = (kind, name, level, folder)
        if key not in self._resolved:
            find = self._module_path(name, level, folder) if kind == "module" else self._named_path(name, folder)
            self._resolved[key] = find
        return self._resolved[key]

    def digest(self, lookup: Lookup) -> str | None:
        """Return a digest of what a look-up finds, path and content, or None if it finds nothing."""
        path = self.resolve(lookup)
        if path is None:
            return None
        if path not in self._digests:
            data = self._bytes(path)
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

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._asked: dict[Lookup, None] = {}

    def module(self, name: str, level: int, importer: str) -> Source | None:
        """Return the source of Python module `name`, imported with `level` leading dots by file `importer`."""
        return self._look_up(("module", name, level, importer))

    def read(self, path: str, relative_to: str) -> Source | None:
        """Return a text file named by the source, relative to file `relative_to`."""
        return self._look_up(("read", path, 0, relative_to))

    def dependencies(self) -> list[tuple[Lookup, str | None]]:
        """Return every look-up with the digest of what it found."""
        return [(lookup, self._tree.digest(lookup)) for lookup in self._asked]

    def _look_up(self, lookup: Lookup) -> Source | None:
        self._asked[lookup] = None
        return self._tree.source(lookup)


def content_digest(data: bytes) -> str:
    """Return the digest by which the cache tells contents apart."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


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
