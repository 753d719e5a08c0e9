"""Chains, fans and diamonds of events on out-of-order queues, as signal and image pipelines hold them."""

import numpy as np
import pyopencl as cl

mf = cl.mem_flags

KERNELS = """
__kernel void window(__global const float *in, __global const float *taps, __global float *out)
{
    int i = get_global_id(0);
    out[i] = in[i] * taps[i];
}

__kernel void energy(__global const float *in, __global float *sums)
{
    int i = get_global_id(0);
    sums[i] = in[i] * in[i];
}

__kernel void peaks(__global const float *in, __global int *found)
{
    int i = get_global_id(0);
    found[i] = in[i] > 0.5f;
}

__kernel void combine(__global const float *sums, __global const int *found, __global float *score)
{
    int i = get_global_id(0);
    score[i] = found[i] ? sums[i] : 0.0f;
}

__kernel void normalise(__global float *data, const float scale)
{
    data[get_global_id(0)] *= scale;
}
"""


def make_queue(context):
    return cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)


def windowed(context, signal, taps):
    """Two uploads meet in one kernel, whose result is read back."""
    queue = make_queue(context)
    program = cl.Program(context, KERNELS).build()
    d_signal = cl.Buffer(context, mf.READ_ONLY, signal.nbytes)
    d_taps = cl.Buffer(context, mf.READ_ONLY, taps.nbytes)
    d_out = cl.Buffer(context, mf.READ_WRITE, signal.nbytes)
    up_signal = cl.enqueue_copy(queue, d_signal, signal, is_blocking=False)
    up_taps = cl.enqueue_copy(queue, d_taps, taps, is_blocking=False)
    run = program.window(queue, signal.shape, None, d_signal, d_taps, d_out, wait_for=[up_signal, up_taps])
    result = np.empty_like(signal)
    cl.enqueue_copy(queue, result, d_out, wait_for=[run])
    return result


def scored(context, signal):
    """A diamond: two kernels read the same buffer, a third one needs what both wrote."""
    queue = make_queue(context)
    program = cl.Program(context, KERNELS).build()
    n = signal.size
    d_in = cl.Buffer(context, mf.READ_ONLY, signal.nbytes)
    d_sums = cl.Buffer(context, mf.READ_WRITE, 4 * n)
    d_found = cl.Buffer(context, mf.READ_WRITE, 4 * n)
    d_score = cl.Buffer(context, mf.READ_WRITE, 4 * n)
    uploaded = cl.enqueue_copy(queue, d_in, signal, is_blocking=False)
    summed = program.energy(queue, (n,), None, d_in, d_sums, wait_for=[uploaded])
    peaked = program.peaks(queue, (n,), None, d_in, d_found, wait_for=[uploaded])
    combined = program.combine(queue, (n,), None, d_sums, d_found, d_score, wait_for=[summed, peaked])
    scaled = program.normalise(queue, (n,), None, d_score, np.float32(1 / n), wait_for=[combined])
    score = np.empty(n, np.float32)
    done = cl.enqueue_copy(queue, score, d_score, is_blocking=False, wait_for=[scaled])
    done.wait()
    return score


def repeated(context, frames, taps):
    """The taps are uploaded once; every frame waits for them, for its own upload and for the last reader."""
    queue = make_queue(context)
    program = cl.Program(context, KERNELS).build()
    d_taps = cl.Buffer(context, mf.READ_ONLY, taps.nbytes)
    d_frame = cl.Buffer(context, mf.READ_ONLY, taps.nbytes)
    d_out = cl.Buffer(context, mf.READ_WRITE, taps.nbytes)
    taps_ready = cl.enqueue_copy(queue, d_taps, taps, is_blocking=False)
    results = np.empty((len(frames), taps.size), np.float32)
    filtered = None
    fetched = None
    for number, frame in enumerate(frames):
        uploaded = cl.enqueue_copy(
            queue, d_frame, frame, is_blocking=False, wait_for=[filtered] if filtered is not None else None
        )
        before = [taps_ready, uploaded]
        if fetched is not None:
            before.append(fetched)
        filtered = program.window(queue, taps.shape, None, d_frame, d_taps, d_out, wait_for=before)
        fetched = cl.enqueue_copy(queue, results[number], d_out, is_blocking=False, wait_for=[filtered])
    queue.finish()
    return results


def filled_first(context, n):
    """A fill, a kernel and a copy on the device, each after the one before."""
    queue = make_queue(context)
    program = cl.Program(context, KERNELS).build()
    a = cl.Buffer(context, mf.READ_WRITE, 4 * n)
    b = cl.Buffer(context, mf.READ_WRITE, 4 * n)
    filled = cl.enqueue_fill_buffer(queue, a, np.float32(1), 0, 4 * n)
    scaled = program.normalise(queue, (n,), None, a, np.float32(0.5), wait_for=[filled])
    copied = cl.enqueue_copy(queue, b, a, wait_for=[scaled])
    again = program.normalise(queue, (n,), None, b, np.float32(2), wait_for=[copied])
    host = np.empty(n, np.float32)
    cl.enqueue_copy(queue, host, b, wait_for=[again])
    return host


def read_while_computing(context, signal, steps):
    """The state is read back each turn; the next turn may not overwrite it before it has been read."""
    queue = make_queue(context)
    program = cl.Program(context, KERNELS).build()
    state = cl.Buffer(context, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=signal)
    history = [np.empty_like(signal) for _ in range(steps)]
    reading = program.normalise(queue, signal.shape, None, state, np.float32(1))
    for snapshot in history:
        stepped = program.normalise(queue, signal.shape, None, state, np.float32(0.9), wait_for=[reading])
        reading = cl.enqueue_copy(queue, snapshot, state, is_blocking=False, wait_for=[stepped])
    reading.wait()
    return history


def two_devices(context, devices, signal):
    """One queue a device: the second one waits for the first one's event and it is flushed for that."""
    first = cl.CommandQueue(context, devices[0])
    second = cl.CommandQueue(context, devices[1])
    program = cl.Program(context, KERNELS).build()
    shared = cl.Buffer(context, mf.READ_WRITE, signal.nbytes)
    sums = cl.Buffer(context, mf.READ_WRITE, signal.nbytes)
    uploaded = cl.enqueue_copy(first, shared, signal, is_blocking=False)
    first.flush()
    summed = program.energy(second, signal.shape, None, shared, sums, wait_for=[uploaded])
    second.flush()
    scaled = program.normalise(first, signal.shape, None, shared, np.float32(3), wait_for=[summed])
    first.flush()
    host = np.empty_like(signal)
    cl.enqueue_copy(second, host, shared, wait_for=[scaled])
    return host
