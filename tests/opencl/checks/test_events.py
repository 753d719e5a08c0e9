"""OCL301 to OCL310, OCL317, OCL507: user events, wait lists, flushes, callbacks, queues."""

from __future__ import annotations

import pytest
from opencl_cases import cases, verify

NEVER_SET = """
def bad_never(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)  # expect: OCL301
    done = knl(queue, (n,), None, buf, wait_for=[gate])
    done.wait()


def bad_host_waits_for_it(ctx):
    gate = cl.UserEvent(ctx)  # expect: OCL301
    gate.wait()


def bad_in_one_arm(ctx, queue, knl, buf, n, good):
    gate = cl.UserEvent(ctx)  # expect: OCL301
    knl(queue, (n,), None, buf, wait_for=[gate])
    if good:
        gate.set_status(COMPLETE)
    queue.finish()


def bad_raise_in_between(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)  # expect: OCL301
    knl(queue, (n,), None, buf, wait_for=[gate])
    if n > 1000:
        raise ValueError("too large")
    gate.set_status(COMPLETE)
    queue.finish()


def bad_finish_before_the_status(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)  # expect: OCL301
    knl(queue, (n,), None, buf, wait_for=[gate])
    queue.finish()
    gate.set_status(COMPLETE)


def bad_through_a_list(ctx, queue, knl, buf, n):
    deps = [cl.UserEvent(ctx)]  # expect: OCL301
    knl(queue, (n,), None, buf, wait_for=deps)
    queue.finish()


def bad_helper_makes_it(ctx, queue, knl, buf, n):
    gate = make_gate(ctx)  # expect: OCL301
    knl(queue, (n,), None, buf, wait_for=[gate])
    queue.finish()

def make_gate(ctx):
    return cl.UserEvent(ctx)


def bad_exception_swallowed(ctx, queue, knl, buf, n, prepare):
    gate = cl.UserEvent(ctx)  # expect: OCL301
    knl(queue, (n,), None, buf, wait_for=[gate])
    try:
        prepare()
        gate.set_status(COMPLETE)
    except ValueError:
        print("failed")
    queue.finish()


def good_exception_handled(ctx, queue, knl, buf, n, prepare):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    try:
        prepare()
        gate.set_status(COMPLETE)
    except ValueError:
        gate.set_status(-1)
    except OSError:
        raise
    queue.finish()


def good_only_the_call_itself(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    try:
        gate.set_status(COMPLETE)
    except cl.LogicError:
        pass
    queue.finish()


def good_set(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    gate.set_status(COMPLETE)
    queue.finish()


def good_both_arms(ctx, queue, knl, buf, n, fine):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    gate.set_status(COMPLETE if fine else -1)
    queue.finish()


def good_nested_arms(ctx, queue, knl, buf, n, a, b):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    if a:
        if b:
            gate.set_status(COMPLETE)
        else:
            gate.set_status(-1)
    else:
        gate.set_status(-2)
    queue.finish()


def good_used_in_one_arm_only(ctx, queue, knl, buf, n, gated):
    if gated:
        gate = cl.UserEvent(ctx)
        knl(queue, (n,), None, buf, wait_for=[gate])
        gate.set_status(COMPLETE)
    queue.finish()


def good_finally(ctx, queue, knl, buf, n, prepare):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    try:
        prepare(n)
    finally:
        gate.set_status(COMPLETE)
    queue.finish()


def good_returned(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    return knl(queue, (n,), None, buf, wait_for=[gate]), gate


class Good:
    def start(self, ctx, queue, knl, buf, n):
        self.gate = cl.UserEvent(ctx)
        knl(queue, (n,), None, buf, wait_for=[self.gate])

    def stop(self):
        self.gate.set_status(COMPLETE)


def good_given_away(ctx, queue, knl, buf, n, registry):
    gate = cl.UserEvent(ctx)
    registry.add(gate)
    knl(queue, (n,), None, buf, wait_for=[gate])


def good_thread(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    threading.Thread(target=gate.set_status, args=(COMPLETE,)).start()
    queue.finish()


def good_callback(ctx, queue, knl, buf, other, n):
    gate = cl.UserEvent(ctx)
    first = knl(queue, (n,), None, other)
    knl(queue, (n,), None, buf, wait_for=[gate])
    first.set_callback(COMPLETE, lambda status: gate.set_status(COMPLETE))
    queue.finish()


def good_assertion_in_between(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    assert n > 0
    gate.set_status(COMPLETE)
    queue.finish()
"""

