"""What each call of the OpenCL C API means, as tables: OpenCL 1.0 to 3.1 and the common extensions.

Facts: the OpenCL API specification 3.1, the extension specification of `cl_khr_command_buffer`, `cl_khr_semaphore`,
`cl_khr_gl_sharing`, `cl_intel_unified_shared_memory`. Parameters have names of their own here: `num events` are the
wait list, `event` the event that the call hands out, `err` the status that it writes.
"""

from __future__ import annotations

import re

from kexec_lint.opencl.api.model import CallModel, row

_TAIL = "num events event"


def _command(kind: str, head: str, reads: str = "", writes: str = "", tail: str = _TAIL) -> CallModel:
    return row("command", kind, f"queue {head} {tail}", reads=reads, writes=writes, wait="events")


COMMANDS: dict[str, CallModel] = {
    "clEnqueueReadBuffer": _command("read", "mem blocking offset size ptr", "mem", "ptr"),
    "clEnqueueWriteBuffer": _command("write", "mem blocking offset size ptr", "ptr", "mem"),
    "clEnqueueReadBufferRect": _command(
        "read", "mem blocking buffer_origin host_origin region _1 _2 _3 _4 ptr", "mem", "ptr"
    ),
    "clEnqueueWriteBufferRect": _command(
        "write", "mem blocking buffer_origin host_origin region _1 _2 _3 _4 ptr", "ptr", "mem"
    ),
    "clEnqueueReadImage": _command("read", "mem blocking origin region _1 _2 ptr", "mem", "ptr"),
    "clEnqueueWriteImage": _command("write", "mem blocking origin region _1 _2 ptr", "ptr", "mem"),
    "clEnqueueCopyBuffer": _command("copy", "src dst src_offset dst_offset size", "src", "dst"),
    "clEnqueueCopyBufferRect": _command("copy", "src dst src_origin dst_origin region _1 _2 _3 _4", "src", "dst"),
    "clEnqueueCopyImage": _command("copy", "src dst src_origin dst_origin region", "src", "dst"),
    "clEnqueueCopyImageToBuffer": _command("copy", "src dst src_origin region dst_offset", "src", "dst"),
    "clEnqueueCopyBufferToImage": _command("copy", "src dst src_offset dst_origin region", "src", "dst"),
    "clEnqueueFillBuffer": _command("fill", "mem pattern _1 offset size", "", "mem"),
    "clEnqueueFillImage": _command("fill", "mem pattern origin region", "", "mem"),
    "clEnqueueMigrateMemObjects": _command("migrate", "count mems flags", "mems"),
    "clEnqueueMigrateMemObjectEXT": _command("migrate", "count mems flags", "mems"),
    "clEnqueueSVMMemcpy": row(
        "command", "memcpy", f"queue blocking dst src size {_TAIL}", reads="src", writes="dst", wait="events"
    ),
    "clEnqueueSVMMemFill": _command("fill", "dst pattern _1 size", "", "dst"),
    "clEnqueueSVMMigrateMem": _command("migrate", "count mems sizes flags", "mems"),
    "clEnqueueSVMUnmap": _command("unmap", "svm", "", "svm"),
    "clEnqueueMemcpyINTEL": row(
        "command", "memcpy", f"queue blocking dst src size {_TAIL}", reads="src", writes="dst", wait="events"
    ),
    "clEnqueueMemFillINTEL": _command("fill", "dst pattern _1 size", "", "dst"),
    "clEnqueueMemsetINTEL": _command("fill", "dst _1 size", "", "dst"),
    "clEnqueueMigrateMemINTEL": _command("migrate", "dst size flags", "dst"),
    "clEnqueueMemAdviseINTEL": _command("marker", "dst size flags"),
    "clEnqueueMarkerWithWaitList": row("command", "marker", f"queue {_TAIL}", wait="events"),
    "clEnqueueBarrierWithWaitList": row("command", "barrier", f"queue {_TAIL}", wait="events"),
    "clEnqueueMarker": row("command", "marker", "queue event", wait="events"),
    "clEnqueueBarrier": row("command", "barrier", "queue", wait="events"),
    "clEnqueueWaitForEvents": row("command", "barrier", "queue num events", wait="events"),
    **{
        f"clEnqueueAcquire{api}": _command("acquire", "count mems", "", "mems")
        for api in ("GLObjects", "D3D10ObjectsKHR", "D3D11ObjectsKHR", "DX9MediaSurfacesKHR", "EGLObjectsKHR")
    },
    **{
        f"clEnqueueRelease{api}": _command("release", "count mems", "", "mems")
        for api in ("GLObjects", "D3D10ObjectsKHR", "D3D11ObjectsKHR", "DX9MediaSurfacesKHR", "EGLObjectsKHR")
    },
    "clEnqueueAcquireExternalMemObjectsKHR": _command("acquire", "count mems", "", "mems"),
    "clEnqueueReleaseExternalMemObjectsKHR": _command("release", "count mems", "", "mems"),
    "clEnqueueNativeKernel": _command("native", "function arguments size count mems _1", "", "mems"),
    "clEnqueueReadGlobalVariable": _command("read", "_1 _2 blocking size offset ptr", "", "ptr"),
    "clEnqueueWriteGlobalVariable": _command("write", "_1 _2 blocking size offset ptr", "ptr", ""),
    # semaphores order by their wait list like any command; what they carry to other queues is not followed
    "clEnqueueSignalSemaphoresKHR": row("command", "signal", f"queue count semaphores payload {_TAIL}", wait="events"),
    "clEnqueueWaitSemaphoresKHR": row("command", "await", f"queue count semaphores payload {_TAIL}", wait="events"),
}
"""Calls that enqueue a command."""

