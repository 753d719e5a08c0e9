"""OCL201, OCL202, OCL206, OCL208 to OCL210: the host touches memory in flight."""

from __future__ import annotations

import pytest
from opencl_cases import cases, verify

READ = """
def bad_element(queue, buf, n):
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    first = out[0]  # expect: OCL201
    done.wait()
    return first


class Bad:
    def __init__(self, queue, buf, n):
        self.queue, self.buf = queue, buf
        self.out = np.zeros((n, n), np.float32)

    def fetch(self):
        self.event = cl.enqueue_copy(self.queue, self.out, self.buf, is_blocking=False)

    def total(self):
        self.fetch()
        return np.sum(self.out)  # expect: OCL201


def bad_through_helper(queue, buf, n):
    out = np.empty(n, np.float32)
    event = download(queue, out, buf)
    np.save("out.npy", out)  # expect: OCL201
    event.wait()

def download(queue, out, buf):
    return cl.enqueue_copy(queue, out, buf, is_blocking=False)


def bad_in_a_text(queue, buf, n):
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    text = f"result: {out}"  # expect: OCL201
    done.wait()
    return text


def bad_all_used_after_the_first_wait(ctx, bufs, n):
    queues = [cl.CommandQueue(ctx), cl.CommandQueue(ctx)]
    outs = [np.empty(n, np.float32), np.empty(n, np.float32)]
    events = [cl.enqueue_copy(queues[d], outs[d], bufs[d], is_blocking=False) for d in range(2)]
    for d in range(2):
        events[d].wait()
        print(np.sum(outs))  # expect: OCL201


def bad_list_of_arrays(queue, parts, n):
    outs = [np.empty(n, np.float32), np.empty(n, np.float32)]
    events = [cl.enqueue_copy(queue, out, part, is_blocking=False) for out, part in zip(outs, parts)]
    both = np.concatenate(outs)  # expect: OCL201
    cl.wait_for_events(events)
    return both


def bad_view_is_the_same_memory(queue, buf, n):
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    table = out.reshape(-1, 4)
    peak = table.max()  # expect: OCL201
    done.wait()
    return peak


def bad_comparison(queue, buf, expected, n):
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, dest=out, src=buf, is_blocking=False)
    assert np.allclose(out, expected)  # expect: OCL201
    done.wait()


def bad_waits_for_the_kernel_instead(ctx, buf, n):
    queue = cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    out = np.empty(n, np.float32)
    run = program.fill(queue, (n,), None, buf)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    run.wait()
    total = out.sum()  # expect: OCL201
    done.wait()
    return total


def bad_loop_reads_before_the_wait(queue, buf, n):
    out = np.empty(n, np.float32)
    results = []
    for _ in range(3):
        done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
        results.append(out.copy())  # expect: OCL201
        done.wait()
    return results


def good_blocking(queue, buf, n):
    out = np.empty(n, np.float32)
    cl.enqueue_copy(queue, out, buf, is_blocking=True)
    return out.sum()


def good_dropped(queue, buf, n):
    out = np.empty(n, np.float32)
    cl.enqueue_copy(queue, out, buf, is_blocking=False)
    return out.sum()


def good_rebound(queue, buf, other, n):
    out, more = np.empty(n, np.float32), np.empty(n, np.float32)
    event = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    event = cl.enqueue_copy(queue, more, other, is_blocking=False)
    first = out.sum()
    event.wait()
    return first


def good_deleted(queue, buf, n):
    out = np.empty(n, np.float32)
    event = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    del event
    return out.sum()


def good_out_of_scope(queue, buf, n):
    out = np.empty(n, np.float32)
    fetch(queue, out, buf)
    return out.sum()

def fetch(queue, out, buf):
    event = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    print(type(event))


def good_waits_in_a_comprehension(queue, parts, n):
    outs = [np.empty(n, np.float32), np.empty(n, np.float32)]
    events = [cl.enqueue_copy(queue, out, part, is_blocking=False) for out, part in zip(outs, parts)]
    [event.wait() for event in events]
    return outs[0].sum()


def good_finish_of_the_queue(ctx, buf, n):
    queue = cl.CommandQueue(ctx)
    out = np.empty(n, np.float32)
    event = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    queue.finish()
    return out.sum(), event


def good_blocking_by_parameter(queue, buf, n, wait=True):
    out = np.empty(n, np.float32)
    event = cl.enqueue_copy(queue, out, buf, is_blocking=wait)
    return out.sum(), event


def good_conditional_wait(queue, buf, n, asynchronous=False):
    out = np.empty(n, np.float32)
    event = cl.enqueue_copy(queue, out, buf, is_blocking=not asynchronous)
    if not asynchronous:
        print(out.sum())
    return out, event


def good_unknown_helper_may_wait(queue, buf, n, sync):
    out = np.empty(n, np.float32)
    event = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    sync(queue)
    return out.sum(), event


def good_metadata(queue, buf, n):
    out = np.empty((n, n), np.float32)
    event = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    print(out.shape, out.nbytes, len(out), out.dtype, id(out), out.flags)
    event.wait()
    return out
"""

