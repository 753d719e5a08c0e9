"""C and C++ source to the host program, over the tree that tree-sitter makes of whatever it can read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from kexec_lint.opencl.frontend import c_macros as macros
from kexec_lint.opencl.frontend.c_conditions import inside
from kexec_lint.opencl.frontend.c_statements import STATEMENTS, block, declaration
from kexec_lint.opencl.frontend.c_types import declared, tidy, type_text
from kexec_lint.opencl.frontend.c_unit import Macro, Unit, language_of, named, parser
from kexec_lint.opencl.frontend.c_values import EXPRESSIONS, expression, params, value
from kexec_lint.opencl.program import (
    Arg,
    Assign,
    Attr,
    Call,
    Class,
    Const,
    Function,
    Import,
    Name,
    Param,
    Return,
    Span,
    Statement,
    Value,
)
from kexec_lint.opencl.program import Module as ProgramModule
from kexec_lint.source import Flags, Source

_SCOPES = frozenset(
    ["namespace_definition", "linkage_specification", "template_declaration", "declaration_list", "ERROR"]
)
_CONDITIONS = frozenset(["preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef"])
_DEFINITIONS = frozenset(["declaration", "function_definition", "class_specifier", "struct_specifier"])
_LOOSE = frozenset(STATEMENTS) - _DEFINITIONS - {"preproc_def", "preproc_function_def"}
_BRANCHES_KEPT = 400
"""Macros of a file that are kept as module-level constants for the files that include it."""
_WRAPPED = re.compile(
    r"[A-Z](?<!\w[A-Z])[A-Z0-9_]*(?P<open>\()\s*(?:\w+\s*,\s*)?"  # to begin with a set of characters is fast
    r"(?P<inner>(?:const\s+)?(?:[a-z]\w*::)*[A-Za-z_]\w*(?:<[^<>;]*(?:<[^<>;]*>)?[^<>;]*>)?(?:\s*[*&]+\s*|\s+)[A-Za-z_]\w*"
    r"\s*(?:\(|\{|=(?!=)))"
)
_UNENDED = re.compile(r"([A-Z][A-Z0-9_]{2,}[ \t]*\([^;{}\n]*\))[ \t]*(?=\r?\n[ \t]*(?:[A-Za-z_}#]|//|/\*|\r?\n))")
_INCLUDE = re.compile(r'#[ \t]*include[ \t]*(?:"([^"\n]+)"|(<[^>\n]+>))')
INCLUDED_TEXT = "__text__"
_INCLUDED_TEXT = re.compile(r'([=(,][ \t]*\r?\n[ \t]*)#include[ \t]+("[^"\n]+")[ \t]*(?=\r?\n)')
"""A file whose text is a value: `const char *source =` and on the next row `#include "kernel.cl"`."""
_SIMPLE = frozenset(["ERROR", "expression_statement", "declaration", "return_statement"])
"""What is read as a whole: an error inside makes all of it doubtful."""
_ORDERS = re.compile(rb"nqueue|[Ww]ait|[Ff]inish|[Ee]vent|[Bb]arrier|clSetKernelArg|setArg")
_BRACKET = re.compile(r'[()]|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')


@dataclass(frozen=True, eq=False)
class Outline:
    """A parsed file: its tree, its macros, what its classes declare, what it includes (`<name>` between angles)."""

    unit: Unit
    root: Any
    includes: tuple[str, ...]


@lru_cache(maxsize=512)
def outline(source: Source) -> Outline:
    """Parse a file. No source is too broken."""
    language = language_of(source.suffix, source.text)
    found = [match for match in _INCLUDE.finditer(source.text) if _begins_row(source.text, match.start())]
    text = source.text
    if found:
        text = _INCLUDED_TEXT.sub(lambda match: f"{match[1]}{INCLUDED_TEXT}({match[2]})", text)
    unit = Unit(language, unwrapped(text).encode())
    root = parser(language).parse(unit.data).root_node
    _collect(unit, root)
    return Outline(unit, root, tuple(match[1] or match[2] for match in found))


def _begins_row(text: str, place: int, after: str = "\n") -> bool:
    """Return whether only blanks stand between a place and the start of its row, or one of some characters."""
    while place and text[place - 1] in " \t":
        place -= 1
    return not place or text[place - 1] in after


def lower(source: Source, headers: tuple[Source, ...] = (), flags: Flags | None = None) -> ProgramModule:
    """Lower a file to its host program, with the macros and classes of the headers that it includes, nearest first."""
    parsed = outline(source)
    own = parsed.unit
    unit = Unit(own.language, own.data, dict(own.macros), dict(own.members), dict(own.defaults))
    language = unit.language
    for header in headers:
        other = outline(header).unit
        for name, macro in other.macros.items():
            if macro.params is not None:
                unit.macros.setdefault(name, macro)
        for name, types in other.members.items():
            unit.members.setdefault(name, types)
        for key, given in other.defaults.items():
            unit.defaults.setdefault(key, given)
    if flags is not None:
        unit.defines.update(flags.defines)
        for name, text in flags.defines:
            if text is not None:
                unit.macros.setdefault(name, Macro(name, None, text))
    body = _grouped(list(_top(unit, parsed.root.children)))
    constants = [m for m in unit.macros.values() if m.params is None and m.body and len(m.body) < 200]
    if len(constants) <= _BRANCHES_KEPT and source.suffix in (".h", ".hpp", ".hh", ".inl"):
        body = [*_constants(unit, constants), *body]
    return ProgramModule(source.path, language, tuple(body))


def unwrapped(text: str) -> str:
    """Blank a checking macro around a declaration, which no parser understands: `CHECK(err, T x(a, &err));`.

    A macro that stands as a statement without a semicolon gets one, at the end of its row. Rows and columns stay.
    """

    def ended(match: re.Match[str]) -> str:
        whole = match[1].count("(") == match[1].count(")")
        return f"{match[1]};" if whole and _begins_row(match.string, match.start(), "\n;{}") else match[0]

    text = _UNENDED.sub(ended, text)
    for match in reversed(list(_WRAPPED.finditer(text))):
        end = _closing(text, match.end("open") - 1)
        if end is not None and text[end + 1 : end + 40].lstrip()[:1] in (";", ""):
            head = re.sub(r"[^\n]", " ", text[match.start() : match.start("inner")])
            text = f"{text[: match.start()]}{head}{text[match.start('inner') : end]} {text[end + 1 :]}"
    return text


def _closing(text: str, start: int) -> int | None:
    """Return where the parenthesis at `start` is closed, strings left out."""
    depth = 0
    for match in _BRACKET.finditer(text, start, start + 4000):
        if match[0] == "(":
            depth += 1
        elif match[0] == ")":
            depth -= 1
            if not depth:
                return match.start()
    return None


def _constants(unit: Unit, found: Iterable[Macro]) -> Iterator[Statement]:
    """Yield object-like macros as assignments, for the files that include this one."""
    nowhere = Span(1, 1, 1, 1)
    for macro in found:
        name = Name(nowhere, macro.name)
        unit_here = unit.expansion("", nowhere)
        yield Assign(nowhere, (name,), expression(unit_here, macro.body, nowhere, macro.name))


def _collect(unit: Unit, root: Any) -> None:
    """Find every `#define` of the file, and what classes declare, wherever it stands."""
    pending = [root]
    while pending:
        node = pending.pop()
        for child in reversed(node.named_children):
            if child.type in ("preproc_def", "preproc_function_def"):
                macros.define(unit, child)
            elif child.type in _SCOPES or child.type in _CONDITIONS:
                pending.append(child)
            elif child.type in ("class_specifier", "struct_specifier"):
                _members(unit, child)
            elif child.type in ("declaration", "type_definition"):
                _declared_defaults(unit, "", child)
                kind = child.child_by_field_name("type")
                if kind is not None and kind.type in ("class_specifier", "struct_specifier"):
                    _members(unit, kind)


def _members(unit: Unit, node: Any) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or body is None:
        return
    types = unit.members.setdefault(unit.text(name), {})
    for one in _fields(body):
        _declared_defaults(unit, unit.text(name), one)
        kind = type_text(unit, one.child_by_field_name("type"))
        for declarator in one.children_by_field_name("declarator"):
            inner = declared(unit, declarator, kind)
            if inner.name and inner.function is None:
                types[inner.name] = inner.type


def _declared_defaults(unit: Unit, owner: str, node: Any) -> None:
    """Remember the default arguments of a function that is declared here and defined elsewhere."""
    declarator = node.child_by_field_name("declarator")
    if declarator is None or unit.data.find(b"=", node.start_byte, node.end_byte) < 0:
        return
    inner = declared(unit, declarator, "")
    listed = inner.function.child_by_field_name("parameters") if inner.function is not None else None
    for number, one in enumerate(named(listed) if listed is not None else ()):
        value_node = one.child_by_field_name("default_value")
        if value_node is not None and len(inner.name) > 0:
            unit.defaults.setdefault((owner, inner.name), {})[number] = unit.text(value_node)


def _fields(body: Any) -> Iterator[Any]:
    for one in named(body):
        if one.type == "field_declaration":
            yield one
        elif one.type in _CONDITIONS:
            yield from _fields(one)


def _top(unit: Unit, nodes: Iterable[Any]) -> Iterator[Statement]:
    """Yield the statements of the file's top level; those that lost their function form one of their own."""
    loose: list[Any] = []
    for node in nodes:
        if not node.is_named or node.type == "comment":
            continue
        if (node.type in _LOOSE and node.type not in _CONDITIONS) or (node.type in EXPRESSIONS and node.named_children):
            loose.append(node)
            continue
        if node.type == "declaration" and loose:
            loose.append(node)
            continue
        if loose:
            yield from _fragment(unit, loose)
            loose = []
        yield from _definition(unit, node)
    if loose:
        yield from _fragment(unit, loose)


