"""Run a command, pass its output through as it comes, keep the ends of what it said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from typing import BinaryIO

HEAD = 4 << 20
TAIL = 16 << 20
"""Bytes kept from the beginning and from the end of the output; the middle of longer logs is not diagnosed."""


class _Kept:
    """What both streams said, in the order in which it came, bounded."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._size = 0
        self._lock = threading.Lock()
        self._open: dict[int, bytes] = {}

    def add(self, stream: int, data: bytes) -> None:
        """Take bytes of a stream; lines of the two streams never mix within a line."""
        with self._lock:
            whole, newline, rest = (self._open.pop(stream, b"") + data).rpartition(b"\n")
            if len(rest) > HEAD:
                whole, newline, rest = whole + newline + rest, b"", b""
            self._open[stream] = rest
            self._keep(whole + newline)

    def _keep(self, data: bytes) -> None:
        room = HEAD - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.append(data)
            self._size += len(data)
            while self._size > TAIL:
                self._size -= len(self._tail.popleft())

    def text(self) -> bytes:
        """Return everything kept."""
        for rest in self._open.values():
            if rest:
                self._keep(rest + b"\n")
        self._open.clear()
        return bytes(self._head) + b"".join(self._tail)


def run(arguments: Sequence[str], *, output_to_stderr: bool = False) -> tuple[bytes, int]:
    """Run `arguments`, standard input inherited, and return (what it printed, return code as subprocess has it).

    A stream of ours that is a terminal becomes a terminal for the command too, so that colours and line buffering
    stay. Raises OSError if the command cannot be started.
    """
    outs: list[BinaryIO] = [sys.stderr.buffer if output_to_stderr else sys.stdout.buffer, sys.stderr.buffer]
    channels = [_channel(out) for out in outs]
    kept = _Kept()
    try:
        process = subprocess.Popen(list(arguments), stdout=channels[0][1], stderr=channels[1][1])
    except OSError:
        for read, write in channels:
            os.close(read)
            os.close(write)
        raise
    for _, write in channels:
        os.close(write)
    threads = [
        threading.Thread(target=_pass_on, args=(read, out, kept, number), daemon=True)
        for number, ((read, _), out) in enumerate(zip(channels, outs, strict=True))
    ]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command gets the keyboard's interrupt itself
    try:
        for thread in threads:
            thread.start()
        code = process.wait()
        for thread in threads:
            thread.join(timeout=1)  # a grandchild may keep the pipe open for ever
    finally:
        signal.signal(signal.SIGINT, before)
    return kept.text(), code


def _channel(out: BinaryIO) -> tuple[int, int]:
    """Return (read, write) descriptors: a pseudo-terminal of our terminal's size, or a pipe."""
    if sys.platform == "win32" or not out.isatty():
        return os.pipe()
    import fcntl
    import pty
    import termios

    master, slave = pty.openpty()
    settings = termios.tcgetattr(slave)
    settings[1] &= ~termios.OPOST  # our own terminal turns line feeds into new lines
    termios.tcsetattr(slave, termios.TCSANOW, settings)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, fcntl.ioctl(out.fileno(), termios.TIOCGWINSZ, bytes(8)))
    return master, slave


def _pass_on(read: int, out: BinaryIO, kept: _Kept, number: int) -> None:
    while True:
        try:
            data = os.read(read, 65536)
        except OSError:  # a pseudo-terminal whose other end was closed
            break
        if not data:
            break
        kept.add(number, data)
        try:
            out.write(data)
            out.flush()
        except (OSError, ValueError):
            continue
    os.close(read)
