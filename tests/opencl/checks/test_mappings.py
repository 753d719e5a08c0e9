"""OCL204, OCL205, OCL207: mapped regions and memory behind buffers."""

from __future__ import annotations

import pytest
from opencl_cases import cases, verify

AFTER_UNMAP = """
def bad_read(queue, buf, n):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    view.base.release(queue)
    return view.sum()  # expect: OCL204


def bad_write(queue, buf, n):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.WRITE, 0, (n,), np.float32)
    view.base.release()
    view[0] = 1  # expect: OCL204


def bad_after_the_block(queue, buf, n):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    with view.base:
        first = view[0]
    return first + view[1]  # expect: OCL204


def bad_slice(queue, buf, n):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    head = view[:4]
    view.base.release(queue)
    print(head)  # expect: OCL204


def bad_released_in_a_helper(queue, buf, n):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    unmap(queue, view)
    return np.max(view)  # expect: OCL204

def unmap(queue, view):
    view.base.release(queue)


class Bad:
    def __init__(self, queue, buf, n):
        self.queue, self.buf, self.n = queue, buf, n

    def fetch(self):
        self.view, _ = cl.enqueue_map_buffer(self.queue, self.buf, cl.map_flags.READ, 0, (self.n,), np.float32)
        self.view.base.release(self.queue)
        return float(self.view[0])  # expect: OCL204


def bad_device_copies_from_it(queue, buf, other, n):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    view.base.release(queue)
    cl.enqueue_copy(queue, other, view)  # expect: OCL204


def bad_svm(ctx, queue, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE, queue=queue)
    view = memory.map_rw(queue)
    view.release(queue)
    view[:] = 0  # expect: OCL204


def good_before(queue, buf, n):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    total = view.sum()
    view.base.release(queue)
    return total


def good_copy(queue, buf, n):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    kept = view.copy()
    view.base.release(queue)
    return kept.sum()


def good_inside_the_block(queue, buf, n):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    with view.base:
        return view.sum()


def good_new_map(queue, buf, n):
    for _ in range(3):
        view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
        print(view[0])
        view.base.release(queue)


def good_released_on_another_path(queue, buf, n, done):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    if done:
        view.base.release(queue)
        return None
    return view.sum()


def good_shape_only(queue, buf, n):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    view.base.release(queue)
    return view.shape
"""

WHILE_MAPPED = """
def bad_never_unmapped(ctx, queue, n):
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW, 4 * n)
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.WRITE, 0, (n,), np.float32)
    view[:] = 1
    program.twice(queue, (n,), None, buf)  # expect: OCL205
    queue.finish()
    print(view[0])


def bad_unmapped_afterwards(ctx, queue, n):
    program = cl.Program(ctx, SRC).build()
    buf, out = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.WRITE, 0, (n,), np.float32)
    view[:] = 1
    program.copy(queue, (n,), None, buf, out)  # expect: OCL205
    view.base.release(queue)
    queue.finish()


def bad_inside_the_block(ctx, queue, n):
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW, 4 * n)
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    with view.base:
        print(view[0])
        program.fill(queue, (n,), None, buf)  # expect: OCL205


def bad_copy_over_a_read_map(ctx, queue, n):
    buf, other = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    cl.enqueue_copy(queue, buf, other)  # expect: OCL205
    total = view.sum()
    view.base.release(queue)
    return total


class Bad:
    def __init__(self, ctx, queue, n):
        self.queue, self.n = queue, n
        self.program = cl.Program(ctx, SRC).build()
        self.buf = cl.Buffer(ctx, RW, 4 * n)

    def map(self):
        flags = cl.map_flags.READ | cl.map_flags.WRITE
        view, _ = cl.enqueue_map_buffer(self.queue, self.buf, flags, 0, (self.n,), np.float32)
        return view

    def run(self):
        view = self.map()
        view += 1
        self.program.fill(self.queue, (self.n,), None, self.buf)  # expect: OCL205
        view.base.release(self.queue)


def bad_each_round(ctx, queue, n):
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW, 4 * n)
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    while view[0] < 10:
        program.twice(queue, (n,), None, buf)  # expect: OCL205
        queue.finish()
    view.base.release(queue)


def bad_released_while_mapped(ctx, queue, n):
    buf = cl.Buffer(ctx, RW, 4 * n)
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.WRITE, 0, (n,), np.float32)
    view[:] = 1
    buf.release()  # expect: OCL205
    return view


def good_unmapped_before(ctx, queue, n):
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW, 4 * n)
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.WRITE, 0, (n,), np.float32)
    view[:] = 1
    view.base.release(queue)
    program.twice(queue, (n,), None, buf)
    queue.finish()


def good_unmapped_by_the_last_reference(ctx, queue, n):
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW, 4 * n)
    initialise(queue, buf, n)
    program.twice(queue, (n,), None, buf)
    queue.finish()

def initialise(queue, buf, n):
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.WRITE, 0, (n,), np.float32)
    view[:] = 1


def good_rebound(ctx, queue, n):
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW, 4 * n)
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.WRITE, 0, (n,), np.float32)
    view[:] = 1
    view = None
    program.twice(queue, (n,), None, buf)
    queue.finish()


def good_read_beside_a_read(ctx, queue, n):
    program = cl.Program(ctx, SRC).build()
    buf, out = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    program.copy(queue, (n,), None, buf, out)
    total = view.sum()
    view.base.release(queue)
    return total


def good_unmap_event_on_another_queue(ctx, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW, 4 * n)
    view, _ = cl.enqueue_map_buffer(left, buf, cl.map_flags.WRITE, 0, (n,), np.float32)
    view[:] = 1
    unmapped = view.base.release(left)
    left.flush()
    program.twice(right, (n,), None, buf, wait_for=[unmapped])
    right.finish()


def good_other_half(ctx, queue, n):
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW, 8192)
    low, high = buf.get_sub_region(0, 4096), buf.get_sub_region(4096, 4096)
    view, _ = cl.enqueue_map_buffer(queue, low, cl.map_flags.WRITE, 0, (1024,), np.float32)
    program.fill(queue, (1024,), None, high)
    view[:] = 1
    view.base.release(queue)
    queue.finish()


def good_pinned_staging(ctx, queue, blocks, n):
    pinned = cl.Buffer(ctx, RW | cl.mem_flags.ALLOC_HOST_PTR, 4 * n)
    staging, _ = cl.enqueue_map_buffer(queue, pinned, cl.map_flags.WRITE, 0, (n,), np.float32)
    buf = cl.Buffer(ctx, RW, 4 * n)
    for block in blocks:
        staging[:] = block
        cl.enqueue_copy(queue, buf, staging)


def good_mapped_in_another_branch(ctx, queue, n, look):
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW, 4 * n)
    if look:
        view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
        print(view[0])
        view.base.release(queue)
    else:
        program.fill(queue, (n,), None, buf)
    queue.finish()
"""

