"""How a process ended: what its exit status says, and which status a shell would see."""

from __future__ import annotations

import signal
from dataclasses import dataclass


@dataclass(frozen=True)
class Ending:
    """The end of a command: `status` as a shell sees it (128 + signal), in words, and what to do about it."""

    status: int
    text: str
    bad: bool
    steps: tuple[str, ...] = ()


_SIGNALS = {
    "SIGSEGV": ("read or wrote an address that is not its own", ("gdb -batch -ex run -ex bt --args {cmd|CMD}",)),
    "SIGBUS": ("touched memory that is not there (a truncated mapped file, a full /dev/shm)", ("df -h /dev/shm",)),
    "SIGABRT": (
        "gave up: an assertion, std::terminate or abort()",
        ("gdb -batch -ex run -ex bt --args {cmd|CMD}",),
    ),
    "SIGILL": (
        "met an instruction that this CPU does not have, or a trap of the compiler",
        ("lscpu | grep Flags", "gdb -batch -ex run -ex 'x/i $pc' --args {cmd|CMD}"),
    ),
    "SIGFPE": ("divided an integer by zero", ("gdb -batch -ex run -ex bt --args {cmd|CMD}",)),
    "SIGKILL": (
        "was killed from outside: most often the kernel's out-of-memory killer, else a job limit or a person",
        ("dmesg | grep -i 'killed process'", "free -h ; cat /sys/fs/cgroup/memory.events"),
    ),
    "SIGTERM": ("was asked to stop from outside (scheduler, timeout)", ()),
    "SIGINT": ("was interrupted from the keyboard", ()),
    "SIGPIPE": ("wrote to a pipe that nobody reads", ()),
    "SIGXCPU": ("used up its CPU time limit", ("ulimit -t",)),
    "SIGSYS": ("made a system call that the sandbox forbids", ()),
}


def ending(returncode: int) -> Ending:
    """Return what `returncode` means; negative is a signal, as in subprocess. so is 128 + n from a shell."""
    number = -returncode if returncode < 0 else returncode - 128 if 128 < returncode < 160 else 0
    status = 128 - returncode if returncode < 0 else returncode
    try:
        name = signal.Signals(number).name if number else ""
    except ValueError:
        name = ""
    if name:
        words, steps = _SIGNALS.get(name, ("ended by this signal", ()))
        return Ending(status, f"ended by {name} ({status}): it {words}", name not in ("SIGINT", "SIGPIPE"), steps)
    if returncode == 0:
        return Ending(0, "ended with 0", False)
    words = {
        124: " (timeout(1): it ran out of time)",
        126: " (found, but not executable)",
        127: " (command not found)",
    }.get(returncode, "")
    return Ending(status, f"ended with status {returncode}{words}", True)