WRITE = """
def bad_assignment(queue, buf, n):
    host = np.zeros(n, np.float32)
    done = cl.enqueue_copy(queue, buf, host, is_blocking=False)
    host[0] = 1  # expect: OCL202
    done.wait()


def bad_in_place_operator(queue, buf, n):
    host = np.zeros(n, np.float32)
    done = cl.enqueue_copy(queue, buf, host, is_blocking=False)
    host += 1  # expect: OCL202
    done.wait()


class Bad:
    def __init__(self, queue, buf, n):
        self.queue, self.buf, self.host = queue, buf, np.zeros(n, np.float32)
        self.events = []

    def push(self, block):
        self.events.append(cl.enqueue_copy(self.queue, self.buf, self.host, is_blocking=False))
        np.copyto(self.host, block)  # expect: OCL202


def bad_staging_in_a_loop(queue, buffers, blocks, n):
    staging = np.empty(n, np.float32)
    events = []
    for i in range(len(blocks)):
        staging[:] = blocks[i]  # expect: OCL202
        events.append(cl.enqueue_copy(queue, buffers[i], staging, is_blocking=False))
    cl.wait_for_events(events)


def bad_slots_never_waited_for(queue, buffers, blocks, n):
    staging = [np.empty(n, np.float32) for _ in range(2)]
    events = []
    for i, block in enumerate(blocks):
        slot = i % 2
        staging[slot][:] = block  # expect: OCL202
        events.append(cl.enqueue_copy(queue, buffers[i], staging[slot], is_blocking=False))
    cl.wait_for_events(events)


def bad_fill_method(queue, buf, n):
    host = np.ones(n, np.float32)
    event = cl.enqueue_copy(queue, buf, host, is_blocking=False)
    reset(host)  # expect: OCL202
    event.wait()

def reset(array):
    array.fill(0)


def bad_kernel_event_waited_instead(ctx, buf, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    other = cl.Buffer(ctx, RW, 4 * n)
    host = np.zeros(n, np.float32)
    up = cl.enqueue_copy(queue, buf, host, is_blocking=False)
    run = program.fill(queue, (n,), None, other)
    cl.wait_for_events([up])
    again = cl.enqueue_copy(queue, buf, host, is_blocking=False)
    host[:] = 2  # expect: OCL202
    again.wait()
    run.wait()


def good_waited(queue, buf, n):
    host = np.zeros(n, np.float32)
    done = cl.enqueue_copy(queue, buf, host, is_blocking=False)
    done.wait()
    host[0] = 1


def good_blocking_by_default(queue, buf, n):
    host = np.zeros(n, np.float32)
    cl.enqueue_copy(queue, buf, host)
    host[0] = 1


def good_dropped(queue, buf, blocks, n):
    staging = np.empty(n, np.float32)
    for block in blocks:
        staging[:] = block
        cl.enqueue_copy(queue, buf, staging, is_blocking=False)


def good_copied_at_creation(ctx, n):
    host = np.zeros(n, np.float32)
    buf = cl.Buffer(ctx, RW | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
    host[:] = 1
    return buf


def good_new_array(queue, buffers, blocks):
    events = []
    for buf, block in zip(buffers, blocks):
        staging = np.ascontiguousarray(block * 2)
        events.append(cl.enqueue_copy(queue, buf, staging, is_blocking=False))
    cl.wait_for_events(events)


def good_slots(queue, buffers, blocks, n):
    slots = [(np.empty(n, np.float32), []) for _ in range(2)]
    for i, block in enumerate(blocks):
        staging, events = slots[i % 2]
        if events:
            events.pop().wait()
        staging[:] = block
        events.append(cl.enqueue_copy(queue, buffers[i], staging, is_blocking=False))


def good_previous_waited(queue, buffers, blocks, n):
    staging = np.empty(n, np.float32)
    event = None
    for buf, block in zip(buffers, blocks):
        if event is not None:
            event.wait()
        staging[:] = block
        event = cl.enqueue_copy(queue, buf, staging, is_blocking=False)
    event.wait()


def good_rebinding_is_no_write(queue, buf, n):
    host = np.zeros(n, np.float32)
    done = cl.enqueue_copy(queue, buf, host, is_blocking=False)
    host = np.ones(n, np.float32)
    done.wait()
    return host


def good_other_array(queue, buf, n):
    host, other = np.zeros(n, np.float32), np.zeros(n, np.float32)
    done = cl.enqueue_copy(queue, buf, host, is_blocking=False)
    other[:] = 1
    done.wait()
"""

