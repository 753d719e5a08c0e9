"""OCL101 to OCL108: two commands that nothing orders."""

from __future__ import annotations

import pytest
from opencl_cases import cases, verify

MISSING_EDGE = """
class Bad:
    def __init__(self, ctx, n):
        self.queue = cl.CommandQueue(ctx, properties=OOO)
        self.program = cl.Program(ctx, SRC).build()
        self.x = cl.Buffer(ctx, RW, 4 * n)
        self.y = cl.Buffer(ctx, RW, 4 * n)
        self.n = n

    def run(self):
        done = self.program.fill(self.queue, (self.n,), None, self.x)
        self.program.copy(self.queue, (self.n,), None, self.x, self.y)  # expect: OCL101
        done.wait()
        self.queue.finish()


def bad_helper(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    y = cl.Buffer(ctx, RW, 4 * n)
    done = start(queue, program, x, n)
    program.copy(queue, (n,), None, x, y)  # expect: OCL101
    done.wait()
    queue.finish()

def start(queue, program, x, n):
    return program.fill(queue, (n,), None, x)


def bad_dictionary(ctx, n):
    queues = {"up": cl.CommandQueue(ctx), "run": cl.CommandQueue(ctx)}
    program = cl.Program(ctx, SRC).build()
    buffers = {"x": cl.Buffer(ctx, RW, 4 * n), "y": cl.Buffer(ctx, RW, 4 * n)}
    program.fill(queues["up"], (n,), None, buffers["x"])
    program.copy(queues["run"], (n,), None, buffers["x"], buffers["y"])  # expect: OCL101
    for queue in queues.values():
        queue.finish()


def bad_write_after_read(ctx, host, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    y = cl.Buffer(ctx, RW, 4 * n)
    used = program.copy(queue, (n,), None, x, y)
    cl.enqueue_fill_buffer(queue, x, np.float32(0), 0, 4 * n)  # expect: OCL101
    used.wait()
    queue.finish()


def bad_set_args(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    y = cl.Buffer(ctx, RW, 4 * n)
    fill = program.fill
    fill.set_args(x)
    first = cl.enqueue_nd_range_kernel(queue, fill, (n,), None)
    copy = program.copy
    copy.set_args(x, y)
    cl.enqueue_nd_range_kernel(queue, copy, (n,), None)  # expect: OCL101
    first.wait()
    queue.finish()


def bad_conditional_edge(ctx, n, careful):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    y = cl.Buffer(ctx, RW, 4 * n)
    done = program.fill(queue, (n,), None, x)
    if careful:
        program.copy(queue, (n,), None, x, y, wait_for=[done])
    else:
        program.copy(queue, (n,), None, x, y)  # expect: OCL101
    queue.finish()


def bad_list_properties(ctx, n):
    queue = cl.CommandQueue(ctx, None, [cl.queue_properties.PROPERTIES, OOO])
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    y = cl.Buffer(ctx, RW, 4 * n)
    done = program.fill(queue, (n,), None, x)
    program.copy(queue, (n,), None, x, y)  # expect: OCL101
    done.wait()
    queue.finish()


def bad_wait_comes_after(ctx, host, n):
    up, run = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    data = np.zeros(n, np.float32)
    sent = cl.enqueue_copy(up, x, data, is_blocking=False)
    program.twice(run, (n,), None, x)  # expect: OCL101
    sent.wait()
    run.finish()


def good_transitive(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    a = program.fill(queue, (n,), None, x)
    b = program.copy(queue, (n,), None, x, y, wait_for=[a])
    program.add(queue, (n,), None, x, y, z, wait_for=[b])
    queue.finish()


def good_chain_in_loop(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    events = []
    for _ in range(10):
        events = [program.twice(queue, (n,), None, x, wait_for=events)]
    cl.wait_for_events(events)


def good_property_of_the_object(ctx, n):
    engine = Engine(ctx, n)
    engine.first()
    engine.second()
    engine.queue.finish()

class Engine:
    def __init__(self, ctx, n):
        self._queue = cl.CommandQueue(ctx)
        self.program = cl.Program(ctx, SRC).build()
        self.x, self.y, self.n = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n), n

    @property
    def queue(self):
        return self._queue

    def first(self):
        self.program.fill(self.queue, (self.n,), None, self.x)

    def second(self):
        self.program.copy(self._queue, (self.n,), None, self.x, self.y)


def good_different_branches(ctx, n, fast):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    if fast:
        program.fill(queue, (n,), None, x)
        return queue.finish()
    program.twice(queue, (n,), None, x)
    return queue.finish()


def good_unknown_queue(queue, program, x, y, n):
    program.fill(queue, (n,), None, x)
    program.copy(queue, (n,), None, x, y)
    queue.finish()


def good_same_queue_of_two_names(queue, program, x, y, n, other=None):
    other = other or queue
    program.fill(queue, (n,), None, x)
    program.copy(other, (n,), None, x, y)


def good_event_list_by_extend(ctx, hosts, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a, b, c = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    deps = []
    deps.append(program.fill(queue, (n,), None, a))
    deps.extend([program.fill(queue, (n,), None, b)])
    deps += [program.fill(queue, (n,), None, c)]
    program.add(queue, (n,), None, a, b, c, wait_for=deps)
    queue.finish()


def bad_queue_that_is_loose_where_it_can_be(ctx, n):
    try:
        queue = cl.CommandQueue(ctx, properties=OOO)
    except cl.RuntimeError:
        queue = cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(queue, (n,), None, x)
    program.copy(queue, (n,), None, x, y)  # expect: OCL101
    queue.finish()
"""

