"""What of a notebook can matter: not the pictures in its outputs, which are most of its bytes."""

from __future__ import annotations

import re

LIMIT = 64 * 1024 * 1024
"""A longer notebook is not read, pictures or not."""

_PICTURES = (
    re.compile(rb'("(?:image|application|audio|video)/[\w.+-]+": *")[^"\\]*(?:\\n[^"\\]*)*'),
    re.compile(rb"(;base64,)[\w+/=]*"),
)


def without_pictures(data: bytes) -> bytes:
    """Return a notebook with what its outputs embed taken out, to look for words in and to judge its size."""
    for pattern in _PICTURES:
        data = pattern.sub(rb"\1", data)
    return data
