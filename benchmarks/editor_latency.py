"""Time from an edit in a 1,000-line PyOpenCL file to its new diagnostics, against a bare LibCST parse of it.

    python benchmarks/editor_latency.py [EDITS]

A real server in its own process is spoken to over its pipes. Every edit changes which command waits for which, so
the diagnostics of the earlier text are never right for the new one. Both medians are of one run, taken in turn.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

STAGE = '''
def stage_{n}(ctx, queue, program, host):
    """Scale one block and bring it back."""
    source = cl.Buffer(ctx, cl.mem_flags.READ_ONLY, host.nbytes)
    target = cl.Buffer(ctx, cl.mem_flags.WRITE_ONLY, host.nbytes)
    result = np.empty_like(host)
    up = cl.enqueue_copy(queue, source, host, is_blocking=False)
    scaled = program.scale(queue, host.shape, None, source, target, np.float32({n}), wait_for=[up])
    back = cl.enqueue_copy(queue, result, target, is_blocking=False, wait_for=[scaled])
    back.wait()
    if not np.allclose(result, host * {n}):
        raise ValueError("stage {n} is wrong")
    return result
'''
HEAD = '''"""Many stages on one out-of-order queue."""

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void scale(__global const float *x, __global float *y, float by) {
    int i = get_global_id(0);
    y[i] = by * x[i];
}
"""


def prepare():
    ctx = cl.create_some_context()
    queue = cl.CommandQueue(ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    return ctx, queue, cl.Program(ctx, SOURCE).build()
'''
MAIN = """

def main():
    ctx, queue, program = prepare()
    host = np.arange(4096, dtype=np.float32)
"""


def program(lines: int) -> str:
    """Return a correct program of about so many lines."""
    count = (lines - HEAD.count("\n") - MAIN.count("\n")) // (STAGE.count("\n") + 2)
    stages = "\n".join(STAGE.format(n=n) for n in range(1, count + 1))
    calls = "".join(f"    stage_{n}(ctx, queue, program, host)\n" for n in range(1, count + 1))
    return HEAD + stages + MAIN + calls


class Client:
    """The least of a client: messages over pipes."""

    def __init__(self, folder: Path) -> None:
        env = {**os.environ, "KEXEC_LINT_CACHE_DIR": str(folder / "cache")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kexec_lint", "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
        )

    def send(self, method: str, params: Any, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number else {})
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def diagnostics(self, version: int) -> list[Any]:
        while True:
            message = self.receive()
            params = message.get("params")
            if message.get("method") == "textDocument/publishDiagnostics" and params.get("version") == version:
                return params["diagnostics"]


def main() -> None:
    edits = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    text = program(1000)
    wrong = text.replace("source, target, np.float32(33), wait_for=[up]", "source, target, np.float32(33)")
    assert wrong != text
    import libcst

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        client = Client(folder)
        client.send("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}}, 1)
        client.receive()
        client.send("initialized", {})
        uri = (folder / "stages.py").as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        client.send("textDocument/didOpen", {"textDocument": document})
        assert client.diagnostics(1) == []
        answers, parses = [], []
        for version in range(2, edits + 2):
            now = wrong if version % 2 == 0 else text
            now = now.replace("Many stages", f"Many stages ({version})")  # no text comes twice
            began = time.perf_counter()
            changed = {"uri": uri, "version": version}
            client.send("textDocument/didChange", {"textDocument": changed, "contentChanges": [{"text": now}]})
            found = client.diagnostics(version)
            answers.append(time.perf_counter() - began)
            assert [item["code"] for item in found] == (["OCL101"] if version % 2 == 0 else []), found
            began = time.perf_counter()
            libcst.parse_module(now)
            parses.append(time.perf_counter() - began)
        client.send("shutdown", None, 2)
        client.send("exit", None)
        client.process.wait(10)
    answer, parse = statistics.median(answers), statistics.median(parses)
    lines = text.count("\n")
    print(f"{lines} lines, {edits} edits, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(f"edit to new diagnostics: {_spread(answers)}")
    print(f"bare LibCST parse:       {_spread(parses)}")
    print(f"ratio: {answer / parse:.2f}")


def _spread(seconds: list[float]) -> str:
    middle, least, most = (1000 * f(seconds) for f in (statistics.median, min, max))
    return f"median {middle:.0f} ms, best {least:.0f}, worst {most:.0f}"


if __name__ == "__main__":
    main()