NOT_FLUSHED = """
def bad_finish(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    knl(second, (n,), None, x, wait_for=[done])  # expect: OCL302
    second.finish()


def bad_event_wait(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    last = knl(second, (n,), None, x, wait_for=[done])  # expect: OCL302
    last.wait()


def bad_barrier(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    cl.enqueue_barrier(second, wait_for=[done])  # expect: OCL302
    knl(second, (n,), None, x)
    second.finish()


def bad_blocking_read(ctx, knl, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    x = cl.Buffer(ctx, RW, 4 * n)
    out = np.empty(n, np.float32)
    done = knl(first, (n,), None, x)
    cl.enqueue_copy(second, out, x, wait_for=[done])  # expect: OCL302
    return out


class Bad:
    def __init__(self, ctx):
        self.up, self.run = cl.CommandQueue(ctx), cl.CommandQueue(ctx)

    def step(self, knl, x, n):
        event = cl.enqueue_marker(self.up)
        knl(self.run, (n,), None, x, wait_for=[event])  # expect: OCL302
        self.run.finish()


def bad_wrong_one_flushed(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    last = knl(second, (n,), None, x, wait_for=[done])  # expect: OCL302
    second.flush()
    last.wait()


def good_flush(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    first.flush()
    knl(second, (n,), None, x, wait_for=[done])
    second.finish()


def good_both_finished_in_order(ctx, knl, x, n):
    queues = [cl.CommandQueue(ctx), cl.CommandQueue(ctx)]
    done = knl(queues[0], (n,), None, x)
    knl(queues[1], (n,), None, x, wait_for=[done])
    for queue in queues:
        queue.finish()


def good_blocking_call_on_the_first(ctx, knl, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    x, out = cl.Buffer(ctx, RW, 4 * n), np.empty(n, np.float32)
    done = knl(first, (n,), None, x)
    cl.enqueue_copy(first, out, x)
    knl(second, (n,), None, x, wait_for=[done])
    second.finish()


def good_event_waited_by_the_host(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    last = knl(second, (n,), None, x, wait_for=[done])
    cl.wait_for_events([done, last])


def good_not_blocking(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    return knl(second, (n,), None, x, wait_for=[done])


def good_same_queue(ctx, knl, x, n):
    queue = cl.CommandQueue(ctx)
    done = knl(queue, (n,), None, x)
    knl(queue, (n,), None, x, wait_for=[done])
    queue.finish()


def good_queues_of_the_caller(first, second, knl, x, n):
    done = knl(first, (n,), None, x)
    knl(second, (n,), None, x, wait_for=[done])
    second.finish()


def good_helper_flushes(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    submit(first, second)
    knl(second, (n,), None, x, wait_for=[done])
    second.finish()

def submit(*queues):
    for queue in queues:
        queue.flush()
"""