PARTIAL_LIST = """
def bad_one_of_two(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a, b, c = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    one = program.fill(queue, (n,), None, a)
    two = program.fill(queue, (n,), None, b)
    program.add(queue, (n,), None, a, b, c, wait_for=[one])  # expect: OCL102
    two.wait()
    queue.finish()


def bad_last_of_a_loop(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a, b, c = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    for buffer in (a, b):
        event = program.fill(queue, (n,), None, buffer)
    program.add(queue, (n,), None, a, b, c, wait_for=[event])  # expect: OCL102
    queue.finish()


class Bad:
    def __init__(self, ctx, n):
        self.queue = cl.CommandQueue(ctx, properties=OOO)
        self.program = cl.Program(ctx, SRC).build()
        self.a, self.b, self.c = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
        self.n = n

    def fill(self, buffer):
        self.last = self.program.fill(self.queue, (self.n,), None, buffer)

    def run(self):
        self.fill(self.a)
        self.fill(self.b)
        last = [self.last]
        self.program.add(self.queue, (self.n,), None, self.a, self.b, self.c, wait_for=last)  # expect: OCL102
        self.queue.finish()


def bad_host_wait_for_the_last(ctx, a, b, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    x, y = np.empty(n, np.float32), np.empty(n, np.float32)
    events = [cl.enqueue_copy(queue, x, a, is_blocking=False)]
    events.append(cl.enqueue_copy(queue, y, b, is_blocking=False))
    events[-1].wait()
    return x.sum(), events  # expect: OCL102


def bad_event_of_the_other_buffer(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    ex = program.fill(queue, (n,), None, x)
    ey = program.fill(queue, (n,), None, y)
    program.copy(queue, (n,), None, x, z, wait_for=[ey])  # expect: OCL102
    ex.wait()
    queue.finish()


def bad_slice_of_the_list(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a, b, c = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    events = [program.fill(queue, (n,), None, a), program.fill(queue, (n,), None, b)]
    program.add(queue, (n,), None, a, b, c, wait_for=events[:1])  # expect: OCL102
    queue.finish()


def good_both(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a, b, c = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    one = program.fill(queue, (n,), None, a)
    two = program.fill(queue, (n,), None, b)
    program.add(queue, (n,), None, a, b, c, wait_for=[one, two])
    queue.finish()


def good_in_order(ctx, n):
    queue = cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    a, b, c = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, a)
    two = program.fill(queue, (n,), None, b)
    program.add(queue, (n,), None, a, b, c, wait_for=[two])
    queue.finish()


def good_marker_collects(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a, b, c = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, a)
    program.fill(queue, (n,), None, b)
    program.add(queue, (n,), None, a, b, c, wait_for=[cl.enqueue_marker(queue)])
    queue.finish()


def good_chained_producers(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a, b, c = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    one = program.fill(queue, (n,), None, a)
    two = program.fill(queue, (n,), None, b, wait_for=[one])
    program.add(queue, (n,), None, a, b, c, wait_for=[two])
    queue.finish()


def good_events_of_the_caller(ctx, n, wait_for=None):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a, b = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    one = program.fill(queue, (n,), None, a, wait_for=wait_for)
    program.copy(queue, (n,), None, a, b, wait_for=[one] + list(wait_for or []))
    queue.finish()


def good_host_waits_for_all(ctx, a, b, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    x, y = np.empty(n, np.float32), np.empty(n, np.float32)
    first = cl.enqueue_copy(queue, x, a, is_blocking=False)
    last = cl.enqueue_copy(queue, y, b, is_blocking=False, wait_for=[first])
    last.wait()
    return x.sum() + y.sum()
"""

