"""What a run is asked to do, and what that means for each file by its settings and the rules there are."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kexec_lint import plugins
from kexec_lint.engine import executors
from kexec_lint.engine.index import Index
from kexec_lint.engine.patterns import Patterns
from kexec_lint.engine.rules import Selection, UnknownRule, check_selectors, enabled, named
from kexec_lint.engine.settings import Finder, Settings, SettingsError, row_of

if TYPE_CHECKING:
    from kexec_lint.source import Options


class Request(NamedTuple):
    """What to check and how. None means: as the settings files say."""

    paths: tuple[str, ...] = (".",)
    selection: Selection = Selection()
    confidence: str | None = None
    assume_out_of_order: bool | None = None
    compile_commands: str | None = None
    """The compilation database for C and C++, absolute."""
    config: str | None = None
    isolated: bool = False
    force_exclude: bool = False
    jobs: int | None = None
    cache_directory: str | os.PathLike[str] | None = None
    cache_results: bool = True
    stdin: tuple[str, bytes] | None = None
    """Displayed name and content of standard input, checked instead of the file of that name."""
    buffers: tuple[tuple[str, bytes], ...] = ()
    """Absolute path and content of files as an editor holds them, which stand for those on the disk."""
    shard: tuple[int, int] | None = None
    """Report on part I of N of the files only; see `shard`."""
    since: str | None = None
    """Report only what changed since this git revision, and what that changes elsewhere; see `since`."""
    extra_facts: tuple[tuple[str, dict[str, dict[str, Any]]], ...] = ()
    """Executor → facts by pseudo-file that no file holds, such as what a running program registered."""


class Profile:
    """Settings resolved against the rules and the command line; shared by all files that they hold for."""

    def __init__(
        self,
        settings: Settings,
        codes: frozenset[str],
        explicit: frozenset[str],
        confidence: str,
        assume_out_of_order: bool,
        compile_commands: str,
        readers: tuple[executors.Reader, ...],
        per_file_ignores: tuple[tuple[Patterns, frozenset[str]], ...],
        fingerprint: str,
    ) -> None:
        self.fingerprint = fingerprint
        self.settings = settings
        self.codes = codes
        self.explicit = explicit
        self.confidence = confidence
        self.assume_out_of_order = assume_out_of_order
        self.compile_commands = compile_commands
        self.readers = readers
        self._per_file_ignores = per_file_ignores

    @cached_property
    def options(self) -> Options:
        """What the executors are told. The threshold is applied at the end, on what they all found: a comment that
        silences a finding below it is not idle, and one cached result serves every threshold.
        """
        from kexec_lint.source import Options

        try:
            models = {**plugins.models(), **self.settings.models}
        except plugins.PluginError as error:
            raise SettingsError(str(error)) from None
        return Options(
            self.codes,
            "possible",
            self.assume_out_of_order,
            models,
            compile_commands=self.compile_commands,
            explicit=self.explicit,
        )

    @cached_property
    def reading(self) -> str:
        """A digest of what a file is read for: two profiles with the same needles read the same files in vain."""
        import hashlib

        return hashlib.blake2b(repr((self.fingerprint, self.readers)).encode(), digest_size=8).hexdigest()

    def ignores(self, path: str, code: str) -> bool:
        """Return whether per-file-ignores silence a rule in a file."""
        return any(code in codes and patterns.covers(path) for patterns, codes in self._per_file_ignores)


class Profiles:
    """Profiles by folder."""

    def __init__(self, request: Request, rules: Index) -> None:
        self.finder = Finder(request.config, request.isolated)
        self._request = request
        self._index = rules
        self._by_file: dict[str | None, Profile] = {}
        self._by_folder: dict[str, Profile] = {}
        check_selectors(rules.rules, _selectors(request.selection))

    def of(self, folder: str) -> Profile:
        """Return the profile of files directly in `folder`. Raises SettingsError or UnknownRule."""
        profile = self._by_folder.get(folder)
        if profile is None:
            settings = self.finder.of(folder)
            profile = self._by_file.get(settings.file)
            if profile is None:
                profile = self._by_file[settings.file] = self._resolve(settings)
            self._by_folder[folder] = profile
        return profile

    def all(self) -> list[Profile]:
        """Return the profiles met so far."""
        return list(self._by_file.values())

    def _resolve(self, settings: Settings) -> Profile:
        own = Selection(settings.select, settings.extend_select, settings.ignore)
        rules, request = self._index.rules, self._request
        try:
            check_selectors(rules, [*_selectors(own), *itertools.chain(*settings.per_file_ignores.values())])
        except UnknownRule as error:
            row = row_of(str(settings.file), error.selector)
            raise SettingsError(f"{settings.file}:{row}: {error}") from None
        codes = enabled(rules, (own, request.selection))
        out_of_order = request.assume_out_of_order
        return Profile(
            settings=settings,
            codes=codes,
            explicit=codes & named(rules, (own, request.selection)),
            confidence=request.confidence or settings.confidence,
            assume_out_of_order=settings.assume_out_of_order if out_of_order is None else out_of_order,
            compile_commands=request.compile_commands or settings.compile_commands or "",
            readers=tuple(self._index.readers(codes)),
            per_file_ignores=tuple(
                (Patterns(settings.base, (pattern,)), enabled(rules, (Selection(select=selectors),)))
                for pattern, selectors in settings.per_file_ignores.items()
            ),
            fingerprint=self._index.fingerprint,
        )


def _selectors(selection: Selection) -> Iterable[str]:
    return (*(selection.select or ()), *selection.extend_select, *selection.ignore)
