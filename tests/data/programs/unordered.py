"""One mistake a function, marked where it must be reported; nothing else may be said."""

import numpy as np
import pyopencl as cl
from pyopencl import enqueue_copy as copy, CommandQueue
mf = cl.mem_flags
SRC = """
__kernel void inc(__global float *x) { x[get_global_id(0)] += 1; }
__kernel void cp(__global const float *x, __global float *y) { y[get_global_id(0)] = x[get_global_id(0)]; }
"""


def conditional_queue(ctx, x, flags):
    props = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE | cl.command_queue_properties.PROFILING_ENABLE
    q = CommandQueue(ctx, properties=props)
    prg = cl.Program(ctx, SRC).build()
    b = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
    ev = copy(q, b, x, is_blocking=False)
    knl = prg.inc
    e2 = knl(q, x.shape, None, b)  # expect: OCL101
    copy(q, x, b, wait_for=[e2, ev])


def list_props(ctx, x):
    q = cl.CommandQueue(ctx, properties=[cl.queue_properties.PROPERTIES, cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE])
    k = cl.Kernel(cl.Program(ctx, SRC).build(), "inc")
    b = cl.Buffer(ctx, mf.READ_WRITE, size=x.nbytes)
    k.set_args(b)
    first = cl.enqueue_nd_range_kernel(q, k, x.shape, None)
    second = cl.enqueue_nd_range_kernel(q, k, x.shape, None)  # expect: OCL101
    cl.wait_for_events([first, second])


def cross(ctx, x):
    queues = [cl.CommandQueue(ctx) for _ in range(2)]
    prg = cl.Program(ctx, SRC).build()
    a = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
    b = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
    prg.inc(queues[0], x.shape, None, a)
    prg.cp(queues[1], x.shape, None, a, b)  # expect: OCL101
    queues[1].finish()
    queues[0].finish()


def wrong_finish(ctx, x):
    upload, compute = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    prg = cl.Program(ctx, SRC).build()
    a = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
    e = cl.enqueue_copy(upload, a, x, is_blocking=False)
    compute.finish()
    prg.inc(compute, x.shape, None, a)  # expect: OCL105
    compute.finish()
    e.wait()


def refill(queue, bufs, src):
    stage = np.empty(1024, np.float32)
    evs = []
    for i, b in enumerate(bufs):
        stage[:] = src[i]  # expect: OCL202
        evs.append(cl.enqueue_copy(queue, b, stage, is_blocking=False))
    cl.wait_for_events(evs)


def loop_read(queue, bufs, n):
    outs = [np.empty(n) for _ in bufs]
    evs = []
    for o, b in zip(outs, bufs):
        evs.append(cl.enqueue_copy(queue, o, b, is_blocking=False))
    total = sum(o.sum() for o in outs)  # expect: OCL201
    cl.wait_for_events(evs)
    return total


class Solver:
    def __init__(self, ctx, n):
        self.q = cl.CommandQueue(ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
        self.prg = cl.Program(ctx, SRC).build()
        self.bufs = {"a": cl.Buffer(ctx, mf.READ_WRITE, n), "b": cl.Buffer(ctx, mf.READ_WRITE, n)}

    def fill(self):
        return cl.enqueue_fill_buffer(self.q, self.bufs["a"], np.float32(0), 0, 1024)

    def step(self, shape, deps):
        return self.prg.cp(self.q, shape, None, self.bufs["a"], self.bufs["b"], wait_for=deps)

    def solve(self, shape, out):
        ready = self.fill()
        other = cl.enqueue_marker(self.q)
        e = self.step(shape, [])  # expect: OCL103
        cl.enqueue_copy(self.q, out, self.bufs["b"], wait_for=[e, ready, other])


def unmapped_use(queue, buf, shape):
    arr, ev = cl.enqueue_map_buffer(queue, buf, cl.map_flags.READ, 0, shape, np.float32)
    arr.base.release(queue)
    return arr.sum()  # expect: OCL204


def never_set(ctx, queue, prg, buf, shape):
    gate = cl.UserEvent(ctx)  # expect: OCL301
    e = prg.inc(queue, shape, None, buf, wait_for=[gate])
    e.wait()
