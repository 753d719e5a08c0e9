"""OCL316, OCL504 to OCL506, OCL509: the end of the process, pools, events that are dropped, shared kernels."""

from __future__ import annotations

import pytest
from opencl_cases import NoProject, cases, verify

from kexec_lint.findings import Severity
from kexec_lint.opencl.report import scan_python
from kexec_lint.source import Options, Source

TEARDOWN = """
def bad_exit(queue, knl, buf, n):
    knl(queue, (n,), None, buf)
    sys.exit(0)  # expect: OCL316


def bad_hard_exit(queue, buf, host):
    import os

    event = cl.enqueue_copy(queue, buf, host, is_blocking=False)
    os._exit(1)  # expect: OCL316


def bad_flush_is_not_enough(queue, knl, buf, n):
    knl(queue, (n,), None, buf)
    queue.flush()
    sys.exit()  # expect: OCL316


class Bad:
    def __init__(self, queue):
        self.queue = queue

    def stop(self, knl, buf, n):
        knl(self.queue, (n,), None, buf)
        self.leave()  # expect: OCL316

    def leave(self):
        sys.exit(0)


def bad_other_queue_finished(ctx, knl, buf, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    knl(left, (n,), None, buf)
    right.finish()
    quit()  # expect: OCL316


def bad_rebuild(ctx, queue, buf, n):
    program = cl.Program(ctx, SRC).build()
    program.fill(queue, (n,), None, buf)
    program.build("-DX=1")  # expect: OCL316
    queue.finish()


def good_finished(queue, knl, buf, n):
    knl(queue, (n,), None, buf)
    queue.finish()
    sys.exit(0)


def good_blocking_read(queue, n):
    buf, out = cl.Buffer(queue.context, RW, 4 * n), np.empty(n, np.float32)
    cl.enqueue_copy(queue, out, buf)
    sys.exit(int(out[0]))


def good_result_of_unknown_kind_is_fetched(queue, knl, buf, n, result):
    knl(queue, (n,), None, buf)
    result.get()
    sys.exit()


def good_exit_before(queue, knl, buf, n):
    if n < 1:
        sys.exit("nothing to do")
    knl(queue, (n,), None, buf)
    queue.finish()


def good_exit_on_another_path(queue, knl, buf, n, fast):
    if fast:
        knl(queue, (n,), None, buf)
        queue.finish()
    else:
        sys.exit(2)


def good_release(ctx, queue, knl, n):
    buf = cl.Buffer(ctx, RW, 4 * n)
    knl(queue, (n,), None, buf)
    buf.release()
    del queue


def good_new_program(ctx, queue, buf, n):
    cl.Program(ctx, SRC).build().fill(queue, (n,), None, buf)
    program = cl.Program(ctx, SRC).build("-DX=1")
    program.fill(queue, (n,), None, buf)
    queue.finish()


def good_built_once(ctx, queue, buf, n):
    program = cl.Program(ctx, SRC)
    program.build()
    program.fill(queue, (n,), None, buf)
    queue.finish()
    program.build()
"""

