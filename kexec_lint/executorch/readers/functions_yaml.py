"""Reads functions.yaml and custom-operator YAML as `codegen/gen.py` and `codegen/parse.py` do."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from kexec_lint.executorch import tables
from kexec_lint.executorch.keys import CODEGEN_TYPES, SCALAR_TYPES
from kexec_lint.executorch.names import Meaning, meaning, suggest
from kexec_lint.executorch.readers import yaml_nodes as nodes
from kexec_lint.executorch.registration import Kernel, Kind, Part, finding

if TYPE_CHECKING:
    from kexec_lint.executorch.readers.yaml_nodes import Node

# ET_FIELDS of codegen/parse.py, and what torchgen's NativeFunction.from_yaml takes.
ENTRY_KEYS = {
    "op",
    "func",
    "kernels",
    "type_alias",
    "dim_order_alias",
    "variants",
    "dispatch",
    "tags",
    "autogen",
    "category_override",
    "cpp_no_default_args",
    "device_check",
    "device_guard",
    "manual_cpp_binding",
    "manual_kernel_registration",
    "precomputed",
    "python_module",
    "structured",
    "structured_delegate",
    "structured_inherits",
    "ufunc_inner_loop",
    "use_const_ref_for_mutable_tensors",
}
_OUT = re.compile(r"Tensor\([a-z]!\)(?:\[\])?\s+\w+")


def is_functions(root: Node | None) -> bool:
    """Return whether the document is a list of entries with `op` or `func`."""
    listed = list(nodes.entries(root))
    return (
        bool(listed)
        and all(nodes.is_mapping(entry) for entry in listed)
        and any(nodes.get(entry, "op") is not None or nodes.get(entry, "func") is not None for entry in listed)
    )


def read(path: str, root: Node) -> Part:
    """Return the kernels with their lines; what codegen would refuse is a finding (EXT105)."""
    part = Part(path, Kind.KERNELS, nodes.place(path, root))
    seen: dict[str, int] = {}
    for entry in nodes.entries(root):
        _entry(part, entry, seen)
    return part


def _entry(part: Part, entry: Node, seen: dict[str, int]) -> None:
    name_node, function = nodes.get(entry, "op"), nodes.get(entry, "func")
    for key, node, _ in nodes.items(entry):
        if key not in ENTRY_KEYS:
            _problem(part, node, f"unknown key {key!r}: an entry has `op` or `func` and `kernels`")
    if function is None and name_node is None:
        _problem(part, entry, "an entry needs `op` (an ATen operator) or `func` (a full schema)")
        return
    written = nodes.text(function if function is not None else name_node) or ""
    bare = written.split("(")[0].strip()
    operator = bare if "::" in bare else f"aten::{bare}"
    at = nodes.place(part.path, function if function is not None else name_node)  # type: ignore[arg-type]
    if function is not None:
        out_variant = _schema(part, function, written, operator)
    else:
        out_variant = _aten(part, name_node, operator)  # type: ignore[arg-type]
    if out_variant is None:
        return
    if operator in seen:
        _problem(
            part,
            function if function is not None else name_node,  # type: ignore[arg-type]
            f"{operator} stands here and on line {seen[operator]}: `Duplicate func found in yaml`",
            operator,
        )
        return
    seen[operator] = at.row
    keys = _keys(part, entry, operator)
    if keys is not None:
        part.kernels.append(Kernel(operator, at, keys, out_variant))


def _schema(part: Part, node: Node, schema: str, operator: str) -> bool | None:
    """Return whether the schema is an out variant, None where codegen stops."""
    if not re.match(r"^[\w:]+(\.\w+)?\(.*\)\s*->\s*\S", schema, re.S):
        _problem(part, node, f"`func` needs a full schema `ns::name.overload(arguments) -> returns`, not {schema!r}")
        return None
    head = operator.split("::")[-1].split(".")[0]
    if head.endswith("_out"):
        _problem(
            part,
            node,
            f"{operator}: codegen keeps the suffix _out for C++ names (`_out suffix is reserved`)",
            operator,
            help=f"name the operator {operator.split('::')[0]}::{head[:-4]} with overload out",
        )
        return None
    arguments = schema[schema.index("(") : schema.rindex("->")]
    keyword_only = arguments.rpartition("*,")[2] if "*," in arguments else ""
    out_variant = bool(_OUT.search(keyword_only))
    if not out_variant:
        part.problems.append(
            finding(
                "EXT103",
                f"{operator} has no out argument: codegen emits no kernel for a functional operator and says nothing",
                nodes.place(part.path, node),
                help="declare the out variant: `name.out(…, *, Tensor(a!) out) -> Tensor(a!)`",
                operator=operator,
            )
        )
    return out_variant


def _aten(part: Part, node: Node, operator: str) -> bool | None:
    """Return whether codegen emits a kernel for the ATen operator, None where it stops."""
    release = tables.load()
    means = meaning(operator, release)
    if means in (Meaning.KERNEL, Meaning.OUT):
        return True
    near = suggest(operator, release)
    if means is Meaning.FUNCTIONAL and operator.split("::", 1)[1] in tables.aten()[1]:
        part.problems.append(
            finding(
                "EXT103",
                f"{operator} is a functional operator: codegen emits no kernel for it and says nothing",
                nodes.place(part.path, node),
                help=f"name an out variant: {', '.join(near)}" if near else None,
                operator=operator,
            )
        )
        return False
    _problem(
        part,
        node,
        f"`op` needs the name of an ATen operator; there is no {operator} (bare AssertionError in codegen)",
        operator,
        help=f"did you mean {near[0]}?" if near else "a custom operator is declared by `func` and its full schema",
    )
    return None


def _keys(part: Part, entry: Node, operator: str) -> tuple[str, ...] | None:
    kernels = nodes.get(entry, "kernels")
    if kernels is None:
        return ("default",) if nodes.get(entry, "dispatch") is not None else None
    types = _aliases(part, nodes.get(entry, "type_alias"), "type_alias")
    orders = _aliases(part, nodes.get(entry, "dim_order_alias"), "dim_order_alias")
    for alias, (values, node) in types.items():
        for value in values:
            if value not in CODEGEN_TYPES:
                known = value in SCALAR_TYPES
                _problem(
                    part,
                    node,
                    f"type_alias {alias} holds {value}, "
                    + ("which codegen's ScalarType lacks (KeyError)" if known else "which is no scalar type"),
                    operator,
                    help=f"codegen takes {', '.join(sorted(CODEGEN_TYPES))}",
                )
    found: list[str] = []
    for kernel in nodes.entries(kernels):
        name = nodes.text(nodes.get(kernel, "kernel_name"))
        if name is None:
            _problem(part, kernel, f"a kernel of {operator} without kernel_name", operator)
        meta = nodes.get(kernel, "arg_meta")
        keys = ["default"] if not nodes.is_mapping(meta) else _specialised(part, meta, operator, types, orders)
        for key in keys:
            if key in found:
                _problem(part, kernel, f"two kernels of {operator} for {key}: `Duplicate kernel key`", operator)
            else:
                found.append(key)
    return tuple(found)


Alias = tuple[list[str], "Node"]


def _aliases(part: Part, mapping: Node | None, what: str) -> dict[str, Alias]:
    found: dict[str, Alias] = {}
    for name, _, value in nodes.items(mapping):
        listed = list(nodes.entries(value))
        if what == "dim_order_alias" and any(nodes.is_sequence(entry) for entry in listed):
            _problem(
                part,
                value,
                f"dim_order_alias {name} is a list of lists: codegen calls int() on the inner list (TypeError)",
                help=f"write {name}: [0, 1, 2, 3]",
            )
            continue
        found[name] = ([nodes.text(entry) or "" for entry in listed], value)
    return found


def _specialised(
    part: Part, meta: Node | None, operator: str, types: dict[str, Alias], orders: dict[str, Alias]
) -> list[str]:
    """Return the keys that `ETKernelKey.gen_from_yaml` makes of one arg_meta."""
    arguments: list[tuple[str, str]] = []
    for name, _, value in nodes.items(meta):
        pair = [nodes.text(entry) or "" for entry in nodes.entries(value)]
        if len(pair) != 2:
            _problem(part, value, f"arg_meta of {name} needs [type alias, dim order alias]", operator)
            return []
        if pair[0] not in types:
            _problem(part, value, f"undefined type alias {pair[0]!r} for argument {name}", operator)
            return []
        if pair[1] not in orders:
            _problem(part, value, f"undefined dim_order alias {pair[1]!r} for argument {name}", operator)
            return []
        arguments.append((pair[0], pair[1]))
    used = list(dict.fromkeys(alias for alias, _ in arguments))
    keys = []
    for values in itertools.product(*(types[alias][0] for alias in used)):
        chosen = dict(zip(used, values, strict=True))
        parts = []
        for alias, order in arguments:
            number = SCALAR_TYPES.index(chosen[alias]) if chosen[alias] in SCALAR_TYPES else -1
            parts.append(f"{number};{','.join(orders[order][0])}")
        keys.append("v1/" + "|".join(parts))
    return keys


def _problem(
    part: Part, node: Node, message: str, operator: str | None = None, help: str | None = None, stops: bool = True
) -> None:
    part.broken |= stops
    part.problems.append(finding("EXT105", message, nodes.place(part.path, node), help=help, operator=operator))