HOST_POINTER = """
def bad_read_after_finish(ctx, queue, n):
    host = np.ones(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    program.twice(queue, (n,), None, buf)
    queue.finish()
    return host[0]  # expect: OCL207


def bad_event_waited(ctx, queue, n):
    host = np.ones(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, 0, host)
    program.twice(queue, (n,), None, buf).wait()
    np.save("result.npy", host)  # expect: OCL207


class Bad:
    def __init__(self, ctx, queue, n):
        self.queue, self.n = queue, n
        self.host = np.zeros(n, np.float32)
        self.program = cl.Program(ctx, SRC).build()
        self.buf = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=self.host)

    def run(self):
        self.program.fill(self.queue, (self.n,), None, self.buf)
        self.queue.finish()
        return self.host.mean()  # expect: OCL207


def bad_write_between_launches(ctx, queue, n):
    host = np.ones(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    program.twice(queue, (n,), None, buf)
    queue.finish()
    host[:] = 2  # expect: OCL207
    program.twice(queue, (n,), None, buf)
    queue.finish()


def bad_through_a_helper(ctx, queue, n):
    host = np.ones(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    buf = shared(ctx, host)
    program.twice(queue, (n,), None, buf)
    queue.finish()
    print(host)  # expect: OCL207

def shared(ctx, host):
    return cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=host)


def bad_map_was_before(ctx, queue, n):
    host = np.ones(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.WRITE, 0, (n,), np.float32)
    view[:] = 3
    view.base.release(queue)
    program.twice(queue, (n,), None, buf)
    queue.finish()
    return host.sum()  # expect: OCL207


def good_mapped(ctx, queue, n):
    host = np.ones(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    program.twice(queue, (n,), None, buf)
    view, _ = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, (n,), np.float32)
    with view.base:
        return view.sum()


def good_read_back(ctx, queue, n):
    host = np.ones(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    program.twice(queue, (n,), None, buf)
    cl.enqueue_copy(queue, host, buf)
    return host.sum()


def good_another_array(ctx, queue, n):
    host, out = np.ones(n, np.float32), np.empty(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    program.twice(queue, (n,), None, buf)
    cl.enqueue_copy(queue, out, buf)
    return out.sum()


def good_only_read_by_the_device(ctx, queue, n):
    host = np.ones(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, cl.mem_flags.READ_ONLY | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    out = cl.Buffer(ctx, RW, 4 * n)
    program.copy(queue, (n,), None, buf, out)
    queue.finish()
    return host.sum()


def good_written_before(ctx, queue, n):
    host = np.empty(n, np.float32)
    host[:] = 1
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    program.twice(queue, (n,), None, buf)
    queue.finish()
    return buf


def good_copied(ctx, queue, n):
    host = np.ones(n, np.float32)
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, RW | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
    program.twice(queue, (n,), None, buf)
    queue.finish()
    return host.sum()


def good_reused_after_the_last_use(ctx, queue, n):
    host, out = np.ones(n, np.float32), cl.Buffer(ctx, RW, 4 * n)
    program = cl.Program(ctx, SRC).build()
    buf = cl.Buffer(ctx, cl.mem_flags.READ_ONLY | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    program.copy(queue, (n,), None, buf, out)
    queue.finish()
    host[:] = 0
    return out
"""

TABLE = [*cases("OCL204", AFTER_UNMAP), *cases("OCL205", WHILE_MAPPED), *cases("OCL207", HOST_POINTER)]


@pytest.mark.parametrize(("code", "chunk"), TABLE)
def test_mapping(code: str, chunk: str) -> None:
    verify(code, chunk)