FINISH_ORDER = """
def bad_reverse(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    knl(second, (n,), None, x, wait_for=[done])
    second.finish()  # expect: OCL303
    first.finish()


def bad_late_flush(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    last = knl(second, (n,), None, x, wait_for=[done])
    last.wait()  # expect: OCL303
    first.flush()


def bad_blocking_copy(ctx, knl, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    x, out = cl.Buffer(ctx, RW, 4 * n), np.empty(n, np.float32)
    done = knl(first, (n,), None, x)
    cl.enqueue_copy(second, out, x, wait_for=[done])  # expect: OCL303
    first.finish()
    return out


def bad_reversed_loop(ctx, knl, x, n):
    queues = [cl.CommandQueue(ctx), cl.CommandQueue(ctx)]
    done = knl(queues[1], (n,), None, x)
    knl(queues[0], (n,), None, x, wait_for=[done])
    for queue in queues:
        queue.finish()  # expect: OCL303


class Bad:
    def __init__(self, ctx):
        self.up, self.run = cl.CommandQueue(ctx), cl.CommandQueue(ctx)

    def step(self, knl, x, n):
        event = knl(self.up, (n,), None, x)
        knl(self.run, (n,), None, x, wait_for=[event])
        self.run.finish()  # expect: OCL303
        self.up.finish()


def bad_host_waits_for_the_first_afterwards(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    cl.enqueue_barrier(second, wait_for=[done])
    second.finish()  # expect: OCL303
    done.wait()


def good_right_order(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    knl(second, (n,), None, x, wait_for=[done])
    first.finish()
    second.finish()


def good_flushed_before(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    first.flush()
    knl(second, (n,), None, x, wait_for=[done])
    second.finish()
    first.finish()


def good_flushed_after_the_command(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    knl(second, (n,), None, x, wait_for=[done])
    first.flush()
    second.finish()
    first.finish()


def good_independent(ctx, knl, x, y, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    knl(first, (n,), None, x)
    knl(second, (n,), None, y)
    second.finish()
    first.finish()


def good_unknown_call_may_flush(ctx, knl, x, n, submit_all):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    knl(second, (n,), None, x, wait_for=[done])
    submit_all(first, second)
    second.finish()
    first.finish()


def good_first_waited(ctx, knl, x, n):
    first, second = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(first, (n,), None, x)
    done.wait()
    knl(second, (n,), None, x, wait_for=[done])
    second.finish()
    first.finish()
"""

WAIT_LIST = """
def bad_bare_event(queue, knl, buf, n):
    done = knl(queue, (n,), None, buf)
    knl(queue, (n,), None, buf, wait_for=done)  # expect: OCL306


def bad_bare_event_to_the_host_wait(queue, knl, buf, n):
    done = knl(queue, (n,), None, buf)
    cl.wait_for_events(done)  # expect: OCL306


class Bad:
    def __init__(self, queue, knl):
        self.queue, self.knl = queue, knl

    def run(self, buf, n):
        self.event = self.knl(self.queue, (n,), None, buf)
        cl.enqueue_barrier(self.queue, wait_for=self.event)  # expect: OCL306


def bad_array(queue, knl, host):
    a = cl_array.to_device(queue, host)
    knl(queue, a.shape, None, a.data, wait_for=[a])  # expect: OCL306


def bad_event_of_an_array(queue, knl, host):
    a = cl_array.to_device(queue, host)
    b = a + 1
    knl(queue, b.shape, None, b.data, wait_for=b.event)  # expect: OCL306


def bad_nested(queue, knl, buf, n):
    events = [knl(queue, (n,), None, buf)]
    cl.enqueue_marker(queue, wait_for=[events])  # expect: OCL306


def bad_buffer(ctx, queue, knl, n):
    buf = cl.Buffer(ctx, RW, 4 * n)
    knl(queue, (n,), None, buf, wait_for=[buf])  # expect: OCL306


def bad_method_not_called(queue, knl, buf, n):
    done = knl(queue, (n,), None, buf)
    knl(queue, (n,), None, buf, wait_for=[done.wait])  # expect: OCL306


def bad_event_of_an_array_of_the_caller(queue, knl, ary):
    knl(queue, ary.shape, None, ary.data, wait_for=ary.event)  # expect: OCL306


def good_list(queue, knl, buf, n):
    done = knl(queue, (n,), None, buf)
    knl(queue, (n,), None, buf, wait_for=[done])


def good_tuple(queue, knl, buf, n):
    done = knl(queue, (n,), None, buf)
    knl(queue, (n,), None, buf, wait_for=(done,))


def good_empty_and_none(queue, knl, buf, n):
    knl(queue, (n,), None, buf, wait_for=[])
    knl(queue, (n,), None, buf, wait_for=None)


def good_events_of_an_array(queue, knl, host):
    a = cl_array.to_device(queue, host)
    knl(queue, a.shape, None, a.data, wait_for=a.events + [])


def good_parameter(queue, knl, buf, n, wait_for=None):
    return knl(queue, (n,), None, buf, wait_for=wait_for)


def good_called_with_a_list(queue, knl, buf, n):
    first = step(queue, knl, buf, n)
    step(queue, knl, buf, n, [first])

def step(queue, knl, buf, n, deps=()):
    return knl(queue, (n,), None, buf, wait_for=list(deps))


def good_event_of_a_wrapper(queue, knl, wrapped, n):
    knl(queue, (n,), None, wrapped.data, wait_for=[wrapped.event])


def good_starred(queue, knl, buf, n):
    events = [knl(queue, (n,), None, buf)]
    knl(queue, (n,), None, buf, wait_for=[*events, knl(queue, (n,), None, buf)])
"""

