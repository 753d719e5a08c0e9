"""Every verdict for real: the stand-in framework asks, strace's fault injection refuses, the log is read back."""

# ruff: noqa: E501 - lines of logs stand as the tracers print them

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kexec_lint.boundary import logs
from kexec_lint.boundary.verdicts import Report, judge

pytestmark = pytest.mark.xdist_group("strace")

Node = Callable[[str], Path]
THIRD = "ioctl:error={}:when=3"
# mode of the framework, node, what strace refuses, the verdict
CASES = [
    ("swallowed", "dri/renderD128", THIRD.format("EIO"), "swallowed"),
    ("reported", "dri/renderD128", THIRD.format("EIO"), "reported"),
    ("reported", "dri/card0", THIRD.format("ENOMEM"), "reported"),
    ("pieces", "dri/renderD128", THIRD.format("EIO"), "reported"),
    ("relabelled", "dri/renderD128", THIRD.format("EACCES"), "relabelled"),
    ("relabelled", "dri/renderD128", THIRD.format("EIO"), "relabelled"),
    ("relabelled", "dri/renderD128", THIRD.format("ENOMEM"), "reported"),
    ("retried", "dri/renderD128", THIRD.format("ENOMEM"), "retried"),
    ("probe", "dri/renderD128", THIRD.format("EINVAL"), "probe"),
    ("probe-last", "dri/renderD128", THIRD.format("EINVAL"), "relabelled"),
    ("wait", "dri/renderD128", THIRD.format("ETIME"), None),
    ("swallowed", "dri/renderD128", THIRD.format("EINTR"), None),
    ("exit-only", "dri/renderD128", THIRD.format("ENODEV"), "reported"),
    ("abort", "dri/renderD128", THIRD.format("ECANCELED"), "reported"),
    ("open-reported", "kfd", "open:error=EACCES", "reported"),
    ("open-relabelled", "kfd", "open:error=EACCES", "relabelled"),
    ("open-relabelled", "kfd", "open:error=ENOMEM", "reported"),
    ("open-fallback", "dri/card0", "open:error=EPERM:when=1", "retried"),
    ("open-reported", "kgsl-3d0", "open:error=ENXIO", "reported"),
    ("open-reported", "mali0", "open:error=EPERM", "reported"),
]
OPTIONS = [
    "-f", "-f -y -tt -T", "-f -yy -ttt", "-f -r", "-f -X raw", "-f -X verbose -t", "-f -k", "-f -Y -n -i", "-f -r -tt -y",
    "-y", "-ff -ttt", "-ff", "-ff -k -y -tt",
]  # fmt: skip


def record(strace: str, options: str, inject: str, command: list[str], log: Path) -> int:
    line = [strace, *options.split(), "-s", "256", "-o", str(log), "-e", f"inject={inject}", *command]
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    assert done.returncode != 77, "the framework could not install its seccomp filter"
    return done.returncode


def read(log: Path) -> Report:
    return judge(logs.read(logs.expand([str(log)])))


@pytest.mark.parametrize(("mode", "name", "inject", "expected"), CASES, ids=lambda v: str(v).replace("/", "-"))
def test_verdict(
    strace: str,
    framework: Path,
    node: Node,
    tmp_path: Path,
    mode: str,
    name: str,
    inject: str,
    expected: str | None,
) -> None:
    log = tmp_path / "log"
    record(strace, "-f -y -tt -T", inject, [str(framework), str(node(name)), mode], log)
    found = [r for r in read(log).refusals if r.asked.call.injected]
    assert [r.verdict.value for r in found] == ([expected] if expected else [])
    if expected in ("reported", "relabelled") and found[0].message is not None:
        assert found[0].after is not None
        assert found[0].after < 5


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(
    ("mode", "expected"), [("relabelled", "relabelled"), ("swallowed", "swallowed"), ("retried", "retried")]
)
def test_every_form_of_log(
    strace: str, framework: Path, node: Node, tmp_path: Path, options: str, mode: str, expected: str
) -> None:
    log = tmp_path / "log"
    record(strace, options, THIRD.format("EIO"), [str(framework), str(node("dri/renderD128")), mode], log)
    (found,) = read(log).refusals
    assert (found.verdict.value, found.errno, found.asked.driver) == (expected, "EIO", "i915")
    assert "EXECBUFFER2" in found.asked.name
    assert bool(found.asked.call.stack) == ("-k" in options)
    if "-k" in options:
        assert any("main" in frame for frame in found.asked.call.stack)


@pytest.mark.parametrize("options", ["-f", "-f -y -ttt", "-ff -tt", "-f -X raw"])
def test_threads(strace: str, framework: Path, node: Node, tmp_path: Path, options: str) -> None:
    log = tmp_path / "log"
    record(strace, options, THIRD.format("EIO"), [str(framework), str(node("dri/renderD128")), "threads"], log)
    found = read(log).refusals
    assert len({r.asked.call.tid for r in found}) == 2
    assert len({r.asked.process for r in found}) == 1
    assert all(r.asked.path and r.asked.path.endswith("renderD128") for r in found)


@pytest.mark.parametrize("options", ["-f", "-f -y -ttt", "-ff -tt", "-ff", "-f -X raw"])
def test_fork_inherits_descriptors(strace: str, framework: Path, node: Node, tmp_path: Path, options: str) -> None:
    log = tmp_path / "log"
    record(strace, options, THIRD.format("ENOMEM"), [str(framework), str(node("dri/renderD128")), "fork"], log)
    (found,) = read(log).refusals
    assert found.verdict.value == "swallowed"
    assert found.asked.path is not None
    assert found.asked.path.endswith("renderD128")
    assert found.asked.process == found.asked.call.tid


def test_log_mixed_with_the_programs_own_output(strace: str, framework: Path, node: Node, tmp_path: Path) -> None:
    inject = f"inject={THIRD.format('EACCES')}"
    line = [
        strace,
        "-f",
        "-e",
        "trace=ioctl,open,write",
        "-e",
        inject,
        str(framework),
        str(node("dri/renderD128")),
        "relabelled",
    ]
    text = subprocess.run(line, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False).stderr
    log = tmp_path / "log"
    log.write_text(text)
    (found,) = read(log).refusals
    assert found.verdict.value == "relabelled"
    assert found.message is not None
    assert "CL_OUT_OF_RESOURCES" in found.message.text
