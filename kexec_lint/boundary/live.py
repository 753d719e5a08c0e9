"""Run a command under a tracer: its streams, exit status and signals untouched, its driver calls collected."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kexec_lint.boundary import strace
from kexec_lint.boundary.events import Event
from kexec_lint.boundary.logs import Trace, trace

TRACED = (
    "ioctl,openat,open,openat2,access,faccessat,faccessat2,close,dup,dup2,dup3,fcntl,write,writev,clone,clone3,fork,"
    "vfork,execve,exit_group,readlink,readlinkat"
)
PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT)


class Unable(Exception):
    """The tracer is missing or not permitted; the text is one line for the user."""


@dataclass(frozen=True)
class Outcome:
    """What was traced, and how the command ended (`returncode` as subprocess has it: minus a signal's number)."""

    trace: Trace
    returncode: int


@dataclass
class Collected:
    """Events as they arrive from the tracer."""

    events: list[Event] = field(default_factory=list)


def strace_options(seccomp: bool, stack: bool) -> list[str]:
    """Return strace's cheap settings: only the calls that are read, filtered in the kernel where it can."""
    options = ["-f", "-y", "-ttt", "-T", "-s", "256", "-e", f"trace={TRACED}", "-e", "signal=none"]
    return options + (["--seccomp-bpf"] if seccomp else []) + (["-k"] if stack else [])


def find_strace(seccomp: bool = True) -> tuple[str, bool]:
    """Return strace's path and whether it can filter in the kernel, after trying it.

    Raises:
        Unable: it is not installed, or may not trace.
    """
    found = shutil.which("strace")
    if found is None:
        raise Unable("strace is not installed: install the package `strace`, or use --nvstatus or --bpf without it")
    for filtered in (True, False) if seccomp else (False,):
        test = [
            found,
            "-f",
            *(["--seccomp-bpf"] if filtered else []),
            "-e",
            "trace=exit_group",
            "-o",
            os.devnull,
            "true",
        ]
        tried = subprocess.run(test, capture_output=True, text=True, check=False)
        if tried.returncode == 0 and "--seccomp-bpf" not in tried.stderr:
            return found, filtered
    reason = next((line for line in tried.stderr.splitlines() if line.strip()), "no reason given")
    raise Unable(
        f"strace may not trace here ({reason.strip()}): allow ptrace (in a container: --cap-add=SYS_PTRACE; "
        "on the host: kernel.yama.ptrace_scope=1), or use --nvstatus or --bpf"
    )


def executable(command: Sequence[str]) -> None:
    """Raise Unable if there is no such command."""
    if shutil.which(command[0]) is None:
        raise Unable(f"{command[0]}: no such command")


def run_strace(
    command: Sequence[str],
    *,
    seccomp: bool = True,
    stack: bool = False,
    preload: dict[str, str] | None = None,
    log: Path | None = None,
    each: Callable[[Event], None] | None = None,
) -> Outcome:
    """Run a command under strace and collect its events; `each` sees every event as it arrives.

    `preload` are environment variables for the command alone, `log` a file that keeps strace's own lines.

    Raises:
        Unable: strace is missing or not permitted, or the command does not exist.
    """
    executable(command)
    found, filtered = find_strace(seccomp)
    with tempfile.TemporaryDirectory(prefix="kexec-boundary-") as folder:
        pipe = os.path.join(folder, "strace")
        os.mkfifo(pipe)
        variables = [part for name, value in (preload or {}).items() for part in ("-E", f"{name}={value}")]
        # -D makes the command our own child and the tracer its grandchild: signals and exit status need no relay
        line = [found, "-D", *strace_options(filtered, stack), *variables, "-o", pipe, "--", *command]
        collected = Collected()
        reader = threading.Thread(target=_collect, args=(pipe, collected, log, each), daemon=True)
        reader.start()
        returncode = wait_for(subprocess.Popen(line), pipe)
        reader.join()
    events = collected.events
    return Outcome(trace([events], ["strace"]), returncode)


def _collect(pipe: str, collected: Collected, log: Path | None, each: Callable[[Event], None] | None) -> None:
    with open(pipe, encoding="utf-8", errors="replace") as lines:
        keep = log.open("w", encoding="utf-8") if log is not None else None
        try:
            for event in strace.parse(_kept(lines, keep), str(log) if log else "strace"):
                collected.events.append(event)
                if each is not None:
                    each(event)
        finally:
            if keep is not None:
                keep.close()


def _kept(lines: Iterator[str], keep: object) -> Iterator[str]:
    for line in lines:
        if keep is not None:
            keep.write(line)  # type: ignore[attr-defined]
        yield line


def wait_for(child: subprocess.Popen[bytes], pipe: str | None = None) -> int:
    """Wait for the command, handing on signals sent to us; a terminal sends its own to the whole group."""
    forward = PASSED_ON if sys.stdin is not None and sys.stdin.isatty() else (*PASSED_ON, signal.SIGINT)
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (*PASSED_ON, signal.SIGINT):
            hand_on = number in forward
            before[number] = signal.signal(number, _handler(child, hand_on))
    try:
        returncode = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if pipe is not None:
        release(pipe)
    return returncode


def _handler(child: subprocess.Popen[bytes], hand_on: bool) -> Callable[[int, object], None]:
    def handle(number: int, frame: object) -> None:
        if hand_on:
            child.send_signal(number)

    return handle


def release(pipe: str) -> None:
    """Let a reader go that waits for a tracer which never opened its end."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return  # no reader is waiting: the tracer came and went


def end_as(returncode: int) -> int:
    """Return the exit status to end with; if the command died by a signal, die by the same one."""
    if returncode >= 0:
        return returncode
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command has dumped its own core, if any
    signal.signal(-returncode, signal.SIG_DFL)
    os.kill(os.getpid(), -returncode)
    return 128 - returncode