UNUSED_LIST = """
def bad_display(queue, knl, a, b, n):
    one = knl(queue, (n,), None, a)
    two = knl(queue, (n,), None, b)
    deps = [one, two]  # expect: OCL307
    return knl(queue, (n,), None, a, b)


def bad_appended(queue, knl, a, b, n):
    deps = []  # expect: OCL307
    one = knl(queue, (n,), None, a)
    deps.append(one)
    two = knl(queue, (n,), None, b)
    deps.append(two)
    knl(queue, (n,), None, a, b)
    queue.finish()


def bad_concatenated(queue, knl, x, y):
    waits = x.events + y.events  # expect: OCL307
    return knl(queue, x.shape, None, x.data, y.data)


class Bad:
    def add(self, queue, knl, x, y, wait_for=None):
        wait_for = list(wait_for or [])
        wait_for = wait_for + x.events  # expect: OCL307
        return knl(queue, x.shape, None, x.data, y.data)


def bad_parameter(ctx, knl, a, n, wait_for=None):
    queue = cl.CommandQueue(ctx, properties=OOO)
    if wait_for is None:
        wait_for = []  # expect: OCL307
    knl(queue, (n,), None, a).wait()


def good_parameter_of_an_in_order_queue(ctx, knl, a, n, wait_for=None):
    queue = cl.CommandQueue(ctx)
    if wait_for is None:
        wait_for = []
    knl(queue, (n,), None, a).wait()


def good_parameter_passed_on(ctx, knl, a, n, wait_for=None):
    queue = cl.CommandQueue(ctx, properties=OOO)
    if wait_for is None:
        wait_for = []
    knl(queue, (n,), None, a, wait_for=[*wait_for]).wait()


def good_parameter_waited_for(ctx, knl, a, n, wait_for=None):
    queue = cl.CommandQueue(ctx, properties=OOO)
    wait_for = list(wait_for or [])
    for event in wait_for:
        event.wait()
    knl(queue, (n,), None, a).wait()


def good_parameter_without_a_default(ctx, knl, a, n, wait_for=None):
    queue = cl.CommandQueue(ctx, properties=OOO)
    knl(queue, (n,), None, a).wait()


def bad_in_one_helper(queue, knl, a, b, n):
    event = launch(queue, knl, a, b, n)
    event.wait()

def launch(queue, knl, a, b, n):
    up = cl.enqueue_copy(queue, a, b)
    waits = [up]  # expect: OCL307
    return knl(queue, (n,), None, a)


def bad_extended(queue, knl, a, b, n, more):
    one = knl(queue, (n,), None, a)
    deps = [one]  # expect: OCL307
    deps += [one]
    return knl(queue, (n,), None, b)


def good_passed(queue, knl, a, b, n):
    one = knl(queue, (n,), None, a)
    deps = [one]
    return knl(queue, (n,), None, b, wait_for=deps)


def good_host_wait(queue, knl, a, b, n):
    one = knl(queue, (n,), None, a)
    deps = [one]
    knl(queue, (n,), None, b)
    cl.wait_for_events(deps)


def good_iterated(queue, knl, a, n):
    one = knl(queue, (n,), None, a)
    deps = [one]
    for event in deps:
        event.wait()


def good_returned(queue, knl, a, n):
    one = knl(queue, (n,), None, a)
    deps = [one]
    return deps


def good_stored(queue, knl, a, n, owner):
    one = knl(queue, (n,), None, a)
    deps = [one]
    owner.pending = deps


def good_used_in_an_inner_function(queue, knl, a, n):
    one = knl(queue, (n,), None, a)
    deps = [one]

    def later():
        cl.wait_for_events(deps)

    return later


def good_only_holder(queue, parts, hosts):
    alive = [cl.enqueue_copy(queue, part, host, is_blocking=False) for part, host in zip(parts, hosts)]
    queue.finish()


def good_branch_reads_it(queue, knl, a, b, n, profile):
    one = knl(queue, (n,), None, a)
    deps = [one]
    if profile:
        print(len(deps))
    return knl(queue, (n,), None, b)
"""

