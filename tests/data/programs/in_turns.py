"""Buffers that are used again: double and triple buffering, rings, and lists of events built by loops."""

import numpy as np
import pyopencl as cl

OUT_OF_ORDER = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE

SOURCE = """
__kernel void blur(__global const float *in, __global float *out)
{
    int i = get_global_id(0);
    out[i] = 0.5f * in[i];
}

__kernel void scale(__global float *data)
{
    data[get_global_id(0)] *= 2.0f;
}
"""


def double_buffered(context, chunks, n):
    """Transfers on one queue, kernels on another; a slot is refilled after the kernel that read it."""
    transfers = cl.CommandQueue(context)
    compute = cl.CommandQueue(context)
    program = cl.Program(context, SOURCE).build()
    inputs = [cl.Buffer(context, cl.mem_flags.READ_ONLY, 4 * n) for _ in range(2)]
    output = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * n)
    computed = [None, None]
    for number, chunk in enumerate(chunks):
        slot = number % 2
        after = [computed[slot]] if computed[slot] is not None else []
        sent = cl.enqueue_copy(transfers, inputs[slot], chunk, is_blocking=False, wait_for=after)
        transfers.flush()
        computed[slot] = program.blur(compute, (n,), None, inputs[slot], output, wait_for=[sent])
        compute.flush()
    transfers.finish()
    compute.finish()
    return output


def alternating(context, first, second, n):
    """Written out by hand: A is filled while B is worked on."""
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    a = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * n)
    b = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * n)
    a_filled = cl.enqueue_copy(queue, a, first, is_blocking=False)
    b_filled = cl.enqueue_copy(queue, b, second, is_blocking=False)
    a_scaled = program.scale(queue, (n,), None, a, wait_for=[a_filled])
    b_scaled = program.scale(queue, (n,), None, b, wait_for=[b_filled])
    a_read = cl.enqueue_copy(queue, first, a, is_blocking=False, wait_for=[a_scaled])
    b_read = cl.enqueue_copy(queue, second, b, is_blocking=False, wait_for=[b_scaled])
    a_again = program.scale(queue, (n,), None, a, wait_for=[a_read])
    cl.enqueue_copy(queue, b, a, wait_for=[a_again, b_read])
    queue.finish()


def ping_pong(context, data, steps):
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    source = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
    target = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
    last = cl.enqueue_copy(queue, source, data, is_blocking=False)
    for _ in range(steps):
        last = program.blur(queue, data.shape, None, source, target, wait_for=[last])
        source, target = target, source
    cl.enqueue_copy(queue, data, source, wait_for=[last])
    return data


def batch(context, arrays):
    """One list of events a phase."""
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    buffers = [cl.Buffer(context, cl.mem_flags.READ_WRITE, array.nbytes) for array in arrays]
    uploads = []
    for buffer, array in zip(buffers, arrays):
        uploads.append(cl.enqueue_copy(queue, buffer, array, is_blocking=False))
    runs = []
    for buffer, array, upload in zip(buffers, arrays, uploads):
        runs.append(program.scale(queue, array.shape, None, buffer, wait_for=[upload]))
    for buffer, array, run in zip(buffers, arrays, runs):
        cl.enqueue_copy(queue, array, buffer, wait_for=[run])
    return arrays


def gathered(context, parts, n):
    """All parts are written into one buffer, which the kernel reads as a whole."""
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    whole = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * n * len(parts))
    events = []
    for number, part in enumerate(parts):
        events.append(cl.enqueue_copy(queue, whole, part, dst_offset=4 * n * number, is_blocking=False))
    scaled = program.scale(queue, (n * len(parts),), None, whole, wait_for=events)
    result = np.empty(n * len(parts), np.float32)
    cl.enqueue_copy(queue, result, whole, wait_for=[scaled])
    return result


def chained_by_slice(context, data):
    """The list grows; each kernel waits for its last element."""
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
    events = [cl.enqueue_copy(queue, buffer, data, is_blocking=False)]
    events.append(program.scale(queue, data.shape, None, buffer, wait_for=events[-1:]))
    events.append(program.scale(queue, data.shape, None, buffer, wait_for=[events[-1]]))
    cl.enqueue_copy(queue, data, buffer, wait_for=[events[-1]])
    return data


def by_name(context, fields):
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    rho = cl.Buffer(context, cl.mem_flags.READ_WRITE, fields["rho"].nbytes)
    phi = cl.Buffer(context, cl.mem_flags.READ_WRITE, fields["phi"].nbytes)
    done = {}
    done["rho"] = cl.enqueue_copy(queue, rho, fields["rho"], is_blocking=False)
    done["phi"] = program.blur(queue, fields["rho"].shape, None, rho, phi, wait_for=[done["rho"]])
    done["read"] = cl.enqueue_copy(queue, fields["phi"], phi, is_blocking=False, wait_for=[done["phi"]])
    done["rho"] = program.scale(queue, fields["rho"].shape, None, rho, wait_for=[done["phi"]])
    cl.enqueue_copy(queue, fields["rho"], rho, wait_for=[done["rho"]])
    done["read"].wait()
    return fields


def ring(context, chunks, n):
    """Three slots; the host waits for the slot that it takes again."""
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    program = cl.Program(context, SOURCE).build()
    slots = [cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * n) for _ in range(3)]
    results = np.empty((len(chunks), n), np.float32)
    free = [None] * 3
    for number, chunk in enumerate(chunks):
        slot = number % 3
        if free[slot] is not None:
            free[slot].wait()
        sent = cl.enqueue_copy(queue, slots[slot], chunk, is_blocking=False)
        scaled = program.scale(queue, (n,), None, slots[slot], wait_for=[sent])
        free[slot] = cl.enqueue_copy(queue, results[number], slots[slot], is_blocking=False, wait_for=[scaled])
    cl.wait_for_events([event for event in free if event is not None])
    return results
