"""Where a call stands: the chain of activations of the user's program, outermost first."""

from __future__ import annotations

import inspect
import itertools
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, ClassVar

from kexec_lint.verify.recorder.stream import Writer

DEPTH = 40
Site = tuple[tuple[int, int], ...]
_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


RUNNERS = frozenset({"pytest", "_pytest", "pluggy"})
_STANDARD = os.path.dirname(os.__file__) + os.sep


def foreign(file: str) -> bool:
    """Return whether a file belongs to Python's library or to what runs tests: no finding has its place there."""
    _, found, below = file.replace("\\", "/").rpartition("/site-packages/")
    if found:
        return below.partition("/")[0].removesuffix(".py") in RUNNERS
    return file.startswith(_STANDARD)


class Activation:
    """Marks one activation of a function: frames cannot be told apart by their addresses, which are used again.

    It lives in the frame's `f_trace`, which nothing looks at while no trace function is set; should one be set
    later, calling it tells `watch` of lines and traces nothing. While an activation lasts its callers stand still
    (but not those of a generator), so their part of the chain is kept with it, and the last whole chain with the
    place it was for.
    """

    __slots__ = ("at", "chain", "number", "outer")
    _numbers = itertools.count(1)
    watch: ClassVar[Callable[[FrameType], None] | None] = None

    def __init__(self) -> None:
        self.number = next(self._numbers)
        self.outer: Site | None = None
        self.at = -1
        self.chain = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Tell of a line."""
        if event == "line" and Activation.watch is not None:
            Activation.watch(frame)


class Sites:
    """Takes call chains; every place is written to the stream once. `library` frames are PyOpenCL's own."""

    def __init__(self, writer: Writer, library: str, own: str) -> None:
        self._writer = writer
        self._library = library + os.sep
        self._own = own + os.sep
        self._places: dict[tuple[int, int], int] = {}
        self._spans: dict[tuple[int, ...], int] = {}
        self._numbers = itertools.count()
        self._chains = itertools.count(1)
        self._codes: dict[int, tuple[CodeType, int]] = {}
        self.tracer: Any = None
        """A trace function of our own, which leaves activations alone."""

    def take(self, depth: int = 2) -> tuple[int, str]:
        """Return the number of the caller's chain without PyOpenCL's own frames, and what of PyOpenCL it went through.

        It is 0 if none of the user's frames is on the stack.
        """
        try:
            frame: FrameType | None = sys._getframe(depth)
        except ValueError:  # called by the driver or by the garbage collector
            frame = None
        through = ""
        codes = self._codes
        while frame is not None:
            code = frame.f_code
            known = codes.get(id(code))
            if known is None:
                known = codes[id(code)] = code, self._kind(code)
            kind = known[1]
            if kind == 0:
                mark = frame.f_trace
                if type(mark) is Activation and mark.at == frame.f_lasti and mark.outer is not None:
                    return mark.chain, through
                return self._chain(frame), through
            if kind == 2:
                break
            if kind > 2:
                through = f"{os.path.basename(code.co_filename)}:{code.co_name}"
            frame = frame.f_back
        return 0, through

    def of_line(self, frame: FrameType, span: tuple[int, int, int, int]) -> tuple[int, int, int]:
        """Return the number of the chain that ends in a given place of a frame's code, the activation, the place."""
        outer = self._walk(frame.f_back)
        mark = frame.f_trace
        if type(mark) is not Activation and sys.gettrace() in (None, self.tracer):
            mark = frame.f_trace = Activation()
        code = frame.f_code
        key = (id(code), *span)
        number = self._spans.get(key)
        if number is None:
            self._codes.setdefault(key[0], (code, 0))
            row, column, end_row, end_column = span
            number = self._spans[key] = self._write(code, row, column, end_row, end_column)
        activation = mark.number if type(mark) is Activation else id(frame)
        return self._numbered((*outer, (activation, number))), activation, number

    def _numbered(self, site: Site) -> int:
        """Write a chain and return its number."""
        number = next(self._chains)
        self._writer.put(("Z", number, site))
        return number

    def running(self, activation: int, rows: tuple[int, int]) -> bool:
        """Return whether an activation is on this thread's stack and still within some rows."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            mark = frame.f_trace
            if (mark.number if type(mark) is Activation else id(frame)) == activation:
                return rows[0] <= frame.f_lineno <= rows[1]
            frame = frame.f_back
        return False

    def _chain(self, frame: FrameType) -> int:
        """Return the number of the chain that ends in a frame of the user's."""
        mark = frame.f_trace
        if type(mark) is not Activation:
            if sys.gettrace() not in (None, self.tracer):
                return self._numbered(self._walk(frame))
            mark = Activation()
            frame.f_trace = mark
        outer = mark.outer
        if outer is None:
            outer = self._walk(frame.f_back)
            if not frame.f_code.co_flags & _RESUMED:
                mark.outer = outer
        mark.chain = self._numbered((*outer, (mark.number, self._place(frame))))
        mark.at = frame.f_lasti
        return mark.chain

    def _walk(self, frame: FrameType | None) -> Site:
        chain: list[tuple[int, int]] = []
        traced = sys.gettrace() not in (None, self.tracer)
        while frame is not None and len(chain) < DEPTH:
            code = frame.f_code
            known = self._codes.get(id(code))
            if known is None:
                known = self._codes[id(code)] = code, self._kind(code)
            if known[1] == 2:
                break
            if known[1] == 0:
                mark = frame.f_trace
                if type(mark) is not Activation and not traced:
                    mark = Activation()
                    frame.f_trace = mark
                number = mark.number if type(mark) is Activation else id(frame)
                chain.append((number, self._place(frame)))
            frame = frame.f_back
        return tuple(reversed(chain))

    def _kind(self, code: CodeType) -> int:
        """0: the user's, 1: plumbing, 2: where we start the program, 3: PyOpenCL's Arrays and such."""
        file = code.co_filename
        if file.startswith(self._own):
            return 2 if code.co_name == "_execute" else 1
        if file.startswith(self._library):
            return 1 if os.path.basename(file) in ("__init__.py", "_monkeypatch.py", "invoker.py") else 3
        if (file.startswith("<") and "pyopencl" in file) or file.startswith("<frozen"):
            return 1
        return 1 if foreign(file) else 0

    def _place(self, frame: FrameType) -> int:
        code = frame.f_code
        key = (id(code), frame.f_lasti)
        known = self._places.get(key)
        if known is not None:
            return known
        self._codes.setdefault(key[0], (code, 0))  # keeps the code alive, and its address its own
        row, end_row, column, end_column = frame.f_lineno, frame.f_lineno, -1, -1
        if hasattr(code, "co_positions"):
            found = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None), None)
            if found is not None and None not in found:
                row, end_row, column, end_column = found
        number = self._places[key] = self._write(code, row, column, end_row, end_column)
        return number

    def _write(self, code: CodeType, row: int, column: int, end_row: int, end_column: int) -> int:
        file = code.co_filename
        path = file if file.startswith("<") else os.path.abspath(file)
        number = next(self._numbers)
        self._writer.put(("L", number, path, code.co_name, row, column, end_row, end_column))
        return number
