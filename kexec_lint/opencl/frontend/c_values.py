"""Expressions of C and C++ to values of the host program: one small function for each node type of tree-sitter."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kexec_lint.opencl.api.native import TRIGGERS
from kexec_lint.opencl.frontend import c_macros as macros
from kexec_lint.opencl.frontend.c_literals import number, string, unescaped
from kexec_lint.opencl.frontend.c_types import Declared, declared, type_text
from kexec_lint.opencl.frontend.c_unit import Unit, named, parser
from kexec_lint.opencl.program import (
    Arg,
    Attr,
    Bind,
    Call,
    Choice,
    Const,
    Format,
    Item,
    Lambda,
    Name,
    Opaque,
    Operation,
    Param,
    Return,
    Seq,
    Statement,
    Value,
)

DEEPEST = 80
"""Nested expressions that are followed; what lies deeper is opaque."""
_LONG_TABLE = 256
"""Elements of a brace initialiser beyond which it is a table of numbers."""
OPERATORS = {"&&": "and", "||": "or", "and": "and", "or": "or"}
_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast", "bit_cast"})
_TRANSPARENT = frozenset({"std::move", "move", "std::forward", "std::ref", "std::cref"})
_ASSERTS = ("assert", "static_assert")
_EVENT_INFO = re.compile(r"getInfo\s*<\s*(CL_EVENT_\w+)\s*>$")


def value(unit: Unit, node: Any) -> Value:
    """Lower an expression."""
    lower = _LOWER.get(node.type)
    if lower is None or unit.nesting > DEEPEST:
        return _unknown(unit, node)
    unit.nesting += 1
    try:
        return lower(unit, node)
    finally:
        unit.nesting -= 1


def maybe(unit: Unit, node: Any) -> Value | None:
    """Lower an expression that may be missing."""
    return None if node is None else value(unit, node)


def expression(unit: Unit, text: str, span: Any, name: str = "") -> Value:
    """Lower a piece of text as an expression or, if it is more, as a function that is called at once."""
    inner = unit.expansion(text, span, name)
    inner.data = b"void f(){" + inner.data + b"\n;}"
    root = parser(unit.language).parse(inner.data).root_node
    body = next((n for n in root.named_children if n.type == "function_definition"), None)
    block = body.child_by_field_name("body") if body is not None else None
    parts = (
        [n for n in named(block) if not (n.type == "expression_statement" and not n.named_children)] if block else []
    )
    if len(parts) == 1 and parts[0].type == "expression_statement":
        return value(inner, named(parts[0])[0]) if named(parts[0]) else Opaque(span, "nothing", ())
    from kexec_lint.opencl.frontend.c_statements import block as lower_block

    statements = lower_block(inner, parts)
    return Call(span, Lambda(span, (), statements), ())


def _unknown(unit: Unit, node: Any) -> Value:
    """A node without a form of its own: what its parts do is kept, within reason."""
    span = unit.span(node)
    if unit.nesting > DEEPEST:
        return Opaque(span, node.type, ())
    unit.nesting += 1
    try:
        parts = [value(unit, child) for child in named(node)[:64] if child.type in _LOWER or child.named_children]
    finally:
        unit.nesting -= 1
    return Opaque(span, node.type, tuple(parts))


# --- names and literals ---------------------------------------------------------------------------------------


def _name(unit: Unit, node: Any) -> Value:
    text = unit.text(node)
    macro = unit.macros.get(text)
    constant = macro is not None and macro.params is None and 0 < len(macro.body) < 4000
    if constant and macro is not None and text not in unit.expanding and len(unit.expanding) < 6:
        return expression(unit, macro.body, unit.span(node), text)
    return Name(unit.span(node), text)


def _qualified(unit: Unit, node: Any) -> Value:
    return Name(unit.span(node), callee_text(unit, node))


def callee_text(unit: Unit, node: Any) -> str:
    """Return a qualified name without spaces; template arguments stay with the last part only."""
    return "".join(unit.text(node).split())


def _number(unit: Unit, node: Any) -> Value:
    found = number(unit.text(node))
    return Opaque(unit.span(node), "number", ()) if found is None else Const(unit.span(node), found)


def _string(unit: Unit, node: Any) -> Value:
    return Const(unit.span(node), string(unit.text(node)))


def _joined(unit: Unit, node: Any) -> Value:
    """Adjacent literals are one; a macro among them is a part that may be computed."""
    span = unit.span(node)
    parts = [value(unit, child) for child in named(node)]
    if all(isinstance(part, Const) and isinstance(part.value, str) for part in parts):
        return Const(span, "".join(str(part.value) for part in parts if isinstance(part, Const)))
    return Format(span, tuple(parts))


def _character(unit: Unit, node: Any) -> Value:
    inner = unescaped(unit.text(node).lstrip("uUL8")[1:-1])
    return Const(unit.span(node), ord(inner[0]) if inner else 0)


def _constant(found: object) -> Callable[[Unit, Any], Value]:
    return lambda unit, node: Const(unit.span(node), found)


# --- operators ------------------------------------------------------------------------------------------------


def _binary(unit: Unit, node: Any) -> Value:
    links = [node]  # a << b << … leans to the left, by hundreds: no recursion
    while (left := links[-1].child_by_field_name("left")) is not None and left.type == "binary_expression":
        links.append(left)
    first = links[-1].child_by_field_name("left")
    result = value(unit, first) if first is not None else _unknown(unit, node)
    for link in reversed(links):
        right = link.child_by_field_name("right")
        sign = link.child_by_field_name("operator")
        op = unit.text(sign) if sign is not None else "?"
        if right is not None:
            result = Operation(unit.span(link), OPERATORS.get(op, op), (result, value(unit, right)))
    return result


def _unary(unit: Unit, node: Any) -> Value:
    op = unit.text(node.child_by_field_name("operator"))
    operand = value(unit, node.child_by_field_name("argument"))
    span = unit.span(node)
    if op == "-" and isinstance(operand, Const) and isinstance(operand.value, int | float):
        return Const(span, -operand.value)
    if op == "+":
        return operand
    return Operation(span, {"-": "neg", "!": "not", "not": "not"}.get(op, op), (operand,))


def _pointer(unit: Unit, node: Any) -> Value:
    op = unit.text(node.child_by_field_name("operator"))
    operand = value(unit, node.child_by_field_name("argument"))
    return Operation(unit.span(node), "address" if op == "&" else "deref", (operand,))


def assignment(unit: Unit, node: Any) -> tuple[Value, str, Value]:
    """Return target, operator and value of an assignment."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    op = node.child_by_field_name("operator")
    return value(unit, left), unit.text(op) if op is not None else "=", value(unit, right)


