"""State of a symbolic walk through a kernel: what happened, under which conditions, what the variables hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from kexec_lint.opencl.kernels.symbolic import (
    NOTHING,
    Algebra,
    Dep,
    Terms,
    Value,
    dimension,
)
from kexec_lint.opencl.kernels.syntax import (
    Function,
    Node,
)
from kexec_lint.opencl.kernels.unit import Unit

MAX_STEPS = 20_000
"""Statements and expressions after which a kernel counts as too large to judge."""


class GaveUp(Exception):
    """The kernel is too large or has a goto: nothing is said of it."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that holds where it stands on the path. `kind` is "if", "loop" or "exit" (an early way out)."""

    value: Value
    kind: str
    start: int
    end: int
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Event:
    """Something a work-item does: kind "read", "write", "atomic" (on global memory), "barrier", "fence", "lost".

    `index` counts elements of `unit` from the start of parameter `root`; `width` elements from there are touched,
    None for an unknown number. `path` tells which arms of which branches lead here.
    """

    kind: str
    start: int
    end: int
    guards: tuple[Guard, ...]
    path: tuple[tuple[int, int], ...]
    root: str = ""
    index: Value = NOTHING
    width: int | None = 1
    call: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Poll:
    """A loop that does nothing but wait for a change of a global element."""

    start: int
    end: int
    root: str
    index: Value
    guards: tuple[Guard, ...]


@dataclass
class Frame:
    """A function or loop being walked. `exits` are the conditions under which work-items have left it."""

    guards: int
    exits: list[Guard] = field(default_factory=list)
    skips: list[Guard] = field(default_factory=list)


@dataclass
class Walk:
    """One walk. `events` are in program order, loop bodies twice; `polls` are the spin loops."""

    unit: Unit
    function: Function
    required: tuple[int, int, int] | None
    run_block: Callable[[Walk, tuple[Node, ...]], bool]
    """Walks statements; says whether control goes on after them."""
    algebra: Algebra = field(default_factory=Algebra)
    events: list[Event] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    local_dimensions: set[int] = field(default_factory=set)
    steps: int = 0
    env: dict[str, Value] = field(default_factory=dict)
    contents: dict[str, int] = field(default_factory=dict)
    stores: dict[str, int] = field(default_factory=dict)
    guards: list[Guard] = field(default_factory=list)
    path: list[tuple[int, int]] = field(default_factory=list)
    functions: list[Frame] = field(default_factory=list)
    loops: list[Frame] = field(default_factory=list)
    calls: list[tuple[int, int]] = field(default_factory=list)
    active: list[str] = field(default_factory=list)
    returned: list[Value] = field(default_factory=list)
    globals: set[str] = field(default_factory=set)
    addressed: set[int] | None = None
    """Dimensions whose groups use places of their own in memory or images; None where none is used."""
    silent: int = 0
    branches: int = 0

    def conditions(self) -> tuple[Guard, ...]:
        """Return everything that decides whether a work-item is here: open branches and earlier ways out."""
        frames = [*self.functions, *self.loops]
        out = [guard for frame in frames for guard in (*frame.exits, *frame.skips)]
        return (*self.guards, *out)

    def log(self, kind: str, node: Node, root: str = "", index: Value | None = None, width: int | None = 1) -> None:
        """Note an event, unless walking silently."""
        if not self.silent:
            call = self.calls[0] if self.calls else None
            value = index if index is not None else Value((), Dep.NONE)
            at = (node.start, node.end)
            self.events.append(Event(kind, *at, self.conditions(), tuple(self.path), root, value, width, call))

    def access(self, kind: str, node: Node, pointer: Value, width: int | None = 1) -> None:
        """Note an access through a pointer to global memory; a pointer of several roots loses them."""
        self.address(pointer)
        roots = pointer.roots & self.globals
        if not roots:
            return
        if len(pointer.roots) > 1:
            for root in roots:
                self.log("lost", node, root)
            return
        (root,) = roots
        if kind in ("write", "atomic"):
            self.stores[root] = self.stores.get(root, 0) + 1
        self.log(kind, node, root, pointer, width)

    def address(self, place: Value) -> None:
        """Note in which dimensions a place that is used belongs to the work-item's group."""
        found = self.addressed = self.addressed or set()
        for d in range(3):
            own = dimension(Dep.GLOBAL0, d)
            group = place.deps & Dep.GROUP and not place.deps & Dep.GLOBAL & ~own
            named = any(f"grp{d}" in atoms for atoms, _ in place.terms)
            if named or group or place.deps & (own | Dep.MAYBE):
                found.add(d)

    def tick(self) -> None:
        """Count a step. Raises GaveUp after MAX_STEPS."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise GaveUp

    def exit_guards(self, frame: Frame) -> list[Guard]:
        """Return the conditions since a function or loop was entered, as those under which items have left it."""
        return [replace(guard, kind="exit", holds=not guard.holds) for guard in self.guards[frame.guards :]]

    def leave(self, frame: Frame, node: Node) -> None:
        """Note under which conditions work-items leave a function or loop here."""
        known = {(guard.start, guard.value) for guard in frame.exits}
        frame.exits += [guard for guard in self.exit_guards(frame) if (guard.start, guard.value) not in known]

    def join(self, ends: list[dict[str, Value]], control: int) -> None:
        """Continue with what all the environments agree on; what differs depends on the condition too."""
        first = ends[0]
        if len(ends) > 1:
            out = dict(first)
            for other in ends[1:]:
                for key in out.keys() | other.keys():
                    mine, its = out.get(key), other.get(key)
                    if mine is None or its is None:
                        out[key] = mine or its  # type: ignore[assignment]
                    elif mine != its:
                        out[key] = self.merged(key, [mine, its], control)
            first = out
        self.env = first

    def merged(self, key: str, values: list[Value], control: int) -> Value:
        """Return a value that may be any of these, depending on a condition."""
        deps = control
        roots: frozenset[str] = frozenset()
        for value in values:
            deps |= value.deps
            roots |= value.roots
        fresh = self.algebra.fresh(key.partition("#")[0], deps)
        units = {value.unit for value in values}
        return Value(fresh.terms, deps, roots, units.pop() if len(units) == 1 else "?")

    def control(self) -> int:
        """Return what decides whether a work-item is here."""
        deps = Dep.NONE
        for guard in self.guards:
            deps |= guard.value.deps
        return deps

    @cached_property
    def ids(self) -> list[tuple[Terms, Terms, Terms, Terms]]:
        """Local id, global id, local size and global size in each dimension."""
        symbol = self.algebra.symbol
        return [
            (self.local_id(d).terms, self.global_id(d).terms, self.size(d).terms, symbol(f"gsz{d}").terms)
            for d in range(3)
        ]

    def size(self, d: int) -> Value:
        """Return the work-items of a group in a dimension."""
        if self.required is not None:
            return self.algebra.number(self.required[d])
        return self.algebra.symbol(f"lsz{d}")

    def local_id(self, d: int) -> Value:
        """Return `get_local_id(d)`."""
        if self.required is not None and self.required[d] == 1:
            return self.algebra.number(0)
        return self.algebra.symbol(f"lid{d}", dimension(Dep.LOCAL0, d) | Dep.TILE)

    def global_id(self, d: int) -> Value:
        """Return `get_global_id(d)`."""
        algebra = self.algebra
        group = algebra.symbol(f"grp{d}", Dep.GROUP)
        value = algebra.add(algebra.multiply(group, self.size(d)), self.local_id(d))
        own = dimension(Dep.GLOBAL0, d) if self.local_id(d).terms else Dep.NONE
        return replace(value, deps=own | Dep.GROUP)
