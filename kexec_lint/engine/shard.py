"""A part of the files of a run, for machines that share the work: chosen by name, so that all agree without talking.

An executor that judges files together reads all of them in every part: what it finds is then the same everywhere, and
each part reports its own files. Together the parts report what one run does, each finding once.
"""

from __future__ import annotations

import os
import zlib


def parse(text: str) -> tuple[int, int]:
    """Return part and number of parts of "I/N". Raises ValueError."""
    part, slash, parts = text.partition("/")
    if not (slash and part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise ValueError(f"{text!r} is not I/N with I from 1 to N")
    return int(part), int(parts)


def holds(shard: tuple[int, int] | None, shown: str) -> bool:
    """Return whether a file, by its displayed name, belongs to the part; every file belongs to None."""
    if shard is None:
        return True
    part, parts = shard
    return zlib.crc32(os.fsencode(shown.replace(os.sep, "/"))) % parts == part - 1
