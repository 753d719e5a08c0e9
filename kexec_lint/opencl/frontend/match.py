"""Python's `match` statement to chains of `If`.

What a pattern compares becomes a comparison where the host program has one (`==`, `is`, `in`, `isinstance`), and
an opaque test where it has none (lengths of sequences); what a pattern captures becomes an assignment.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from kexec_lint.opencl.frontend.values import Text, value, values
from kexec_lint.opencl.program import (
    Arg,
    Assign,
    Attr,
    Bind,
    Call,
    Const,
    If,
    Item,
    Name,
    Opaque,
    Operation,
    Span,
    Statement,
    Value,
)

_SELF_MATCHING = frozenset(
    ("bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple")
)


def lower_match(
    text: Text, node: ast.Match, block: Callable[[Text, Sequence[ast.stmt]], tuple[Statement, ...]]
) -> list[Statement]:
    """Return the statements that do what `node` does; the subject is evaluated once."""
    subject = value(text, node.subject)
    before: list[Statement] = []
    if not isinstance(subject, Name | Const):
        held = Name(subject.span, f"match {subject.span.row}:{subject.span.column}")  # no name of the program's
        before.append(Assign(subject.span, (held,), subject))
        subject = held
    orelse: tuple[Statement, ...] = ()
    for case in reversed(node.cases):
        body = block(text, case.body)
        tests: list[Value] = []
        captures: list[tuple[Name, Value]] = []
        for part in _parts(text, case.pattern, subject):
            if isinstance(part, tuple):
                captures.append(part)
            else:
                tests.append(part)
        span = text.span(case.pattern)
        if case.guard is None:
            body = tuple(Assign(name.span, (name,), captured) for name, captured in captures) + body
        else:
            tests += [
                Operation(name.span, "or", (Bind(name.span, name, captured), Const(name.span, True)))
                for name, captured in captures
            ]
            tests.append(value(text, case.guard))
        if not tests:
            orelse = body  # the interpreter's own parser lets an irrefutable case stand last only
        else:
            test = tests[0] if len(tests) == 1 else Operation(span, "and", tuple(tests))
            orelse = (If(span, test, body, orelse),)
    return [*before, *orelse]


def _parts(text: Text, node: ast.pattern, subject: Value) -> Iterator[Value | tuple[Name, Value]]:
    """Yield what a pattern tests of `subject` and, as pairs, what it captures."""
    span = text.span(node)
    match node:
        case ast.MatchValue(value=expected):
            yield Operation(span, "==", (subject, value(text, expected)))
        case ast.MatchSingleton(value=constant):
            yield Operation(span, "is", (subject, Const(span, constant)))
        case ast.MatchAs(pattern=pattern, name=name):
            if pattern is not None:
                yield from _parts(text, pattern, subject)
            if name is not None:
                yield Name(span, name), subject
        case ast.MatchSequence(patterns=patterns):
            yield Opaque(span, "match", (subject,))
            starred = next((place for place, one in enumerate(patterns) if isinstance(one, ast.MatchStar)), None)
            for place, one in enumerate(patterns):
                index = place if starred is None or place < starred else place - len(patterns)
                yield from _parts(text, one, Item(span, subject, Const(span, index)))
        case ast.MatchStar(name=name):
            if name is not None:
                yield Name(span, name), Opaque(span, "match", (subject,))
        case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
            yield Opaque(span, "match", (subject,))
            for key, one in zip(values(text, keys), patterns, strict=True):
                yield Operation(key.span, "in", (key, subject))
                yield from _parts(text, one, Item(span, subject, key))
            if rest is not None:
                yield Name(span, rest), Opaque(span, "match", (subject,))
        case ast.MatchClass(cls=cls, patterns=patterns, kwd_attrs=names, kwd_patterns=named):
            kind = value(text, cls)
            yield Call(span, Name(span, "isinstance"), (Arg(subject), Arg(kind)))
            for one in patterns:
                yield from _parts(text, one, _positional(span, subject, kind))
            for name, one in zip(names, named, strict=True):
                yield from _parts(text, one, Attr(span, subject, name))
        case ast.MatchOr(patterns=patterns):
            yield from _alternatives(text, patterns, subject, span)


def _positional(span: Span, subject: Value, kind: Value) -> Value:
    """Return what `case Kind(x)` hands to x: the subject itself for built-in types, else some attribute of it."""
    if isinstance(kind, Name) and kind.id in {
        "bool",
        "bytes",
        "dict",
        "float",
        "int",
        "list",
        "set",
        "str",
        "tuple",
    }:
        return subject
    return Opaque(span, "match", (subject,))


def _alternatives(
    text: Text, patterns: list[ast.pattern], subject: Value, span: Span
) -> Iterator[Value | tuple[Name, Value]]:
    """Yield the one test of an or-pattern; a name that its alternatives capture may be any part of the subject."""
    tests: list[Value] = []
    names: dict[str, Name] = {}
    irrefutable = False
    for one in patterns:
        parts = list(_parts(text, one, subject))
        names |= {part[0].id: part[0] for part in parts if isinstance(part, tuple)}
        own = [part for part in parts if not isinstance(part, tuple)]
        irrefutable |= not own
        if own:
            tests.append(own[0] if len(own) == 1 else Operation(text.span(one), "and", tuple(own)))
    if not irrefutable:
        yield Operation(span, "or", tuple(tests))
    for name in names.values():
        yield name, Opaque(span, "match", (subject,))
