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
    text = source.text
    wanted = [
        judge
        for judge, needed in (
            (temporary_buffers, (FROM_BUFFER,)),
            (quantized_without_kernels, (QUANTIZERS, LOADERS)),
            (gelu_tanh, ({"XnnpackPartitioner"}, {"approximate"})),
        )
        if all(any(word in text for word in words) for words in needed)
    ]
    if not wanted:
        return
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    nodes = list(ast.walk(module))
    for judge in wanted:
        yield from judge(source, nodes)


def temporary_buffers(source: Source, nodes: list[ast.AST]) -> Iterator[Finding]:
    """Yield EXT305 where bytes that nothing else holds are loaded from: the runtime keeps a pointer into them."""
    local = _returned_with_locals(nodes)
    for node in nodes:
        if not isinstance(node, ast.Call) or _name(node.func) not in FROM_BUFFER or not node.args:
            continue
        argument = node.args[0]
        made = _temporary(argument)
        held = argument.value if isinstance(argument, ast.Attribute) else argument
        if made is None and isinstance(held, ast.Name) and held.id in local.get(node, ()):
            made = f"the bytes of {held.id}, a local of the function that returns the module"
        if made is not None:
            yield finding(
                "EXT305",
                f"the module keeps a pointer into {made}, and nothing holds those bytes afterwards (0x23)",
                _at(source, argument),
                help="keep the bytes in a variable that lives as long as the module",
            )


def _returned_with_locals(nodes: list[ast.AST]) -> dict[ast.expr, frozenset[str]]:
    """Return the loader calls that a function returns at once, each with the local names of that function."""
    found: dict[ast.expr, frozenset[str]] = {}
    for function in nodes:
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        inner = list(ast.walk(function))
        calls = [node.value for node in inner if isinstance(node, ast.Return) and isinstance(node.value, ast.Call)]
        calls = [call for call in calls if _name(call.func) in FROM_BUFFER]
        if calls:
            outer = {name for node in inner if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
            stored = {node.id for node in inner if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
            found.update(dict.fromkeys(calls, frozenset(stored - outer)))
    return found


def _temporary(node: ast.expr) -> str | None:
    """Return what the bytes are if they belong to a temporary.

    `program.buffer` of a variable is none: the program keeps the bytes that it made.
    """
    if isinstance(node, ast.Attribute) and node.attr == "buffer" and isinstance(node.value, ast.Call):
        return f"the buffer of the result of {_name(node.value.func)}()"
    if isinstance(node, ast.Call) and _name(node.func) in MAKES_BYTES:
        return f"the result of {_name(node.func)}()"
    return None


def quantized_without_kernels(source: Source, nodes: list[ast.AST]) -> Iterator[Finding]:
    """Yield EXT306 where a module quantizes, runs the program on the CPU and never loads the quantized kernels."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    names = {_name(call.func) for call in calls}
    imports = _imports(nodes)
    if not names & QUANTIZERS or not any("executorch" in name for name in imports):
        return
    if any("kernels.quantized" in name or "quantized_ops" in name for name in imports):
        return
    if any(isinstance(node, ast.Constant) and "quantized_ops" in str(node.value) for node in nodes):
        return  # torch.ops.load_library of the library itself
    if any("artitioner" in name for name in (*names, *imports)) or any(
        keyword.arg == "partitioner" for call in calls for keyword in call.keywords
    ):
        return  # a backend takes the quantize and dequantize operators with the nodes between them
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
                    "XNNPACK computes exact GELU for a node that asks for the tanh form: results differ by up to 5e-4",
                    _at(source, node),
                    help=(
                        "use exact GELU, or keep the node out of the delegate; kexec-lint delegate compare measures it"
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