FOREIGN = """
def bad_two_contexts(devices, knl, a, b, n):
    left, right = cl.Context([devices[0]]), cl.Context([devices[1]])
    one, two = cl.CommandQueue(left), cl.CommandQueue(right)
    done = knl(one, (n,), None, a)
    knl(two, (n,), None, b, wait_for=[done])  # expect: OCL308


def bad_user_event_of_another_context(devices, knl, a, n):
    left, right = cl.Context([devices[0]]), cl.Context([devices[1]])
    queue = cl.CommandQueue(right)
    gate = cl.UserEvent(left)
    knl(queue, (n,), None, a, wait_for=[gate])  # expect: OCL308
    gate.set_status(COMPLETE)
    queue.finish()


def bad_host_wait_for_both(knl, a, b, n):
    one = cl.CommandQueue(cl.create_some_context())
    two = cl.CommandQueue(cl.create_some_context())
    cl.wait_for_events([knl(one, (n,), None, a), knl(two, (n,), None, b)])  # expect: OCL308


def bad_first_round(queue, knl, buf, n):
    event = None
    for _ in range(n):
        event = knl(queue, (n,), None, buf, wait_for=[event])  # expect: OCL308
    event.wait()


class Bad:
    def __init__(self, queue, knl):
        self.queue, self.knl = queue, knl

    def run(self, buf, n):
        chain = {"last": None}
        for _ in range(2):
            chain["last"] = self.knl(self.queue, (n,), None, buf, wait_for=[chain["last"]])  # expect: OCL308


def bad_helper_gives_none(queue, knl, buf, host, n):
    up = upload(queue, buf, host)
    knl(queue, (n,), None, buf, wait_for=[up]).wait()  # expect: OCL308

def upload(queue, buf, host):
    if host is None:
        return None
    return cl.enqueue_copy(queue, buf, host, is_blocking=False)


def bad_slots_start_empty(queue, knl, buffers, n):
    events = [None, None]
    for i in range(2):
        events[i] = knl(queue, (n,), None, buffers[i], wait_for=[events[i]])  # expect: OCL308
    cl.wait_for_events(events)


def good_one_context(ctx, knl, a, n):
    one, two = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    done = knl(one, (n,), None, a)
    one.flush()
    knl(two, (n,), None, a, wait_for=[done]).wait()


def good_context_of_the_queue(queue, knl, a, n):
    other = cl.CommandQueue(queue.context)
    done = knl(queue, (n,), None, a)
    queue.flush()
    knl(other, (n,), None, a, wait_for=[done])


def good_choice(queue, knl, buf, n):
    event = None
    for _ in range(n):
        event = knl(queue, (n,), None, buf, wait_for=[event] if event else None)
    event.wait()


def good_if(queue, knl, buf, n):
    event = None
    for _ in range(n):
        deps = []
        if event is not None:
            deps.append(event)
        event = knl(queue, (n,), None, buf, wait_for=deps)
    event.wait()


def good_filter(queue, knl, buf, events, n):
    first = None if n else knl(queue, (n,), None, buf)
    deps = [event for event in [first, *events] if event is not None]
    knl(queue, (n,), None, buf, wait_for=deps)


def good_early_return(queue, knl, buf, host, n):
    up = None
    if host is None:
        return None
    up = cl.enqueue_copy(queue, buf, host, is_blocking=False)
    return knl(queue, (n,), None, buf, wait_for=[up])


def good_unknown_contexts(left, right, knl, a, n):
    one, two = cl.CommandQueue(left), cl.CommandQueue(right)
    done = knl(one, (n,), None, a)
    one.flush()
    knl(two, (n,), None, a, wait_for=[done]).wait()
"""

