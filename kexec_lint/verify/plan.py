"""The smallest enqueue graph that holds a pair, as data that another process can play on a device (JSON-able)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class QueueSpec:
    """A command queue of the plan."""

    name: str
    out_of_order: bool
    profiling: bool = False


@dataclass(frozen=True)
class MemorySpec:
    """A memory object or host array. `parent` and `origin` (bytes) for a sub-buffer; `dtype` as NumPy names it.

    `kind`: "buffer", "host", "mapped" (the host's view of the map in step `map_step`).
    """

    name: str
    kind: str
    bytes: int
    dtype: str = "float32"
    parent: int | None = None
    origin: int = 0
    map_step: int | None = None


@dataclass(frozen=True)
class Operand:
    """Bytes `origin` to `origin + bytes` of a memory object, and what the step does to them."""

    memory: int
    origin: int
    bytes: int
    reads: bool
    writes: bool


@dataclass(frozen=True)
class KernelSpec:
    """The author's kernel. An argument is ("memory", index), ("scalar", type, bytes) or ("local", bytes)."""

    source: str
    name: str
    arguments: tuple[tuple[Any, ...], ...]
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Step:
    """A command, or something that the host does.

    Commands: "kernel", "read", "write", "copy", "fill", "map", "unmap", "marker", "barrier", "migrate". Host:
    "wait" (for `steps`), "finish" (`queue`), "access" (of `operands`), "status" (user event `user` is completed).
    `waits` are steps in the wait list and `users` user events in it; None stands for no list at all.
    """

    op: str
    what: str = ""
    line: int = 0
    queue: int | None = None
    operands: tuple[Operand, ...] = ()
    waits: tuple[int, ...] | None = None
    users: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    user: int | None = None
    kernel: KernelSpec | None = None
    map_step: int | None = None
    invalidates: bool = False


HOST = frozenset({"wait", "finish", "access", "status"})
"""What the host does itself."""


@dataclass(frozen=True)
class Plan:
    """Steps in host order; `earlier` is held by the gate, `later` is watched.

    `users` counts the program's own user events. `notes` say what stands in for what.
    """

    queues: tuple[QueueSpec, ...]
    memories: tuple[MemorySpec, ...]
    steps: tuple[Step, ...]
    earlier: int
    later: int
    users: int = 0
    notes: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return the plan as JSON-able data."""
        return asdict(self)


def read(data: dict[str, Any]) -> Plan:
    """Return the plan behind `Plan.data` after a journey through JSON."""
    steps = []
    for step in data["steps"]:
        kernel = step["kernel"]
        if kernel is not None:
            kernel = KernelSpec(
                kernel["source"],
                kernel["name"],
                tuple(tuple(argument) for argument in kernel["arguments"]),
                tuple(kernel["global_size"]),
                tuple(kernel["local_size"]) if kernel["local_size"] else None,
            )
        fields = dict(step, kernel=kernel, operands=tuple(Operand(**operand) for operand in step["operands"]))
        for name in ("waits", "users", "steps"):
            fields[name] = None if fields[name] is None else tuple(fields[name])
        steps.append(Step(**fields))
    return Plan(
        tuple(QueueSpec(**queue) for queue in data["queues"]),
        tuple(MemorySpec(**memory) for memory in data["memories"]),
        tuple(steps),
        data["earlier"],
        data["later"],
        data["users"],
        tuple(data["notes"]),
    )


@dataclass(frozen=True)
class Difference:
    """How a memory object's final contents differ from those of an ordered run."""

    memory: str
    count: int
    of: int
    first: int
    got: str
    expected: str

    @property
    def words(self) -> str:
        """The difference in a sentence."""
        return (
            f"`{self.memory}`[{self.first}] came out as {self.got}, an ordered run gives {self.expected} "
            f"({self.count} of {self.of} elements differ)"
        )


@dataclass(frozen=True)
class Outcome:
    """What was seen. `order`: "later-first", "held", "blocked" (the enqueue call itself waited), "gate-ignored",
    "refused" (the device cannot do it; `detail` says what). `differences` are those of a run in which the order was
    not kept, or was kept although the earlier command was held back.
    """

    order: str
    detail: str = ""
    earlier_status: str = ""
    later_status: str = ""
    differences: tuple[Difference, ...] = field(default=())
    kernels: str = ""
    """Whose kernels ran: "author", "stand-in", or "" if none."""

    def data(self) -> dict[str, Any]:
        """Return the outcome as JSON-able data."""
        return asdict(self)


def outcome(data: dict[str, Any]) -> Outcome:
    """Return the outcome behind `Outcome.data`."""
    differences = tuple(Difference(**difference) for difference in data["differences"])
    return Outcome(**dict(data, differences=differences))
