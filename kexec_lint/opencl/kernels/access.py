"""Decides for every pointer, image and pipe parameter of a function whether its memory is read and written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from kexec_lint.opencl.kernels.syntax import (
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Choice,
    Declare,
    Do,
    Function,
    Group,
    If,
    Index,
    Literal,
    Loop,
    Member,
    Node,
    Ref,
    Return,
    Switch,
    Unary,
    children,
)


@dataclass
class Access:
    """What is known of one parameter. `lost` when something not understood may have read or written it."""

    reads: bool = False
    writes: bool = False
    plain: bool = False
    atomic: bool = False
    lost: bool = False

    def answer(self) -> tuple[bool | None, bool | None]:
        """Return (reads, writes) with None for unknown."""
        return (self.reads or (None if self.lost else False)), (self.writes or (None if self.lost else False))


@dataclass
class Summary:
    """Accesses of a function by parameter, and the parameters that its result may point into."""

    accesses: list[Access]
    returns: set[int] = field(default_factory=set)


# What a built-in does with what its arguments point to: pattern → (argument, effect)…; r, w, rw, and by atomic
# functions a (read and write), l(oad), s(tore). OpenCL C specification, section "Built-in Functions".
_BUILTINS: tuple[tuple[str, tuple[tuple[int, str], ...]], ...] = (
    (r"vloada?(_half)?\d*", ((1, "r"),)),
    (r"vstorea?(_half)?\d*(_rt[ezpn])?", ((2, "w"),)),
    (r"atomic_store(_explicit)?", ((0, "s"),)),
    (r"atomic_load(_explicit)?|atom_load", ((0, "l"),)),
    (r"atomic_init", ((0, "w"),)),
    (r"atomic_flag_clear(_explicit)?", ((0, "s"),)),
    (r"atomic_compare_exchange_(strong|weak)(_explicit)?", ((0, "a"), (1, "rw"))),
    (r"atom(ic)?_(add|sub|xchg|inc|dec|cmpxchg|min|max|and|or|xor)", ((0, "a"),)),
    (
        r"atomic_(exchange|fetch_(add|sub|or|xor|and|min|max))(_explicit)?|atomic_flag_test_and_set(_explicit)?",
        ((0, "a"),),
    ),
    (r"async_work_group_(strided_)?copy(_\dD\dD)?", ((0, "w"), (1, "r"))),
    (r"prefetch|printf|wait_group_events|is_valid_event|get_(image|pipe)_\w+", ()),
    (r"read_image\w+", ((0, "r"),)),
    (r"write_image\w+", ((0, "w"),)),
    (r"(fract|modf|sincos)", ((1, "w"),)),
    (r"(frexp|lgamma_r)", ((1, "w"),)),
    (r"remquo", ((2, "w"),)),
    (r"(intel_)?sub_group_block_read\w*", ((0, "r"),)),
    (r"(intel_)?sub_group_block_write\w*", ((0, "w"),)),
    (r"to_(global|local|private)", ((0, "return"),)),
    (r"get_fence", ()),
    (r"(sub_group_|work_group_)?(reserve_|commit_)?(read|write)_pipe", ((0, "rw"),)),
)
PURE = re.compile(
    r"(convert|as)_\w+|native_\w+|half_\w+|a?(sin|cos|tan)(h|pi)?|atan2(pi)?|exp(2|10|m1)?|log(2|10|1p|b)?|pow[nr]?"
    r"|r?sqrt|cbrt|fabs|fm(a|ax|in|od)|floor|ceil|round|trunc|rint|hypot|fdim|erfc?|[tl]gamma|ldexp|ilogb|nan|sign|step"
    r"|smoothstep|mix|dot|cross|length|distance|normalize|fast_\w+|degrees|radians|abs(_diff)?|clz|ctz|popcount|rotate"
    r"|r?hadd|mad(_hi|_sat)?|mul_hi|add_sat|sub_sat|upsample|is\w+|signbit|any|all|bitselect|select|min|max|clamp"
    r"|maxmag|minmag|copysign|nextafter|shuffle2?|read_image\w+|get_image_\w+|vloada?(_half)?\d*|fract|modf|frexp"
    r"|remquo|sincos|printf|get_\w+|mul24|mad24|vec_step|sizeof"
)
"""Built-ins that take values: equal ones give equal results."""
_COMPILED = [(re.compile(pattern), effects) for pattern, effects in _BUILTINS]


def builtin(name: str) -> tuple[tuple[int, str], ...] | None:
    """Return what a built-in that takes pointers does with them, None when the name is none."""
    for pattern, effects in _COMPILED:
        if pattern.fullmatch(name):
            return effects
    return None


Helper = Callable[[str, int], "Summary | None"]
"""Summary of the function of that name with so many parameters, None when the text has none."""


def summarise(function: Function, helper: Helper) -> Summary:
    """Return the accesses of a function. `helper` knows the functions that it calls."""
    roots = {p.name: i for i, p in enumerate(function.params) if p.pointer or p.kind in ("image", "pipe")}
    walk = _Walk(roots, helper, Summary([Access() for _ in function.params]))
    walk.close_aliases(function.body)
    walk.statements(function.body)
    summary = walk.summary
    if not function.sound:
        for access in summary.accesses:
            access.lost = True
    return summary


@dataclass
class _Walk:
    roots: Mapping[str, int]
    helper: Helper
    summary: Summary
    aliases: dict[str, set[int]] = field(default_factory=dict)

    # --- what a pointer may point into

    def close_aliases(self, body: tuple[Node, ...]) -> None:
        """Give every pointer variable the parameters it may point into, regardless of order."""
        targets: dict[str, set[str]] = {}
        for key, value in _moves(body):
            for source in self.sources(value):
                targets.setdefault(source, set()).add(key)
        for name, index in self.roots.items():
            reached, stack = {name}, [name]
            while stack:
                fresh = targets.get(stack.pop(), set()) - reached
                reached |= fresh
                stack += fresh
            for key in reached:
                self.aliases.setdefault(key, set()).add(index)

    def points_to(self, node: Node) -> set[int]:
        """Return the parameters that the value of an expression may point into."""
        return {root for key in self.sources(node) for root in self.aliases.get(key, ())}

    def sources(self, node: Node) -> set[str]:
        """Return the variables whose value an expression may have, give or take an offset."""
        match node:
            case Ref(key=key, local=local):
                return {key} if local else set()
            case Binary(op="+" | "-", left=left, right=right):
                return self.sources(left) | self.sources(right)
            case Cast(value=value):
                return self.sources(value)
            case Choice(then=then, orelse=orelse):
                return self.sources(then) | self.sources(orelse)
            case Group(kind="comma", items=items) if items:
                return self.sources(items[-1])
            case Assign(op="=", value=value):
                return self.sources(value)
            case Assign(target=target):
                return self.sources(target)
            case Unary(op="&", operand=operand):
                return self.base(operand)
            case Call(name=name, arguments=arguments):
                return self.call_returns(name, arguments)
        return set()

    def call_returns(self, name: str, arguments: tuple[Node, ...]) -> set[str]:
        effects = builtin(name)
        if effects is not None:
            picked = [arguments[i] for i, effect in effects if effect == "return" and i < len(arguments)]
        elif (found := self.helper(name, len(arguments))) is not None:
            picked = [arguments[i] for i in found.returns if i < len(arguments)]
        else:
            picked = []
        return {key for argument in picked for key in self.sources(argument)}

    def base(self, place: Node) -> set[str]:
        """Return the variables that point to the memory an lvalue lies in."""
        match place:
            case Index(base=base) | Member(base=base, arrow=True):
                inner = self.base(base) if isinstance(base, (Index, Member)) else set()
                return inner | self.sources(base)
            case Member(base=base):
                return self.base(base)
            case Unary(op="*", operand=operand):
                inner = self.base(operand) if isinstance(operand, (Index, Member)) else set()
                return inner | self.sources(operand)
            case Cast(value=value):
                return self.base(value)
            case Choice(then=then, orelse=orelse):
                return self.base(then) | self.base(orelse)
        return set()

    # --- marks

    def mark(self, roots: set[int], effect: str) -> None:
        """Note an access; one that may go to several parameters is unknown for each."""
        for root in roots:
            access = self.summary.accesses[root]
            if len(roots) > 1 and effect != "n":
                access.lost = True
                continue
            if effect in ("r", "rw", "a", "l"):
                access.reads = True
            if effect in ("w", "rw", "a", "s"):
                access.writes = True
            access.atomic |= effect in ("a", "l", "s")
            access.plain |= effect in ("r", "w", "rw")

    def lose(self, roots: set[int]) -> None:
        for root in roots:
            self.summary.accesses[root].lost = True

    # --- walk

    def statements(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            self.statement(node)

    def statement(self, node: Node) -> None:
        match node:
            case Declare(shape=shape, value=value):
                if value is not None:
                    self.store_pointer(shape != "array" and not isinstance(value, Group), value)
                    self.value(value)
            case Do(value=value):
                self.value(value)
            case If(test=test, then=then, orelse=orelse):
                self.value(test)
                self.statements(then)
                self.statements(orelse)
            case Loop(init=init, test=test, step=step, body=body):
                self.statements(init)
                for part in (test, step):
                    if part is not None:
                        self.value(part)
                self.statements(body)
            case Switch(subject=subject, cases=cases):
                self.value(subject)
                for _, inner in cases:
                    self.statements(inner)
            case Return(value=value) if value is not None:
                self.summary.returns |= self.points_to(value)
                self.value(value)
            case Block(body=body):
                self.statements(body)

    def store_pointer(self, tracked: bool, value: Node) -> None:
        """Lose the parameters whose address goes where it is not followed: arrays, structures, memory."""
        if not tracked:
            for item in value.items if isinstance(value, Group) else (value,):
                if isinstance(item, Group):
                    self.store_pointer(False, item)
                else:
                    self.lose(self.points_to(item))

    def value(self, node: Node) -> None:
        """Visit an expression whose value is used."""
        match node:
            case Ref() | Literal():
                return
            case Assign(op=op, target=target, value=value):
                self.value(value)
                plain = isinstance(target, Ref)
                if op == "=":
                    self.store_pointer(plain, value)
                if not plain:
                    self.place(target, "w" if op == "=" else "rw")
            case Index() | Member():
                self.place(node, "r")
            case Unary(op="*"):
                self.place(node, "r")
            case Unary(op="&", operand=operand):
                if isinstance(operand, Ref):
                    self.lose(self.points_to(operand))  # a pointer to a pointer
                else:
                    self.place(operand, "n")
            case Unary(operand=operand):
                self.value(operand)
            case Binary(left=left, right=right):
                self.value(left)
                self.value(right)
            case Cast(value=value):
                self.value(value)
            case Choice(test=test, then=then, orelse=orelse):
                self.value(test)
                self.value(then)
                self.value(orelse)
            case Call(name=name, arguments=arguments):
                self.call(name, arguments)
            case Group(kind=kind, items=items):
                for item in items:
                    if kind == "unread":
                        self.lose(self.points_to(item))
                    self.value(item)

    def place(self, node: Node, effect: str) -> None:
        """Visit an lvalue: the inner expressions are values, the memory it lies in gets the effect."""
        self.mark({root for key in self.base(node) for root in self.aliases.get(key, ())}, effect)
        while True:
            match node:
                case Index(base=base, index=index):
                    self.value(index)
                    node = base
                case Member(base=base):
                    node = base
                case Unary(op="*", operand=operand):
                    node = operand
                case Cast(value=value):
                    node = value
                case Unary(op="&", operand=operand) if not isinstance(operand, Ref):
                    node = operand
                case _:
                    self.value(node)
                    return

    def call(self, name: str, arguments: tuple[Node, ...]) -> None:
        for argument in arguments:
            self.value(argument)
        effects = builtin(name)
        if effects is not None:
            for index, effect in effects:
                if index < len(arguments) and effect != "return":
                    self.mark(self.points_to(arguments[index]), effect)
            if name.startswith("async_work_group_copy_") and len(arguments) > 2:  # (dst, offset, src, offset, …)
                for argument in arguments[1:]:
                    self.lose(self.points_to(argument))
            return
        found = self.helper(name, len(arguments))
        if found is None:
            known = bool(PURE.fullmatch(name))
            for argument in arguments:
                self.lose(self.points_to(argument))
                if not known and isinstance(argument, (Index, Member, Unary)):  # a macro of another file may store
                    self.lose({root for key in self.base(argument) for root in self.aliases.get(key, ())})
            return
        accesses = found.accesses
        for i, argument in enumerate(arguments):
            roots = self.points_to(argument)
            if i < len(accesses):
                self.merge(roots, accesses[i])
            else:
                self.lose(roots)

    def merge(self, roots: set[int], inner: Access) -> None:
        """Note the accesses that a helper function makes through an argument."""
        for root in roots:
            access = self.summary.accesses[root]
            access.lost |= inner.lost
            if len(roots) > 1:
                access.lost |= inner.reads or inner.writes
                continue
            access.reads |= inner.reads
            access.writes |= inner.writes
            access.plain |= inner.plain
            access.atomic |= inner.atomic


def _moves(nodes: tuple[Node, ...]) -> Iterator[tuple[str, Node]]:
    """Yield every (variable, value) that is assigned as a whole, in nested statements and expressions too."""
    stack: list[Node] = list(nodes)
    while stack:
        node = stack.pop()
        match node:
            case Declare(key=key, shape=shape, value=value) if value is not None:
                if shape != "array":
                    yield key, value
            case Assign(op="=", target=Ref(key=key, local=True), value=value):
                yield key, value
        stack += children(node)