MARKER = """
def bad_plain(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(queue, (n,), None, x)
    cl.enqueue_marker(queue)
    program.copy(queue, (n,), None, x, y)  # expect: OCL103
    queue.finish()


def bad_empty_list(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(queue, (n,), None, x)
    cl.enqueue_marker(queue, wait_for=[])
    program.copy(queue, (n,), None, x, y)  # expect: OCL103
    queue.finish()


def bad_event_kept_for_later(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(queue, (n,), None, x)
    marker = cl.enqueue_marker(queue)
    program.copy(queue, (n,), None, x, y)  # expect: OCL103
    marker.wait()
    queue.finish()


class Bad:
    def __init__(self, ctx, n):
        self.queue = cl.CommandQueue(ctx, properties=OOO)
        self.program = cl.Program(ctx, SRC).build()
        self.x, self.y, self.n = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n), n

    def sync(self):
        cl.enqueue_marker(self.queue)

    def run(self):
        self.program.fill(self.queue, (self.n,), None, self.x)
        self.sync()
        self.program.copy(self.queue, (self.n,), None, self.x, self.y)  # expect: OCL103
        self.queue.finish()


def bad_download(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    out = np.empty(n, np.float32)
    program.fill(queue, (n,), None, x)
    cl.enqueue_marker(queue)
    cl.enqueue_copy(queue, out, x)  # expect: OCL103
    return out


def bad_with_wait_list_function(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(queue, (n,), None, x)
    cl.enqueue_marker(queue, None)
    program.copy(queue, (n,), None, x, y)  # expect: OCL103
    queue.finish()


def good_barrier(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(queue, (n,), None, x)
    cl.enqueue_barrier(queue)
    program.copy(queue, (n,), None, x, y)
    queue.finish()


def good_marker_then_barrier(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(queue, (n,), None, x)
    marker = cl.enqueue_marker(queue)
    cl.enqueue_barrier(queue, wait_for=[marker])
    program.copy(queue, (n,), None, x, y)
    queue.finish()


def good_used_event(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(queue, (n,), None, x)
    deps = [cl.enqueue_marker(queue)]
    program.copy(queue, (n,), None, x, y, wait_for=deps)
    queue.finish()


def good_in_order(ctx, n):
    queue = cl.CommandQueue(ctx, properties=PROFILING)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(queue, (n,), None, x)
    cl.enqueue_marker(queue)
    program.copy(queue, (n,), None, x, y)
    queue.finish()


def good_independent(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(queue, (n,), None, x)
    cl.enqueue_marker(queue)
    program.fill(queue, (n,), None, y)
    queue.finish()


def good_marker_waited(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(queue, (n,), None, x)
    cl.wait_for_events([cl.enqueue_marker(queue)])
    program.copy(queue, (n,), None, x, y)
    queue.finish()
"""

