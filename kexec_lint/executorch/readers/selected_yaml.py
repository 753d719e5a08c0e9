"""Reads selected_operators.yaml, as `torchgen.selective_build.SelectiveBuilder.from_yaml_dict` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kexec_lint.executorch.readers import yaml_nodes as nodes
from kexec_lint.executorch.registration import Kind, Part, Selected, finding

if TYPE_CHECKING:
    from kexec_lint.executorch.readers.yaml_nodes import Node

TOP_KEYS = {
    "include_all_operators": "bool",
    "include_all_non_op_selectives": "bool",
    "debug_info": "list",
    "operators": "dict",
    "kernel_metadata": "dict",
    "et_kernel_metadata": "dict",
    "custom_classes": "list",
    "build_features": "list",
}
OPERATOR_KEYS = {
    "name": "str",
    "is_root_operator": "bool",
    "is_used_for_training": "bool",
    "include_all_overloads": "bool",
    "debug_info": "list",
}


def is_selection(root: Node | None) -> bool:
    """Return whether the document looks like a selection: a mapping with a key that only a selection has."""
    names = {name for name, _, _ in nodes.items(root)}
    return bool(names & {"operators", "et_kernel_metadata", "include_all_operators"}) and not names & {
        "jobs",
        "on",
    }


def read(path: str, root: Node) -> Part:
    """Return the selection with every operator's line; what the loader would refuse is a finding (EXT105)."""
    part = Part(path, Kind.SELECTION, nodes.place(path, root))
    _check_mapping(part, root, TOP_KEYS, "top level")
    if nodes.boolean(nodes.get(root, "include_all_operators")):
        part.include_all = next(
            nodes.place(path, key) for name, key, _ in nodes.items(root) if name == "include_all_operators"
        )
    _models(part, nodes.get(root, "debug_info"))
    metadata = {}
    for name, key, value in nodes.items(nodes.get(root, "et_kernel_metadata")):
        keys = tuple(nodes.text(entry) or "" for entry in nodes.entries(value))
        metadata[name] = Selected(name, nodes.place(path, key), keys, keys_at=nodes.place(path, value))
        if not nodes.is_sequence(value) and not part.broken:
            _problem(part, value, f"the metadata of {name} are {nodes.kind(value)}, not a list of kernel keys")
    part.metadata = metadata
    for name, key, value in nodes.items(nodes.get(root, "operators")):
        if not nodes.is_mapping(value):
            _problem(part, value, f"operator {name} must hold a mapping, not {nodes.kind(value)}")
            continue
        _check_mapping(part, value, OPERATOR_KEYS, f"operator {name}")
        named = nodes.get(value, "name")
        if named is not None and nodes.text(named) != name:
            _problem(part, named, f"operator {name} is named {nodes.text(named)} inside its own entry")
        _models(part, nodes.get(value, "debug_info"))
        own = metadata.get(name)
        part.selected.append(
            Selected(
                name,
                nodes.place(path, key),
                own.keys if own else None,
                nodes.boolean(nodes.get(value, "is_root_operator")) is not False,
                # Both flags default to true where they are left out.
                nodes.boolean(nodes.get(value, "include_all_overloads")) is not False,
                own.keys_at if own else None,
            )
        )
    return part


def _models(part: Part, debug_info: Node | None) -> None:
    for entry in nodes.entries(debug_info):
        model = nodes.text(entry)
        if model:
            part.models.setdefault(model, nodes.place(part.path, entry))


def _check_mapping(part: Part, mapping: Node, allowed: dict[str, str], where: str) -> None:
    seen: set[str] = set()
    for name, key, value in nodes.items(mapping):
        if name not in allowed:
            _problem(
                part,
                key,
                f"unknown key {name!r} at {where}: the loader raises `Got unexpected top level keys`",
                help=f"allowed are {', '.join(allowed)}",
            )
        elif name == "et_kernel_metadata" and nodes.kind(value) == "NoneType":
            part.null_metadata = nodes.place(part.path, key)
        elif allowed[name] != nodes.kind(value) and not (allowed[name] == "str" and value.id == "scalar"):
            if name in ("custom_classes", "build_features") and nodes.kind(value) in ("dict", "str"):
                continue  # any iterable is taken
            _problem(
                part,
                value,
                f"{name!r} at {where} must be {allowed[name]}, not {nodes.kind(value)}",
            )
        if name in seen:
            _problem(part, key, f"{name!r} stands twice at {where}; YAML keeps only the last", stops=False)
        seen.add(name)


def _problem(part: Part, node: Node, message: str, help: str | None = None, stops: bool = True) -> None:
    part.broken |= stops
    part.problems.append(finding("EXT105", message, nodes.place(part.path, node), help=help))