def _assignment(unit: Unit, node: Any) -> Value:
    target, op, result = assignment(unit, node)
    span = unit.span(node)
    if op != "=":
        result = Operation(span, op[:-1], (target, result))
    return Bind(span, target, result)


def _update(unit: Unit, node: Any) -> Value:
    argument, sign = node.child_by_field_name("argument"), node.child_by_field_name("operator")
    span, target = unit.span(node), value(unit, argument)
    op = unit.text(sign)[0]
    if sign.start_byte > argument.start_byte:
        return Operation(span, f"post{op}", (target,))
    return Bind(span, target, Operation(span, op, (target, Const(span, 1))))


def _choice(unit: Unit, node: Any) -> Value:
    test, then = (node.child_by_field_name(name) for name in ("condition", "consequence"))
    orelse = node.child_by_field_name("alternative")
    lowered = value(unit, test)
    return Choice(unit.span(node), lowered, value(unit, then) if then is not None else lowered, value(unit, orelse))


def _comma(unit: Unit, node: Any) -> Value:
    parts: list[Any] = []
    rest = node
    while rest is not None and rest.type == "comma_expression":
        parts.append(rest.child_by_field_name("left"))
        rest = rest.child_by_field_name("right")
    parts.append(rest)
    return Operation(unit.span(node), "comma", tuple(value(unit, part) for part in parts if part is not None))


def _cast(unit: Unit, node: Any) -> Value:
    kind = node.child_by_field_name("type")
    operand = node.child_by_field_name("value")
    if operand is None:
        return _unknown(unit, node)
    span = unit.span(node)
    return Operation(span, "cast", (Const(span, type_text(unit, kind) if kind else ""), value(unit, operand)))


def _sizeof(unit: Unit, node: Any) -> Value:
    span = unit.span(node)
    inner = node.child_by_field_name("type") or node.child_by_field_name("value")
    text = "" if inner is None else "".join(unit.text(inner).split())
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    return Call(span, Name(span, "sizeof"), (Arg(Const(span, text)),))


# --- access ---------------------------------------------------------------------------------------------------


def _field(unit: Unit, node: Any) -> Value:
    base, name = node.child_by_field_name("argument"), node.child_by_field_name("field")
    return Attr(unit.span(node), value(unit, base), _plain(unit.text(name)) if name is not None else "")


