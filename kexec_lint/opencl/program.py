"""The host program: what both front ends lower host code to. It knows no syntax, only values and statements.

Every node carries a `Span`. Names, attributes, containers and calls stay as the author wrote them; what a call
means is the business of `kexec_lint.opencl.api`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    _C = TypeVar("_C")

    @dataclass_transform(frozen_default=True)
    def node(cls: type[_C]) -> type[_C]:
        """Make a class of nodes, which nobody changes."""
        return cls

else:
    # Frozen for the type checker only: nodes are made by the hundred thousand, which would take twice as long.
    node = dataclass(unsafe_hash=True)


class Span(NamedTuple):
    """Rows from 1, columns from 1 in code points, end exclusive; rows of the file (or of the joined notebook)."""

    row: int
    column: int
    end_row: int
    end_column: int


NOWHERE = Span(0, 0, 0, 0)


# --- values ---------------------------------------------------------------------------------------------------


@node
class Value:
    """Base of all value nodes."""

    span: Span


@node
class Const(Value):
    """A literal: number, string, bytes, bool, None, Ellipsis. Adjacent string literals are joined."""

    value: object


@node
class Name(Value):
    """A variable, function, class, module or macro name."""

    id: str


@node
class Attr(Value):
    """`base.name`, also C's `base->name`."""

    base: Value
    name: str


@node
class Item(Value):
    """`base[index]`; several indices are a `Seq`."""

    base: Value
    index: Value


@node
class Slice(Value):
    """`lower:upper:step` inside an `Item`."""

    lower: Value | None
    upper: Value | None
    step: Value | None


@node
class Arg:
    """One argument. `star` is 1 for `*value`, 2 for `**value`."""

    value: Value
    keyword: str | None = None
    star: int = 0


@node
class Call(Value):
    """`func(args)`; constructors and C++ `T x(args)` too. `span` covers the whole call."""

    func: Value
    args: tuple[Arg, ...]


@node
class Seq(Value):
    """A list, tuple or set display, C's brace initialiser; `kind` is "list", "tuple" or "set"."""

    kind: str
    items: tuple[Value, ...]


@node
class Star(Value):
    """`*value` inside a `Seq`."""

    value: Value


@node
class Mapping(Value):
    """A dict display; a None key stands for `**value`."""

    items: tuple[tuple[Value | None, Value], ...]


@node
class Operation(Value):
    """An operator on values: "+", "-", "*", "@", "//", "%", "|", "&", "^", "<<", ">>", "**", "and", "or", "not",
    "neg", "~", "<", "<=", "==", "!=", ">", ">=", "is", "is not", "in", "not in"; C's "&x" is "address", "*p"
    "deref", "(T)x" "cast". Comparison chains are nested in "and".
    """

    op: str
    operands: tuple[Value, ...]


@node
class Choice(Value):
    """`then if test else orelse`, C's `test ? then : orelse`."""

    test: Value
    then: Value
    orelse: Value


@node
class Format(Value):
    """An f-string: constant and computed parts in order."""

    parts: tuple[Value, ...]


@node
class Clause:
    """`for target in iter if tests` of a comprehension."""

    target: Value
    iter: Value
    tests: tuple[Value, ...]


@node
class Comprehension(Value):
    """`kind` is "list", "set", "dict" or "generator"; a dict has `key`."""

    kind: str
    element: Value
    clauses: tuple[Clause, ...]
    key: Value | None = None


@node
class Lambda(Value):
    """An anonymous function, C++ lambdas too (a body of statements)."""

    params: tuple[Param, ...]
    body: tuple[Statement, ...]


@node
class Bind(Value):
    """An assignment inside an expression: `(name := value)`, C's `err = f()` as an argument."""

    target: Value
    value: Value


@node
class Opaque(Value):
    """An expression with no node of its own (`await`, `yield`, …); its parts are evaluated in order."""

    kind: str
    parts: tuple[Value, ...]


# --- statements -----------------------------------------------------------------------------------------------


@node
class Statement:
    """Base of all statements."""

    span: Span


@node
class Assign(Statement):
    """`targets[0] = targets[1] = value`; a target is Name, Attr, Item, Seq or Star. `type` as written, if any
    (annotation, C declaration). A declaration without initialiser has value None.
    """

    targets: tuple[Value, ...]
    value: Value | None
    type: str | None = None


