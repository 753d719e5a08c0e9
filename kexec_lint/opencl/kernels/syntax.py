"""The small syntax tree of OpenCL C that the kernel analyses walk; offsets are those of the expanded text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """Base: half-open span of offsets."""

    start: int
    end: int


# --- expressions


@dataclass(frozen=True, slots=True)
class Ref(Node):
    """A name. `key` tells shadowed variables apart (`x`, `x#2`); `local` if declared in the function."""

    key: str
    local: bool


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A number, or None for a string or a character."""

    value: int | float | None


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`op` is one of - + ! ~ * & sizeof."""

    op: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """An arithmetic, bitwise, comparing or logical operator."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """`target op value` with op "=", "+=", …; `++` is "+=" 1, and `postfix` when its value is the old one."""

    op: str
    target: Node
    value: Node
    postfix: bool = False


@dataclass(frozen=True, slots=True)
class Index(Node):
    """`base[index]`."""

    base: Node
    index: Node


@dataclass(frozen=True, slots=True)
class Member(Node):
    """`base.name` or `base->name` (arrow)."""

    base: Node
    name: str
    arrow: bool


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call of a named function; `name` is "" when the callee is not a name."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """`(type)value`; `pointer` when the type holds a `*`."""

    type: str
    pointer: bool
    value: Node


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """`test ? then : orelse`."""

    test: Node
    then: Node
    orelse: Node


@dataclass(frozen=True, slots=True)
class Group(Node):
    """`kind` "comma", "list" (initialiser or vector literal in braces), or "unread" for syntax not understood."""

    kind: str
    items: tuple[Node, ...]


# --- statements


@dataclass(frozen=True, slots=True)
class Declare(Node):
    """One declarator. `shape` is "plain", "pointer" or "array"; `space` the address space as written."""

    key: str
    type: str
    shape: str
    space: str | None
    value: Node | None
    size: Node | None = None


@dataclass(frozen=True, slots=True)
class Do(Node):
    """An expression statement."""

    value: Node


@dataclass(frozen=True, slots=True)
class If(Node):
    """`if (test) then else orelse`."""

    test: Node
    then: tuple[Node, ...]
    orelse: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """`for`, `while`, and `do` (test_last)."""

    init: tuple[Node, ...]
    test: Node | None
    step: Node | None
    body: tuple[Node, ...]
    test_last: bool = False


@dataclass(frozen=True, slots=True)
class Switch(Node):
    """`cases` are (label or None for default, statements); a case without break falls into the next."""

    subject: Node
    cases: tuple[tuple[Node | None, tuple[Node, ...]], ...]


@dataclass(frozen=True, slots=True)
class Return(Node):
    """`return value`."""

    value: Node | None


@dataclass(frozen=True, slots=True)
class Jump(Node):
    """`kind` is "break", "continue", "goto" or "label"."""

    kind: str


@dataclass(frozen=True, slots=True)
class Block(Node):
    """Braces."""

    body: tuple[Node, ...]


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly inside a node, in source order."""
    match node:
        case Unary(operand=part):
            yield part
        case Binary(left=first, right=second) | Index(base=first, index=second):
            yield first
            yield second
        case Assign(target=first, value=second):
            yield first
            yield second
        case Member(base=part) | Cast(value=part) | Do(value=part):
            yield part
        case Call(arguments=parts) | Group(items=parts) | Block(body=parts):
            yield from parts
        case Choice(test=test, then=first, orelse=second):
            yield from (test, first, second)
        case Declare(value=value, size=size):
            yield from (part for part in (size, value) if part is not None)
        case If(test=test, then=then, orelse=orelse):
            yield test
            yield from then
            yield from orelse
        case Loop(init=init, test=test, step=step, body=body):
            yield from init
            yield from (part for part in (test, step) if part is not None)
            yield from body
        case Switch(subject=subject, cases=cases):
            yield subject
            for label, inner in cases:
                if label is not None:
                    yield label
                yield from inner
        case Return(value=value) if value is not None:
            yield value


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter as written; `kind` and `type` as in KernelParam, `const` of what a pointer points to."""

    name: str
    kind: str
    type: str
    pointer: bool
    const: bool
    access: str | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the text. `sound` is False where the parser had to recover or the braces do not match.

    `known_signature`: number and kinds of the parameters are sure; `named_params`: their number and names are.
    """

    name: str
    params: tuple[Param, ...]
    body: tuple[Node, ...]
    start: int
    end: int
    name_start: int
    sound: bool
    known_signature: bool
    named_params: bool
