"""What matters to the enqueue graph, by the words of a text alone."""

from __future__ import annotations

import pytest

from kexec_lint import opencl
from kexec_lint.opencl.frontend.python import lower
from kexec_lint.opencl.interpreter.relevance import Relevance, concerns
from kexec_lint.source import Source

PROGRAM = """
import pyopencl as cl
stream = cl.CommandQueue(cl.create_some_context())

def direct(buffer, host):
    cl.enqueue_copy(stream, buffer, host)

def over(buffer, host):
    return direct(buffer, host)

def by_name():
    stream.finish()

def in_part_of_a_word(streams, dequeued):
    return streams + dequeued

class Sum:
    def run(self, out):
        return over(out, out)

    def plain(self):
        return 1
"""


def functions(program: str) -> dict[str, bool]:
    module = lower(Source("a.py", program, program.encode()))
    relevance = Relevance(program, module.body)
    found = [s for s in module.body if hasattr(s, "params")]
    found += [s for c in module.body if hasattr(c, "bases") for s in c.body]
    return {function.name: relevance.matters(function) for function in found}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_names_the_api_or_calls_what_does(end):
    told = functions(PROGRAM.replace("\n", end))
    assert told == {
        "direct": True,
        "over": True,
        "by_name": True,
        "in_part_of_a_word": False,
        "run": True,
        "plain": False,
    }


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("import pyopencl as cl\nprint(cl.VERSION_TEXT)\n", False),
        ("import pyopencl as cl\ndef step(kernel, q):\n    kernel(q, (1,), None)\n", True),
        ("import pyopencl as cl\nwork = cl.CommandQueue(ctx)\n", True),
        ("sequel = dequeued\n", False),
        ("def run(dev):\n    dev.cmd_queue.finish()\n", True),
        ("result = task(wait_for=[event])\n", True),
        ("", False),
    ],
)
def test_a_module_that_names_neither_the_api_nor_a_queue_does_not_matter(text, wanted):
    assert concerns(text) is wanted


@pytest.mark.parametrize("suffix", sorted(opencl.SUFFIXES))
def test_every_needle_holds_a_mention(suffix):
    mentions = opencl.MENTIONS.get(suffix, frozenset({b""}))
    needles = opencl.needles(frozenset({"OCL101"}), suffix) - {b"wait_for=", b"get_group_id"}
    assert [needle for needle in needles if not any(mention in needle for mention in mentions)] == []
