"""One file of a request looked at once more, beside the run: for its fixes, or for what holds at a place in it."""

from __future__ import annotations

import os

from kexec_lint.engine import executors, index
from kexec_lint.engine.decoding import Unreadable, decode
from kexec_lint.engine.request import Profile, Profiles, Request
from kexec_lint.engine.tree import RecordingProject, Tree
from kexec_lint.findings import Location


class Place:
    """The tree and the settings that a request stands in, unsaved texts included."""

    def __init__(self, request: Request) -> None:
        self.start = os.getcwd()
        self._profiles = Profiles(request, index.load(request.cache_directory))
        self.tree = Tree(self.start, [os.path.abspath(path) for path in request.paths if os.path.isdir(path)])
        for path, unsaved in request.buffers:
            self.tree.overlay(path, unsaved)
        if request.stdin is not None:
            self.tree.overlay(os.path.abspath(request.stdin[0]), request.stdin[1])

    def profile(self, filename: str) -> Profile:
        """Return the settings of a file by its displayed name."""
        return self._profiles.of(os.path.dirname(os.path.join(self.start, filename)))


def order_at(request: Request, content: bytes, at: Location) -> str | None:
    """Return Markdown about the order that holds at a place of a file with this content, None if nothing is there."""
    try:
        source = decode(at.filename, content)
    except Unreadable:
        return None
    row = at.row
    if source.cells is not None:
        if (at.cell, at.row) not in source.cells:
            return None
        row = source.cells.index((at.cell or 0, at.row)) + 1
    place = Place(request)
    profile = place.profile(at.filename)
    for reader in profile.readers:
        tell = getattr(executors.load(reader.module), "tell_order", None)
        if tell is not None and reader.wants(source.suffix, content):
            told: str | None = tell(source, RecordingProject(place.tree), profile.options, (row, at.column))
            if told is not None:
                return told
    return None
