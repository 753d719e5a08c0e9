"""Statements of C and C++ to those of the host program: one small function for each node type of tree-sitter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kexec_lint.opencl.frontend import c_macros as macros
from kexec_lint.opencl.frontend.c_conditions import conditional
from kexec_lint.opencl.frontend.c_types import declared, type_text
from kexec_lint.opencl.frontend.c_unit import Unit, named, parser
from kexec_lint.opencl.frontend.c_values import (
    EXPRESSIONS,
    assignment,
    callee_text,
    expression,
    interesting,
    maybe,
    value,
)
from kexec_lint.opencl.program import (
    Arg,
    Assign,
    AugAssign,
    Block,
    Call,
    Const,
    Delete,
    Evaluate,
    If,
    Jump,
    Label,
    Loop,
    Name,
    Opaque,
    Operation,
    Raise,
    Return,
    Seq,
    Statement,
    Try,
    Value,
)

_DEEPEST = 60


def block(unit: Unit, nodes: Iterable[Any]) -> tuple[Statement, ...]:
    """Lower statements in order."""
    body: list[Statement] = []
    if unit.nesting > _DEEPEST:
        return ()
    unit.nesting += 1
    try:
        for node in nodes:
            body.extend(statement(unit, node))
    finally:
        unit.nesting -= 1
    return tuple(body)


def statement(unit: Unit, node: Any) -> Iterable[Statement]:
    """Lower one statement; what the parser could not place is searched for statements."""
    lower = STATEMENTS.get(node.type)
    if lower is not None:
        return lower(unit, node)
    if node.type in EXPRESSIONS:
        return _evaluate(unit, node)
    if node.type == "ERROR" or node.type.startswith(("linkage", "template_declaration", "namespace")):
        return block(unit, named(node))
    return ()


def _body(unit: Unit, node: Any) -> tuple[Statement, ...]:
    """Lower the statement that a branch or loop governs."""
    if node is None:
        return ()
    return tuple(statement(unit, node)) if node.type != "else_clause" else block(unit, named(node))


def _compound(unit: Unit, node: Any) -> Iterable[Statement]:
    body = block(unit, node.named_children)
    if any(isinstance(one, Assign) and one.type for one in body):
        return (Block(unit.span(node), body),)
    return body


def _expression(unit: Unit, node: Any) -> Iterable[Statement]:
    inner = named(node)
    if not inner:
        return ()
    return _evaluate(unit, inner[0]) if len(inner) == 1 else block(unit, inner)


def _evaluate(unit: Unit, node: Any) -> Iterable[Statement]:
    while node.type == "parenthesized_expression" and len(named(node)) == 1:
        node = named(node)[0]
    span = unit.span(node)
    match node.type:
        case "assignment_expression":
            target, op, result = assignment(unit, node)
            if op == "=":
                return (Assign(span, (target,), result),)
            return (AugAssign(span, target, op[:-1], result),)
        case "update_expression":
            op = unit.text(node.child_by_field_name("operator"))[:1]
            return (AugAssign(span, value(unit, node.child_by_field_name("argument")), op, Const(span, 1)),)
        case "comma_expression":
            return block(unit, named(node))
        case "delete_expression":
            return (Delete(span, tuple(value(unit, one) for one in named(node))),)
        case "call_expression":
            expanded = _macro(unit, node)
            if expanded is not None:
                return expanded
        case "identifier":
            macro = unit.macros.get(unit.text(node))
            if macro is None or not macro.body:
                return ()
        case "number_literal" | "string_literal":
            return ()
    return (Evaluate(span, value(unit, node)),)


def _macro(unit: Unit, node: Any) -> tuple[Statement, ...] | None:
    """Expand a macro of the file that stands as a statement, if it wraps a call of interest."""
    function = node.child_by_field_name("function")
    name = callee_text(unit, function) if function.type == "identifier" else ""
    if name not in unit.macros or not macros.wraps(unit, name, interesting):
        return None
    text = macros.expanded(unit, name, macros.arguments_of(node))
    if text is None:
        return None
    inner = unit.expansion(text, unit.span(node), name)
    inner.data = b"void f(){" + inner.data + b"\n;}"
    root = parser(unit.language).parse(inner.data).root_node
    function = next((n for n in root.named_children if n.type == "function_definition"), None)
    body = function.child_by_field_name("body") if function is not None else None
    return block(inner, body.named_children) if body is not None else ()


# --- declarations ---------------------------------------------------------------------------------------------


def declaration(unit: Unit, node: Any) -> Iterable[Statement]:
    """Lower a declaration of variables: one assignment with its type for each declarator."""
    kind = node.child_by_field_name("type")
    text = type_text(unit, kind)
    static = any(c.type == "storage_class_specifier" and unit.text(c) == "static" for c in node.children)
    if kind is not None and kind.type in ("class_specifier", "struct_specifier", "union_specifier"):
        name = kind.child_by_field_name("name")
        text = unit.text(name) if name is not None else "struct"
    prefix = "static " if static else ""
    for declarator in node.children_by_field_name("declarator"):
        yield from _declared(unit, declarator, prefix + text)


def _declared(unit: Unit, declarator: Any, kind: str) -> Iterable[Statement]:
    span = unit.span(declarator)
    initial = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
    inner = declared(unit, declarator, kind)
    if declarator.type == "init_declarator":
        target = declarator.child_by_field_name("declarator")
        while target is not None and target.type in ("reference_declarator", "pointer_declarator"):
            target = next(iter(named(target)), None)
        if target is not None and target.type == "structured_binding_declarator":
            names = tuple(Name(unit.span(one), unit.text(one)) for one in named(target))
            yield Assign(span, (Seq(span, "tuple", names),), maybe(unit, initial), "auto")
            return
    name = Name(span, inner.name)
    if inner.function is not None and inner.name and "*" not in unit.text(inner.function).partition("(")[0]:
        arguments = _vexing(unit, inner.function)
        if arguments is not None:
            yield Assign(span, (name,), Call(span, Name(span, kind.removeprefix("static ")), arguments), inner.type)
        return
    if not inner.name:
        return
    made: Value | None = None
    if initial is not None and initial.type == "argument_list":
        args = tuple(Arg(value(unit, one)) for one in named(initial))
        made = Call(span, Name(span, inner.type.removeprefix("static ").rstrip("&")), args)
    elif initial is not None and initial.type == "initializer_list" and not inner.sizes and _is_class(inner.type):
        plain = [one for one in named(initial) if one.type != "initializer_pair"]
        if len(plain) == len(named(initial)) and plain:
            args = tuple(Arg(value(unit, one)) for one in plain[:64])
            made = Call(span, Name(span, inner.type.removeprefix("static ")), args)
            if declarator.child_by_field_name("value").prev_sibling is not None and any(
                child.type == "=" for child in declarator.children
            ):
                made = value(unit, initial)
        elif plain or named(initial):
            made = value(unit, initial)
    elif initial is not None:
        made = value(unit, initial)
    yield Assign(span, (name,), made, inner.type)


def _is_class(kind: str) -> bool:
    plain = kind.removeprefix("static ")
    return not plain.endswith(("]", "*")) and not plain.startswith(
        ("cl_", "int", "float", "double", "unsigned", "size_t")
    )


def _vexing(unit: Unit, function: Any) -> tuple[Arg, ...] | None:
    """Return the arguments of `T x(a, b);`, which parses as a function declaration; None if it is one."""
    listed = function.child_by_field_name("parameters")
    if listed is None:
        return None
    for one in named(listed):
        if one.type == "variadic_parameter":
            return None
        inner = one.child_by_field_name("declarator") if one.type.endswith("parameter_declaration") else None
        if inner is not None and inner.type not in (
            "abstract_function_declarator",
            "abstract_pointer_declarator",
            "abstract_array_declarator",
        ):
            return None
        kind = one.child_by_field_name("type") if one.type.endswith("parameter_declaration") else None
        if kind is not None and (kind.type in ("primitive_type", "sized_type_specifier") or len(one.children) > 2):
            return None
    if not named(listed):
        return None
    made = expression(unit, f"f{unit.text(listed)}", unit.span(listed))
    return made.args if isinstance(made, Call) else None


# --- branches and loops ---------------------------------------------------------------------------------------


def _if(unit: Unit, node: Any) -> Iterable[Statement]:
    """`else if` chains are followed without recursion: generated code has hundreds of arms."""
    arms: list[tuple[Any, Any, Any]] = []
    last: Any = node
    while last is not None and last.type == "if_statement":
        arms.append((last, last.child_by_field_name("condition"), last.child_by_field_name("consequence")))
        rest = last.child_by_field_name("alternative")
        if rest is not None and rest.type == "else_clause":
            inner = named(rest)
            rest = inner[0] if len(inner) == 1 else rest
        last = rest
    orelse = _body(unit, last)
    for arm, condition, then in reversed(arms):
        before, test = _condition(unit, condition)
        lowered = If(unit.span(arm), test, _body(unit, then), orelse)
        orelse = (*before, lowered)
    return orelse


def _condition(unit: Unit, node: Any) -> tuple[tuple[Statement, ...], Value]:
    """Return what a condition declares first, and its test."""
    if node is None:
        return (), Const(unit.span(node), True)
    before: tuple[Statement, ...] = ()
    start = node.child_by_field_name("initializer")
    if start is not None:
        before = block(unit, named(start))
    inner = node.child_by_field_name("value") if node.type == "condition_clause" else node
    if inner is None:
        inner = named(node)[-1] if named(node) else node
    if inner.type == "declaration":
        declarations = list(declaration(unit, inner))
        target = next((d.targets[0] for d in declarations if isinstance(d, Assign)), Const(unit.span(inner), True))
        return (*before, *declarations), target
    return before, value(unit, inner)


def _while(unit: Unit, node: Any) -> Iterable[Statement]:
    before, test = _condition(unit, node.child_by_field_name("condition"))
    return (*before, Loop(unit.span(node), None, None, test, _body(unit, node.child_by_field_name("body"))))


def _do(unit: Unit, node: Any) -> Iterable[Statement]:
    _, test = _condition(unit, node.child_by_field_name("condition"))
    body = _body(unit, node.child_by_field_name("body"))
    return (Loop(unit.span(node), None, None, test, body, test_last=True),)


def _for(unit: Unit, node: Any) -> Iterable[Statement]:
    span = unit.span(node)
    start = node.child_by_field_name("initializer")
    before: tuple[Statement, ...] = ()
    if start is not None:
        before = tuple(statement(unit, start)) if start.type in STATEMENTS else tuple(_evaluate(unit, start))
    test = node.child_by_field_name("condition")
    update = node.child_by_field_name("update")
    step = tuple(_evaluate(unit, update)) if update is not None else ()
    condition = value(unit, test) if test is not None and test.type != ";" else Const(span, True)
    body = _body(unit, node.child_by_field_name("body"))
    return (Block(span, (*before, Loop(span, None, None, condition, body, step=step))),)


def _range_for(unit: Unit, node: Any) -> Iterable[Statement]:
    declarator = node.child_by_field_name("declarator")
    inner = declared(unit, declarator, type_text(unit, node.child_by_field_name("type")))
    span = unit.span(declarator)
    target: Value = Name(span, inner.name)
    if (declarator is not None and "structured" in str(declarator.type)) or inner.name.startswith("["):
        names = [part for part in inner.name.strip("[]&").split(",") if part]
        target = Seq(span, "tuple", tuple(Name(span, part) for part in names))
    source = value(unit, node.child_by_field_name("right"))
    return (Loop(unit.span(node), target, source, None, _body(unit, node.child_by_field_name("body"))),)


def _switch(unit: Unit, node: Any) -> Iterable[Statement]:
    """A chain of tests, inside a loop that runs once if a `break` is not the last statement of its case."""
    span = unit.span(node)
    before, subject = _condition(unit, node.child_by_field_name("condition"))
    body = node.child_by_field_name("body")
    cases = [one for one in named(body) if one.type == "case_statement"] if body is not None else []
    arms: list[tuple[list[Value], bool, list[Any], Any]] = []
    labels: list[Value] = []
    default = False
    for case in cases:
        found = case.child_by_field_name("value")
        if found is not None:
            labels.append(value(unit, found))
        else:
            default = True
        inside = [one for one in named(case) if found is None or one.start_byte != found.start_byte]
        if inside:
            arms.append((labels, default, inside, case))
            labels, default = [], False
    bodies = [block(unit, _fall_through(arms, number)) for number in range(len(arms))]
    needs_loop = any(_breaks(body[:-1]) or (body and _breaks_inside(body[-1])) for body in bodies)
    chain: tuple[Statement, ...] = ()
    last = [number for number, (_, is_default, _, _) in enumerate(arms) if is_default]
    if last:
        chain = _without_break(bodies[last[0]])
    for number in reversed(range(len(arms))):
        labels, is_default, _, case = arms[number]
        if is_default or not labels:
            continue
        tests: list[Value] = [Operation(one.span, "==", (subject, one)) for one in labels]
        test = tests[0] if len(tests) == 1 else Operation(unit.span(case), "or", tuple(tests))
        chain = (If(unit.span(case), test, _without_break(bodies[number]), chain),)
    if needs_loop:
        chain = (Loop(span, None, None, Const(span, False), chain, test_last=True),)
    return (*before, *chain)


def _fall_through(arms: list[tuple[list[Value], bool, list[Any], Any]], number: int) -> list[Any]:
    """Return the statements of a case up to its break, those of the cases that it falls into included."""
    nodes: list[Any] = []
    for _, _, inside, _ in arms[number:]:
        nodes.extend(inside)
        flat = inside[-1]
        while flat.type == "compound_statement" and named(flat):
            flat = named(flat)[-1]
        if flat.type in (
            "break_statement",
            "return_statement",
            "continue_statement",
            "goto_statement",
            "throw_statement",
        ):
            break
    return nodes


def _without_break(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    if body and isinstance(body[-1], Jump) and body[-1].kind == "break":
        return body[:-1]
    if body and isinstance(body[-1], Block):
        return (*body[:-1], Block(body[-1].span, _without_break(body[-1].body)))
    return body


def _breaks(body: Iterable[Statement]) -> bool:
    return any((isinstance(one, Jump) and one.kind == "break") or _breaks_inside(one) for one in body)


def _breaks_inside(node: Statement) -> bool:
    match node:
        case If(then=then, orelse=orelse):
            return _breaks(then) or _breaks(orelse)
        case Block(body=body):
            return _breaks(body[:-1]) or bool(body and _breaks_inside(body[-1]))
        case Try(body=body):
            return _breaks(body)
    return False


# --- jumps ----------------------------------------------------------------------------------------------------


def _return(unit: Unit, node: Any) -> Iterable[Statement]:
    inner = named(node)
    return (Return(unit.span(node), value(unit, inner[0]) if inner else None),)


def _jump(kind: str) -> Callable[[Unit, Any], Iterable[Statement]]:
    return lambda unit, node: (Jump(unit.span(node), kind),)


def _goto(unit: Unit, node: Any) -> Iterable[Statement]:
    label = node.child_by_field_name("label")
    return (Jump(unit.span(node), "goto", unit.text(label) if label is not None else ""),)


def _labelled(unit: Unit, node: Any) -> Iterable[Statement]:
    label = node.child_by_field_name("label")
    rest = [one for one in named(node) if label is None or one.start_byte != label.start_byte]
    return (Label(unit.span(node), unit.text(label) if label is not None else ""), *block(unit, rest))


def _throw(unit: Unit, node: Any) -> Iterable[Statement]:
    inner = named(node)
    return (Raise(unit.span(node), value(unit, inner[0]) if inner else None),)


def _try(unit: Unit, node: Any) -> Iterable[Statement]:
    """Calls are taken to succeed, so a handler is no path of its own, unless it makes another queue."""
    body = _body(unit, node.child_by_field_name("body"))
    clauses = [one for one in named(node) if one.type == "catch_clause"]
    if not any("ommandQueue" in unit.text(one) for one in clauses):
        return body
    handlers = tuple((None, None, _body(unit, one.child_by_field_name("body"))) for one in clauses)
    return (Try(unit.span(node), body, handlers, (), ()),)


def _conditional(unit: Unit, node: Any) -> Iterable[Statement]:
    return conditional(unit, node, block)


def _define(unit: Unit, node: Any) -> Iterable[Statement]:
    macros.define(unit, node)
    return ()


def _nested_class(unit: Unit, node: Any) -> Iterable[Statement]:
    from kexec_lint.opencl.frontend.c import lower_class

    return lower_class(unit, node)


def _function(unit: Unit, node: Any) -> Iterable[Statement]:
    from kexec_lint.opencl.frontend.c import lower_function

    return lower_function(unit, node)


STATEMENTS: dict[str, Callable[[Unit, Any], Iterable[Statement]]] = {
    "compound_statement": _compound,
    "expression_statement": _expression,
    "declaration": declaration,
    "init_statement": lambda unit, node: block(unit, named(node)),
    "if_statement": _if,
    "while_statement": _while,
    "do_statement": _do,
    "for_statement": _for,
    "for_range_loop": _range_for,
    "switch_statement": _switch,
    "return_statement": _return,
    "break_statement": _jump("break"),
    "continue_statement": _jump("continue"),
    "goto_statement": _goto,
    "labeled_statement": _labelled,
    "throw_statement": _throw,
    "try_statement": _try,
    "else_clause": lambda unit, node: block(unit, named(node)),
    "case_statement": lambda unit, node: block(unit, named(node)),
    "preproc_if": _conditional,
    "preproc_ifdef": _conditional,
    "preproc_def": _define,
    "preproc_function_def": _define,
    "class_specifier": _nested_class,
    "struct_specifier": _nested_class,
    "function_definition": _function,
}
"""Node type → what lowers it."""

__all__ = ["STATEMENTS", "Opaque", "block", "declaration", "statement"]
