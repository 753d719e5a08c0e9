"""Findings → text for people and machines; one module a format, imported when it is asked for."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, NamedTuple

from kexec_lint import __version__

if TYPE_CHECKING:
    from kexec_lint.engine.check import Report

FORMATS = ("full", "concise", "json", "sarif", "github", "gitlab", "junit", "rdjson", "markdown")
"""Names of the formats; each is the module of that name with `render(report, context)`."""

TOOL = "kexec-lint"
TOOL_URL = "https://kexec-lint.readthedocs.io/"


class Context(NamedTuple):
    """Where a report is shown. `colour` asks for ANSI colours, `width` is the terminal's in columns."""

    start: str
    colour: bool = False
    width: int = 0
    version: str = __version__

    def absolute(self, filename: str) -> str:
        """Return the absolute path of a displayed file name."""
        return os.path.normpath(os.path.join(self.start, filename))


def render(name: str, report: Report, context: Context) -> str:
    """Return the report in one of FORMATS, ending in a newline unless empty; it can be written as UTF-8."""
    text: str = importlib.import_module(f"kexec_lint.report.{name}").render(report, context)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()  # a file's name may be any bytes


def repository_root(start: str) -> str:
    """Return the folder of the repository around `start`, or `start` outside one."""
    folder = start
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return start
        folder = above


def relative_uri(filename: str, context: Context, root: str) -> str:
    """Return a file name relative to the repository, with forward slashes; absolute if it lies outside."""
    path = context.absolute(filename)
    inside = root if root.endswith(os.sep) else root + os.sep
    return (path[len(inside) :] if path.startswith(inside) else path).replace(os.sep, "/")


def rule_url(code: str) -> str:
    """Return the address of a rule's page."""
    from kexec_lint.rulebook import PAGES_URL

    return f"{PAGES_URL}{code}/"
