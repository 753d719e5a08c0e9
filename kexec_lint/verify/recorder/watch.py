"""Watches what the host does to arrays while commands use them: line by line, and only while any are in flight.

Python 3.12 and later tell of lines through `sys.monitoring`, older ones through `sys.settrace` of the thread that
enqueued the transfer, if no other tool traces there. Each line that may touch an array (`uses`) is looked at when
it begins: which array do its variables mean now, and does a command use those bytes? No code of the program runs
for that. Whether the access is early is judged afterwards, from the order of everything that was recorded.
"""

from __future__ import annotations

import ctypes
import numbers
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import CodeType, FrameType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple

from kexec_lint.opencl.api import host as host_api
from kexec_lint.verify.recorder import uses
from kexec_lint.verify.recorder.objects import MARK
from kexec_lint.verify.recorder.sites import Activation, Sites, foreign

_NONE: frozenset[int] = frozenset()
WORK = 2000
"""Steps that deciding whether two strided arrays share bytes may take; beyond, it counts as not sharing."""

OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep
LIBRARIES = tuple(f"site-packages{os.sep}{name}{os.sep}" for name in ("numpy", "scipy", "pyopencl", "pytools"))
"""Packages in whose own code no access is looked for: their callers' lines tell of it."""


class Unknown(Exception):
    """Only running the program's code could tell."""


class Flight(NamedTuple):
    """Host memory that a command uses: number of the memory, addresses, a weak reference to the array."""

    memory: int
    start: int
    low: int
    high: int
    array: Any


class Seen(NamedTuple):
    """An access at a line: to bytes of `memory` that `command` uses, or to the `mapping` (its map command)."""

    command: int
    memory: int
    low: int
    high: int
    reads: bool
    writes: bool
    mapping: int
    what: str
    span: tuple[int, int, int, int]


Report = Callable[[FrameType, Seen], None]


