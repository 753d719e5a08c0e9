"""The tables of C and C++ together: which names make code worth reading, what a type is for."""

from __future__ import annotations

import re
from functools import lru_cache

from kexec_lint.opencl.api import boost_compute, c, hpp

TRIGGERS = c.TRIGGERS | hpp.TRIGGERS | boost_compute.TRIGGERS
"""Names whose mention makes a function worth analysing."""

METHODS = {
    "queue": {**hpp.QUEUE, **boost_compute.QUEUE},
    "event": {**hpp.EVENT, **boost_compute.EVENT},
    "kernel": {**hpp.KERNEL, **boost_compute.KERNEL},
}
"""Kind of receiver → method → row."""

NEEDLES = frozenset(
    {b"clEnqueue", b"enqueue", b"CommandQueue", b"command_queue", b"clWaitForEvents", b"clSetUserEventStatus"}
    | {b"clSVM", b"clReleaseEvent", b"MemFreeINTEL"}
)
"""Byte strings of which a file that concerns OpenCL holds at least one."""

HOST_CODE = re.compile(
    r"clEnqueue|\benqueue[A-Z_]|ommandQueue|command_queue|clWaitForEvents|clSetUserEventStatus|clReleaseEvent|clSVMFree"
    r"|MemFreeINTEL|EnqueueArgs|cl::copy"
)
"""What a file holds that is worth analysing; others may hold kernel sources only."""

_HOST_WORDS = ("nqueue", "ommandQueue", "command_queue", "Event", "clSVMFree", "MemFreeINTEL", "cl::copy")
"""Each match of HOST_CODE holds one of them."""


def holds_host_code(text: str) -> bool:
    """Return whether a text holds what makes a file worth analysing."""
    return any(word in text for word in _HOST_WORDS) and HOST_CODE.search(text) is not None


_KINDS = (
    (
        "event",
        re.compile(r"(?:^|::)(?:cl_event|cl::Event|Event|cl::UserEvent|compute::event|compute::user_event)$"),
    ),
    ("queue", re.compile(r"(?:^|::)(?:cl_command_queue|CommandQueue|compute::command_queue)$")),
    (
        "memory",
        re.compile(r"(?:^|::)(?:cl_mem|cl::(?:Buffer|Image\w*|Memory|BufferGL|Pipe)|compute::(?:buffer|image\w*))$"),
    ),
    ("kernel", re.compile(r"(?:^|::)(?:cl_kernel|cl::Kernel|compute::kernel)$")),
    (
        "handle",
        re.compile(
            r"^(?:cl_(?:context|program|device_id|platform_id|sampler)|cl::(?:Context|Program|Device|Platform|Sampler))$"
        ),
    ),
)

SCALARS = re.compile(
    r"^(?:unsigned|signed|long|short|int|char|float|double|bool|void|half|size_t|ssize_t|std::size_t|ptrdiff_t|"
    r"(?:std::)?u?int(?:8|16|32|64|ptr|max)_t|(?:std::)?byte|uchar|ushort|uint|ulong|u8|u16|u32|u64|i32|i64|real|"
    r"cl_(?:u?(?:char|short|int|long)|half|float|double|bool)\d*|[A-Z]|DATA_TYPE|real_t|"
    r"(?:unsigned|signed|long|short)(?: (?:int|long|char|short|double))+)$"
)
"""Names of number types, vectors of OpenCL included."""


@lru_cache(maxsize=4096)
def kind_of(type_: str) -> str | None:
    """Return what a type without its `*`, `&`, `[]` is for: "event", "queue", "memory", "kernel", "scalar"…"""
    plain = type_.removeprefix("static ").rstrip("*&[] ")
    for kind, pattern in _KINDS:
        if pattern.search(plain):
            return kind
    return "scalar" if SCALARS.match(plain) else None


@lru_cache(maxsize=4096)
def element_of(type_: str) -> str | None:
    """Return the element type of a vector or array type, None for others."""
    plain = type_.removeprefix("static ").rstrip("&")
    if plain.endswith("[]"):
        return plain[:-2]
    match = re.match(r"^(?:std::|cl::|boost::|thrust::)?(?:vector|array|deque|list)<(.*)>$", plain)
    if match is None:
        return None
    depth = 0
    for place, character in enumerate(match[1]):
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and not depth:
            return match[1][:place]
    return match[1]
