"""Attributes of an object that a method finds: what its constructor set, where no other method sets something else."""

from __future__ import annotations

import pytest
from opencl_cases import NoProject

from kexec_lint.opencl.report import scan_python
from kexec_lint.source import Options, Source

MODEL = '''
import pyopencl as cl
import numpy as np
class Model:
    {default}
    def __init__(self, context, queue):
        self.queue, self.context = queue, context
        {made}
        self.program = cl.Program(context, """__kernel void fill(__global uint *out, const uint n)
            {{ out[get_global_id(0)] = n; }}""").build()

    def change(self, n):
        {changed}

    def run(self, out, size):
        self.program.fill(self.queue, (size,), None, out, self.n)
'''


def codes(text: str, *wanted: str) -> list[str]:
    source = Source("a.py", text, text.encode())
    return sorted(f.code for f in scan_python(source, NoProject(), Options(frozenset(wanted), "possible")).findings)


def model(made: str = "pass", changed: str = "pass", default: str = "pass") -> str:
    return MODEL.format(made=made, changed=changed, default=default)


@pytest.mark.parametrize("made", ["self.n = 0", "self.n = 1.5", "self.n = np.uint64(0)", "self.k, self.n = 0, 0"])
@pytest.mark.parametrize(
    "changed",
    [
        "self.n = np.uint32(n)",
        "self.n = n",
        "self.m = self.n = n",
        "self.k, self.n = 1, np.uint32(n)",
        "self.k, self.n = n",
        "self.n += np.uint32(n)",
        "for self.k in n:\n            self.n = np.uint32(self.k)",
    ],
)
def test_a_number_that_another_method_sets_is_not_the_one_of_the_constructor(made, changed):
    assert codes(model(made, changed), "OCL404") == []


@pytest.mark.parametrize("made", ["self.n = 0", "self.n = 1.5", "self.n = np.uint64(0)", "self.k, self.n = 0, 0"])
@pytest.mark.parametrize("changed", ["pass", "self.k = n", "n.n = 4", "self.n == n", "self.n = None"])
def test_one_that_no_other_method_sets_is(made, changed):
    assert codes(model(made, changed), "OCL404") == ["OCL404"]


@pytest.mark.parametrize("default", ["n = 0", "n = np.uint64(3)"])
def test_a_default_in_the_class_counts_where_no_method_sets_the_attribute(default):
    assert codes(model(default=default), "OCL404") == ["OCL404"]
    assert codes(model(default=default, changed="self.n = np.uint32(n)"), "OCL404") == []
    assert codes(model(default=default, changed="self.n += n"), "OCL404") == []


def test_a_default_of_none_gives_way_to_the_only_assignment():
    assert codes(model(default="n = None", changed="self.n = 5"), "OCL404") == ["OCL404"]
    assert codes(model(default="n = None", changed="self.n = np.uint32(5)"), "OCL404") == []


def test_the_two_buffers_that_a_count_swaps_are_both_looked_at():
    text = '''
import pyopencl as cl
class PingPong:
    def __init__(self, context, queue, size):
        self.queue = queue
        self.turn = 0
        self.a = cl.Buffer(context, cl.mem_flags.READ_ONLY, size)
        self.b = cl.Buffer(context, cl.mem_flags.READ_WRITE, size)
        self.program = cl.Program(context, """__kernel void step(__global const int *a, __global int *b)
            { b[get_global_id(0)] = a[get_global_id(0)]; }""").build()

    def step(self, size):
        if self.turn % 2 == 0:
            self.program.step(self.queue, (size,), None, self.a, self.b)
        else:
            self.program.step(self.queue, (size,), None, self.b, self.a)
        self.turn += 1
'''
    assert codes(text, "OCL406") == ["OCL406"]
