"""OCL201, OCL202, OCL203, OCL209, OCL210 in C: the host and memory in flight."""

from __future__ import annotations

import pytest
from native_cases import cases, verify

OCL201 = r"""
// bad an element
float f(cl_command_queue q, cl_mem b) {
    float x[16];
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, 64, x, 0, NULL, NULL);
    float first = x[0]; // expect: OCL201
    clFinish(q);
    return first;
}
// bad a single variable
int f(cl_command_queue q, cl_mem b) {
    int count;
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, sizeof(count), &count, 0, NULL, NULL);
    if (count > 3) // expect: OCL201
        clFlush(q);
    clFinish(q);
    return 0;
}
// bad memcpy
void f(cl_command_queue q, cl_mem b, float *to, size_t n) {
    float *x = (float *)malloc(n);
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
    memcpy(to, x, n); // expect: OCL201
    clFinish(q);
    free(x);
}
// bad the caller's memory
float f(cl_command_queue q, cl_mem b, float *x, size_t n) {
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
    float last = x[n - 1]; // expect: OCL201
    clFinish(q);
    return last;
}
// bad a false flag in a variable
float f(cl_command_queue q, cl_mem b, float *x, size_t n) {
    cl_bool blocking = CL_FALSE;
    clEnqueueReadBuffer(q, b, blocking, 0, n, x, 0, NULL, NULL);
    float first = *x; // expect: OCL201
    clFinish(q);
    return first;
}
// bad the other queue is finished
float f(HERE, cl_mem b) {
    float x[16];
    cl_command_queue q = clCreateCommandQueue(ctx, dev, 0, NULL);
    cl_event one, two;
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, 64, x, 0, NULL, &one);
    float sum = 0;
    for (int i = 0; i < 16; i++)
        sum += x[i]; // expect: OCL201
    clWaitForEvents(1, &one);
    clReleaseEvent(one);
    return sum;
}
// bad a member of a struct
struct job { float *out; cl_mem b; };
float f(cl_command_queue q, struct job *j, size_t n) {
    clEnqueueReadBuffer(q, j->b, CL_FALSE, 0, n, j->out, 0, NULL, NULL);
    float first = j->out[0]; // expect: OCL201
    clFinish(q);
    return first;
}
// good blocking
float f(cl_command_queue q, cl_mem b) {
    float x[16];
    clEnqueueReadBuffer(q, b, CL_TRUE, 0, 64, x, 0, NULL, NULL);
    return x[0];
}
// good finished
float f(cl_command_queue q, cl_mem b) {
    float x[16];
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, 64, x, 0, NULL, NULL);
    clFinish(q);
    return x[0];
}
// good waited for
float f(cl_command_queue q, cl_mem b) {
    float x[16];
    cl_event ev;
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, 64, x, 0, NULL, &ev);
    clWaitForEvents(1, &ev);
    clReleaseEvent(ev);
    return x[0];
}
// good a later blocking call on the same queue
float f(cl_command_queue q, cl_mem b, cl_mem c) {
    float x[16], y[16];
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, 64, x, 0, NULL, NULL);
    clEnqueueReadBuffer(q, c, CL_TRUE, 0, 64, y, 0, NULL, NULL);
    return x[0] + y[0];
}
// good a flag that the caller gives
float f(cl_command_queue q, cl_mem b, float *x, size_t n, cl_bool blocking) {
    clEnqueueReadBuffer(q, b, blocking, 0, n, x, 0, NULL, NULL);
    return 0;
}
// good only the address and size are used
float *f(cl_command_queue q, cl_mem b, size_t n) {
    float *x = (float *)malloc(n);
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
    if (x == NULL || sizeof(x) == 4) return NULL;
    return x + 4;
}
// good a helper waits
static void settle(cl_command_queue queue) { clFinish(queue); }
float f(cl_command_queue q, cl_mem b) {
    float x[16];
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, 64, x, 0, NULL, NULL);
    settle(q);
    return x[0];
}
// good a function that cannot be seen gets the queue
float f(cl_command_queue q, cl_mem b) {
    float x[16];
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, 64, x, 0, NULL, NULL);
    settle_elsewhere(q);
    return x[0];
}
"""

