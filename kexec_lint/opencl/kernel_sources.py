"""Findings in OpenCL C itself: in `.cl` files, and in kernel strings at their place in the Python literal."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kexec_lint import rulebook
from kexec_lint.findings import Finding, Location, Related, Severity
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.kernel_barriers import KernelIssue, kernel_issues
from kexec_lint.opencl.frontend import SyntaxProblem
from kexec_lint.opencl.frontend.literals import locate
from kexec_lint.opencl.frontend.notebook import plain
from kexec_lint.opencl.frontend.parsing import parse
from kexec_lint.opencl.frontend.positions import spans_of
from kexec_lint.opencl.program import Span
from kexec_lint.source import Options, Source

CODES = frozenset({"OCL401", "OCL402"})
_WORTH = re.compile(r"kernel(?:(?<!\wkernel)|(?<=\b__kernel))\b")  # \b(__)?kernel\b, with a literal to search for
_POLLS = re.compile(r"while\s*\(|for\s*\(\s*;\s*;|break\s*;")
_HOLES = re.compile(r"%\((\w+)\)[sdrif]|\$\{(\w+)\}|\{\{ ?(\w+) ?\}\}")


@dataclass(frozen=True)
class Text:
    """An OpenCL C text and how its offsets lead to the file. `written` is the constant as the file has it."""

    text: str
    written: str
    span: Span | None
    locate: Callable[[int], tuple[int, int]] | None = None
    """Where an offset stands, if it is not found by the span."""


def of_file(source: Source, options: Options) -> Iterator[Finding]:
    """Yield the findings of a file of OpenCL C."""
    if CODES & options.codes:
        yield from _findings(Text(source.text, source.text, None), source, options, frozenset())


def of_strings(source: Source, graphs: Iterable[g.EnqueueGraph], options: Options) -> Iterator[Finding]:
    """Yield the findings in the kernel strings of a Python file.

    A kernel that the file launches, each time with exactly one work-group, needs no order between groups.
    """
    if not CODES & options.codes or not _may_matter(source.text):
        return
    try:
        text, tree = parse(source.text if source.cells is None else plain(source)[0])
    except SyntaxProblem:
        return
    single = _single_group_kernels(graphs)
    done: set[str] = set()
    for kernels in _strings(text, tree):
        if kernels.text not in done and kernel_issues(kernels.text):
            done.add(kernels.text)
            yield from _findings(kernels, source, options, single)


def of_native(source: Source, graphs: Iterable[g.EnqueueGraph], options: Options) -> Iterator[Finding]:
    """Yield the findings in the kernel strings of a C or C++ file."""
    if not CODES & options.codes or not _may_matter(source.text):
        return
    from kexec_lint.opencl.frontend.c_strings import kernel_strings

    single = _single_group_kernels(graphs)
    for found in kernel_strings(source):
        if kernel_issues(found.value):
            yield from _findings(Text(found.value, found.value, None, found.locate), source, options, single)


def _may_matter(text: str) -> bool:
    """Return whether a file may hold a kernel with a barrier, a fence or a polling loop in a string."""
    return "kernel" in text and ("barrier" in text or "mem_fence" in text or _POLLS.search(text) is not None)


def _strings(text: str, tree: ast.Module) -> Iterator[Text]:
    """Yield the string constants that hold kernels, f-strings with names in the place of their holes."""
    span_of = spans_of(text)
    for node in _literals(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [
                part.value if isinstance(part, ast.Constant) else f"hole_{i}" for i, part in enumerate(node.values)
            ]
            value = "".join(str(part) for part in parts)
        else:
            value = str(node.value)
        if "{" in value and _WORTH.search(value):
            named = _HOLES.sub(lambda hole: (hole[1] or hole[2] or hole[3]).ljust(len(hole[0]), "_"), value)
            yield Text(named, value, span_of(node))


def _literals(tree: ast.Module) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Yield constants and f-strings in source order, not what is inside f-strings."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            yield node
            continue
        inside: list[ast.AST] = []
        for child in vars(node).values():  # ast.walk() takes twice as long
            if isinstance(child, ast.AST):
                inside.append(child)
            elif child.__class__ is list:
                inside += [part for part in child if isinstance(part, ast.AST)]
        inside.reverse()
        pending += inside


def _single_group_kernels(graphs: Iterable[g.EnqueueGraph]) -> frozenset[str]:
    """Return the names of kernels of which every launch that is seen has one work-group."""
    launched: dict[str, bool] = {}
    for graph in graphs:
        for command in graph.commands:
            if command.kind == "kernel" and command.launch is not None and command.what:
                launched[command.what] = launched.get(command.what, True) and one_group(command.launch)
    return frozenset(name for name, single in launched.items() if single)


def one_group(launch: g.Launch) -> bool:
    """Return whether a launch has exactly one work-group: the local size is the global size."""
    known = launch.global_size is not None and None not in launch.global_size
    return launch.one_group or (launch.local_given and known and launch.global_size == launch.local_size)


def _findings(kernels: Text, source: Source, options: Options, single: frozenset[str]) -> Iterator[Finding]:
    starts = [0, *(match.end() for match in re.finditer("\n", kernels.written))]

    def location(span: tuple[int, int]) -> Location:
        (row, column), (end_row, end_column) = (_position(kernels, source, starts, offset) for offset in span)
        if source.cells is not None:
            cell, row = source.cells[row - 1]
            end_cell, end_row = source.cells[end_row - 1]
            return Location(source.path, row, column, end_row if end_cell == cell else row, end_column, cell)
        return Location(source.path, row, column, end_row, end_column)

    for issue in kernel_issues(kernels.text):
        if issue.code not in options.codes or (issue.many_groups and issue.kernel in single):
            continue
        yield _finding(issue, location(issue.span), tuple(Related(words, location(at)) for words, at in issue.related))


def _position(kernels: Text, source: Source, starts: list[int], offset: int) -> tuple[int, int]:
    """Return row and column in the file of an offset in the text."""
    if kernels.locate is not None:
        return kernels.locate(offset)
    if kernels.span is not None:
        return locate(source.text, kernels.span, kernels.written, offset)
    row = bisect_right(starts, offset)
    return row, offset - starts[row - 1] + 1


def _finding(issue: KernelIssue, location: Location, related: tuple[Related, ...]) -> Finding:
    rule = rulebook.load().get(issue.code)
    return Finding(
        issue.code,
        rule.name if rule is not None else issue.code,
        rule.severity if rule is not None else Severity.WARNING,
        issue.confidence,
        issue.message,
        location,
        help=issue.help,
        related=related,
        extra=(("kernel", issue.kernel),),
    )


__all__ = ["of_file", "of_strings", "one_group"]
