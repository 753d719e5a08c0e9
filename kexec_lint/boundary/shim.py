"""The NvStatus shim: compiled on the spot, preloaded into the command, its record read back as calls."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import IO

from kexec_lint.boundary import strace
from kexec_lint.boundary.events import Call, Event, Exit, Printed
from kexec_lint.boundary.live import Outcome, Unable, executable, wait_for
from kexec_lint.boundary.logs import trace
from kexec_lint.boundary.nvstatus import loaded_release, places
from kexec_lint.boundary.requests import tables

RECORD = "KEXEC_LINT_NVSTATUS"


def c_table() -> str:
    """Return places.h: where each request keeps its NvStatus, as C initialisers."""
    rows = []
    for place in places(loaded_release()):
        row = tables().by_name[place.request][0]
        number = row.nr if place.driver == "nvidia" else row.nr | row.type << 8 | (row.size or 0) << 16
        driver = "RM" if place.driver == "nvidia" else "UVM"
        rows.append(f"{{{driver}, {number:#x}, {place.size or 0}, {place.offset}}}")
    return "#define PLACES " + ", ".join(rows) + "\n"


def compile_shim(folder: Path) -> Path:
    """Compile the shim into `folder` and return its path.

    Raises:
        Unable: no C compiler, or it failed.
    """
    compiler = next((c for c in (os.environ.get("CC"), "cc", "gcc", "clang") if c and shutil.which(c.split()[0])), None)
    if compiler is None:
        raise Unable("--nvstatus compiles a small C file and found no compiler: install gcc or clang, or set CC")
    source, library = folder / "shim.c", folder / "shim.so"
    text = (files("kexec_lint.boundary") / "data" / "nvstatus_shim.c").read_text(encoding="utf-8")
    source.write_text(c_table() + text, encoding="utf-8")
    line = [*compiler.split(), "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unable(f"--nvstatus: {compiler} could not compile the shim: {done.stderr.strip().splitlines()[0]}")
    return library


def environment(library: Path, record: Path) -> dict[str, str]:
    """Return the variables that load the shim into a command and tell it where to write."""
    before = os.environ.get("LD_PRELOAD")
    return {"LD_PRELOAD": f"{library}:{before}" if before else str(library), RECORD: str(record)}


def recorded(record: Path) -> list[Call]:
    """Return the calls of a shim's record; an empty list if the command asked NVIDIA's driver nothing."""
    if not record.exists():
        return []
    found = []
    with record.open(encoding="utf-8", errors="replace") as lines:
        for event in strace.parse(lines, str(record)):
            if isinstance(event, Call):
                found.append(event)
    return found


def run_alone(command: Sequence[str], library: Path, record: Path) -> Outcome:
    """Run a command with the shim and no tracer; its stderr passes through a pipe, which is how messages are seen.

    Raises:
        Unable: there is no such command.
    """
    executable(command)
    child = subprocess.Popen(list(command), env=os.environ | environment(library, record), stderr=subprocess.PIPE)
    assert child.stderr is not None
    heard: list[Printed] = []
    reader = threading.Thread(target=_pass_through, args=(child.stderr, heard, child.pid), daemon=True)
    reader.start()
    returncode = wait_for(child)
    reader.join(timeout=5)
    events: list[Event] = sorted([*recorded(record), *heard], key=lambda e: e.time or 0.0)
    status, died = (returncode, None) if returncode >= 0 else (None, f"signal {-returncode}")
    events.append(Exit("nvstatus", 0, child.pid, time.time(), status, died))
    shim = [replace(e, tid=child.pid) if isinstance(e, Printed) else e for e in events]
    return Outcome(trace([shim], ["nvstatus"]), returncode)


def _pass_through(stream: IO[bytes], heard: list[Printed], pid: int) -> None:
    number, left = 0, b""
    while piece := os.read(stream.fileno(), 65536):
        os.write(2, piece)
        *lines, left = (left + piece).split(b"\n")
        for line in lines:
            number += 1
            heard.append(Printed("stderr", number, pid, time.time(), line.decode("utf-8", "replace")))
    if left:
        heard.append(Printed("stderr", number + 1, pid, time.time(), left.decode("utf-8", "replace")))
