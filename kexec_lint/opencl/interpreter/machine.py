"""The state of one abstract execution: heap, guard, host position, call chain, and the graph under construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.interpreter.heap import Change, Heap
from kexec_lint.opencl.interpreter.values import (
    AbstractValue,
    Frame,
    Object,
    Unknown,
    merge,
)
from kexec_lint.opencl.program import NOWHERE, Span

if TYPE_CHECKING:
    from kexec_lint.opencl.api.model import CallModel
    from kexec_lint.opencl.interpreter.modules import Loader
    from kexec_lint.source import Options

COMMANDS = 300
"""Commands per entry point."""
IDLE = 1_000
"""Evaluated nodes without a call of the API among them: what follows is no host code of the device."""
FIRST = 500
"""Evaluated nodes before the first call of the API."""
STEPS = 15_000
"""Evaluated nodes per entry point; beyond, the rest of the entry point is left out."""
NATIVE_SLACK = 6
"""Functions of C and C++ are longer: they set up every handle by hand."""
NATIVE_STEPS = 2
"""So many times the evaluated nodes of an entry point in Python."""
EARLY = 20
"""A function that was entered in this part of the budget and used up the rest is not worth a run of its own."""
DEPTH = 12
"""Nested activations of functions."""


class Exhausted(Exception):
    """The entry point is larger than the budget."""


class Flow(Enum):
    """How a block of statements ends. DEAD: every path has left and is recorded where it went."""

    NEXT = 0
    RETURN = 1
    BREAK = 2
    CONTINUE = 3
    RAISE = 4
    DEAD = 5
    GOTO = 6


@dataclass
class Exit:
    """A path that left a function or loop early."""

    flow: Flow
    guard: g.Guard
    change: Change
    host: g.HostPoint
    label: str | None = None
    """Where a goto leads."""


@dataclass
class Machine:
    """One abstract execution. Roots run one after the other on the same machine, each on a graph of its own."""

    loader: Loader
    options: Options
    models: dict[str, CallModel]
    in_c: bool = False
    """The file is C or C++."""
    heap: Heap = field(default_factory=Heap)
    graph: g.EnqueueGraph = field(default_factory=g.EnqueueGraph)
    guard: g.Guard = frozenset()
    frames: list[Frame] = field(default_factory=list)
    places: list[g.Place] = field(default_factory=list)
    exits: list[list[Exit]] = field(default_factory=list)
    deaths: dict[int, Flow] = field(default_factory=dict)
    conditions: dict[Any, int] = field(default_factory=dict)
    host: g.HostPoint = field(default_factory=lambda: g.HostPoint(0, (), frozenset()))
    commands: list[g.Command] = field(default_factory=list)
    """Those of the graph under construction."""
    tracked_arrays: set[AbstractValue] = field(default_factory=set)
    """Arrays whose events the program keeps (`add_event`), as tokens."""
    users: dict[int, list[g.Command]] = field(default_factory=dict)
    """By identity of a root memory object, the commands that access it."""
    lanes: dict[g.Queue, list[g.Command]] = field(default_factory=dict)
    unknown_queues: dict[AbstractValue, g.Queue] = field(default_factory=dict)
    unknown_memory: dict[AbstractValue, g.Memory] = field(default_factory=dict)
    unknown_events: dict[AbstractValue, g.Event] = field(default_factory=dict)
    unknown_state: dict[AbstractValue, dict[Any, Any]] = field(default_factory=dict)
    instances: dict[int, Object] = field(default_factory=dict)
    assignments: dict[int, dict[str, list[tuple[Any, Any]]]] = field(default_factory=dict)
    """By identity of a class, what its methods assign to attributes of their receiver."""
    entered: set[int] = field(default_factory=set)
    """Functions of the tree that were followed from some caller, by identity of their node."""
    ran: set[Span] = field(default_factory=set)
    """Places of the functions that ran since the entry point began."""
    rotating: dict[int, bool] = field(default_factory=dict)
    """By identity of a loop, whether it picks slots by a remainder."""
    assumed: g.Guard = frozenset()
    """Decisions that hold in this turn of a loop because its test did; they are no condition of what it does."""
    followed: set[int] = field(default_factory=set)
    """Functions that were followed to their end, whatever they were given."""
    memo: dict[Any, AbstractValue] = field(default_factory=dict)
    stack: list[Any] = field(default_factory=list)
    label: str | None = None
    """The target of the goto that is being carried out."""
    nannies: list[g.Event] = field(default_factory=list)
    pinned: list[tuple[Object, g.Command]] = field(default_factory=list)
    """Host arrays of asynchronous SVM copies, which keep no reference to them."""
    locks: tuple[AbstractValue, ...] = ()
    trying: int = 0
    """Above 0 in the body of a `try` with handlers."""
    kernel_texts: dict[str, g.Site] = field(default_factory=dict)
    """OpenCL C texts that were built into programs, and where."""
    steps: int = 0
    limit: int = 0
    """Steps at which the budget is spent, or the API has not been called for long."""
    most_steps: int = STEPS
    most_idle: int = IDLE
    serial: int = 0
    refusals: int = 0
    """Above 0 where the author catches PyOpenCL's errors, or a test expects one."""
    scratch: int = 0
    """Above 0 while code runs whose commands do not count (constructors, imported modules)."""

    def __post_init__(self) -> None:
        if self.in_c:
            self.most_steps, self.most_idle = STEPS * NATIVE_STEPS, IDLE * NATIVE_SLACK

    # --- identity and position

    def fresh(self, *why: Any) -> Unknown:
        """Return an unknown value that equals no other."""
        self.serial += 1
        return Unknown(("fresh", *why, self.serial))

    def tick(self) -> None:
        """Count one step. Raises Exhausted when the budget is spent, or the API has not been called for long."""
        self.steps += 1
        if self.steps > self.limit:
            raise Exhausted

    def allow(self, more: int = 0) -> None:
        """Begin to count anew the steps without a call of the API, and allow some more of them than usual."""
        self.limit = min(self.most_steps, max(self.limit, self.steps + self.most_idle + more))

    @property
    def frame(self) -> Frame:
        """The current activation."""
        return self.frames[-1]

    @property
    def native(self) -> bool:
        """Whether the code that runs is C or C++."""
        return bool(self.frames) and self.frames[-1].scope.native

    def site(self, span: Span) -> g.Site:
        """Return the call chain that leads to a span of the current function."""
        frame = self.frames[-1]
        here = (frame.number, frame.scope.path, span, frame.function)
        return (*self.places, tuple.__new__(g.Place, here))  # a named tuple, without a call in Python

    # --- graph

    def begin(self, name: str) -> None:
        """Start a new graph."""
        self.graph = g.EnqueueGraph(name, tracked_arrays=self.tracked_arrays)
        self.lanes = {}
        self.commands = []
        self.users = {}
        self.nannies = []
        self.pinned = []
        self.locks = ()
        self.trying = 0
        self.guard = frozenset()
        self.deaths = {}
        self.steps = self.limit = self.refusals = self.trying = 0
        self.limit = self.most_idle if self.in_c else FIRST
        self.host = self._append(g.HostPoint(0, (), frozenset(), kind="start"))

    def _append(self, point: g.HostPoint) -> g.HostPoint:
        point.index = len(self.graph.nodes)
        self.graph.nodes.append(point)
        return point

    def point(self, kind: str, span: Span = NOWHERE, **parts: Any) -> g.HostPoint:
        """Add a point to the host's program order and move there."""
        point = g.HostPoint(0, self.site(span), self.guard, kind=kind, covers=self.host.covers, **parts)
        point.after(self.host, kind="program")
        self.host = self._append(point)
        return point

    def owns(self, node: g.Node) -> bool:
        """Return whether a node belongs to the graph under construction."""
        return node.index < len(self.graph.nodes) and self.graph.nodes[node.index] is node

    def remark(self, code: str, span: Span, message: str, help: str, **parts: Any) -> None:
        """Record a misuse seen at one call."""
        if not self.scratch:
            remark = g.Remark(code, self.site(span), message, help, guard=self.guard, **parts)
            self.graph.remarks.append(remark)

    # --- branches

    def condition(self, value: Any) -> int:
        """Return the number of a condition."""
        return self.conditions.setdefault(value, len(self.conditions) + 1)

    def branch(self, arms: list[tuple[g.Guard, Callable[[], Flow]]]) -> Flow:
        """Run alternatives from the present state and join what goes on. The first pair of each arm's guard is
        the one that tells it from its siblings."""
        guard, host = self.guard, self.host
        self.serial += 1
        instance = [self.condition(("arm", self.serial, number)) for number in range(len(arms) - 1)]
        if instance and (len(arms) == 2 or not arms[0][0]):
            self.graph.decisions[instance[0]] = arms[0][0]
        live: list[tuple[g.Guard, Change, g.HostPoint]] = []
        carried: set[int] = set()
        conditions: list[g.Guard] = []
        for number, (condition, run) in enumerate(arms):
            marks = {-mark for mark in instance[:number]}
            if number < len(arms) - 1:
                marks.add(instance[number])
            self.guard, self.host = guard | condition | marks, host
            start = self.heap.mark()
            flow = run()
            change = self.heap.take_back(start)
            carried |= self.deaths.keys() & self.guard
            if flow is Flow.NEXT:
                live.append((self.guard, change, self.host))
                conditions.append(condition | marks)
                continue
            if flow is not Flow.DEAD:
                self.leave(Exit(flow, self.guard, change, self.host, self.label))
            for mark in marks:
                self.deaths.setdefault(-mark, flow)
            if number < len(arms) - 1:
                carried.add(-instance[number])
        if not live:
            self.guard, self.host = guard, host
            return Flow.DEAD
        if len(live) == 1 and len(arms) > 1:
            self.guard, change, self.host = live[0]
            self.guard = guard | conditions[0] | carried
            self.heap.apply(change)
            return Flow.NEXT
        self.guard = guard | carried
        self.heap.join([(arm_guard, change) for arm_guard, change, _ in live], lambda key: self.fresh("join", key))
        self.meet([point for _, _, point in live])
        return Flow.NEXT

    def meet(self, points: Iterable[g.HostPoint]) -> None:
        """Let several host paths join."""
        ends = list({p.index: p for p in points}.values())
        if len(ends) == 1:
            self.host = ends[0]
            return
        meet = g.HostPoint(0, (), self.guard, kind="meet", covers=max(end.covers for end in ends))
        for end in ends:
            meet.after(end, kind="program")
        self.host = self._append(meet)

    def leave(self, exit: Exit) -> None:
        """Record a path that leaves the innermost function or loop that catches it."""
        if self.exits:
            self.exits[-1].append(exit)

    def gather(self, exits: list[Exit], flow: Flow) -> None:
        """Join paths that left early with the present one (if it is alive)."""
        if not exits:
            return
        arms: list[tuple[g.Guard, Change]] = [(exit.guard, exit.change) for exit in exits]
        ends = [exit.host for exit in exits]
        if flow is not Flow.DEAD:
            arms.append((self.guard, {}))
            ends.append(self.host)
        if len(arms) == 1:
            self.heap.apply(arms[0][1])
        else:
            self.heap.join(arms, lambda key: self.fresh("join", key))
        self.meet(ends)

    def settle(self, entry: g.Guard, caught: tuple[Flow, ...]) -> None:
        """Go back to the guard at the entry of a loop or function; deaths that reach further out stay marked."""
        carried = {
            pair for pair in self.deaths.keys() & self.guard if self.deaths[pair] not in caught and pair not in entry
        }
        self.guard = entry | carried

    def merge(self, choices: list[tuple[g.Guard, AbstractValue]]) -> AbstractValue:
        """Return one value for several alternatives."""
        return merge(choices, lambda: self.fresh("merge"))

    # --- objects

    def object(self, kind: str, span: Span, name: str = "", model: Any = None, **state: Any) -> Object:
        """Make a fresh object at this place."""
        return Object(kind, dict(state), model=model, site=self.site(span), name=name)

    def list_of(self, items: Iterable[AbstractValue], kind: str = "list") -> Object:
        """Make a fresh list."""
        return Object(kind, {"items": tuple(items)})

    def state_of(self, value: AbstractValue) -> dict[Any, Any] | None:
        """Return where attributes and items of a value are stored, None for values that have none."""
        if isinstance(value, Object):
            return value.state
        if isinstance(value, Unknown):
            return self.unknown_state.setdefault(value, {})
        return None

    def callers(self, node: Any) -> int:
        """Return how often a function is on the call chain."""
        return sum(1 for entry in self.stack if entry is node)