def _plain(name: str) -> str:
    """Return a name without template arguments."""
    return name.removeprefix("template ").partition("<")[0].strip()


def _subscript(unit: Unit, node: Any) -> Value:
    base = node.child_by_field_name("argument")
    index = node.child_by_field_name("index")
    if index is None:
        indices = node.child_by_field_name("indices")
        listed = named(indices) if indices is not None else []
        index = listed[0] if listed else None
    span = unit.span(node)
    return Item(span, value(unit, base), value(unit, index) if index is not None else Const(span, 0))


def _this(unit: Unit, node: Any) -> Value:
    return Name(unit.span(node), "this")


# --- calls and construction -----------------------------------------------------------------------------------


def _spread(argument: Value, node: Any) -> tuple[Value, ...]:
    """Return the arguments that a macro such as `WAIT_LIST_ARGS` puts into a call: its commas separate them."""
    if node.type == "identifier" and isinstance(argument, Operation) and argument.op == "comma":
        return tuple(part for operand in argument.operands for part in _spread(operand, node))
    return (argument,)


def _call(unit: Unit, node: Any) -> Value:
    span = unit.span(node)
    function = node.child_by_field_name("function")
    given = macros.arguments_of(node)
    while function.type == "parenthesized_expression" and len(named(function)) == 1:
        function = named(function)[0]
    if function.type == "pointer_expression":
        function = function.child_by_field_name("argument")
    if function.type == "primitive_type" or function.type == "sized_type_specifier":
        return Operation(span, "cast", tuple(value(unit, one) for one in given)) if given else Const(span, 0)
    text = callee_text(unit, function) if function.type != "call_expression" else ""
    plain = text.partition("<")[0]
    if plain in _CASTS or plain in _TRANSPARENT:
        operand = value(unit, given[0]) if given else Const(span, None)
        return operand if plain in _TRANSPARENT else Operation(span, "cast", (Const(span, text), operand))
    if text in unit.macros and macros.wraps(unit, text, interesting):
        body = macros.expanded(unit, text, given)
        if body is not None:
            return expression(unit, body, span, text)
    args = tuple(Arg(part) for one in given for part in _spread(argument(unit, one), one))
    checking = text in _ASSERTS or (text.upper() == text and not text.startswith("("))
    if checking and text and any(_acts(arg.value) for arg in args):
        return Operation(span, "checked", tuple(arg.value for arg in args))
    if function.type == "field_expression" or function.type == "template_function":
        func = _field(unit, function) if function.type == "field_expression" else Name(span, text)
        asked = _EVENT_INFO.search(text)
        if asked:
            args = (Arg(Name(span, asked[1])),)
    else:
        func = value(unit, function) if function.type not in ("identifier",) else Name(unit.span(function), text)
    return Call(span, func, args)


def argument(unit: Unit, node: Any) -> Value:
    """Lower an argument; what a checking macro is given may be a whole statement."""
    if node.type in _LOWER:
        return value(unit, node)
    from kexec_lint.opencl.frontend import c_statements

    if node.type in c_statements.STATEMENTS:
        span = unit.span(node)
        return Call(span, Lambda(span, (), c_statements.block(unit, [node])), ())
    return value(unit, node)


def interesting(word: str) -> bool:
    """Return whether an identifier inside a macro makes its expansion worthwhile."""
    return word in TRIGGERS


def _acts(node: Value) -> bool:
    """Return whether a value does something: a call, an assignment."""
    pending: list[Value] = [node]
    while pending:
        one = pending.pop()
        match one:
            case Call() | Bind():
                return True
            case Operation(operands=parts) | Opaque(parts=parts):
                pending.extend(parts)
            case Choice(test=test, then=then, orelse=orelse):
                pending.extend((test, then, orelse))
            case Item(base=base) | Attr(base=base):
                pending.append(base)
    return False


def _construct(unit: Unit, node: Any) -> Value:
    """`T{…}`, `(T){…}`: a compound literal or a braced construction."""
    span = unit.span(node)
    kind, braces = node.child_by_field_name("type"), node.child_by_field_name("value")
    items = tuple(value(unit, one) for one in named(braces)[:_LONG_TABLE]) if braces is not None else ()
    name = type_text(unit, kind) if kind is not None else ""
    return Call(span, Name(span, name), tuple(Arg(item) for item in items))