OCL202 = r"""
// bad the source of an upload is overwritten
void f(cl_command_queue q, cl_mem b, float *x, size_t n) {
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
    x[0] = 1; // expect: OCL202
    clFinish(q);
}
// bad one variable for two uploads
void f(cl_command_queue q, cl_mem b) {
    int value = 1;
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, sizeof(value), &value, 0, NULL, NULL);
    value = 2; // expect: OCL202
    clEnqueueWriteBuffer(q, b, CL_FALSE, 4, sizeof(value), &value, 0, NULL, NULL);
    clFinish(q);
}
// bad a struct on the stack
typedef struct { int i, cnt; } pw_t;
void f(cl_command_queue q, cl_mem b, int n) {
    pw_t pw;
    pw.i = 0;
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, sizeof(pw_t), &pw, 0, NULL, NULL);
    pw.i = n; // expect: OCL202
    clEnqueueWriteBuffer(q, b, CL_FALSE, sizeof(pw_t), sizeof(pw_t), &pw, 0, NULL, NULL);
    clFinish(q);
}
// bad memset
void f(cl_command_queue q, cl_mem b, float *x, size_t n) {
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
    memset(x, 0, n); // expect: OCL202
    clFinish(q);
}
// bad a loop reuses its staging
void f(cl_command_queue q, cl_mem b, float *x, size_t n, int parts) {
    for (int i = 0; i < parts; i++) {
        x[0] = i; // expect: OCL202
        clEnqueueWriteBuffer(q, b, CL_FALSE, i * n, n, x, 0, NULL, NULL);
    }
    clFinish(q);
}
// bad a flush is between and something else writes
void f(cl_command_queue q, cl_mem b, cl_mem c, float *x, float *y, size_t n) {
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
    memcpy(x, y, n); // expect: OCL202
    clEnqueueWriteBuffer(q, c, CL_FALSE, 0, n, x, 0, NULL, NULL);
    clFinish(q);
}
// good blocking
void f(cl_command_queue q, cl_mem b, float *x, size_t n) {
    clEnqueueWriteBuffer(q, b, CL_TRUE, 0, n, x, 0, NULL, NULL);
    x[0] = 1;
}
// good finished
void f(cl_command_queue q, cl_mem b, float *x, size_t n) {
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
    clFinish(q);
    x[0] = 1;
}
// good a fill pattern
void f(cl_command_queue q, cl_mem b, size_t n) {
    float zero = 0;
    clEnqueueFillBuffer(q, b, &zero, sizeof(zero), 0, n, 0, NULL, NULL);
    zero = 1;
    clFinish(q);
}
// good kernel arguments are copied
void f(cl_command_queue q, cl_kernel k, size_t n) {
    int step = 0;
    clSetKernelArg(k, 1, sizeof(step), &step);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    step = 1;
    clSetKernelArg(k, 1, sizeof(step), &step);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
}
// good read only
float f(cl_command_queue q, cl_mem b, float *x, size_t n) {
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
    float first = x[0];
    clFinish(q);
    return first;
}
// good waited for in the loop
void f(cl_command_queue q, cl_mem b, float *x, size_t n, int parts) {
    for (int i = 0; i < parts; i++) {
        cl_event ev;
        x[0] = i;
        clEnqueueWriteBuffer(q, b, CL_FALSE, i * n, n, x, 0, NULL, &ev);
        clWaitForEvents(1, &ev);
        clReleaseEvent(ev);
    }
}
"""

