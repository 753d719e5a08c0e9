"""Before and after: what `--fix` makes of Python host code, and what it leaves alone.

`~` in front of a case says that the unsafe fixes are applied too. Every fixed file is checked again: nothing
is left, a second run changes nothing, every comment is still there.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fixing import comments, run

HEAD = '''
import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

OOO = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
RW = cl.mem_flags.READ_WRITE
SRC = """
__kernel void fill(__global float *x) { x[get_global_id(0)] = 1.0f; }
__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }
__kernel void add(__global const float *a, __global const float *b, __global float *c)
{ int i = get_global_id(0); c[i] = a[i] + b[i]; }
"""


'''.lstrip()

START = """
def run(ctx, host, n):
    queue = cl.CommandQueue(ctx, properties=OOO)
    prg = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, RW, 4 * n)
    y = cl.Buffer(ctx, RW, 4 * n)
    z = cl.Buffer(ctx, RW, 4 * n)
""".lstrip()


def body(text: str) -> str:
    """Return a whole file around the body of one function."""
    lines = text.strip("\n").split("\n")
    return HEAD + START + "".join(f"    {line}\n" if line else "\n" for line in lines)


CASES = {
    "a fresh name for the event": (
        """
prg.fill(queue, (n,), None, x)  # writes
prg.twice(queue, (n,), None, x).wait()  # reads and writes
""",
        """
fill_done = prg.fill(queue, (n,), None, x)  # writes
prg.twice(queue, (n,), None, x, wait_for=[fill_done]).wait()  # reads and writes
""",
    ),
    "the author's name for the event": (
        """
first = prg.fill(queue, (n,), None, x)
prg.twice(queue, (n,), None, x).wait()
first.wait()
""",
        """
first = prg.fill(queue, (n,), None, x)
prg.twice(queue, (n,), None, x, wait_for=[first]).wait()
first.wait()
""",
    ),
    "a name that is taken": (
        """
fill_done = False
prg.fill(queue, (n,), None, x)
prg.twice(queue, (n,), None, x).wait()
print(fill_done)
""",
        """
fill_done = False
fill_done_2 = prg.fill(queue, (n,), None, x)
prg.twice(queue, (n,), None, x, wait_for=[fill_done_2]).wait()
print(fill_done)
""",
    ),
    "two producers": (
        """
prg.fill(queue, (n,), None, x)
prg.fill(queue, (n,), None, y)
prg.add(queue, (n,), None, x, y, z).wait()
""",
        """
fill_done = prg.fill(queue, (n,), None, x)
fill_done_2 = prg.fill(queue, (n,), None, y)
prg.add(queue, (n,), None, x, y, z, wait_for=[fill_done, fill_done_2]).wait()
""",
    ),
    "an argument a row": (
        """
prg.fill(
    queue,
    (n,),
    None,
    x,  # the output
)
prg.twice(
    queue,
    (n,),
    None,
    x  # in place
).wait()
""",
        """
fill_done = prg.fill(
    queue,
    (n,),
    None,
    x,  # the output
)
prg.twice(
    queue,
    (n,),
    None,
    x,  # in place
    wait_for=[fill_done]
).wait()
""",
    ),
    "an argument a row, with its comma": (
        """
fill = prg.fill(queue, (n,), None, x)
prg.twice(
    queue,
    (n,),
    None,
    x,  # in place
).wait()
""",
        """
fill = prg.fill(queue, (n,), None, x)
prg.twice(
    queue,
    (n,),
    None,
    x,  # in place
    wait_for=[fill],
).wait()
""",
    ),
    "a list that is there": (
        """
a = prg.fill(queue, (n,), None, x)
b = prg.fill(queue, (n,), None, y)
prg.add(queue, (n,), None, x, y, z, wait_for=[b]).wait()
a.wait()
""",
        """
a = prg.fill(queue, (n,), None, x)
b = prg.fill(queue, (n,), None, y)
prg.add(queue, (n,), None, x, y, z, wait_for=[b, a]).wait()
a.wait()
""",
    ),
    "a list of several rows": (
        """
a = prg.fill(queue, (n,), None, x)
b = prg.fill(queue, (n,), None, y)
prg.add(queue, (n,), None, x, y, z, wait_for=[
    b,  # fills y
]).wait()
a.wait()
""",
        """
a = prg.fill(queue, (n,), None, x)
b = prg.fill(queue, (n,), None, y)
prg.add(queue, (n,), None, x, y, z, wait_for=[
    b,  # fills y
    a,
]).wait()
a.wait()
""",
    ),
    "a list in a variable": (
        """
