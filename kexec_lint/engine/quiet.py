"""Files that an earlier run read in vain: known by their inode, they are not read again."""

from __future__ import annotations

import os
import time

from kexec_lint.engine.results import Cache

_SETTLED = 2_000_000_000
"""Nanoseconds after its last change from which on a change shows in the times of a file, on any file system."""


class Quiet:
    """What is known of the files of one run. `paths` are all that the run may ask for."""

    def __init__(self, cache: Cache, paths: list[str]) -> None:
        self._cache = cache
        self._known = cache.quiet(paths)
        self._learnt: dict[str, str] = {}
        self._now = time.time_ns()

    def stamp(self, path: str, reading: str) -> str:
        """Return the state of a file that is about to be read for the needles that `reading` names.

        "" if nothing can be told from it: the file changed so lately that it may change again and look the same.
        """
        try:
            status = os.stat(path)
        except OSError:
            return ""
        if max(status.st_mtime_ns, status.st_ctime_ns) > self._now - _SETTLED:
            return ""
        return f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_size}.{status.st_ino}.{reading}"

    def knows(self, path: str, stamp: str) -> bool:
        """Return whether a file was read in vain in this very state."""
        return bool(stamp) and self._known.get(path) == stamp

    def note(self, path: str, stamp: str) -> None:
        """Remember that a file was read in vain; `stamp` was taken before it was read."""
        if stamp:
            self._learnt[path] = stamp

    def save(self) -> None:
        """Keep what was learnt for the next run."""
        if self._learnt:
            self._cache.put_quiet(self._learnt)
