"""What each call of PyOpenCL means, as tables.

Facts: PyOpenCL at 26c8ab98 (2026.1): `pyopencl/__init__.py`, `src/wrap_cl.hpp`, `doc/runtime_*.rst`. A transfer
between host and device blocks by default and returns a NannyEvent; everything else is asynchronous.
"""

from __future__ import annotations

from kexec_lint.opencl.api.model import CallModel, row

FUNCTIONS: dict[str, CallModel] = {
    # commands
    "enqueue_copy": row("copy", "copy", "queue dest src is_blocking=True wait_for", returns="nanny"),
    "enqueue_read_buffer": row(
        "command",
        "read",
        "queue mem hostbuf device_offset wait_for is_blocking=True",
        reads="mem",
        writes="hostbuf",
        returns="nanny",
    ),
    "enqueue_write_buffer": row(
        "command",
        "write",
        "queue mem hostbuf device_offset wait_for is_blocking=True",
        reads="hostbuf",
        writes="mem",
        returns="nanny",
    ),
    "enqueue_read_buffer_rect": row(
        "command",
        "read",
        "queue mem hostbuf buffer_origin host_origin region wait_for is_blocking=True",
        reads="mem",
        writes="hostbuf",
        returns="nanny",
    ),
    "enqueue_write_buffer_rect": row(
        "command",
        "write",
        "queue mem hostbuf buffer_origin host_origin region wait_for is_blocking=True",
        reads="hostbuf",
        writes="mem",
        returns="nanny",
    ),
    "enqueue_read_image": row(
        "command",
        "read",
        "queue mem origin region hostbuf row_pitch slice_pitch wait_for is_blocking=True",
        reads="mem",
        writes="hostbuf",
        returns="nanny",
    ),
    "enqueue_write_image": row(
        "command",
        "write",
        "queue mem origin region hostbuf row_pitch slice_pitch wait_for is_blocking=True",
        reads="hostbuf",
        writes="mem",
        returns="nanny",
    ),
    "enqueue_copy_buffer": row(
        "command", "copy", "queue src dst byte_count src_offset dst_offset wait_for", reads="src", writes="dst"
    ),
    "enqueue_copy_buffer_rect": row(
        "command", "copy", "queue src dst src_origin dst_origin region wait_for", reads="src", writes="dst"
    ),
    "enqueue_copy_image": row(
        "command", "copy", "queue src dest src_origin dest_origin region wait_for", reads="src", writes="dest"
    ),
    "enqueue_copy_image_to_buffer": row(
        "command", "copy", "queue src dest origin region offset wait_for", reads="src", writes="dest"
    ),
    "enqueue_copy_buffer_to_image": row(
        "command", "copy", "queue src dest offset origin region wait_for", reads="src", writes="dest"
    ),
    "enqueue_fill_buffer": row("command", "fill", "queue mem pattern offset size wait_for", writes="mem"),
    "enqueue_fill": row("command", "fill", "queue dest pattern size offset wait_for", writes="dest"),
    "enqueue_fill_image": row("command", "fill", "queue mem color origin region wait_for", writes="mem"),
    "enqueue_svm_memfill": row("command", "fill", "queue dest pattern byte_count wait_for", writes="dest"),
    "enqueue_svm_migrate_mem": row("command", "migrate", "queue svms flags wait_for", reads="svms"),
    "enqueue_map_buffer": row(
        "map", "map", "queue buf flags offset shape dtype order strides wait_for is_blocking=True", returns="map"
    ),
    "enqueue_map_image": row(
        "map",
        "map",
        "queue buf flags origin region shape dtype order strides wait_for is_blocking=True",
        returns="map",
    ),
    "enqueue_nd_range_kernel": row(
        "launch",
        "kernel",
        "queue kernel global_work_size local_work_size global_work_offset wait_for g_times_l allow_empty_ndrange",
    ),
    "enqueue_task": row("launch", "kernel", "queue kernel wait_for"),
    "enqueue_migrate_mem_objects": row("command", "migrate", "queue mem_objects flags wait_for", reads="mem_objects"),
    "enqueue_acquire_gl_objects": row("command", "acquire", "queue mem_objects wait_for", writes="mem_objects"),
    "enqueue_release_gl_objects": row("command", "release", "queue mem_objects wait_for", writes="mem_objects"),
    "enqueue_marker": row("command", "marker", "queue wait_for"),
    "enqueue_marker_with_wait_list": row("command", "marker", "queue wait_for"),
    "enqueue_barrier": row("command", "barrier", "queue wait_for"),
    "enqueue_barrier_with_wait_list": row("command", "barrier", "queue wait_for"),
    "enqueue_wait_for_events": row("command", "barrier", "queue wait_for"),
    "wait_for_events": row("wait", params="wait_for"),
    # objects
    "create_some_context": row("context"),
    "Context": row("context"),
    "CommandQueue": row("queue", params="context device properties"),
    "Program": row("program", params="context src binaries"),
    "Kernel": row("kernel", params="program name"),
    "Buffer": row("buffer", params="context flags size hostbuf"),
    "Image": row("image", params="context flags format shape pitches hostbuf is_array buffer"),
    "image_from_array": row("image_from_array", params="ctx ary num_channels mode norm_int"),
    "create_image": row("image", params="context flags format shape pitches hostbuf is_array buffer"),
    "GLBuffer": row("buffer", params="context flags bufobj"),
    "GLTexture": row("buffer", params="context flags texture_target"),
    "UserEvent": row("user_event", params="context"),
    "LocalMemory": row("local", params="size"),
    "Sampler": row("sampler"),
    "SVM": row("svm", params="mem"),
    "SVMAllocation": row("svm_allocation", params="ctx size alignment flags queue"),
    "svm_empty": row("svm_array", params="ctx flags shape dtype order alignment queue"),
    "svm_empty_like": row("svm_array", params="ctx flags ary alignment"),
    "csvm_empty": row("svm_array", params="ctx shape dtype order alignment queue"),
    "csvm_empty_like": row("svm_array", params="ctx ary alignment"),
    "fsvm_empty": row("svm_array_fine", params="ctx shape dtype order alignment queue"),
    "fsvm_empty_like": row("svm_array_fine", params="ctx ary alignment"),
    # arrays
    "array.to_device": row("array", params="queue ary allocator async_"),
    "array.empty": row("array", params="queue shape dtype order allocator data"),
    "array.zeros": row("array", params="queue shape dtype order allocator", reads="fill"),
    "array.ones": row("array", params="queue shape dtype order allocator", reads="fill"),
    "array.full": row("array", params="queue shape fill_value dtype order allocator", reads="fill"),
    "array.arange": row("array", params="queue", reads="fill"),
    "array.Array": row("array", params="cq shape dtype order allocator data"),
    "array.empty_like": row("array_like", params="ary queue allocator"),
    "array.zeros_like": row("array_like", params="ary", reads="fill"),
    "array.ones_like": row("array_like", params="ary", reads="fill"),
    "clrandom.rand": row("array", params="queue shape dtype", reads="fill"),
    # kernels made by PyOpenCL, which keep the events of their Array arguments themselves
    "elementwise.ElementwiseKernel": row("generated", params="context arguments operation name preamble options"),
    "reduction.ReductionKernel": row(
        "generated",
        params="ctx dtype_out neutral reduce_expr map_expr arguments name options preamble",
        returns="array",
    ),
    "scan.GenericScanKernel": row("generated", params="ctx dtype arguments"),
    "scan.InclusiveScanKernel": row("generated", params="ctx dtype scan_expr"),
    "scan.ExclusiveScanKernel": row("generated", params="ctx dtype scan_expr neutral"),
    "elementwise.ElementwiseTemplate": row("generated", params="arguments operation name preamble"),
    "scan.ScanTemplate": row("generated", params="arguments"),
    **{
        f"reduction.get_{name}_kernel": row("generated", reads="every", returns="array")
        for name in ("any", "all", "sum", "dot", "subset_dot", "minmax", "subset_minmax")
    },
    "tools.VectorArg": row("declaration", reads="every"),
    "tools.ScalarArg": row("declaration"),
    "algorithm.RadixSort": row("generated", params="context arguments", returns="none"),
    "algorithm.ListOfListsBuilder": row("generated", params="context list_names_and_dtypes", returns="none"),
    # pools
    "tools.MemoryPool": row("pool", params="allocator"),
    "tools.SVMPool": row("pool", params="allocator"),
    "tools.ImmediateAllocator": row("allocator", params="queue mem_flags"),
    "tools.DeferredAllocator": row("allocator", params="context mem_flags"),
    "tools.SVMAllocator": row("allocator", params="context alignment flags queue"),
}
"""Name below `pyopencl` → row."""

