"""Runs that are interrupted, workers that are killed, disks that are full: right results, or one line that says so."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "kexec_lint", "check", "-j2", "--output-format", "concise"]

SLOW = """\
import numpy as np
import pyopencl as cl
SOURCE = "__kernel void square(__global const float *a, __global float *b) { b[0] = a[0]; }"
def f(ctx):
    host = np.ones(64, np.float32)
    queue = cl.CommandQueue(ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    program = cl.Program(ctx, SOURCE).build()
    x = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, host.nbytes)
    y = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, host.nbytes)
"""
PAIR = """\
    cl.enqueue_copy(queue, x, host, is_blocking=False)
    program.square(queue, host.shape, None, x, y)
"""


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose analysis takes some seconds: each file has many commands that must be compared."""
    top = tmp_path / "slow"
    top.mkdir()
    monkeypatch.chdir(top)
    for number in range(24):
        (top / f"f{number}.py").write_text(SLOW + PAIR * 60)
    return top


def workers(parent: int) -> list[int]:
    """Return the children of a process."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent and fields[0] != "Z":
                found.append(int(folder.name))
    return found


def started(environment: dict[str, str]) -> tuple[subprocess.Popen[str], list[int]]:
    """Start a run; return it with its workers once they are at work."""
    run = subprocess.Popen(
        COMMAND,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in what a shell runs behind
    )
    deadline = time.monotonic() + 30
    while len(children := workers(run.pid)) < 2:
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return run, children


def ended(pids: list[int]) -> bool:
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{pid}/stat").exists() and " Z " not in stat(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def stat(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return " Z "


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes through /proc")


@linux
@pytest.mark.parametrize(
    ("number", "code", "line"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_an_interrupt_is_one_line_and_leaves_no_worker(slow, environment, tool, number, code, line):
    run, children = started(environment)
    run.send_signal(number)
    out, err = run.communicate(timeout=20)
    assert (run.returncode, out, err.splitlines()[-1:]) == (code, "", [f"kexec-lint: {line}"])
    assert ended(children)
    cached, fresh = tool(*COMMAND[3:]), tool(*COMMAND[3:], "--no-cache")
    assert (cached.returncode, cached.stdout) == (1, fresh.stdout)


@linux
def test_a_killed_run_leaves_no_worker_and_a_sound_cache(slow, environment, tool):
    choose = random.Random(4)
    for turn in range(6):
        for number in range(12):  # what earlier ones have stored must not leave too little for workers
            (slow / f"f{number}.py").write_text(f"# {turn}\n{SLOW}{PAIR * 60}")
        run, children = started(environment)
        time.sleep(choose.random())
        run.kill()
        run.communicate()
        assert ended(children)
    cached, fresh = tool(*COMMAND[3:]), tool(*COMMAND[3:], "--no-cache")
    assert (cached.returncode, cached.stdout) == (1, fresh.stdout)


@linux
def test_killed_workers_lose_nothing(slow, environment, tool):
    expected = tool("check", "-j1", "--output-format", "concise", "--no-cache")
    run, children = started(environment)
    os.kill(children[0], signal.SIGKILL)
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out, err) == (1, expected.stdout, expected.stderr)


def test_a_reader_that_goes_away_is_no_fault(slow, environment):
    shell = f"{' '.join(COMMAND)} f1.py; echo $? >&2"
    called = subprocess.run(
        ["bash", "-c", f"( {shell} ) | true"], env=environment, stderr=subprocess.PIPE, text=True, check=False
    )
    assert called.stderr == "141\n"


@pytest.mark.parametrize("format", ["concise", "json"])
def test_a_full_disk_is_one_line(slow, environment, format):
    with open("/dev/full", "w") as full:
        command = [*COMMAND[:-1], format, "f1.py"]
        called = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert called.returncode == 2
    assert called.stderr == "kexec-lint: no space left on device, report not written\n"


def test_a_disk_that_fills_up_costs_the_report_and_never_the_result(slow, environment, tool, tmp_path):
    resource = pytest.importorskip("resource")

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))

    expected = tool("check", "f1.py", "f2.py", "--output-format", "concise", "--no-cache")
    cache = {"KEXEC_LINT_CACHE_DIR": str(tmp_path / "small")}
    called = tool("check", "f1.py", "f2.py", "--output-format", "concise", env=cache, preexec_fn=little)
    assert (called.returncode, called.stdout, called.stderr) == (1, expected.stdout, expected.stderr)
    report = tmp_path / "report.json"
    called = tool("check", "f1.py", "--output-format", f"json:{report}", env=cache, preexec_fn=little)
    assert called.returncode == 2
    assert called.stderr == f"kexec-lint: {report}: file too large, report not written\n"
    assert tool("check", "f1.py", "f2.py", "--output-format", "concise", env=cache).stdout == expected.stdout
