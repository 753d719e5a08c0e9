"""A C or C++ file's syntax tree with positions: the calls and statements that fixes ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from kexec_lint.opencl.api import c as c_api
from kexec_lint.opencl.api import hpp
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.fixes.changes import Change, Rows
from kexec_lint.opencl.frontend.c import unwrapped
from kexec_lint.opencl.frontend.c_unit import Unit, language_of, named, parser, words
from kexec_lint.opencl.program import Span
from kexec_lint.source import Source

_IN_PASSING = frozenset(
    ("argument_list", "call_expression", "assignment_expression", "init_declarator", "parenthesized_expression")
)
"""What may stand around a call that is evaluated whenever its statement is."""


class NativeTree:
    """The syntax of one file; nodes are those of tree-sitter."""

    def __init__(self, source: Source) -> None:
        self.text = source.text
        self.rows = Rows(source.text)
        self.language = language_of(source.suffix, source.text)
        data = unwrapped(source.text).encode(errors="replace")
        self.unit = Unit(self.language, data)
        self.root = parser(self.language).parse(data).root_node

    # --- places -------------------------------------------------------------------------------------------

    def range(self, node: Any) -> tuple[int, int]:
        """Return the offsets of a node's first and past its last character."""
        span = self.unit.span(node)
        return self.rows.offset(*span[:2]), self.rows.offset(*span[2:])

    def source(self, node: Any) -> str:
        """Return a node's text as it stands in the file."""
        start, end = self.range(node)
        return self.text[start:end]

    @cached_property
    def _calls(self) -> dict[Span, Any]:
        return {self.unit.span(node): node for node in everything(self.root) if node.type == "call_expression"}

    def call_at(self, span: Span) -> Any:
        """Return the call of the API that spans these characters, or the only one within a macro that does."""
        call = self._calls.get(span)
        if call is None or self.model(call) is not None:
            return call
        inner = [node for node in everything(call) if node.type == "call_expression" and self.model(node) is not None]
        return inner[0] if len(inner) == 1 else None

    def node_at(self, span: Span) -> Any:
        """Return the smallest node that holds these characters."""
        start, end = self.rows.offset(*span[:2]), self.rows.offset(*span[2:])
        found, inner = None, self.root
        while inner is not None:
            found = inner
            inner = next(
                (c for c in found.named_children if self.range(c)[0] <= start and end <= self.range(c)[1]), None
            )
        return found

    # --- structure ----------------------------------------------------------------------------------------

    def statement(self, node: Any) -> Any:
        """Return the statement that holds a node and stands in a block, so that others can stand around it."""
        while node is not None and node.parent is not None:
            if node.parent.type == "compound_statement":
                return node
            ends = node.type.endswith("_statement") or node.type == "declaration"
            loops = node.parent.type in ("for_statement", "while_statement", "do_statement")
            if ends or loops or node.type in ("function_definition", "lambda_expression"):
                return None  # the only statement of a branch, or part of a loop that is evaluated again
            node = node.parent
        return None

    def precedes(self, earlier: Any, later: Any) -> bool:
        """Return whether whoever gets to `later` has come through the call `earlier`."""
        before, at = self.statement(earlier), later
        node = earlier.parent
        while before is not None and node is not None and node != before and node.parent != before:
            if node.type not in _IN_PASSING:
                return False
            node = node.parent
        while before is not None and at is not None:
            if at.parent == before.parent:
                return bool(before.end_byte <= at.start_byte)
            if at.type in ("function_definition", "lambda_expression"):
                break
            at = at.parent
        return False

    def function(self, node: Any) -> Any:
        """Return the function that a node stands in."""
        while node is not None and node.type not in ("function_definition", "lambda_expression"):
            node = node.parent
        return node

    # --- calls --------------------------------------------------------------------------------------------

    def called(self, call: Any) -> str:
        """Return the last name of what is called."""
        function = call.child_by_field_name("function")
        field = function.child_by_field_name("field") if function.type == "field_expression" else None
        return self.unit.text(field or function)

    def model(self, call: Any) -> CallModel | None:
        """Return what the API tables say of a call."""
        method = call.child_by_field_name("function").type == "field_expression"
        return (hpp.QUEUE if method else c_api.FUNCTIONS).get(self.called(call))

    def arguments(self, call: Any) -> list[Any]:
        """Return the arguments of a call."""
        return named(call.child_by_field_name("arguments"))

    def argument(self, call: Any, name: str) -> Any:
        """Return the argument of a parameter of the API, None if it is left to its default."""
        model = self.model(call)
        given = self.arguments(call)
        at = model.params.index(name) if model is not None and name in model.params else len(given)
        return given[at] if at < len(given) else None

    def is_method(self, call: Any) -> bool:
        """Return whether a call is one of C++'s wrapper, by a method."""
        return bool(call.child_by_field_name("function").type == "field_expression")

    def queue(self, call: Any) -> str | None:
        """Return the expression of the queue that a call is given, if it can be written again elsewhere."""
        if self.is_method(call):
            holder = call.child_by_field_name("function").child_by_field_name("argument")
        else:
            holder = self.argument(call, "queue")
        steady = holder is not None and all(
            node.type
            in (
                "identifier",
                "field_identifier",
                "field_expression",
                "this",
                "number_literal",
                "subscript_expression",
                "subscript_argument_list",
            )
            for node in everything(holder)
            if node.is_named
        )
        return self.source(holder) if steady else None

    # --- names and new lines ------------------------------------------------------------------------------

    @cached_property
    def names(self) -> frozenset[str]:
        """Every word of the file."""
        return frozenset(words(self.text))

    def before(self, statement: Any, text: str) -> Change:
        """Insert a statement above another one."""
        start = self.range(statement)[0]
        indent = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        return Change(start, start, f"{text} " if indent.strip() else f"{text}\n{indent}")

    def behind(self, statement: Any, text: str) -> Change:
        """Insert a statement below another one, and below the comment at its end."""
        start, end = self.range(statement)
        indent = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        row_end = self.text.find("\n", end)
        rest = self.text[end:row_end].strip() if row_end >= 0 else ""
        if indent.strip() or row_end < 0 or (rest and not rest.startswith("//")):
            return Change(end, end, f" {text}")
        return Change(row_end, row_end, f"\n{indent}{text}")


def everything(node: Any) -> Iterator[Any]:
    """Yield a node and all below it."""
    pending = [node]
    while pending:
        at = pending.pop()
        yield at
        pending.extend(at.children)


def comments_and_errors(source: Source) -> tuple[Counter[str], int]:
    """Return the comments of a file, and how many places of it the parser did not understand."""
    tree = NativeTree(source)
    nodes = list(everything(tree.root))
    comments = Counter(tree.unit.text(node) for node in nodes if node.type == "comment")
    return comments, sum(node.type == "ERROR" or node.is_missing for node in nodes)
