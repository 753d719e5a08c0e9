"""The table of executors, and what the engine asks of each before it reads a file."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from kexec_lint.source import Executor

EXECUTORS: dict[str, str] = {
    "aten": "kexec_lint.aten",
    "executorch": "kexec_lint.executorch",
    "opencl": "kexec_lint.opencl",
}
"""Name of an executor (also the folder of its pages under `rules/`) → its package, imported when needed."""

_START = 8
"""Bytes that needles share where they are looked for together."""


class Reader(NamedTuple):
    """What decides whether an executor reads a file: by suffix, literal needles, and mentions that come before them.

    `alone` says that it judges every file by itself. `unless`: needle → words in which it does not count.
    """

    name: str
    module: str
    needles: Mapping[str, tuple[bytes, ...]]
    mentions: Mapping[str, tuple[bytes, ...]] = {}
    alone: bool = False
    unless: Mapping[bytes, tuple[bytes, ...]] = {}

    def wants(self, suffix: str, data: bytes, known: dict[bytes, bool] | None = None) -> bool:
        """Return whether the file can matter to the executor at all.

        `known` keeps which mentions are in this file, for the next executor that asks.
        """
        needles = self.needles.get(suffix)
        if not needles:
            return False
        mentions = self.mentions.get(suffix)
        if mentions is not None and not _mentions(data, mentions, {} if known is None else known):
            return False
        return _holds(data, needles, self.unless)


def _holds(data: bytes, words: tuple[bytes, ...], unless: Mapping[bytes, tuple[bytes, ...]]) -> bool:
    for start, whole in _by_start(words):
        if start in data:
            for word in whole:
                if word in data and (word not in unless or _stands_apart(data, word, unless[word])):
                    return True
    return False


def _stands_apart(data: bytes, word: bytes, parts_of: tuple[bytes, ...]) -> bool:
    """Return whether a word is in the file in another way than as a part of one of these, none of which is a part of
    another."""
    return data.count(word) > sum(map(data.count, parts_of))


@cache
def _by_start(words: tuple[bytes, ...]) -> tuple[tuple[bytes, tuple[bytes, ...]], ...]:
    """Return words by what several of them start with: most files do not hold even that."""
    groups: dict[bytes, list[bytes]] = {}
    for word in words:
        groups.setdefault(word[:_START], []).append(word)
    return tuple((start if len(group) > 1 else group[0], tuple(group)) for start, group in groups.items())


def _mentions(data: bytes, words: tuple[bytes, ...], known: dict[bytes, bool]) -> bool:
    for word in words:
        holds = known.get(word)
        if holds is None:
            holds = known[word] = word in data
        if holds:
            return True
    return False


def load(module: str) -> Executor:
    """Import the package of an executor."""
    return cast("Executor", importlib.import_module(module))


def reader(name: str, module: str, codes: frozenset[str]) -> Reader:
    """Ask an executor for its suffixes and its needles for `codes`."""
    executor = load(module)
    needles = {suffix: shortest(executor.needles(codes, suffix)) for suffix in sorted(executor.SUFFIXES)}
    mentions = {
        suffix: tuple(sorted(words, key=bytes.swapcase)) for suffix, words in getattr(executor, "MENTIONS", {}).items()
    }
    unless = {needle: tuple(sorted(words)) for needle, words in getattr(executor, "UNLESS", {}).items()}
    return Reader(name, module, needles, mentions, getattr(executor, "ALONE", False), unless)


def shortest(needles: frozenset[bytes]) -> tuple[bytes, ...]:
    """Drop every needle that holds another one: the shorter finds all that the longer finds."""
    kept: list[bytes] = []
    for needle in sorted(needles, key=lambda n: (len(n), n)):
        if not any(other in needle for other in kept):
            kept.append(needle)
    return tuple(kept)


@cache
def version(module: str) -> str:
    """Return what tells versions of an executor apart; the index digest already covers those of this package."""
    if module.startswith("kexec_lint."):
        return ""
    import importlib.util

    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or not os.path.isfile(spec.origin):
        return ""
    status = os.stat(spec.origin)
    return f"{spec.origin}:{status.st_size}:{status.st_mtime_ns}"