MAP = """
def bad_read(queue, buf, n):
    view, event = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32, is_blocking=False)
    total = view.sum()  # expect: OCL206
    event.wait()
    view.base.release(queue)
    return total


def bad_write(queue, buf, n):
    view, event = cl.enqueue_map_buffer(queue, buf, cl.map_flags.WRITE, 0, (n,), np.float32, is_blocking=False)
    view[:] = 1  # expect: OCL206
    event.wait()
    view.base.release(queue)


class Bad:
    def __init__(self, queue, buf, n):
        self.queue, self.buf, self.n = queue, buf, n

    def map(self):
        flags = cl.map_flags.READ
        return cl.enqueue_map_buffer(self.queue, self.buf, flags, 0, (self.n,), np.float32, is_blocking=False)

    def peak(self):
        view, event = self.map()
        peak = np.max(view)  # expect: OCL206
        event.wait()
        view.base.release(self.queue)
        return peak


def bad_event_thrown_away(queue, buf, n):
    view = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32, is_blocking=False)[0]
    print(view)  # expect: OCL206
    view.base.release(queue)


def bad_image(queue, image, shape):
    view, event = cl.enqueue_map_image(
        queue, image, cl.map_flags.READ, (0, 0), shape, shape, np.uint8, None, None, None, is_blocking=False
    )
    pixel = view[0, 0]  # expect: OCL206
    event.wait()
    return pixel


def bad_other_event_waited(ctx, buf, knl, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    other = cl.Buffer(ctx, RW, 4 * n)
    run = cl.enqueue_fill_buffer(queue, other, np.float32(0), 0, 4 * n)
    view, event = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32, is_blocking=False)
    run.wait()
    total = view.sum()  # expect: OCL206
    event.wait()
    view.base.release(queue)
    return total


def good_blocking(queue, buf, n):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    return float(view.sum())


def good_blocking_positional(queue, buf, n):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32, "C", None, None, True)
    return float(view.sum())


def good_waited(queue, buf, n):
    view, event = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32, is_blocking=False)
    event.wait()
    return float(view.sum())


def good_finished(queue, buf, n):
    view, event = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32, is_blocking=False)
    queue.finish()
    return float(view.sum()), event


def good_gate_by_unmap(ctx, buf, n):
    queue = cl.CommandQueue(ctx)
    view, event = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32, is_blocking=False)
    shape = view.shape
    view.base.release(queue, wait_for=[event])
    return shape


def good_wait_for_events(queue, buf, other, n):
    views, events = [], []
    for b in (buf, other):
        view, event = cl.enqueue_map_buffer(queue, b, cl.map_flags.READ, 0, (n,), np.float32, is_blocking=False)
        views.append(view)
        events.append(event)
    cl.wait_for_events(events)
    return sum(float(view.sum()) for view in views)
"""

