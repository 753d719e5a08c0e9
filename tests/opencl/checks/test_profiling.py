"""OCL311 to OCL313: times of commands."""

from __future__ import annotations

import pytest
from opencl_cases import NoProject, cases, verify

from kexec_lint.opencl.report import scan_python
from kexec_lint.source import Options, Source

NOT_ENABLED = """
def bad_plain(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx)
    event = knl(queue, (n,), None, buf)
    event.wait()
    return 1e-9 * (event.profile.end - event.profile.start)  # expect: OCL311


def bad_get_profiling_info(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    event = knl(queue, (n,), None, buf)
    event.wait()
    return event.get_profiling_info(cl.profiling_info.END)  # expect: OCL311


class Bad:
    def __init__(self, ctx):
        self.queue = cl.CommandQueue(ctx)

    def time(self, knl, buf, n):
        event = knl(self.queue, (n,), None, buf)
        event.wait()
        return event.profile.end  # expect: OCL311


def bad_helper(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx, None, 0)
    event = knl(queue, (n,), None, buf)
    event.wait()
    return duration(event)  # expect: OCL311

def duration(event):
    profile = event.profile
    return profile.end - profile.start


def bad_list(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx)
    events = [knl(queue, (n,), None, buf) for _ in range(2)]
    cl.wait_for_events(events)
    return sum(event.profile.end - event.profile.start for event in events)  # expect: OCL311


def bad_transfer(ctx, buf, n):
    queue = cl.CommandQueue(ctx)
    event = cl.enqueue_copy(queue, buf, np.zeros(n, np.float32))
    event.wait()
    print(event.profile.queued)  # expect: OCL311


def good_enabled(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx, properties=PROFILING)
    event = knl(queue, (n,), None, buf)
    event.wait()
    return event.profile.end - event.profile.start


def good_both_flags(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx, properties=OOO | PROFILING)
    event = knl(queue, (n,), None, buf)
    event.wait()
    return event.profile.end - event.profile.start


def good_pairs(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx, properties=[cl.queue_properties.PROPERTIES, PROFILING])
    event = knl(queue, (n,), None, buf)
    event.wait()
    return event.profile.end - event.profile.start


def good_by_environment(ctx, knl, buf, n, flags):
    queue = cl.CommandQueue(ctx, properties=flags)
    event = knl(queue, (n,), None, buf)
    event.wait()
    return event.profile.end - event.profile.start


def good_by_choice(ctx, knl, buf, n, profile=False):
    queue = cl.CommandQueue(ctx, properties=PROFILING if profile else None)
    event = knl(queue, (n,), None, buf)
    event.wait()
    if profile:
        return event.profile.end - event.profile.start
    return None


def good_queue_of_the_caller(queue, knl, buf, n):
    event = knl(queue, (n,), None, buf)
    event.wait()
    return event.profile.end - event.profile.start


def good_numeric_flag(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx, properties=2)
    event = knl(queue, (n,), None, buf)
    event.wait()
    return event.profile.end - event.profile.start
"""

TOO_EARLY = """
def bad_at_once(queue, knl, buf, n):
    event = knl(queue, (n,), None, buf)
    return event.profile.end  # expect: OCL312


def bad_user_event(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    gate.set_status(COMPLETE)
    queue.finish()
    return gate.profile.end  # expect: OCL312


def bad_other_event_waited(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx, properties=OOO | PROFILING)
    first = knl(queue, (n,), None, buf)
    queue.finish()
    second = knl(queue, (n,), None, buf)
    first.wait()
    return second.profile.start  # expect: OCL312


class Bad:
    def __init__(self, queue):
        self.queue = queue

    def run(self, knl, buf, n):
        self.event = knl(self.queue, (n,), None, buf)
        return self.report()  # expect: OCL312

    def report(self):
        return self.event.profile.end - self.event.profile.start


def bad_flushed_only(queue, knl, buf, n):
    event = knl(queue, (n,), None, buf)
    queue.flush()
    print(event.get_profiling_info(cl.profiling_info.END))  # expect: OCL312


def bad_wrong_queue_finished(ctx, knl, buf, n):
    first = cl.CommandQueue(ctx, properties=PROFILING)
    second = cl.CommandQueue(ctx, properties=PROFILING)
    event = knl(first, (n,), None, buf)
    second.finish()
    return event.profile.end  # expect: OCL312


def good_waited(queue, knl, buf, n):
    event = knl(queue, (n,), None, buf)
    event.wait()
    return event.profile.end


def good_finished(queue, knl, buf, n):
    event = knl(queue, (n,), None, buf)
    queue.finish()
    return event.profile.end


def good_later_event_in_order(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx, properties=PROFILING)
    first = knl(queue, (n,), None, buf)
    knl(queue, (n,), None, buf).wait()
    return first.profile.end


def good_blocking_read_of_the_result(ctx, knl, n):
    queue = cl.CommandQueue(ctx, properties=PROFILING)
    buf, out = cl.Buffer(ctx, RW, 4 * n), np.empty(n, np.float32)
    event = knl(queue, (n,), None, buf)
    cl.enqueue_copy(queue, out, buf)
    return event.profile.end


def good_list(queue, knl, buf, n):
    events = [knl(queue, (n,), None, buf) for _ in range(3)]
    cl.wait_for_events(events)
    return [event.profile.end for event in events]


def good_event_of_the_caller(event):
    return event.profile.end - event.profile.start


def good_wait_in_a_helper(queue, knl, buf, n, settle):
    event = knl(queue, (n,), None, buf)
    settle(event)
    return event.profile.end
"""

