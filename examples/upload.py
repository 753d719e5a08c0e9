"""Square numbers on an out-of-order queue. Right on most devices, most of the time."""

import numpy as np
import pyopencl as cl

OUT_OF_ORDER = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE

SOURCE = """
__kernel void square(__global const float *x, __global float *y) {
    int i = get_global_id(0);
    y[i] = x[i] * x[i];
}
"""


def square(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OUT_OF_ORDER)
    program = cl.Program(ctx, SOURCE).build()
    x = cl.Buffer(ctx, cl.mem_flags.READ_ONLY, host.nbytes)
    y = cl.Buffer(ctx, cl.mem_flags.WRITE_ONLY, host.nbytes)

    up = cl.enqueue_copy(queue, x, host, is_blocking=False)
    run = program.square(queue, host.shape, None, x, y)  # nothing says that it starts after the upload

    result = np.empty_like(host)
    cl.enqueue_copy(queue, result, y, wait_for=[run])
    up.wait()
    return result


if __name__ == "__main__":
    print(square(cl.create_some_context(), np.arange(16, dtype=np.float32)))
