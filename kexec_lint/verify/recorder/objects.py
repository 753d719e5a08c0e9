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


class Objects:
    """Numbers objects when they are first met and writes a record of each."""

    def __init__(self, cl: Any, np: Any, writer: Writer, met: Callable[[Any], None]) -> None:
        self.cl, self.np, self.writer, self.met = cl, np, writer, met
        self.numbers = itertools.count(1)
        self.in_order: set[int] = set()
        self.starts: dict[int, int] = {}
        """Host memory at a known address: number → address."""
        self.queues: dict[int, int] = {}
        self.pooled: dict[int, int] = {}
        self.hosts: dict[tuple[int, int], tuple[int, Any]] = {}
        self.events: dict[int, int] = {}
        self.sources: dict[str, int] = {}
        self.arrays: list[tuple[int, int, int]] = []
        self._bounds = getattr(getattr(np.lib, "array_utils", np), "byte_bounds", None)

    def next(self) -> int:
        """Return a new number."""
        return next(self.numbers)

    def queue(self, queue: Any) -> int:
        """Return the number of a queue."""
        number: int | None = getattr(queue, MARK, None)
        if number is None:
            # Another wrapper of a queue that is known; `with_queue` and `event.command_queue` make such.
            number = self.queues.get(queue.int_ptr)
            if number is not None and queue.reference_count < 2:
                number = None  # the address was used again
        if number is None:
            number = self.queues[queue.int_ptr] = self.next()
            self._mark(queue, number)
            self.met(queue)
            properties = queue.properties
            kinds = self.cl.command_queue_properties
            if not properties & kinds.OUT_OF_ORDER_EXEC_MODE_ENABLE:
                self.in_order.add(number)
            self.writer.put(
                (
                    "Q",
                    number,
                    bool(properties & kinds.OUT_OF_ORDER_EXEC_MODE_ENABLE),
                    bool(properties & kinds.PROFILING_ENABLE),
                    queue.context.int_ptr,
                    queue.device.name.strip(),
                )
            )
        return number

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
            kind, size = "svm", memory.size or 0
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
            kind = "svm" if owner is not None and type(owner).__name__.startswith("SVM") else "host"
            self.writer.put(("M", number, kind, key[1], "", 0, 0))
        return number

    def source(self, text: str) -> int:
        """Return the number of an OpenCL C source."""
        number = self.sources.get(text)
        if number is None:
            number = self.sources[text] = self.next()
            self.writer.put(("S", number, text))
        return number