CALLBACK = """
def bad_finish(queue, knl, buf, n):
    def notify(status):
        queue.finish()  # expect: OCL309

    knl(queue, (n,), None, buf).set_callback(COMPLETE, notify)


def bad_wait(queue, knl, buf, n):
    first = knl(queue, (n,), None, buf)
    second = knl(queue, (n,), None, buf)
    first.set_callback(COMPLETE, lambda status: second.wait())  # expect: OCL309


def bad_blocking_copy(queue, knl, n):
    buf, out = cl.Buffer(queue.context, RW, 4 * n), np.empty(n, np.float32)

    def fetch(status):
        cl.enqueue_copy(queue, out, buf)  # expect: OCL309

    event = knl(queue, (n,), None, buf)
    event.set_callback(cl.command_execution_status.COMPLETE, fetch)
    return out


class Bad:
    def __init__(self, queue):
        self.queue = queue

    def done(self, status):
        self.queue.finish()  # expect: OCL309

    def run(self, knl, buf, n):
        knl(self.queue, (n,), None, buf).set_callback(COMPLETE, self.done)


def bad_through_a_helper(queue, knl, buf, n):
    def notify(status):
        settle(queue)

    knl(queue, (n,), None, buf).set_callback(COMPLETE, notify)

def settle(queue):
    queue.finish()  # expect: OCL309


def bad_enqueue_without_flush(queue, knl, buf, n):
    def again(status):
        knl(queue, (n,), None, buf)  # expect: OCL309

    knl(queue, (n,), None, buf).set_callback(COMPLETE, again)


def bad_wait_for_events(queue, knl, buf, other, n):
    def notify(status):
        event = knl(queue, (n,), None, other)
        cl.wait_for_events([event])  # expect: OCL309

    knl(queue, (n,), None, buf).set_callback(COMPLETE, notify)


def good_signal(queue, knl, buf, n):
    finished = threading.Event()
    knl(queue, (n,), None, buf).set_callback(COMPLETE, lambda status: finished.set())
    queue.flush()
    finished.wait()


def good_print(queue, knl, buf, n):
    def notify(status):
        print("done", status)

    knl(queue, (n,), None, buf).set_callback(COMPLETE, notify)
    queue.finish()


def good_enqueue_and_flush(queue, knl, buf, n):
    def again(status):
        knl(queue, (n,), None, buf)
        queue.flush()

    knl(queue, (n,), None, buf).set_callback(COMPLETE, again)
    queue.flush()


def good_finish_outside(queue, knl, buf, n):
    results = []
    knl(queue, (n,), None, buf).set_callback(COMPLETE, results.append)
    queue.finish()
    return results


def good_sets_a_user_event(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)

    def open_gate(status):
        gate.set_status(COMPLETE)

    knl(queue, (n,), None, buf).set_callback(COMPLETE, open_gate)
    knl(queue, (n,), None, buf, wait_for=[gate])
    queue.flush()


class Good:
    def done(self, status):
        self.ready.set()

    def run(self, queue, knl, buf, n):
        self.ready = threading.Event()
        knl(queue, (n,), None, buf).set_callback(COMPLETE, self.done)
        queue.flush()
        self.ready.wait()
"""