POOL = """
def bad_deleted(ctx, knl, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(left))
    x = pool.allocate(4 * n)
    knl(left, (n,), None, x)
    del x
    y = pool.allocate(4 * n)
    knl(right, (n,), None, y)  # expect: OCL504
    left.finish()
    right.finish()


def bad_called(ctx, knl, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(left))
    x = pool(4 * n)
    knl(left, (n,), None, x)
    x = pool(4 * n)
    y = pool(4 * n)
    knl(right, (n,), None, y)  # expect: OCL504
    left.finish()
    right.finish()


def bad_out_of_order(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(queue))
    x = pool.allocate(4 * n)
    first = program.fill(queue, (n,), None, x)
    x.release()
    y = pool.allocate(4 * n)
    program.fill(queue, (n,), None, y)  # expect: OCL504
    first.wait()
    queue.finish()


def bad_out_of_scope(ctx, knl, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(left))
    scratch(left, pool, knl, n)
    y = pool.allocate(4 * n)
    knl(right, (n,), None, y)  # expect: OCL504
    left.finish()
    right.finish()

def scratch(queue, pool, knl, n):
    x = pool.allocate(4 * n)
    knl(queue, (n,), None, x)


class Bad:
    def __init__(self, ctx):
        self.left, self.right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
        self.pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(self.left))

    def run(self, knl, n):
        x = self.pool.allocate(4 * n)
        knl(self.left, (n,), None, x)
        x = None
        y = self.pool.allocate(4 * n)
        knl(self.right, (n,), None, y)  # expect: OCL504
        self.left.finish()
        self.right.finish()


def bad_array(ctx, knl, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(left))
    x = cl_array.empty(left, n, np.float32, allocator=pool)
    knl(left, (n,), None, x.data)
    del x
    y = cl_array.empty(right, n, np.float32, allocator=pool)
    knl(right, (n,), None, y.data)  # expect: OCL504
    left.finish()
    right.finish()


def good_one_queue(ctx, knl, n):
    queue = cl.CommandQueue(ctx)
    pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(queue))
    for _ in range(3):
        x = pool.allocate(4 * n)
        knl(queue, (n,), None, x)
    queue.finish()


def good_finished(ctx, knl, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(left))
    x = pool.allocate(4 * n)
    knl(left, (n,), None, x).wait()
    del x
    y = pool.allocate(4 * n)
    knl(right, (n,), None, y)
    right.finish()


def good_kept(ctx, knl, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(left))
    x, y = pool.allocate(4 * n), pool.allocate(4 * n)
    knl(left, (n,), None, x)
    knl(right, (n,), None, y)
    left.finish()
    right.finish()


def good_event_passed(ctx, knl, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(left))
    x = pool.allocate(4 * n)
    done = knl(left, (n,), None, x)
    left.flush()
    del x
    y = pool.allocate(4 * n)
    knl(right, (n,), None, y, wait_for=[done])
    right.finish()


def good_svm_pool(ctx, knl, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    pool = cl_tools.SVMPool(cl_tools.SVMAllocator(ctx, queue=left))
    x = pool.allocate(4 * n)
    knl(left, (n,), None, x)
    del x
    y = pool.allocate(4 * n)
    knl(right, (n,), None, y)
    left.finish()
    right.finish()


def good_plain_buffers(ctx, knl, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    x = cl.Buffer(ctx, RW, 4 * n)
    knl(left, (n,), None, x)
    del x
    y = cl.Buffer(ctx, RW, 4 * n)
    knl(right, (n,), None, y)
    left.finish()
    right.finish()


def good_sizes_that_do_not_fit(ctx, knl, n):
    left, right = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(left))
    x = pool.allocate(4096)
    knl(left, (n,), None, x)
    del x
    y = pool.allocate(1 << 20)
    knl(right, (n,), None, y)
    left.finish()
    right.finish()
"""

