"""Python source to the host program, over the tree and the positions of the standard library's parser."""

from __future__ import annotations

import ast
import sys
import warnings

from kexec_lint.opencl.frontend import TOO_DEEP, SyntaxProblem
from kexec_lint.opencl.frontend.statements import block
from kexec_lint.opencl.frontend.values import Text
from kexec_lint.opencl.program import Module
from kexec_lint.source import Source


def lower(source: Source) -> Module:
    """Lower a file to its host program.

    Raises SyntaxProblem, here or when a function's `body` is first looked at, for what is not valid Python and for
    what is nested too deeply.
    """
    tree = parse(source.text)
    try:
        return Module(source.path, "python", block(Text(source.text), tree.body))
    except RecursionError:
        raise SyntaxProblem(1, TOO_DEEP) from None


def parse(text: str) -> ast.Module:
    """Parse `text` silently. Raises SyntaxProblem."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.removeprefix("\ufeff"))
    except SyntaxError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SyntaxProblem(error.lineno or 1, f"not valid Python {version}: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise SyntaxProblem(1, TOO_DEEP) from None
    except ValueError as error:  # null bytes, lone surrogates
        raise SyntaxProblem(1, f"not a Python text: {error}") from None
