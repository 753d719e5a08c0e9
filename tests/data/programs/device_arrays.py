"""Arrays whose raw storage is given to kernels: the events that they hold are waited for and kept."""

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel

SOURCE = """
__kernel void laplace(__global const float *u, __global float *out)
{
    int i = get_global_id(0) + 1;
    out[i] = u[i - 1] - 2 * u[i] + u[i + 1];
}

__kernel void add_to(__global float *u, __global const float *du)
{
    int i = get_global_id(0);
    u[i] += du[i];
}
"""


def diffuse(context, start, steps):
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    program = cl.Program(context, SOURCE).build()
    u = cl_array.to_device(queue, start)
    du = cl_array.zeros_like(u)
    for _ in range(steps):
        event = program.laplace(queue, (u.size - 2,), None, u.data, du.data, wait_for=u.events + du.events)
        du.add_event(event)
        event = program.add_to(queue, u.shape, None, u.data, du.data, wait_for=u.events + du.events)
        u.add_event(event)
        du.add_event(event)
    return u.get()


def right_hand_side(queue, program, u, out, wait_for=None):
    """The caller's Arrays may still be written: wait for what they hold."""
    events = list(wait_for) if wait_for is not None else []
    done = program.laplace(queue, (u.size - 2,), None, u.data, out.data, wait_for=u.events + out.events + events)
    out.add_event(done)
    return done


class Solver:
    """Works on Arrays that it owns and on those that it is given."""

    def __init__(self, queue, n):
        self.queue = queue
        self.program = cl.Program(queue.context, SOURCE).build()
        self.work = cl_array.zeros(queue, n, np.float32)

    def apply(self, u):
        self.work.add_event(
            self.program.laplace(
                self.queue,
                (u.size - 2,),
                None,
                u.data,
                self.work.data,
                wait_for=[*u.events, *self.work.events],
            )
        )
        u.add_event(
            self.program.add_to(self.queue, u.shape, None, u.data, self.work.data, wait_for=u.events + self.work.events)
        )
        return u


def mixed(context, host):
    """Operators of PyOpenCL keep their own events; the raw kernel between them has to wait and be kept."""
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    program = cl.Program(context, SOURCE).build()
    a = cl_array.to_device(queue, host)
    b = a * 2
    event = program.add_to(queue, a.shape, None, a.data, b.data, wait_for=a.events + b.events)
    a.add_event(event)
    c = a + b
    return c.get()


def generated(context, host):
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    double = ElementwiseKernel(context, "float *x, float *y", "y[i] = 2 * x[i]", "double_it")
    total = ReductionKernel(context, np.float32, neutral="0", reduce_expr="a+b", arguments="float *x")
    x = cl_array.to_device(queue, host)
    y = cl_array.empty_like(x)
    doubled = double(x, y)
    return total(y, wait_for=[doubled]).get()
