"""Compares the issues of a kernel text with its `expect: CODE` comments."""

from __future__ import annotations

import re

from kexec_lint.opencl.checks.kernel_barriers import kernel_issues

HEAD = """__kernel void k(__global float *v, __global float *w, __global const int *idx, __local float *l,
    int n, int m)
{
    int g = get_global_id(0), l0 = get_local_id(0), grp = get_group_id(0), ls = get_local_size(0);
"""


def check(text: str) -> None:
    """Assert that exactly the marked lines have exactly the marked findings at default confidence."""
    wanted = [
        (row, code)
        for row, line in enumerate(text.split("\n"), 1)
        for marks in re.findall(r"expect: ([A-Z0-9, ]+)", line)
        for code in re.split(r"\s*,\s*", marks.strip())
    ]
    found = [
        (text.count("\n", 0, issue.span[0]) + 1, issue.code)
        for issue in kernel_issues(text)
        if issue.confidence.value != "possible"
    ]
    assert sorted(found) == sorted(wanted), text
