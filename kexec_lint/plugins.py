"""Plug-ins: packs of rules, tables of API models and executors that installed packages offer by entry points.

Whose groups these are: docs/plugins.md. Nothing of a plug-in is imported to learn that it is there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

RULES, MODELS, EXECUTORS = "kexec_lint.rules", "kexec_lint.models", "kexec_lint.executors"

_known: list[Plugin] | None = None


class PluginError(ValueError):
    """A plug-in that cannot be used; the text names its package and says why."""


class Plugin(NamedTuple):
    """One entry point: its group, name and value (`package.module` or `package.module:ATTRIBUTE`), and by whom."""

    group: str
    name: str
    value: str
    package: str
    version: str

    @property
    def module(self) -> str:
        """Return the module that the entry point names."""
        return self.value.partition(":")[0]


def environment() -> str:
    """Return what changes when a package is installed or removed: the folders of modules and their times.

    The first, that of the script or the one where Python was started, counts only if it holds installed packages.
    """
    parts = []
    for number, folder in enumerate(sys.path):
        try:
            if number or any(name.endswith(("-info", ".egg-link")) for name in os.listdir(folder or ".")):
                parts.append(f"{folder}:{os.stat(folder or '.').st_mtime_ns}")
        except OSError:
            continue
    return " ".join(parts)


def remember(plugins: Iterable[Iterable[str]]) -> None:
    """Take the plug-ins as an earlier look at this very environment found them: looking takes a tenth of a second."""
    global _known
    _known = [Plugin(*fields) for fields in plugins]
    folders.cache_clear()


def installed(group: str | None = None) -> list[Plugin]:
    """Return the plug-ins of a group, or all, in the order of their names."""
    global _known
    if _known is None:
        from importlib.metadata import entry_points

        found = [point for name in (RULES, MODELS, EXECUTORS) for point in entry_points(group=name)]
        _known = sorted(
            Plugin(point.group, point.name, point.value, point.dist.name, point.dist.version)
            for point in found
            if point.dist is not None
        )
    return [plugin for plugin in _known if group in (None, plugin.group)]


@cache
def folders() -> tuple[Path, ...]:
    """Return the folders of rule pages, `rules/` beside the module of each pack. Raises PluginError."""
    from pathlib import Path

    found = []
    for plugin in installed(RULES):
        origin = _origin(plugin)
        pages = Path(origin).parent / "rules"
        if not pages.is_dir():
            raise PluginError(f"{_who(plugin)}: no folder {pages} with the pages of its rules")
        found.append(pages)
    return tuple(found)


def models() -> dict[str, Mapping[str, Any]]:
    """Return the rows of all tables, dotted name → what the call does. Raises PluginError."""
    from importlib import import_module

    rows: dict[str, Mapping[str, Any]] = {}
    for plugin in installed(MODELS):
        module, _, attribute = plugin.value.partition(":")
        try:
            table = getattr(import_module(module), attribute or "MODELS")
        except Exception as error:
            raise PluginError(f"{_who(plugin)}: {type(error).__name__}: {error}") from None
        if not isinstance(table, Mapping) or not all(isinstance(row, Mapping) for row in table.values()):
            raise PluginError(f'{_who(plugin)}: {plugin.value} must be a table of "module.function": {{…}}')
        rows |= table
    return rows


def fingerprint() -> str:
    """Return what tells one state of the plug-ins from another; empty where there are none."""
    if not (plugins := installed()):
        return ""
    from pathlib import Path

    parts = []
    for plugin in plugins:
        files = [Path(_origin(plugin))]
        files += sorted(files[0].parent.rglob("*.md")) + sorted(files[0].parent.rglob("*.py"))
        parts += ["=".join(plugin), *(f"{file}:{file.stat().st_mtime_ns}:{file.stat().st_size}" for file in files)]
    return " ".join(parts)


def _origin(plugin: Plugin) -> str:
    from importlib.util import find_spec

    try:
        spec = find_spec(plugin.module)
    except (ImportError, ValueError) as error:
        raise PluginError(f"{_who(plugin)}: {error}") from None
    if spec is None or spec.origin is None or not os.path.isfile(spec.origin):
        raise PluginError(f"{_who(plugin)}: there is no module {plugin.module}")
    return spec.origin


def _who(plugin: Plugin) -> str:
    return f"plug-in {plugin.name} of {plugin.package} {plugin.version} ({plugin.group})"
