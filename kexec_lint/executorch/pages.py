"""The rule pages of this executor, read one by one when a finding needs one."""

from __future__ import annotations

from functools import cache

from kexec_lint import rulebook


@cache
def rule(code: str) -> rulebook.Rule:
    """Return the page of an EXT rule."""
    return rulebook.read(rulebook.rules_directory() / "executorch" / f"{code}.md")