GATED_DROP = """
def bad_statement(ctx, queue, buf, n):
    host = np.zeros(n, np.float32)
    gate = cl.UserEvent(ctx)
    cl.enqueue_copy(queue, buf, host, is_blocking=False, wait_for=[gate])  # expect: OCL505
    gate.set_status(COMPLETE)


def bad_behind_a_gated_kernel(ctx, buf, knl, n):
    queue = cl.CommandQueue(ctx)
    host = np.zeros(n, np.float32)
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    cl.enqueue_copy(queue, buf, host, is_blocking=False)  # expect: OCL505
    gate.set_status(COMPLETE)
    queue.finish()


def bad_rebound(ctx, queue, buf, other, n):
    host = np.zeros(n, np.float32)
    gate = cl.UserEvent(ctx)
    event = cl.enqueue_copy(queue, buf, host, is_blocking=False, wait_for=[gate])  # expect: OCL505
    event = cl.enqueue_copy(queue, other, host, is_blocking=False)
    gate.set_status(COMPLETE)
    event.wait()


def bad_out_of_scope(ctx, queue, buf, n):
    host = np.zeros(n, np.float32)
    gate = cl.UserEvent(ctx)
    upload(queue, buf, host, gate)  # expect-in-helper
    gate.set_status(COMPLETE)

def upload(queue, buf, host, gate):
    event = cl.enqueue_copy(queue, buf, host, is_blocking=False, wait_for=[gate])  # expect: OCL505
    print(type(event))


class Bad:
    def __init__(self, ctx, queue, buf, n):
        self.ctx, self.queue, self.buf = ctx, queue, buf
        self.host = np.zeros(n, np.float32)

    def run(self):
        gate = cl.UserEvent(self.ctx)
        deps = [gate]
        cl.enqueue_copy(self.queue, self.host, self.buf, is_blocking=False, wait_for=deps)  # expect: OCL505
        gate.set_status(COMPLETE)


def bad_thread_will_set_it(ctx, queue, buf, n):
    host = np.zeros(n, np.float32)
    gate = cl.UserEvent(ctx)
    threading.Timer(0.1, gate.set_status, [COMPLETE]).start()
    cl.enqueue_copy(queue, buf, host, is_blocking=False, wait_for=[gate])  # expect: OCL505


def good_kept(ctx, queue, buf, n):
    host = np.zeros(n, np.float32)
    gate = cl.UserEvent(ctx)
    event = cl.enqueue_copy(queue, buf, host, is_blocking=False, wait_for=[gate])
    gate.set_status(COMPLETE)
    event.wait()


def good_set_before(ctx, queue, buf, n):
    host = np.zeros(n, np.float32)
    gate = cl.UserEvent(ctx)
    gate.set_status(COMPLETE)
    cl.enqueue_copy(queue, buf, host, is_blocking=False, wait_for=[gate])


def good_kernel_dropped(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    gate.set_status(COMPLETE)
    queue.finish()


def good_no_gate(queue, buf, n):
    host = np.zeros(n, np.float32)
    cl.enqueue_copy(queue, buf, host, is_blocking=False)


def good_helper_may_have_set_it(ctx, queue, buf, n, release):
    host = np.zeros(n, np.float32)
    gate = cl.UserEvent(ctx)
    release(gate)
    cl.enqueue_copy(queue, buf, host, is_blocking=False, wait_for=[gate])


def good_in_a_list(ctx, queue, buf, n):
    host = np.zeros(n, np.float32)
    gate = cl.UserEvent(ctx)
    events = [cl.enqueue_copy(queue, buf, host, is_blocking=False, wait_for=[gate])]
    gate.set_status(COMPLETE)
    cl.wait_for_events(events)


def good_device_copy(ctx, queue, n):
    a, b = cl.Buffer(ctx, RW, 4 * n), cl.Buffer(ctx, RW, 4 * n)
    gate = cl.UserEvent(ctx)
    cl.enqueue_copy(queue, a, b, wait_for=[gate])
    gate.set_status(COMPLETE)
    queue.finish()
"""