a = prg.fill(queue, (n,), None, x)
deps = [prg.fill(queue, (n,), None, y)]
prg.add(queue, (n,), None, x, y, z, wait_for=deps).wait()
a.wait()
""",
        """
a = prg.fill(queue, (n,), None, x)
deps = [prg.fill(queue, (n,), None, y)]
prg.add(queue, (n,), None, x, y, z, wait_for=[*deps, a]).wait()
a.wait()
""",
    ),
    "a list that is put together": (
        """
a = prg.fill(queue, (n,), None, x)
b = prg.fill(queue, (n,), None, y)
prg.add(queue, (n,), None, x, y, z, wait_for=[b] + []).wait()
a.wait()
""",
        """
a = prg.fill(queue, (n,), None, x)
b = prg.fill(queue, (n,), None, y)
prg.add(queue, (n,), None, x, y, z, wait_for=[b] + [] + [a]).wait()
a.wait()
""",
    ),
    "a kernel that is called as a method of Array is": (
        """
prg.twice(queue, (n,), None, x)
prg.fill(queue, (n,), None, x).wait()
""",
        """
twice_done = prg.twice(queue, (n,), None, x)
prg.fill(queue, (n,), None, x, wait_for=[twice_done]).wait()
""",
    ),
    "None as the list": (
        """
prg.fill(queue, (n,), None, x)
prg.twice(queue, (n,), None, x, wait_for=None).wait()
""",
        """
fill_done = prg.fill(queue, (n,), None, x)
prg.twice(queue, (n,), None, x, wait_for=[fill_done]).wait()
""",
    ),
    "the list by its position": (
        """
prg.fill(queue, (n,), None, x)
cl.enqueue_copy_buffer(queue, x, y, 4 * n, 0, 0, None).wait()
""",
        """
fill_done = prg.fill(queue, (n,), None, x)
cl.enqueue_copy_buffer(queue, x, y, 4 * n, 0, 0, [fill_done]).wait()
""",
    ),
    "two queues": (
        """
other = cl.CommandQueue(ctx)
prg.fill(queue, (n,), None, x)  # made here
cl.enqueue_copy(other, host, x)  # fetched there
""",
        """
other = cl.CommandQueue(ctx)
fill_done = prg.fill(queue, (n,), None, x)  # made here
queue.flush()
cl.enqueue_copy(other, host, x, wait_for=[fill_done])  # fetched there
""",
    ),
    "an event in a list": (
        """
events = []
events.append(prg.fill(queue, (n,), None, x))
prg.twice(queue, (n,), None, x).wait()
cl.wait_for_events(events)
""",
        """
events = []
events.append(fill_done := prg.fill(queue, (n,), None, x))
prg.twice(queue, (n,), None, x, wait_for=[fill_done]).wait()
cl.wait_for_events(events)
""",
    ),
    "~ an unmap that comes too late": (
        """
one = cl.CommandQueue(ctx)
view, _ = cl.enqueue_map_buffer(one, x, cl.map_flags.READ, 0, (n,), np.float32)
print(view[0])
prg.fill(one, (n,), None, x).wait()  # overwrites
view.base.release(one)
""",
        """
one = cl.CommandQueue(ctx)
view, _ = cl.enqueue_map_buffer(one, x, cl.map_flags.READ, 0, (n,), np.float32)
print(view[0])
view.base.release(one)
prg.fill(one, (n,), None, x).wait()  # overwrites
""",
    ),
    "None among events": (
        """
first = None
if n > 8:
    first = prg.fill(queue, (n,), None, x)
prg.fill(queue, (n,), None, y, wait_for=[first]).wait()
queue.finish()
""",
        """
first = None
if n > 8:
    first = prg.fill(queue, (n,), None, x)
prg.fill(queue, (n,), None, y, wait_for=[event for event in [first] if event is not None]).wait()
queue.finish()
""",
    ),
    "~ a list that nobody gets": (
        """
a = prg.fill(queue, (n,), None, x)
b = prg.fill(queue, (n,), None, y)
deps = [a, b]
prg.add(queue, (n,), None, x, y, z).wait()
""",
        """
a = prg.fill(queue, (n,), None, x)
b = prg.fill(queue, (n,), None, y)
deps = [a, b]
prg.add(queue, (n,), None, x, y, z, wait_for=deps).wait()
""",
    ),
    "a marker": (
        """
prg.fill(queue, (n,), None, x)
cl.enqueue_marker(queue)  # all of it
prg.twice(queue, (n,), None, x).wait()
""",
        """
prg.fill(queue, (n,), None, x)
cl.enqueue_barrier(queue)  # all of it
prg.twice(queue, (n,), None, x).wait()
""",
    ),
    "a barrier with a list": (
        """