def _definition(unit: Unit, node: Any) -> Iterator[Statement]:
    match node.type:
        case "function_definition":
            yield from lower_function(unit, node)
        case "declaration":
            kind = node.child_by_field_name("type")
            if kind is not None and kind.type in ("class_specifier", "struct_specifier"):
                yield from lower_class(unit, kind)
            yield from _globals(unit, node)
        case "class_specifier" | "struct_specifier":
            yield from lower_class(unit, node)
        case "type_definition":
            kind = node.child_by_field_name("type")
            if kind is not None and kind.type in ("class_specifier", "struct_specifier"):
                yield from lower_class(unit, kind)
        case "preproc_include":
            path = node.child_by_field_name("path")
            if path is not None and path.type in ("string_literal", "system_lib_string"):
                yield Import(unit.span(node), unit.text(path).strip('"'), (("*", None),))
        case "field_declaration":
            pass
        case _ if node.type in _CONDITIONS:
            yield from _top(unit, inside(node))
            rest = node.child_by_field_name("alternative")
            if rest is not None:
                yield from _definition(unit, rest)
        case _ if node.type in _SCOPES:
            body = node.child_by_field_name("body")
            yield from _top(unit, (body if body is not None else node).children)


def _globals(unit: Unit, node: Any) -> Iterator[Statement]:
    for statement in declaration(unit, node):
        if isinstance(statement, Assign):
            yield statement


