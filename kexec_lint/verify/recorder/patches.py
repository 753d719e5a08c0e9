"""Wraps the functions of `pyopencl._cl` so that every command, wait and object is noted on its way.

PyOpenCL's Python code and the launchers that it generates look these functions up in `_cl` at each call, so this
one place sees everything: kernels, transfers, Arrays, pools.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kexec_lint.verify.recorder import threads
from kexec_lint.verify.recorder.commands import COMMANDS, KERNEL, MAP, Row
from kexec_lint.verify.recorder.objects import MARK
from kexec_lint.verify.recorder.recorder import Call, Launched, Recorder

UNSEEN = "<frozen importlib._bootstrap kexec-lint>"


class _MapLife:
    """Sits on a MemoryMap, which lives as long as the arrays over it."""

    __slots__ = ("number", "recorder")

    def __init__(self, recorder: Recorder, number: int) -> None:
        self.recorder, self.number = recorder, number

    def __del__(self) -> None:
        if not self.recorder.off():
            self.recorder.watch.dead(self.number)


def install(recorder: Recorder) -> None:
    """Wrap everything. Names that this PyOpenCL lacks are passed over."""
    low = recorder.cl._cl
    threads.install(recorder.sync)
    if recorder.experiment.out_of_order or recorder.experiment.profile:
        _queues(recorder)
    for name, row in COMMANDS.items():
        _replace(low, name, functools.partial(_command, recorder, row))
    _replace(low, "enqueue_nd_range_kernel", functools.partial(_kernel, recorder))
    for name, params in MAP.items():
        _replace(low, name, functools.partial(_map, recorder, params))
    _replace(low, "_enqueue_svm_map", functools.partial(_svm_map, recorder))
    _replace(low, "_enqueue_svm_unmap", functools.partial(_svm_unmap, recorder))
    _replace(low, "wait_for_events", functools.partial(_wait_for_events, recorder))
    if isinstance(getattr(low.Event, "command_execution_status", None), property):
        low.Event.command_execution_status = _status(recorder, low.Event.command_execution_status)
    for owner, name, make in (
        (low.CommandQueue, "finish", _finish),
        (low.CommandQueue, "flush", _flush),
        (low.Event, "wait", _wait),
        (low.Event, "set_callback", _set_callback),
        (low.UserEvent, "set_status", _set_status),
        (low.Buffer, "get_sub_region", _sub_region),
        (low.Buffer, "__getitem__", _slice),
        (low.MemoryMap, "release", _release_map),
        (low.Kernel, "set_arg", _set_arg),
        (low.Kernel, "_set_arg_multi", _set_arg_multi),
        (low.Kernel, "clone", _clone),
        (recorder.cl.Program, "__getattr__", _program_kernel),
        (recorder.cl.Program, "all_kernels", _all_kernels),
    ):
        original = getattr(owner, name, None)
        if owner is not None and original is not None:
            with suppress(TypeError, AttributeError):
                setattr(owner, name, functools.wraps(original)(make(recorder, original)))


def _replace(low: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Put a wrapper in the place of a function, wherever PyOpenCL's modules hold it."""
    original = getattr(low, name, None)
    if original is None:
        return
    wrapper = functools.wraps(original)(make(original))
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] == "pyopencl" and module is not None:
            for attribute, value in list(vars(module).items()):
                if value is original:
                    setattr(module, attribute, wrapper)


# --- commands -------------------------------------------------------------------------------------------------


def _command(r: Recorder, row: Row, original: Any) -> Any:
    wait_at = row.params.index("wait_for") if "wait_for" in row.params else None
    block_at = row.params.index("is_blocking") if "is_blocking" in row.params else None

    def call(*args: Any, **kwargs: Any) -> Any:
        if r.off():
            return original(*args, **kwargs)
        bound = dict(zip(row.params, args, strict=False))
        bound.update(kwargs)
        try:
            operands = _operands(r, row, bound)
        except Exception:  # whatever a wrong argument causes here, PyOpenCL is to say what is wrong with it
            operands = None
        blocking = row.blocking is not None and bool(bound.get("is_blocking", row.blocking))
        what = "" if operands is not None else "unknown"
        return r.issue(Call(original, args, kwargs, wait_at, block_at), row.kind, what, bound, operands or (), blocking)

    return call