TIMER = """
def bad_perf_counter(queue, knl, buf, n):
    begin = time.perf_counter()
    knl(queue, (n,), None, buf)
    end = time.perf_counter()  # expect: OCL313
    return end - begin


def bad_time(queue, knl, buf, n):
    begin = time.time()
    knl(queue, (n,), None, buf)
    print(time.time() - begin)  # expect: OCL313
    queue.finish()


def bad_loop(queue, knl, buf, n):
    begin = time.monotonic()
    for _ in range(100):
        knl(queue, (n,), None, buf)
    return (time.monotonic() - begin) / 100  # expect: OCL313


class Bad:
    def measure(self, queue, knl, buf, n):
        self.begin = time.perf_counter_ns()
        self.event = knl(queue, (n,), None, buf)
        self.took = time.perf_counter_ns() - self.begin  # expect: OCL313


def bad_flush_is_no_wait(queue, knl, buf, n):
    begin = time.perf_counter()
    knl(queue, (n,), None, buf)
    queue.flush()
    return time.perf_counter() - begin  # expect: OCL313


def bad_non_blocking_copy(queue, buf, n):
    out = np.empty(n, np.float32)
    begin = time.perf_counter()
    event = cl.enqueue_copy(queue, out, buf, is_blocking=False)
    took = time.perf_counter() - begin  # expect: OCL313
    event.wait()
    return took


def good_finish(queue, knl, buf, n):
    begin = time.perf_counter()
    knl(queue, (n,), None, buf)
    queue.finish()
    return time.perf_counter() - begin


def good_wait(queue, knl, buf, n):
    begin = time.perf_counter()
    knl(queue, (n,), None, buf).wait()
    return time.perf_counter() - begin


def good_loop(queue, knl, buf, n):
    begin = time.perf_counter()
    for _ in range(100):
        event = knl(queue, (n,), None, buf)
    event.wait()
    return time.perf_counter() - begin


def good_blocking_copy(queue, buf, n):
    out = np.empty(n, np.float32)
    begin = time.perf_counter()
    cl.enqueue_copy(queue, out, buf)
    return time.perf_counter() - begin


def good_before_the_work(queue, knl, buf, n):
    begin = time.perf_counter()
    prepared = np.zeros(n, np.float32)
    took = time.perf_counter() - begin
    knl(queue, (n,), None, buf)
    queue.finish()
    return took, prepared


def good_get(queue, knl, host):
    a = cl_array.to_device(queue, host)
    begin = time.perf_counter()
    b = (a + 1).get()
    return time.perf_counter() - begin, b
"""

TABLE = [*cases("OCL311", NOT_ENABLED), *cases("OCL312", TOO_EARLY), *cases("OCL313", TIMER)]


@pytest.mark.parametrize(("code", "chunk"), TABLE)
def test_profiling(code: str, chunk: str) -> None:
    verify(code, chunk)


def test_only_two_commands_are_told_as_steps():
    text = """
import pyopencl as cl
def times(ctx, host, buf):
    queue = cl.CommandQueue(ctx)
    done = cl.enqueue_copy(queue, buf, host)
    return done.profile.end - done.profile.start
"""
    source = Source("a.py", text, text.encode())
    found = scan_python(source, NoProject(), Options(frozenset({"OCL311"}), "possible")).findings
    assert {finding.code for finding in found} == {"OCL311"}
    assert all(not finding.steps and finding.related for finding in found)
