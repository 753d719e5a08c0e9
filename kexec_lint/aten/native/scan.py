"""Reads one C++ or CUDA file into facts."""

from __future__ import annotations

from kexec_lint.aten.facts import FileBuilder, FileFacts
from kexec_lint.aten.native.builds import read_build, read_targets
from kexec_lint.aten.native.functions import read_functions
from kexec_lint.aten.native.registrations import read_registrations
from kexec_lint.aten.native.text import NativeFile
from kexec_lint.findings import Location
from kexec_lint.source import Project, Source


def read_native(source: Source, project: Project) -> FileFacts:
    """Return the facts of a C++ or CUDA file."""
    file = NativeFile(source)
    facts = FileBuilder()
    read_registrations(file, facts)
    facts.functions.extend(read_functions(file))
    read_build(file, source, project, facts)
    read_targets(source, project, facts)
    return facts.build()


def read_inline(text: str, at: Location, path: str, facts: FileBuilder) -> None:
    """Add the registrations of C++ that stands in a Python string at `at`."""
    source = Source(path, text, text.encode())
    file = NativeFile(source, text, at)
    read_registrations(file, facts)
    facts.functions.extend(read_functions(file))