SVM_COPY = """
def bad_temporary(queue, memory, n):
    event = cl.enqueue_copy(queue, cl.SVM(memory), np.ones(n, np.float32), is_blocking=False)  # expect: OCL506
    event.wait()


def bad_out_of_scope(ctx, queue, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE, queue=queue)
    event = upload(queue, memory, n)
    event.wait()
    return memory

def upload(queue, memory, n):
    host = np.arange(n, dtype=np.float32)
    return cl.enqueue_copy(queue, memory, host, is_blocking=False)  # expect: OCL506


def bad_deleted(ctx, queue, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE, queue=queue)
    host = np.arange(n, dtype=np.float32)
    event = cl.enqueue_copy(queue, memory, host, is_blocking=False)  # expect: OCL506
    del host
    event.wait()


def bad_rebound_in_a_loop(ctx, queue, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE, queue=queue)
    events = []
    for i in range(3):
        host = np.full(n, i, np.float32)
        events.append(cl.enqueue_copy(queue, memory, host, is_blocking=False))  # expect: OCL506
    cl.wait_for_events(events)
    return memory


class Bad:
    def __init__(self, ctx, queue, n):
        self.queue, self.n = queue, n
        self.memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE, queue=queue)

    def reset(self):
        host = np.zeros(self.n, np.float32)
        self.event = cl.enqueue_copy(self.queue, self.memory, host, is_blocking=False)  # expect: OCL506


def bad_download(ctx, queue, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE, queue=queue)
    out = np.empty(n, np.float32)
    event = cl.enqueue_copy(queue, out, memory, is_blocking=False)  # expect: OCL506
    return event, memory


def good_waited(ctx, queue, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE, queue=queue)
    host = np.arange(n, dtype=np.float32)
    cl.enqueue_copy(queue, memory, host, is_blocking=False).wait()
    return memory


def good_blocking(ctx, queue, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE, queue=queue)
    cl.enqueue_copy(queue, memory, np.ones(n, np.float32))
    return memory


def good_finished(ctx, queue, n):
    memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE, queue=queue)
    host = np.arange(n, dtype=np.float32)
    cl.enqueue_copy(queue, memory, host, is_blocking=False)
    queue.finish()
    return memory


def good_array_of_the_caller(queue, memory, host):
    return cl.enqueue_copy(queue, cl.SVM(memory), host, is_blocking=False)


def good_kept_on_the_object(ctx, queue, n):
    store = Store()
    store.host = np.arange(n, dtype=np.float32)
    store.memory = cl.SVMAllocation(ctx, 4 * n, 0, cl.svm_mem_flags.READ_WRITE, queue=queue)
    store.event = cl.enqueue_copy(queue, store.memory, store.host, is_blocking=False)
    return store

class Store:
    pass


def good_buffer(queue, buf, n):
    return cl.enqueue_copy(queue, buf, np.ones(n, np.float32), is_blocking=False)


def good_allocator_with_a_queue(ctx, queue, knl, n):
    allocator = cl_tools.SVMAllocator(ctx, queue=queue)
    block = allocator(4 * n)
    knl(queue, (n,), None, block)
    del block
"""

SHARED_KERNEL = """
def bad_closure(ctx, program, parts, n):
    knl = program.step

    def work(part):
        queue = cl.CommandQueue(ctx)
        knl(queue, (n,), None, part)  # expect: OCL509
        queue.finish()

    for part in parts:
        threading.Thread(target=work, args=(part,)).start()


def bad_argument(ctx, program, parts, n):
    knl = cl.Kernel(program, "step")
    workers = [threading.Thread(target=run_one, args=(ctx, knl, part, n)) for part in parts]
    for worker in workers:
        worker.start()

def run_one(ctx, knl, part, n):
    queue = cl.CommandQueue(ctx)
    knl(queue, (n,), None, part)  # expect: OCL509
    queue.finish()


class Bad:
    def __init__(self, ctx, program):
        self.ctx = ctx
        self.knl = program.step

    def work(self, part):
        queue = cl.CommandQueue(self.ctx)
        self.knl(queue, (64,), None, part)  # expect: OCL509
        queue.finish()

    def run(self, parts):
        with ThreadPoolExecutor(4) as pool:
            for part in parts:
                pool.submit(self.work, part)


def bad_two_functions(ctx, program, a, b):
    knl = program.step

    def left():
        queue = cl.CommandQueue(ctx)
        knl(queue, (64,), None, a)
        queue.finish()

    def right():
        queue = cl.CommandQueue(ctx)
        knl(queue, (64,), None, b)  # expect: OCL509
        queue.finish()

    threading.Thread(target=left).start()
    threading.Thread(target=right).start()


def bad_two_locks(ctx, program, a, b):
    knl = program.step
    one, two = threading.Lock(), threading.Lock()

    def work(lock, part):
        queue = cl.CommandQueue(ctx)
        with lock:
            knl(queue, (64,), None, part)  # expect: OCL509
        queue.finish()

    threading.Thread(target=work, args=(one, a)).start()
    threading.Thread(target=work, args=(two, b)).start()


def bad_map(ctx, program, parts):
    knl = program.step

    def work(part):
        queue = cl.CommandQueue(ctx)
        knl.set_args(part)
        cl.enqueue_nd_range_kernel(queue, knl, (64,), None)  # expect: OCL509
        queue.finish()

    with ThreadPoolExecutor() as pool:
        pool.map(work, parts)


def good_kernel_in_the_thread(ctx, program, parts):
    def work(part):
        queue = cl.CommandQueue(ctx)
        knl = cl.Kernel(program, "step")
        knl(queue, (64,), None, part)
        queue.finish()

    for part in parts:
        threading.Thread(target=work, args=(part,)).start()


def good_lock(ctx, program, parts):
    knl = program.step
    lock = threading.Lock()

    def work(part):
        queue = cl.CommandQueue(ctx)
        with lock:
            knl(queue, (64,), None, part)
        queue.finish()

    for part in parts:
        threading.Thread(target=work, args=(part,)).start()


def good_acquire(ctx, program, parts):
    knl = program.step
    lock = threading.Lock()

    def work(part):
        queue = cl.CommandQueue(ctx)
        lock.acquire()
        try:
            knl(queue, (64,), None, part)
        finally:
            lock.release()
        queue.finish()

    for part in parts:
        threading.Thread(target=work, args=(part,)).start()


def good_one_thread(ctx, program, part):
    knl = program.step

    def work():
        queue = cl.CommandQueue(ctx)
        knl(queue, (64,), None, part)
        queue.finish()

    threading.Thread(target=work).start()


def good_kernel_of_each(ctx, source, parts):
    program = cl.Program(ctx, source).build()
    for part in parts:
        threading.Thread(target=run_own, args=(ctx, program.step, part)).start()

def run_own(ctx, knl, part):
    queue = cl.CommandQueue(ctx)
    knl(queue, (64,), None, part)
    queue.finish()


class Good:
    def __init__(self, ctx, program):
        self.ctx, self.knl = ctx, program.step
        self.lock = threading.RLock()

    def work(self, part):
        queue = cl.CommandQueue(self.ctx)
        with self.lock:
            self.knl(queue, (64,), None, part)
        queue.finish()

    def run(self, parts):
        with ThreadPoolExecutor(4) as pool:
            for part in parts:
                pool.submit(self.work, part)
"""

