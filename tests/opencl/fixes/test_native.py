"""Before and after: what `--fix` makes of host code in C and C++, and what it leaves alone.

`~` in front of a case says that the unsafe fixes are applied too. Every fixed file is checked again: nothing is left,
a second run changes nothing, every comment is still there.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fixing import comments, run

C = """
#include <CL/cl.h>

#define CHECK(call) do { if ((call) != CL_SUCCESS) return -1; } while (0)

int run(cl_context ctx, cl_device_id dev, cl_kernel k, cl_mem b, float *x, size_t n, int more) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    cl_int err = CL_SUCCESS;
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
"""
CPP = """
#include <CL/opencl.hpp>

void run(cl::Context &context, cl::Device &device, cl::Kernel &kernel, cl::Buffer &buffer, std::vector<float> &x) {
    cl::CommandQueue queue(context, device, cl::QueueProperties::OutOfOrder);
    const auto bytes = x.size() * sizeof(float);
    kernel.setArg(0, buffer);
"""


def body(text: str, cpp: bool) -> str:
    """Return a whole file around the body of one function."""
    rows = [f"    {row}\n" if row else "\n" for row in text.strip("\n").split("\n")]
    return (CPP if cpp else C).lstrip() + "".join(rows) + ("}\n" if cpp else "    clFinish(q);\n    return err;\n}\n")


CASES = {
    "statuses that are kept": (
        """
err = clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL); /* up */
err |= clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
""",
        """
cl_event write_done;
err = clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, &write_done); /* up */
err |= clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &write_done, NULL);
clReleaseEvent(write_done);
""",
    ),
    "an event that is there": (
        """
cl_event up;
clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, &up);
clEnqueueNDRangeKernel(
    q, k, 1, NULL, &n, NULL,
    0, NULL,
    NULL); // runs
clReleaseEvent(up);
""",
        """
cl_event up;
clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, &up);
clEnqueueNDRangeKernel(
    q, k, 1, NULL, &n, NULL,
    1, &up,
    NULL); // runs
clReleaseEvent(up);
""",
    ),
    "a list of two": (
        """
cl_event up, other;
clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, &up);
clEnqueueMarkerWithWaitList(q, 0, NULL, &other);
clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &up, NULL);
clEnqueueReadBuffer(q, b, CL_TRUE, 0, n, x, 1, &other, NULL);
clReleaseEvent(up);
clReleaseEvent(other);
""",
        """
cl_event up, other;
clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, &up);
clEnqueueMarkerWithWaitList(q, 0, NULL, &other);
cl_event kernel_done;
clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &up, &kernel_done);
cl_event waits[] = {other, kernel_done};
clEnqueueReadBuffer(q, b, CL_TRUE, 0, n, x, 2, waits, NULL);
clReleaseEvent(kernel_done);
clReleaseEvent(up);
clReleaseEvent(other);
""",
    ),
    "~ a command of one path only": (
        """
if (more) clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
""",
        """
if (more) clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
clEnqueueBarrierWithWaitList(q, 0, NULL, NULL);
clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
""",
    ),
    "a profiling query": (
        """
cl_event ran;
cl_ulong start;
clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ran);
clWaitForEvents(1, &ran);
clGetEventProfilingInfo(ran, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL);
clReleaseEvent(ran);
""",
        "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE",
    ),
    "one wait for two queries": (
        """
cl_event ran;
cl_ulong start, end;
cl_command_queue p = clCreateCommandQueue(ctx, dev, CL_QUEUE_PROFILING_ENABLE, NULL);
clEnqueueNDRangeKernel(p, k, 1, NULL, &n, NULL, 0, NULL, &ran);
clGetEventProfilingInfo(ran, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL);
clGetEventProfilingInfo(ran, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL);
clReleaseEvent(ran);
""",
        "clWaitForEvents(1, &ran);",
    ),
    "C++: a vector of events": (
        """
cl::Event up, other;
queue.enqueueMarkerWithWaitList(nullptr, &other);
queue.enqueueWriteBuffer(buffer, CL_FALSE, 0, bytes, x.data(), nullptr, &up);
std::vector<cl::Event> list{other};
queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(x.size()), cl::NullRange, &list);
queue.finish(); // all
""",
        """
cl::Event up, other;
queue.enqueueMarkerWithWaitList(nullptr, &other);
queue.enqueueWriteBuffer(buffer, CL_FALSE, 0, bytes, x.data(), nullptr, &up);
std::vector<cl::Event> list{other};
std::vector<cl::Event> waits(list); waits.push_back(up);
queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(x.size()), cl::NullRange, &waits);
queue.finish(); // all
""",
    ),
    "C++: a download": (
        """
queue.enqueueReadBuffer(buffer, CL_FALSE, 0, bytes, x.data()); // down
x[0] += 1;
queue.finish();
""",
        """
queue.enqueueReadBuffer(buffer, CL_TRUE, 0, bytes, x.data()); // down
x[0] += 1;
queue.finish();
""",
    ),
}


@pytest.mark.parametrize("title", CASES)
def test_fix(title: str, tmp_path: Path) -> None:
    cpp = title.startswith("C++")
    before = body(CASES[title][0], cpp)
    after = CASES[title][1]
    path = tmp_path / f"case{'.cpp' if cpp else '.c'}"
    fixed, report = run(path, before, title.startswith("~"))
    assert fixed == body(after, cpp) if "\n" in after else fixed.count(after) == 1
    assert [(f.location.row, f.code, f.message) for f in report.findings] == []
    assert run(path, fixed, title.startswith("~"))[0] == fixed
    assert comments(path.name, fixed) == comments(path.name, before)


LEFT = {
    "a loop's earlier turn, whose event has no name yet": """
for (int i = 0; i < more; i++)
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
""",
    "a list in a variable": """
cl_event up, list[4];
cl_uint count = 0;
clEnqueueMarkerWithWaitList(q, 0, NULL, &list[count++]);
clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, &up);
clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, count, list, NULL);
clReleaseEvent(up);
clReleaseEvent(list[0]);
""",
}


@pytest.mark.parametrize("title", LEFT)
def test_no_safe_fix_where_none_holds(title: str, tmp_path: Path) -> None:
    text = body(LEFT[title], False)
    assert run(tmp_path / "case.c", text)[0] == text