def _fragment(unit: Unit, nodes: list[Any]) -> Iterator[Statement]:
    """Statements outside any function: the parser lost the head of theirs."""
    text = " ".join(unit.text(one) for one in nodes)
    if "(" not in text:
        return
    first, last = unit.span(nodes[0]), unit.span(nodes[-1])
    span = Span(first.row, first.column, last.end_row, last.end_column)
    yield _LazyFunction.make(unit, span, f"<line {span.row}>", (), tuple(nodes))


class _LazyFunction(Function):
    """A function whose body is lowered when it is first looked at."""

    by_reference: bool
    """It returns a reference."""
    _unit: Unit
    _nodes: tuple[Any, ...]
    _first: tuple[Statement, ...]

    @classmethod
    def make(
        cls,
        unit: Unit,
        span: Span,
        name: str,
        parameters: tuple[Param, ...],
        nodes: tuple[Any, ...],
        first: tuple[Statement, ...] = (),
        static: bool = False,
        by_reference: bool = False,
    ) -> _LazyFunction:
        """Return a function over syntax nodes; `first` runs before its body."""
        made = cls.__new__(cls)
        made.__dict__["by_reference"] = by_reference
        marks = (Name(span, "staticmethod"),) if static else ()
        made.__dict__.update(span=span, name=name, params=parameters, decorators=marks)
        made.__dict__.update(is_async=False, is_generator=False, _unit=unit, _nodes=nodes, _first=first)
        return made

    @cached_property
    def broken(self) -> bool:
        """Whether the parser lost something in the function that may concern the order of commands."""
        pending = [node for node in self._nodes if node.has_error]
        while pending:
            node = pending.pop()
            if node.type in _SIMPLE or node.is_missing:
                if _ORDERS.search(self._unit.data, node.start_byte, node.end_byte):
                    return True
            elif node.has_error:
                pending.extend(node.children)
        return False

    @cached_property
    def body(self) -> tuple[Statement, ...]:
        self._unit.nesting = 0
        return (*self._first, *block(self._unit, self._nodes))

    def renamed(self, name: str, static: bool = False) -> _LazyFunction:
        """Return the same function as a method: under its own name and with `this` before its parameters."""
        first = () if static else (Param("this"),)
        params = (*first, *self.params)
        return self.make(self._unit, self.span, name, params, self._nodes, self._first, static, self.by_reference)


