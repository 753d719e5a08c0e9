"""Applies the fixes of a file as `--fix` does, and checks it again."""

from __future__ import annotations

import io
import tokenize
from collections import Counter
from pathlib import Path

from kexec_lint.engine.check import Report, check
from kexec_lint.engine.fixing import fix
from kexec_lint.engine.request import Request
from kexec_lint.engine.rules import Selection
from kexec_lint.opencl.fixes.native_tree import comments_and_errors
from kexec_lint.source import Source


def run(path: Path, text: str, unsafe: bool = False, code: str | None = None) -> tuple[str, Report]:
    """Return a text with its fixes applied, and the report on what stays."""
    path.write_text(text, encoding="utf-8")
    selection = Selection(select=(code,)) if code else Selection()
    request = Request(paths=(str(path),), selection=selection, isolated=True, jobs=1)
    report = check(request)
    files = fix(report, request, unsafe, lambda findings, texts: findings)
    if not files:
        return text, report
    path.write_bytes(files[0].after)
    return files[0].after.decode(), check(request)


def comments(name: str, text: str) -> Counter[str]:
    if not name.endswith(".py"):
        return comments_and_errors(Source(name, text, text.encode()))[0]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)
