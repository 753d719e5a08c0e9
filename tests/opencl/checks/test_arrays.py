"""OCL501 to OCL503, OCL508: the events that PyOpenCL's Arrays keep, and those that they do not."""

from __future__ import annotations

import pytest
from opencl_cases import cases, verify

BYPASS = """
def bad_data(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.to_device(queue, host)
    b = a + 1
    done = program.twice(queue, b.shape, None, b.data)  # expect: OCL501
    b.add_event(done)
    return b.get()


def bad_base_data(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    b = cl_array.to_device(queue, host) * 2
    out = cl.Buffer(ctx, RW, host.nbytes)
    done = program.copy(queue, b.shape, None, b.base_data, out)  # expect: OCL501
    done.wait()


def bad_other_queue(ctx, host):
    queue, other = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    b = cl_array.to_device(queue, host) + 1
    done = program.twice(other, b.shape, None, b.data)  # expect: OCL501
    done.wait()
    queue.finish()


class Bad:
    def __init__(self, ctx, host):
        self.queue = cl.CommandQueue(ctx, properties=OOO)
        self.program = cl.Program(ctx, SRC).build()
        self.a = cl_array.to_device(self.queue, host)

    def run(self):
        self.a += 1
        done = self.program.twice(self.queue, self.a.shape, None, self.a.data)  # expect: OCL501
        done.wait()


def bad_filled(ctx, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.empty(queue, n, np.float32)
    a.fill(1)
    done = program.twice(queue, (n,), None, a.data)  # expect: OCL501
    done.wait()


def bad_events_of_another_array(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.to_device(queue, host)
    b, c = a + 1, a + 2
    done = program.twice(queue, b.shape, None, b.data, wait_for=c.events)  # expect: OCL501
    done.wait()
    queue.finish()


def bad_zeros_like(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    b = cl_array.zeros_like(cl_array.to_device(queue, host))
    done = program.twice(queue, b.shape, None, b.data)  # expect: OCL501
    done.wait()


def bad_like_what_the_caller_gave(ctx, a):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    b = cl_array.zeros_like(a)
    done = program.copy(queue, a.shape, None, a.data, b.data, wait_for=b.events)  # expect: OCL501
    done.wait()


def good_all_that_the_caller_gave(ctx, a, after):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    b = cl_array.zeros_like(a)
    done = program.copy(queue, a.shape, None, a.data, b.data, wait_for=[*b.events, *a.events, *after])
    done.wait()


def good_fill_waits_for_what_it_is_given(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    b = cl_array.empty(queue, host.shape, np.float32)
    up = cl.enqueue_copy(queue, b.data, host, is_blocking=False)
    b.fill(0, wait_for=[up])
    return b.get()


class GoodLate:
    def __init__(self, ctx):
        self.queue = cl.CommandQueue(ctx, properties=OOO)
        self.program = cl.Program(ctx, SRC).build()
        self.work = None

    def run(self, a):
        if self.work is None:
            self.work = cl_array.zeros_like(a)
        self.work.add_event(
            self.program.copy(self.queue, a.shape, None, a.data, self.work.data, wait_for=self.work.events + a.events)
        )


class BadLate:
    def __init__(self, ctx):
        self.queue = cl.CommandQueue(ctx, properties=OOO)
        self.program = cl.Program(ctx, SRC).build()
        self.work = None

    def run(self, a):
        if self.work is None:
            self.work = cl_array.zeros_like(a)
        self.work.add_event(
            self.program.copy(self.queue, a.shape, None, a.data, self.work.data, wait_for=a.events)  # expect: OCL501
        )


def good_events_passed(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    b = cl_array.to_device(queue, host) + 1
    done = program.twice(queue, b.shape, None, b.data, wait_for=b.events)
    b.add_event(done)
    return b.get()


def good_in_order(ctx, host):
    queue = cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    b = cl_array.to_device(queue, host) + 1
    program.twice(queue, b.shape, None, b.data)
    return b.get()


def good_array_finished(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    b = cl_array.to_device(queue, host) + 1
    b.finish()
    program.twice(queue, b.shape, None, b.data).wait()
    return b.get()


def good_queue_finished(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    b = cl_array.to_device(queue, host) + 1
    queue.finish()
    program.twice(queue, b.shape, None, b.data).wait()


def good_blocking_upload_only(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.to_device(queue, host)
    program.twice(queue, a.shape, None, a.data).wait()


def good_joined_events(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.to_device(queue, host)
    b, c = a + 1, a + 2
    out = cl_array.empty_like(a)
    done = program.add(queue, a.shape, None, b.data, c.data, out.data, wait_for=b.events + c.events)
    out.add_event(done)
    return out.get()


def good_queue_of_the_caller(queue, program, host):
    b = cl_array.to_device(queue, host) + 1
    program.twice(queue, b.shape, None, b.data)
    return b.get()
"""