def lower_function(unit: Unit, node: Any) -> Iterator[Statement]:
    """Lower a function definition; one of a class that stands outside it keeps its qualified name."""
    declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
    if body is None and declarator is not None:
        body = next((one for one in named(node) if one.type == "try_statement"), None)
    if declarator is None or body is None:
        return
    inner = declared(unit, declarator, type_text(unit, node.child_by_field_name("type")))
    if inner.function is None or not inner.name:
        yield from _fragment(unit, named(body))
        return
    listed = inner.function.child_by_field_name("parameters")
    parameters = params(unit, listed) if listed is not None else ()
    name = re.sub(r"<[^<>]*>", "", inner.name)
    scope, _, last = name.rpartition("::")
    defaults = unit.defaults.get((scope.rpartition("::")[2], last))
    if defaults:
        parameters = tuple(
            replace(one, default=expression(unit, defaults[number], unit.span(declarator)))
            if number in defaults and one.default is None
            else one
            for number, one in enumerate(parameters)
        )
    first = tuple(_initialisers(unit, node, name))
    nodes = tuple(body.named_children) if body.type == "compound_statement" else (body,)
    static = any(c.type == "storage_class_specifier" and unit.text(c) == "static" for c in node.children)
    refers = inner.type.endswith("&") and not inner.type.endswith("&&")
    yield _LazyFunction.make(unit, unit.span(node), name, parameters, nodes, first, static, refers)


def _initialisers(unit: Unit, node: Any, name: str) -> Iterator[Statement]:
    """Yield the assignments of a constructor's initialiser list."""
    listed = next((one for one in named(node) if one.type == "field_initializer_list"), None)
    if listed is None:
        return
    owner = name.rpartition("::")[0].rpartition("::")[2] or name
    types = unit.members.get(owner, {})
    for one in named(listed):
        parts = named(one)
        if len(parts) < 2:
            continue
        span = unit.span(one)
        field = unit.text(parts[0])
        args = tuple(Arg(value(unit, arg)) for arg in named(parts[-1]))
        kind = types.get(field, "")
        if not kind and len(args) == 1:
            result = args[0].value
        else:
            result = Call(span, Name(span, kind or "struct"), args)
        yield Assign(span, (Attr(span, Name(span, "this"), field),), result)


