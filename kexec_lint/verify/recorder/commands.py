"""What each function of `pyopencl._cl` that enqueues a command reads and writes: a table for the wrappers.

Parameter names and order are those of `_cl.pyi` (PyOpenCL 2026.1); a name that a release lacks is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`params` in order; `reads` and `writes` name operands, `host` those that are host memory.

    `offsets`: operand → parameter with the first byte; `size`: parameter with the number of bytes. `blocking`: the
    parameter that makes the host wait and its default.
    """

    kind: str
    params: tuple[str, ...]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    offsets: tuple[tuple[str, str], ...] = ()
    size: str | None = None
    blocking: bool | None = None


def _row(kind: str, params: str, **more: object) -> Row:
    tuples = {k: tuple(v.split()) if isinstance(v, str) and k != "size" else v for k, v in more.items()}
    return Row(kind, tuple(params.split()), **tuples)  # type: ignore[arg-type]


_RECT = "queue mem hostbuf buffer_origin host_origin region buffer_pitches host_pitches wait_for is_blocking"

COMMANDS: dict[str, Row] = {
    "_enqueue_read_buffer": _row(
        "read", "queue mem hostbuf src_offset wait_for is_blocking",
        reads="mem", writes="hostbuf", host="hostbuf", offsets=(("mem", "src_offset"),), blocking=True,
    ),
    "_enqueue_write_buffer": _row(
        "write", "queue mem hostbuf dst_offset wait_for is_blocking",
        reads="hostbuf", writes="mem", host="hostbuf", offsets=(("mem", "dst_offset"),), blocking=True,
    ),
    "_enqueue_read_buffer_rect": _row(
        "read", _RECT,
        reads="mem", writes="hostbuf", host="hostbuf", blocking=True,
    ),
    "_enqueue_write_buffer_rect": _row(
        "write", _RECT,
        reads="hostbuf", writes="mem", host="hostbuf", blocking=True,
    ),
    "_enqueue_copy_buffer": _row(
        "copy", "queue src dst byte_count src_offset dst_offset wait_for",
        reads="src", writes="dst", offsets=(("src", "src_offset"), ("dst", "dst_offset")), size="byte_count",
    ),
    "_enqueue_copy_buffer_rect": _row(
        "copy", "queue src dst src_origin dst_origin region src_pitches dst_pitches wait_for",
        reads="src", writes="dst",
    ),
    "_enqueue_fill_buffer": _row(
        "fill", "queue mem pattern offset size wait_for", writes="mem", offsets=(("mem", "offset"),), size="size",
    ),
    "_enqueue_read_image": _row(
        "read", "queue mem origin region hostbuf row_pitch slice_pitch wait_for is_blocking",
        reads="mem", writes="hostbuf", host="hostbuf", blocking=True,
    ),
    "_enqueue_write_image": _row(
        "write", "queue mem origin region hostbuf row_pitch slice_pitch wait_for is_blocking",
        reads="hostbuf", writes="mem", host="hostbuf", blocking=True,
    ),
    "_enqueue_copy_image": _row(
        "copy", "queue src dest src_origin dest_origin region wait_for", reads="src", writes="dest"
    ),
    "_enqueue_copy_image_to_buffer": _row(
        "copy", "queue src dest origin region offset wait_for", reads="src", writes="dest"
    ),
    "_enqueue_copy_buffer_to_image": _row(
        "copy", "queue src dest offset origin region wait_for", reads="src", writes="dest"
    ),
    "enqueue_fill_image": _row("fill", "queue mem color origin region wait_for", writes="mem"),
    "_enqueue_svm_memfill": _row("fill", "queue dst pattern byte_count wait_for", writes="dst"),
    "_enqueue_svm_memcpy": _row(
        "memcpy", "queue is_blocking dst src wait_for byte_count", reads="src", writes="dst", blocking=True
    ),
    "enqueue_migrate_mem_objects": _row("migrate", "queue mem_objects flags wait_for"),
    "enqueue_acquire_gl_objects": _row("acquire", "queue mem_objects wait_for"),
    "enqueue_release_gl_objects": _row("release", "queue mem_objects wait_for"),
    "_enqueue_marker_with_wait_list": _row("marker", "queue wait_for"),
    "_enqueue_marker": _row("marker", "queue"),
    "_enqueue_barrier_with_wait_list": _row("barrier", "queue wait_for"),
    "_enqueue_barrier": _row("barrier", "queue"),
    "_enqueue_wait_for_events": _row("barrier", "queue wait_for"),
}  # fmt: skip
"""Function of `_cl` → row. Kernels and maps have wrappers of their own."""

_KERNEL = "queue kernel global_work_size local_work_size global_offset wait_for g_times_l allow_empty_ndrange"
_MAP_BUFFER = "queue buf flags offset shape dtype order strides wait_for is_blocking"
_MAP_IMAGE = "queue img flags origin region shape dtype order strides wait_for is_blocking"

KERNEL = tuple(_KERNEL.split())
MAP = {"enqueue_map_buffer": tuple(_MAP_BUFFER.split()), "enqueue_map_image": tuple(_MAP_IMAGE.split())}