def _operands(r: Recorder, row: Row, bound: dict[str, Any]) -> tuple[Any, ...]:
    operands = []
    objects = r.objects
    sizes = [bound[row.size]] if row.size and isinstance(bound.get(row.size), int) and bound[row.size] >= 0 else []
    host = None
    for name in row.host:
        host = objects.host(bound[name])
        operands.append((host[0], host[1], host[2], name in row.reads, name in row.writes, -1))
        sizes.append(host[2] - host[1])
        if name in row.writes:
            r.download(bound[name])
    for name in dict.fromkeys((*row.reads, *row.writes)):
        if name in row.host:
            continue
        number, size = objects.memory(bound[name])
        low, high = 0, size
        for operand, offset in row.offsets:
            if operand == name:
                low = int(bound.get(offset) or 0)
                high = min(size, low + min(sizes)) if sizes else size
        operands.append((number, low, high, name in row.reads, name in row.writes, -1))
    if row.kind in ("migrate", "acquire", "release"):
        for memory in bound.get("mem_objects") or ():
            number, size = objects.memory(memory)
            operands.append((number, 0, size, row.kind != "acquire", row.kind == "acquire", -1))
    return tuple(operands)


def _kernel(r: Recorder, original: Any) -> Any:
    launch, plain, changes = r.launch, r.plain, r.changes

    def call(*args: Any, **kwargs: Any) -> Any:
        if r.stopped or (changes and r.off()):
            return original(*args, **kwargs)
        kernel = args[1] if len(args) > 1 else kwargs["kernel"]
        try:
            known: Launched = kernel._kexec_lint
        except AttributeError:
            known = _known(kernel)
        operands = known.operands
        if operands is None:
            operands = known.operands = tuple(
                [(m[0], 0, m[1], None, None, index) for index, m in known.arguments.items()]
            )
            known.shared = any(m[0] in r.objects.starts for m in known.arguments.values())
            known.head = 0
            if known.name is None:
                known.name = kernel.function_name
        if plain and not kwargs and len(args) > 5 and not known.shared:
            return launch(original, args, known)
        bound = dict(zip(KERNEL, args, strict=False))
        bound.update(kwargs)
        call = Call(original, args, kwargs, 5, None)
        return r.issue(call, "kernel", known.name or "", bound, operands, False, text=known.text)

    return call


def _map(r: Recorder, params: tuple[str, ...], original: Any) -> Any:
    wait_at, block_at = params.index("wait_for"), params.index("is_blocking")

    def call(*args: Any, **kwargs: Any) -> Any:
        if r.off():
            return original(*args, **kwargs)
        bound = dict(zip(params, args, strict=False))
        bound.update(kwargs)
        memory = bound.get("buf", bound.get("img"))
        number, size = r.objects.memory(memory)
        flags = int(bound["flags"])
        low = int(bound.get("offset") or 0)
        invalidates = bool(flags & r.cl.map_flags.WRITE_INVALIDATE_REGION)
        writes = invalidates or bool(flags & r.cl.map_flags.WRITE)
        operands = ((number, low, size, not invalidates, False, -1),)
        blocking = bool(bound.get("is_blocking", True))
        call = Call(original, args, kwargs, wait_at, block_at)
        result = r.issue(call, "map", "map", bound, operands, blocking, mapping=(writes, invalidates))
        with suppress(AttributeError):
            setattr(result[0].base, MARK, (r.last, operands, writes, bound["queue"]))
            result[0].base._kexec_lint_life = _MapLife(r, r.last)
        return result

    return call


def _release_map(r: Recorder, original: Any) -> Any:
    def release(self: Any, queue: Any = None, wait_for: Any = None) -> Any:
        known = getattr(self, MARK, None)
        if r.off() or known is None:
            return original(self, queue, wait_for)
        mapped, ((number, low, high, _, _, _),), writes, mapping_queue = known
        bound = {"queue": queue if queue is not None else mapping_queue, "wait_for": wait_for}
        call = Call(original, (self, queue, wait_for), {}, 2, None)
        result = r.issue(call, "unmap", "unmap", bound, ((number, low, high, False, writes, -1),), False, of=mapped)
        if not r.changes:
            r.watch.unmapped(mapped)
        return result

    return release


