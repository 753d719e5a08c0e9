"""Source models: export, lower and run them with the installed torch and executorch (extra `export`).

Nothing else of the executor imports torch; a command imports these modules when it is given a source model.
"""

from __future__ import annotations

from importlib import metadata


class ExportError(Exception):
    """A source model that cannot be exported, lowered or run; the message is one line and says what to do."""


def require() -> None:
    """Raise ExportError that names the extra where torch or executorch is not installed."""
    missing = [name for name in ("torch", "executorch") if not _installed(name)]
    if missing:
        raise ExportError(f"a source model needs {' and '.join(missing)}: pip install 'kexec-lint[export]'")


def _installed(name: str) -> bool:
    """Return whether a distribution is installed; a folder of that name is none, though it can be imported."""
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def one_line(error: BaseException) -> str:
    """Return the first telling line of an error's message, with its type."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__