BARRIER_LIST = """
def bad_unlisted(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    listed = program.fill(queue, (n,), None, y)
    cl.enqueue_barrier(queue, wait_for=[listed])
    program.add(queue, (n,), None, x, y, z)  # expect: OCL104
    queue.finish()


def bad_positional(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    events = [program.fill(queue, (n,), None, y)]
    cl.enqueue_barrier(queue, events)
    program.add(queue, (n,), None, x, y, z)  # expect: OCL104
    queue.finish()


def bad_old_name(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    listed = program.fill(queue, (n,), None, y)
    cl.enqueue_wait_for_events(queue, [listed])
    program.add(queue, (n,), None, x, y, z)  # expect: OCL104
    queue.finish()


class Bad:
    def __init__(self, ctx, n):
        self.queue = cl.CommandQueue(ctx, properties=OOO)
        self.program = cl.Program(ctx, SRC).build()
        self.x, self.y, self.z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
        self.n = n

    def run(self):
        self.program.fill(self.queue, (self.n,), None, self.x)
        self.event = self.program.fill(self.queue, (self.n,), None, self.y)
        cl.enqueue_barrier(self.queue, wait_for=[self.event])
        self.program.add(self.queue, (self.n,), None, self.x, self.y, self.z)  # expect: OCL104
        self.queue.finish()


def bad_foreign_event(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    other = cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    foreign = program.fill(other, (n,), None, y)
    other.flush()
    cl.enqueue_barrier(queue, wait_for=[foreign])
    program.add(queue, (n,), None, x, y, z)  # expect: OCL104
    queue.finish()


def bad_download(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    out = np.empty(n, np.float32)
    program.fill(queue, (n,), None, x)
    listed = program.fill(queue, (n,), None, y)
    cl.enqueue_barrier(queue, wait_for=[listed])
    cl.enqueue_copy(queue, out, x)  # expect: OCL104
    return out


def good_no_list(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    program.fill(queue, (n,), None, y)
    cl.enqueue_barrier(queue)
    program.add(queue, (n,), None, x, y, z)
    queue.finish()


def good_empty_list(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(queue, (n,), None, x)
    cl.enqueue_barrier(queue, wait_for=[])
    program.copy(queue, (n,), None, x, y)
    queue.finish()


def good_whole_list(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    events = [program.fill(queue, (n,), None, buffer) for buffer in (x, y)]
    cl.enqueue_barrier(queue, wait_for=events)
    program.add(queue, (n,), None, x, y, z)
    queue.finish()


def good_earlier_barrier(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    cl.enqueue_barrier(queue)
    listed = program.fill(queue, (n,), None, y)
    cl.enqueue_barrier(queue, wait_for=[listed])
    program.add(queue, (n,), None, x, y, z)
    queue.finish()


def good_in_order(ctx, n):
    queue = cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    listed = program.fill(queue, (n,), None, y)
    cl.enqueue_barrier(queue, wait_for=[listed])
    program.add(queue, (n,), None, x, y, z)
    queue.finish()


def good_marker_in_the_list(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(queue, (n,), None, x)
    cl.enqueue_barrier(queue, wait_for=[cl.enqueue_marker(queue)])
    program.copy(queue, (n,), None, x, y)
    queue.finish()
"""