USER_EVENT = """
def bad_twice(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    gate.set_status(COMPLETE)
    gate.set_status(COMPLETE)  # expect: OCL310


def bad_twice_in_a_loop(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    for _ in range(3):
        knl(queue, (n,), None, buf, wait_for=[gate])
        gate.set_status(COMPLETE)  # expect: OCL310


def bad_again_after_an_early_one(ctx, queue, knl, buf, n, quick):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    if quick:
        gate.set_status(COMPLETE)
    gate.set_status(COMPLETE)  # expect: OCL310


def bad_intermediate(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    gate.set_status(cl.command_execution_status.SUBMITTED)  # expect: OCL310
    gate.set_status(COMPLETE)


def bad_positive_number(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    gate.set_status(1)  # expect: OCL310
    gate.set_status(0)


def bad_nobody_waits(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)  # expect: OCL310
    done = knl(queue, (n,), None, buf)
    gate.set_status(COMPLETE)
    done.wait()


class Bad:
    def __init__(self, ctx, queue):
        self.ctx, self.queue = ctx, queue

    def run(self, knl, buf, n):
        gate = cl.UserEvent(self.ctx)  # expect: OCL310
        knl(self.queue, (n,), None, buf, wait_for=None)
        self.open(gate)

    def open(self, gate):
        gate.set_status(COMPLETE)


def good_once(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    gate.set_status(COMPLETE)


def good_failure(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    try:
        n = int(n)
        gate.set_status(COMPLETE)
    except ValueError:
        gate.set_status(-1)


def good_new_each_time(ctx, queue, knl, buf, n):
    for _ in range(3):
        gate = cl.UserEvent(ctx)
        knl(queue, (n,), None, buf, wait_for=[gate])
        gate.set_status(COMPLETE)


def good_unknown_status(ctx, queue, knl, buf, n, status):
    gate = cl.UserEvent(ctx)
    knl(queue, (n,), None, buf, wait_for=[gate])
    gate.set_status(status)


def good_barrier_waits(ctx, queue, knl, buf, n):
    gate = cl.UserEvent(ctx)
    cl.enqueue_barrier(queue, wait_for=[gate])
    knl(queue, (n,), None, buf)
    gate.set_status(COMPLETE)


def good_given_away(ctx, queue, launch):
    gate = cl.UserEvent(ctx)
    launch(queue, [gate])
    gate.set_status(COMPLETE)


def good_added_to_an_array(ctx, queue, array):
    gate = cl.UserEvent(ctx)
    array.add_event(gate)
    gate.set_status(COMPLETE)
"""

PROPERTIES = """
def bad_in_place_of_the_device(ctx):
    return cl.CommandQueue(ctx, OOO)  # expect: OCL317


def bad_device_by_name(ctx):
    return cl.CommandQueue(ctx, device=PROFILING)  # expect: OCL317


def bad_and(ctx):
    return cl.CommandQueue(ctx, properties=OOO & PROFILING)  # expect: OCL317


class Bad:
    def __init__(self, ctx):
        props = cl.command_queue_properties
        self.queue = cl.CommandQueue(ctx, properties=props.PROFILING_ENABLE or props.ON_DEVICE)  # expect: OCL317


def bad_keyless_list(ctx):
    return cl.CommandQueue(ctx, properties=[OOO, PROFILING])  # expect: OCL317


def bad_set_afterwards(ctx):
    queue = cl.CommandQueue(ctx)
    queue.properties = OOO  # expect: OCL317
    return queue


def bad_flags_in_a_variable(ctx, fast):
    flags = OOO if fast else PROFILING
    return cl.CommandQueue(ctx, flags)  # expect: OCL317


def good_by_name(ctx):
    return cl.CommandQueue(ctx, properties=OOO | PROFILING)


def good_third(ctx, device):
    return cl.CommandQueue(ctx, device, OOO)


def good_pairs(ctx):
    return cl.CommandQueue(ctx, properties=[cl.queue_properties.PROPERTIES, OOO, 0])


def good_none(ctx, device):
    return cl.CommandQueue(ctx, device, None)


def good_default_flags(ctx, flags=None):
    return cl.CommandQueue(ctx, properties=flags or PROFILING)


def good_mask(ctx, device):
    if device.queue_properties & OOO:
        return cl.CommandQueue(ctx, device, properties=OOO)
    return cl.CommandQueue(ctx, device)


def good_device_of_the_context(ctx):
    return cl.CommandQueue(ctx, ctx.devices[0], properties=PROFILING)
"""