SVM = """
def bad_read(ctx, queue, knl, n):
    array = cl.fsvm_empty(ctx, n, np.float32)
    done = knl(queue, (n,), None, cl.SVM(array))
    print(array[0])  # expect: OCL208
    done.wait()


def bad_write(ctx, queue, knl, n):
    array = cl.fsvm_empty(ctx, n, np.float32)
    done = knl(queue, (n,), None, cl.SVM(array))
    array += 1  # expect: OCL208
    done.wait()


def bad_copy_of_svm(ctx, n):
    queue = cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    array = cl.fsvm_empty(ctx, n, np.float32)
    done = program.fill(queue, (n,), None, cl.SVM(array))
    kept = array.copy()  # expect: OCL208
    done.wait()
    return kept


class Bad:
    def __init__(self, ctx, queue, n):
        self.queue, self.n = queue, n
        self.program = cl.Program(ctx, SRC).build()
        self.array = cl.fsvm_empty(ctx, n, np.float32)

    def run(self):
        self.program.fill(self.queue, (self.n,), None, cl.SVM(self.array))
        return self.array.sum()  # expect: OCL208


def bad_coarse_without_map(ctx, queue, knl, n):
    array = cl.csvm_empty(ctx, n, np.float32)
    knl(queue, (n,), None, cl.SVM(array))
    queue.finish()
    array[:] = 0  # expect: OCL208


def bad_numpy_memory_of_the_system(ctx, queue, knl, n):
    array = np.zeros(n, np.float32)
    done = knl(queue, (n,), None, cl.SVM(array))
    total = array.sum()  # expect: OCL208
    done.wait()
    return total


def bad_after_the_map_ended(ctx, queue, knl, n):
    array = cl.csvm_empty(ctx, n, np.float32)
    knl(queue, (n,), None, cl.SVM(array))
    with cl.SVM(array).map_ro(queue) as view:
        first = float(view[0])
    return first + float(array[1])  # expect: OCL208


def good_finished(ctx, queue, knl, n):
    array = cl.fsvm_empty(ctx, n, np.float32)
    knl(queue, (n,), None, cl.SVM(array))
    queue.finish()
    return array.sum()


def good_waited(ctx, queue, knl, n):
    array = cl.fsvm_empty(ctx, n, np.float32)
    knl(queue, (n,), None, cl.SVM(array)).wait()
    array[:] = 0


def good_coarse_mapped(ctx, queue, knl, n):
    array = cl.csvm_empty(ctx, n, np.float32)
    knl(queue, (n,), None, cl.SVM(array))
    with cl.SVM(array).map_rw(queue) as view:
        view += 1
    knl(queue, (n,), None, cl.SVM(array))
    queue.finish()


def good_written_before(ctx, queue, knl, n):
    array = cl.fsvm_empty(ctx, n, np.float32)
    array[:] = 1
    knl(queue, (n,), None, cl.SVM(array))
    queue.finish()


def good_only_its_shape(ctx, queue, knl, n):
    array = cl.fsvm_empty(ctx, n, np.float32)
    done = knl(queue, array.shape, None, cl.SVM(array))
    print(array.shape, array.nbytes)
    done.wait()


def good_fine_by_flags(ctx, queue, knl, n):
    flags = cl.svm_mem_flags.READ_WRITE | cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER
    array = cl.svm_empty(ctx, flags, n, np.float32)
    knl(queue, (n,), None, cl.SVM(array))
    queue.finish()
    return array.sum()
"""