OCL203 = r"""
// bad a variable of a function
void f(cl_command_queue q, cl_mem b) {
    int value = 1;
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, sizeof(value), &value, 0, NULL, NULL);
    clFlush(q);
} // expect: OCL203
// bad an array of a block
void f(cl_command_queue q, cl_mem b, int deep) {
    if (deep) {
        float x[16] = {0};
        clEnqueueWriteBuffer(q, b, CL_FALSE, 0, sizeof(x), x, 0, NULL, NULL);
    } // expect: OCL203
    clFinish(q);
}
// bad freed
void f(cl_command_queue q, cl_mem b, size_t n) {
    float *x = (float *)malloc(n);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
    free(x); // expect: OCL203
    clFinish(q);
}
// bad freed after a flush
void f(cl_command_queue q, cl_mem b, size_t n) {
    float *x = (float *)malloc(n);
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
    clFlush(q);
    free(x); // expect: OCL203
    clFinish(q);
}
// bad an array of a loop body
void f(cl_command_queue q, cl_mem b) {
    for (int i = 0; i < 4; i++) {
        float x[16] = {0};
        clEnqueueWriteBuffer(q, b, CL_FALSE, i * 64, sizeof(x), x, 0, NULL, NULL);
    } // expect: OCL203
    clFinish(q);
}
// bad the wait is for another event
void f(cl_command_queue q, cl_mem b, size_t n, cl_event other) {
    float *x = (float *)malloc(n);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
    free(x); // expect: OCL203
    clWaitForEvents(1, &other);
}
// bad a struct on the heap
struct conf { int steps; };
void f(cl_command_queue q, cl_mem b) {
    struct conf *c = (struct conf *)malloc(sizeof(struct conf));
    c->steps = 1;
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, sizeof(struct conf), c, 0, NULL, NULL);
    free(c); // expect: OCL203
    clFinish(q);
}
// bad the memory behind a buffer
void f(cl_command_queue q, HERE) {
    float *h = (float *)malloc(n);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, n, h, NULL);
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    free(h); // expect: OCL203
    clFinish(q);
}
// good the memory behind a buffer, after the kernel
void f(cl_command_queue q, HERE) {
    float *h = (float *)malloc(n);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, n, h, NULL);
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clFinish(q);
    clReleaseMemObject(b);
    free(h);
}
// good finished before
void f(cl_command_queue q, cl_mem b) {
    int value = 1;
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, sizeof(value), &value, 0, NULL, NULL);
    clFinish(q);
}
// good static storage
void f(cl_command_queue q, cl_mem b) {
    static const float zeros[16] = {0};
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, sizeof(zeros), zeros, 0, NULL, NULL);
}
// good blocking
void f(cl_command_queue q, cl_mem b) {
    float x[16] = {0};
    clEnqueueWriteBuffer(q, b, CL_TRUE, 0, sizeof(x), x, 0, NULL, NULL);
}
// good memory of the caller
void f(cl_command_queue q, cl_mem b, const float *x, size_t n) {
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
}
// good a waited event, then free
void f(cl_command_queue q, cl_mem b, size_t n) {
    float *x = (float *)malloc(n);
    cl_event ev;
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, &ev);
    clWaitForEvents(1, &ev);
    free(x);
    clReleaseEvent(ev);
}
// good returned to the caller
float *f(cl_command_queue q, cl_mem b, size_t n) {
    float *x = (float *)malloc(n);
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, n, x, 0, NULL, NULL);
    return x;
}
// good the copy at creation is made at once
cl_mem f(cl_context ctx) {
    float x[16] = {0};
    return clCreateBuffer(ctx, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(x), x, NULL);
}
// good the last read of the loop blocks
void f(cl_command_queue q, cl_mem b, int parts) {
    float x[16];
    for (int i = 0; i < parts; i++)
        clEnqueueReadBuffer(q, b, CL_TRUE, 0, sizeof(x), x, 0, NULL, NULL);
}
"""