CLOSED = """
def bad_kernel(ctx, knl, buf, n):
    with cl.CommandQueue(ctx) as queue:
        knl(queue, (n,), None, buf)
    knl(queue, (n,), None, buf)  # expect: OCL507


def bad_copy(ctx, buf, out):
    with cl.CommandQueue(ctx) as queue:
        pass
    cl.enqueue_copy(queue, out, buf)  # expect: OCL507


def bad_own_variable(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx)
    with queue:
        knl(queue, (n,), None, buf)
    cl.enqueue_barrier(queue)  # expect: OCL507


class Bad:
    def __init__(self, ctx):
        self.queue = cl.CommandQueue(ctx)

    def first(self, knl, buf, n):
        with self.queue as queue:
            knl(queue, (n,), None, buf)

    def run(self, knl, buf, n):
        self.first(knl, buf, n)
        knl(self.queue, (n,), None, buf)  # expect: OCL507


def bad_second_round(ctx, knl, buf, n):
    queue = cl.CommandQueue(ctx)
    for _ in range(2):
        with queue:
            knl(queue, (n,), None, buf)  # expect: OCL507


def bad_queue_of_the_caller(queue, knl, buf, n):
    with queue:
        knl(queue, (n,), None, buf)
    knl(queue, (n,), None, buf)  # expect: OCL507


def good_inside(ctx, knl, buf, n):
    with cl.CommandQueue(ctx) as queue:
        knl(queue, (n,), None, buf)
        knl(queue, (n,), None, buf)


def good_new_queue(ctx, knl, buf, n):
    for _ in range(2):
        with cl.CommandQueue(ctx) as queue:
            knl(queue, (n,), None, buf)


def good_other_queue(ctx, queue, knl, buf, n):
    with cl.CommandQueue(ctx) as other:
        knl(other, (n,), None, buf)
    knl(queue, (n,), None, buf)


def good_lock(queue, knl, buf, n):
    with threading.Lock():
        knl(queue, (n,), None, buf)
    knl(queue, (n,), None, buf)


def good_early_return(ctx, knl, buf, n, quick):
    queue = cl.CommandQueue(ctx)
    if quick:
        with queue:
            return knl(queue, (n,), None, buf)
    return knl(queue, (n,), None, buf)


class Good:
    def __init__(self, ctx):
        self.queue = cl.CommandQueue(ctx)

    def close(self, knl, buf, n):
        with self.queue:
            knl(self.queue, (n,), None, buf)

    def run(self, knl, buf, n):
        knl(self.queue, (n,), None, buf)
"""

TABLE = [
    *cases("OCL301", NEVER_SET),
    *cases("OCL302", NOT_FLUSHED),
    *cases("OCL303", FINISH_ORDER),
    *cases("OCL306", WAIT_LIST),
    *cases("OCL307", UNUSED_LIST),
    *cases("OCL308", FOREIGN),
    *cases("OCL309", CALLBACK),
    *cases("OCL310", USER_EVENT),
    *cases("OCL317", PROPERTIES),
    *cases("OCL507", CLOSED),
]


@pytest.mark.parametrize(("code", "chunk"), TABLE)
def test_event(code: str, chunk: str) -> None:
    verify(code, chunk)