FUNCTIONS: dict[str, CallModel] = {
    **COMMANDS,
    "clEnqueueNDRangeKernel": row(
        "launch", "kernel", f"queue kernel dimensions global_offset global local {_TAIL}", wait="events"
    ),
    "clEnqueueNDCountKernelINTEL": row(
        "launch", "kernel", f"queue kernel dimensions global_offset global local {_TAIL}", wait="events"
    ),
    "clEnqueueTask": row("launch", "kernel", f"queue kernel {_TAIL}", wait="events"),
    "clEnqueueMapBuffer": row(
        "map", "map", f"queue mem blocking flags offset size {_TAIL} err", wait="events", returns="map"
    ),
    "clEnqueueMapImage": row(
        "map", "map", f"queue mem blocking flags origin region _1 _2 {_TAIL} err", wait="events", returns="map"
    ),
    "clEnqueueUnmapMemObject": row("unmap", "unmap", f"queue mem ptr {_TAIL}", wait="events"),
    "clEnqueueSVMMap": row("svm_map", "map", f"queue blocking flags svm size {_TAIL}", wait="events", returns="event"),
    "clEnqueueSVMFree": row("svm_free", "free", f"queue count svms _1 _2 {_TAIL}", wait="events"),
    "clEnqueueCommandBufferKHR": row("run", "library", f"count queues buffer {_TAIL}", wait="events"),
    # the host waits
    "clFinish": row("finish", params="queue"),
    "clFlush": row("flush", params="queue"),
    "clWaitForEvents": row("wait", params="num events", wait="events"),
    "clGetEventInfo": row("event_info", params="event name size value _1"),
    "clGetEventProfilingInfo": row("profile", params="event name size value _1"),
    # events
    "clReleaseEvent": row("release_event", params="event"),
    "clRetainEvent": row("retain_event", params="event"),
    "clCreateUserEvent": row("user_event", params="context err"),
    "clCreateEventFromGLsyncKHR": row("foreign_event", params="context sync err"),
    "clSetUserEventStatus": row("set_status", params="event status"),
    "clSetEventCallback": row("set_callback", params="event type callback data"),
    # objects
    "clCreateContext": row("context", params="properties count devices notify data err"),
    "clCreateContextFromType": row("context", params="properties type notify data err"),
    "clCreateCommandQueue": row("queue", params="context device properties err"),
    "clCreateCommandQueueWithProperties": row("queue", params="context device properties err"),
    "clCreateCommandQueueWithPropertiesKHR": row("queue", params="context device properties err"),
    "clSetCommandQueueProperty": row("set_queue_property", params="queue properties enable old"),
    "clCreateProgramWithSource": row("program", params="context count strings lengths err"),
    "clCreateProgramWithBinary": row("program", params="context count devices lengths binaries status err"),
    "clCreateProgramWithIL": row("program", params="context il length err"),
    "clLinkProgram": row("program", params="context count devices options inputs programs notify data err"),
    "clBuildProgram": row("build", params="program count devices options notify data"),
    "clCompileProgram": row("build", params="program count devices options inputs programs names notify data"),
    "clCreateKernel": row("kernel", params="program name err"),
    "clCloneKernel": row("clone_kernel", params="kernel err"),
    "clSetKernelArg": row("set_arg", params="kernel index size value"),
    "clSetKernelArgSVMPointer": row("set_arg_pointer", params="kernel index value"),
    "clSetKernelArgMemPointerINTEL": row("set_arg_pointer", params="kernel index value"),
    "clSetKernelExecInfo": row("exec_info", params="kernel name size value"),
    "clCreateBuffer": row("buffer", params="context flags size hostbuf err"),
    "clCreateBufferWithProperties": row("buffer", params="context properties flags size hostbuf err"),
    "clCreateSubBuffer": row("sub_buffer", params="mem flags type region err"),
    "clCreateImage": row("image", params="context flags format description hostbuf err"),
    "clCreateImageWithProperties": row("image", params="context properties flags format description hostbuf err"),
    "clCreateImage2D": row("image", params="context flags format width height pitch hostbuf err"),
    "clCreateImage3D": row("image", params="context flags format width height depth pitch slice hostbuf err"),
    "clCreatePipe": row("buffer", params="context flags size count properties err"),
    "clCreateFromGLBuffer": row("shared", params="context flags object err"),
    "clCreateFromGLTexture": row("shared", params="context flags target level texture err"),
    "clCreateFromGLTexture2D": row("shared", params="context flags target level texture err"),
    "clCreateFromGLTexture3D": row("shared", params="context flags target level texture err"),
    "clCreateFromGLRenderbuffer": row("shared", params="context flags object err"),
    "clCreateFromEGLImageKHR": row("shared", params="context display image flags properties err"),
    "clCreateSampler": row("sampler", params="context normalized addressing filter err"),
    "clCreateSamplerWithProperties": row("sampler", params="context properties err"),
    "clRetainMemObject": row("nothing", params="mem"),
    "clReleaseMemObject": row("release_memory", params="mem"),
    "clReleaseKernel": row("give_back", params="kernel"),
    "clReleaseProgram": row("give_back", params="program"),
    "clReleaseSampler": row("give_back", params="sampler"),
    "clReleaseContext": row("give_back", params="context"),
    "clReleaseCommandQueue": row("give_back", params="queue"),
    # shared virtual memory
    "clSVMAlloc": row("svm_alloc", params="context flags size alignment"),
    "clSVMFree": row("svm_free_now", params="context svm"),
    "clHostMemAllocINTEL": row("usm_alloc", params="context properties size alignment err"),
    "clSharedMemAllocINTEL": row("usm_alloc", params="context device properties size alignment err"),
    "clDeviceMemAllocINTEL": row("usm_device_alloc", params="context device properties size alignment err"),
    "clMemFreeINTEL": row("svm_free_now", params="context svm"),
    "clMemBlockingFreeINTEL": row("svm_free_blocking", params="context svm"),
    # command buffers: what they record runs when they are enqueued
    "clCreateCommandBufferKHR": row("command_buffer", params="count queues properties err"),
    "clFinalizeCommandBufferKHR": row("nothing", params="buffer"),
    "clRetainCommandBufferKHR": row("nothing", params="buffer"),
    "clReleaseCommandBufferKHR": row("nothing", params="buffer"),
    "clUpdateMutableCommandsKHR": row("nothing", params="buffer"),
    "clCommandNDRangeKernelKHR": row("record_kernel", params="buffer queue properties kernel"),
    "clCommandCopyBufferKHR": row("record", params="buffer queue properties src dst", reads="src", writes="dst"),
    "clCommandFillBufferKHR": row("record", params="buffer queue properties mem", writes="mem"),
    "clCommandBarrierWithWaitListKHR": row("nothing", params="buffer"),
    "clCreateSemaphoreWithPropertiesKHR": row("semaphore", params="context properties err"),
    # questions whose answer is not followed
    **{
        name: row("query", params=params)
        for name, params in {
            "clGetPlatformIDs": "_1 platforms found",
            "clGetDeviceIDs": "platform type _1 devices found",
            "clGetPlatformInfo": "_1 _2 _3 value size",
            "clGetDeviceInfo": "_1 _2 _3 value size",
            "clGetContextInfo": "_1 _2 _3 value size",
            "clGetCommandQueueInfo": "_1 _2 _3 value size",
            "clGetMemObjectInfo": "_1 _2 _3 value size",
            "clGetImageInfo": "_1 _2 _3 value size",
            "clGetSamplerInfo": "_1 _2 _3 value size",
            "clGetProgramInfo": "_1 _2 _3 value size",
            "clGetProgramBuildInfo": "_1 _2 _3 _4 value size",
            "clGetKernelInfo": "_1 _2 _3 value size",
            "clGetKernelArgInfo": "_1 _2 _3 _4 value size",
            "clGetKernelWorkGroupInfo": "_1 _2 _3 _4 value size",
            "clGetKernelSubGroupInfo": "_1 _2 _3 _4 _5 _6 value size",
            "clGetSupportedImageFormats": "_1 _2 _3 _4 value size",
            "clCreateKernelsInProgram": "_1 _2 value size",
            "clGetGLContextInfoKHR": "_1 _2 _3 value size",
            "clGetExtensionFunctionAddress": "_1",
            "clGetExtensionFunctionAddressForPlatform": "_1 _2",
            "clGetDeviceAndHostTimer": "_1 value size",
            "clGetHostTimer": "_1 value",
            "clCreateSubDevices": "_1 _2 _3 value size",
        }.items()
    },
    **{
        name: row("nothing")
        for name in (
            "clReleaseDevice",
            "clRetainDevice",
            "clRetainContext",
            "clRetainCommandQueue",
            "clRetainKernel",
            "clRetainProgram",
            "clRetainSampler",
            "clReleaseSemaphoreKHR",
            "clUnloadCompiler",
            "clUnloadPlatformCompiler",
            "clSetMemObjectDestructorCallback",
            "clSetProgramSpecializationConstant",
            "clSetKernelArgDevicePointerEXT",
            "clSetContextDestructorCallback",
        )
    },
}
"""Name → row."""

