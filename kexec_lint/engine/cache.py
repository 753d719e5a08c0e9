"""Where the cache lies: the index of rules and the results of earlier runs."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def folder(chosen: str | None = None) -> str | None:
    """Return the cache folder: chosen, from KEXEC_LINT_CACHE_DIR, or the user's; None if there is no home."""
    named = chosen or os.environ.get("KEXEC_LINT_CACHE_DIR")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
        own = os.path.join(base, "kexec-lint", "cache")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        own = os.path.join(base, "kexec-lint")
    return own if os.path.isabs(own) else None  # without a home, ~ stays what it is


def directory(chosen: str | None = None) -> Path | None:
    """Return `folder` as a Path."""
    from pathlib import Path

    path = folder(chosen)
    return Path(path) if path else None
