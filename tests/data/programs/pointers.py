"""Mapped buffers and shared virtual memory: the host's own accesses wait for events, and commands for the unmap."""

import numpy as np
import pyopencl as cl

OUT_OF_ORDER = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
map_flags = cl.map_flags

SOURCE = """
__kernel void grow(__global float *data)
{
    data[get_global_id(0)] += 1.0f;
}

__kernel void mirror(__global const float *data, __global float *out)
{
    out[get_global_id(0)] = -data[get_global_id(0)];
}
"""


def looked_at(context, n):
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, 4 * n)
    filled = cl.enqueue_fill_buffer(queue, buffer, np.float32(0), 0, 4 * n)
    grown = program.grow(queue, (n,), None, buffer, wait_for=[filled])
    view, _ = cl.enqueue_map_buffer(queue, buffer, map_flags.READ, 0, (n,), np.float32, wait_for=[grown])
    total = float(view.sum())
    view.base.release(queue).wait()
    return total


def written_in_place(context, values):
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, values.nbytes)
    out = cl.Buffer(context, cl.mem_flags.READ_WRITE, values.nbytes)
    view, mapped = cl.enqueue_map_buffer(
        queue, buffer, map_flags.WRITE, 0, values.shape, values.dtype, is_blocking=False
    )
    mapped.wait()
    view[...] = values
    unmapped = view.base.release(queue)
    mirrored = program.mirror(queue, values.shape, None, buffer, out, wait_for=[unmapped])
    result = np.empty_like(values)
    cl.enqueue_copy(queue, result, out, wait_for=[mirrored])
    return result


def coarse(context, values):
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    shared = cl.SVM(cl.csvm_empty(context, values.shape, np.float32))
    mapped = shared.map_rw(queue)
    mapped[...] = values
    unmapped = mapped.base.release(queue)
    grown = program.grow(queue, values.shape, None, shared, wait_for=[unmapped])
    again = program.grow(queue, values.shape, None, shared, wait_for=[grown])
    with shared.map_ro(queue, wait_for=[again]) as seen:
        return np.array(seen)


def images(context, pixels):
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    image_format = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
    shape = pixels.shape[1::-1]
    source = cl.Image(context, cl.mem_flags.READ_ONLY, image_format, shape=shape)
    target = cl.Image(context, cl.mem_flags.READ_WRITE, image_format, shape=shape)
    sent = cl.enqueue_copy(queue, source, pixels, origin=(0, 0), region=shape, is_blocking=False)
    copied = cl.enqueue_copy(
        queue, target, source, src_origin=(0, 0), dest_origin=(0, 0), region=shape, wait_for=[sent]
    )
    back = np.empty_like(pixels)
    cl.enqueue_copy(queue, back, target, origin=(0, 0), region=shape, wait_for=[copied])
    return back
