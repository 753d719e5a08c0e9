"""The proof that an event edge is redundant, as the mutation benchmark uses it: what it proves, what it must not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from opencl_cases import PRELUDE, NoProject

from kexec_lint.source import Options

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"

START = """
def run(ctx, host, other, {params}):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, host.nbytes)
    y = cl.Buffer(ctx, RW, host.nbytes)
"""

PROVED = {
    "complete": """
    up = cl.enqueue_copy(queue, x, host, is_blocking=False)
    up.wait()
    program.twice(queue, host.shape, None, x, wait_for=[<up>])
    queue.finish()
""",
    "empty": """
    a = cl_array.empty(queue, host.shape, np.float32)
    program.fill(queue, host.shape, None, a.data, wait_for=<a.events>)
    queue.finish()
""",
    "repeated": """
    a = cl_array.zeros(queue, host.shape, np.float32)
    a.fill(1, wait_for=<a.events>)
    queue.finish()
""",
    "order": """
    up = cl.enqueue_copy(queue, x, host, is_blocking=False)
    done = program.twice(queue, host.shape, None, x, wait_for=[up])
    program.copy(queue, host.shape, None, x, y, wait_for=[<up>, done])
    queue.finish()
""",
    "memory": """
    up = cl.enqueue_copy(queue, x, host, is_blocking=False)
    program.fill(queue, host.shape, None, y, wait_for=[<up>])
    queue.finish()
""",
    "order, of unseen events": """
    first = program.fill(queue, host.shape, None, x, wait_for=given.events)
    program.copy(queue, host.shape, None, x, y, wait_for=[first, *<given.events>])
    queue.finish()
""",
}

NOT_PROVED = {
    "it is the only order": """
    up = cl.enqueue_copy(queue, x, host, is_blocking=False)
    program.twice(queue, host.shape, None, x, wait_for=[<up>])
    queue.finish()
""",
    "a chain goes through it": """
    up = cl.enqueue_copy(queue, x, host, is_blocking=False)
    filled = program.fill(queue, host.shape, None, y, wait_for=[<up>])
    program.add(queue, host.shape, None, x, y, y, wait_for=[filled])
    queue.finish()
""",
    "nobody waits for what lost its successor": """
    up = cl.enqueue_copy(queue, x, host, is_blocking=False)
    return program.fill(queue, host.shape, None, y, wait_for=[<up>])
""",
    "the list is the caller's": """
    program.twice(queue, host.shape, None, x, wait_for=[*<given>])
    queue.finish()
""",
    "code that cannot be seen gets it": """
    up = cl.enqueue_copy(queue, x, host, is_blocking=False)
    other.start(wait_for=[<up>])
    queue.finish()
""",
    "the memory is not known": """
    up = cl.enqueue_copy(queue, given, host, is_blocking=False)
    program.fill(queue, host.shape, None, other, wait_for=[<up>])
    queue.finish()
""",
    "on one path only": """
    up = cl.enqueue_copy(queue, x, host, is_blocking=False)
    if other:
        up.wait()
    program.twice(queue, host.shape, None, x, wait_for=[<up>])
    queue.finish()
""",
    "what the host does before it sets the status": """
    gate = cl.UserEvent(ctx)
    up = cl.enqueue_copy(queue, x, host, is_blocking=False, wait_for=[<gate>])
    host[:] = 1
    gate.set_status(COMPLETE)
    up.wait()
""",
}


def proof(case: str) -> str | None:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import mutation
        import redundancy
    finally:
        sys.path.remove(str(BENCHMARKS))
    text = PRELUDE + START.format(params="given") + case.strip("\n") + "\n"
    marked = text.replace("<", f"{redundancy.PROBE}(").replace(">", ")")
    edge = text[text.index("<") + 1 : text.index(">")]
    plain = text.replace("<", "").replace(">", "")
    (mutant,) = (m for m in mutation.mutants(plain) if m.probed == marked)
    assert edge in mutant.edge
    options = Options(mutation.CHECKED)
    without = mutation.read("case.py", mutant.text, NoProject(), options).graphs
    return redundancy.redundant("case.py", mutant.probed, without, NoProject(), options)


@pytest.mark.parametrize("reason", PROVED)
def test_proved(reason: str) -> None:
    assert proof(PROVED[reason]) == reason.partition(",")[0]


@pytest.mark.parametrize("why", NOT_PROVED)
def test_not_proved(why: str) -> None:
    assert proof(NOT_PROVED[why]) is None