NOT_ADDED = """
def bad_raw_kernel(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.to_device(queue, host)
    program.twice(queue, a.shape, None, a.data, wait_for=a.events)
    return a.get()  # expect: OCL502


def bad_elementwise(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    twice = ElementwiseKernel(ctx, "float *x", "x[i] = 2 * x[i]")
    a = cl_array.to_device(queue, host)
    twice(a)
    return a.get()  # expect: OCL502


def bad_result_used_in_an_operation(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.empty(queue, host.shape, np.float32)
    program.fill(queue, a.shape, None, a.data)
    b = a + 1  # expect: OCL502
    return b.get()


class Bad:
    def __init__(self, ctx, host):
        self.queue = cl.CommandQueue(ctx, properties=OOO)
        self.program = cl.Program(ctx, SRC).build()
        self.a = cl_array.to_device(self.queue, host)

    def run(self):
        self.event = self.program.twice(self.queue, self.a.shape, None, self.a.data, wait_for=self.a.events)
        return self.a.get()  # expect: OCL502


def bad_added_to_the_input(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.to_device(queue, host)
    b = cl_array.empty_like(a)
    a.add_event(program.copy(queue, a.shape, None, a.data, b.data))
    return b.get()  # expect: OCL502


def bad_through_a_helper(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.to_device(queue, host)
    launch(queue, program, a)
    return a.get()  # expect: OCL502

def launch(queue, program, a):
    return program.twice(queue, a.shape, None, a.data, wait_for=a.events)


def good_added(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.to_device(queue, host)
    a.add_event(program.twice(queue, a.shape, None, a.data, wait_for=a.events))
    return a.get()


def good_waited(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.to_device(queue, host)
    program.twice(queue, a.shape, None, a.data).wait()
    return a.get()


def good_in_order(ctx, host):
    queue = cl.CommandQueue(ctx)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.to_device(queue, host)
    program.twice(queue, a.shape, None, a.data)
    return a.get()


def good_appended_to_events(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.to_device(queue, host)
    a.events.append(program.twice(queue, a.shape, None, a.data, wait_for=a.events))
    return a.get()


def good_only_read(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.to_device(queue, host)
    out = cl.Buffer(ctx, RW, host.nbytes)
    program.copy(queue, a.shape, None, a.data, out)
    return a.get()


def bad_elementwise_of_the_caller(ctx, a):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    half = ElementwiseKernel(ctx, "float *x, float by", "x[i] = by * x[i]")
    half(a, 0.5, queue=queue, wait_for=a.events)
    program.twice(queue, a.shape, None, a.data, wait_for=a.events)  # expect: OCL101
    queue.finish()


def good_elementwise_of_the_caller(ctx, a):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    half = ElementwiseKernel(ctx, [VectorArg(np.float32, "x"), ScalarArg(np.float32, "by")], "x[i] = by * x[i]")
    halved = half(a, 0.5, queue=queue, wait_for=a.events)
    a.add_event(program.twice(queue, a.shape, None, a.data, wait_for=[*a.events, halved]))
    queue.finish()


def good_reduced(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    twice = ElementwiseKernel(ctx, "float *x", "x[i] = 2 * x[i]")
    total = ReductionKernel(ctx, np.float32, neutral="0", reduce_expr="a+b", arguments="float *x")
    a = cl_array.to_device(queue, host)
    doubled = twice(a)
    result, summed = total(a, wait_for=[doubled], return_event=True)
    summed.wait()
    twice(a).wait()
    return result.get()


def good_elementwise_in_order(ctx, host):
    queue = cl.CommandQueue(ctx)
    twice = ElementwiseKernel(ctx, "float *x", "x[i] = 2 * x[i]")
    a = cl_array.to_device(queue, host)
    twice(a)
    return a.get()
"""

