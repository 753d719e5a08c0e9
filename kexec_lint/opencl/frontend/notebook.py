"""IPython's syntax in the code cells of a notebook, replaced by plain Python that keeps every row and column.

What a magic runs stays (`%time x = f()`), what only the shell understands becomes `0`, a cell in another language
is blanked. A `%%cl_kernel` cell (`pyopencl.ipython_ext`) defines its kernels as names of the notebook, as here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from kexec_lint.opencl.frontend import SyntaxProblem
from kexec_lint.opencl.frontend.parsing import parse
from kexec_lint.opencl.program import Arg, Assign, Attr, Call, Const, Import, Name, Span, Statement
from kexec_lint.source import Source

# Magics that run the Python code behind their options, as a line and as a cell (IPython, memory_profiler).
_RUNS_LINE = frozenset({"time", "timeit", "prun", "memit"})
_RUNS_CELL = _RUNS_LINE | {"capture", "python", "python3", "px"}

_CELL_MAGIC = re.compile(r"%%\s*(\w+)(.*)")
_LINE_MAGIC = re.compile(r"(?P<indent>\s*)(?P<mark>%\s?(?P<name>\w+)|!)(?P<options>(?:\s+-\w+(?:\s*\d+)?)*)\s*")
_ASSIGNED_MAGIC = re.compile(r"(?P<target>(?:[^=#\"']|\"[^\"]*\"|'[^']*')+=\s*)(?=[%!])")
_COMPOUND = re.compile(r"(?:async|class|def|for|if|match|try|while|with)\b")
_HELP = re.compile(r"\s*(\?{1,2}\s*[\w.*]+|%{0,2}[\w.*]+\s*\?{1,2})\s*(#.*)?$")
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|'
    r"'''(?:\\.|[^\\])*?'''|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'(?:\\.|[^'\\\n])*'|"
    r"#[^\n]*|(?P<open>[(\[{])|(?P<close>[)\]}])|\\\n|(?P<end>\n)|.",
    re.DOTALL,
)
_KERNEL = re.compile(r"\b(?:__)?kernel\b[^;{}()]*?(?:__attribute__\s*\(\(.*?\)\)[^;{}()]*?)?\b(\w+)\s*\(", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def plain(source: Source) -> tuple[str, tuple[Statement, ...], tuple[str, ...]]:
    """Return the text of a notebook as plain Python with the same rows, what its kernel cells define, and notes.

    A cell that is no valid Python is left out, and a note says so: many are half-written, or meant for a shell.
    """
    rows = _rows(source)
    text: list[str] = []
    defined: list[Statement] = []
    notes: list[str] = []
    context = "cl_ctx" if re.search(r"\bcl_ctx\b", source.text) else "ctx"
    for start, end in _cells(source.cells or ()):
        cell = rows[start:end]
        magic = _CELL_MAGIC.match(cell[0])
        if magic is None:
            text.append(_lines(cell))
        elif magic[1] in _RUNS_CELL:
            text.append("\n".join(["0", _lines(cell[1:])]) if len(cell) > 1 else "0")
        else:
            text.append("\n" * (len(cell) - 1))
            if magic[1] == "cl_kernel":
                defined += _kernels(start + 1, magic[2], cell[1:], context)
        try:
            parse(text[-1])
        except SyntaxProblem as problem:
            text[-1] = "\n" * (len(cell) - 1)
            number = source.cells[start][0] if source.cells else 0
            notes.append(f"cell {number}, line {problem.row}: left out, {problem.message}")
    return "\n".join(text), tuple(defined), tuple(notes)


def written(source: Source) -> str:
    """Return the text of a notebook's code cells as its author wrote it, with the rows of `source.text`."""
    return "\n".join(_rows(source))


