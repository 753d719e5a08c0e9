"""What a trace log holds, whatever tool wrote it: calls, exits, and lines that the program itself printed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Call:
    """One system call. Times are seconds on the log's own clock; None where the log does not say.

    `args` are the arguments as printed, without `name=` or `name: ` before them. `result` is the returned number
    (None for `?` and for a call that never returned), `opened` the path printed behind a returned descriptor,
    `errno` its name, `errno_text` the words beside it (in the locale of the tracer), `status` an NvStatus that a
    shim or a newer strace printed, `detail` what the shim says of the request (`class=0x40`). `stack` are the
    frames of `-k`, innermost first. `returned` is the line on which an unfinished call was resumed, else 0.
    """

    file: str
    line: int
    tid: int
    name: str
    args: tuple[str, ...]
    time: float | None = None
    duration: float | None = None
    result: int | None = None
    opened: str | None = None
    errno: str | None = None
    errno_text: str | None = None
    status: int | None = None
    detail: str = ""
    injected: bool = False
    stack: tuple[str, ...] = ()
    returned: int = 0

    @property
    def end(self) -> float | None:
        """When the call returned, as far as the log tells."""
        return self.time if self.time is None or self.duration is None else self.time + self.duration


@dataclass(frozen=True)
class Exit:
    """A thread ended: with a status, or by a signal."""

    file: str
    line: int
    tid: int
    time: float | None
    status: int | None
    signal: str | None


@dataclass(frozen=True)
class Printed:
    """A line that no tracer wrote: output of the program, mixed in or heard on its own (`file` stderr)."""

    file: str
    line: int
    tid: int
    time: float | None
    text: str


Event = Call | Exit | Printed