a = prg.fill(queue, (n,), None, x)
b = prg.fill(queue, (n,), None, y)
cl.enqueue_barrier(queue, wait_for=[a])
prg.add(queue, (n,), None, x, y, z).wait()
b.wait()
""",
        """
a = prg.fill(queue, (n,), None, x)
b = prg.fill(queue, (n,), None, y)
cl.enqueue_barrier(queue, wait_for=[a, b])
prg.add(queue, (n,), None, x, y, z).wait()
b.wait()
""",
    ),
    "~ a loop's earlier turn": (
        """
prg.fill(queue, (n,), None, x).wait()
for _ in range(n):
    prg.add(queue, (n,), None, x, y, z)
    cl.enqueue_copy(queue, x, z)
queue.finish()
""",
        """
prg.fill(queue, (n,), None, x).wait()
for _ in range(n):
    cl.enqueue_barrier(queue)
    prg.add(queue, (n,), None, x, y, z)
    cl.enqueue_barrier(queue)
    cl.enqueue_copy(queue, x, z)
queue.finish()
""",
    ),
    "a download": (
        """
out = np.empty(n, np.float32)
done = cl.enqueue_copy(queue, out, x, is_blocking=False)
# the sum
total = (
    out.sum()
)
done.wait()
""",
        """
out = np.empty(n, np.float32)
done = cl.enqueue_copy(queue, out, x, is_blocking=False)
# the sum
done.wait()
total = (
    out.sum()
)
done.wait()
""",
    ),
    "a download that elif reads": (
        """
out = np.empty(n, np.float32)
done = cl.enqueue_copy(queue, out, x, is_blocking=False)
if n == 0:
    print("none")
elif out[0] > 1:
    print("large")
done.wait()
""",
        """
out = np.empty(n, np.float32)
done = cl.enqueue_copy(queue, out, x, is_blocking=False)
done.wait()
if n == 0:
    print("none")
elif out[0] > 1:
    print("large")
done.wait()
""",
    ),
    "an upload in a loop": (
        """
staging = np.zeros(n, np.float32)
for number in range(n):
    staging[:] = number
    done = cl.enqueue_copy(queue, x, staging, is_blocking=False)
done.wait()
""",
        """
staging = np.zeros(n, np.float32)
for number in range(n):
    staging[:] = number
    done = cl.enqueue_copy(queue, x, staging, is_blocking=True)
done.wait()
""",
    ),
    "a map without a name for its event": (
        """
view, _ = cl.enqueue_map_buffer(queue, x, cl.map_flags.READ, 0, (n,), np.float32, is_blocking=False)
print(view.sum())
view.base.release(queue)
""",
        """
view, map_done = cl.enqueue_map_buffer(queue, x, cl.map_flags.READ, 0, (n,), np.float32, is_blocking=False)
map_done.wait()
print(view.sum())
view.base.release(queue)
""",
    ),
    "a flush": (
        """
done = cl.enqueue_copy(queue, host, x, is_blocking=False)
queue.flush()  # now
print(host.sum())
done.wait()
""",
        """
done = cl.enqueue_copy(queue, host, x, is_blocking=False)
queue.finish()  # now
print(host.sum())
done.wait()
""",
    ),
    "a variable that holds one event or another": (
        """
last = prg.fill(queue, (n,), None, x)
for _ in range(n):
    last = prg.twice(queue, (n,), None, x, wait_for=[last])
prg.add(queue, (n,), None, x, y, z).wait()
""",
        """
last = prg.fill(queue, (n,), None, x)
for _ in range(n):
    last = prg.twice(queue, (n,), None, x, wait_for=[last])
prg.add(queue, (n,), None, x, y, z, wait_for=[last]).wait()
""",
    ),
    "an Array's events": (
        """
a = cl_array.to_device(queue, host) + 1
a.add_event(prg.twice(queue, (n,), None, a.data))
return a.get()
""",
        """
a = cl_array.to_device(queue, host) + 1
a.add_event(prg.twice(queue, (n,), None, a.data, wait_for=a.events))
return a.get()
""",
    ),
    "an event for an Array": (
        """
a = cl_array.to_device(queue, host)
done = prg.twice(queue, (n,), None, a.data, wait_for=a.events)  # in place
return a.get()
""",
        """
a = cl_array.to_device(queue, host)
done = prg.twice(queue, (n,), None, a.data, wait_for=a.events)  # in place
a.add_event(done)
return a.get()
""",
    ),
    "profiling": (
        """
timed = cl.CommandQueue(ctx)
event = prg.fill(timed, (n,), None, x)
event.wait()
print(event.profile.end)
""",
        """