WRONG_QUEUE = """
def bad_finish(ctx, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(first, (n,), None, x)
    second.finish()
    program.copy(second, (n,), None, x, y)  # expect: OCL105
    first.finish()


def bad_barrier(ctx, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(first, (n,), None, x)
    cl.enqueue_barrier(second)
    program.copy(second, (n,), None, x, y)  # expect: OCL105
    first.finish()
    second.finish()


class Bad:
    def __init__(self, ctx, n):
        self.compute = cl.CommandQueue(ctx)
        self.transfer = cl.CommandQueue(ctx)
        self.program = cl.Program(ctx, SRC).build()
        self.x, self.n = cl.Buffer(ctx, RW, 4 * n), n

    def wait(self):
        self.transfer.finish()

    def run(self, host):
        out = np.empty(self.n, np.float32)
        self.program.fill(self.compute, (self.n,), None, self.x)
        self.wait()
        cl.enqueue_copy(self.transfer, out, self.x)  # expect: OCL105
        self.compute.finish()
        return out


def bad_host_read(ctx, buf, n):
    compute, transfer = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(transfer, out, buf, is_blocking=False)
    compute.finish()
    print(out)  # expect: OCL105
    done.wait()


def bad_one_of_many(ctx, buffers, n):
    queues = [cl.CommandQueue(ctx), cl.CommandQueue(ctx)]
    outs = [np.empty(n, np.float32), np.empty(n, np.float32)]
    a = cl.enqueue_copy(queues[0], outs[0], buffers[0], is_blocking=False)
    b = cl.enqueue_copy(queues[1], outs[1], buffers[1], is_blocking=False)
    queues[0].finish()
    total = outs[1].sum()  # expect: OCL105
    return total, a, b


def bad_marker_event_of_the_wrong_queue(ctx, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(first, (n,), None, x)
    marker = cl.enqueue_marker(second)
    program.copy(second, (n,), None, x, y, wait_for=[marker])  # expect: OCL105
    first.finish()
    second.finish()


def good_right_queue(ctx, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(first, (n,), None, x)
    first.finish()
    program.copy(second, (n,), None, x, y)
    second.finish()


def good_both_finished(ctx, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(first, (n,), None, x)
    for queue in (first, second):
        queue.finish()
    program.copy(second, (n,), None, x, y)
    second.finish()


def good_second_waits_for_the_first(ctx, buf, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(first, out, buf, is_blocking=False)
    first.flush()
    cl.enqueue_barrier(second, wait_for=[done])
    second.finish()
    return out.sum()


def good_marker_carries_the_event(ctx, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(first, (n,), None, x)
    marker = cl.enqueue_marker(first)
    first.flush()
    program.copy(second, (n,), None, x, y, wait_for=[marker])
    second.finish()


def good_alias(ctx, n):
    queue = cl.CommandQueue(ctx)
    worker = queue
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    out = np.empty(n, np.float32)
    program.fill(queue, (n,), None, x)
    done = cl.enqueue_copy(queue, out, x, is_blocking=False)
    worker.finish()
    return out.sum(), done


def good_other_data(ctx, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    program.fill(first, (n,), None, x)
    second.finish()
    program.fill(second, (n,), None, y)
    first.finish()
    second.finish()
"""

UNMANAGED = """
def bad_three(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)  # expect: OCL107
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    program.copy(queue, (n,), None, x, y)
    program.add(queue, (n,), None, x, y, z)
    queue.finish()


def bad_then_download(ctx, n):
    queue = cl.CommandQueue(ctx, None, OOO)  # expect: OCL107
    program = cl.Program(ctx, SRC).build()
    x, y = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    out = np.empty(n, np.float32)
    program.fill(queue, (n,), None, x)
    program.copy(queue, (n,), None, x, y)
    cl.enqueue_copy(queue, out, y)
    return out


class Bad:
    def __init__(self, ctx, n):
        self.queue = cl.CommandQueue(ctx, properties=OOO | PROFILING)  # expect: OCL107
        self.program = cl.Program(ctx, SRC).build()
        self.x, self.y, self.z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
        self.n = n

    def run(self):
        self.program.fill(self.queue, (self.n,), None, self.x)
        self.program.copy(self.queue, (self.n,), None, self.x, self.y)
        self.program.copy(self.queue, (self.n,), None, self.y, self.z)
        self.queue.finish()


def bad_flags_in_a_variable(ctx, n):
    flags = PROFILING
    flags |= OOO
    queue = cl.CommandQueue(ctx, properties=flags)  # expect: OCL107
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    program.copy(queue, (n,), None, x, y)
    program.copy(queue, (n,), None, y, z)
    queue.finish()


def bad_helper_calls(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)  # expect: OCL107
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    move(queue, program, x, y, n)
    move(queue, program, y, z, n)
    queue.finish()

def move(queue, program, a, b, n):
    program.copy(queue, (n,), None, a, b)


def bad_device_copies(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)  # expect: OCL107
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    cl.enqueue_copy(queue, y, x)
    cl.enqueue_copy(queue, z, y)
    queue.finish()


def good_one_stage_at_a_time(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    queue.finish()
    program.copy(queue, (n,), None, x, y)
    queue.finish()
    program.copy(queue, (n,), None, y, z)
    queue.finish()


def good_independent(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    for buffer in (cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)):
        program.fill(queue, (n,), None, buffer)
    queue.finish()


def good_in_order(ctx, n):
    queue = cl.CommandQueue(ctx, properties=PROFILING)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    program.copy(queue, (n,), None, x, y)
    program.copy(queue, (n,), None, y, z)
    queue.finish()


def good_flag_by_choice(ctx, n, fast):
    queue = cl.CommandQueue(ctx, properties=OOO if fast else None)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    if fast:
        queue.finish()
    program.copy(queue, (n,), None, x, y)
    if fast:
        queue.finish()
    program.copy(queue, (n,), None, y, z)
    queue.finish()


def good_barriers(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x)
    cl.enqueue_barrier(queue)
    program.copy(queue, (n,), None, x, y)
    cl.enqueue_barrier(queue)
    program.copy(queue, (n,), None, y, z)
    queue.finish()


def good_each_waited(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x, y, z = (cl.Buffer(ctx, RW, 4 * n) for _ in range(3))
    program.fill(queue, (n,), None, x).wait()
    program.copy(queue, (n,), None, x, y).wait()
    program.copy(queue, (n,), None, y, z).wait()
"""

