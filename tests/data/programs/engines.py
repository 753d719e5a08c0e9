"""Classes that keep queues, buffers and the events of what they have enqueued."""

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

OUT_OF_ORDER = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE

SOURCE = """
__kernel void advance(__global const float *now, __global float *next)
{
    int i = get_global_id(0);
    next[i] = now[i] * 0.5f;
}

__kernel void force(__global float *state, __global const float *push)
{
    int i = get_global_id(0);
    state[i] += push[i];
}

__kernel void measure(__global const float *state, __global float *out)
{
    out[get_global_id(0)] = state[get_global_id(0)];
}
"""


class Simulation:
    """Two states that take turns; each method returns the event of its last command."""

    def __init__(self, context, start):
        self.queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
        self.program = cl.Program(context, SOURCE).build()
        self.n = start.size
        flags = cl.mem_flags.READ_WRITE
        self.now = cl.Buffer(context, flags | cl.mem_flags.COPY_HOST_PTR, hostbuf=start)
        self.next = cl.Buffer(context, flags, start.nbytes)
        self.push = cl.Buffer(context, cl.mem_flags.READ_ONLY, start.nbytes)

    def step(self, push, wait_for=None):
        uploaded = cl.enqueue_copy(self.queue, self.push, push, is_blocking=False, wait_for=wait_for)
        forced = self.program.force(self.queue, (self.n,), None, self.now, self.push, wait_for=[uploaded])
        moved = self.program.advance(self.queue, (self.n,), None, self.now, self.next, wait_for=[forced])
        self.now, self.next = self.next, self.now
        return moved

    def look(self, wait_for):
        state = np.empty(self.n, np.float32)
        cl.enqueue_copy(self.queue, state, self.now, wait_for=wait_for)
        return state

    def run(self, pushes):
        moved = None
        for push in pushes:
            moved = self.step(push, wait_for=[moved] if moved is not None else None)
        return self.look([moved])


@dataclass
class Slot:
    """A buffer and the event after which it holds what it should."""

    buffer: cl.Buffer
    ready: cl.Event | None = None


class Uploader:
    """Sends chunks into slots, works on them and remembers per slot what to wait for."""

    def __init__(self, context, size):
        self.context = context
        self.queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
        self.program = cl.Program(context, SOURCE).build()
        self.n = size // 4
        self.total = Slot(cl.Buffer(context, cl.mem_flags.READ_WRITE, size))
        self.part = Slot(cl.Buffer(context, cl.mem_flags.READ_WRITE, size))

    def work(self, chunk, host):
        part, total = self.part, self.total
        total.ready = cl.enqueue_fill_buffer(self.queue, total.buffer, np.float32(0), 0, 4 * self.n)
        part.ready = cl.enqueue_copy(self.queue, part.buffer, chunk, is_blocking=False)
        total.ready = self.program.force(
            self.queue, (self.n,), None, total.buffer, part.buffer, wait_for=[total.ready, part.ready]
        )
        cl.enqueue_copy(self.queue, host, total.buffer, wait_for=[total.ready])
        return host


class Tracker:
    """Keeps the last event of each buffer in a dictionary."""

    def __init__(self, context, nbytes):
        self.queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
        self.program = cl.Program(context, SOURCE).build()
        self.n = nbytes // 4
        self.a = cl.Buffer(context, cl.mem_flags.READ_WRITE, nbytes)
        self.b = cl.Buffer(context, cl.mem_flags.READ_WRITE, nbytes)
        self.last = {}

    def cycle(self, data, result):
        self.last["a"] = cl.enqueue_copy(self.queue, self.a, data, is_blocking=False)
        self.last["b"] = self.program.advance(self.queue, (self.n,), None, self.a, self.b, wait_for=[self.last["a"]])
        self.last["a"] = self.program.force(
            self.queue, (self.n,), None, self.a, self.b, wait_for=[self.last["a"], self.last["b"]]
        )
        self.last["a"] = cl.enqueue_copy(self.queue, result, self.a, is_blocking=False, wait_for=[self.last["a"]])
        self.last["a"].wait()
        return result


class Base:
    """What all models share: how a kernel is launched and what has to be waited for."""

    def __init__(self, context, n):
        self.context = context
        self.queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
        self.program = cl.Program(context, SOURCE).build()
        self.n = n

    def launch(self, kernel, *buffers, after=()):
        return kernel(self.queue, (self.n,), None, *buffers, wait_for=list(after))


class Model(Base):
    """A model with buffers of its own."""

    def __init__(self, context, n):
        super().__init__(context, n)
        self.x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * n)
        self.y = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * n)

    def evaluate(self, data):
        sent = cl.enqueue_copy(self.queue, self.x, data, is_blocking=False)
        moved = self.launch(self.program.advance, self.x, self.y, after=[sent])
        seen = self.launch(self.program.measure, self.y, self.x, after=[moved])
        out = np.empty(self.n, np.float32)
        cl.enqueue_copy(self.queue, out, self.x, wait_for=[seen])
        return out
