"""What the editor's settings ask for, under the section `kexec-lint`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kexec_lint.engine.rules import Selection
from kexec_lint.engine.settings import CONFIDENCES

SECTION = "kexec-lint"


class ClientSettingsError(ValueError):
    """A setting that makes no sense; the text names it and says what it may be."""


class ClientSettings(NamedTuple):
    """Settings of the editor. They come after those of the project's file, as the command line does.

    `workspace_diagnostics` also shows findings in files that are not open.
    """

    selection: Selection = Selection()
    confidence: str | None = None
    assume_out_of_order: bool | None = None
    config: str | None = None
    workspace_diagnostics: bool = True


def read(given: Any) -> ClientSettings:
    """Return the settings in what a client sent; null stands for nothing said. Raises ClientSettingsError."""
    if given is None:
        return ClientSettings()
    if not isinstance(given, Mapping):
        raise ClientSettingsError(f"{SECTION}: the editor's settings must be an object")
    unknown = [key for key in given if key not in KEYS]
    if unknown:
        raise ClientSettingsError(f"{SECTION}.{unknown[0]}: no such setting; known: {', '.join(KEYS)}")
    select = _codes(given, "select")
    return ClientSettings(
        Selection(select, _codes(given, "extendSelect") or (), _codes(given, "ignore") or ()),
        _one_of(given, "confidence", CONFIDENCES),
        _flag(given, "assumeOutOfOrder"),
        _text(given, "config"),
        _flag(given, "workspaceDiagnostics") is not False,
    )


KEYS = ("select", "extendSelect", "ignore", "confidence", "assumeOutOfOrder", "config", "workspaceDiagnostics")
"""Names of the settings, as editors write them."""


def _codes(given: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    value = given.get(key)
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(v, str) for v in value):
        raise ClientSettingsError(f"{SECTION}.{key} must be a list of codes")
    return tuple(value)


def _flag(given: Mapping[str, Any], key: str) -> bool | None:
    value = given.get(key)
    if value is not None and not isinstance(value, bool):
        raise ClientSettingsError(f"{SECTION}.{key} must be true or false")
    return value


def _text(given: Mapping[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise ClientSettingsError(f"{SECTION}.{key} must be a string")
    return value or None


def _one_of(given: Mapping[str, Any], key: str, values: Sequence[str]) -> str | None:
    value = _text(given, key)
    if value is not None and value not in values:
        raise ClientSettingsError(f"{SECTION}.{key} must be one of {', '.join(values)}")
    return value
