"""Bring a result back without blocking, and look at it too early."""

import numpy as np
import pyopencl as cl


def mean(queue, buffer, shape):
    values = np.empty(shape, np.float32)
    done = cl.enqueue_copy(queue, values, buffer, is_blocking=False)
    result = values.mean()  # the copy may still be writing
    done.wait()
    return result


def mean_after_wait(queue, buffer, shape):
    values = np.empty(shape, np.float32)
    done = cl.enqueue_copy(queue, values, buffer, is_blocking=False)
    done.wait()
    return values.mean()
