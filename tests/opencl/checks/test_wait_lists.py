"""Wait lists that a function takes as one event or several: what it asks of the value decides what is in the list."""

from __future__ import annotations

import pytest
from opencl_cases import NoProject

from kexec_lint.opencl.report import scan_python
from kexec_lint.source import Options, Source

TESTS = [
    "not isinstance(wait_for, list)",
    "not isinstance(wait_for, (list, tuple))",
    "not isinstance(wait_for, collections.abc.Iterable)",
    "not isinstance(wait_for, Sequence)",
    "isinstance(wait_for, cl.Event)",
    "type(wait_for) is not list",
    "type(wait_for) != list",
    "type(wait_for) not in (list, tuple)",
    "type(wait_for) not in [list, tuple]",
    "not hasattr(wait_for, '__iter__')",
    "not hasattr(wait_for, '__len__')",
]
HEAD = "import collections.abc\nfrom collections.abc import Sequence\nimport pyopencl as cl\n"


def codes(text: str, *wanted: str) -> list[str]:
    source = Source("a.py", text, text.encode())
    return sorted(f.code for f in scan_python(source, NoProject(), Options(frozenset(wanted), "possible")).findings)


@pytest.mark.parametrize("test", [*TESTS, "needs_list(wait_for)", "isinstance(wait_for, Deferred)"])
@pytest.mark.parametrize("default", ["if wait_for is None:\n        wait_for = []", "wait_for = wait_for or []"])
def test_a_value_that_may_be_a_list_is_put_into_one_where_it_is_none(test, default):
    text = f"""{HEAD}
def launch(queue, kernel, size, wait_for=None):
    {default}
    if {test}:
        wait_for = [wait_for]
    return kernel(queue, size, None, wait_for=wait_for)
"""
    assert codes(text, "OCL306") == []


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("given", ["first", "[first]", "[first, first]"])
def test_one_event_becomes_a_list_and_a_list_stays(test, given):
    text = f"""{HEAD}
def run(queue, kernel, size):
    first = kernel(queue, size, None)
    launch(queue, kernel, size, {given})
def launch(queue, kernel, size, wait_for):
    if {test}:
        wait_for = [wait_for]
    return kernel(queue, size, None, wait_for=wait_for)
"""
    assert codes(text, "OCL306") == []


@pytest.mark.parametrize("test", ["wait_for is not None", "isinstance(wait_for, list)", "type(wait_for) is list"])
def test_a_list_that_is_put_into_a_list_is_said(test):
    text = f"""{HEAD}
def run(queue, kernel, size):
    first = kernel(queue, size, None)
    launch(queue, kernel, size, [first])
def launch(queue, kernel, size, wait_for):
    if {test}:
        wait_for = [wait_for]
    return kernel(queue, size, None, wait_for=wait_for)
"""
    assert codes(text, "OCL306") == ["OCL306"]


@pytest.mark.parametrize("test", ["isinstance(mode, str)", "type(mode) is str", "hasattr(mode, 'shape')"])
def test_the_same_question_has_the_same_answer(test):
    text = f"""{HEAD}
def launch(context, kernel, size, buf, mode):
    first, second = cl.CommandQueue(context), cl.CommandQueue(context)
    if {test}:
        queue, other = first, first
    else:
        queue, other = second, second
    kernel(queue, size, None, buf)
    if {test}:
        kernel(first, size, None, buf)
    else:
        kernel(second, size, None, buf)
"""
    assert codes(text, "OCL101") == []