ALIASES = """
def bad_overlapping_slices(ctx):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    whole = cl.Buffer(ctx, RW, 16384)
    first = program.fill(queue, (2048,), None, whole[0:8192])
    program.fill(queue, (2048,), None, whole[4096:12288])  # expect: OCL108
    first.wait()
    queue.finish()


def bad_parent_and_part(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    whole, other = cl.Buffer(ctx, RW, 16384), cl.Buffer(ctx, RW, 16384)
    low = whole.get_sub_region(0, 8192)
    first = program.fill(queue, (2048,), None, low)
    program.copy(queue, (4096,), None, whole, other)  # expect: OCL108
    first.wait()
    queue.finish()


def bad_two_queues(ctx):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    whole = cl.Buffer(ctx, RW, 16384)
    low, high = whole.get_sub_region(0, 8192), whole.get_sub_region(origin=4096, size=8192)
    program.fill(left, (2048,), None, low)
    program.twice(right, (2048,), None, high)  # expect: OCL108
    left.finish()
    right.finish()


class Bad:
    def __init__(self, ctx, host):
        flags = RW | cl.mem_flags.USE_HOST_PTR
        self.program = cl.Program(ctx, SRC).build()
        self.a = cl.Buffer(ctx, flags, hostbuf=host)
        self.b = cl.Buffer(ctx, flags, hostbuf=host)

    def run(self, queue, n):
        self.program.fill(queue, (n,), None, self.a)
        self.program.twice(queue, (n,), None, self.b)  # expect: OCL108
        queue.finish()


def bad_host_pointer_ordered(ctx, queue, n):
    host = np.zeros(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    a = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, 4 * n, host)
    b = cl.Buffer(ctx, cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    done = program.fill(queue, (n,), None, a)
    program.twice(queue, (n,), None, b, wait_for=[done])  # expect: OCL108
    queue.finish()


def bad_host_pointer_written_by_copy(ctx, queue, other, n):
    host = np.zeros(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    a = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    b = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    y = cl.Buffer(ctx, RW, 4 * n)
    cl.enqueue_copy(queue, b, np.ones(n, np.float32))
    program.copy(queue, (n,), None, a, y)  # expect: OCL108
    queue.finish()


def good_disjoint_slices(ctx):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    whole = cl.Buffer(ctx, RW, 16384)
    program.fill(queue, (2048,), None, whole[0:8192])
    program.fill(queue, (2048,), None, whole[8192:16384])
    queue.finish()


def good_unknown_places(ctx, offsets, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    whole = cl.Buffer(ctx, RW, 16384)
    for offset in offsets:
        program.fill(queue, (n,), None, whole.get_sub_region(offset, 4 * n))
    queue.finish()


def good_both_read(ctx, queue, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    whole = cl.Buffer(ctx, RW, 16384)
    y, z = cl.Buffer(ctx, RW, 16384), cl.Buffer(ctx, RW, 16384)
    program.copy(queue, (2048,), None, whole.get_sub_region(0, 8192), y)
    program.copy(queue, (2048,), None, whole.get_sub_region(4096, 8192), z)
    queue.finish()


def good_ordered_parts(ctx):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    whole = cl.Buffer(ctx, RW, 16384)
    first = program.fill(queue, (2048,), None, whole.get_sub_region(0, 8192))
    program.fill(queue, (2048,), None, whole.get_sub_region(4096, 8192), wait_for=[first])
    queue.finish()


def good_two_host_arrays(ctx, queue, n):
    a_host, b_host = np.zeros(n, np.float32), np.zeros(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    a = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=a_host)
    b = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=b_host)
    program.fill(queue, (n,), None, a)
    program.fill(queue, (n,), None, b)
    queue.finish()


def good_halves_of_a_host_array(ctx, queue, n):
    host = np.zeros(2 * n, np.float32)
    program = cl.Program(ctx, SRC).build()
    a = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=host[:n])
    b = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=host[n:])
    program.fill(queue, (n,), None, a)
    program.fill(queue, (n,), None, b)
    queue.finish()


def good_one_after_the_other(ctx, queue, n):
    host = np.zeros(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    for _ in range(3):
        a = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
        program.fill(queue, (n,), None, a)
        queue.finish()
        a.release()
"""