METHODS: dict[str, dict[str, CallModel]] = {
    "queue": {
        "finish": row("finish"),
        "flush": row("flush"),
    },
    "event": {
        "wait": row("wait_self"),
        "set_status": row("set_status", params="status"),
        "set_callback": row("set_callback", params="type callback"),
        "get_profiling_info": row("profile", params="param"),
        "get_info": row("poll", params="param"),
    },
    "memory": {
        "get_sub_region": row("sub_buffer", params="origin size flags"),
        "release": row("release_memory"),
        "map_to_host": row("map_method", params="queue flags is_blocking=True wait_for"),
        "enqueue_release": row("svm_release", params="queue wait_for"),
        "map": row("svm_map", "map", "queue flags is_blocking=True wait_for"),
        "map_ro": row("svm_map", "map", "queue is_blocking=True wait_for"),
        "map_rw": row("svm_map", "map", "queue is_blocking=True wait_for"),
        "as_buffer": row("alias"),
        "bind_to_queue": row("bind_queue", params="queue"),
        "unbind_from_queue": row("bind_queue"),
    },
    "map": {"release": row("unmap", "unmap", "queue wait_for")},
    "program": {"build": row("build", params="options")},
    "kernel": {
        "set_args": row("set_args"),
        "set_arg": row("set_arg", params="index value"),
        "set_scalar_arg_dtypes": row("set_dtypes", params="dtypes"),
        "set_arg_types": row("set_dtypes", params="dtypes"),
    },
    "pool": {
        "allocate": row("allocate", params="size"),
        "free_held": row("nothing"),
        "stop_holding": row("nothing"),
    },
    "allocator": {},
    "array": {
        "get": row("array_get", params="queue ary async_"),
        "get_async": row("array_get_async", params="queue ary"),
        "set": row("array_set", params="ary queue async_"),
        "copy": row("array_copy", params="queue"),
        "finish": row("array_finish"),
        "add_event": row("add_event", params="event"),
        "with_queue": row("array_view"),
        "fill": row("array_write", "fill", "value queue wait_for"),
        "map_to_host": row("array_map", params="queue flags is_blocking=True wait_for"),
        "setitem": row("array_write", "assignment", "subscript value queue wait_for"),
        "reshape": row("array_view"),
        "ravel": row("array_view"),
        "view": row("array_view"),
        "squeeze": row("array_view"),
        "transpose": row("array_view"),
    },
}
"""Kind of receiver → method → row."""

