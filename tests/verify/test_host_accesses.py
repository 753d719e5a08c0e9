"""`verify run` sees the host touch arrays that commands use: where `check` sees it, and where it cannot."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyopencl", reason="pip install 'kexec-lint[verify]'")

from recorded import found

pytestmark = pytest.mark.usefixtures("on_pocl")

QUEUE = "q = cl.CommandQueue(ctx)\nout = np.zeros(64, np.float32)\n"
DOWN = "done = cl.enqueue_copy(q, out, x, is_blocking=False)\n"
UP = "done = cl.enqueue_copy(q, x, out, is_blocking=False)\n"
END = "done.wait()\n"

ALIKE = {
    "method": QUEUE + DOWN + "total = out.sum()  # expect: OCL201\n" + END,
    "element": QUEUE + DOWN + "first = out[0]  # expect: OCL201\n" + END,
    "function": QUEUE + DOWN + "mean = np.mean(out)  # expect: OCL201\n" + END,
    "operand": QUEUE + DOWN + "more = 1 + out  # expect: OCL201\n" + END,
    "text": QUEUE + DOWN + "text = f'{out}'  # expect: OCL201\n" + END,
    "printed": QUEUE + DOWN + "print(out, file=sys.stderr)  # expect: OCL201\n" + END,
    "loop": QUEUE + DOWN + "for value in out:  # expect: OCL201\n    pass\n" + END,
    "copied-from": QUEUE + DOWN + "host[:] = out  # expect: OCL201\n" + END,
    "view": QUEUE + DOWN + "half = out[:32]\nhalf.max()  # expect: OCL201\n" + END,
    "store": QUEUE + UP + "out[:] = 1  # expect: OCL202\n" + END,
    "in-place": QUEUE + UP + "out += 1  # expect: OCL202\n" + END,
    "fill": QUEUE + UP + "out.fill(3)  # expect: OCL202\n" + END,
    "copyto": QUEUE + UP + "np.copyto(out, host)  # expect: OCL202\n" + END,
    "flush": QUEUE + DOWN + "q.flush()\ntotal = out.sum()  # expect: OCL210\n" + END,
    "other-queue": QUEUE + "r = cl.CommandQueue(ctx)\n" + DOWN + "r.finish()\nout.sum()  # expect: OCL105\n" + END,
    "mapped-early": QUEUE
    + "view, done = cl.enqueue_map_buffer(q, x, cl.map_flags.READ, 0, (64,), np.float32, is_blocking=False)\n"
    + "first = view[0]  # expect: OCL206\n"
    + END
    + "view.base.release(q)\n",
    "unmapped": QUEUE
    + "view, _ = cl.enqueue_map_buffer(q, x, cl.map_flags.READ, 0, (64,), np.float32)\n"
    + "view.base.release(q)\n"
    + "view.sum()  # expect: OCL204\n",
    "used-while-mapped": QUEUE
    + "view, _ = cl.enqueue_map_buffer(q, x, cl.map_flags.WRITE, 0, (64,), np.float32)\n"
    + "program.twice(q, (64,), None, x)  # expect: OCL205\n"
    + "view.base.release(q)\n",
    "shared-memory": "q = cl.CommandQueue(ctx)\narray = cl.fsvm_empty(ctx, 64, np.float32)\n"
    "program.twice(q, (64,), None, cl.SVM(array))\n"
    "first = array[0]  # expect: OCL208\n",
    "attribute": "class Monitor:\n"
    "    def __init__(self):\n"
    "        self.queue, self.out, self.pending = cl.CommandQueue(ctx), np.zeros(64, np.float32), []\n"
    "    def sample(self):\n"
    "        self.pending.append(cl.enqueue_copy(self.queue, self.out, x, is_blocking=False))\n"
    "        return float(self.out[0])  # expect: OCL201\n"
    "m = Monitor()\nm.sample()\nm.queue.finish()\n",
}
"""Said with the same words, at the same place, as `check` says it."""

UNRESOLVED = {
    "kept-in-a-dict": QUEUE
    + "arrays = {'a': [out]}\nevents = []\n"
    + "def send(key):\n    events.append(cl.enqueue_copy(q, arrays[key][0], x, is_blocking=False))\n"
    + "{'up': send}['up']('a')\n"
    + "print(arrays['a'][0][3], file=sys.stderr)  # expect: OCL201\n",
    "in-a-callee": QUEUE
    + DOWN
    + "def total(values):\n    return values.sum()\n"
    + "print({'t': total}['t'](out), file=sys.stderr)  # expect: OCL201\n"
    + END,
    "another-chunk": QUEUE
    + "parts = np.split(out, 4)\n"
    + "done = cl.enqueue_copy(q, parts[1], x, is_blocking=False)\n"
    + "parts[0].sum()\n"
    + "out[15]\n"
    + "out[16]  # expect: OCL201\n"
    + END,
    "strided": QUEUE
    + "grid = np.zeros((8, 8), np.float32)\n"
    + "done = cl.enqueue_copy(q, grid[1], x, is_blocking=False)\n"
    + "grid[::2].sum()\n"
    + "grid[:, 3].sum()  # expect: OCL201\n"
    + END,
}

SILENT = {
    "waited": QUEUE + DOWN + END + "out.sum()\n",
    "waited-in-the-line": QUEUE + DOWN + "print(done.wait(), out[0], file=sys.stderr)\n",
    "waited-by-a-callee-in-the-line": QUEUE
    + DOWN
    + "def value(array):\n    done.wait()\n    return array[0]\n"
    + "print(value(out), value(out) + out[1], file=sys.stderr)\n",
    "waited-before-a-semicolon": QUEUE + DOWN + "done.wait(); out.sum()\n",
    "not-reached": QUEUE + DOWN + "total = out.sum() if len(sys.argv) > 5 else 0\n" + END,
    "dropped-event": QUEUE + "cl.enqueue_copy(q, out, x, is_blocking=False)\nout.sum()\n",
    "rebound-event": QUEUE + DOWN + "done = None\nout.sum()\n",
    "finished": QUEUE + DOWN + "q.finish()\nout.sum()\n",
    "a-later-one-of-the-queue": QUEUE + DOWN + "cl.enqueue_copy(q, host, y)\nout.sum()\n",
    "a-later-one-by-its-list": "q = cl.CommandQueue(ctx, properties=OOO)\nout = np.zeros(64, np.float32)\n"
    + DOWN
    + "later = cl.enqueue_barrier(q, wait_for=[done])\nlater.wait()\nout.sum()\n",
    "metadata": QUEUE + DOWN + "print(out.shape, len(out), out.dtype, out is None, file=sys.stderr)\n" + END,
    "upload-read": QUEUE + UP + "out.sum()\n" + END,
    "another-array": QUEUE + DOWN + "host.sum()\nout2 = np.zeros(64)\nout2[:] = 1\n" + END,
    "name-taken-by-another": QUEUE + DOWN + "kept = out\nout = np.zeros(64)\nout.sum()\n" + END,
    "asked-until-complete": QUEUE
    + DOWN
    + "while done.command_execution_status > 0:\n    pass\nout.sum()\n"
    + END,  # OCL211, which is not on by default
    "shared-memory-finished": "q = cl.CommandQueue(ctx)\narray = cl.fsvm_empty(ctx, 64, np.float32)\n"
    "program.twice(q, (64,), None, cl.SVM(array))\nq.finish()\nfirst = array[0]\n",
    "coarse-grain-mapped": "q = cl.CommandQueue(ctx)\narray = cl.SVM(cl.csvm_empty(ctx, 64, np.float32))\n"
    "with array.map_rw(q) as view:\n    view[:] = 1\n"
    "program.twice(q, (64,), None, array)\n"
    "with array.map_ro(q) as view:\n    first = view[0]\n",
    "map-waited": QUEUE
    + "view, done = cl.enqueue_map_buffer(q, x, cl.map_flags.READ, 0, (64,), np.float32, is_blocking=False)\n"
    + END
    + "view.sum()\nview.base.release(q)\n",
    "freed-and-another-at-its-place": QUEUE
    + "for i in range(30):\n"
    + "    staging = np.full(64, i, np.float32)\n"
    + "    staging[0] = 1\n"
    + "    done = cl.enqueue_copy(q, x, staging, is_blocking=False)\n"
    + "    del staging\n"
    + END,
    "double-buffer": QUEUE
    + "stage, events = [np.zeros(64, np.float32) for _ in range(2)], [None, None]\n"
    + "for i in range(6):\n"
    + "    if events[i % 2] is not None:\n"
    + "        events[i % 2].wait()\n"
    + "    stage[i % 2][:] = i\n"
    + "    events[i % 2] = cl.enqueue_copy(q, x, stage[i % 2], is_blocking=False)\n"
    + "q.finish()\n",
}


def together(cases: dict[str, str]) -> str:
    """Return one program that runs each case as a function."""
    functions = [
        f"def case_{number}():\n"
        + "".join(f"    {line}\n" for line in (body + "q.finish()\n" * ("q = " in body)).splitlines())
        + f"case_{number}()\n"
        for number, body in enumerate(cases.values())
    ]
    return "\n".join(functions)


def expected(body: str) -> list[tuple[str, str]]:
    return [(code, line.strip()) for line in body.split("\n") for code in re.findall(r"expect: (OCL\d+)", line)]


def test_found_where_check_cannot_see_it(tmp_path: Path) -> None:
    body = together(UNRESOLVED)
    assert found(tmp_path, body) == expected(body)


def test_silent(tmp_path: Path) -> None:
    assert found(tmp_path, together(SILENT)) == []


def test_says_what_check_says(tmp_path: Path) -> None:
    body = together(ALIKE)
    assert found(tmp_path, body, "--output-format", "json:run.json") == expected(body)
    subprocess.run(
        [sys.executable, "-m", "kexec_lint", "check", "--output-format", "json:check.json", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    ran, said = (json.loads((tmp_path / file).read_text()) for file in ("run.json", "check.json"))
    for one, other in zip(ran, said, strict=True):
        for key in ("code", "message", "help", "location", "end_location", "hazard"):
            assert one[key] == other[key], other["location"]
