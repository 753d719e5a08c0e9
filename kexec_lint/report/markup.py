"""Text for XML and HTML."""

from __future__ import annotations

import html
import re

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape(text: str) -> str:
    """Return text as content or as a quoted attribute."""
    return html.escape(legal(text))


def legal(text: str) -> str:
    """Return text with U+FFFD for each character that XML 1.0 cannot hold."""
    return _ILLEGAL.sub("\ufffd", text)
