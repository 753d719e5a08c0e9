"""YAML with positions: composes with libyaml where PyYAML has it, and keeps the marks of every node."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from kexec_lint.executorch.registration import RegistrationError
from kexec_lint.findings import Location

if TYPE_CHECKING:
    from collections.abc import Iterator

    # The stubs give the attribute `id` to the kinds of nodes only, and every node is of one of them.
    from yaml import MappingNode, ScalarNode, SequenceNode

    Node = MappingNode | ScalarNode | SequenceNode


def compose(path: str, text: str) -> Node | None:
    """Return the root node, None for an empty file. Raises RegistrationError where the text is no YAML."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return cast("Node | None", yaml.compose(text, loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else path
        raise RegistrationError(f"{where}: no YAML: {getattr(error, 'problem', None) or error}") from error
    except RecursionError as error:
        raise RegistrationError(f"{path}: YAML nested too deep") from error


def place(path: str, node: Node) -> Location:
    """Return where a scalar stands, or the first line of a collection."""
    start, end = node.start_mark, node.end_mark
    if end.line != start.line:
        return Location(path, start.line + 1, start.column + 1, start.line + 1, start.column + 1)
    return Location(path, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def is_mapping(node: Node | None) -> bool:
    """Return whether the node is a mapping."""
    return node is not None and node.id == "mapping"


def is_sequence(node: Node | None) -> bool:
    """Return whether the node is a sequence."""
    return node is not None and node.id == "sequence"


def items(node: Node | None) -> Iterator[tuple[str, Node, Node]]:
    """Yield (key, key's node, value's node) of a mapping; nothing for other nodes."""
    if node is not None and node.id == "mapping":
        for key, value in node.value:
            yield str(key.value) if key.id == "scalar" else "", key, value


def entries(node: Node | None) -> Iterator[Node]:
    """Yield the nodes of a sequence; nothing for other nodes."""
    if node is not None and node.id == "sequence":
        yield from node.value


def get(node: Node | None, key: str) -> Node | None:
    """Return the value of a mapping's key, or None. As the loaders do, the last of equal keys counts."""
    found = None
    for name, _, value in items(node):
        if name == key:
            found = value
    return found


def text(node: Node | None) -> str | None:
    """Return the text of a scalar, None for null and for collections."""
    if node is None or node.id != "scalar" or node.tag == "tag:yaml.org,2002:null":
        return None
    return str(node.value)


def boolean(node: Node | None) -> bool | None:
    """Return the truth of a YAML boolean, None for anything else."""
    if node is None or node.id != "scalar" or node.tag != "tag:yaml.org,2002:bool":
        return None
    return str(node.value).lower() in ("yes", "true", "on")


def kind(node: Node) -> str:
    """Return the Python type that a loader makes of the node, as executorch's messages name it."""
    if node.id == "mapping":
        return "dict"
    if node.id == "sequence":
        return "list"
    tag = str(node.tag).rsplit(":", 1)[-1]
    return {"null": "NoneType"}.get(tag, tag)
