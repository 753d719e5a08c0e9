"""Order between the program's threads: what they hand over counts, the clock alone keeps quiet, a gate tells."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyopencl", reason="pip install 'kexec-lint[verify]'")

from recorded import HEAD, found, run

pytestmark = pytest.mark.usefixtures("on_pocl")

TWO = """
import concurrent.futures, os, queue, threading, time

def produce(buffer, give):
    a = cl.CommandQueue(ctx)
    program.fill(a, (64,), None, buffer).wait()
    give()

def consume(buffer, take):
    take()
    b = cl.CommandQueue(ctx)
    program.twice(b, (64,), None, buffer).wait()

def both(give, take):
    buffer = cl.Buffer(ctx, RW, 256)
    threads = [threading.Thread(target=consume, args=(buffer, take)),
               threading.Thread(target=produce, args=(buffer, give))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

HANDED_OVER = """
items, simple, flag = queue.Queue(), queue.SimpleQueue(), threading.Event()
both(lambda: items.put(1), items.get)
both(lambda: simple.put(1), simple.get)
both(flag.set, flag.wait)
semaphore, barrier = threading.Semaphore(0), threading.Barrier(2)
both(semaphore.release, semaphore.acquire)
both(barrier.wait, barrier.wait)
condition, ready = threading.Condition(), []
def tell():
    with condition:
        ready.append(1)
        condition.notify_all()
def hear():
    with condition:
        condition.wait_for(lambda: ready)
both(tell, hear)
lock, done = threading.Lock(), []
def leave():
    with lock:
        done.append(1)
def look():
    while True:
        with lock:
            if done:
                return
        time.sleep(0.001)
both(leave, look)
future = concurrent.futures.Future()
both(lambda: future.set_result(1), future.result)
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    buffer = cl.Buffer(ctx, RW, 256)
    pool.submit(produce, buffer, int).result()
    pool.submit(consume, buffer, int).result()
buffer = cl.Buffer(ctx, RW, 256)
thread = threading.Thread(target=produce, args=(buffer, int))
thread.start()
thread.join()
consume(buffer, int)
event = []
def enqueue(buffer, own):
    event.append(program.fill(own, (64,), None, buffer))
buffer, own = cl.Buffer(ctx, RW, 256), cl.CommandQueue(ctx)
thread = threading.Thread(target=enqueue, args=(buffer, own))
thread.start()
thread.join()
event[0].wait()  # enqueued there, waited for here
consume(buffer, int)
"""

UNSEEN = """
flags = []
def spin():
    while not flags:
        time.sleep(0.001)
both(lambda: flags.append(1), spin)
reader, writer = os.pipe()
both(lambda: os.write(writer, b"x"), lambda: os.read(reader, 1))
called = []
a, b = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
filled = program.fill(a, (64,), None, x)
filled.set_callback(cl.command_execution_status.COMPLETE, lambda status: called.append(1))
a.flush()
while not called:
    time.sleep(0.001)
program.twice(b, (64,), None, x).wait()
"""

LUCKY = "both(int, lambda: time.sleep(0.5))\n"

RACE = """
buffer = cl.Buffer(ctx, RW, 256)
a, b = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
def work():
    program.fill(a, (64,), None, buffer)
thread = threading.Thread(target=work)
thread.start()
thread.join()
program.twice(b, (64,), None, buffer)  # the thread has ended, its command has not
a.finish()
b.finish()
"""


def test_what_is_handed_over_orders(tmp_path: Path) -> None:
    assert found(tmp_path, TWO + HANDED_OVER, "--confidence", "possible") == []


def test_unseen_hand_over_is_silent(tmp_path: Path) -> None:
    assert found(tmp_path, TWO + UNSEEN) == []


def test_an_unseen_hand_over_stands_a_gate(tmp_path: Path) -> None:
    body = TWO + UNSEEN[: UNSEEN.index("reader, writer")]
    assert found(tmp_path, body, "--gate") == []


def test_luck_is_no_order(tmp_path: Path) -> None:
    consumer = "program.twice(b, (64,), None, buffer).wait()"
    assert found(tmp_path, TWO + LUCKY) == []
    assert found(tmp_path, TWO + LUCKY, "--confidence", "possible") == [("OCL101", consumer)]
    result = run(tmp_path, TWO + LUCKY, "--gate", "--deadline", "15")
    assert "confirmed: " in result.stderr
    assert "the later command was complete while the earlier was held" in result.stderr


def test_the_end_of_a_thread_is_not_that_of_its_commands(tmp_path: Path) -> None:
    body = TWO + RACE
    line = next(line for line in body.split("\n") if "its command has not" in line)
    assert found(tmp_path, body) == [("OCL101", line)]
    number = (HEAD + body).split("\n").index("    program.fill(a, (64,), None, buffer)") + 1
    assert f"kernel fill (line {number}) may still write it" in run(tmp_path, body).stderr


def test_locks_behave_as_before(tmp_path: Path) -> None:
    body = """
import logging, pickle, queue, threading
lock, again = threading.Lock(), threading.RLock()
assert lock.acquire() and lock.locked() and not lock.acquire(False) and not lock.acquire(timeout=0.01)
lock.release()
try:
    lock.release()
except RuntimeError as error:
    print(error)
with again, again:
    other = threading.Thread(target=lambda: print(again.acquire(False)))
    other.start()
    other.join()
simple = queue.SimpleQueue()
simple.put_nowait(1)
print(simple.get_nowait(), simple.empty(), simple.qsize())
try:
    simple.get(timeout=0.01)
except queue.Empty:
    print("empty")
condition = threading.Condition()
with condition:
    print(condition.wait(0.01))
try:
    pickle.dumps(lock)
except TypeError:
    print("cannot pickle")
class Own(threading.Thread):
    def run(self):
        raise ValueError("mine")
own = Own()
own.start()
own.join()
print(own.is_alive())
"""
    result = run(tmp_path, body)
    assert result.stdout.split("\n")[:7] == [
        "release unlocked lock", "False", "1 True 0", "empty", "False", "cannot pickle", "False"
    ]  # fmt: skip
    assert "ValueError: mine" in result.stderr
    assert "kexec_lint" not in result.stderr.split("verify run:")[0]