def lower_class(unit: Unit, node: Any) -> Iterator[Statement]:
    """Lower a class or struct with a body; methods get `this` as their first parameter."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if body is None:
        return
    title = re.sub(r"<.*", "", unit.text(name)) if name is not None else "struct"
    span = unit.span(node)
    bases = next((one for one in named(node) if one.type == "base_class_clause"), None)
    parents = tuple(
        Name(unit.span(one), re.sub(r"<.*", "", tidy(unit.text(one))))
        for one in (named(bases) if bases is not None else ())
        if one.type in ("type_identifier", "qualified_identifier", "template_type")
    )
    members = tuple(_class_body(unit, body, title))
    yield Class(span, title, parents, members)


def _class_body(unit: Unit, body: Any, title: str) -> Iterator[Statement]:
    for one in named(body):
        match one.type:
            case "field_declaration":
                yield from _field(unit, one)
            case "function_definition":
                for made in lower_function(unit, one):
                    if isinstance(made, _LazyFunction):
                        yield _method(made, title)
            case "template_declaration":
                yield from _class_body(unit, one, title)
            case "class_specifier" | "struct_specifier":
                yield from lower_class(unit, one)
            case _ if one.type in _CONDITIONS:
                yield from _class_body(unit, one, title)


def _field(unit: Unit, node: Any) -> Iterator[Statement]:
    kind = node.child_by_field_name("type")
    if kind is not None and kind.type in ("class_specifier", "struct_specifier"):
        yield from lower_class(unit, kind)
    text = type_text(unit, kind)
    default = node.child_by_field_name("default_value")
    for declarator in node.children_by_field_name("declarator"):
        inner = declared(unit, declarator, text)
        span = unit.span(declarator)
        if inner.function is not None and any(unit.text(c) == "static" for c in node.children):
            yield Assign(span, (Name(span, inner.name),), None, "static function")
        elif inner.name and inner.function is None:
            made = value(unit, default) if default is not None else None
            if made is not None and default.type == "initializer_list":
                items: tuple[Value, ...] = getattr(made, "items", ())
                made = items[0] if len(items) == 1 else made
            yield Assign(span, (Name(span, inner.name),), made, inner.type)


def _method(function: _LazyFunction, title: str) -> _LazyFunction:
    static = any(isinstance(mark, Name) and mark.id == "staticmethod" for mark in function.decorators)
    name = "__init__" if function.name == title else function.name
    return function.renamed(name.replace("operator()", "__call__"), static)


def _grouped(body: list[Statement]) -> list[Statement]:
    """Put methods that are defined outside their class into it; a class of another file gets a part here."""
    classes = {one.name: number for number, one in enumerate(body) if isinstance(one, Class)}
    outside: dict[str, list[_LazyFunction]] = {}
    kept: list[Statement | None] = list(body)
    for number, one in enumerate(body):
        if isinstance(one, _LazyFunction) and "::" in one.name:
            scope, _, name = one.name.rpartition("::")
            title = scope.rpartition("::")[2]
            if title in classes or name == title or name.startswith("~") or title[:1].isupper():
                static = title in classes and _declared_static(body[classes[title]], name)
                outside.setdefault(title, []).append(
                    one.renamed("__init__" if name == title else name.replace("operator()", "__call__"), static)
                )
                kept[number] = None
            else:
                kept[number] = _LazyFunction.make(
                    one._unit, one.span, name, one.params, one._nodes, one._first, by_reference=one.by_reference
                )
    for title, methods in outside.items():
        place = classes.get(title)
        if place is None:
            span = methods[0].span
            kept.append(Class(span, title, (Name(span, f"class {title}"),), tuple(methods)))
        else:
            old = body[place]
            assert isinstance(old, Class)
            kept[place] = Class(old.span, old.name, old.bases, (*old.body, *methods))
    return [one for one in kept if one is not None]


def _declared_static(node: Statement, name: str) -> bool:
    return isinstance(node, Class) and any(
        isinstance(one, Assign) and one.type == "static function" and getattr(one.targets[0], "id", "") == name
        for one in node.body
    )


__all__ = ["Const", "Return", "lower", "lower_class", "lower_function"]
