"""One mistake a function, marked where it must be reported; nothing else may be said."""

import numpy as np
import pyopencl as cl
import pyopencl.array

mf = cl.mem_flags
PROPS = {"fast": cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE, "safe": 0}
SRC = """
__kernel void inc(__global float *x) { x[get_global_id(0)] += 1; }
__kernel void cp(__global const float *x, __global float *y) { y[get_global_id(0)] = x[get_global_id(0)]; }
__kernel void two(__global const float *a, __global const float *b, __global float *y)
{ int i = get_global_id(0); y[i] = a[i] + b[i]; }
"""
ctx = cl.create_some_context()
QUEUE = cl.CommandQueue(ctx, properties=PROPS["fast"])
PRG = cl.Program(ctx, SRC).build()
KERNELS = {name: getattr(PRG, name) for name in ("inc", "cp", "two")}


def module_queue(x):
    b = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
    c = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
    KERNELS["inc"](QUEUE, x.shape, None, b)
    e = KERNELS["cp"](QUEUE, x.shape, None, b, c)  # expect: OCL101
    e.wait()


def partial_list(x):
    a, b, c = (cl.Buffer(ctx, mf.READ_WRITE, x.nbytes) for _ in range(3))
    e1 = cl.enqueue_copy(QUEUE, a, x, is_blocking=False)
    e2 = cl.enqueue_copy(QUEUE, b, x, is_blocking=False)
    e3 = PRG.two(QUEUE, x.shape, None, a, b, c, wait_for=[e2])  # expect: OCL102
    cl.enqueue_copy(QUEUE, x, c, wait_for=[e3, e1])


def last_only(x):
    outs = np.empty_like(x), np.empty_like(x)
    a = cl.Buffer(ctx, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=x)
    e1 = cl.enqueue_copy(QUEUE, outs[0], a, is_blocking=False)
    e2 = cl.enqueue_copy(QUEUE, outs[1], a, is_blocking=False)
    e2.wait()
    total = outs[0].sum()  # expect: OCL102
    e1.wait()
    return total


def listed_barrier(x):
    a, b = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes), cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
    c = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
    e1 = cl.enqueue_copy(QUEUE, a, x, is_blocking=False)
    e2 = cl.enqueue_copy(QUEUE, b, x, is_blocking=False)
    cl.enqueue_barrier(QUEUE, wait_for=[e1])
    e3 = PRG.two(QUEUE, x.shape, None, a, b, c)  # expect: OCL104
    cl.wait_for_events([e2, e3])


class Base:
    def __init__(self, context):
        self._context = context
        self._queue = None
        self.setup()

    def setup(self):
        self._queue = cl.CommandQueue(self._context, None, PROPS["fast"])

    @property
    def queue(self):
        return self._queue


class Derived(Base):
    def __init__(self, context, n):
        super().__init__(context)
        self.src = cl.Buffer(context, mf.READ_WRITE, n)
        self.dst = cl.Buffer(context, mf.READ_WRITE, n)
        self.prg = cl.Program(context, SRC).build()

    def go(self, host):
        up = cl.enqueue_copy(self.queue, self.src, host, is_blocking=False)
        run = self.prg.cp(self.queue, host.shape, None, self.src, self.dst)  # expect: OCL101
        cl.enqueue_copy(self.queue, host, self.dst, wait_for=[run, up])


def closure(x):
    b = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)

    def launch(**kw):
        return PRG.inc(QUEUE, x.shape, None, b, **kw)

    first = launch()
    second = launch()  # expect: OCL101
    cl.enqueue_copy(QUEUE, x, b, wait_for=[first, second])


def war(x):
    b = cl.Buffer(ctx, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=x)
    out = np.empty_like(x)
    down = cl.enqueue_copy(QUEUE, out, b, is_blocking=False)
    e = PRG.inc(QUEUE, x.shape, None, b)  # expect: OCL101
    cl.wait_for_events([down, e])