def _svm_map(r: Recorder, original: Any) -> Any:
    params = ("queue", "is_blocking", "flags", "svm", "wait_for", "size")

    def call(*args: Any, **kwargs: Any) -> Any:
        if r.off():
            return original(*args, **kwargs)
        bound = dict(zip(params, args, strict=False))
        bound.update(kwargs)
        number, size = r.objects.memory(bound["svm"])
        writes = bool(int(bound["flags"]) & (r.cl.map_flags.WRITE | r.cl.map_flags.WRITE_INVALIDATE_REGION))
        operands = ((number, 0, size, True, False, -1),)
        call = Call(original, args, kwargs, 4, 1)
        event = r.issue(call, "map", "map", bound, operands, bool(bound["is_blocking"]), mapping=(writes, False))
        r.svm_maps[number] = r.last, writes
        return event

    return call


def _svm_unmap(r: Recorder, original: Any) -> Any:
    def call(queue: Any, svm: Any, wait_for: Any = None) -> Any:
        if r.off():
            return original(queue, svm, wait_for)
        number, size = r.objects.memory(svm)
        mapped, writes = r.svm_maps.pop(number, (0, True))
        bound = {"queue": queue, "wait_for": wait_for}
        call = Call(original, (queue, svm, wait_for), {}, 2, None)
        return r.issue(call, "unmap", "unmap", bound, ((number, 0, size, False, writes, -1),), False, of=mapped)

    return call


# --- the host -------------------------------------------------------------------------------------------------


def _wait_for_events(r: Recorder, original: Any) -> Any:
    def wait_for_events(events: Any) -> Any:
        if r.off():
            return original(events)
        events = list(events)
        begin = time.perf_counter_ns()
        r.before_wait(events, None)
        original(events)
        r.host("wait", 0, r.numbers(events), "wait", begin)
        return None

    return wait_for_events


def _wait(r: Recorder, original: Any) -> Any:
    def wait(self: Any) -> Any:
        if r.off():
            return original(self)
        begin = time.perf_counter_ns()
        r.before_wait([self], None)
        original(self)
        r.host("wait", 0, r.numbers([self]), "wait", begin)
        return None

    return wait


def _status(r: Recorder, original: Any) -> Any:
    def status(self: Any) -> Any:
        found = original.fget(self)
        if r.watch.flights and not r.off():
            numbers = r.numbers([self])
            if numbers[0] in r.watch.flights and numbers[0] not in r.polled:
                r.polled.add(numbers[0])
                r.host("poll", 0, numbers, "tested", time.perf_counter_ns())
        return found

    return property(status)


def _set_callback(r: Recorder, original: Any) -> Any:
    def set_callback(self: Any, kind: int, callback: Any) -> Any:
        if r.off() or int(kind) != 0:
            return original(self, kind, callback)
        numbers = r.numbers([self])

        def called(status: Any) -> Any:
            # Completion orders the callback after the command (architecture, "Host-Side and Device-Side Commands").
            with suppress(Exception):  # the program waits for its callback, whatever becomes of our note
                if not r.off():
                    r.host("wait", 0, numbers, "callback", time.perf_counter_ns(), 0)
            return callback(status)

        return original(self, kind, called)

    return set_callback


def _finish(r: Recorder, original: Any) -> Any:
    def finish(self: Any) -> Any:
        if r.off():
            return original(self)
        begin = time.perf_counter_ns()
        r.before_wait([], self)
        original(self)
        r.host("finish", r.objects.queue(self), (), "finish", begin)
        return None

    return finish


def _flush(r: Recorder, original: Any) -> Any:
    def flush(self: Any) -> Any:
        original(self)
        if not r.off():
            r.host("flush", r.objects.queue(self), (), "flush", time.perf_counter_ns())

    return flush


