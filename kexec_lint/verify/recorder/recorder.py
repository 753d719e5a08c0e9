"""The recorder in the program's process: notes calls, and changes them where an experiment asks for it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kexec_lint.verify.recorder.gates import Gate, Gates
from kexec_lint.verify.recorder.objects import Objects
from kexec_lint.verify.recorder.sites import Sites
from kexec_lint.verify.recorder.stream import MOST, Writer
from kexec_lint.verify.recorder.watch import Seen, Watch

KEPT = 256 * 1024 * 1024
"""Bytes of memory objects and downloads that an experiment keeps for comparison."""


LAST = 10.0
"""Seconds that commands may still take when the program has ended."""

_clock, _ident = time.perf_counter_ns, threading.get_ident


class Call(NamedTuple):
    """An intercepted call; `wait_at` and `block_at` are the positions of `wait_for` and `is_blocking`."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    wait_at: int | None
    block_at: int | None


Ordinal = tuple[str, int]
"""A command's thread, named by who started it ("0" the main one, "0.2" its second, "?" unknown), and its number there:
the same in every run of a program that decides nothing by time."""


@dataclass(frozen=True)
class Experiment:
    """What a run changes. `gates` are (ordinal of the earlier command, ordinal of the later one)."""

    out_of_order: bool = False
    serialize: bool = False
    profile: bool = False
    contents: str | None = None
    gates: tuple[tuple[Ordinal, Ordinal], ...] = ()
    deadline: float = 1.0


class Launched:
    """What is known of a kernel object: the memory objects among its arguments, its name and source.

    `shared`: the host reaches some of them without a command. `head`: the number of the record of a launch on `queue`
    of `shape` out of `through`, 0 if its operands have changed since.
    """

    __slots__ = ("arguments", "head", "name", "operands", "queue", "shape", "shared", "text", "through")

    def __init__(self) -> None:
        self.operands: tuple[Any, ...] | None = None
        self.shared = False
        self.arguments: dict[int, tuple[int, int]] = {}
        self.name: str | None = None
        self.text: str | None = None
        self.head = self.queue = 0
        self.shape: Any = None
        self.through = ""


class _Lane:
    """A thread of the program: its name in ordinals, the commands that it enqueued, the threads that it started."""

    __slots__ = ("children", "count", "name")

    def __init__(self, name: str) -> None:
        self.name, self.count, self.children = name, 0, 0


class _Life:
    """Sits on a NannyEvent: when the event dies, PyOpenCL's destructor waits for the command."""

    __slots__ = ("number", "recorder")

    def __init__(self, recorder: Recorder, number: int) -> None:
        self.recorder, self.number = recorder, number

    def __del__(self) -> None:
        recorder = self.recorder
        if not recorder.off():
            recorder.host("wait", 0, (self.number,), "dropped", time.perf_counter_ns())


