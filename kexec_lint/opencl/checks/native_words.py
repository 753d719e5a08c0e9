"""The words of the checks, which speak of PyOpenCL, in the terms of C and C++."""

from __future__ import annotations

import re

_TERMS = (
    (r"put the event of (.*?) into wait_for of", r"put the event of \1 into the wait list of"),
    (r"through wait_for", "through their wait lists"),
    (r"wait_for=\[event\], wait_for=events", "a count and a pointer to events"),
    (r"wait_for=\[event\] if event is not None else None", "the count says how many there are"),
    (r"wait_for=(\w+)", r"\1 as the wait list"),
    (r"\bwait_for\b", "the wait list"),
    (r"make it blocking|is_blocking=True", "make it blocking"),
    (r"map with make it blocking", "map with CL_TRUE"),
    (r"use enqueue_barrier there", "use clEnqueueBarrierWithWaitList there"),
    (r"enqueue_release", "clEnqueueSVMFree"),
    (r"event\.wait\(\)", "clWaitForEvents"),
    (r"queue\.finish\(\)", "clFinish(queue)"),
    (r"queue\.flush\(\)", "clFlush(queue)"),
    (r"\b(\w+)\.flush\(\)", r"clFlush(\1)"),
    (r"\b(\w+)\.finish\(\)", r"clFinish(\1)"),
    (r"\bfinish\(\)", "clFinish"),
    (r"set_status\(cl\.command_execution_status\.COMPLETE\)", "clSetUserEventStatus(event, CL_COMPLETE)"),
    (r"cl\.command_execution_status\.COMPLETE", "CL_COMPLETE"),
    (r", in a `finally` block if something may raise in between", ""),
    (r"threading\.Event\.set\(\)", "a condition variable"),
    (r"mem_flags\.(\w+)", r"CL_MEM_\1"),
    (r"OUT_OF_ORDER_EXEC_MODE_ENABLE", "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE"),
    (r"properties=cl\.command_queue_properties\.PROFILING_ENABLE", "CL_QUEUE_PROFILING_ENABLE"),
    (r"enqueue_map_buffer, then release", "clEnqueueMapBuffer, then clEnqueueUnmapMemObject"),
    (r"read it into the array with enqueue_copy", "read it into the memory with clEnqueueReadBuffer"),
    (r"with COPY_HOST_PTR", "with CL_MEM_COPY_HOST_PTR"),
    (r"make a new cl\.Program", "make a new program"),
    (r"\bNone\b", "NULL"),
    (r"mapped array", "mapped memory"),
)
_COMPILED = tuple((re.compile(pattern), words) for pattern, words in _TERMS)


def spoken(words: str) -> str:
    """Return a message or help for host code in C or C++."""
    for pattern, replacement in _COMPILED:
        words = pattern.sub(replacement, words)
    return words.replace("CL_QUEUE_CL_QUEUE_", "CL_QUEUE_")