TABLE = [
    *cases("OCL316", TEARDOWN),
    *cases("OCL504", POOL),
    *cases("OCL505", GATED_DROP),
    *cases("OCL506", SVM_COPY),
    *cases("OCL509", SHARED_KERNEL),
]


@pytest.mark.parametrize(("code", "chunk"), TABLE)
def test_lifetime(code: str, chunk: str) -> None:
    verify(code, chunk)


SCRIPT = """
import pyopencl as cl

ctx = cl.create_some_context()
queue = cl.CommandQueue(ctx)
program = cl.Program(ctx, "__kernel void fill(__global float *x) { x[get_global_id(0)] = 1.0f; }").build()
buf = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4096)
program.fill(queue, (1024,), None, buf)
"""

DROPPED = """
import pyopencl as cl


def upload(ctx, queue, n):
    buf = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4 * n)
    cl.enqueue_copy(queue, buf, bytearray(4 * n), is_blocking=False)
    return buf
"""

ALLOCATOR = """
import pyopencl as cl
import pyopencl.tools as cl_tools


def run(ctx, queue, knl, n):
    allocator = cl_tools.SVMAllocator(ctx)
    block = allocator(4 * n)
    knl(queue, (n,), None, block)
    del block
    queue.finish()
"""


def scan(text: str, code: str, named: bool) -> list[tuple[int, Severity]]:
    source = Source("case.py", text, text.encode())
    options = Options(frozenset({code}), explicit=frozenset({code} if named else ()))
    return [(f.location.row, f.severity) for f in scan_python(source, NoProject(), options).findings]


def test_script_that_ends_too_early() -> None:
    assert scan(SCRIPT, "OCL316", named=False) == [(8, Severity.WARNING)]
    assert scan(SCRIPT + "queue.finish()\n", "OCL316", named=False) == []


def test_dropped_transfer_is_shown_when_the_rule_is_named() -> None:
    assert scan(DROPPED, "OCL505", named=False) == []
    assert scan(DROPPED, "OCL505", named=True) == [(7, Severity.INFO)]


def test_block_of_an_allocator_without_a_queue() -> None:
    assert scan(ALLOCATOR, "OCL506", named=False) == [(10, Severity.WARNING)]
    assert scan(ALLOCATOR.replace("(ctx)\n", "(ctx, queue=queue)\n"), "OCL506", named=False) == []
