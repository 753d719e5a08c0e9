"""Host code whose order holds: nothing may be said of it."""

import functools
import threading
import numpy as np
import pyopencl as cl
import pyopencl.array as cla

OOO = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
SRC = """
__kernel void inc(__global float *x) { x[get_global_id(0)] += 1; }
__kernel void cp(__global const float *x, __global float *y) { y[get_global_id(0)] = x[get_global_id(0)]; }
"""


def pipeline(ctx, hosts):
    q = cl.CommandQueue(ctx, properties=OOO)
    prg = cl.Program(ctx, SRC).build()
    bufs = [cl.Buffer(ctx, cl.mem_flags.READ_WRITE, h.nbytes) for h in hosts]
    ups = [cl.enqueue_copy(q, b, h, is_blocking=False) for b, h in zip(bufs, hosts)]
    runs = []
    for b, up, h in zip(bufs, ups, hosts):
        runs.append(prg.inc(q, h.shape, None, b, wait_for=[up]))
    cl.wait_for_events(runs)
    for b, h in zip(bufs, hosts):
        cl.enqueue_copy(q, h, b)
    return hosts


def double_buffer(ctx, chunks, n):
    q = cl.CommandQueue(ctx, properties=OOO)
    prg = cl.Program(ctx, SRC).build()
    buf = [cl.Buffer(ctx, cl.mem_flags.READ_WRITE, n) for _ in range(2)]
    done = [None, None]
    for i, chunk in enumerate(chunks):
        slot = i % 2
        if done[slot] is not None:
            done[slot].wait()
        up = cl.enqueue_copy(q, buf[slot], chunk, is_blocking=False)
        done[slot] = prg.inc(q, chunk.shape, None, buf[slot], wait_for=[up])
    q.finish()


def chained(ctx, x, steps):
    q = cl.CommandQueue(ctx, properties=OOO)
    prg = cl.Program(ctx, SRC).build()
    b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
    last = None
    for _ in range(steps):
        last = prg.inc(q, x.shape, None, b, wait_for=[last] if last else None)
    cl.enqueue_copy(q, x, b, wait_for=[last])
    return x


def ping_pong(ctx, x, steps):
    q = cl.CommandQueue(ctx)
    prg = cl.Program(ctx, SRC).build()
    a = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, x.nbytes)
    b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, x.nbytes)
    for _ in range(steps):
        prg.cp(q, x.shape, None, a, b)
        a, b = b, a
    cl.enqueue_copy(q, x, a)


def fallback(ctx, dev, x):
    try:
        q = cl.CommandQueue(ctx, dev, properties=OOO)
    except cl.LogicError:
        q = cl.CommandQueue(ctx, dev)
    prg = cl.Program(ctx, SRC).build()
    b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, x.nbytes)
    e = cl.enqueue_copy(q, b, x, is_blocking=False)
    e = prg.inc(q, x.shape, None, b, wait_for=[e])
    cl.enqueue_copy(q, x, b, wait_for=[e])


def two_queues(ctx, x):
    q1 = cl.CommandQueue(ctx)
    q2 = cl.CommandQueue(ctx)
    prg = cl.Program(ctx, SRC).build()
    b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, x.nbytes)
    c = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, x.nbytes)
    e = prg.inc(q1, x.shape, None, b)
    q1.flush()
    f = prg.cp(q2, x.shape, None, b, c, wait_for=[e])
    q2.finish()
    prg.inc(q1, x.shape, None, b)
    q1.finish()
    out = np.empty_like(x)
    cl.enqueue_copy(q2, out, c)
    return out, f


def split_halves(ctx, x, n):
    q = cl.CommandQueue(ctx, properties=OOO)
    b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 2 * n)
    lo = b.get_sub_region(0, 1024)
    hi = b.get_sub_region(1024, 1024)
    e1 = cl.enqueue_fill_buffer(q, lo, np.float32(0), 0, 1024)
    e2 = cl.enqueue_fill_buffer(q, hi, np.float32(1), 0, 1024)
    cl.wait_for_events([e1, e2])
    cl.enqueue_copy(q, x, b)


class Engine:
    def __init__(self, ctx, n, profile=False):
        self.ctx = ctx
        props = OOO
        if profile:
            props |= cl.command_queue_properties.PROFILING_ENABLE
        self.queue = cl.CommandQueue(ctx, properties=props)
        self.prg = cl.Program(ctx, SRC).build()
        self.buf = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, n)
        self.out = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, n)
        self.lock = threading.Lock()
        self.events = {}

    def upload(self, host):
        with self.lock:
            self.events["up"] = cl.enqueue_copy(self.queue, self.buf, host, is_blocking=False)
        return self.events["up"]

    def run(self, host, wait_for=None):
        deps = list(wait_for or [])
        deps.append(self.upload(host))
        e = self.prg.cp(self.queue, host.shape, None, self.buf, self.out, wait_for=deps)
        res = np.empty_like(host)
        cl.enqueue_copy(self.queue, res, self.out, wait_for=[e])
        return res

    def barrier_run(self, host):
        self.upload(host)
        cl.enqueue_barrier(self.queue)
        self.prg.cp(self.queue, host.shape, None, self.buf, self.out)
        cl.enqueue_barrier(self.queue)
        res = np.empty_like(host)
        cl.enqueue_copy(self.queue, res, self.out)
        return res

    def marker_run(self, host):
        self.upload(host)
        m = cl.enqueue_marker(self.queue)
        e = self.prg.cp(self.queue, host.shape, None, self.buf, self.out, wait_for=[m])
        e.wait()

    def sync(self):
        self.queue.finish()

    def finish_run(self, host):
        self.upload(host)
        self.sync()
        self.prg.cp(self.queue, host.shape, None, self.buf, self.out)
        self.sync()
        res = np.empty_like(host)
        cl.enqueue_copy(self.queue, res, self.out)
        return res.sum()