def _rows(source: Source) -> list[str]:
    """Return the rows of the code cells as they stand in the notebook, magics included."""
    try:
        cells = [cell["source"] for cell in json.loads(source.data)["cells"]]
        written = [(cell if isinstance(cell, str) else "".join(cell)).split("\n") for cell in cells]
        return [written[number - 1][row - 1] for number, row in source.cells or ()]
    except (ValueError, LookupError, TypeError):
        return source.text.split("\n")  # no notebook of format 4 stands behind it


def _cells(cells: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the first row, counted from 0, of each cell and the row after its last."""
    starts = [row for row, (cell, _) in enumerate(cells) if row == 0 or cell != cells[row - 1][0]]
    yield from zip(starts, [*starts[1:], len(cells)], strict=False)


def _lines(cell: list[str]) -> str:
    """Replace the line magics of a cell: only a logical line can be one, not a row within a string or brackets."""
    text = "\n".join(cell)
    result: list[str] = []
    place = 0
    while place < len(text):
        end = text.find("\n", place)
        line = text[place:] if end < 0 else text[place:end]
        replaced = _replace(line)
        if replaced is None:
            end = _logical_end(text, place)
            result.append(text[place:end])
            place = end
            continue
        result.append(replaced)
        place += len(line)
        while line.endswith("\\") and place < len(text):  # a shell command goes on behind its backslash
            line = text[place + 1 :].partition("\n")[0]
            result.append("\n")
            place += 1 + len(line)
        result.append(text[place : place + 1])
        place += 1
    return "".join(result)


def _replace(line: str) -> str | None:
    """Return a line of plain Python for a line of IPython, None if the line is none."""
    if _HELP.match(line):
        return _padded("0", line)
    assigned = _ASSIGNED_MAGIC.match(line)
    before = assigned["target"] if assigned else ""
    magic = _LINE_MAGIC.match(line, len(before))
    if magic is None:
        return None
    code = line[magic.end() :]
    if magic["name"] in _RUNS_LINE and code and not _COMPOUND.match(code):  # cannot follow `0;`
        if before:
            return before + " " * (magic.end() - len(before)) + code
        return f"{magic['indent']}0;".ljust(magic.end()) + code
    return f"{before}_" if before else f"{magic['indent']}0"


def _padded(replacement: str, line: str) -> str:
    return line[: len(line) - len(line.lstrip())] + replacement


def _logical_end(text: str, place: int) -> int:
    """Return where the logical line ends that starts at `place`."""
    depth = 0
    for token in _TOKEN.finditer(text, place):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(0, depth - 1)
        elif token["end"] and not depth:
            return token.end()
    return len(text)


def _kernels(row: int, options: str, cell: list[str], context: str) -> Iterator[Statement]:
    """Yield what `%%cl_kernel` on `row` does: build the cell as a program and bind each kernel's name."""
    span = Span(row, 1, row, len("%%cl_kernel") + 1)
    text = "\n".join(cell)
    source = Const(Span(row + 1, 1, row + len(cell), len(cell[-1]) + 1) if cell else span, text)
    made = Call(span, Attr(span, Name(span, "pyopencl"), "Program"), (Arg(Name(span, context)), Arg(source)))
    build_options = re.search(r"-o\s+(\"[^\"]*\"|'[^']*'|\S+)", options)
    given = (Arg(Const(span, build_options[1].strip("\"'")), "options"),) if build_options else ()
    program = Name(span, f"cl_kernel {row}")  # no name of the notebook's
    yield Import(span, "pyopencl", (("", None),))
    yield Assign(span, (program,), Call(span, Attr(span, made, "build"), given))
    for kernel in _KERNEL.finditer(_COMMENT.sub(_blank, text)):
        before = text[: kernel.start(1)].split("\n")
        place_row, column = row + len(before), len(before[-1]) + 1
        place = Span(place_row, column, place_row, column + len(kernel[1]))
        yield Assign(place, (Name(place, kernel[1]),), Attr(place, program, kernel[1]))


def _blank(comment: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", comment[0])
