"""What the classes of `opencl.hpp` (and `cl.hpp`, `cl2.hpp`) mean, as tables of methods.

Facts: KhronosGroup/OpenCL-CLHPP at 79f2100. The wait list is a pointer to a vector of events, the event a pointer
that is written. `cl::copy` maps, copies, unmaps and waits for the unmap; it takes no wait list.
"""

from __future__ import annotations

from kexec_lint.opencl.api.model import CallModel, row

_TAIL = "events event"


def _command(kind: str, head: str, reads: str = "", writes: str = "", tail: str = _TAIL) -> CallModel:
    return row("command", kind, f"{head} {tail}", reads=reads, writes=writes, wait="events")


QUEUE: dict[str, CallModel] = {
    "enqueueReadBuffer": _command("read", "mem blocking offset size ptr", "mem", "ptr"),
    "enqueueWriteBuffer": _command("write", "mem blocking offset size ptr", "ptr", "mem"),
    "enqueueReadBufferRect": _command(
        "read", "mem blocking buffer_origin host_origin region _1 _2 _3 _4 ptr", "mem", "ptr"
    ),
    "enqueueWriteBufferRect": _command(
        "write", "mem blocking buffer_origin host_origin region _1 _2 _3 _4 ptr", "ptr", "mem"
    ),
    "enqueueReadImage": _command("read", "mem blocking origin region _1 _2 ptr", "mem", "ptr"),
    "enqueueWriteImage": _command("write", "mem blocking origin region _1 _2 ptr", "ptr", "mem"),
    "enqueueCopyBuffer": _command("copy", "src dst src_offset dst_offset size", "src", "dst"),
    "enqueueCopyBufferRect": _command("copy", "src dst src_origin dst_origin region _1 _2 _3 _4", "src", "dst"),
    "enqueueCopyImage": _command("copy", "src dst src_origin dst_origin region", "src", "dst"),
    "enqueueCopyImageToBuffer": _command("copy", "src dst src_origin region dst_offset", "src", "dst"),
    "enqueueCopyBufferToImage": _command("copy", "src dst src_offset dst_origin region", "src", "dst"),
    "enqueueFillBuffer": _command("fill", "mem pattern offset size", "", "mem"),
    "enqueueFillImage": _command("fill", "mem pattern origin region", "", "mem"),
    "enqueueMigrateMemObjects": _command("migrate", "mems flags", "mems"),
    "enqueueMemcpySVM": _command("memcpy", "dst src blocking size", "src", "dst"),
    "enqueueMemFillSVM": _command("fill", "dst pattern size", "", "dst"),
    "enqueueMigrateSVM": _command("migrate", "mems sizes flags", "mems"),
    "enqueueMapBuffer": row("map", "map", f"mem blocking flags offset size {_TAIL} err", wait="events", returns="map"),
    "enqueueMapImage": row(
        "map", "map", f"mem blocking flags origin region _1 _2 {_TAIL} err", wait="events", returns="map"
    ),
    "enqueueMapSVM": row("svm_map", "map", f"svm blocking flags size {_TAIL}", wait="events"),
    "enqueueUnmapMemObject": row("unmap", "unmap", f"mem ptr {_TAIL}", wait="events"),
    "enqueueUnmapSVM": _command("unmap", "svm", "", "svm"),
    "enqueueNDRangeKernel": row("launch", "kernel", f"kernel global_offset global local {_TAIL}", wait="events"),
    "enqueueTask": row("launch", "kernel", f"kernel {_TAIL}", wait="events"),
    "enqueueNativeKernel": _command("native", "function arguments mems _1", "", "mems"),
    "enqueueMarker": row("command", "marker", "event", wait="events"),
    "enqueueMarkerWithWaitList": row("command", "marker", _TAIL, wait="events"),
    "enqueueBarrier": row("command", "barrier", "", wait="events"),
    "enqueueBarrierWithWaitList": row("command", "barrier", _TAIL, wait="events"),
    "enqueueWaitForEvents": row("command", "barrier", "events", wait="events"),
    "enqueueAcquireGLObjects": _command("acquire", "mems", "", "mems"),
    "enqueueReleaseGLObjects": _command("release", "mems", "", "mems"),
    "enqueueSignalSemaphores": row("command", "signal", f"semaphores payload {_TAIL}", wait="events"),
    "enqueueWaitSemaphores": row("command", "await", f"semaphores payload {_TAIL}", wait="events"),
    "finish": row("finish"),
    "flush": row("flush"),
    "getInfo": row("query"),
}
"""Methods of `cl::CommandQueue`."""

EVENT: dict[str, CallModel] = {
    "wait": row("wait_self"),
    "setStatus": row("set_status", params="status"),
    "setCallback": row("set_callback", params="type callback data"),
    "getProfilingInfo": row("profile", params="name value"),
    "getInfo": row("event_info", params="name value"),
}

KERNEL: dict[str, CallModel] = {"setArg": row("set_arg", params="index value")}

CLASSES: dict[str, CallModel] = {
    "CommandQueue": row("queue", params="context device properties err"),
    "DeviceCommandQueue": row("device_queue", params="context device properties err"),
    "Context": row("context"),
    "Program": row("program", params="context strings build err"),
    "Kernel": row("kernel", params="program name err"),
    "Buffer": row("buffer", params="context flags size hostbuf err"),
    "Image1D": row("image", params="context flags format width hostbuf err"),
    "Image2D": row("image", params="context flags format width height pitch hostbuf err"),
    "Image3D": row("image", params="context flags format width height depth pitch slice hostbuf err"),
    "Image2DArray": row("image", params="context flags format count width height pitch slice hostbuf err"),
    "BufferGL": row("shared", params="context flags object err"),
    "ImageGL": row("shared", params="context flags target level texture err"),
    "Pipe": row("buffer", params="context size count err"),
    "Sampler": row("sampler"),
    "UserEvent": row("user_event", params="context err"),
    "KernelFunctor": row("functor", params="kernel name err"),
    "make_kernel": row("functor", params="kernel name err"),
    "EnqueueArgs": row("enqueue_args"),
    "NDRange": row("range"),
    "Local": row("local", params="size"),
}
"""Classes of the namespace `cl`: what constructing one does."""

FREE: dict[str, CallModel] = {
    "copy": row("transfer", params="queue begin end buffer"),
    "finish": row("finish_default"),
    "flush": row("nothing"),
    "WaitForEvents": row("wait", params="events", wait="events"),
    "enqueueReadBuffer": QUEUE["enqueueReadBuffer"],
    "enqueueWriteBuffer": QUEUE["enqueueWriteBuffer"],
    "enqueueCopyBuffer": QUEUE["enqueueCopyBuffer"],
    "enqueueFillBuffer": QUEUE["enqueueFillBuffer"],
    "enqueueMapBuffer": QUEUE["enqueueMapBuffer"],
    "enqueueUnmapMemObject": QUEUE["enqueueUnmapMemObject"],
}
"""Functions of the namespace `cl`; those that enqueue use the default queue."""

TRIGGERS = frozenset(QUEUE) - {"getInfo"} | {
    "setStatus",
    "setCallback",
    "setArg",
    "EnqueueArgs",
    "WaitForEvents",
    "wait",
}
