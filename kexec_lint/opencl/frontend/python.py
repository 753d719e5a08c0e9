"""Python source to the host program, over the tree and the positions of the standard library's parser."""

from __future__ import annotations

from kexec_lint.opencl.frontend import TOO_DEEP, SyntaxProblem
from kexec_lint.opencl.frontend.parsing import parse
from kexec_lint.opencl.frontend.statements import block
from kexec_lint.opencl.frontend.values import Text
from kexec_lint.opencl.program import Module, Statement
from kexec_lint.source import Source


def lower(source: Source) -> Module:
    """Lower a file, or the code cells of a notebook, to its host program.

    Raises SyntaxProblem, here or when a function's `body` is first looked at, for what is not valid Python and for
    what is nested too deeply.
    """
    if source.cells is None:
        return Module(source.path, "python", _body(source.text))
    from kexec_lint.opencl.frontend.notebook import plain

    text, defined, notes = plain(source)
    body = sorted((*_body(text), *defined), key=lambda statement: statement.span)
    return Module(source.path, "python", tuple(body), notes)


def _body(text: str) -> tuple[Statement, ...]:
    text, tree = parse(text)
    try:
        return block(Text(text), tree.body)
    except RecursionError:
        raise SyntaxProblem(1, TOO_DEEP) from None
