"""The same work with every edge in place: nothing to report."""

import numpy as np
import pyopencl as cl

from upload import OUT_OF_ORDER, SOURCE


def square(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OUT_OF_ORDER)
    program = cl.Program(ctx, SOURCE).build()
    x = cl.Buffer(ctx, cl.mem_flags.READ_ONLY, host.nbytes)
    y = cl.Buffer(ctx, cl.mem_flags.WRITE_ONLY, host.nbytes)

    up = cl.enqueue_copy(queue, x, host, is_blocking=False)
    run = program.square(queue, host.shape, None, x, y, wait_for=[up])

    result = np.empty_like(host)
    cl.enqueue_copy(queue, result, y, wait_for=[run])
    return result
