"""`kexec-lint boundary`: reading files, running commands, the forms of the report."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kexec_lint.cli import cli

Node = Callable[[str], Path]
DATA = Path(__file__).parent / "data"
SWALLOWED = """\
9 10:00:00.100000 openat(AT_FDCWD, "/dev/dri/renderD128", O_RDWR) = 3 <0.000100>
9 10:00:00.200000 ioctl(3, DRM_IOCTL_I915_GETPARAM, 0x7f) = -1 EINVAL (Invalid argument) <0.000010>
9 10:00:00.300000 ioctl(3, DRM_IOCTL_I915_GEM_EXECBUFFER2, 0x7f) = -1 EIO (Input/output error) <0.000020>
9 10:00:00.400000 ioctl(3, DRM_IOCTL_I915_QUERY, 0x7f) = 0 <0.000010>
9 10:00:00.500000 +++ exited with 0 +++
"""


def read(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["boundary", "read", *arguments], input=text)


def run(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "kexec_lint", "boundary", "run", *arguments]
    return subprocess.run(
        line, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=90, **more
    )  # type: ignore[call-overload, no-any-return]


def test_text(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(SWALLOWED)
    got = read(str(log))
    first, *rest = got.stdout.splitlines()
    assert got.exit_code == 1
    assert first.startswith(f"{log}:3: swallowed ")
    for part in ("DRM_IOCTL_I915_GEM_EXECBUFFER2", "EIO", "/dev/dri/renderD128", "i915", "thread 9", "status 0"):
        assert part in first
    assert not any("GETPARAM" in line for line in rest)
    assert "does not prove" in rest[-1]
    assert any("GETPARAM" in line for line in read(str(log), "--all").stdout.splitlines())


def test_json() -> None:
    got = read("-", "--output-format", "json", text=SWALLOWED)
    record = json.loads(got.stdout)
    probe, refusal = record["refusals"]
    assert (probe["verdict"], refusal["verdict"]) == ("probe", "swallowed")
    assert (refusal["errno"], refusal["driver"], refusal["tid"], refusal["fd"], refusal["class"]) == (
        "EIO",
        "i915",
        9,
        3,
        "submit",
    )
    assert refusal["t"] == pytest.approx(36000.3)
    assert record["summary"]["verdicts"] == {"probe": 1, "swallowed": 1}


def test_exit_codes(tmp_path: Path) -> None:
    clean = SWALLOWED.replace("-1 EIO (Input/output error)", "0")
    assert read("-", text=clean).exit_code == 0
    missing = read(str(tmp_path / "none"))
    assert missing.exit_code == 2
    assert len(missing.stderr.splitlines()) == 1
    empty = tmp_path / "empty"
    empty.write_text("")
    assert read(str(empty)).exit_code == 2
    empty.write_bytes(b"\x1f\x8b\x08\x00damaged")
    assert read(str(empty)).exit_code == 2
    empty.write_text("a text that no tracer wrote\n")
    assert read(str(empty)).exit_code == 2


def test_no_driver_call_is_said() -> None:
    got = read("-", text="ioctl(1, TCGETS, 0x7f) = -1 ENOTTY (Inappropriate ioctl for device)\n+++ exited with 0 +++\n")
    assert got.exit_code == 0
    assert "No driver call" in got.stdout


@pytest.mark.parametrize("name", ["t.html", "t.json"])
def test_timeline(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log"
    log.write_text(SWALLOWED)
    assert read(str(log), "--timeline", str(tmp_path / name)).exit_code == 1
    text = (tmp_path / name).read_text()
    assert "DRM_IOCTL_I915_GEM_EXECBUFFER2" in text
    if name.endswith("json"):
        events = json.loads(text)["traceEvents"]
        assert [e["cat"] for e in events] == ["open", "probe", "swallowed", "query"]
        assert events[2]["ts"] == pytest.approx(200_000)


def test_timeline_of_another_kind_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(SWALLOWED)
    assert read(str(log), "--timeline", str(tmp_path / "t.png")).exit_code == 2


RECORDED = {
    "import-torch.log.gz": (0, []),
    "h200-good.log.gz": (0, []),
    "h200-oom.log.gz": (1, ["reported"] * 4),
    "h200-assert.log.gz": (0, ["blind"]),
    "perf-trace.log": (0, []),
    "strace-stderr.log": (1, ["relabelled"]),
    "ff": (1, ["reported", "reported"]),
}
"""Logs recorded from programs of our own: a CPU build of torch, an H200, the stand-in framework."""


@pytest.mark.parametrize("name", RECORDED)
def test_recorded(name: str, tmp_path: Path) -> None:
    path = DATA / name
    if name.endswith(".gz"):
        path = tmp_path / "log"  # a compressed log is read as it is, whatever its name
        path.write_bytes((DATA / name).read_bytes())
    got = read(str(path), "--output-format", "json")
    code, expected = RECORDED[name]
    found = [r["verdict"] for r in json.loads(got.stdout)["refusals"] if r["verdict"] != "probe"]
    assert (got.exit_code, found) == (code, expected)


def test_run_reports_and_passes_everything_through(strace: str, framework: Path, node: Node, tmp_path: Path) -> None:
    log = tmp_path / "log"
    got = run("--log", str(log), "--", str(framework), str(node("dri/renderD128")), "nvidia")
    assert got.returncode == 0
    assert "does not prove" in got.stderr
    assert log.stat().st_size > 0
    assert got.stdout == ""


@pytest.mark.parametrize(
    ("command", "status"), [("exit 7", 7), ("echo out; echo err >&2", 0), ("kill -TERM $$", -signal.SIGTERM)]
)
def test_run_ends_as_the_command_ends(strace: str, command: str, status: int) -> None:
    got = run("--", "sh", "-c", command)
    assert got.returncode == status
    if "out" in command:
        assert got.stdout == "out\n"
        assert got.stderr.startswith("err\n")


def test_run_hands_signals_on(strace: str) -> None:
    line = [
        sys.executable,
        "-m",
        "kexec_lint",
        "boundary",
        "run",
        "--",
        "sh",
        "-c",
        "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done",
    ]
    child = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=20) == 9


def test_run_json_goes_to_stdout_and_output_to_a_file(strace: str, tmp_path: Path) -> None:
    assert json.loads(run("--output-format", "json", "--", "true").stdout)["refusals"] == []
    report = tmp_path / "report"
    assert run("--output", str(report), "--", "true").stderr == ""
    assert "No driver call" in report.read_text()


def test_run_says_what_is_missing(tmp_path: Path) -> None:
    got = run("--", "true", env=os.environ | {"PATH": str(tmp_path)})
    assert got.returncode == 2
    assert len(got.stderr.splitlines()) == 1
    without = tmp_path / "bin"
    without.mkdir()
    (without / "true").symlink_to(shutil.which("true") or "/bin/true")
    got = run("--", "true", env=os.environ | {"PATH": str(without)})
    assert got.returncode == 2
    assert "install the package `strace`" in got.stderr
    assert len(got.stderr.splitlines()) == 1
    fake = without / "strace"
    fake.write_text(
        "#!/bin/sh\necho 'strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted' >&2\nexit 1\n".replace(
            "/bin/sh", shutil.which("sh") or "/bin/sh"
        )
    )
    fake.chmod(0o755)
    got = run("--", "true", env=os.environ | {"PATH": str(without)})
    assert got.returncode == 2
    assert "Operation not permitted" in got.stderr
    assert len(got.stderr.splitlines()) == 1


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(("status", "code"), [("0x51", 1), ("0", 0)])
def test_nvstatus(
    strace: str, framework: Path, node: Node, tmp_path: Path, alone: bool, status: str, code: int
) -> None:
    """ioctl returns 0 both times; the answer stands in the struct."""
    variables = dict(os.environ)
    if alone:
        tools = tmp_path / "bin"
        tools.mkdir()
        for tool in ("cc", "gcc", "as", "ld", "collect2", "sh"):
            if found := shutil.which(tool):
                (tools / tool).symlink_to(found)
        variables["PATH"] = str(tools)
    target = node("nvidiactl")
    got = run(
        "--nvstatus",
        "--no-seccomp-bpf",
        "--output-format",
        "json",
        "--",
        str(framework),
        str(target),
        "nvidia",
        status,
        env=variables,
    )
    assert got.returncode == code, got.stderr
    found = json.loads(got.stdout)["refusals"]
    if status == "0":
        assert found == []
    else:
        (refusal,) = found
        assert (refusal["verdict"], refusal["nvstatus_name"], refusal["detail"]) == (
            "reported",
            "NV_ERR_NO_MEMORY",
            "class=0x40",
        )
        assert "out of memory" in refusal["message"]["text"]


def test_refusal_is_announced_while_the_command_runs(strace: str, framework: Path, node: Node, tmp_path: Path) -> None:
    wrapper = tmp_path / "strace"
    wrapper.write_text(f'#!/bin/sh\nexec {strace} -e inject=ioctl:error=EIO:when=3 "$@"\n')
    wrapper.chmod(0o755)
    variables = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    got = run("--no-seccomp-bpf", "--", str(framework), str(node("dri/renderD128")), "swallowed", env=variables)
    assert "refused: ioctl DRM_IOCTL_I915_GEM_EXECBUFFER2 = -1 EIO" in got.stderr
    assert "swallowed  ioctl DRM_IOCTL_I915_GEM_EXECBUFFER2" in got.stderr


def permitted() -> bool:
    return os.geteuid() == 0 and shutil.which("bpftrace") is not None and Path("/sys/kernel/tracing/events").is_dir()


@pytest.mark.skipif(not permitted(), reason="needs bpftrace (package bpftrace), root and tracefs")
def test_bpf_sees_what_strace_sees(strace: str, framework: Path, tmp_path: Path) -> None:
    """A socket stands in for a node that the driver refuses to open: the kernel answers ENXIO to everybody."""
    folder = tmp_path / "dev"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as node:
        node.bind(str(folder / "kfd"))
        for tracer in ("--bpf", "--stack"):
            got = run(tracer, "--output-format", "json", "--", str(framework), str(folder / "kfd"), "open-reported")
            assert got.returncode == 1
            (refusal,) = json.loads(got.stdout)["refusals"]
            assert (refusal["verdict"], refusal["errno"], refusal["path"]) == (
                "reported",
                "ENXIO",
                str(folder / "kfd"),
            )
            assert "No such device" in refusal["message"]["text"]


def test_bpf_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "true").symlink_to(shutil.which("true") or "/bin/true")
    got = run("--bpf", "--", "true", env=os.environ | {"PATH": str(tmp_path)})
    assert got.returncode == 2
    assert "bpftrace" in got.stderr
    assert len(got.stderr.splitlines()) == 1


def test_bpf_through_perf_keeps_its_log_and_says_what_it_cannot_see(tmp_path: Path) -> None:
    for name in ("perf", "true"):
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"needs {name}")
        (tmp_path / name).symlink_to(found)
    log = tmp_path / "log"
    got = run("--bpf", "--log", str(log), "--", "true", env=os.environ | {"PATH": str(tmp_path)})
    if "may not trace here" in got.stderr:
        pytest.skip("perf may not trace here")
    assert got.returncode == 0
    assert "no file names and no messages" in got.stderr.splitlines()[0]
    assert "exit_group(" in log.read_text(encoding="utf-8")
    assert read(str(log)).exit_code == 0


def test_bpf_has_no_stacks() -> None:
    got = run("--bpf", "--stack", "--", "true")
    assert (got.returncode, got.stderr) == (2, "kexec-lint: --stack needs strace: leave out --bpf\n")


def test_reading_is_quick() -> None:
    rows = (
        SWALLOWED.splitlines()[:4]
        + ["9 10:00:00.450000 ioctl(1, TCGETS, 0x7f) = -1 ENOTTY (Inappropriate ioctl for device) <0.000001>"] * 12_000
    )
    text = "\n".join(rows)
    assert len(text) > 1_000_000
    start = time.perf_counter()
    assert read("-", text=text).exit_code == 1
    assert time.perf_counter() - start < 4