WRAPPED = re.compile(r"^(?:\w*_)?(cl(?:Enqueue|Finish|Flush|WaitForEvents|Create|Release|Set|Get|SVM)\w*)$")
"""`hc_clEnqueueReadBuffer`, `dt_clFinish`: a wrapper that keeps the name of the call that it wraps."""

_PREFIXES = (
    ("CL_QUEUE_", "ON_DEVICE_DEFAULT", "PROPERTIES SIZE ON_DEVICE OUT_OF_ORDER_EXEC_MODE_ENABLE PROFILING_ENABLE"),
    (
        "CL_MEM_",
        "",
        "READ_WRITE READ_ONLY WRITE_ONLY USE_HOST_PTR ALLOC_HOST_PTR COPY_HOST_PTR HOST_WRITE_ONLY "
        "HOST_READ_ONLY HOST_NO_ACCESS SVM_FINE_GRAIN_BUFFER SVM_ATOMICS KERNEL_READ_AND_WRITE EXT_PTR_XILINX",
    ),
    ("CL_MAP_", "", "READ WRITE WRITE_INVALIDATE_REGION"),
    ("CL_PROFILING_COMMAND_", "", "QUEUED SUBMIT START END COMPLETE"),
    ("CL_EVENT_", "", "COMMAND_EXECUTION_STATUS COMMAND_QUEUE COMMAND_TYPE REFERENCE_COUNT CONTEXT"),
    ("CL_MIGRATE_MEM_OBJECT_", "", "HOST CONTENT_UNDEFINED"),
    ("CL_", "", "RUNNING SUBMITTED QUEUED"),
)

