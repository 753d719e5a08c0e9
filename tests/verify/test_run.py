"""`verify run`: real programs recorded, judged, gated; their output, exit code and exceptions stay their own."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyopencl", reason="pip install 'kexec-lint[verify]'")

from recorded import HEAD, found, run

pytestmark = pytest.mark.usefixtures("on_pocl")

CASES = {
    "out-of-order": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "up = cl.enqueue_copy(q, x, host, is_blocking=False)\n"
        "e = program.copy(q, (64,), None, x, y)  # expect: OCL101\n"
        "cl.enqueue_copy(q, host, y, wait_for=[e])\n"
        "up.wait()\n"
    ),
    "two-queues": (
        "a, b = cl.CommandQueue(ctx), cl.CommandQueue(ctx)\n"
        "program.fill(a, (64,), None, x)\n"
        "cl.enqueue_copy(b, host, x)  # expect: OCL101\n"
        "a.finish()\n"
    ),
    "marker": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "program.fill(q, (64,), None, x)\n"
        "cl.enqueue_marker(q)\n"
        "e = program.twice(q, (64,), None, x)  # expect: OCL103\n"
        "q.finish()\n"
    ),
    "partial-list": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "one = program.fill(q, (64,), None, x)\n"
        "two = program.fill(q, (64,), None, y)\n"
        "program.copy(q, (64,), None, x, y, wait_for=[two])  # expect: OCL102\n"
        "q.finish()\n"
    ),
    "wrong-queue": (
        "a, b = cl.CommandQueue(ctx), cl.CommandQueue(ctx)\n"
        "program.fill(a, (64,), None, x)\n"
        "b.finish()\n"
        "program.copy(b, (64,), None, x, y)  # expect: OCL105\n"
        "a.finish()\n"
        "b.finish()\n"
    ),
    "overlapping-parts": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "whole = cl.Buffer(ctx, RW, 16384)\n"
        "program.fill(q, (2048,), None, whole.get_sub_region(0, 8192))\n"
        "program.fill(q, (2048,), None, whole.get_sub_region(4096, 8192))  # expect: OCL108\n"
        "q.finish()\n"
    ),
    "unmap": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "view, _ = cl.enqueue_map_buffer(q, x, cl.map_flags.WRITE, 0, (64,), np.float32)\n"
        "view[:] = 3\n"
        "view.base.release()\n"
        "program.twice(q, (64,), None, x)  # expect: OCL101\n"
        "q.finish()\n"
    ),
    "array-set": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "a = cla.to_device(q, host)\n"
        "a += 1\n"
        "a.set(np.zeros(64, np.float32), async_=True)  # expect: OCL503\n"
        "q.finish()\n"
    ),
    "array-minus": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "a = cla.to_device(q, host)\n"
        "a -= 2\n"
        "a.get()  # expect: OCL503\n"
        "q.finish()\n"
    ),
    "array-zeros-from-a-pool": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "pool = MemoryPool(ImmediateAllocator(q))\n"
        "a = cla.to_device(q, host, allocator=pool)\n"
        "b = a + a\n"
        "del a\n"
        "c = cla.zeros(q, 64, np.float32, allocator=pool)  # expect: OCL504\n"
        "q.finish()\n"
    ),
    "generated-code": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "names = ['fi' + 'll', 'twi' + 'ce']\n"
        "for name in names:\n"
        "    getattr(program, name)(q, (64,), None, x)  # expect: OCL101\n"
        "q.finish()\n"
    ),
}
SILENT = {
    "events": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "up = cl.enqueue_copy(q, x, host, is_blocking=False)\n"
        "e = program.copy(q, (64,), None, x, y, wait_for=[up])\n"
        "cl.enqueue_copy(q, host, y, wait_for=[e])\n"
    ),
    "in-order": ("q = cl.CommandQueue(ctx)\nfor _ in range(300):\n    program.twice(q, (64,), None, x)\nq.finish()\n"),
    "finish-between": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "for _ in range(50):\n"
        "    program.twice(q, (64,), None, x)\n"
        "    q.finish()\n"
    ),
    "barrier": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "program.fill(q, (64,), None, x)\n"
        "cl.enqueue_barrier(q)\n"
        "program.twice(q, (64,), None, x)\n"
        "q.finish()\n"
    ),
    "marker-event": (
        "a, b = cl.CommandQueue(ctx, properties=OOO), cl.CommandQueue(ctx)\n"
        "program.fill(a, (64,), None, x)\n"
        "m = cl.enqueue_marker(a)\n"
        "program.copy(b, (64,), None, x, y, wait_for=[m])\n"
        "b.finish()\n"
    ),
    "dropped-nanny": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "cl.enqueue_copy(q, x, host, is_blocking=False)\n"
        "program.twice(q, (64,), None, x)\n"
        "q.finish()\n"
    ),
    "disjoint-parts": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "whole = cl.Buffer(ctx, RW, 16384)\n"
        "program.fill(q, (2048,), None, whole.get_sub_region(0, 8192))\n"
        "program.fill(q, (2048,), None, whole.get_sub_region(8192, 8192))\n"
        "q.finish()\n"
    ),
    "user-event": (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "u = cl.UserEvent(ctx)\n"
        "e = program.fill(q, (64,), None, x, wait_for=[u])\n"
        "u.set_status(cl.command_execution_status.COMPLETE)\n"
        "program.twice(q, (64,), None, x, wait_for=[e])\n"
        "q.finish()\n"
    ),
    "arrays-in-order": (
        "q = cl.CommandQueue(ctx)\n"
        "a = cla.to_device(q, host)\n"
        "b = a + a * 2 - 1\n"
        "a -= 2\n"
        "a.set(host, async_=True)\n"
        "b.get()\n"
    ),
}


@pytest.mark.parametrize("body", CASES.values(), ids=CASES)
def test_found_where_it_stands(body: str, tmp_path: Path) -> None:
    expected = [(code, line.strip()) for line in body.split("\n") for code in re.findall(r"expect: (OCL\d+)", line)]
    assert found(tmp_path, body) == expected


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_silent(body: str, tmp_path: Path) -> None:
    result = run(tmp_path, body, "--output-format", "concise")
    assert "0 findings" in result.stderr
    assert result.returncode == 0


@pytest.mark.parametrize("name", ["out-of-order", "two-queues", "marker", "partial-list", "wrong-queue"])
def test_says_what_check_says(name: str, tmp_path: Path) -> None:
    run(tmp_path, CASES[name], "--output-format", "json:run.json")
    subprocess.run(
        [sys.executable, "-m", "kexec_lint", "check", "--output-format", "json:check.json", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    ran, said = (json.loads((tmp_path / name).read_text()) for name in ("run.json", "check.json"))
    assert said
    for key in ("code", "message", "help", "location", "end_location", "hazard"):
        assert [entry[key] for entry in ran] == [entry[key] for entry in said]


def test_the_program_keeps_its_output_and_exit_code(tmp_path: Path) -> None:
    body = "print('out', sys.argv[1:], __name__)\nprint('err', file=sys.stderr)\nsys.exit(7)\n"
    result = run(tmp_path, body, arguments=("a", "--gate"))
    assert result.stdout == "out ['a', '--gate'] __main__\n"
    assert result.stderr.startswith("err\n")
    assert result.returncode == 7


def test_an_exception_looks_as_without_us(tmp_path: Path) -> None:
    body = "q = cl.CommandQueue(ctx)\nprogram.fill(q, (64,), None, x)\ncl.enqueue_fill_buffer(q, x, host, -1, 3)\n"
    result = run(tmp_path, body)
    assert result.returncode == 1
    assert "Traceback (most recent call last)" in result.stderr
    assert "kexec_lint" not in result.stderr.split("verify run:")[0].replace("kexec_lint verify", "")


def test_warnings_name_the_lines_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONWARNINGS", "default")
    body = "program.fill\nprogram.fill\nimport warnings\nwarnings.warn('own')\n"
    result = run(tmp_path, body)
    row = (HEAD + body).split("\n").index("program.fill") + 2
    assert f"program.py:{row}: RepeatedKernelRetrieval: Kernel 'fill'" in result.stderr
    assert f"program.py:{row + 2}: UserWarning: own" in result.stderr


def test_a_module_and_a_command(tmp_path: Path) -> None:
    (tmp_path / "package.py").write_text(HEAD + CASES["two-queues"])
    (tmp_path / "test_it.py").write_text("def test_it():\n    import package\n    assert package.host[0] == 1\n")
    for words in (["-m", "package"], ["--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]):
        result = subprocess.run(
            [sys.executable, "-m", "kexec_lint", "verify", "run", "--output-format", "concise", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "OCL101" in result.stderr, result.stderr + result.stdout


def test_options_after_a_module_are_the_program_s(tmp_path: Path) -> None:
    (tmp_path / "package.py").write_text("import sys\nprint(sys.argv[1:])\n")
    result = subprocess.run(
        [sys.executable, "-m", "kexec_lint", "verify", "run", "-m", "package", "-q", "--gate", "x", "--", "-m", "y"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == "['-q', '--gate', 'x', '--', '-m', 'y']\n"
    assert "verify run: 0 commands, 0 findings." in result.stderr


@pytest.mark.parametrize("how", ["--gate", "--gate=together"])
def test_a_gate_makes_the_wrong_order_happen(how: str, tmp_path: Path) -> None:
    body = (
        "a, b = cl.CommandQueue(ctx), cl.CommandQueue(ctx)\n"
        "cl.enqueue_copy(a, x, host)\n"
        "cl.enqueue_copy(a, y, host)\n"
        "program.twice(a, (64,), None, x)\n"
        "cl.enqueue_copy(b, host, x)\n"
        "a.finish()\n"
    )
    run(tmp_path, body, how, "--deadline", "15", "--output-format", "json:run.json")
    (entry,) = json.loads((tmp_path / "run.json").read_text())
    (said,) = entry["verdicts"]
    assert said["verdict"] == "confirmed"
    assert "differs in 63 of 64 elements, first [1]: 1.0 instead of 2.0" in said["reason"]


def test_a_gate_never_stops_the_program(tmp_path: Path) -> None:
    body = (
        "q = cl.CommandQueue(ctx, properties=OOO)\n"
        "up = cl.enqueue_copy(q, x, host, is_blocking=False)\n"
        "program.twice(q, (64,), None, x)\n"
        "cl.enqueue_copy(q, host, y)\n"
        "del up\n"
        "q.finish()\n"
        "raise SystemExit(3)\n"
    )
    result = run(tmp_path, body, "--gate", "--deadline", "15", "--output-format", "json:run.json")
    assert result.returncode == 3
    entries = json.loads((tmp_path / "run.json").read_text())
    assert entries
    assert all(entry["verdicts"][0]["verdict"] == "confirmed" for entry in entries)


def test_serialize_tells_whether_an_edge_is_missing(tmp_path: Path) -> None:
    slow = SLOW
    right = run(tmp_path, slow.replace("wait_for=None", "wait_for=[e]"), "--serialize")
    assert "the same values with every command after the one before" in right.stderr
    wrong = run(tmp_path, slow, "--serialize")
    assert "an event edge is missing" in wrong.stderr


SLOW = '''
slow = cl.Program(ctx, """
__kernel void slow(__global float *x) {
    float v = 0; for (int i = 0; i < 3000000; ++i) v = v * 0.5f + 1.0f;
    x[get_global_id(0)] = v;
}
""").build().slow
a, b = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
cl.enqueue_copy(a, x, host)
e = slow(a, (64,), None, x)
cl.enqueue_copy(b, host, x, wait_for=None)
a.finish()
'''


def test_force_out_of_order(tmp_path: Path) -> None:
    body = "q = cl.CommandQueue(ctx)\nprogram.fill(q, (64,), None, x)\nprogram.copy(q, (64,), None, x, y)\nq.finish()\n"
    assert found(tmp_path, body) == []
    assert [code for code, _ in found(tmp_path, body, "--force-out-of-order")] == ["OCL101"]


def test_threads_and_children_keep_working(tmp_path: Path) -> None:
    body = (
        "import multiprocessing, subprocess, threading\n"
        "q = cl.CommandQueue(ctx)\n"
        "def work():\n"
        "    for _ in range(50):\n"
        "        program.fill(q, (64,), None, x).wait()\n"
        "threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
        "print(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, text=True).stdout)\n"
        "import os\n"
        "pid = os.fork()\n"
        "if pid == 0: os._exit(5)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    result = run(tmp_path, body)
    assert result.stdout.split() == ["42", "5"]
    assert result.returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.py"], "nothing.py: no such script or command"),
        ([], "no program: give a script"),
        (["--timeline", "picture.gif", "x.py"], "one of .html, .svg, .json"),
        (["--", "ls"], "not a Python program"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "kexec_lint", "verify", "run", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert result.returncode == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("suffix", ["html", "svg", "json"])
def test_timeline(suffix: str, tmp_path: Path) -> None:
    run(tmp_path, CASES["two-queues"], "--timeline", f"what.{suffix}")
    text = (tmp_path / f"what.{suffix}").read_text()
    assert "fill" in text
    assert "conflict" in text
    if suffix == "json":
        events = json.loads(text)["traceEvents"]
        assert {event["ph"] for event in events} == {"M", "X", "s", "f"}
        assert wrong_with(events) == []
    else:
        assert "<svg" in text
        assert not re.findall(r'(?:src|href)="(?!#)', text)  # one file, nothing fetched


SIDE_BY_SIDE = """
slow = cl.Program(ctx, '''
__kernel void slow(__global float *x) {
    float v = 0; for (int i = 0; i < 3000000; ++i) v = v * 0.5f + 1.0f;
    x[get_global_id(0)] = v;
}
''').build().slow
q = cl.CommandQueue(ctx, properties=OOO)
for buffer in (x, y, x, y):
    slow(q, (4,), (4,), buffer)