TABLE = [
    *cases("OCL101", MISSING_EDGE),
    *cases("OCL102", PARTIAL_LIST),
    *cases("OCL103", MARKER),
    *cases("OCL104", BARRIER_LIST),
    *cases("OCL105", WRONG_QUEUE),
    *cases("OCL107", UNMANAGED),
    *cases("OCL108", ALIASES),
]


@pytest.mark.parametrize(("code", "chunk"), TABLE)
def test_device_pair(code: str, chunk: str) -> None:
    verify(code, chunk)


LIBRARY = """
def bad_queue_of_the_caller(queue, program, n):
    x, y = cl.Buffer(queue.context, RW, 4 * n), cl.Buffer(queue.context, RW, 4 * n)
    fill, copy = cl.Program(queue.context, SRC).build().fill, cl.Program(queue.context, SRC).build().copy
    done = fill(queue, (n,), None, x)
    copy(queue, (n,), None, x, y)  # expect: OCL101
    return done


def bad_download(queue, n):
    x, out = cl.Buffer(queue.context, RW, 4 * n), np.empty(n, np.float32)
    cl.Program(queue.context, SRC).build().fill(queue, (n,), None, x)
    cl.enqueue_copy(queue, out, x)  # expect: OCL101
    return out


def good_events_passed_on(queue, n, wait_for=None):
    x, y = cl.Buffer(queue.context, RW, 4 * n), cl.Buffer(queue.context, RW, 4 * n)
    program = cl.Program(queue.context, SRC).build()
    done = program.fill(queue, (n,), None, x, wait_for=wait_for)
    return program.copy(queue, (n,), None, x, y, wait_for=[done])


def good_events_of_the_arrays(queue, knl, a, b):
    done = knl(queue, a.shape, None, a.data, b.data, wait_for=a.events + b.events)
    b.add_event(done)
    return b


def good_its_own_in_order_queue(ctx, n):
    queue = cl.CommandQueue(ctx)
    x, out = cl.Buffer(ctx, RW, 4 * n), np.empty(n, np.float32)
    cl.Program(ctx, SRC).build().fill(queue, (n,), None, x)
    cl.enqueue_copy(queue, out, x)
    return out
"""


@pytest.mark.parametrize(("code", "chunk"), cases("OCL101", LIBRARY, at_least=2))
def test_library_code_for_out_of_order_queues(code: str, chunk: str) -> None:
    verify(code, chunk, out_of_order=True)