@dataclass
class Recorder:
    """State of the recording."""

    cl: Any
    np: Any
    writer: Writer
    sites: Sites
    experiment: Experiment = field(default_factory=Experiment)

    def __post_init__(self) -> None:
        self.objects = Objects(self.cl, self.np, self.writer, self.keep)
        self.pid = os.getpid()
        self.closed = self.stopped = False
        os.register_at_fork(after_in_child=self._forked)
        self.writer.full = self._full
        self.main = threading.get_ident()
        self.writer.put(("T", "main", 0, self.main))
        self.lanes: dict[int, _Lane] = {}
        self.born: dict[int, str] = {}
        self.threads = False
        self.last = 0
        self.svm_maps: dict[int, tuple[int, bool]] = {}
        self.previous: dict[int, Any] = {}
        self.queues: list[Any] = []
        self.memories: list[Any] = []
        self.downloads: list[Any] = []
        self.kept = 0
        self.profiled: list[tuple[int, Any]] = []
        self.busy = threading.local()
        self.told: set[tuple[int, int]] = set()
        self.polled: set[int] = set()
        self.watch = Watch(self.np, self.sites, self.used, self.note)
        pointers = (getattr(self.cl, name, None) for name in ("MemoryObjectHolder", "SVMPointer"))
        self.memory_types = tuple(kind for kind in pointers if kind is not None)
        self.gates = Gates(self.cl, [Gate(*pair) for pair in self.experiment.gates], self.experiment.deadline)
        self.plain = not (self.experiment.serialize or self.experiment.gates or self.experiment.profile)
        self.changes = bool(self.experiment.serialize or self.experiment.gates)

    def off(self) -> bool:
        """Return whether nothing is recorded: after the end, in a fork, in what the recorder itself does."""
        return self.stopped or (self.changes and getattr(self.busy, "yes", False))

    def _forked(self) -> None:
        self.stopped = True

    def _full(self) -> None:
        self.note(f"recording stopped after about {MOST} commands")
        self.close()

    def note(self, text: str) -> None:
        """Leave a line for the report."""
        self.writer.put(("X", text))

    def lane(self, ident: int) -> _Lane:
        """Return a thread of the program; one whose beginning was not seen is a stranger."""
        found = self.lanes.get(ident)
        if found is None:
            found = self.lanes[ident] = _Lane("0" if ident == self.main else "?")
        return found

    # --- commands ---------------------------------------------------------------------------------------------

    def issue(
        self,
        call: Call,
        kind: str,
        what: str,
        bound: dict[str, Any],
        operands: tuple[Any, ...],
        blocking: bool,
        text: str | None = None,
        mapping: tuple[bool, bool] | None = None,
        of: int = 0,
    ) -> Any:
        """Enqueue a command and note it. Whatever the call raises, the program sees."""
        site, through = self.sites.take(3)
        queue = bound["queue"]
        waits = bound.get("wait_for")
        args, kwargs = call.args, call.kwargs
        if waits is not None and not isinstance(waits, (list, tuple)):
            waits = list(waits)
            args, kwargs = _with(args, kwargs, call.wait_at, "wait_for", waits)
        listed = None if waits is None else self.numbers(waits)
        ident = threading.get_ident()
        begin = time.perf_counter_ns()
        if self.changes:
            lane = self.lane(ident)
            result = self._changed(call, args, kwargs, queue, waits, blocking, (lane.name, lane.count + 1))
            lane.count += 1
        else:
            result = call.function(*args, **kwargs)
        end = time.perf_counter_ns()
        event = result[1] if isinstance(result, tuple) else result
        number = self.last = next(self.objects.numbers)
        nanny = False
        if event is not None:
            self.objects.events[event.int_ptr] = number
            nanny = type(event) is self.cl.NannyEvent
            if nanny and not blocking:
                event._kexec_lint_life = _Life(self, number)
            if self.experiment.profile:
                self.profiled.append((number, self.cl.Event.from_int_ptr(event.int_ptr)))
        queue_number = self.objects.queue(queue)
        if self.watch.flights:
            gathers = kind in ("marker", "barrier") and not listed
            self.watch.ordered(number, queue_number, queue_number in self.objects.in_order, listed or (), gathers)
        if not blocking and not self.changes:
            self._take_off(number, queue_number, kind, bound, operands)
        source = self.objects.source(text) if text is not None else 0
        flags = (blocking, nanny, through, mapping, of)
        shape = bound.get("global_work_size")
        launch = (source, _sizes(shape)) if kind == "kernel" else None
        self.writer.put(
            (
                "C",
                number,
                kind,
                what,
                queue_number,
                site,
                listed,
                operands,
                flags,
                launch,
                ident,
                begin,
                end,
            )
        )
        if blocking:
            self.host("wait", 0, (number,), "blocking", begin, site)
        return result

    def _take_off(self, number: int, queue: int, kind: str, bound: dict[str, Any], operands: tuple[Any, ...]) -> None:
        """Watch the host memory that a command uses from now on."""
        if kind == "map":
            self.watch.began(number, queue, [])
            return
        if "host_origin" in bound:
            return  # a box within the array: which bytes is not worked out
        starts = self.objects.starts
        array = bound.get("hostbuf")
        touched = [
            (operand[0], starts[operand[0]], starts[operand[0]] + operand[1], starts[operand[0]] + operand[2], array)
            for operand in operands
            if operand[0] in starts
        ]
        if touched:
            self.watch.began(number, queue, touched)

    def launch(self, function: Any, args: tuple[Any, ...], known: Launched) -> Any:
        """Enqueue a kernel and note it: `issue` for the commonest call, when nothing is to be changed."""
        site, through = self.sites.take(3)
        waits = args[5]
        listed = None
        if waits is not None:
            if type(waits) is not list and type(waits) is not tuple:
                waits = list(waits)
                args = (*args[:5], waits, *args[6:])
            listed = self.numbers(waits)
        begin = _clock()
        event = function(*args)
        end = _clock()
        objects = self.objects
        number = next(objects.numbers)
        objects.events[event.int_ptr] = number
        try:
            queue = args[0]._kexec_lint
        except AttributeError:
            queue = objects.queue(args[0])
        shape = args[2]
        if type(shape) is not tuple:
            shape = _sizes(shape)
        if not known.head or known.queue != queue or known.through != through or known.shape != shape:
            known.queue, known.through, known.shape = queue, through, shape
            known.head = next(objects.numbers)
            source = objects.source(known.text) if known.text is not None else 0
            self.writer.put(("B", known.head, known.name, queue, known.operands, through, (source, _sizes(shape))))
        if self.watch.flights:
            self.watch.ordered(number, queue, queue in objects.in_order, listed or (), False)
        self.writer.put(("K", number, known.head, site, listed, _ident(), begin, end))
        return event

    def _changed(
        self, call: Call, args: Any, kwargs: Any, queue: Any, waits: Any, blocking: bool, ordinal: Ordinal
    ) -> Any:
        """Make the call as an experiment wants it: chained to the one before, or held by a gate."""
        more = list(waits or ())
        if self.experiment.serialize and call.wait_at is not None:
            previous = self.previous.get(queue.context.int_ptr)
            more += [previous] if previous is not None else []
        gate = self.gates.gate_for(ordinal)
        if gate is not None and not blocking and call.wait_at is not None:
            self.busy.yes = True
            try:
                more.append(gate.shut(self.cl, queue.context, ordinal))
            finally:
                self.busy.yes = False
        if len(more) != len(waits or ()):
            args, kwargs = _with(args, kwargs, call.wait_at, "wait_for", more)
        gated = self.gates.any_shut()
        if gated and blocking and call.block_at is not None:
            args, kwargs = _with(args, kwargs, call.block_at, "is_blocking", False)
        result = call.function(*args, **kwargs)
        event = result[1] if isinstance(result, tuple) else result
        if event is None:
            return result
        if self.experiment.serialize:
            self.previous[queue.context.int_ptr] = self.cl.Event.from_int_ptr(event.int_ptr)
        # Looked at again: another thread may have shut a gate while this command was on its way behind it.
        if gated or self.gates.any_shut():
            self.busy.yes = True
            try:
                self.gates.enqueued(ordinal, event, queue)
                if blocking and gated:
                    self.gates.wait(lambda: event.command_execution_status <= 0)
            finally:
                self.busy.yes = False
        return result

    def queue_properties(self, properties: Any) -> Any:
        """Return the properties with which a queue is made."""
        kinds = self.cl.command_queue_properties
        more = kinds.OUT_OF_ORDER_EXEC_MODE_ENABLE if self.experiment.out_of_order else 0
        more |= kinds.PROFILING_ENABLE if self.experiment.profile else 0
        if not more:
            return 0 if properties is None else properties
        if isinstance(properties, (list, tuple)):
            pairs = list(properties)
            key = self.cl.queue_properties.PROPERTIES
            for index in range(0, len(pairs) - 1, 2):
                if pairs[index] == key:
                    pairs[index + 1] |= more
                    return pairs
            end = pairs[-1:] if len(pairs) % 2 else []
            return [*pairs[: len(pairs) - len(end)], key, more, *end]
        return (properties or 0) | more

    # --- the host ---------------------------------------------------------------------------------------------

    def numbers(self, events: Sequence[Any]) -> tuple[int, ...]:
        """Return the numbers of events; those of user events begin here, 0 is one of unknown origin."""
        known = self.objects.events
        numbers = []
        for event in events:
            number = known.get(event.int_ptr, 0)
            if not number and isinstance(event, self.cl.UserEvent):
                number = known[event.int_ptr] = self.objects.next()
                self.writer.put(("U", number))
            numbers.append(number)
        return tuple(numbers)

    def before_wait(self, events: Sequence[Any], queue: Any) -> None:
        """While a gate is shut, wait with open eyes: a driver's wait could never end."""
        if not self.changes or not self.gates.any_shut():
            return
        self.busy.yes = True
        try:
            if queue is not None:
                events = [self.cl.enqueue_marker(queue)]
                queue.flush()
            self.gates.wait(lambda: all(event.command_execution_status <= 0 for event in events))
        finally:
            self.busy.yes = False

    def host(self, kind: str, queue: int, events: tuple[int, ...], what: str, begin: int, site: Any = None) -> None:
        """Note something that the host did."""
        if site is None:
            site = self.sites.take(3)[0]
        watch = self.watch
        if watch.flights:
            if kind == "wait":
                self._take_back()
                watch.complete(events)
            elif kind == "finish":
                self._take_back()
                watch.finished(queue)
        self.writer.put(("H", kind, queue, events, site, what, threading.get_ident(), begin, time.perf_counter_ns()))

    def used(self, frame: Any, seen: Seen) -> None:
        """Note that a line which begins touches memory in flight. The watch tells of each line again and again."""
        if self.off():
            return
        site, activation, place = self.sites.of_line(frame, seen.span)
        if (place, seen.command) in self.told:
            return
        if len(self.told) > 10_000:
            self.told.clear()
        self.told.add((place, seen.command))
        number = next(self.objects.numbers)
        ident, now = threading.get_ident(), time.perf_counter_ns()
        self.writer.put(("A", number, *seen[1:8], site, ident, now))
        begun = self.busy.__dict__.setdefault("begun", [])
        begun[:] = [one for one in begun if one[0] != activation or one[1] == (seen.span[0], seen.span[2])]
        begun.append((activation, (seen.span[0], seen.span[2]), number))

    def _take_back(self) -> None:
        """Take back accesses of lines that are still running when the host waits: it may be the line's own wait."""
        begun = self.busy.__dict__.get("begun")
        if begun:
            for activation, rows, number in begun:
                if self.sites.running(activation, rows):
                    self.writer.put(("R", number))
            begun.clear()

    def sync(self, kind: str, number: int) -> None:
        """Note what orders threads. While there is only one, nothing does."""
        if self.off():
            return
        ident = threading.get_ident()
        if kind == "fork":
            self.threads = True
            lane = self.lane(ident)
            lane.children += 1
            self.born[number] = f"{lane.name}.{lane.children}"
        elif not self.threads:
            return
        elif kind == "begin":
            self.lanes[ident] = _Lane(self.born.get(number, "?"))
        elif kind == "end":
            self.lanes.pop(ident, None)
        self.writer.put(("T", kind, number, ident))

    # --- contents ---------------------------------------------------------------------------------------------

    def keep(self, thing: Any) -> None:
        """Hold a queue or memory object that is met first until the end, if contents are compared.

        While a user event is unset no other object may be released (note to clCreateUserEvent), so a run with
        gates holds what it meets until the gates are open for good.
        """
        if self.experiment.gates:
            self.gates.hold(thing)
        if not self.experiment.contents:
            return
        if isinstance(thing, self.cl._cl.CommandQueue):
            self.queues.append(thing)
        elif self.kept + (thing.size or 0) < KEPT:
            self.kept += thing.size or 0
            self.memories.append(thing)

    def download(self, array: Any) -> None:
        """Hold the target of a download until the end, if contents are compared."""
        size = getattr(array, "nbytes", 0)
        if self.experiment.contents and self.kept + size < KEPT:
            self.kept += size
            self.downloads.append(array)

    def close(self) -> None:
        """Stop: open every gate, write contents, times and what waits. May be called more than once."""
        if self.closed or os.getpid() != self.pid:
            return
        self.gates.open_all("the program ended first")
        self.closed = self.stopped = self.objects.closed = True
        self.watch.stop()
        try:
            if self.experiment.contents:
                self._write_contents(self.experiment.contents)
            end = time.monotonic() + LAST
            for number, event in self.profiled:
                try:
                    if _complete(event, end):
                        times = event.profile
                        self.writer.put(("P", number, times.queued, times.submit, times.start, times.end))
                except self.cl.Error:
                    continue  # markers of some drivers have no times
        finally:
            for gate in self.gates.all:
                self.writer.put(("G", gate.earlier, gate.later, gate.result, gate.detail))
            self.writer.flush()

    def _write_contents(self, file: str) -> None:
        np = self.np
        found: dict[str, Any] = {}
        end = time.monotonic() + LAST
        stuck = []
        for queue in self.queues:
            try:
                marker = self.cl.enqueue_marker(queue)
                queue.flush()
                if not _complete(marker, end):
                    stuck.append(queue)
            except self.cl.Error:
                stuck.append(queue)  # the program closed or broke it
        for index, memory in enumerate(self.memories):
            queue = next((q for q in self.queues if q not in stuck and q.context == memory.context), None)
            if queue is None or not isinstance(memory, self.cl.Buffer):
                continue
            array = np.empty(memory.size, np.uint8)
            try:
                self.cl.enqueue_copy(queue, array, memory)
            except self.cl.Error:
                continue  # it was released
            found[f"m{index}"] = array
        for index, array in enumerate(self.downloads):
            with_bytes = np.ascontiguousarray(np.asarray(array))
            found[f"d{index}"] = with_bytes
        np.savez(file, **found)


def _sizes(shape: Any) -> tuple[int, ...]:
    if type(shape) is tuple and all(type(n) is int for n in shape):
        return shape
    try:
        return tuple(int(n) for n in shape) if shape is not None else ()
    except TypeError:
        return ()


def _complete(event: Any, end: float) -> bool:
    """Return whether a command is complete, waiting until then or until a time: it may wait for what never comes."""
    while event.command_execution_status > 0:
        if time.monotonic() > end:
            return False
        time.sleep(0.0005)
    return True


def _with(
    args: tuple[Any, ...], kwargs: dict[str, Any], at: int | None, name: str, value: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with another value for one parameter."""
    if at is not None and at < len(args):
        return (*args[:at], value, *args[at + 1 :]), kwargs
    return args, {**kwargs, name: value}
