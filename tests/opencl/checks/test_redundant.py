"""OCL109, OCL110, OCL211: synchronisation that is not needed, or not to be relied on."""

from __future__ import annotations

import pytest
from opencl_cases import cases, verify

BLOCKING_WRITE = """
def bad_kernel(ctx, n):
    up, run = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    cl.enqueue_copy(up, x, np.zeros(n, np.float32))
    program.twice(run, (n,), None, x)  # expect: OCL109
    run.finish()


def bad_copy(ctx, n):
    up, run = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    cl.enqueue_copy(up, x, np.zeros(n, np.float32), is_blocking=True)
    cl.enqueue_copy(run, y, x)  # expect: OCL109
    run.finish()


class Bad:
    def __init__(self, ctx, n):
        self.up, self.run = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
        self.program = cl.Program(ctx, SRC).build()
        self.x, self.n = cl.Buffer(ctx, RW, 4 * n), n

    def send(self):
        cl.enqueue_copy(self.up, self.x, np.ones(self.n, np.float32))

    def step(self):
        self.send()
        self.program.twice(self.run, (self.n,), None, self.x)  # expect: OCL109
        self.run.finish()


def bad_event_kept_and_not_passed(ctx, n):
    up, run = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    event = cl.enqueue_copy(up, x, np.zeros(n, np.float32))
    program.twice(run, (n,), None, x)  # expect: OCL109
    run.finish()
    return event


def bad_array(ctx, host):
    up, run = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    host = np.ascontiguousarray(np.ones(16, np.float32))
    a = cl_array.to_device(up, host)
    program.twice(run, a.shape, None, a.data)  # expect: OCL109
    run.finish()


def bad_two_devices(ctx, devices, n):
    up, run = cl.CommandQueue(ctx, devices[0]), cl.CommandQueue(ctx, devices[1])
    x, out = cl.Buffer(ctx, RW, 4 * n), np.empty(n, np.float32)
    cl.enqueue_copy(up, x, np.zeros(n, np.float32))
    cl.enqueue_copy(run, out, x)  # expect: OCL109
    return out


def good_event(ctx, n):
    up, run = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    sent = cl.enqueue_copy(up, x, np.zeros(n, np.float32))
    program.twice(run, (n,), None, x, wait_for=[sent])
    run.finish()


def good_finish(ctx, n):
    up, run = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    cl.enqueue_copy(up, x, np.zeros(n, np.float32))
    up.finish()
    program.twice(run, (n,), None, x)
    run.finish()


def good_wait(ctx, n):
    up, run = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    cl.enqueue_copy(up, x, np.zeros(n, np.float32)).wait()
    program.twice(run, (n,), None, x)
    run.finish()


def good_same_queue(ctx, n):
    queue = cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    cl.enqueue_copy(queue, x, np.zeros(n, np.float32))
    program.twice(queue, (n,), None, x)
    queue.finish()


def good_other_buffer(ctx, n):
    up, run = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    cl.enqueue_copy(up, x, np.zeros(n, np.float32))
    program.twice(run, (n,), None, y)
    run.finish()


def good_later_blocking_read(ctx, n):
    up, run = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x, out = cl.Buffer(ctx, RW, 4 * n), np.empty(n, np.float32)
    cl.enqueue_copy(up, x, np.zeros(n, np.float32))
    cl.enqueue_copy(up, out, x)
    program.twice(run, (n,), None, x)
    run.finish()
"""

