"""Helpers that take a wait list and give an event back; their callers hold the edges."""

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void saxpy(const float a, __global const float *x, __global float *y)
{
    int i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}

__kernel void square(__global float *x)
{
    int i = get_global_id(0);
    x[i] = x[i] * x[i];
}

__kernel void sum_rows(__global const float *x, __global float *sums, const int width)
{
    int row = get_global_id(0);
    float total = 0;
    for (int c = 0; c < width; c++)
        total += x[row * width + c];
    sums[row] = total;
}
"""


def upload(queue, buffer, array, wait_for=None):
    return cl.enqueue_copy(queue, buffer, array, is_blocking=False, wait_for=wait_for)


def download(queue, array, buffer, wait_for=None):
    cl.enqueue_copy(queue, array, buffer, wait_for=wait_for)
    return array


def saxpy(queue, program, a, x, y, n, wait_for=()):
    return program.saxpy(queue, (n,), None, np.float32(a), x, y, wait_for=list(wait_for))


def square_and_sum(queue, program, x, sums, shape, wait_for=None):
    if wait_for is None:
        wait_for = []
    rows, width = shape
    squared = program.square(queue, (rows * width,), None, x, wait_for=wait_for)
    return program.sum_rows(queue, (rows,), None, x, sums, np.int32(width), wait_for=[squared])


def all_of(*events):
    return [event for event in events if event is not None]


def row_norms(context, matrix):
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    program = cl.Program(context, SOURCE).build()
    x = cl.Buffer(context, cl.mem_flags.READ_WRITE, matrix.nbytes)
    sums = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, 4 * matrix.shape[0])
    ready = upload(queue, x, matrix)
    done = square_and_sum(queue, program, x, sums, matrix.shape, wait_for=[ready])
    norms = np.empty(matrix.shape[0], np.float32)
    return np.sqrt(download(queue, norms, sums, wait_for=[done]))


def accumulate(context, vectors, weights):
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    program = cl.Program(context, SOURCE).build()
    n = vectors[0].size
    total = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * n)
    latest = cl.enqueue_fill_buffer(queue, total, np.float32(0), 0, 4 * n)
    for vector, weight in zip(vectors, weights):
        x = cl.Buffer(context, cl.mem_flags.READ_ONLY, vector.nbytes)
        ready = upload(queue, x, vector)
        latest = saxpy(queue, program, weight, x, total, n, wait_for=[ready, latest])
    return download(queue, np.empty(n, np.float32), total, wait_for=[latest])


def both(context, left, right):
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    program = cl.Program(context, SOURCE).build()
    n = left.size
    x = cl.Buffer(context, cl.mem_flags.READ_WRITE, left.nbytes)
    y = cl.Buffer(context, cl.mem_flags.READ_WRITE, right.nbytes)
    x_ready = upload(queue, x, left)
    y_ready = upload(queue, y, right)
    x_squared = program.square(queue, (n,), None, x, wait_for=[x_ready])
    mixed = saxpy(queue, program, 1, x, y, n, wait_for=[x_squared, y_ready])
    x_again = upload(queue, x, left, wait_for=[mixed])
    last = saxpy(queue, program, -1, x, y, n, wait_for=[x_again, mixed])
    return download(queue, right, y, wait_for=[last])


def optional_stage(context, data, refine):
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    program = cl.Program(context, SOURCE).build()
    x = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
    ready = upload(queue, x, data)
    refined = None
    if refine:
        refined = program.square(queue, data.shape, None, x, wait_for=[ready])
    last = program.square(queue, data.shape, None, x, wait_for=all_of(ready, refined))
    return download(queue, data, x, wait_for=[last])


class Step:
    """A stage that knows how to enqueue itself after others."""

    def __init__(self, program, name, *buffers):
        self.kernel = getattr(program, name)
        self.buffers = buffers

    def enqueue(self, queue, n, after):
        return self.kernel(queue, (n,), None, *self.buffers, wait_for=after)


def staged(context, data):
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    program = cl.Program(context, SOURCE).build()
    x = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
    ready = upload(queue, x, data)
    first = Step(program, "square", x).enqueue(queue, data.size, after=[ready])
    second = Step(program, "square", x).enqueue(queue, data.size, after=[first])
    return download(queue, data, x, wait_for=[second])
