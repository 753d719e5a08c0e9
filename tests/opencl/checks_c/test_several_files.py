"""C and C++ host code in several files: headers with macros and classes, definitions next to them, include paths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kexec_lint import check

HEADER = """\
#pragma once
#include <CL/opencl.hpp>
#define check_call(x) do { int e_ = (x); if (e_ != CL_SUCCESS) exit(e_); } while (0)
#define SEND(q, b, p, n, ev) clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, p, 0, NULL, ev)
cl_int upload(cl_command_queue q, cl_mem b, const float *p, size_t n, cl_event *e);
cl_int settle(cl_command_queue q);
class Job {
public:
    Job(cl::Context c, cl::Device d);
    void send(const float *p);
    void run(cl::Kernel &k);
    void settle();
private:
    cl::CommandQueue queue;
    cl::Buffer data;
};
"""
SOURCE = """\
#include "util/help.hpp"
static cl_int hidden(cl_command_queue q) { return clFinish(q); }
cl_int upload(cl_command_queue q, cl_mem b, const float *p, size_t n, cl_event *e) {
    return clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, p, 0, NULL, e);
}
cl_int settle(cl_command_queue q) { return clFinish(q); }
Job::Job(cl::Context c, cl::Device d)
    : queue(c, d, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), data(c, CL_MEM_READ_WRITE, 64) {}
void Job::send(const float *p) { queue.enqueueWriteBuffer(data, CL_FALSE, 0, 64, p); }
void Job::run(cl::Kernel &k) { k.setArg(0, data); queue.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(16)); }
void Job::settle() { queue.finish(); }
"""
SETUP = """\
#include "util/help.hpp"
static const char *source =
#include "../kernels/twice.cl"
;
void f(cl_context ctx, cl_device_id dev, const float *p, size_t n) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    cl_kernel k = clCreateKernel(clCreateProgramWithSource(ctx, 1, &source, NULL, NULL), "twice", NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    clSetKernelArg(k, 0, sizeof(b), &b);
    cl_event e;
"""
KERNEL = 'R"CL(\n__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }\n)CL"\n'


def said(top: Path, body: str) -> list[tuple[int, str]]:
    """Return rows of the body, from 1, and codes of what is found in it."""
    files = {
        "include/util/help.hpp": HEADER,
        "src/help.cpp": SOURCE,
        "kernels/twice.cl": KERNEL,
        "src/main.cpp": SETUP + body,
        "kexec-lint.toml": "",
    }
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return again(top)


def again(top: Path) -> list[tuple[int, str]]:
    """Check the files as they are."""
    first = SETUP.count("\n")
    found = check([str(top)], isolated=True, jobs=1)
    return [(f.location.row - first, f.code) for f in found if f.location.filename.endswith("main.cpp")]


WITHOUT = "    check_call(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL));\n"
WITH = "    check_call(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &e, NULL));\n"
OTHER = "void g(cl::Context c, cl::Device d, cl::Kernel &k, float *p) {"
REST = "    clReleaseEvent(e);\n    settle(q);\n}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(f"    upload(q, b, p, n, &e);\n{WITHOUT}{REST}", [(2, "OCL101")], id="function next to a header"),
        pytest.param(f"    upload(q, b, p, n, &e);\n{WITH}{REST}", [], id="its event is waited for"),
        pytest.param(f"    SEND(q, b, p, n, &e);\n{WITHOUT}{REST}", [(2, "OCL101")], id="macro of a header"),
        pytest.param(f"    SEND(q, b, p, n, &e);\n{WITH}{REST}", [], id="its event, handed on"),
        pytest.param(
            f"    upload(q, b, p, n, &e);\n    settle(q);\n{WITHOUT}{REST}", [], id="a function that finishes the queue"
        ),
        pytest.param(
            f"    upload(q, b, p, n, &e);\n    hidden(q);\n{WITHOUT}{REST}", [], id="a static function is another's"
        ),
        pytest.param(
            f"    upload(q, b, p, n, &e);\n{WITH}{REST}{OTHER}\n"
            "    Job job(c, d);\n    job.send(p);\n    job.run(k);\n    job.settle();\n}\n",
            [(9, "OCL101")],
            id="class of a header, methods elsewhere",
        ),
        pytest.param(
            f"    upload(q, b, p, n, &e);\n{WITH}{REST}{OTHER}\n"
            "    Job job(c, d);\n    job.send(p);\n    job.settle();\n    job.run(k);\n    job.settle();\n}\n",
            [],
            id="its method waits",
        ),
    ],
)
def test_several_files(tmp_path: Path, body: str, expected: list[tuple[int, str]]) -> None:
    assert said(tmp_path, body) == expected


def test_the_database_decides_conditions(tmp_path: Path) -> None:
    body = f"    upload(q, b, p, n, &e);\n#if defined(ORDERED) && LEVEL > 1\n{WITH}#else\n{WITHOUT}#endif\n{REST}"
    assert said(tmp_path, body) == [(5, "OCL101")]
    entry = {"directory": "src", "file": "main.cpp", "arguments": ["c++", "-DORDERED", "-DLEVEL=2", "-c", "main.cpp"]}
    database = tmp_path / "compile_commands.json"
    database.write_text(json.dumps([entry]))
    assert said(tmp_path, body) == []
    database.write_text(json.dumps([{**entry, "arguments": ["c++", "-DORDERED", "-DLEVEL=1", "main.cpp"]}]))
    assert said(tmp_path, body) == [(5, "OCL101")]


def test_results_hang_on_the_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEXEC_LINT_CACHE_DIR", str(tmp_path / "cache"))
    top = tmp_path / "top"
    assert said(top, f"    upload(q, b, p, n, &e);\n{WITHOUT}{REST}") == [(2, "OCL101")]
    path = top / "src/help.cpp"
    path.write_text(SOURCE.replace("CL_FALSE, 0, n, p", "CL_TRUE, 0, n, p"))
    assert again(top) == []
    path.unlink()
    assert again(top) == []
    path.write_text(SOURCE)
    assert again(top) == [(2, "OCL101")]
