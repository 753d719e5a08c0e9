"""What the names of a Python module stand for elsewhere: its import table, as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kexec_lint.opencl.program import Block, Class, Function, If, Import, Loop, Module, Statement, Try, With

STAR = "*"


def imports(module: Module) -> dict[str, str]:
    """Return local name → dotted name for every import outside functions.

    A relative import keeps its leading dots: `from ..common import ocl as cl` gives `cl` → `..common.ocl`, and
    `from . import ocl` gives `ocl` → `.ocl`. Star imports stand under "*", "*2", … in order, with the module as
    value. Of several imports of one name the first counts: in `try: import pyopencl` with
    `except ImportError: import fallback as pyopencl` that is the wanted one, the later are makeshifts.
    """
    return table(statement for statement in outside_functions(module.body) if isinstance(statement, Import))


def table(statements: Iterator[Import]) -> dict[str, str]:
    """Return the same table for the import statements given."""
    found: dict[str, str] = {}
    stars = 0
    for statement in statements:
        origin = "." * statement.level + statement.module
        for name, alias in statement.names:
            if name == STAR:
                stars += 1
                found[STAR if stars == 1 else f"{STAR}{stars}"] = origin
            elif name:
                dot = "" if origin.endswith(".") else "."
                found.setdefault(alias or name, f"{origin}{dot}{name}")
            elif alias:
                found.setdefault(alias, origin)
            else:
                top = origin.partition(".")[0]
                found.setdefault(top, top)
    return found


def outside_functions(body: Sequence[Statement]) -> Iterator[Statement]:
    """Yield the statements of a module in source order, into branches and classes, not into functions."""
    for statement in body:
        yield statement
        match statement:
            case Function():
                continue
            case If(then=then, orelse=orelse):
                yield from outside_functions(then)
                yield from outside_functions(orelse)
            case Try(body=tried, handlers=handlers, orelse=orelse, final=final):
                yield from outside_functions(tried)
                for _, _, handler in handlers:
                    yield from outside_functions(handler)
                yield from outside_functions(orelse)
                yield from outside_functions(final)
            case Class(body=inner) | With(body=inner) | Block(body=inner) | Loop(body=inner):
                yield from outside_functions(inner)