OCL209 = r"""
// bad freed while the kernel runs
void f(cl_command_queue q, HERE) {
    float *x = (float *)clSVMAlloc(ctx, CL_MEM_READ_WRITE, n, 0);
    clSetKernelArgSVMPointer(k, 0, x);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clSVMFree(ctx, x); // expect: OCL209
    clFinish(q);
}
// bad flushed only
void f(cl_command_queue q, HERE) {
    float *x = (float *)clSVMAlloc(ctx, CL_MEM_READ_WRITE, n, 0);
    clSetKernelArgSVMPointer(k, 0, x);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clFlush(q);
    clSVMFree(ctx, x); // expect: OCL209
    clFinish(q);
}
// bad a copy is pending
void f(cl_command_queue q, HERE, const float *h) {
    float *x = (float *)clSVMAlloc(ctx, CL_MEM_READ_WRITE, n, 0);
    clEnqueueSVMMemcpy(q, CL_FALSE, x, h, n, 0, NULL, NULL);
    clSVMFree(ctx, x); // expect: OCL209
    clFinish(q);
}
// bad the memory of Intel's extension
void f(cl_command_queue q, HERE) {
    cl_int err;
    float *x = (float *)clSharedMemAllocINTEL(ctx, dev, NULL, n, 0, &err);
    clSetKernelArgMemPointerINTEL(k, 0, x);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clMemFreeINTEL(ctx, x); // expect: OCL209
    clFinish(q);
}
// bad a fill is pending
void f(cl_command_queue q, HERE) {
    float *x = (float *)clSVMAlloc(ctx, CL_MEM_READ_WRITE, n, 0), zero = 0;
    clEnqueueSVMMemFill(q, x, &zero, sizeof(zero), n, 0, NULL, NULL);
    clSVMFree(ctx, x); // expect: OCL209
    clFinish(q);
}
// bad waited for another kernel
void f(cl_command_queue q, HERE, cl_kernel k2) {
    float *x = (float *)clSVMAlloc(ctx, CL_MEM_READ_WRITE, n, 0);
    cl_event first;
    clEnqueueNDRangeKernel(q, k2, 1, NULL, &n, NULL, 0, NULL, &first);
    clSetKernelArgSVMPointer(k, 0, x);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clWaitForEvents(1, &first);
    clReleaseEvent(first);
    clSVMFree(ctx, x); // expect: OCL209
    clFinish(q);
}
// good finished
void f(cl_command_queue q, HERE) {
    float *x = (float *)clSVMAlloc(ctx, CL_MEM_READ_WRITE, n, 0);
    clSetKernelArgSVMPointer(k, 0, x);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clFinish(q);
    clSVMFree(ctx, x);
}
// good freed by a command
void f(cl_command_queue q, HERE) {
    void *x = clSVMAlloc(ctx, CL_MEM_READ_WRITE, n, 0);
    clSetKernelArgSVMPointer(k, 0, x);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clEnqueueSVMFree(q, 1, &x, NULL, NULL, 0, NULL, NULL);
}
// good a blocking map comes first
void f(cl_command_queue q, HERE) {
    float *x = (float *)clSVMAlloc(ctx, CL_MEM_READ_WRITE, n, 0);
    clSetKernelArgSVMPointer(k, 0, x);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clEnqueueSVMMap(q, CL_TRUE, CL_MAP_READ, x, n, 0, NULL, NULL);
    x[0] = 1;
    clEnqueueSVMUnmap(q, x, 0, NULL, NULL);
    clFinish(q);
    clSVMFree(ctx, x);
}
// good a blocking free
void f(cl_command_queue q, HERE) {
    cl_int err;
    float *x = (float *)clSharedMemAllocINTEL(ctx, dev, NULL, n, 0, &err);
    clSetKernelArgMemPointerINTEL(k, 0, x);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clMemBlockingFreeINTEL(ctx, x);
}
// good a memory object may be released
void f(cl_command_queue q, HERE) {
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clReleaseMemObject(b);
}
// good other memory
void f(cl_command_queue q, HERE) {
    float *x = (float *)clSVMAlloc(ctx, CL_MEM_READ_WRITE, n, 0);
    float *y = (float *)clSVMAlloc(ctx, CL_MEM_READ_WRITE, n, 0);
    clSetKernelArgSVMPointer(k, 0, x);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clSVMFree(ctx, y);
    clFinish(q);
    clSVMFree(ctx, x);
}
"""

TABLES = {"OCL201": OCL201, "OCL202": OCL202, "OCL203": OCL203, "OCL209": OCL209}


@pytest.mark.parametrize(("code", "chunk"), [row for code, text in TABLES.items() for row in cases(code, text)])
def test_host(code: str, chunk: str) -> None:
    verify(code, chunk)
