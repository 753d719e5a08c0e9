"""Name the layer, show the missing edge or kernel before anything runs, prove it on a device."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["CheckError", "Confidence", "Finding", "Location", "Severity", "__version__", "check"]

TYPE_CHECKING = False  # typing is not imported for it: a quick command must not wait
if TYPE_CHECKING:
    from kexec_lint.api import CheckError, check
    from kexec_lint.findings import Confidence, Finding, Location, Severity


def __getattr__(name: str) -> object:
    # `kexec-lint --version` must not pay for the engine.
    if name in ("CheckError", "check"):
        from kexec_lint import api

        return getattr(api, name)
    if name in __all__:
        from kexec_lint import findings

        return getattr(findings, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