timed = cl.CommandQueue(ctx, properties=cl.command_queue_properties.PROFILING_ENABLE)
event = prg.fill(timed, (n,), None, x)
event.wait()
print(event.profile.end)
""",
    ),
    "one event as a list": (
        """
event = prg.fill(queue, (n,), None, x)
prg.fill(queue, (n,), None, y, wait_for=event).wait()
""",
        """
event = prg.fill(queue, (n,), None, x)
prg.fill(queue, (n,), None, y, wait_for=[event]).wait()
""",
    ),
    "~ an out-of-order queue without events": (
        """
other = cl.CommandQueue(ctx, properties=OOO)
prg.fill(other, (n,), None, x)
prg.twice(other, (n,), None, x)
prg.twice(other, (n,), None, x)
other.finish()
""",
        """
other = cl.CommandQueue(ctx)
prg.fill(other, (n,), None, x)
prg.twice(other, (n,), None, x)
prg.twice(other, (n,), None, x)
other.finish()
""",
    ),
    "a comment that silences nothing": (
        """
prg.fill(queue, (n,), None, x).wait()  # kexec: ignore[OCL101] once upon a time
prg.twice(queue, (n,), None, x).wait()  # the rest  # kexec: ignore[OCL101, OCL102]
""",
        """
prg.fill(queue, (n,), None, x).wait()
prg.twice(queue, (n,), None, x).wait()  # the rest
""",
    ),
}


@pytest.mark.parametrize("title", CASES)
def test_fix(title: str, tmp_path: Path) -> None:
    before, after = (body(text) for text in CASES[title])
    unsafe = title.startswith("~")
    fixed, report = run(tmp_path / "case.py", before, unsafe)
    assert fixed == after
    assert [(f.location.row, f.code, f.message) for f in report.findings] == []
    assert run(tmp_path / "case.py", fixed, unsafe)[0] == fixed
    if "comment" not in title:
        assert comments("case.py", fixed) == comments("case.py", before)


LEFT = {
    "keywords that cannot be seen": """
prg.fill(queue, (n,), None, x)
options = dict(host)
prg.twice(queue, (n,), None, x, **options).wait()
""",
    "an event that is made on one path only": """
if n:
    prg.fill(queue, (n,), None, x)
prg.twice(queue, (n,), None, x).wait()
""",
    "an operator without a wait list": """
a = cl_array.to_device(queue, host)
b = a + 1
cl.enqueue_copy(queue, x, host, is_blocking=False)
prg.twice(queue, (n,), None, x)
""",
}


@pytest.mark.parametrize("title", LEFT)
def test_no_safe_fix_where_none_holds(title: str, tmp_path: Path) -> None:
    text = body(LEFT[title])
    fixed, report = run(tmp_path / "case.py", text)
    assert fixed == text
    assert all(finding.fix is None for finding in report.findings)


HELPERS = """
def launch(knl, queue, n, x, wait_for=None):
    if wait_for is None:
        wait_for = []
    return knl(queue, (n,), None, x, wait_for=wait_for)


class Pipeline:
    def __init__(self, ctx):
        self.queue = cl.CommandQueue(ctx, properties=OOO)
        self.prg = cl.Program(ctx, SRC).build()

    def fill(self, x, n):
        return self.prg.fill(self.queue, (n,), None, x)

    def run(self, ctx, n):
        x = cl.Buffer(ctx, RW, 4 * n)
        self.fill(x, n)
        launch(self.prg.twice, self.queue, n, x){0}.wait()
"""


def test_through_helpers_that_accept_a_wait_list(tmp_path: Path) -> None:
    before = HEAD + HELPERS.replace("{0}", "")
    after = before.replace("        self.fill(x", "        fill_done = self.fill(x").replace(
        "launch(self.prg.twice, self.queue, n, x)",
        "launch(self.prg.twice, self.queue, n, x, wait_for=[fill_done])",
    )
    fixed, report = run(tmp_path / "case.py", before)
    assert fixed == after
    assert not report.findings


def test_a_helper_that_keeps_its_event_to_itself(tmp_path: Path) -> None:
    text = HEAD + HELPERS.replace("{0}", "").replace("return self.prg.fill", "self.prg.fill")
    fixed, _ = run(tmp_path / "case.py", text)
    assert fixed == text


def test_a_helper_that_takes_no_wait_list(tmp_path: Path) -> None:
    text = HEAD + HELPERS.replace("{0}", "").replace(", x, wait_for=None", ", x").replace(
        "    if wait_for is None:\n        wait_for = []\n", ""
    ).replace("None, x, wait_for=wait_for", "None, x")
    fixed, _ = run(tmp_path / "case.py", text)
    assert fixed == text
