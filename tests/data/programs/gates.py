"""Markers, barriers and user events that stand between groups of commands."""

import numpy as np
import pyopencl as cl

OUT_OF_ORDER = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE

SOURCE = """
__kernel void left(__global float *a) { a[get_global_id(0)] += 1.0f; }
__kernel void right(__global float *b) { b[get_global_id(0)] += 2.0f; }
__kernel void join(__global const float *a, __global const float *b, __global float *c)
{
    int i = get_global_id(0);
    c[i] = a[i] + b[i];
}
"""


def collected(context, x, y):
    """One marker stands for both kernels."""
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    a = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
    b = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=y)
    c = cl.Buffer(context, cl.mem_flags.READ_WRITE, x.nbytes)
    one = program.left(queue, x.shape, None, a)
    two = program.right(queue, y.shape, None, b)
    both = cl.enqueue_marker(queue, wait_for=[one, two])
    joined = program.join(queue, x.shape, None, a, b, c, wait_for=[both])
    cl.enqueue_copy(queue, x, c, wait_for=[joined])
    return x


def fenced(context, x, y):
    """A barrier holds back all that follows until both uploads are there."""
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    a = cl.Buffer(context, cl.mem_flags.READ_WRITE, x.nbytes)
    b = cl.Buffer(context, cl.mem_flags.READ_WRITE, y.nbytes)
    c = cl.Buffer(context, cl.mem_flags.READ_WRITE, x.nbytes)
    one = cl.enqueue_copy(queue, a, x, is_blocking=False)
    two = cl.enqueue_copy(queue, b, y, is_blocking=False)
    cl.enqueue_barrier(queue, wait_for=[one, two])
    joined = program.join(queue, x.shape, None, a, b, c)
    cl.enqueue_copy(queue, x, c, wait_for=[joined])
    return x


def across(context, x):
    """A queue waits for all that another queue has been given so far."""
    producer = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    consumer = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    a = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
    first = program.left(producer, x.shape, None, a)
    program.right(producer, x.shape, None, a, wait_for=[first])
    produced = cl.enqueue_marker(producer)
    producer.flush()
    cl.enqueue_barrier(consumer, wait_for=[produced])
    used = program.left(consumer, x.shape, None, a)
    cl.enqueue_copy(consumer, x, a, wait_for=[used])
    return x


def released_by_the_host(context, x):
    """The kernel is enqueued early and starts when the host has prepared the input."""
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    a = cl.Buffer(context, cl.mem_flags.READ_WRITE, x.nbytes)
    gate = cl.UserEvent(context)
    sent = cl.enqueue_copy(queue, a, x, is_blocking=False, wait_for=[gate])
    grown = program.left(queue, x.shape, None, a, wait_for=[sent])
    x[:] = np.arange(x.size)
    gate.set_status(cl.command_execution_status.COMPLETE)
    result = np.empty_like(x)
    cl.enqueue_copy(queue, result, a, wait_for=[grown])
    return result


def waited_on_the_host(context, x, y):
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    a = cl.Buffer(context, cl.mem_flags.READ_WRITE, x.nbytes)
    b = cl.Buffer(context, cl.mem_flags.READ_WRITE, y.nbytes)
    c = cl.Buffer(context, cl.mem_flags.READ_WRITE, x.nbytes)
    one = cl.enqueue_copy(queue, a, x, is_blocking=False)
    two = cl.enqueue_copy(queue, b, y, is_blocking=False)
    cl.wait_for_events([one, two])
    joined = program.join(queue, x.shape, None, a, b, c)
    back = cl.enqueue_copy(queue, x, c, is_blocking=False, wait_for=[joined])
    grown = program.left(queue, x.shape, None, a, wait_for=[joined])
    cl.wait_for_events([back, grown])
    return x
