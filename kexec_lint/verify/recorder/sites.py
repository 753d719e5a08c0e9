"""Where a call stands: the chain of activations of the user's program, outermost first."""

from __future__ import annotations

import itertools
import os
import sys
from types import CodeType, FrameType
from typing import Any

from kexec_lint.verify.recorder.stream import Writer

DEPTH = 40
Site = tuple[tuple[int, int], ...]


class _Activation:
    """Marks one activation of a function: frames cannot be told apart by their addresses, which are used again.

    It lives in the frame's `f_trace`, which nothing looks at while no trace function is set; should one be set
    later, calling it traces nothing.
    """

    __slots__ = ("number",)
    _numbers = itertools.count(1)

    def __init__(self) -> None:
        self.number = next(self._numbers)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        return None


class Sites:
    """Takes call chains; every place is written to the stream once. `library` frames are PyOpenCL's own."""

    def __init__(self, writer: Writer, library: str, own: str) -> None:
        self._writer = writer
        self._library = library + os.sep
        self._own = own + os.sep
        self._places: dict[tuple[int, int], int] = {}
        self._codes: dict[int, tuple[CodeType, int]] = {}

    def take(self, depth: int = 2) -> tuple[Site, str]:
        """Return the caller's chain without PyOpenCL's own frames, and what of PyOpenCL it went through."""
        frame: FrameType | None = sys._getframe(depth)
        chain: list[tuple[int, int]] = []
        through = ""
        traced = sys.gettrace() is not None
        codes = self._codes
        while frame is not None and len(chain) < DEPTH:
            code = frame.f_code
            known = codes.get(id(code))
            if known is None:
                known = codes[id(code)] = code, self._kind(code)
            kind = known[1]
            if kind == 0:
                if not traced:
                    mark = frame.f_trace
                    if type(mark) is _Activation:
                        number = mark.number
                    else:
                        made = _Activation()
                        frame.f_trace = made
                        number = made.number
                else:
                    number = id(frame)
                key = (id(code), frame.f_lasti)
                place = self._places.get(key)
                if place is None:
                    place = self._place(code, frame, key)
                chain.append((number, place))
            elif kind == 2:
                break
            elif not chain and kind > 2:
                through = f"{os.path.basename(code.co_filename)}:{code.co_name}"
            frame = frame.f_back
        chain.reverse()
        return tuple(chain), through

    def _kind(self, code: CodeType) -> int:
        """0: the user's, 1: PyOpenCL's plumbing, 2: where we start the program, 3: PyOpenCL's Arrays and such."""
        file = code.co_filename
        if file.startswith(self._own):
            return 2 if code.co_name == "_execute" else 1
        if file.startswith(self._library):
            return 1 if os.path.basename(file) in ("__init__.py", "_monkeypatch.py", "invoker.py") else 3
        return 1 if (file.startswith("<") and "pyopencl" in file) or file.startswith("<frozen") else 0

    def _place(self, code: CodeType, frame: FrameType, key: tuple[int, int]) -> int:
        number = len(self._places)
        row, end_row, column, end_column = frame.f_lineno, frame.f_lineno, -1, -1
        if hasattr(code, "co_positions"):
            found = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None), None)
            if found is not None and None not in found:
                row, end_row, column, end_column = found
        file = code.co_filename
        path = file if file.startswith("<") else os.path.abspath(file)
        self._places[key] = number
        self._writer.put(("L", number, path, code.co_name, row, column, end_row, end_column))
        return number
