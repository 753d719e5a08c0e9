"""An Array that host code turns into text or a number, or tests, gets its elements: the commands before are over."""

from __future__ import annotations

import pytest
from opencl_cases import codes

PROGRAM = """
import pyopencl as cl
import pyopencl.array as cl_array
import numpy as np
context = cl.create_some_context()
queue = cl.CommandQueue(context)
a = cl_array.to_device(queue, np.ones(5, np.float32))
c = cl_array.empty_like(a)
program = cl.Program(context, "__kernel void copy(__global const float *a, __global float *c)"
    "{ int i = get_global_id(0); c[i] = a[i]; }").build()
program.copy(queue, a.shape, None, a.data, c.data)
"""


@pytest.mark.parametrize(
    "use",
    [
        "print(c)",
        "print('c:', c)",
        "print('c: {}'.format(c))",
        "print('{x}'.format(x=c))",
        "print(f'{c}')",
        "print(f'{c!r}')",
        "print('%s' % c)",
        "print('%s %s' % (a, c))",
        "print([a, c])",
        "text = str(c)",
        "repr(c)",
        "print(c[0])",
        "print(c.sum())",
        "print(cl_array.max(c))",
        "print(abs(c))",
        "for x in c:\n    print(x)",
        "if c.any():\n    pass",
        "x = 1 if c.all() else 2",
        "while c.any():\n    break",
        "assert c.all()",
        "not c.any()",
        "done = c.any() or None",
        "bool(c.any())",
    ],
)
def test_the_program_does_not_end_while_the_kernel_may_run(use):
    assert codes(PROGRAM + use + "\n", "OCL316") == []


@pytest.mark.parametrize("use", ["print('n')", "print(len(c))", "print(c.shape)", "list(c)", "x = abs(c)"])
def test_it_does_where_no_element_is_needed(use):
    assert codes(PROGRAM + use + "\n", "OCL316") == ["OCL316"]


def test_text_of_host_memory_reads_it():
    text = """
import pyopencl as cl, numpy as np
def late(ctx, queue, buf):
    host = np.empty(10)
    keep = cl.enqueue_copy(queue, host, buf, is_blocking=False)
    print("{}".format(host))
    keep.wait()
"""
    assert codes(text, "OCL201") == ["OCL201"]


@pytest.mark.parametrize(("mode", "found"), [("'r'", ["OCL406"]), ("'w'", []), ("mode", [])])
def test_an_image_from_an_array_has_the_access_of_its_mode(mode, found):
    text = f'''
import pyopencl as cl, numpy as np
def invert(ctx, queue, host, mode):
    image = cl.image_from_array(ctx, host, mode={mode})
    program = cl.Program(ctx, """__kernel void blank(write_only image2d_t image) {{
        write_imagef(image, (int2)(get_global_id(0), get_global_id(1)), (float4)(0)); }}""").build()
    program.blank(queue, (8, 8), None, image).wait()
'''
    assert codes(text, "OCL406") == found
    assert codes(text.replace(f", mode={mode}", ""), "OCL406") == ["OCL406"]
