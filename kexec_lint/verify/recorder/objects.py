"""The numbers of queues, memory objects, kernels and events while the program lives."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kexec_lint.verify.recorder.stream import Writer

MARK = "_kexec_lint"
"""Attribute under which PyOpenCL's objects carry what is known of them."""


class _QueueLife:
    """Sits on a wrapper of a queue and dies just before it."""

    __slots__ = ("objects", "pointer")

    def __init__(self, objects: Objects, pointer: int) -> None:
        self.objects, self.pointer = objects, pointer

    def __del__(self) -> None:
        if not self.objects.closed:
            self.objects.forget(self.pointer)


class Objects:
    """Numbers objects when they are first met and writes a record of each."""

    def __init__(self, cl: Any, np: Any, writer: Writer, met: Callable[[Any], None]) -> None:
        self.cl, self.np, self.writer, self.met = cl, np, writer, met
        self.closed = False
        self.numbers = itertools.count(1)
        self.in_order: set[int] = set()
        self.starts: dict[int, int] = {}
        """Host memory at a known address: number → address."""
        self.queues: dict[int, tuple[Any, ...]] = {}
        self.pooled: dict[int, int] = {}
        self.hosts: dict[tuple[int, int], tuple[int, Any]] = {}
        self.events: dict[int, int] = {}
        self.sources: dict[str, int] = {}
        self.arrays: list[tuple[int, int, int]] = []
        self._shared: Any = getattr(cl, "SVMPointer", None)
        self._bounds = getattr(getattr(np.lib, "array_utils", np), "byte_bounds", None)

    def next(self) -> int:
        """Return a new number."""
        return next(self.numbers)

    def queue(self, queue: Any) -> int:
        """Return the number of a queue."""
        number: int | None = getattr(queue, MARK, None)
        if number is not None:
            return number
        # Another wrapper of a queue that is known; `with_queue` and `event.command_queue` make such. Or the address
        # was used again: then two queues count as one, which only makes the checks more silent.
        properties, context, pointer = queue.properties, queue.context.int_ptr, queue.int_ptr
        number, *same = self.queues.get(pointer, (None,))
        if number is None or same != [properties, context]:
            number = self.next()
            self.queues[pointer] = number, properties, context
            self.met(queue)
            kinds = self.cl.command_queue_properties
            out_of_order = bool(properties & kinds.OUT_OF_ORDER_EXEC_MODE_ENABLE)
            if not out_of_order:
                self.in_order.add(number)
            profiling = bool(properties & kinds.PROFILING_ENABLE)
            self.writer.put(("Q", number, out_of_order, profiling, context, queue.device.name.strip()))
        self._mark(queue, number)
        with suppress(AttributeError):
            queue._kexec_lint_life = _QueueLife(self, pointer)
        return number

    def forget(self, pointer: int) -> None:
        """Note that a wrapper of a queue dies: if it is the last to hold it, the address means nothing any more."""
        kind = self.cl._cl.CommandQueue
        with suppress(self.cl.Error):
            if kind.from_int_ptr(pointer, True).reference_count == 2:
                self.queues.pop(pointer, None)

    def memory(self, memory: Any) -> tuple[int, int]:
        """Return number and size of a memory object, an SVM pointer or a pooled block."""
        known: tuple[int, int] | None = getattr(memory, MARK, None)
        if known is not None:
            return known
        cl = self.cl
        number = self.next()
        kind, access, parent, origin = "buffer", "", 0, 0
        if isinstance(memory, cl.MemoryObjectHolder):
            pooled = not isinstance(memory, cl.MemoryObject)
            size = memory.size
            flags = memory.flags
            access = "read" if flags & cl.mem_flags.READ_ONLY else "write" if flags & cl.mem_flags.WRITE_ONLY else ""
            if memory.type != cl.mem_object_type.BUFFER:
                kind = "image"
            if pooled:
                # Each time the pool hands a block out it is another object over the same memory.
                kind, parent = "pooled", self._block(memory)
        else:
            # Fine-grain, for all that is known: what only coarse-grain memory forbids is not judged.
            kind, size = "svm-fine", memory.size or 0
            inner = getattr(memory, "mem", None)
            if inner is not None and not isinstance(memory, cl.SVMAllocation):
                return self.host(inner)[0], size
        self.writer.put(("M", number, kind, size, access, parent, origin))
        self._mark(memory, (number, size))
        self.met(memory)
        return number, size

    def _block(self, memory: Any) -> int:
        """Return the number of the memory object behind what a pool hands out."""
        number = self.pooled.get(memory.int_ptr)
        if number is None:
            number = self.pooled[memory.int_ptr] = self.next()
            self.writer.put(("M", number, "buffer", memory.size, "", 0, 0))
        return number

    def part(self, memory: Any, parent: tuple[int, int], origin: int) -> None:
        """Note that an object is a part of another."""
        number = self.next()
        self.writer.put(("M", number, "buffer", memory.size, "", parent[0], origin))
        self._mark(memory, (number, memory.size))

    def _mark(self, thing: Any, value: Any) -> None:
        with suppress(AttributeError):
            setattr(thing, MARK, value)

    def host(self, thing: Any) -> tuple[int, int, int]:
        """Return the number of the host memory behind an array or buffer, and the bytes in it that are meant."""
        np = self.np
        try:
            array = thing if isinstance(thing, np.ndarray) else np.frombuffer(thing, np.uint8)
            low, high = self._bounds(array) if self._bounds is not None else (0, array.nbytes)
        except (TypeError, ValueError, BufferError):
            return self._host_number((id(thing), 0)), 0, 0
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        start = base.__array_interface__["data"][0]
        number = self._host_number((start, base.nbytes), base)
        self.starts[number] = start
        return number, low - start, high - start

    def _host_number(self, key: tuple[int, int], base: Any = None) -> int:
        number, alive = self.hosts.get(key, (0, None))
        if not number or (alive is not None and alive() is None):  # else another array lies where one was
            number = self.next()
            self.hosts[key] = number, weakref.ref(base) if base is not None else None
            owner = getattr(base, "base", None)
            kind = "svm-fine" if self._shared and isinstance(owner, self._shared) else "host"
            self.writer.put(("M", number, kind, key[1], "", 0, 0))
        return number

    def source(self, text: str) -> int:
        """Return the number of an OpenCL C source."""
        number = self.sources.get(text)
        if number is None:
            number = self.sources[text] = self.next()
            self.writer.put(("S", number, text))
        return number