FREE = """
def bad_release(ctx, queue, knl, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE)
    done = knl(queue, (n,), None, memory)
    memory.release()  # expect: OCL209
    done.wait()


def bad_deleted(ctx, queue, knl, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE)
    done = knl(queue, (n,), None, memory)
    del memory  # expect: OCL209
    done.wait()


def bad_rebound(ctx, queue, knl, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE)
    done = knl(queue, (n,), None, memory)
    memory = None  # expect: OCL209
    done.wait()


def bad_out_of_scope(ctx, queue, knl, n):
    done = launch(ctx, queue, knl, n)  # expect: OCL209
    done.wait()

def launch(ctx, queue, knl, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE)
    return knl(queue, (n,), None, memory)


class Bad:
    def __init__(self, ctx, queue, n):
        self.queue, self.n = queue, n
        self.memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE)

    def close(self, knl):
        knl(self.queue, (self.n,), None, self.memory)
        self.queue.flush()
        self.memory.release()  # expect: OCL209


def bad_other_queue_finished(ctx, knl, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE)
    knl(left, (n,), None, memory)
    right.finish()
    memory.release()  # expect: OCL209
    left.finish()


def good_finished(ctx, queue, knl, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE)
    knl(queue, (n,), None, memory)
    queue.finish()
    memory.release()


def good_waited(ctx, queue, knl, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE)
    knl(queue, (n,), None, memory).wait()
    del memory


def good_with_queue(ctx, queue, knl, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE, queue)
    knl(queue, (n,), None, memory)
    memory.release()


def good_enqueued_release(ctx, queue, knl, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE)
    done = knl(queue, (n,), None, memory)
    memory.enqueue_release(queue, [done])


def good_bound_later(ctx, queue, knl, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE)
    memory.bind_to_queue(queue)
    knl(queue, (n,), None, memory)
    del memory


def good_kept_by_the_caller(ctx, queue, knl, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE)
    return knl(queue, (n,), None, memory), memory


def good_buffer(ctx, queue, knl, n):
    buffer = cl.Buffer(ctx, RW, 4 * n)
    knl(queue, (n,), None, buffer)
    buffer.release()
    del buffer
"""

FLUSH = """
def bad_plain(queue, buf, n):
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    queue.flush()
    print(out)  # expect: OCL210
    done.wait()


class Bad:
    def __init__(self, ctx, buf, n):
        self.queue, self.buf = cl.CommandQueue(ctx), buf
        self.out = np.empty(n, np.float32)

    def sync(self):
        self.queue.flush()

    def fetch(self):
        self.event = cl.enqueue_copy(self.queue, self.out, self.buf, is_blocking=False)
        self.sync()
        return self.out.mean()  # expect: OCL210


def bad_write(queue, buf, n):
    host = np.zeros(n, np.float32)
    done = cl.enqueue_copy(queue, buf, host, is_blocking=False)
    queue.flush()
    host[:] = 1  # expect: OCL210
    done.wait()


def bad_in_a_loop(queue, buf, n):
    out = np.empty(n, np.float32)
    totals = []
    for _ in range(3):
        event = cl.enqueue_copy(queue, out, buf, is_blocking=False)
        queue.flush()
        totals.append(out.sum())  # expect: OCL210
        event.wait()
    return totals


def bad_list_of_events(ctx, buf, n):
    queue = cl.CommandQueue(ctx)
    out = np.empty(n, np.float32)
    events = [cl.enqueue_copy(queue, out, buf, is_blocking=False)]
    queue.flush()
    total = float(out[0])  # expect: OCL210
    cl.wait_for_events(events)
    return total


def bad_helper(ctx, buf, n):
    queue = cl.CommandQueue(ctx)
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    submit(queue)
    total = np.sum(out)  # expect: OCL210
    done.wait()
    return total

def submit(queue):
    queue.flush()


def good_finish(queue, buf, n):
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    queue.flush()
    queue.finish()
    return out.sum(), done


def good_wait(queue, buf, n):
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    queue.flush()
    done.wait()
    return out.sum()


def good_blocking_copy(queue, knl, buf, n):
    out = np.empty(n, np.float32)
    knl(queue, (n,), None, buf)
    queue.flush()
    cl.enqueue_copy(queue, out, buf)
    return out.sum()


def good_dropped(queue, buf, n):
    out = np.empty(n, np.float32)
    cl.enqueue_copy(queue, out, buf, is_blocking=False)
    queue.flush()
    return out.sum()


def good_wait_for_events(queue, buf, n):
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    queue.flush()
    cl.wait_for_events([done])
    return out.sum()


def good_nothing_read(queue, buf, n):
    out = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    queue.flush()
    return out, done
"""

TABLE = [
    *cases("OCL201", READ),
    *cases("OCL202", WRITE),
    *cases("OCL206", MAP),
    *cases("OCL208", SVM),
    *cases("OCL209", FREE),
    *cases("OCL210", FLUSH),
]


@pytest.mark.parametrize(("code", "chunk"), TABLE)
def test_host_access(code: str, chunk: str) -> None:
    verify(code, chunk)
