"""Where the text of a program comes from: literals, arrays of them, files that the host code names."""

from __future__ import annotations

import re

from kexec_lint.opencl import program as p
from kexec_lint.opencl.frontend.c_literals import string
from kexec_lint.opencl.interpreter import expressions
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.native import pointers
from kexec_lint.opencl.interpreter.values import AbstractValue, Known, Object

_KERNEL_FILE = re.compile(r'"([\w./ -]+\.(?:cl|ocl))"')
_LITERALS = re.compile(r'R"([^\s()\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_LONGEST = 1 << 20


def text(m: Machine, value: AbstractValue, span: p.Span) -> Known | None:
    """Return the source text behind `&source`, an array of strings, or a string."""
    if isinstance(value, pointers.Address):
        value = pointers.load(m, value, span)
    if isinstance(value, Object) and value.kind in ("list", "dict"):
        parts = list(pointers.spread(value))
        if parts and all(isinstance(part, Known) and isinstance(part.value, str) for part in parts):
            joined = expressions.text(m, parts)
            return joined if isinstance(joined, Known) else None
        return None
    return value if isinstance(value, Known) and isinstance(value.value, str) else None


def included(m: Machine, node: p.Call) -> AbstractValue:
    """Return the text that a file included as a value stands for: that of its literals, or all of it."""
    name = node.args[0].value if node.args else None
    content = m.loader.included_text(str(name.value), m.frame.scope.path) if isinstance(name, p.Const) else None
    if content is None:
        return m.fresh("included")
    literals = [match[0] for match in _LITERALS.finditer(content)]
    if _LITERALS.sub("", _COMMENTS.sub("", content)).strip():
        return Known(content)
    return Known("".join(string(one) for one in literals))


def nearby(m: Machine) -> Known | None:
    """Return the texts of the kernel files that the host file names: the program is made of one of them."""
    scope = m.frame.scope
    found: list[str] = []
    for name in dict.fromkeys(_KERNEL_FILE.findall(scope.text)):
        content = m.loader.text(name, scope.path)
        if content is not None and sum(map(len, found)) + len(content) < _LONGEST:
            found.append(content)
    return Known("\n".join(found)) if found else None