@node
class AugAssign(Statement):
    """`target op= value`."""

    target: Value
    op: str
    value: Value


@node
class Evaluate(Statement):
    """An expression statement: its result is dropped."""

    value: Value


@node
class Return(Statement):
    """`return value`."""

    value: Value | None


@node
class Raise(Statement):
    """`raise`, `throw`, a failing `assert False`."""

    value: Value | None


@node
class Jump(Statement):
    """`kind` is "break", "continue" or "goto"; `label` for goto."""

    kind: str
    label: str | None = None


@node
class Label(Statement):
    """The target of a goto."""

    name: str


@node
class If(Statement):
    """`match` and `switch` become chains of these."""

    test: Value
    then: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


@node
class Loop(Statement):
    """`for target in iter` when `iter` is given, else `while test`. C's `for (init; test; step)` is the
    initialiser before a while loop whose `step` runs after the body, also after continue.
    """

    target: Value | None
    iter: Value | None
    test: Value | None
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()
    step: tuple[Statement, ...] = ()
    test_last: bool = False


@node
class With(Statement):
    """`with value as target, …: body`."""

    items: tuple[tuple[Value, Value | None], ...]
    body: tuple[Statement, ...]


@node
class Try(Statement):
    """`handlers` are (exception type, bound name, body)."""

    body: tuple[Statement, ...]
    handlers: tuple[tuple[Value | None, str | None, tuple[Statement, ...]], ...]
    orelse: tuple[Statement, ...]
    final: tuple[Statement, ...]


@node
class Delete(Statement):
    """`del targets`, C++ `delete`."""

    targets: tuple[Value, ...]


@node
class Block(Statement):
    """A scope of its own (C braces): what it declares dies at its end."""

    body: tuple[Statement, ...]


@node
class Param:
    """A parameter; `star` 1 for `*args`, 2 for `**kwargs`; `type` as written, if any."""

    name: str
    default: Value | None = None
    star: int = 0
    type: str | None = None
    keyword_only: bool = False


@node
class Function(Statement):
    """A function or method definition. `decorators` in source order. `lines` is the span of the body."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Statement, ...]
    decorators: tuple[Value, ...] = ()
    is_async: bool = False
    is_generator: bool = False


@node
class Class(Statement):
    """A class definition."""

    name: str
    bases: tuple[Value, ...]
    body: tuple[Statement, ...]
    decorators: tuple[Value, ...] = ()


@node
class Import(Statement):
    """`from module import name as alias` → (name, alias) pairs; `import module as alias` → one pair with name "".

    `import a.b` binds `a`: module "a.b", pair ("", None). A star import has the pair ("*", None).
    """

    module: str
    names: tuple[tuple[str, str | None], ...]
    level: int = 0


@node
class Scope(Statement):
    """`global` or `nonlocal` names."""

    kind: str
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Module:
    """A lowered file, equal to no other. `language` is "python", "c" or "c++"."""

    path: str
    language: str
    body: tuple[Statement, ...]
    notes: tuple[str, ...] = field(default=())
    memo: dict[str, Any] = field(default_factory=dict)
    """What is asked of it again for every file that imports it; goes when it goes."""


def children(node: Value) -> Iterator[Value]:
    """Yield the values directly inside a value, in evaluation order (not into lambda bodies)."""
    match node:
        case Attr(base=base):
            yield base
        case Item(base=base, index=index):
            yield base
            yield index
        case Slice(lower=lower, upper=upper, step=step):
            yield from (part for part in (lower, upper, step) if part is not None)
        case Call(func=func, args=args):
            yield func
            yield from (arg.value for arg in args)
        case Seq(items=items):
            yield from items
        case Star(value=value) | Bind(value=value):
            yield value
        case Mapping(items=pairs):
            for key, value in pairs:
                if key is not None:
                    yield key
                yield value
        case Operation(operands=parts) | Format(parts=parts) | Opaque(parts=parts):
            yield from parts
        case Choice(test=test, then=then, orelse=orelse):
            yield from (test, then, orelse)
        case Comprehension(element=element, clauses=clauses, key=key):
            for clause in clauses:
                yield clause.iter
                yield from clause.tests
            if key is not None:
                yield key
            yield element
