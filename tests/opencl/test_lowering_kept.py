"""What is kept of lowered files between two looks at a tree."""

from __future__ import annotations

from kexec_lint.opencl.analysis import lowered
from kexec_lint.source import Source


def test_of_a_path_the_last_text_is_kept() -> None:
    first, second = (Source("kept.py", text, text.encode()) for text in ("x = 1\n", "x = 2\n"))
    module = lowered(first)
    assert lowered(Source("kept.py", "x = 1\n", b"x = 1\n")) is module
    assert lowered(second) is not module
    assert lowered(first) is not module  # an editor never comes back to most of its texts
