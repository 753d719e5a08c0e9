"""Python text to the syntax tree of the standard library, whatever version of Python the text is written for."""

from __future__ import annotations

import ast
import sys
import warnings
from functools import lru_cache

from kexec_lint.opencl.frontend import TOO_DEEP, SyntaxProblem


@lru_cache(maxsize=32)
def parse(text: str) -> tuple[str, ast.Module]:
    """Return the tree of `text`, and the text it was made from.

    That is another one, with the same rows and columns, where `text` needs a newer Python than the one that runs.
    The tree is shared with all who ask for the same text soon. Raises SyntaxProblem for what no Python accepts.
    """
    text = text.removeprefix("\ufeff")
    try:
        return text, _parse(text)
    except SyntaxError as error:
        older = None if _is_beyond(error) else _older(text)
        if older is not None:
            return older
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SyntaxProblem(error.lineno or 1, f"not valid Python {version}: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise SyntaxProblem(1, TOO_DEEP) from None
    except ValueError as error:  # null bytes, lone surrogates
        raise SyntaxProblem(1, f"not a Python text: {error}") from None


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _is_beyond(error: SyntaxError) -> bool:
    """Return whether no version accepts it: Python 2, or brackets so deep that LibCST takes minutes and gigabytes."""
    return error.msg.startswith(("Missing parentheses in call to", "too many nested"))


def _older(text: str) -> tuple[str, ast.Module] | None:
    """Parse `text` with its syntax newer than the running Python replaced, if LibCST can read it."""
    from kexec_lint.opencl.frontend.newer import replaced

    try:
        older = replaced(text)
        return None if older is None else (older, _parse(older))
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return None
