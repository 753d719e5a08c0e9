"""Lowers function bodies, parsed with tree-sitter's C grammar, to the small syntax tree of `syntax`."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from kexec_lint.opencl.kernels import functions
from kexec_lint.opencl.kernels.source import ADDRESS_SPACES, Expanded
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
    Jump,
    Literal,
    Loop,
    Member,
    Node,
    Ref,
    Return,
    Switch,
    Unary,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax
    from tree_sitter import Parser

MAX_NESTING = 120
"""Depth of syntax beyond which an expression counts as not understood."""


@cache
def _parser() -> Parser:
    import tree_sitter_c
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_c.language()))


def lower(expanded: Expanded, text: functions.Text, types: dict[str, str]) -> Function:
    """Return one function of the expanded text."""
    parameters, known = functions.params(expanded, text.params, types)
    prefix = b"void f()"
    source = prefix + expanded.text[slice(*text.body)].encode("ascii")
    tree = _parser().parse(source)
    lowering = _Lowering(expanded, source, text.body[0] - len(prefix))
    lowering.scopes.append({parameter.name: parameter.name for parameter in parameters})
    root = tree.root_node
    definition = next((child for child in root.children if child.type == "function_definition"), None)
    body_node = definition.child_by_field_name("body") if definition is not None else None
    sound = text.closed and not root.has_error and body_node is not None and body_node.end_byte == len(source)
    body: tuple[Node, ...] = ()
    if body_node is not None:
        body = lowering.statements(body_node.named_children)
        rest = [child for child in root.named_children if child.start_byte >= body_node.end_byte]
        body += lowering.statements(rest)
    else:
        body = lowering.statements(root.named_children)
    return Function(
        text.name,
        parameters,
        body,
        text.start,
        text.body[1],
        text.name_start,
        sound and not lowering.unread,
        known == "sure",
        known != "cut",
    )


@dataclass
class _Lowering:
    expanded: Expanded
    source: bytes
    shift: int
    scopes: list[dict[str, str]] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)
    depth: int = 0
    unread: bool = False

    def text(self, node: Syntax) -> str:
        return self.source[node.start_byte : node.end_byte].decode("ascii")

    def span(self, node: Syntax) -> tuple[int, int]:
        return node.start_byte + self.shift, node.end_byte + self.shift

    # --- names

    def declare(self, name: str) -> str:
        if name in self.scopes[-1] or name in self.scopes[0]:
            self.unread = True  # declared twice: what seems a type is a macro or a hole before a statement
        count = self.used.get(name, 0) + 1
        if count == 1 and any(name in scope for scope in self.scopes):
            count = 2
        self.used[name] = count
        key = name if count == 1 else f"{name}#{count}"
        self.scopes[-1][name] = key
        return key

    def ref(self, node: Syntax) -> Ref:
        name = self.text(node)
        for scope in reversed(self.scopes):
            if name in scope:
                return Ref(*self.span(node), scope[name], True)
        return Ref(*self.span(node), name, False)

    # --- statements

    def statements(self, nodes: list[Syntax]) -> tuple[Node, ...]:
        out: list[Node] = []
        for node in nodes:
            out += self.statement(node)
        return tuple(out)

    def scoped(self, node: Syntax | None) -> tuple[Node, ...]:
        if node is None:
            return ()
        self.scopes.append({})
        nodes = node.named_children if node.type == "compound_statement" else [node]
        out = self.statements(nodes)
        self.scopes.pop()
        return out

    def statement(self, node: Syntax) -> list[Node]:
        self.depth += 1
        try:
            if self.depth > MAX_NESTING:
                self.unread = True
                return [Do(*self.span(node), Group(*self.span(node), "unread", ()))]
            method = getattr(self, f"s_{node.type}", None)
            if method is not None:
                return method(node)  # type: ignore[no-any-return]
            if node.type in (
                "comment",
                "type_definition",
                "struct_specifier",
                "union_specifier",
                "enum_specifier",
            ):
                return []
            return [Do(*self.span(node), self.expression(node))]
        finally:
            self.depth -= 1

    def s_compound_statement(self, node: Syntax) -> list[Node]:
        return [Block(*self.span(node), self.scoped(node))]

    def s_expression_statement(self, node: Syntax) -> list[Node]:
        return [Do(*self.span(node), self.expression(child)) for child in node.named_children]

    def s_declaration(self, node: Syntax) -> list[Node]:
        start, end = self.span(node)
        type_node = node.child_by_field_name("type")
        words = [self.text(c) for c in node.children if c.type in ("type_qualifier", "storage_class_specifier")]
        base = functions.base_type((self.text(type_node) if type_node is not None else "").split())
        space = self.space(start, end)
        out: list[Node] = []
        for child in node.children_by_field_name("declarator"):
            out.append(self.declarator(child, base, space, "const" in words))
        for child in node.named_children:
            if child.type == "ERROR":
                out.append(Do(*self.span(child), self.unread_group(child)))
        return out

    def space(self, start: int, end: int) -> str | None:
        """Return the address space written in a declaration or, blanked, right before it."""
        marks = self.expanded.qualifiers
        at = bisect_left(marks, (start, ""))
        while at and not self.expanded.text[marks[at - 1][0] : start].strip():
            at -= 1
        while at < len(marks) and marks[at][0] < end:
            if marks[at][1] in ADDRESS_SPACES:
                return marks[at][1]
            at += 1
        return None

    def declarator(self, node: Syntax, base: str, space: str | None, const: bool) -> Node:
        value: Syntax | None = None
        span = self.span(node)
        if node.type == "init_declarator":
            value = node.child_by_field_name("value")
            inner = node.child_by_field_name("declarator")
        else:
            inner = node
        shape, size = "plain", None
        while inner is not None and inner.type != "identifier":
            if inner.type == "pointer_declarator":
                shape = "pointer" if shape == "plain" else shape
            elif inner.type == "array_declarator":
                shape = "array" if shape == "plain" else shape
                size = inner.child_by_field_name("size") or size
            elif inner.type == "function_declarator":
                return self.local_call(inner, span)
            following = inner.child_by_field_name("declarator")
            if following is None:
                following = next(
                    (c for c in inner.named_children if c.type.endswith(("declarator", "identifier"))), None
                )
            inner = following
        lowered = self.expression(value) if value is not None else None
        if shape == "array" and isinstance(lowered, Node) and not isinstance(lowered, (Group, Literal)):
            self.unread = True  # no array is initialised so: the same
        extent = self.expression(size) if size is not None else None
        if inner is None:
            self.unread = True
            return Do(*span, Group(*span, "unread", (lowered,) if lowered is not None else ()))
        return Declare(*span, self.declare(self.text(inner)), base, shape, space, lowered, extent)

    def local_call(self, node: Syntax, span: tuple[int, int]) -> Node:
        """`type name(arguments);` inside a body: a prototype, or a call that an unknown macro name precedes."""
        parameters = node.child_by_field_name("parameters")
        names = re.findall(r"[A-Za-z_]\w*", self.text(parameters)) if parameters is not None else []
        refs = [Ref(*span, scope[n], True) for n in names for scope in reversed(self.scopes) if n in scope]
        if refs:
            self.unread = True
        return Do(*span, Group(*span, "unread", tuple(refs)))

    def s_if_statement(self, node: Syntax) -> list[Node]:
        test = self.field_expression(node, "condition")
        then = self.scoped(node.child_by_field_name("consequence"))
        alternative = node.child_by_field_name("alternative")
        if alternative is not None and alternative.type == "else_clause":
            alternative = next((c for c in alternative.named_children if c.type != "comment"), None)
        return [If(*self.span(node), test, then, self.scoped(alternative))]

    def s_for_statement(self, node: Syntax) -> list[Node]:
        self.scopes.append({})
        first = node.child_by_field_name("initializer")
        init: list[Node] = []
        if first is not None:
            init = self.statement(first)
        test = node.child_by_field_name("condition")
        step = node.child_by_field_name("update")
        lowered_test = self.expression(test) if test is not None else None
        lowered_step = self.expression(step) if step is not None else None
        body = self.scoped(node.child_by_field_name("body"))
        self.scopes.pop()
        return [Loop(*self.span(node), tuple(init), lowered_test, lowered_step, body)]

    def s_while_statement(self, node: Syntax) -> list[Node]:
        test = self.field_expression(node, "condition")
        return [Loop(*self.span(node), (), test, None, self.scoped(node.child_by_field_name("body")))]

    def s_do_statement(self, node: Syntax) -> list[Node]:
        body = self.scoped(node.child_by_field_name("body"))
        test = self.field_expression(node, "condition")
        return [Loop(*self.span(node), (), test, None, body, True)]

    def s_switch_statement(self, node: Syntax) -> list[Node]:
        subject = self.field_expression(node, "condition")
        body = node.child_by_field_name("body")
        cases: list[tuple[Node | None, tuple[Node, ...]]] = []
        self.scopes.append({})
        for child in body.named_children if body is not None else []:
            if child.type == "case_statement":
                label = child.child_by_field_name("value")
                skip = label.end_byte if label is not None else child.start_byte
                inner = [c for c in child.named_children if c.start_byte >= skip and c != label]
                cases.append((self.expression(label) if label is not None else None, self.statements(inner)))
            elif statements := self.statement(child):
                cases.append((None, tuple(statements)))
        self.scopes.pop()
        return [Switch(*self.span(node), subject, tuple(cases))]

    def s_return_statement(self, node: Syntax) -> list[Node]:
        values = [self.expression(child) for child in node.named_children if child.type != "comment"]
        return [Return(*self.span(node), values[0] if values else None)]

    def s_break_statement(self, node: Syntax) -> list[Node]:
        return [Jump(*self.span(node), "break")]

    def s_continue_statement(self, node: Syntax) -> list[Node]:
        return [Jump(*self.span(node), "continue")]

    def s_goto_statement(self, node: Syntax) -> list[Node]:
        return [Jump(*self.span(node), "goto")]

    def s_labeled_statement(self, node: Syntax) -> list[Node]:
        rest = [c for c in node.named_children if c.type not in ("statement_identifier", "comment")]
        return [Jump(*self.span(node), "label"), *self.statements(rest)]

    # --- expressions

    def field_expression(self, node: Syntax, name: str) -> Node:
        child = node.child_by_field_name(name)
        return self.expression(child) if child is not None else Group(*self.span(node), "unread", ())

    def unread_group(self, node: Syntax) -> Node:
        self.unread = True
        items = [self.expression(c) for c in node.named_children if c.type != "comment"]
        return Group(*self.span(node), "unread", tuple(items))

    def expression(self, node: Syntax) -> Node:
        self.depth += 1
        try:
            if self.depth > MAX_NESTING:
                self.unread = True
                return Group(*self.span(node), "unread", ())
            method = getattr(self, f"e_{node.type}", None)
            return method(node) if method is not None else self.unread_group(node)
        finally:
            self.depth -= 1

    def e_identifier(self, node: Syntax) -> Node:
        return self.ref(node)

    def e_number_literal(self, node: Syntax) -> Node:
        return Literal(*self.span(node), number(self.text(node)))

    def e_literal(self, node: Syntax) -> Node:
        return Literal(*self.span(node), None)

    e_string_literal = e_char_literal = e_concatenated_string = e_null = e_offsetof_expression = e_literal
    e_type_identifier = e_primitive_type = e_sized_type_specifier = e_type_descriptor = e_literal
    e_alignof_expression = e_literal

    def e_true(self, node: Syntax) -> Node:
        return Literal(*self.span(node), 1)

    def e_false(self, node: Syntax) -> Node:
        return Literal(*self.span(node), 0)

    def e_parenthesized_expression(self, node: Syntax) -> Node:
        children = [c for c in node.named_children if c.type != "comment"]
        if len(children) != 1:
            return self.unread_group(node)
        return self.expression(children[0])

    def e_sizeof_expression(self, node: Syntax) -> Node:
        return Literal(*self.span(node), None)

    def e_unary_expression(self, node: Syntax) -> Node:
        operator = node.child_by_field_name("operator")
        return Unary(
            *self.span(node), self.text(operator) if operator else "?", self.field_expression(node, "argument")
        )

    e_pointer_expression = e_unary_expression

    def e_binary_expression(self, node: Syntax) -> Node:
        operator = node.child_by_field_name("operator")
        left, right = self.field_expression(node, "left"), self.field_expression(node, "right")
        return Binary(*self.span(node), self.text(operator) if operator else "?", left, right)

    def e_assignment_expression(self, node: Syntax) -> Node:
        operator = node.child_by_field_name("operator")
        target, value = self.field_expression(node, "left"), self.field_expression(node, "right")
        return Assign(*self.span(node), self.text(operator) if operator else "=", target, value)

    def e_update_expression(self, node: Syntax) -> Node:
        operator = node.child_by_field_name("operator")
        argument = node.child_by_field_name("argument")
        postfix = operator is not None and argument is not None and operator.start_byte > argument.start_byte
        op = "-=" if operator is not None and self.text(operator) == "--" else "+="
        span = self.span(node)
        return Assign(*span, op, self.field_expression(node, "argument"), Literal(*span, 1), postfix)

    def e_subscript_expression(self, node: Syntax) -> Node:
        return Index(*self.span(node), self.field_expression(node, "argument"), self.field_expression(node, "index"))

    def e_field_expression(self, node: Syntax) -> Node:
        name, operator = node.child_by_field_name("field"), node.child_by_field_name("operator")
        arrow = operator is not None and self.text(operator) == "->"
        base = self.field_expression(node, "argument")
        return Member(*self.span(node), base, self.text(name) if name is not None else "", arrow)

    def e_call_expression(self, node: Syntax) -> Node:
        callee, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        items = [self.expression(c) for c in arguments.named_children if c.type != "comment"] if arguments else []
        name = self.text(callee) if callee is not None and callee.type == "identifier" else ""
        if arguments is not None and arguments.has_error and any(c.type == "ERROR" for c in arguments.children):
            self.unread = True
        kind = callee.named_children[0] if callee is not None and callee.type == "parenthesized_expression" else None
        if kind is not None and kind.type == "identifier" and not self.ref(kind).local:
            span = self.span(node)  # `(float4)(a, b, c, d)`: the grammar knows no vector types
            value = items[0] if len(items) == 1 else Group(*span, "comma", tuple(items))
            return Cast(*span, self.text(kind), False, value)
        if callee is not None and not name:
            items.insert(0, self.expression(callee))
        return Call(*self.span(node), name, tuple(items))

    def e_cast_expression(self, node: Syntax) -> Node:
        descriptor = node.child_by_field_name("type")
        type_text = self.text(descriptor) if descriptor is not None else ""
        value = self.field_expression(node, "value")
        words = re.findall(r"\w+", type_text)
        return Cast(*self.span(node), functions.base_type(words), "*" in type_text, value)

    def e_compound_literal_expression(self, node: Syntax) -> Node:
        return self.field_expression(node, "value")

    def e_conditional_expression(self, node: Syntax) -> Node:
        test, then = self.field_expression(node, "condition"), self.field_expression(node, "consequence")
        return Choice(*self.span(node), test, then, self.field_expression(node, "alternative"))

    def e_comma_expression(self, node: Syntax) -> Node:
        items = [self.expression(c) for c in node.named_children if c.type != "comment"]
        return Group(*self.span(node), "comma", tuple(items))

    def e_initializer_list(self, node: Syntax) -> Node:
        items = [self.expression(c) for c in node.named_children if c.type != "comment"]
        return Group(*self.span(node), "list", tuple(items))

    def e_initializer_pair(self, node: Syntax) -> Node:
        return self.field_expression(node, "value")


def number(text: str) -> int | float | None:
    """Return the value of a C number; None when it is none."""
    digits = text.rstrip("uUlL")
    try:
        if re.fullmatch(r"0[0-7]+", digits):
            return int(digits, 8)
        return int(digits, 0)
    except ValueError:
        pass
    try:
        return float(text.rstrip("fFhHlL"))
    except ValueError:
        return None