def array_raw(x):
    a = pyopencl.array.to_device(QUEUE, x)
    b = a * 2
    e = PRG.inc(QUEUE, x.shape, None, b.data)  # expect: OCL501
    e.wait()


def array_lost(x):
    a = pyopencl.array.to_device(QUEUE, x)
    e = PRG.inc(QUEUE, x.shape, None, a.data, wait_for=a.events)
    h = a.get()  # expect: OCL502
    e.wait()
    return h


def profile_off(x):
    q = cl.CommandQueue(ctx)
    b = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
    e = PRG.inc(q, x.shape, None, b)
    e.wait()
    return e.profile.end - e.profile.start  # expect: OCL311


def profile_early(x):
    q = cl.CommandQueue(ctx, properties=cl.command_queue_properties.PROFILING_ENABLE)
    b = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
    e = PRG.inc(q, x.shape, None, b)
    return e.profile.end  # expect: OCL312


def single_event(x):
    b = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
    e = cl.enqueue_copy(QUEUE, b, x, is_blocking=False)
    PRG.inc(QUEUE, x.shape, None, b, wait_for=e).wait()  # expect: OCL306


def device_slot():
    return cl.CommandQueue(ctx, cl.command_queue_properties.PROFILING_ENABLE)  # expect: OCL317


def flushing(q, b, shape):
    out = np.empty(shape, np.float32)
    e = cl.enqueue_copy(q, out, b, is_blocking=False)
    q.flush()
    s = out.max()  # expect: OCL210
    e.wait()
    return s


def early_map(q, b, shape):
    arr, ev = cl.enqueue_map_buffer(q, b, cl.map_flags.READ, 0, shape, np.float32, is_blocking=False)
    first = arr[0]  # expect: OCL206
    ev.wait()
    arr.base.release()
    return first


def kernel_while_mapped(q, b, shape):
    arr, ev = cl.enqueue_map_buffer(q, b, cl.map_flags.WRITE, 0, shape, np.float32)
    arr[:] = 1
    PRG.inc(q, shape, None, b)  # expect: OCL205
    arr.base.release()


def deadlock(q, b, x):
    gate = cl.UserEvent(ctx)
    cl.enqueue_copy(q, b, x, is_blocking=False, wait_for=[gate])  # expect: OCL505
    gate.set_status(cl.command_execution_status.COMPLETE)


def arguments(q, b, x):
    PRG.cp(q, x.shape, None, b)  # expect: OCL403
    PRG.inc(q, x.shape, None, np.zeros_like(x))  # expect: OCL404


def loose_if_asked(x, loose):
    q = cl.CommandQueue(ctx, properties=PROPS["fast"] if loose else 0)
    b = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
    up = cl.enqueue_copy(q, b, x, is_blocking=False)
    run = PRG.inc(q, x.shape, None, b)  # expect: OCL101
    cl.enqueue_copy(q, x, b, wait_for=[up, run])


def loose_where_it_can_be(x, dev):
    try:
        q = cl.CommandQueue(ctx, dev, properties=PROPS["fast"])
    except cl.LogicError:
        q = cl.CommandQueue(ctx, dev)
    b = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
    up = cl.enqueue_copy(q, b, x, is_blocking=False)
    run = PRG.inc(q, x.shape, None, b)  # expect: OCL101
    cl.enqueue_copy(q, x, b, wait_for=[up, run])


class LooseByDefault:
    def __init__(self, loose=True):
        flags = cl.command_queue_properties.PROFILING_ENABLE
        if loose:
            flags |= cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
        self.queue = cl.CommandQueue(ctx, properties=flags)

    def go(self, x):
        b = cl.Buffer(ctx, mf.READ_WRITE, x.nbytes)
        up = cl.enqueue_copy(self.queue, b, x, is_blocking=False)
        run = PRG.inc(self.queue, x.shape, None, b)  # expect: OCL101
        cl.enqueue_copy(self.queue, x, b, wait_for=[up, run])