CONSTANTS: dict[str, object] = {
    "CL_TRUE": True,
    "CL_FALSE": False,
    "CL_BLOCKING": True,
    "CL_NON_BLOCKING": False,
    "CL_SUCCESS": 0,
    "CL_COMPLETE": frozenset({"COMPLETE"}),
    "NULL": None,
    "nullptr": None,
    "TRUE": True,
    "FALSE": False,
    **{
        prefix + name: frozenset({name})
        for prefix, more, names in _PREFIXES
        for name in (*more.split(), *names.split())
    },
}
"""Constants of the API. A flag is the set of its name, so that `|` joins flags; the names are those without prefix."""

STATUS = frozenset(
    name
    for name, model in FUNCTIONS.items()
    if model.does
    in (
        "command",
        "launch",
        "unmap",
        "svm_map",
        "svm_free",
        "run",
        "finish",
        "wait",
        "build",
        "set_arg",
        "set_status",
    )
)
"""Calls that return a status which says whether anything happens at all."""

TRIGGERS = frozenset(
    name
    for name, model in FUNCTIONS.items()
    if model.does in ("command", "launch", "map", "unmap", "svm_map", "svm_free", "run", "finish", "wait", "queue")
    or model.does in ("set_arg", "user_event", "set_status", "set_callback", "release_event", "svm_free_now")
)
"""Names whose mention makes a function worth analysing."""