UNTRACKED = """
def bad_minus_scalar(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    a = cl_array.to_device(queue, host)
    a -= 1
    return a.get()  # expect: OCL503


def bad_set(ctx, host, other):
    queue = cl.CommandQueue(ctx, properties=OOO)
    a = cl_array.to_device(queue, host)
    b = a + 1
    b.set(other, async_=True)  # expect: OCL503
    return b.get()


def bad_set_after_a_raw_kernel(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    a = cl_array.empty(queue, host.shape, np.float32)
    done = program.fill(queue, a.shape, None, a.data)
    a.set(host, async_=True)  # expect: OCL503
    done.wait()


def bad_fill_overtakes_a_reader(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    a = cl_array.to_device(queue, host)
    b = a * 2
    a.fill(0)  # expect: OCL503
    return b.get()


class Bad:
    def __init__(self, ctx, host):
        self.queue = cl.CommandQueue(ctx, properties=OOO)
        self.a = cl_array.to_device(self.queue, host)

    def run(self):
        self.a -= 0.5
        return self.a.get(queue=self.queue)  # expect: OCL503


def bad_minus_then_operation(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    a = cl_array.to_device(queue, host)
    a -= 1
    b = a * 2  # expect: OCL503
    return b.get()


def bad_in_place_overtakes_a_reader(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    a = cl_array.to_device(queue, host)
    b = a + a
    a += 1  # expect: OCL503
    return b.get()


def good_in_order(ctx, host):
    queue = cl.CommandQueue(ctx)
    a = cl_array.to_device(queue, host)
    b = a + a
    a -= 1
    a.fill(0)
    return a.get(), b.get()


def good_queue_finished(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    a = cl_array.to_device(queue, host)
    a -= 1
    queue.finish()
    return a.get()


def good_plus(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    a = cl_array.to_device(queue, host)
    a += 1
    return a.get()


def good_minus_array(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    a, b = cl_array.to_device(queue, host), cl_array.to_device(queue, host)
    a -= b
    return a.get()


def good_chain_of_operators(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    a = cl_array.to_device(queue, host)
    b = a + 1
    c = b * b
    return (c - a).get()


def good_set_of_a_new_array(ctx, host):
    queue = cl.CommandQueue(ctx, properties=OOO)
    a = cl_array.empty(queue, host.shape, np.float32)
    a.set(host)
    return a.get()


def good_queue_of_the_caller(queue, host):
    a = cl_array.to_device(queue, host)
    a -= 1
    return a.get()
"""

GET_ASYNC = """
def bad_read(queue, host):
    a = cl_array.to_device(queue, host)
    out, event = a.get_async()
    total = out.sum()  # expect: OCL508
    event.wait()
    return total


def bad_underscore(queue, host):
    a = cl_array.to_device(queue, host)
    out, _ = a.get_async()
    return out[0]  # expect: OCL508


class Bad:
    def __init__(self, queue, host):
        self.a = cl_array.to_device(queue, host)

    def fetch(self):
        self.out, self.event = self.a.get_async()
        return float(self.out.max())  # expect: OCL508


def bad_of_an_expression(queue, host):
    a = cl_array.to_device(queue, host)
    out, event = (a + 1).get_async()
    print(out)  # expect: OCL508
    event.wait()


def bad_pair_kept(queue, host):
    a = cl_array.to_device(queue, host)
    pair = a.get_async()
    total = np.sum(pair[0])  # expect: OCL508
    pair[1].wait()
    return total


def bad_into_an_array(queue, host):
    a = cl_array.to_device(queue, host)
    out = np.empty_like(host)
    _, event = a.get_async(ary=out)
    total = out.sum()  # expect: OCL508
    event.wait()
    return total


def good_waited(queue, host):
    a = cl_array.to_device(queue, host)
    out, event = a.get_async()
    event.wait()
    return out.sum()


def good_blocking(queue, host):
    a = cl_array.to_device(queue, host)
    return a.get().sum()


def good_finished(queue, host):
    a = cl_array.to_device(queue, host)
    out, event = a.get_async()
    queue.finish()
    return out.sum(), event


def good_wait_for_events(queue, host):
    a = cl_array.to_device(queue, host)
    out, event = a.get_async()
    cl.wait_for_events([event])
    return out.sum()


def good_not_read(queue, host):
    a = cl_array.to_device(queue, host)
    out, event = a.get_async()
    return out, event


def good_array_finished(queue, host):
    a = cl_array.to_device(queue, host)
    out, event = a.get_async()
    a.finish()
    return out.sum(), event
"""

TABLE = [
    *cases("OCL501", BYPASS),
    *cases("OCL502", NOT_ADDED),
    *cases("OCL503", UNTRACKED),
    *cases("OCL508", GET_ASYNC),
]


@pytest.mark.parametrize(("code", "chunk"), TABLE)
def test_array(code: str, chunk: str) -> None:
    verify(code, chunk)
