"""The row of an API table: what one call means, whatever the library and the language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kexec_lint.source import ModelError


@dataclass(frozen=True)
class CallModel:
    """What a call does.

    `does`: "command" (enqueues one), or what the interpreter knows how to do by that name ("finish", "wait",
    "queue", "buffer", …). `kind` is the command's kind in the enqueue graph. `params` are the parameter names in
    positional order; `queue`, `wait`, `blocking` name the parameters that play these parts. `reads` and `writes`
    name operands. `returns`: "event", "nanny" (PyOpenCL: an event that waits when it is dropped), "map", "none".
    """

    does: str
    kind: str = ""
    params: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    queue: str = "queue"
    wait: str = "wait_for"
    blocking: str | None = None
    blocking_default: bool = False
    returns: str = "event"

    @property
    def operands(self) -> tuple[str, ...]:
        """Names of the parameters that are memory."""
        return tuple(dict.fromkeys(self.reads + self.writes))


def row(does: str, kind: str = "", params: str = "", **parts: Any) -> CallModel:
    """Build a row from compact text: `params` are separated by spaces, `is_blocking=True` gives the default."""
    names: list[str] = []
    blocking, default = None, False
    for word in params.split():
        name, _, value = word.partition("=")
        names.append(name)
        if name in ("is_blocking", "blocking"):
            blocking, default = name, value == "True"
    for key in ("reads", "writes"):
        if isinstance(parts.get(key), str):
            parts[key] = tuple(parts[key].split())
    return CallModel(does, kind, tuple(names), blocking=blocking, blocking_default=default, **parts)


USER_FIELDS = ("does", "kind", "params", "reads", "writes", "queue", "wait", "returns")
USER_DOES = ("command", "finish", "wait", "nothing", "opaque")


def user_models(table: Mapping[str, Mapping[str, Any]]) -> dict[str, CallModel]:
    """Read `[tool.kexec-lint.models]`: dotted name → row. Raises ModelError.

    `"mylib.settle" = { does = "finish", params = "queue" }` says that the call waits for its queue;
    `"mylib.blur" = { kind = "kernel", params = "queue src dst wait_for", reads = "src", writes = "dst" }`
    that it enqueues a command; `"mylib.log" = { does = "nothing" }` that it touches no queue.
    """
    models: dict[str, CallModel] = {}
    for name, fields in table.items():
        if not isinstance(fields, Mapping):
            raise ModelError(name, ' must be a table such as { does = "finish", params = "queue" }')
        for field in fields:
            if field not in USER_FIELDS:
                raise ModelError(name, f" has no field {field!r}; fields are {', '.join(USER_FIELDS)}")
            value = fields[field]
            if not isinstance(value, str) and not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
                raise ModelError(name, f": {field} must be a string or a list of strings")
        fields = {field: value if isinstance(value, str) else " ".join(value) for field, value in fields.items()}
        does = fields.get("does", "command")
        if does not in USER_DOES:
            raise ModelError(name, f": does = {does!r} is not one of {', '.join(USER_DOES)}")
        params = fields.get("params", "queue" if does != "wait" else "wait_for")
        rest = {key: value for key, value in fields.items() if key not in ("does", "params")}
        kind = rest.pop("kind", "kernel")
        for part in ("reads", "writes"):
            for operand in rest.get(part, "").split():
                if operand not in params.split():
                    raise ModelError(name, f": {part} names {operand!r}, which is not among its params")
        models[name] = row(does, kind, params, **rest)
    return models
