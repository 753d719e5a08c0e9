"""Tracing through eBPF in place of ptrace: a bpftrace program, or perf trace where there is no bpftrace.

The command waits behind a gate until the tracer is attached; it stays our own child, so that its exit status and
signals need no relay.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from kexec_lint.boundary.dialects import parse_perf
from kexec_lint.boundary.errnos import linux_name
from kexec_lint.boundary.events import Call, Event, Exit
from kexec_lint.boundary.live import Outcome, Unable, executable, wait_for
from kexec_lint.boundary.logs import Birth, Trace, trace
from kexec_lint.boundary.nvstatus import loaded_release, places
from kexec_lint.boundary.requests import tables

GATE = "import os, sys; fd = int(sys.argv[1]); os.read(fd, 1); os.close(fd); os.execvp(sys.argv[2], sys.argv[2:])"
ATTACH_WITHIN = 30.0
PERF_EVENTS = "ioctl,openat,close,dup,dup2,dup3,write,exit_group,clone,clone3"


def program(nvstatus: bool) -> str:
    """Return the bpftrace program, with the reading of NvStatus if asked for."""
    text = (files("kexec_lint.boundary") / "data" / "trace.bt").read_text(encoding="utf-8")
    old = Path("/sys/kernel/tracing/events/syscalls/sys_enter_open").exists()  # newer architectures have openat alone
    for word, probe in (("OPENS", "sys_enter_open"), ("OPENED", "sys_exit_open")):
        text = text.replace(f" {word} /", f", tracepoint:syscalls:{probe} /" if old else " /")
    if not nvstatus:
        return text.replace("  STATUS\n", "  $s = (uint32)0;\n")
    tests = []
    for place in places(loaded_release()):
        row = tables().by_name[place.request][0]
        if place.driver == "nvidia":
            number = 3 << 30 | (place.size or 0) << 16 | row.type << 8 | row.nr
        else:
            number = (row.size or 0) << 16 | row.type << 8 | row.nr
        tests.append(f"if (@cmd[tid] == {number:#x}) {{ $at = (uint64){(place.offset or 0) + 1}; }}")
    read = "if ($at > 0 && args->ret == 0) { $s = *(uint32 *)uptr(@arg[tid] + $at - 1); }"
    return text.replace(
        "  STATUS\n", "".join(f"  {line}\n" for line in ["$s = (uint32)0; $at = (uint64)0;", *tests, read])
    )


def run_bpftrace(
    command: Sequence[str], nvstatus: bool, log: Path | None = None, say: Callable[[str], None] | None = None
) -> Outcome:
    """Run a command while bpftrace (or perf trace) records its driver calls.

    `log` is a file that keeps the tracer's own lines; `say` hears what the tracer at hand cannot show.

    Raises:
        Unable: neither tool is installed or permitted, or the command does not exist.
    """
    executable(command)
    tool = next((t for t in ("bpftrace", "perf") if shutil.which(t)), None)
    if tool is None:
        raise Unable("--bpf needs bpftrace (package `bpftrace`) or perf (package `linux-perf`); neither is installed")
    if tool == "perf" and nvstatus:
        raise Unable("--bpf --nvstatus needs bpftrace: perf cannot read argument structs")
    if tool == "perf" and say is not None:
        say("bpftrace is not installed: perf trace shows no file names and no messages, so refused opens stay unseen")
    with tempfile.TemporaryDirectory(prefix="kexec-bpf-") as name:
        folder = Path(name)
        read_end, write_end = os.pipe()
        gate = [sys.executable, "-c", GATE, str(read_end), *command]
        child = subprocess.Popen(gate, pass_fds=(read_end,))
        os.close(read_end)
        record = folder / "record"
        try:
            tracer = (
                _attach_bpftrace(child.pid, record, nvstatus) if tool == "bpftrace" else _attach_perf(child.pid, record)
            )
        except Unable:
            child.kill()
            child.wait()
            raise
        finally:
            os.close(write_end)  # opens the gate
        returncode = wait_for(child)
        time.sleep(0.2)  # the last events are still on their way through the ring buffer
        _finish(tracer)
        if log is not None:
            shutil.copyfile(record, log)
        with record.open(encoding="utf-8", errors="replace") as lines:
            got = (
                bpf_trace(lines, child.pid)
                if tool == "bpftrace"
                else trace([list(parse_perf(lines, "perf"))], ["perf"])
            )
    status, died = (returncode, None) if returncode >= 0 else (None, signal.Signals(-returncode).name)
    last = Exit("bpf", 0, child.pid, None, status, died)
    return Outcome(replace(got, events=(*got.events, last)), returncode)


def _finish(tracer: subprocess.Popen[bytes]) -> None:
    """Let the tracer write what it still holds and end; bpftrace 0.17 can miss a signal that precedes its poll."""
    for _ in range(40):
        tracer.send_signal(signal.SIGINT)
        try:
            tracer.wait(timeout=0.5)
            return
        except subprocess.TimeoutExpired:
            continue
    tracer.kill()
    tracer.wait()


def _attach_bpftrace(pid: int, record: Path, nvstatus: bool) -> subprocess.Popen[bytes]:
    source, errors = record.with_suffix(".bt"), record.with_suffix(".err")
    source.write_text(program(nvstatus), encoding="utf-8")
    settings = os.environ | {"BPFTRACE_STRLEN": "200"}
    line = ["bpftrace", "-q", "-B", "line", str(source), str(pid)]
    with errors.open("wb") as sink, record.open("wb") as output:  # its -o is written at the end only
        tracer = subprocess.Popen(line, stdout=output, stderr=sink, env=settings, start_new_session=True)
    deadline = time.monotonic() + ATTACH_WITHIN
    while time.monotonic() < deadline and tracer.poll() is None:
        if record.exists() and record.stat().st_size:
            return tracer
        time.sleep(0.02)
    tracer.kill()
    tracer.wait()
    raise Unable(
        f"bpftrace may not trace here ({_reason(errors)}): it needs root or CAP_BPF and CAP_PERFMON, and tracefs"
    )


def _attach_perf(pid: int, record: Path) -> subprocess.Popen[bytes]:
    errors = record.with_suffix(".err")
    with errors.open("wb") as sink:
        line = ["perf", "trace", "-p", str(pid), "-e", PERF_EVENTS, "-o", str(record)]
        tracer = subprocess.Popen(line, stdout=sink, stderr=sink, start_new_session=True)
    deadline = time.monotonic() + ATTACH_WITHIN
    while time.monotonic() < deadline and tracer.poll() is None:
        if any("perf_event" in target for target in _open_files(tracer.pid)):
            time.sleep(0.3)
            if tracer.poll() is None:
                return tracer
        time.sleep(0.02)
    tracer.kill()
    tracer.wait()
    raise Unable(
        f"perf may not trace here ({_reason(errors)}): it needs root, or kernel.perf_event_paranoid=-1 and tracefs"
    )


def _open_files(pid: int) -> list[str]:
    folder = Path(f"/proc/{pid}/fd")
    found = []
    for entry in folder.iterdir() if folder.exists() else ():
        try:
            found.append(os.readlink(entry))
        except OSError:
            continue  # closed between the listing and the look
    return found


def _reason(errors: Path) -> str:
    lines = [line.strip() for line in errors.read_text(errors="replace").splitlines() if line.strip()]
    return next((line for line in lines if "RLIMIT_MEMLOCK" not in line), "no reason given")


def bpf_trace(lines: Iterable[str], pid: int) -> Trace:
    """Return the trace that the bpftrace program recorded of process `pid`."""
    births: dict[int, Birth] = {}
    events = list(_events(lines, births))
    for event in events:
        births.setdefault(event.tid, Birth(pid, True, True))
    births.pop(pid, None)
    return Trace(tuple(events), births, ("bpftrace",), True)


RECORD = re.compile(r"([IOCDWX]) (\d+) (\d+) (\d+) (.*)$", re.S)


def _events(lines: Iterable[str], births: dict[int, Birth]) -> Iterator[Event]:
    parents: dict[int, int] = {}
    for number, raw in enumerate(lines, 1):
        text = raw.rstrip("\n")
        fork = re.match(r"F (\d+) (\d+)$", text)
        if fork:
            parents[int(fork[2])] = int(fork[1])
            continue
        match = RECORD.match(text)
        if match is None:
            continue
        what, process, tid, time_ = match[1], int(match[2]), int(match[3]), int(match[4]) / 1e9
        if tid != process:
            births[tid] = Birth(process, True, True)
        elif tid in parents:
            births[tid] = Birth(parents[tid], False, False)
        event = _event(what, match[5], tid, time_, number)
        if event is not None:
            yield event


def _event(what: str, rest: str, tid: int, at: float, line: int) -> Event | None:
    if what == "W":
        fd, _, text = rest.partition(" ")
        quoted = text.replace('"', '\\"')
        return Call("bpftrace", line, tid, "write", (fd, f'"{quoted}"'), at)
    fields = rest.split(" ", 4 if what == "I" else 3)
    if what == "X":
        return Exit("bpftrace", line, tid, at, int(fields[0]) & 0xFF, None)
    if what == "C":
        return Call("bpftrace", line, tid, "close", (fields[0],), at, result=0)
    if what == "D":
        return Call("bpftrace", line, tid, "dup", (fields[1],), at, result=int(fields[0]))
    if what == "O" and len(fields) == 4:
        result = int(fields[1])
        args = ("AT_FDCWD", f'"{fields[3]}"', f"0x{fields[2]}")
        return _result(Call("bpftrace", line, tid, "openat", args, at, duration=int(fields[0]) / 1e9), result)
    if what == "I" and len(fields) == 5:
        argument, _, status = fields[4].partition(" ")
        args = (fields[2], f"0x{fields[3]}", f"0x{argument}")
        call = Call("bpftrace", line, tid, "ioctl", args, at, duration=int(fields[0]) / 1e9)
        return _result(replace(call, status=int(status, 16) or None), int(fields[1]))
    return None


def _result(call: Call, result: int) -> Call:
    if result >= 0:
        return replace(call, result=result)
    return replace(call, result=-1, errno=linux_name(-result), status=None)
