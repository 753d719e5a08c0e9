"""The file of records: marshalled tuples, written in blocks, the first element of each names its kind.

("L", number, path, function, row, column, end row, end column): a place, columns in UTF-8 bytes or -1
("Q", queue, out of order, profiling, context, device)
("M", memory, kind, bytes, access, parent, origin)
("S", number, text): an OpenCL C source
("C", event, kind, what, queue, site, waits, operands, flags, launch, thread, begin, end): `waits` None without a list
("B", head, kernel, queue, operands, through, launch): what launches of a kernel have in common
("K", event, head, site, waits, thread, begin, end): one of them
("Z", number, chain): a site: (activation, place number), outermost first; 0 is none
("H", kind, queue, events, site, what, thread, begin, end)
("A", access, memory, low, high, reads, writes, mapping, what, site, thread, time): the host is about to touch memory
("R", access): it is not known when in its line that access took place, before or after a wait
("T", kind, number, thread): "release" or "acquire" of a lock and the like, "fork", "begin", "end" of a thread
("U", event): a user event
("G", ordinal of the earlier, of the later command, result, detail): a gate
("P", event, queued, submitted, started, ended): device times in nanoseconds
("X", text): why recording stopped

Times are host nanoseconds.
"""

from __future__ import annotations

import marshal
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

BLOCK = 2000
"""Records that wait for writing."""

MOST = 200_000
"""Commands after which recording stops: the file has then about 20 MB."""


class Writer:
    """Appends records to a file. A process forked from this one writes nothing."""

    def __init__(self, file: str) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self.pending: list[tuple[Any, ...]] = []
        self.commands = 0
        self.full: Callable[[], None] | None = None
        """Called when there are enough commands."""

    def put(self, record: tuple[Any, ...]) -> None:
        """Add a record."""
        self.pending.append(record)
        if len(self.pending) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            # The list stays the same one: another thread may be about to append to it.
            block = self.pending[:]
            del self.pending[: len(block)]
            if block:
                data = marshal.dumps(block, 2)
                os.write(self._file, len(data).to_bytes(8, "little") + data)
                self.commands += sum(record[0] in "KC" for record in block)
                if self.commands >= MOST and self.full is not None:
                    full, self.full = self.full, None
                    full()


def read(file: str) -> Iterator[tuple[Any, ...]]:
    """Yield the records of a file; a last block that was cut off is left out."""
    with open(file, "rb") as opened:
        while len(head := opened.read(8)) == 8:
            data = opened.read(int.from_bytes(head, "little"))
            if len(data) < int.from_bytes(head, "little"):
                return
            yield from marshal.loads(data)
