"""Name the layer, show the missing edge or kernel before anything runs, prove it on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["__version__", "check"]

if TYPE_CHECKING:
    from kexec_lint.api import check


def __getattr__(name: str) -> object:
    # `kexec-lint --version` must not pay for the engine.
    if name == "check":
        from kexec_lint.api import check

        return check
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