q.finish()
"""


def test_commands_of_one_queue_that_overlap_get_lanes_of_their_own(tmp_path: Path) -> None:
    run(tmp_path, SIDE_BY_SIDE, "--timeline", "what.json")
    events = json.loads((tmp_path / "what.json").read_text())["traceEvents"]
    assert sum(event["ph"] == "X" and event["name"] == "slow" for event in events) == 4
    assert wrong_with(events) == []


def wrong_with(events: list[dict[str, Any]]) -> list[str]:
    """Return what the Trace Event Format forbids or Perfetto does not show as it is meant.

    Every event has a name, a phase, numbers for process and thread; complete events a start and a duration, and those
    of a thread nest; both ends of a flow have the same id, name and category, go forward in time and lie on a bar.
    """
    wrong = []
    bars: dict[int, list[tuple[float, float]]] = {}
    named = {event["tid"] for event in events if event["ph"] == "M"}
    for event in events:
        if not (isinstance(event["name"], str) and isinstance(event["pid"], int) and event["tid"] in named):
            wrong.append(f"{event} has no name or lane")
        if event["ph"] == "M" and (event["name"] != "thread_name" or not isinstance(event["args"]["name"], str)):
            wrong.append(f"{event} names no thread")
        if event["ph"] != "M" and not (event["ts"] >= 0 and isinstance(event["cat"], str)):
            wrong.append(f"{event} has no time or category")
        if event["ph"] == "X":
            if event["dur"] < 0:
                wrong.append(f"{event} ends before it begins")
            bars.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    for lane in bars.values():
        lane.sort(key=lambda bar: (bar[0], -bar[1]))
        wrong += [f"{one} and {two} overlap" for one, two in itertools.pairwise(lane) if two[0] < one[1] < two[1]]
    flows: dict[int, dict[str, dict[str, Any]]] = {}
    for event in events:
        if event["ph"] in "sf":
            flows.setdefault(event["id"], {})[event["ph"]] = event
            if not any(begin <= event["ts"] <= end for begin, end in bars.get(event["tid"], ())):
                wrong.append(f"{event} is on no bar")
    for number, ends in flows.items():
        if set(ends) != {"s", "f"} or ends["f"]["bp"] != "e" or ends["s"]["ts"] > ends["f"]["ts"]:
            wrong.append(f"flow {number} is not whole: {ends}")
        elif [ends["s"][key] for key in ("cat", "name")] != [ends["f"][key] for key in ("cat", "name")]:
            wrong.append(f"flow {number} changes its name")
    return wrong


def test_verdicts_join_the_static_findings(tmp_path: Path) -> None:
    body = (
        "def never(q):\n"
        "    program.fill(q, (64,), None, x)\n"
        "def ordered(q, r):\n"
        "    program.fill(q, (64,), None, x)\n"
        "    program.copy(r, (64,), None, x, y)\n"
        "def unused():\n"
        "    q = cl.CommandQueue(ctx, properties=OOO)\n"
        "    up = cl.enqueue_copy(q, x, host, is_blocking=False)\n"
        "    program.copy(q, (64,), None, x, y)\n"
        "    up.wait()\n"
        "if len(sys.argv) > 1: unused()\n"
        "never(cl.CommandQueue(ctx))\n"
    )
    run(tmp_path, body, "--output-format", "json:run.json")
    entries = json.loads((tmp_path / "run.json").read_text())
    assert entries
    assert {(e["code"], e["verdicts"][0]["verdict"]) for e in entries} == {("OCL101", "not-executed")}
    shown = subprocess.run(
        [sys.executable, "-m", "kexec_lint", "check", "--verified", "run.json", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "= not-executed: on " in shown.stdout


def test_soak(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "scripts" / "soak_gates.py"
    result = subprocess.run(
        [sys.executable, str(script), "--runs", "60", "--seed", "7"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "60 gated runs" in result.stdout
    assert "0 left something over" in result.stdout
