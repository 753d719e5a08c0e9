"""Abstract values: what a host expression may evaluate to.

Known constants and tuples compare by content, objects by identity, unknown values by where they came from, so
that `dev.queue` read twice is the same unknown queue. None is changed, but those made by the hundred thousand are not
frozen: that would take three times as long.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kexec_lint.opencl import graph, program

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.modules import ModuleScope


class AbstractValue:
    """Base of all abstract values."""

    __slots__ = ()


@dataclass(eq=False, slots=True)
class Known(AbstractValue):
    """A constant of the host language. `skeleton` marks a string with holes filled by an identifier."""

    value: Any
    skeleton: bool = False

    def __hash__(self) -> int:
        try:
            return hash(self.value)
        except TypeError:  # a list
            return hash(str(self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and type(other.value) is type(self.value) and other.value == self.value


NONE = Known(None)
ABSENT = Known(Ellipsis)
"""An element that is not there on this path."""


class Unknown(AbstractValue):
    """A value that could not be computed. `key` says where it came from and is its identity."""

    __match_args__ = ("key",)
    __slots__ = ("_hash", "key")

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key
        self._hash = hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (other.__class__ is Unknown and self._hash == other._hash and self.key == other.key)

    def __repr__(self) -> str:
        return f"Unknown{self.key!r}"

    @property
    def name(self) -> str:
        """A readable name, as close to the source as possible."""
        match self.key:
            case ("attr", Unknown(key=("attr" | "item" | "param" | "name" | "local", *_)) as base, str(attr)):
                return f"{base.name}.{attr}"
            case ("item", Unknown() as base, Known(value=int() | str() as index)):
                return f"{base.name}[{index!r}]"
            case ("item", Unknown() as base, *_):
                return f"{base.name}[…]"
            case (("param" | "local" | "name"), _, str(name), *_):
                return name
            case ("attr", _, str(attr)):
                return attr
        return "a value"


@dataclass(slots=True, unsafe_hash=True)
class TupleValue(AbstractValue):
    """A tuple of known length."""

    items: tuple[AbstractValue, ...]


@dataclass(slots=True, unsafe_hash=True)
class Phi(AbstractValue):
    """One of several values, each under the branch decisions that select it."""

    options: tuple[tuple[graph.Guard, AbstractValue], ...]


@dataclass(slots=True, unsafe_hash=True)
class External(AbstractValue):
    """A name of a module outside the scanned tree, fully dotted (`pyopencl.array.zeros`)."""

    dotted: str


@dataclass(frozen=True, slots=True)
class Imported(AbstractValue):
    """What an import statement binds, looked for when the name is first used. `member` None for a module."""

    module: str
    level: int
    importer: str
    member: str | None


@dataclass(frozen=True, slots=True)
class ModuleValue(AbstractValue):
    """A module of the scanned tree."""

    scope: ModuleScope


@dataclass(frozen=True, slots=True, eq=False)
class FunctionValue(AbstractValue):
    """A function of the scanned tree with its closure; `owner` is the class for `super()`."""

    node: program.Function | program.Lambda
    scope: ModuleScope
    closure: Frame | None
    bound: AbstractValue | None = None
    owner: ClassValue | None = None
    kept: tuple[tuple[str | None, AbstractValue], ...] = ()
    """Arguments given beforehand by functools.partial."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassValue(AbstractValue):
    """A class of the scanned tree with its evaluated bases."""

    node: program.Class
    scope: ModuleScope
    bases: tuple[AbstractValue, ...]
    methods: dict[str, program.Function]
    variables: dict[str, AbstractValue]
    closure: Frame | None = None

    def lookup(self, name: str) -> tuple[program.Function, ClassValue] | None:
        """Return the method of that name and the class that defines it, by depth first along the bases."""
        if name in self.methods:
            return self.methods[name], self
        for base in self.bases:
            if isinstance(base, ClassValue) and base is not self and (found := base.lookup(name)):
                return found
        return None

    @property
    def opaque_bases(self) -> bool:
        """Whether some base class was not seen."""
        return any(
            b.opaque_bases if isinstance(b, ClassValue) else b != External("builtins.object") for b in self.bases
        )


@dataclass(frozen=True, slots=True, eq=False)
class BoundApi(AbstractValue):
    """A method of the modelled API on a receiver: `queue.finish`."""

    receiver: AbstractValue
    name: str


@dataclass(slots=True, eq=False)
class Object(AbstractValue):
    """A mutable object made at one place. `state` is written through the heap only, so that branches can join.

    `kind`: "list", "dict", "set", "instance", "queue", "memory", "event", "program", "kernel", "array" (pyopencl),
    "host" (a numpy array or bytes-like), "map", "pool", "allocator", "generated" (Elementwise, Reduction, Scan
    kernels), "context", "library".
    """

    kind: str
    state: dict[Any, Any] = field(default_factory=dict)
    cls: ClassValue | None = None
    model: Any = None
    """The graph's Queue, Memory, Event or Mapping behind it."""
    site: graph.Site = ()
    name: str = ""

    def items(self) -> tuple[AbstractValue, ...]:
        """Elements of a list or set."""
        elements: tuple[AbstractValue, ...] = self.state.get("items", ())
        return elements


@dataclass(slots=True, eq=False)
class Frame:
    """One activation of a function, or a module's top level."""

    number: int
    scope: ModuleScope
    function: str
    variables: dict[str, AbstractValue] = field(default_factory=dict)
    parent: Frame | None = None
    owner: ClassValue | None = None
    receiver: AbstractValue | None = None
    globals_declared: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    returns: list[tuple[graph.Guard, AbstractValue]] = field(default_factory=list)
    yields: bool = False
    temporaries: list[AbstractValue] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    """Declared types of variables (C and C++)."""
    built: dict[tuple[str, program.Span], list[Object]] = field(default_factory=dict)
    """Lists that an assignment to a variable built, and where."""


MAX_OPTIONS = 6


def options(value: AbstractValue, guard: graph.Guard = frozenset()) -> Iterator[tuple[graph.Guard, AbstractValue]]:
    """Yield the alternatives of a value with the guards that select them, nested ones flattened."""
    if isinstance(value, Phi):
        for condition, option in value.options:
            yield from options(option, guard | condition)
    else:
        yield guard, value


def merge(choices: list[tuple[graph.Guard, AbstractValue]], fallback: Callable[[], Unknown]) -> AbstractValue:
    """Return one value for several alternatives: themselves if equal, a Phi if few, else unknown."""
    first = choices[0][1] if choices else None
    if first is not None and not isinstance(first, Phi):
        for _, value in choices:
            if value is not first:
                break
        else:
            return first
    flat: list[tuple[graph.Guard, AbstractValue]] = []
    for guard, value in choices:
        for condition, option in options(value, guard) if value.__class__ is Phi else ((guard, value),):
            if exclusive_with_itself(condition):
                continue
            for i, (other_condition, other) in enumerate(flat):
                if other is option or other == option:
                    flat[i] = (other_condition & condition, option)
                    break
            else:
                flat.append((condition, option))
    if len(flat) == 1:
        return flat[0][1]
    if not flat or len(flat) > MAX_OPTIONS:
        return fallback()
    return Phi(tuple(flat))


def exclusive_with_itself(guard: graph.Guard) -> bool:
    """Return whether a guard contradicts itself, so that nothing executes under it."""
    return len(guard) > 1 and not guard.isdisjoint(map(operator.neg, guard))
