"""A partitioner that delegates only some of the nodes that another one would, and notes what that one took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from executorch.exir.backend.partitioner import Partitioner, PartitionResult

Allow = Callable[["Taken"], bool]


@dataclass(frozen=True)
class Taken:
    """A node that a partitioner takes: its name and operator, in which partition, and what is known of its origin.

    `position` counts the calls of the graph in topological order. `attributes` are the arguments that are no
    tensors. `source` is where the author's code calls it, `module` the submodule that does.
    """

    name: str
    operator: str
    tag: str
    position: int
    consumers: tuple[str, ...] = ()
    attributes: str = ""
    module: str = ""
    source: str = ""


class Partial(Partitioner):  # type: ignore[misc]
    """Delegates the nodes of `inner` that `allow` lets through; `taken` are all that `inner` took.

    Nodes are asked for in topological order. What is let through of one partition must not have a path through a
    node that is not: a prefix of the order has none.
    """

    def __init__(self, inner: Any, allow: Allow | None = None) -> None:
        super().__init__()
        self.inner = inner
        self.allow = allow
        self.taken: list[Taken] = []
        self.done = False

    def ops_to_not_decompose(self, ep: Any) -> tuple[list[Any], Any]:
        """Keep the operators that `inner` wants whole; afterwards one that stays outside is no mistake."""
        if self.done and self.allow is not None:
            return [], None
        kept: tuple[list[Any], Any] = self.inner.ops_to_not_decompose(ep)
        return kept

    def partition(self, exported_program: Any) -> PartitionResult:
        """Let `inner` partition the program, then take the tags away from what is not allowed."""
        result = self.inner.partition(exported_program)
        self.done = True
        program = result.tagged_exported_program
        tags: set[str] = set()
        for position, node in enumerate(program.graph.nodes):
            tag = node.meta.get("delegation_tag")
            if tag is None or node.op != "call_function":
                continue
            taken = _describe(node, tag, position)
            self.taken.append(taken)
            if self.allow is not None and not self.allow(taken):
                del node.meta["delegation_tag"]
            else:
                tags.add(tag)
        if self.allow is not None:
            _untag_orphans(program)
        return PartitionResult(
            tagged_exported_program=program,
            partition_tags={tag: spec for tag, spec in result.partition_tags.items() if tag in tags},
        )


def _untag_orphans(program: Any) -> None:
    """Take the tag from constants that a node outside of their partition reads."""
    for node in program.graph.nodes:
        tag = node.meta.get("delegation_tag")
        if tag is None or node.op == "call_function":
            continue
        users = {user.meta.get("delegation_tag") for user in node.users}
        if tag not in users:
            del node.meta["delegation_tag"]


def _describe(node: Any, tag: str, position: int) -> Taken:
    shown = [
        f"{argument.name}={value!r}"
        for argument, value in _arguments(node)
        if not _is_tensor(value) and value != argument.default_value
    ]
    modules = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values() if path]
    return Taken(
        node.name,
        str(getattr(node.target, "__name__", node.target)),
        tag,
        position,
        tuple(user.name for user in node.users),
        ", ".join(shown),
        modules[-1] if modules else "",
        source_of(node),
    )


def _arguments(node: Any) -> list[tuple[Any, Any]]:
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return []
    given = [
        (argument, node.args[index] if index < len(node.args) else node.kwargs.get(argument.name))
        for index, argument in enumerate(schema.arguments)
    ]
    return [(argument, value) for argument, value in given if value is not None]


def _is_tensor(value: Any) -> bool:
    from torch.fx import Node

    if isinstance(value, (list, tuple)):
        return any(_is_tensor(item) for item in value)
    return isinstance(value, Node)


def source_of(node: Any) -> str:
    """Return `file:line` of the author's code that made a node, or an empty string."""
    for line in reversed((node.meta.get("stack_trace") or "").splitlines()):
        if line.strip().startswith('File "'):
            path, _, rest = line.strip()[6:].partition('", line ')
            if "/site-packages/" not in path:
                return f"{path}:{rest.split(',')[0]}"
    return ""
