"""The arguments of a launch: what numpy's scalar types make of several numbers, and what a wrong count hides."""

from __future__ import annotations

import pytest
from opencl_cases import codes

PROGRAM = '''
import pyopencl as cl
import numpy as np
from numpy import float32
def launch(context, queue, buf, given, n):
    program = cl.Program(context, """__kernel void move(__global float4 *p, const {type} by)
        {{ p[get_global_id(0)].x += by{part}; }}""").build()
    program.move(queue, (n,), None, buf, {argument})
'''


@pytest.mark.parametrize(
    "argument",
    [
        "np.float32(given)",
        "float32(given)",
        "np.float32(given[0])",
        "np.float32(given.step)",
        "np.float32((1, 2, 3, 4))",
        "np.float32([1, 2, 3, 4])",
        "np.float32(np.ones(4))",
        "np.float32(np.ones(4)[:])",
        "np.float64(given)",
    ],
)
def test_a_scalar_type_of_several_numbers_makes_an_array_that_a_vector_may_be_given_as(argument):
    assert codes(PROGRAM.format(type="float4", part=".x", argument=argument), "OCL404") == []


@pytest.mark.parametrize("argument", ["np.float32(1)", "np.float32(2.5)", "np.float32('1')"])
def test_of_one_number_it_makes_one(argument):
    assert codes(PROGRAM.format(type="float4", part=".x", argument=argument), "OCL404") == ["OCL404"]


@pytest.mark.parametrize("argument", ["np.float64(given)", "np.float64(n)", "np.int64(n * 2)"])
def test_a_scalar_parameter_takes_one_of_its_size(argument):
    assert codes(PROGRAM.format(type="float", part="", argument=argument), "OCL404") == ["OCL404"]


def test_an_array_of_a_scalar_type_is_host_memory():
    text = """
import pyopencl as cl, numpy as np
def late(queue, buf):
    values = np.float32(np.zeros(8))
    done = cl.enqueue_copy(queue, values, buf, is_blocking=False)
    print(values[0])
    done.wait()
"""
    assert codes(text, "OCL201") == ["OCL201"]


def test_arguments_of_a_wrong_count_belong_to_no_parameter():
    text = '''
import pyopencl as cl, numpy as np
def add(context, queue, host, size):
    a = cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
    b = cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
    out = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, host.nbytes)
    program = cl.Program(context, """__kernel void add(__global const int *a, __global const int *b,
        __global int *out, int n) { int i = get_global_id(0); if (i < n) out[i] = a[i] + b[i]; }""").build()
    program.add(queue, host.shape, a, b, out, np.int32(size))
'''
    assert codes(text, "OCL403", "OCL404", "OCL406") == ["OCL403"]
    assert codes(text.replace("host.shape, a", "host.shape, None, a"), "OCL403", "OCL404", "OCL406") == []