def _braces(unit: Unit, node: Any) -> Value:
    span, items = unit.span(node), named(node)
    if len(items) > _LONG_TABLE:
        return Opaque(span, "table", ())
    pairs = [one for one in items if one.type == "initializer_pair"]
    if pairs:
        return _designated(unit, node, items)
    return Seq(span, "list", tuple(value(unit, one) for one in items))


def _designated(unit: Unit, node: Any, items: list[Any]) -> Value:
    from kexec_lint.opencl.program import Mapping

    pairs: list[tuple[Value | None, Value]] = []
    for position, one in enumerate(items):
        where = unit.span(one)
        if one.type != "initializer_pair":
            pairs.append((Const(where, position), value(unit, one)))
            continue
        designator = next((d for d in named(one) if d.type.endswith("designator")), None)
        inner = named(designator)[0] if designator is not None and named(designator) else None
        held = one.child_by_field_name("value")
        if inner is None or held is None:
            continue
        key = Const(where, unit.text(inner)) if inner.type == "field_identifier" else value(unit, inner)
        pairs.append((key, value(unit, held)))
    return Mapping(unit.span(node), tuple(pairs))


def _new(unit: Unit, node: Any) -> Value:
    span = unit.span(node)
    kind = type_text(unit, node.child_by_field_name("type"))
    length = node.child_by_field_name("declarator")
    if length is not None:
        count = length.child_by_field_name("length") if length.type == "new_declarator" else None
        return Call(span, Name(span, "new[]"), (Arg(Const(span, kind)), *([Arg(value(unit, count))] if count else [])))
    arguments = node.child_by_field_name("arguments")
    args = tuple(Arg(argument(unit, one)) for one in named(arguments)) if arguments is not None else ()
    return Operation(span, "new", (Call(span, Name(span, kind), args),))


def _lambda(unit: Unit, node: Any) -> Value:
    declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
    from kexec_lint.opencl.frontend.c_statements import block

    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    span = unit.span(node)
    statements: tuple[Statement, ...] = block(unit, named(body)) if body is not None else (Return(span, None),)
    return Lambda(span, params(unit, listed) if listed is not None else (), statements)


def params(unit: Unit, node: Any) -> tuple[Param, ...]:
    """Lower a parameter list; parameters without a name keep their place."""
    found: list[Param] = []
    for number_, one in enumerate(named(node)):
        if one.type not in ("parameter_declaration", "optional_parameter_declaration"):
            continue
        declarator = one.child_by_field_name("declarator")
        kind = type_text(unit, one.child_by_field_name("type"))
        if declarator is None and kind == "void":
            continue
        inner: Declared = declared(unit, declarator, kind)
        default = maybe(unit, one.child_by_field_name("default_value"))
        found.append(Param(inner.name or f"#{number_}", default, type=inner.type))
    return tuple(found)


def _parenthesised(unit: Unit, node: Any) -> Value:
    inner = named(node)
    return value(unit, inner[0]) if len(inner) == 1 else _unknown(unit, node)


def _first(unit: Unit, node: Any) -> Value:
    inner = node.child_by_field_name("value") or (named(node)[0] if named(node) else None)
    return value(unit, inner) if inner is not None else _unknown(unit, node)


_LOWER: dict[str, Callable[[Unit, Any], Value]] = {
    "identifier": _name,
    "field_identifier": _name,
    "type_identifier": _qualified,
    "qualified_identifier": _qualified,
    "template_function": _qualified,
    "namespace_identifier": _qualified,
    "this": _this,
    "number_literal": _number,
    "string_literal": _string,
    "raw_string_literal": _string,
    "concatenated_string": _joined,
    "char_literal": _character,
    "true": _constant(True),
    "false": _constant(False),
    "null": _constant(None),
    "binary_expression": _binary,
    "unary_expression": _unary,
    "pointer_expression": _pointer,
    "assignment_expression": _assignment,
    "update_expression": _update,
    "conditional_expression": _choice,
    "comma_expression": _comma,
    "cast_expression": _cast,
    "sizeof_expression": _sizeof,
    "field_expression": _field,
    "subscript_expression": _subscript,
    "call_expression": _call,
    "compound_literal_expression": _construct,
    "initializer_list": _braces,
    "new_expression": _new,
    "lambda_expression": _lambda,
    "parenthesized_expression": _parenthesised,
    "condition_clause": _first,
    "parameter_pack_expansion": _first,
}
"""Node type → what lowers it."""

EXPRESSIONS = frozenset(_LOWER)
