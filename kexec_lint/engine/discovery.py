"""Which files to read: folders walked with .gitignore and `exclude`, links followed once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kexec_lint.engine.patterns import DEFAULT_EXCLUDE, Patterns, gitignore, ignored


class Target(NamedTuple):
    """A file to check: its absolute path and the name that reports show."""

    path: str
    shown: str


class Discovery:
    """Targets in a fixed order, folders that were walked, and one line for each thing that could not be."""

    def __init__(self) -> None:
        self.targets: list[Target] = []
        self.roots: list[str] = []
        self.notes: list[str] = []
        self.missing: list[str] = []


def shown(path: str, start: str) -> str:
    """Return how reports name an absolute path: relative to `start` if it lies below, else absolute."""
    prefix = start if start.endswith(os.sep) else start + os.sep
    return path[len(prefix) :] if path.startswith(prefix) else path


def discover(
    paths: Iterable[str],
    suffixes: frozenset[str],
    exclude: Callable[[str], Patterns],
    force_exclude: bool = False,
) -> Discovery:
    """Find the files under `paths` that carry one of `suffixes`.

    `exclude` returns the patterns in force for a folder. Files named themselves are taken even if excluded,
    unless `force_exclude`; that is how pre-commit passes the files that are staged.
    """
    found = Discovery()
    start = os.getcwd()
    seen: set[str] = set()
    walk = _Walk(start, suffixes, exclude, found.notes)
    for path in paths:
        absolute = os.path.abspath(path)
        if os.path.isdir(absolute):
            walk.roots.append(os.path.realpath(absolute))
    for path in paths:
        absolute = os.path.abspath(path)
        if os.path.isdir(absolute):
            found.roots.append(absolute)
            if force_exclude and excluded(absolute, exclude, directory=True):
                continue
            files: Iterable[str] = walk.files(absolute)
        elif os.path.lexists(absolute):
            if force_exclude and excluded(absolute, exclude, directory=False):
                continue
            if not os.path.exists(absolute):
                found.notes.append(f"{shown(absolute, start)}: dangling link, not checked")
                continue
            if suffix(absolute) not in suffixes:
                found.notes.append(
                    f"{shown(absolute, start)}: no executor reads {suffix(absolute) or 'such'} files, not checked"
                )
                continue
            files = [absolute]
        else:
            found.missing.append(path)
            continue
        for file in files:
            if file not in seen:
                seen.add(file)
                found.targets.append(Target(file, shown(file, start)))
    found.targets.sort(key=lambda target: target.path)
    return found


NAMED = frozenset({"buck", "targets", "cmakelists.txt", "cmakepresets.json"})
"""Files known by their whole name, in lower case: the name takes the place of the suffix."""


def suffix(path: str) -> str:
    """Return what executors know a file by: its suffix, or its name if it is one of NAMED; in lower case."""
    name = path[path.rfind(os.sep) + 1 :].lower()
    return name if name in NAMED else os.path.splitext(name)[1]


def excluded(path: str, exclude: Callable[[str], Patterns], directory: bool) -> bool:
    """Return whether a file or folder named itself lies where `exclude` or the built-in patterns leave out."""
    folder = path if directory else os.path.dirname(path)
    patterns = exclude(folder)
    below = shown(path, patterns.base or os.getcwd())  # what is called build above the project is not its build
    parts = below.split(os.sep) if directory else below.split(os.sep)[:-1]
    return not DEFAULT_EXCLUDE.isdisjoint(parts) or patterns.covers(path)


class _Walk:
    """One walk over all named folders; what links lead to is visited once, and not if it is walked anyway."""

    def __init__(
        self, start: str, suffixes: frozenset[str], exclude: Callable[[str], Patterns], notes: list[str]
    ) -> None:
        self.start = start
        self.suffixes = suffixes
        self.exclude = exclude
        self.notes = notes
        self.roots: list[str] = []
        self.visited: set[str] = set()

    def files(self, root: str) -> Iterator[str]:
        """Yield the files under a named folder."""
        outer = _outer_gitignores(root)
        # Whoever names an ignored folder wants it checked.
        yield from self._folder(root, [] if ignored(outer, root, directory=True) else outer)

    def _folder(self, top: str, outer: list[Patterns]) -> Iterator[str]:
        pending = [(top, outer)]
        suffixes, join = self.suffixes, os.sep.join
        while pending:
            folder, stack = pending.pop()
            try:
                with os.scandir(folder) as entries:
                    listing = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self._note(folder, f"{(error.strerror or str(error)).lower()}, folder not checked")
                continue
            own = gitignore(folder) if any(entry.name == ".gitignore" for entry in listing) else None
            if own is not None:
                stack = [*stack, own]
            patterns = self.exclude(folder)
            for entry in listing:
                name = entry.name
                path = join((folder, name)) if folder != os.sep else folder + name
                fits = ("." in name and name[name.rfind(".") :].lower() in suffixes) or (
                    name.lower() in NAMED and name.lower() in suffixes
                )
                if fits and self._takes_file(entry, path, stack, patterns):
                    yield path
                elif name not in DEFAULT_EXCLUDE and self._is_folder(entry):
                    if ignored(stack, path, directory=True) or patterns.verdict(path, directory=True):
                        continue
                    if entry.is_symlink() and not self._follows(path):
                        continue
                    pending.append((path, stack))

    @staticmethod
    def _is_folder(entry: os.DirEntry[str]) -> bool:
        try:
            return entry.is_dir()
        except OSError:
            return False

    def _takes_file(self, entry: os.DirEntry[str], path: str, stack: list[Patterns], patterns: Patterns) -> bool:
        try:
            if entry.is_dir():
                return False
            if ignored(stack, path, directory=False) or patterns.verdict(path):
                return False
            if not entry.is_file():
                # A pipe or a socket would make the reader wait for ever.
                self._note(path, "dangling link, not checked" if entry.is_symlink() else "not a file, not checked")
                return False
            if entry.is_symlink():
                real = os.path.realpath(path)
                if self._under_roots(real) or real in self.visited:
                    return False
                self.visited.add(real)
        except OSError as error:
            self._note(path, f"{(error.strerror or str(error)).lower()}, not checked")
            return False
        return True

    def _follows(self, path: str) -> bool:
        """Return whether a link to a folder leads to one that is not walked anyway."""
        real = os.path.realpath(path)
        here = os.path.realpath(os.path.dirname(path))
        if here == real or here.startswith(real.rstrip(os.sep) + os.sep):
            self._note(path, f"link leads back to {shown(real, self.start)}, not followed")
            return False
        if self._under_roots(real) or real in self.visited:
            return False
        self.visited.add(real)
        return True

    def _under_roots(self, real: str) -> bool:
        return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in self.roots)

    def _note(self, path: str, text: str) -> None:
        self.notes.append(f"{shown(path, self.start)}: {text}")


def _outer_gitignores(root: str) -> list[Patterns]:
    """Return the .gitignore files between the top of the repository and `root`, outermost first."""
    above: list[Patterns] = []
    folder = root
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return above[::-1]
        parent = os.path.dirname(folder)
        if parent == folder:
            return []
        own = gitignore(parent)
        if own is not None:
            above.append(own)
        folder = parent
