"""What changed since a git revision, and the tree as it was then.

A file is touched by the changes if it changed itself, or if a look-up that its analysis made finds something else now:
a module that was edited, a kernel file that is gone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from kexec_lint.engine.settings import NAMES, SettingsError
from kexec_lint.engine.tree import PROJECT_MARKS, Tree

if sys.version_info >= (3, 11):
    import tomllib as toml
else:
    import tomli as toml


class Changes:
    """Changes of the working tree since it left a revision, files that git does not know yet included.

    `existed` says of each changed file, by absolute path, whether it existed then. Raises SettingsError.
    """

    def __init__(self, revision: str, paths: Sequence[str]) -> None:
        self._top = _git(None, "rev-parse", "--show-toplevel", trouble="this folder is in no git repository")[:-1]
        for path in paths:
            if not _below(os.path.realpath(path), self._top):
                raise SettingsError(f"--since: {path} lies outside the git repository {self._top}")
        verify = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        commit = _git(self._top, *verify, trouble=f"git knows no revision {revision!r}").strip()
        # What happened on another branch since ours left it is no change of ours.
        self._commit = _git(self._top, "merge-base", commit, "HEAD").strip() or commit
        options = ("--name-status", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty")
        words = _git(self._top, "diff", *options, self._commit, "--", trouble="git diff failed").split("\0")
        changed = {name: status != "A" for status, name in zip(words[::2], words[1::2], strict=False)}
        unknown = _git(self._top, "ls-files", "-z", "--others", "--exclude-standard", trouble="git ls-files failed")
        changed |= dict.fromkeys(filter(None, unknown.split("\0")), False)
        self.existed: dict[str, bool] = {}
        self._names: dict[str, str] = {}
        self._folders: list[str] = []
        links = [(os.path.realpath(path), os.path.abspath(path)) for path in paths]
        for name, existed in changed.items():
            path = os.path.join(self._top, name.rstrip("/"))
            # A folder named through a link has its files under that name in the run.
            also = [named + path[len(real) :] for real, named in links if real != named and _below(path, real)]
            for same in (path, *also):
                if os.path.isdir(same):  # a submodule, or a repository within this one
                    self._folders.append(same)
                else:
                    self.existed[same] = existed
                    self._names[same] = name
                    if self._rules_folder(same):
                        self._folders.append(os.path.dirname(same))

    def _rules_folder(self, path: str) -> bool:
        """Return whether the change of a file changes how every file below its folder is looked up or judged."""
        name = os.path.basename(path)
        if self.existed[path] != os.path.isfile(path):
            others = (os.path.join(os.path.dirname(path), mark) for mark in PROJECT_MARKS if mark != name)
            if name == "__init__.py" or (name in PROJECT_MARKS and not any(map(os.path.exists, others))):
                return True
        return name in NAMES and _settings(name, self.before(path)) != _settings(name, _read(path))

    def hold(self, path: str) -> bool:
        """Return whether a file changed."""
        return path in self.existed or any(_below(path, folder) for folder in self._folders)

    def earlier(self, now: Tree) -> Earlier:
        """Return the tree before the changes."""
        return Earlier(now, self)

    def before(self, path: str) -> bytes | None:
        """Return the content that a changed file had, None if it did not exist."""
        if not self.existed[path]:
            return None
        called = subprocess.run(
            ["git", "-C", self._top, "cat-file", "--filters", f"{self._commit}:{self._names[path]}"],
            capture_output=True,
            check=False,
        )
        return called.stdout if called.returncode == 0 else None


class Earlier(Tree):
    """The tree before the changes."""

    def __init__(self, now: Tree, changes: Changes) -> None:
        super().__init__(now.start, now.roots)
        self._now = now
        self._changes = changes

    def gone(self) -> list[str]:
        """Return the files that are no more."""
        return [path for path, existed in self._changes.existed.items() if existed and not os.path.lexists(path)]

    def content(self, path: str) -> bytes | None:
        """Return what a file held then, None if it was not there."""
        return self._bytes(path)

    def _bytes(self, path: str) -> bytes | None:
        if path not in self._changes.existed:
            return self._now._bytes(path)
        if path not in self._data:
            self._data[path] = self._changes.before(path)
        return self._data[path]

    def _is_file(self, path: str) -> bool:
        existed = self._changes.existed.get(path)
        return super()._is_file(path) if existed is None else existed


def _git(top: str | None, *arguments: str, trouble: str | None = None) -> str:
    """Return what git prints, nothing if it fails. Raises SettingsError with the trouble, if one is given."""
    where = ["-C", top] if top else []
    try:
        called = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", *where, *arguments], capture_output=True, check=False
        )
    except OSError:
        raise SettingsError("--since: git is not installed") from None
    if called.returncode and trouble is not None:
        raise SettingsError(f"--since: {trouble}")
    return "" if called.returncode else os.fsdecode(called.stdout)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _settings(name: str, data: bytes | None) -> object:
    """Return what a settings file says to us, the whole text where it is no TOML."""
    text = (data or b"").decode("utf-8-sig", "replace")
    try:
        document = toml.loads(text)
    except toml.TOMLDecodeError:
        return text
    tools = document.get("tool")
    return document if name != "pyproject.toml" else isinstance(tools, dict) and tools.get("kexec-lint")


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
