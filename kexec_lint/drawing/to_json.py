"""Pictures as JSON, for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from kexec_lint.drawing.picture import Picture


def render(pictures: Sequence[Picture], sources: Mapping[str, str]) -> str:
    """Return a document with the fields of `Picture`; numbers of steps, lanes and memories are positions in lists."""
    document = {"version": 1, "graphs": [asdict(picture) for picture in pictures]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