def async_read(queue, buf, shape):
    out = np.empty(shape, np.float32)
    e = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    print("copying", out.shape, out.nbytes, len(out))
    view = out[2:10]
    e.wait()
    return view.sum()


def nanny(queue, buf, shape):
    out = np.empty(shape, np.float32)
    cl.enqueue_copy(queue, out, buf, is_blocking=False)
    return out.sum()


def covering(queue, buf, buf2, shape):
    out = np.empty(shape, np.float32)
    out2 = np.empty(shape, np.float32)
    e = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    cl.enqueue_copy(queue, out2, buf2)
    return out.sum() + out2.sum(), e


def mapped(queue, buf, shape):
    arr, ev = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, shape, np.float32)
    with arr.base:
        total = float(arr.sum())
    return total


def arrays(ctx, x):
    q = cl.CommandQueue(ctx, properties=OOO)
    prg = cl.Program(ctx, SRC).build()
    a = cla.to_device(q, x)
    b = 2 * a + 1
    e = prg.inc(q, x.shape, None, b.data, wait_for=b.events)
    b.add_event(e)
    return b.get()


def user_gate(ctx, q, b, x):
    gate = cl.UserEvent(ctx)
    prg = cl.Program(ctx, SRC).build()
    try:
        e = prg.inc(q, x.shape, None, b, wait_for=[gate])
    finally:
        gate.set_status(cl.command_execution_status.COMPLETE)
    e.wait()


def partial_use(ctx, x):
    q = cl.CommandQueue(ctx, properties=OOO)
    copy = functools.partial(cl.enqueue_copy, q, is_blocking=False)
    b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, x.nbytes)
    e = copy(b, x)
    e.wait()
    cl.enqueue_copy(q, x, b)


def by_branch(ctx, x, fast):
    q = cl.CommandQueue(ctx, properties=OOO)
    prg = cl.Program(ctx, SRC).build()
    b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, x.nbytes)
    if fast:
        e = cl.enqueue_copy(q, b, x, is_blocking=False)
    else:
        e = cl.enqueue_fill_buffer(q, b, np.float32(0), 0, x.nbytes)
    if fast:
        e2 = prg.inc(q, x.shape, None, b, wait_for=[e])
    else:
        e2 = e
    cl.enqueue_copy(q, x, b, wait_for=[e2])


def refused_on_purpose(ctx, q, b):
    prg = cl.Program(ctx, SRC).build()
    try:
        prg.cp(q, (64,), None, b)
    except cl.LogicError:
        print("as it should be")


def waits_where_loose(ctx, x, loose):
    q = cl.CommandQueue(ctx, properties=OOO if loose else 0)
    prg = cl.Program(ctx, SRC).build()
    b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, x.nbytes)
    up = cl.enqueue_copy(q, b, x, is_blocking=False)
    if loose:
        up.wait()
    run = prg.inc(q, x.shape, None, b)
    if loose:
        run.wait()
    cl.enqueue_copy(q, x, b)


def lists_where_loose(ctx, x, loose):
    if loose:
        q = cl.CommandQueue(ctx, properties=OOO)
    else:
        q = cl.CommandQueue(ctx)
    prg = cl.Program(ctx, SRC).build()
    b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, x.nbytes)
    up = cl.enqueue_copy(q, b, x, is_blocking=False)
    run = prg.inc(q, x.shape, None, b, wait_for=[up] if loose else None)
    cl.enqueue_copy(q, x, b, wait_for=[run] if loose else None)


def one_of_two_kinds(ctx, x, loose):
    strict, q = cl.CommandQueue(ctx), None
    if loose:
        q = cl.CommandQueue(ctx, properties=OOO)
    queue = q if loose else strict
    prg = cl.Program(ctx, SRC).build()
    b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, x.nbytes)
    up = cl.enqueue_copy(queue, b, x, is_blocking=False)
    if loose:
        run = prg.inc(queue, x.shape, None, b, wait_for=[up])
    else:
        run = prg.inc(strict, x.shape, None, b)
    cl.enqueue_copy(queue, x, b, wait_for=[run])


def either_is_in_order(ctx, x, dev):
    try:
        q = cl.CommandQueue(ctx, dev, properties=cl.command_queue_properties.PROFILING_ENABLE)
    except cl.LogicError:
        q = cl.CommandQueue(ctx, dev)
    prg = cl.Program(ctx, SRC).build()
    b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, x.nbytes)
    cl.enqueue_copy(q, b, x, is_blocking=False)
    prg.inc(q, x.shape, None, b)
    cl.enqueue_copy(q, x, b)
