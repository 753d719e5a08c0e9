"""What Boost.Compute's `command_queue`, `event` and `wait_list` mean, as tables of methods.

Facts: boostorg/compute, `include/boost/compute/command_queue.hpp`. A call without `_async` blocks where the C call can
block; every enqueue returns its event and takes a `wait_list` last.
"""

from __future__ import annotations

from kexec_lint.opencl.api.model import CallModel, row


def _transfer(kind: str, head: str, reads: str, writes: str, blocking: bool) -> CallModel:
    made = row("command", kind, f"{head} events", reads=reads, writes=writes, wait="events", returns="value")
    return CallModel(
        made.does,
        made.kind,
        made.params,
        made.reads,
        made.writes,
        wait="events",
        blocking="blocking" if blocking else None,
        blocking_default=blocking,
        returns="value",
    )


_BUFFER = "mem offset size ptr"
_RECT = "mem buffer_origin host_origin region _1 _2 _3 _4 ptr"
_IMAGE = "mem origin region ptr _1 _2"

QUEUE: dict[str, CallModel] = {
    "enqueue_read_buffer": _transfer("read", _BUFFER, "mem", "ptr", True),
    "enqueue_read_buffer_async": _transfer("read", _BUFFER, "mem", "ptr", False),
    "enqueue_write_buffer": _transfer("write", _BUFFER, "ptr", "mem", True),
    "enqueue_write_buffer_async": _transfer("write", _BUFFER, "ptr", "mem", False),
    "enqueue_read_buffer_rect": _transfer("read", _RECT, "mem", "ptr", True),
    "enqueue_read_buffer_rect_async": _transfer("read", _RECT, "mem", "ptr", False),
    "enqueue_write_buffer_rect": _transfer("write", _RECT, "ptr", "mem", True),
    "enqueue_write_buffer_rect_async": _transfer("write", _RECT, "ptr", "mem", False),
    "enqueue_read_image": _transfer("read", _IMAGE, "mem", "ptr", True),
    "enqueue_read_image_async": _transfer("read", _IMAGE, "mem", "ptr", False),
    "enqueue_write_image": _transfer("write", _IMAGE, "ptr", "mem", True),
    "enqueue_write_image_async": _transfer("write", _IMAGE, "ptr", "mem", False),
    "enqueue_copy_buffer": _transfer("copy", "src dst src_offset dst_offset size", "src", "dst", False),
    "enqueue_copy_buffer_rect": _transfer("copy", "src dst src_origin dst_origin region", "src", "dst", False),
    "enqueue_copy_image": _transfer("copy", "src dst src_origin dst_origin region", "src", "dst", False),
    "enqueue_copy_image_to_buffer": _transfer("copy", "src dst src_origin region dst_offset", "src", "dst", False),
    "enqueue_copy_buffer_to_image": _transfer("copy", "src dst src_offset dst_origin region", "src", "dst", False),
    "enqueue_fill_buffer": _transfer("fill", "mem pattern _1 offset size", "", "mem", False),
    "enqueue_fill_image": _transfer("fill", "mem pattern origin region", "", "mem", False),
    "enqueue_migrate_memory_objects": _transfer("migrate", "count mems flags", "mems", "", False),
    "enqueue_svm_memcpy": _transfer("memcpy", "dst src size", "src", "dst", True),
    "enqueue_svm_memcpy_async": _transfer("memcpy", "dst src size", "src", "dst", False),
    "enqueue_svm_fill": _transfer("fill", "dst pattern _1 size", "", "dst", False),
    "enqueue_svm_unmap": _transfer("unmap", "svm", "", "svm", False),
    "enqueue_unmap_buffer": row("unmap", "unmap", "mem ptr events", wait="events", returns="value"),
    "enqueue_unmap_image": row("unmap", "unmap", "mem ptr events", wait="events", returns="value"),
    "enqueue_unmap_mem_object": row("unmap", "unmap", "mem ptr events", wait="events", returns="value"),
    "enqueue_nd_range_kernel": row(
        "launch", "kernel", "kernel dimensions global_offset global local events", wait="events", returns="value"
    ),
    "enqueue_1d_range_kernel": row(
        "launch", "kernel", "kernel global_offset global local events", wait="events", returns="value"
    ),
    "enqueue_task": row("launch", "kernel", "kernel events", wait="events", returns="value"),
    "enqueue_marker": row("command", "marker", "events", wait="events", returns="value"),
    "enqueue_barrier": row("command", "barrier", "events", wait="events", returns="value"),
    "finish": row("finish"),
    "flush": row("flush"),
}
"""Methods of `boost::compute::command_queue`. Maps are left out: they return pointers in many shapes."""

EVENT: dict[str, CallModel] = {
    "wait": row("wait_self"),
    "status": row("poll_self"),
    "set_callback": row("set_callback", params="callback"),
}

KERNEL: dict[str, CallModel] = {"set_arg": row("set_arg", params="index value"), "set_args": row("set_args")}

CLASSES: dict[str, CallModel] = {
    "command_queue": row("queue", params="context device properties"),
    "buffer": row("buffer", params="context size flags hostbuf"),
    "kernel": row("kernel", params="program name"),
    "user_event": row("user_event", params="context"),
    "wait_list": row("event_list"),
}

TRIGGERS = frozenset(QUEUE)
