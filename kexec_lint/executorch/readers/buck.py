"""Reads Buck files: `et_operator_library` and `executorch_generated_lib`, in the Python-like Starlark of BUCK
files.
"""

from __future__ import annotations

import ast

from kexec_lint.executorch.readers import oplist
from kexec_lint.executorch.registration import Kind, Part, finding, place
from kexec_lint.findings import Location

_PRIM_NAMESPACES = ("executorch_prim::", "aten::sym_size", "aten::sym_numel", "aten::_local_scalar_dense")


def is_buck(text: str) -> bool:
    """Return whether the file calls a rule that this reader knows."""
    return "et_operator_library" in text or "executorch_generated_lib" in text


def read(path: str, text: str) -> Part:
    """Return the operators that the file's targets select; several targets are the union."""
    part = Part(path, Kind.SETTINGS, place(path))
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return part
    prim_limited = False
    constants: dict[str, ast.expr] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            constants[node.targets[0].id] = node.value
    for node in ast.walk(module):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        arguments = {keyword.arg: keyword for keyword in node.keywords if keyword.arg}
        if name == "et_operator_library":
            part.kind = Kind.SELECTION
            _operators(part, node, arguments, constants)
        elif name == "executorch_generated_lib":
            _generated(part, arguments)
            prim = arguments.get("include_all_prim_ops")
            prim_limited |= prim is not None and isinstance(prim.value, ast.Constant) and prim.value.value is False
    listed = frozenset(entry.operator for entry in part.selected if entry.operator.startswith(_PRIM_NAMESPACES))
    if prim_limited and listed:
        # Without any primitive operator in `ops` all are included (examples/selective_build/targets.bzl).
        part.prim = frozenset(_macro(name) for name in listed)
    return part


def _macro(operator: str) -> str:
    return operator.replace("::", "_").replace(".", "_").upper()


def _operators(part: Part, call: ast.Call, arguments: dict[str, ast.keyword], constants: dict[str, ast.expr]) -> None:
    ops = arguments.get("ops")
    if ops is not None:
        for element in _elements(ops.value, constants):
            if isinstance(element, ast.Constant) and isinstance(element.value, str):
                part.is_list = True
                oplist.add(part, element.value, _at(part.path, element))
    table = arguments.get("ops_dict")
    value = table.value if table is not None else None
    if isinstance(value, ast.Name):
        value = constants.get(value.id)
    if isinstance(value, ast.Dict):
        for key, entries in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                names = [text for entry in _elements(entries, constants) if (text := _key_text(entry))]
                at = _at(part.path, key)
                oplist.add(part, key.value, at, oplist.dict_keys(part, key.value, names, at))
    everything = arguments.get("include_all_operators")
    if everything is not None and isinstance(everything.value, ast.Constant) and everything.value.value is True:
        part.include_all = _at(part.path, everything.value)
    for role, name in (("model", "model"), ("schema", "ops_schema_yaml_target")):
        given = arguments.get(name)
        if given is not None and isinstance(given.value, ast.Constant) and isinstance(given.value.value, str):
            part.files.append((role, given.value.value, _at(part.path, given.value)))


def _key_text(node: ast.expr) -> str | None:
    """Return a key or dtype name of ops_dict: a string, or `ScalarType("Float")`."""
    if isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return node.attr if isinstance(node, ast.Attribute) else None


def _generated(part: Part, arguments: dict[str, ast.keyword]) -> None:
    for role, name in (("functions", "functions_yaml_target"), ("custom", "custom_ops_yaml_target")):
        given = arguments.get(name)
        if given is not None and isinstance(given.value, ast.Constant) and isinstance(given.value.value, str):
            part.files.append((role, given.value.value, _at(part.path, given.value)))
    dtype = arguments.get("dtype_selective_build")
    if dtype is None or not isinstance(dtype.value, ast.Constant) or dtype.value.value is not True:
        return
    part.dtype_selective = _at(part.path, dtype.value)
    kernels = arguments.get("kernel_deps")
    names = [
        element.value
        for element in (_elements(kernels.value, {}) if kernels is not None else ())
        if isinstance(element, ast.Constant) and isinstance(element.value, str)
    ]
    if names and not any("portable" in name for name in names):
        part.problems.append(
            finding(
                "EXT112",
                f"dtype_selective_build has no effect: {', '.join(names)} are not the portable kernels",
                part.dtype_selective,
                help="add the portable operators to kernel_deps, or leave dtype_selective_build off",
            )
        )


def _elements(node: ast.expr, constants: dict[str, ast.expr], depth: int = 0) -> list[ast.expr]:
    """Return the elements of a list, a named list or a sum of lists."""
    if depth > 8:
        return []
    if isinstance(node, ast.Name) and node.id in constants:
        return _elements(constants[node.id], constants, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _elements(node.left, constants, depth + 1) + _elements(node.right, constants, depth + 1)
    return list(node.elts) if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else []


def _at(path: str, node: ast.expr) -> Location:
    row, end = node.lineno, node.end_lineno or node.lineno
    column = node.col_offset + 1
    if end != row or node.end_col_offset is None:
        return place(path, row, column)
    return Location(path, row, column, end, node.end_col_offset + 1)