REDUNDANT = """
def bad_finish_after_a_blocking_read(ctx, knl, n):
    queue = cl.CommandQueue(ctx)
    buf, out = cl.Buffer(ctx, RW, 4 * n), np.empty(n, np.float32)
    knl(queue, (n,), None, buf)
    cl.enqueue_copy(queue, out, buf)
    queue.finish()  # expect: OCL110
    return out


def bad_wait_list_in_order(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx)
    first = knl(queue, (n,), None, buf)
    knl(queue, (n,), None, buf, wait_for=[first])  # expect: OCL110
    queue.finish()


def bad_barrier_in_order(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx)
    knl(queue, (n,), None, buf)
    cl.enqueue_barrier(queue)  # expect: OCL110
    knl(queue, (n,), None, buf)
    queue.finish()


def bad_two_finishes(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx)
    knl(queue, (n,), None, buf)
    queue.finish()
    queue.finish()  # expect: OCL110


def bad_finish_after_wait(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx)
    event = knl(queue, (n,), None, buf)
    event.wait()
    queue.finish()  # expect: OCL110


class Bad:
    def __init__(self, ctx):
        self.queue = cl.CommandQueue(ctx)

    def run(self, knl, buf, n):
        event = knl(self.queue, (n,), None, buf)
        cl.enqueue_barrier(self.queue, wait_for=[event])  # expect: OCL110
        knl(self.queue, (n,), None, buf)
        self.queue.finish()


def good_needed_finish(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx)
    knl(queue, (n,), None, buf)
    queue.finish()


def good_out_of_order(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    first = program.fill(queue, (n,), None, x)
    program.twice(queue, (n,), None, x, wait_for=[first])
    cl.enqueue_barrier(queue)
    queue.finish()


def good_other_queue(ctx, knl, buf, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    first = knl(left, (n,), None, buf)
    left.flush()
    knl(right, (n,), None, buf, wait_for=[first])
    right.finish()


def good_profiled(ctx, knl, n):
    queue = cl.CommandQueue(ctx, properties=PROFILING)
    buf, out = cl.Buffer(ctx, RW, 4 * n), np.empty(n, np.float32)
    knl(queue, (n,), None, buf)
    cl.enqueue_copy(queue, out, buf)
    queue.finish()
    return out


def good_unknown_queue(queue, knl, buf, n):
    first = knl(queue, (n,), None, buf)
    knl(queue, (n,), None, buf, wait_for=[first])
    queue.finish()


def good_after_a_blocking_write(ctx, n):
    queue = cl.CommandQueue(ctx)
    buf = cl.Buffer(ctx, RW, 4 * n)
    cl.enqueue_copy(queue, buf, np.zeros(n, np.float32))
    queue.finish()


def good_several_queues(ctx, knl, n):
    queue, other = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    buf, out = cl.Buffer(ctx, RW, 4 * n), np.empty(n, np.float32)
    cl.enqueue_copy(queue, out, buf)
    queue.finish()
    other.finish()
    return out
"""

POLLING = """
def bad_while(queue, buf, n):
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    while done.command_execution_status != COMPLETE:
        time.sleep(0.01)
    total = out.sum()  # expect: OCL211
    done.wait()
    return total


def bad_if(queue, buf, n):
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    if done.command_execution_status == COMPLETE:
        print(out[0])  # expect: OCL211
    done.wait()


def bad_get_info(queue, buf, n):
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    while done.get_info(cl.event_info.COMMAND_EXECUTION_STATUS) != COMPLETE:
        pass
    total = out.sum()  # expect: OCL211
    done.wait()
    return total


class Bad:
    def __init__(self, queue, buf, n):
        self.queue, self.buf, self.out = queue, buf, np.empty(n, np.float32)

    def fetch(self):
        self.event = cl.enqueue_copy(self.queue, self.out, self.buf, is_blocking=False)
        while self.event.command_execution_status > COMPLETE:
            time.sleep(0)
        return self.out.max()  # expect: OCL211


def bad_asserted(queue, knl, buf, n):
    done = knl(queue, (n,), None, buf)
    assert done.command_execution_status != COMPLETE  # expect: OCL211
    done.wait()


def bad_asserted_with_not(queue, knl, buf, n):
    done = knl(queue, (n,), None, buf)
    assert not done.command_execution_status == cl.command_execution_status.COMPLETE  # expect: OCL211
    done.wait()


def good_wait_afterwards(queue, buf, n):
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    while done.command_execution_status != COMPLETE:
        time.sleep(0.01)
    done.wait()
    return out.sum()


def good_progress(queue, knl, buf, n):
    events = [knl(queue, (n,), None, buf) for _ in range(2)]
    print([event.command_execution_status for event in events])
    queue.finish()


def good_asserted_complete(queue, knl, buf, n):
    done = knl(queue, (n,), None, buf)
    done.wait()
    assert done.command_execution_status == COMPLETE


def good_gated(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    done = knl(queue, (n,), None, buf, wait_for=[gate])
    assert done.command_execution_status != COMPLETE
    gate.set_status(COMPLETE)
    done.wait()


def good_behind_a_gate(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx)
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    last = knl(queue, (n,), None, buf)
    assert last.command_execution_status != COMPLETE
    gate.set_status(COMPLETE)
    queue.finish()


def good_other_information(queue, knl, buf, n):
    done = knl(queue, (n,), None, buf)
    assert done.get_info(cl.event_info.COMMAND_TYPE) != 0
    done.wait()
"""

TABLE = [*cases("OCL109", BLOCKING_WRITE), *cases("OCL110", REDUNDANT), *cases("OCL211", POLLING)]


@pytest.mark.parametrize(("code", "chunk"), TABLE)
def test_redundant(code: str, chunk: str) -> None:
    verify(code, chunk)
