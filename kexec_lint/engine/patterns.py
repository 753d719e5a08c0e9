"""Patterns of file names as .gitignore writes them, for `exclude`, `per-file-ignores` and .gitignore itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_VERSIONED = (".bzr", ".git", ".git-rewrite", ".hg", ".svn")
_TOOLS = (".direnv", ".eggs", ".nox", ".pants.d", ".pyenv", ".tox", ".venv", ".vscode", "venv", "node_modules")
_CACHES = (".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".pytype", ".ruff_cache", "__pycache__")
_BUILT = ("__pypackages__", "_build", "buck-out", "build", "dist", "site-packages")

DEFAULT_EXCLUDE = frozenset((*_VERSIONED, *_TOOLS, *_CACHES, *_BUILT))
"""Folders that hold no source of the project; `exclude` adds to them."""


class PatternError(ValueError):
    """A pattern that cannot be understood; the text names it."""


class Patterns:
    """Patterns relative to the folder of the file that holds them. Absolute paths go in, `None` means no match."""

    def __init__(self, base: str, lines: Iterable[str]) -> None:
        self.base = base
        self.lines = tuple(lines)
        self._spec: GitIgnoreSpec | None = None

    def verdict(self, path: str, directory: bool = False) -> bool | None:
        """Return True if the last pattern that matches excludes, False if it starts with `!`, else None."""
        if not self.lines:
            return None
        prefix = self.base if self.base.endswith(os.sep) else self.base + os.sep
        if not path.startswith(prefix):
            return None
        relative = path[len(prefix) :].replace(os.sep, "/")
        return self._compiled().check_file(relative + "/" if directory else relative).include

    def covers(self, path: str) -> bool:
        """Return whether the path itself or a folder above it, below `base`, is excluded."""
        if not self.lines:
            return False
        above = path
        inside = False
        while len(above) > len(self.base):
            if self.verdict(above, directory=inside):
                return True
            above, inside = os.path.dirname(above), True
        return False

    def _compiled(self) -> GitIgnoreSpec:
        if self._spec is None:
            from pathspec import GitIgnoreSpec

            try:
                self._spec = GitIgnoreSpec.from_lines(self.lines)
            except ValueError as error:
                raise PatternError(f"{str(error).splitlines()[0]}") from None
        return self._spec


def gitignore(directory: str) -> Patterns | None:
    """Return the patterns of the .gitignore in a folder, or None if it has none that can be read."""
    try:
        with open(os.path.join(directory, ".gitignore"), encoding="utf-8", errors="surrogateescape") as file:
            return Patterns(directory, file.read().splitlines())
    except (OSError, ValueError):
        return None


def ignored(stack: Sequence[Patterns], path: str, directory: bool) -> bool:
    """Return the verdict of the innermost .gitignore that has one."""
    for patterns in reversed(stack):
        try:
            verdict = patterns.verdict(path, directory)
        except PatternError:
            continue  # git, too, skips a line that it cannot read
        if verdict is not None:
            return verdict
    return False
