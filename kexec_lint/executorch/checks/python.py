"""EXT204, 305, 306: Python code that lowers, loads or runs programs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kexec_lint.executorch.registration import finding
from kexec_lint.findings import Confidence, Finding, Location
from kexec_lint.source import Source

FROM_BUFFER = {"_load_for_executorch_from_buffer", "_load_program_from_buffer"}
"""Loaders of the pybindings that keep a pointer into the bytes; `executorch.runtime` keeps the bytes
themselves.
"""
MAKES_BYTES = {"bytes", "read", "read_bytes", "getvalue", "tobytes"}
QUANTIZERS = {"convert_pt2e", "prepare_pt2e", "prepare_qat_pt2e"}
LOADERS = {"load_program", "_load_for_executorch", *FROM_BUFFER}


def check(source: Source) -> Iterator[Finding]:
    """Yield the findings of one module; one that does not parse has none."""
    try:
        module = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError):
        return
    nodes = list(ast.walk(module))
    yield from temporary_buffers(source, nodes)
    yield from quantized_without_kernels(source, nodes)
    yield from gelu_tanh(source, nodes)


def temporary_buffers(source: Source, nodes: list[ast.AST]) -> Iterator[Finding]:
    """Yield EXT305 where bytes that nothing else holds are loaded from: the runtime keeps a pointer into them."""
    returned = {id(node.value) for node in nodes if isinstance(node, ast.Return) and node.value is not None}
    locals_of = {
        id(inner): frozenset(_assigned(node)) - _outer(node)
        for node in nodes
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for inner in ast.walk(node)
    }
    for node in nodes:
        if not isinstance(node, ast.Call) or _name(node.func) not in FROM_BUFFER or not node.args:
            continue
        argument = node.args[0]
        made = _temporary(argument)
        if made is None and id(node) in returned:
            held = argument.value if isinstance(argument, ast.Attribute) else argument
            if isinstance(held, ast.Name) and held.id in locals_of.get(id(node), ()):
                made = f"the bytes of {held.id}, a local of the function that returns the module"
        if made is not None:
            yield finding(
                "EXT305",
                f"the module keeps a pointer into {made}, and nothing holds those bytes afterwards (0x23)",
                _at(source, argument),
                help="keep the bytes in a variable that lives as long as the module",
            )


def _temporary(node: ast.expr) -> str | None:
    """Return what the bytes are if they belong to a temporary.

    `program.buffer` of a variable is none: the program keeps the bytes that it made.
    """
    if isinstance(node, ast.Attribute) and node.attr == "buffer" and isinstance(node.value, ast.Call):
        return f"the buffer of the result of {_name(node.value.func)}()"
    if isinstance(node, ast.Call) and _name(node.func) in MAKES_BYTES:
        return f"the result of {_name(node.func)}()"
    return None


def _assigned(function: ast.AST) -> Iterator[str]:
    """Yield the names that a function binds by assignment or `with`."""
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _outer(function: ast.AST) -> frozenset[str]:
    """Return the names that a function declares global or nonlocal."""
    declared = (node for node in ast.walk(function) if isinstance(node, (ast.Global, ast.Nonlocal)))
    return frozenset(name for node in declared for name in node.names)


def quantized_without_kernels(source: Source, nodes: list[ast.AST]) -> Iterator[Finding]:
    """Yield EXT306 where a module quantizes and runs a program and never loads the quantized kernels."""
    names = {_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    if not names & QUANTIZERS or not any("executorch" in name for name in _imports(nodes)):
        return
    if any("kernels.quantized" in name or "quantized_ops" in name for name in _imports(nodes)):
        return
    if any(isinstance(node, ast.Constant) and "quantized_ops" in str(node.value) for node in nodes):
        return  # torch.ops.load_library of the library itself
    for node in nodes:
        if isinstance(node, ast.Call) and _name(node.func) in LOADERS:
            yield finding(
                "EXT306",
                "a quantized program is loaded, and nothing imports executorch.kernels.quantized: its "
                "quantize and "
                "dequantize operators are missing (0x14)",
                _at(source, node),
                help="import executorch.kernels.quantized before loading",
                confidence=Confidence.LIKELY,
            )
            return


def gelu_tanh(source: Source, nodes: list[ast.AST]) -> Iterator[Finding]:
    """Yield EXT204 for GELU in its tanh form in a module that lowers to XNNPACK."""
    lowers = any(isinstance(node, ast.Call) and _name(node.func) == "XnnpackPartitioner" for node in nodes)
    if not lowers:
        return
    for node in nodes:
        if not isinstance(node, ast.Call) or _name(node.func) not in ("GELU", "gelu"):
            continue
        for keyword in node.keywords:
            if (
                keyword.arg == "approximate"
                and isinstance(keyword.value, ast.Constant)
                and keyword.value.value == "tanh"
            ):
                yield finding(
                    "EXT204",
                    "XNNPACK computes exact GELU for a node that asks for the tanh form: results differ by "
                    "up to 5e-4",
                    _at(source, node),
                    help=(
                        "use exact GELU, or keep the node out of the delegate; kexec-lint delegate compare "
                        "measures it"
                    ),
                    confidence=Confidence.LIKELY,
                )


def _imports(nodes: list[ast.AST]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update(f"{node.module or ''}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and _name(node.func) in ("import_module", "__import__"):
            found.update(str(argument.value) for argument in node.args if isinstance(argument, ast.Constant))
    return found


def _name(node: ast.expr) -> str:
    """Return the last part of a call's name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _at(source: Source, node: ast.expr) -> Location:
    """Return a node's place, columns in code points, rows of its cell in a notebook."""
    lines = source.text.split("\n")

    def column(row: int, offset: int) -> int:
        return len(lines[row - 1].encode("utf-8")[:offset].decode("utf-8", "ignore")) + 1

    row, end = node.lineno, node.end_lineno or node.lineno
    start, stop = column(row, node.col_offset), column(end, node.end_col_offset or node.col_offset)
    if source.cells is None:
        return Location(source.path, row, start, end, stop)
    cell, first = source.cells[row - 1]
    return Location(source.path, first, start, source.cells[end - 1][1], stop, cell)