class Watch:
    """What is in flight, and the tracer that looks at lines meanwhile."""

    def __init__(self, np: Any, sites: Sites, report: Report, note: Callable[[str], None]) -> None:
        self._np, self._sites, self._report, self._note = np, sites, report, note
        self.flights: dict[int, list[Flight]] = {}
        """By command; empty for a map, whose array does not exist before."""
        self._queues: dict[int, int] = {}
        self.maps: set[int] = set()
        """Map commands whose arrays live although they were unmapped."""
        self._covers: dict[int, set[int]] = {}
        self._lanes: dict[int, set[int]] = {}
        self._files: dict[str, uses.Rows] = {}
        self._codes: dict[CodeType, dict[int, tuple[uses.Use, ...]] | None] = {}
        self._monitor = getattr(sys, "monitoring", None)
        self._monitoring = False
        self._bounds: Any = getattr(getattr(np.lib, "array_utils", np), "byte_bounds", None)
        if self._monitor is None:
            sites.tracer = self._trace
            Activation.watch = self._line

    # --- what is in flight --------------------------------------------------------------------------------------

    def began(self, command: int, queue: int, touched: list[tuple[int, int, int, int, Any]]) -> None:
        """Note that a command uses host memory: (memory, start address, low, high, array)."""
        flights = []
        for memory, start, low, high, array in touched:
            reference = None
            with suppress(TypeError):
                reference = weakref.ref(array)
            flights.append(Flight(memory, start, low, high, reference))
        self.flights[command] = flights
        self._queues[command] = queue
        self._on()

    def ordered(self, command: int, queue: int, in_order: bool, waits: tuple[int, ...], gathers: bool) -> None:
        """Note what a command comes after, so that a wait for it ends those flights too.

        `gathers`: it is a marker or barrier without a wait list. Only what is in flight is kept.
        """
        before = {wait for wait in waits if wait in self.flights}
        for wait in waits:
            before |= self._covers.get(wait, _NONE)
        if in_order or gathers:
            before |= self._lanes.get(queue, _NONE)
        if gathers:
            before |= {number for number in self.flights if self._queues[number] == queue}
        if before:
            self._covers[command] = before
        if in_order or gathers:
            self._lanes[queue] = before | ({command} if command in self.flights else _NONE)

    def complete(self, commands: Iterable[int]) -> None:
        """Note that the host waited for commands."""
        for command in commands:
            for one in (command, *self._covers.get(command, ())):
                if self.flights.pop(one, None) is not None:
                    del self._queues[one]
        if not self.flights:
            self._covers.clear()
            self._lanes.clear()
            self._settle()

    def finished(self, queue: int) -> None:
        """Note that the host waited for a queue."""
        done = [number for number, where in self._queues.items() if where == queue]
        self.complete([*done, *self._lanes.pop(queue, _NONE)])

    def unmapped(self, command: int) -> None:
        """Note that a mapping has ended while its array lives."""
        self.maps.add(command)
        self._on()

    def dead(self, command: int) -> None:
        """Note that the array of a mapping is gone."""
        self.maps.discard(command)
        self._settle()

    # --- the tracer ---------------------------------------------------------------------------------------------

    def _on(self) -> None:
        if self._monitor is not None:
            if not self._monitoring:
                self._monitoring = True
                self._start_monitoring()
            return
        current = sys.gettrace()
        if current is None:
            frame: FrameType | None = sys._getframe(1)
            while frame is not None:
                if self._rows(frame.f_code) and type(frame.f_trace) is not Activation:
                    frame.f_trace = Activation()
                frame = frame.f_back
            sys.settrace(self._trace)
        elif current != self._trace:
            self._note("host accesses were not watched: another tool traces the program (needs Python 3.12 then)")

    def _settle(self) -> None:
        """Stop tracing when nothing is in flight."""
        if self._monitor is None and not self.flights and not self.maps and sys.gettrace() == self._trace:
            sys.settrace(None)

    def stop(self) -> None:
        """Look at nothing any more."""
        self.flights.clear()
        self.maps.clear()
        if self._monitor is not None and self._monitoring:
            self._monitor.set_events(self._tool, 0)
        else:
            self._settle()

    def _start_monitoring(self) -> None:
        monitor: Any = self._monitor
        free = [tool for tool in (4, 3, 5) if monitor.get_tool(tool) is None]
        if not free:
            self._note("host accesses were not watched: no free slot of sys.monitoring")
            return
        self._tool = free[0]
        monitor.use_tool_id(self._tool, "kexec-lint")
        monitor.register_callback(self._tool, monitor.events.LINE, self._monitored)
        monitor.set_events(self._tool, monitor.events.LINE)

    def _monitored(self, code: CodeType, row: int) -> Any:
        rows = self._codes.get(code, False)
        if rows is False:
            rows = self._rows(code)
        if not rows or row not in rows:  # type: ignore[operator]
            return self._monitor.DISABLE  # type: ignore[union-attr]
        if self.flights or self.maps:
            self._look(sys._getframe(1), rows[row])  # type: ignore[index]
        return None

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Give a new activation of code with interesting lines a tracer (`sys.settrace`)."""
        return Activation() if event == "call" and self._rows(frame.f_code) else None

    def _line(self, frame: FrameType) -> None:
        rows = self._rows(frame.f_code)
        if rows and (self.flights or self.maps):
            found = rows.get(frame.f_lineno)
            if found:
                self._look(frame, found)

    def _rows(self, code: CodeType) -> dict[int, tuple[uses.Use, ...]] | None:
        """Return the places of a code object by row."""
        if code in self._codes:
            return self._codes[code]
        found: dict[int, tuple[uses.Use, ...]] | None = None
        file = code.co_filename
        if not file.startswith(("<", OWN)) and not foreign(file) and not any(part in file for part in LIBRARIES):
            if file not in self._files:
                self._files[file] = uses.of_file(file)
            rows = self._files[file]
            if rows:
                first, last = code.co_firstlineno, max((line or 0 for _, _, line in code.co_lines()), default=0)
                found = {
                    row: places
                    for (row, scope), places in rows.items()
                    if scope == code.co_name and (first <= row <= last or scope == "<module>")
                } or None
        self._codes[code] = found
        return found

    # --- a line -------------------------------------------------------------------------------------------------

    def _look(self, frame: FrameType, places: tuple[uses.Use, ...]) -> None:
        """Report what the places of a line touch."""
        variables = _Variables(frame)
        for place in places:
            # Whatever a strange object does when it is looked at: the program must not notice.
            with suppress(Exception):
                for seen in self._touched(variables, place):
                    self._report(frame, seen)

    def _touched(self, variables: _Variables, use: uses.Use) -> Iterator[Seen]:
        try:
            array = variables.value(use.array)
        except Unknown:
            return
        np = self._np
        if not isinstance(array, np.ndarray):
            return
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        known = getattr(owner.base, MARK, None) if owner.base is not None else None
        mapping = known[0] if type(known) is tuple and len(known) == 4 else 0
        if not self.flights and mapping not in self.maps:
            return
        does = self._does(variables, use, array)
        if does is None:
            return
        reads, writes, what, part = does
        if mapping:
            if mapping in self.maps or mapping in self.flights:
                yield Seen(mapping, 0, 0, 0, reads, writes, mapping, what, use.span)
            return
        low, high = self._bounds(part)
        for command, flights in list(self.flights.items()):
            for flight in flights:
                if low < flight.high and flight.low < high and self._shares(part, flight):
                    first, last = low - flight.start, high - flight.start
                    yield Seen(command, flight.memory, first, last, reads, writes, 0, what, use.span)

    def _shares(self, part: Any, flight: Flight) -> bool:
        if part.flags.forc:
            return True
        other = flight.array() if flight.array is not None else None
        if not isinstance(other, self._np.ndarray):
            return False
        try:
            return bool(self._np.shares_memory(part, other, max_work=WORK))
        except Exception:  # numpy's TooHardError has no stable home
            return False

    def _does(self, variables: _Variables, use: uses.Use, array: Any) -> tuple[bool, bool, str, Any] | None:
        """Return (reads, writes, what, the part of the array that is meant), None if elements are not touched."""
        match use.kind:
            case "operand":
                return True, False, "an operand", array
            case "augment":
                part = array if use.index is None else self._part(variables, array, use.index)
                return None if part is None else (True, True, "an assignment in place", part)
            case "element":
                part = self._part(variables, array, use.index)
                if part is None or self._is_view(variables, array, use.index):
                    return None
                return True, False, "an element", part
            case "store":
                part = self._part(variables, array, use.index)
                return None if part is None else (False, True, "an assignment to elements", part)
            case "method":
                writes = use.name in host_api.WRITERS
                return not writes, writes, f"{use.name}()", array
            case "argument":
                return self._passed(variables, use, array)
        return None

    def _passed(self, variables: _Variables, use: uses.Use, array: Any) -> tuple[bool, bool, str, Any] | None:
        """Judge an argument by the function that gets it."""
        assert use.callee is not None
        dotted = variables.dotted(use.callee)
        if dotted is None:
            return None
        if use.name == "out":
            return False, True, "an output argument", array
        if dotted in host_api.WRITE_FIRST and use.position == 0:
            return "shuffle" in dotted, True, dotted, array
        quiet = dotted in host_api.QUIET_FUNCTIONS or dotted in host_api.VIEW_FUNCTIONS
        if quiet or dotted.partition(".")[0] not in host_api.READING_PACKAGES:
            return None
        return True, False, dotted, array

    def _part(self, variables: _Variables, array: Any, index: uses.Path | None) -> Any:
        """Return the view that an index means; the array if it all is in flight; None if that is not known."""
        try:
            key = variables.value(index) if index is not None else Ellipsis
        except Unknown:
            return self._all(array)
        keys = key if isinstance(key, tuple) else (key,)
        if not all(_basic(k) for k in keys):
            return self._all(array)
        wide = tuple(slice(int(k), int(k) + 1 or None) if _whole_number(k) else k for k in keys)
        return array[wide]

    def _all(self, array: Any) -> Any:
        """Return the array if every byte of it is in flight, so that it does not matter which are meant."""
        low, high = self._bounds(array)
        for flights in self.flights.values():
            if any(flight.low <= low and high <= flight.high for flight in flights):
                return array
        return None

    def _is_view(self, variables: _Variables, array: Any, index: uses.Path | None) -> bool:
        """Return whether `array[index]` is another array over the same memory."""
        try:
            key = variables.value(index) if index is not None else Ellipsis
        except Unknown:
            return False
        keys = key if isinstance(key, tuple) else (key,)
        if not all(_basic(k) for k in keys):
            return False
        return sum(map(_whole_number, keys)) < int(array.ndim)


def _whole_number(key: Any) -> bool:
    return isinstance(key, numbers.Integral) and not isinstance(key, bool)


def _basic(key: Any) -> bool:
    return key is None or key is Ellipsis or isinstance(key, slice) or _whole_number(key)


class _Variables:
    """The variables of a frame, read without changing how long anything lives."""

    def __init__(self, frame: FrameType) -> None:
        self._frame = frame

    def value(self, path: uses.Path) -> Any:
        """Return what a path leads to. Raises Unknown."""
        match path[0]:
            case "const":
                return path[1]
            case "name":
                return self._name(path[1])
            case "attr":
                return _attribute(self.value(path[1]), path[2])
            case "slice":
                return slice(*(self.value(part) for part in path[1:]))
            case "tuple":
                return tuple(self.value(part) for part in path[1:])
            case "item":
                return self._item(self.value(path[1]), self.value(path[2]))
        raise Unknown

    def _item(self, base: Any, key: Any) -> Any:
        if type(base) in (list, tuple, dict):
            if type(key) not in (int, str, slice) and not (type(base) is dict and type(key) is tuple):
                raise Unknown
            try:
                return base[key]
            except (LookupError, TypeError):
                raise Unknown from None
        if type(base).__module__ == "numpy" and hasattr(base, "__array_interface__"):
            keys = key if isinstance(key, tuple) else (key,)
            if all(_basic(k) for k in keys):
                try:
                    return base[key]
                except (LookupError, TypeError, ValueError):
                    raise Unknown from None
        raise Unknown

    def _name(self, name: str) -> Any:
        frame = self._frame
        if frame.f_code.co_flags & 1:  # CO_OPTIMIZED: its variables are not in a dictionary
            found = _local(frame, name)
            if found is not _MISSING:
                return found
        elif name in frame.f_locals:
            return frame.f_locals[name]
        if name in frame.f_globals:
            return frame.f_globals[name]
        try:
            return frame.f_builtins[name]
        except KeyError:
            raise Unknown from None

    def dotted(self, path: uses.Path) -> str | None:
        """Return the full name of the function that a path means, if its module tells."""
        names: list[str] = []
        while path[0] == "attr":
            names.append(path[2])
            path = path[1]
        try:
            root = self.value(path)
        except Unknown:
            return None
        if isinstance(root, ModuleType):
            return ".".join([root.__name__, *reversed(names)])
        if names:
            return None
        module, name = getattr(root, "__module__", None), getattr(root, "__name__", None)
        if type(root).__name__ == "ufunc":
            module = "numpy"
        return f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else None


_MISSING = object()
_get_variable: Any = None
if sys.version_info >= (3, 12) and sys.implementation.name == "cpython":
    _get_variable = ctypes.pythonapi.PyFrame_GetVarString
    _get_variable.argtypes = [ctypes.py_object, ctypes.c_char_p]
    _get_variable.restype = ctypes.py_object


def _local(frame: FrameType, name: str) -> Any:
    """Return a variable of a function; reading `f_locals` would keep old values alive until 3.13."""
    if _get_variable is not None:
        try:
            return _get_variable(frame, name.encode())
        except NameError:
            return _MISSING
    return frame.f_locals.get(name, _MISSING)


def _attribute(owner: Any, name: str) -> Any:
    """Return an attribute that is stored, not computed. Raises Unknown."""
    if isinstance(owner, ModuleType):
        if name in vars(owner):
            return vars(owner)[name]
        raise Unknown
    if type(owner).__module__ == "numpy" and hasattr(owner, "__array_interface__"):
        if name in ("T", "real", "imag"):
            return getattr(owner, name)
        raise Unknown
    try:
        stored = object.__getattribute__(owner, "__dict__")
        if name in stored:
            return stored[name]
    except AttributeError:
        pass
    for kind in type(owner).__mro__:
        if name in kind.__dict__:
            found = kind.__dict__[name]
            if isinstance(found, MemberDescriptorType):
                try:
                    return found.__get__(owner)
                except AttributeError:
                    raise Unknown from None
            if hasattr(type(found), "__get__"):
                raise Unknown
            return found
    raise Unknown