ARRAY_STORAGE = frozenset({"data", "base_data"})
"""Attributes of an Array that hand out its memory object without its events."""

OUT_OF_ORDER = "OUT_OF_ORDER_EXEC_MODE_ENABLE"
PROFILING = "PROFILING_ENABLE"
ON_DEVICE = "ON_DEVICE"

SYNC_NAMES = frozenset({"finish", "wait", "synchronize", "sync", "wait_for_events", "block_until_ready", "join"})
"""Method names that, on an object that cannot be resolved, may wait for anything."""

_ISSUING = ("command", "copy", "launch", "map", "queue", "wait", "user_event", "svm_allocation", "pool", "generated")

TRIGGERS = frozenset(
    {name.rpartition(".")[2] for name, model in FUNCTIONS.items() if model.does in _ISSUING}
    | {"set_args", "add_event", "get_async", "map_to_host", "set_status", "set_callback", "wait_for"}
)
"""Names whose mention makes a statement or function worth lowering."""


KERNEL_NEEDLES = frozenset({b"get_global_id", b"get_local_id", b"get_group_id"})
"""What every kernel holds that a rule can speak of: without work-items there is no order to get wrong."""

NEEDLES = (
    KERNEL_NEEDLES
    | frozenset({b"pyopencl", b"wait_for="})
    | frozenset(
        name.rpartition(".")[2].encode()
        for name, model in FUNCTIONS.items()
        if model.does in ("command", "copy", "launch", "map", "queue")
    )
)
"""Byte strings of which a file that concerns OpenCL holds at least one."""