def _queues(r: Recorder) -> None:
    """Let the program make its queues with other properties.

    A subclass does it, since the constructors of nanobind's classes cannot be replaced.
    """
    low = r.cl._cl
    original: Any = low.CommandQueue

    class CommandQueue(original):  # type: ignore[misc]
        def __init__(self, context: Any, device: Any = None, properties: Any = None) -> None:
            super().__init__(context, device, r.queue_properties(properties))

    CommandQueue.__module__, CommandQueue.__qualname__ = original.__module__, original.__qualname__
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] == "pyopencl" and module is not None and module is not low:
            for attribute, value in list(vars(module).items()):
                if value is original:
                    setattr(module, attribute, CommandQueue)


def _set_status(r: Recorder, original: Any) -> Any:
    def set_status(self: Any, status: int) -> Any:
        if not r.off():
            what = "complete" if int(status) == 0 else "failed" if int(status) < 0 else "invalid"
            r.host("status", 0, r.numbers([self]), what, time.perf_counter_ns())
        return original(self, status)

    return set_status


# --- objects --------------------------------------------------------------------------------------------------


def _sub_region(r: Recorder, original: Any) -> Any:
    def get_sub_region(self: Any, origin: int, *args: Any, **kwargs: Any) -> Any:
        part = original(self, origin, *args, **kwargs)
        if not r.off():
            r.objects.part(part, r.objects.memory(self), origin)
        return part

    return get_sub_region


def _slice(r: Recorder, original: Any) -> Any:
    def getitem(self: Any, index: Any) -> Any:
        part = original(self, index)
        if not r.off():
            r.objects.part(part, r.objects.memory(self), part.offset)
        return part

    return getitem


def _known(kernel: Any) -> Launched:
    try:
        known: Launched = kernel._kexec_lint
    except AttributeError:
        known = kernel._kexec_lint = Launched()
    return known


def _remember(r: Recorder, known: Launched, index: int, value: Any) -> None:
    if isinstance(value, r.memory_types):
        now = r.objects.memory(value)
        if known.arguments.get(index) != now:
            known.arguments[index] = now
            known.operands = None
    elif known.arguments.pop(index, None) is not None:
        known.operands = None


def _set_arg(r: Recorder, original: Any) -> Any:
    def set_arg(self: Any, index: int, value: Any) -> Any:
        original(self, index, value)
        if not r.off():
            _remember(r, _known(self), index, value)

    return set_arg


def _set_arg_multi(r: Recorder, original: Any) -> Any:
    changes = r.changes
    values: set[type] = set()
    """Types of arguments that are no memory."""

    def set_arg_multi(self: Any, pairs: tuple[Any, ...]) -> Any:
        original(self, pairs)
        if r.stopped or (changes and r.off()):
            return
        try:
            known: Launched = self._kexec_lint
        except AttributeError:
            known = _known(self)
        arguments = known.arguments
        each = iter(pairs)
        for index in each:
            value = next(each)
            if type(value) in values:
                if index in arguments:
                    del arguments[index]
                    known.operands = None
            elif getattr(value, MARK, None) is not arguments.get(index, r):
                if not isinstance(value, r.memory_types):
                    values.add(type(value))
                _remember(r, known, index, value)

    return set_arg_multi


def _clone(r: Recorder, original: Any) -> Any:
    def clone(self: Any) -> Any:
        made, known = original(self), _known(self)
        copy = _known(made)
        copy.arguments, copy.name, copy.text = dict(known.arguments), known.name, known.text
        return made

    return clone


def _label(kernel: Any, program: Any) -> None:
    text = getattr(program, "_source", None)
    if isinstance(text, str):
        _known(kernel).text = text


def _program_kernel(r: Recorder, original: Any) -> Any:
    def getattribute(self: Any, name: str) -> Any:
        found = original(self, name)
        if isinstance(found, r.cl.Kernel):
            _label(found, self)
        return found

    # PyOpenCL warns of its caller here: `warnings` passes over frames of such a name, and finds the program's line.
    getattribute.__code__ = getattribute.__code__.replace(co_filename=UNSEEN)
    return getattribute


def _all_kernels(r: Recorder, original: Any) -> Any:
    def all_kernels(self: Any) -> Any:
        kernels = original(self)
        for kernel in kernels:
            _label(kernel, self)
        return kernels

    return all_kernels
