"""OCL101 to OCL105 in C and C++: commands that nothing orders."""

from __future__ import annotations

import pytest
from native_cases import cases, verify

OCL101 = r"""
// bad write then kernel
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, NULL);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL); // expect: OCL101
    clFinish(q);
}
// bad properties in a list
void f(HERE, float *h) {
    cl_queue_properties props[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    cl_int err;
    cl_command_queue q = clCreateCommandQueueWithProperties(ctx, dev, props, &err);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, &err);
    float zero = 0;
    err = clEnqueueFillBuffer(q, b, &zero, sizeof(zero), 0, n, 0, NULL, NULL);
    err |= clEnqueueReadBuffer(q, b, CL_TRUE, 0, n, h, 0, NULL, NULL); // expect: OCL101
}
// bad two queues
void f(HERE, const float *h) {
    cl_int err;
    cl_command_queue up = clCreateCommandQueue(ctx, dev, 0, &err), run = clCreateCommandQueue(ctx, dev, 0, &err);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, &err);
    err = clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    err = clEnqueueWriteBuffer(up, b, CL_FALSE, 0, n, h, 0, NULL, NULL);
    err = clEnqueueNDRangeKernel(run, k, 1, NULL, &n, NULL, 0, NULL, NULL); // expect: OCL101
    clFinish(up);
    clFinish(run);
}
// bad edge of another command is commented out
void f(HERE, const float *h, float *out) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_event ev;
    clSetKernelArg(k, 0, sizeof(b), (void *)&b);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, &ev);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &ev, NULL);
    clReleaseEvent(ev);
    clEnqueueReadBuffer(q, b, CL_TRUE, 0, n, out, 0, NULL, NULL); // expect: OCL101
}
// bad checking macro with an assignment
#define OCL_CHECK(error, call) call; if (error != CL_SUCCESS) exit(1)
void f(HERE, const float *h) {
    cl_int err;
    cl_command_queue q;
    cl_mem b;
    OCL_CHECK(err, q = clCreateCommandQueue(ctx, dev, OOO, &err));
    OCL_CHECK(err, b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, &err));
    OCL_CHECK(err, err = clSetKernelArg(k, 0, sizeof(cl_mem), &b));
    OCL_CHECK(err, err = clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, NULL));
    OCL_CHECK(err, err = clEnqueueTask(q, k, 0, NULL, NULL)); // expect: OCL101
    clFinish(q);
}
// bad a macro of the file wraps the enqueue
#define UPLOAD(queue, buffer, from, bytes) \
    do { \
        cl_int e_ = clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, bytes, from, 0, NULL, NULL); \
        if (e_) return; \
    } while (0)
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    UPLOAD(q, b, h, n);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL); // expect: OCL101
    clFinish(q);
}
// bad a wrapper takes a context first
void f(void *app, HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    hc_clSetKernelArg(app, k, 0, sizeof(cl_mem), &b);
    if (hc_clEnqueueWriteBuffer(app, q, b, CL_FALSE, 0, n, h, 0, NULL, NULL) == -1) return;
    if (hc_clEnqueueNDRangeKernel(app, q, k, 1, NULL, &n, NULL, 0, NULL, NULL) == -1) return; // expect: OCL101
    hc_clFinish(app, q);
}
// bad a helper function enqueues
static void upload(cl_command_queue queue, cl_mem to, const void *from, size_t bytes) {
    clEnqueueWriteBuffer(queue, to, CL_FALSE, 0, bytes, from, 0, NULL, NULL);
}
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    upload(q, b, h, n);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL); // expect: OCL101
    clFinish(q);
}
// bad members of a struct
struct state { cl_command_queue q; cl_mem b; cl_event done; };
void f(HERE, const float *h) {
    struct state s;
    s.q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    s.b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    struct state *p = &s;
    clSetKernelArg(k, 0, sizeof(cl_mem), &p->b);
    clEnqueueWriteBuffer(p->q, p->b, CL_FALSE, 0, n, h, 0, NULL, &p->done);
    clEnqueueNDRangeKernel(s.q, k, 1, NULL, &n, NULL, 0, NULL, NULL); // expect: OCL101
    clFinish(s.q);
    clReleaseEvent(s.done);
}
// bad the kernels are known
void f(HERE, const float *h) {
    cl_int err;
    cl_program program = clCreateProgramWithSource(ctx, 1, &source, NULL, &err);
    clBuildProgram(program, 1, &dev, NULL, NULL, NULL);
    cl_kernel twice = clCreateKernel(program, "twice", &err), load = clCreateKernel(program, "load", &err);
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, &err);
    cl_mem a = clCreateBuffer(ctx, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, n, (void *)h, &err);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, &err);
    clSetKernelArg(twice, 0, sizeof(cl_mem), &a);
    clSetKernelArg(load, 0, sizeof(cl_mem), &a);
    clSetKernelArg(load, 1, sizeof(cl_mem), &b);
    clEnqueueNDRangeKernel(q, twice, 1, NULL, &n, NULL, 0, NULL, NULL);
    clEnqueueNDRangeKernel(q, load, 1, NULL, &n, NULL, 0, NULL, NULL); // expect: OCL101
    clFinish(q);
}
// good the captured event of the write is in the wait list
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_event done;
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, &done);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &done, NULL);
    clReleaseEvent(done);
    clFinish(q);
}
// good the default queue is in-order
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, CL_QUEUE_PROFILING_ENABLE, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, NULL);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clFinish(q);
}
// good a queue that the caller made
void f(cl_command_queue q, HERE, cl_mem b, const float *h) {
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, NULL);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clFinish(q);
}
// good an array of events
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b[2];
    cl_event ev[2];
    for (int i = 0; i < 2; i++) {
        b[i] = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
        clSetKernelArg(k, i, sizeof(cl_mem), &b[i]);
        clEnqueueWriteBuffer(q, b[i], CL_FALSE, 0, n, h, 0, NULL, &ev[i]);
    }
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 2, ev, NULL);
    clFinish(q);
    for (int i = 0; i < 2; i++) clReleaseEvent(ev[i]);
}
// good the count is a variable
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_event events[4];
    cl_uint count = 0;
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, &events[count++]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, count, count ? events : NULL, NULL);
    clFinish(q);
    clReleaseEvent(events[0]);
}
// good a finish between
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, NULL);
    clFinish(q);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clFinish(q);
}
// good goto cleanup on errors
int f(HERE, const float *h) {
    cl_int err;
    cl_event done = NULL;
    cl_mem b = NULL;
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, &err);
    if (err != CL_SUCCESS) goto cleanup;
    b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, &err);
    if (!b) goto cleanup;
    err = clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    err = clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, &done);
    if (err) goto cleanup;
    err = clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &done, NULL);
cleanup:
    if (q) clFinish(q);
    if (done) clReleaseEvent(done);
    if (b) clReleaseMemObject(b);
    return err;
}
// good blocking through a constant of the file
#define BLOCKING CL_TRUE
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, b, BLOCKING, 0, n, h, 0, NULL, NULL);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clFinish(q);
}
// good the edge is behind a preprocessor branch of its own
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
#ifdef ASYNC
    cl_event done;
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, &done);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &done, NULL);
    clReleaseEvent(done);
#else
    clEnqueueWriteBuffer(q, b, CL_TRUE, 0, n, h, 0, NULL, NULL);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
#endif
    clFinish(q);
}
// good other objects, other ranges
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem a = clCreateBuffer(ctx, CL_MEM_READ_WRITE, 64, NULL, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    clEnqueueWriteBuffer(q, a, CL_FALSE, 0, 32, h, 0, NULL, NULL);
    clEnqueueWriteBuffer(q, a, CL_FALSE, 32, 32, h + 8, 0, NULL, NULL);
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clFinish(q);
}
// bad out-of-order where it can be
void f(HERE, const float *h) {
    cl_int err;
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, &err);
    if (err != CL_SUCCESS) q = clCreateCommandQueue(ctx, dev, 0, &err);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, NULL);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL); // expect: OCL101
    clFinish(q);
}
"""

OCL102 = r"""
// bad one of two events
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem a = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_event one, two;
    clSetKernelArg(k, 0, sizeof(cl_mem), &a);
    clSetKernelArg(k, 1, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, a, CL_FALSE, 0, n, h, 0, NULL, &one);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, &two);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &two, NULL); // expect: OCL102
    clFinish(q);
    clReleaseEvent(one);
    clReleaseEvent(two);
}
// bad the count is too small
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem a = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_event ev[2];
    clSetKernelArg(k, 0, sizeof(cl_mem), &a);
    clSetKernelArg(k, 1, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, a, CL_FALSE, 0, n, h, 0, NULL, &ev[0]);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, &ev[1]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, ev, NULL); // expect: OCL102
    clFinish(q);
    clReleaseEvent(ev[0]);
    clReleaseEvent(ev[1]);
}
// bad part of an array
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem a = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_event ev[2];
    clSetKernelArg(k, 0, sizeof(cl_mem), &a);
    clSetKernelArg(k, 1, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, a, CL_FALSE, 0, n, h, 0, NULL, ev);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, ev + 1);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, ev + 1, NULL); // expect: OCL102
    clFinish(q);
    clReleaseEvent(ev[0]);
    clReleaseEvent(ev[1]);
}
// bad events in a vector of three
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem a = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_mem c = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_event ev[3];
    clSetKernelArg(k, 0, sizeof(cl_mem), &a);
    clSetKernelArg(k, 1, sizeof(cl_mem), &b);
    clSetKernelArg(k, 2, sizeof(cl_mem), &c);
    clEnqueueWriteBuffer(q, a, CL_FALSE, 0, n, h, 0, NULL, &ev[0]);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, &ev[1]);
    clEnqueueWriteBuffer(q, c, CL_FALSE, 0, n, h, 0, NULL, &ev[2]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 2, &ev[1], NULL); // expect: OCL102
    clFinish(q);
    for (int i = 0; i < 3; i++) clReleaseEvent(ev[i]);
}
// bad the wait list names the event of before
void f(HERE, const float *h, float *out) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_event up, run;
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, &up);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &up, &run);
    clEnqueueReadBuffer(q, b, CL_TRUE, 0, n, out, 1, &up, NULL); // expect: OCL102
    clReleaseEvent(up);
    clReleaseEvent(run);
}
// bad two kernels, one event
void f(HERE, cl_kernel k2, float *out) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem a = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    float zero = 0;
    cl_event one, two;
    clEnqueueFillBuffer(q, a, &zero, 4, 0, n, 0, NULL, &one);
    clEnqueueFillBuffer(q, b, &zero, 4, 0, n, 0, NULL, &two);
    clEnqueueCopyBuffer(q, a, b, 0, 0, n, 1, &one, NULL); // expect: OCL102
    clFinish(q);
    clReleaseEvent(one);
    clReleaseEvent(two);
}
// good both events
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem a = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_event one, two;
    clSetKernelArg(k, 0, sizeof(cl_mem), &a);
    clSetKernelArg(k, 1, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, a, CL_FALSE, 0, n, h, 0, NULL, &one);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, &two);
    cl_event both[] = {one, two};
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 2, both, NULL);
    clFinish(q);
    clReleaseEvent(one);
    clReleaseEvent(two);
}
// good transitive
void f(HERE, const float *h, float *out) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_event up, run;
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, &up);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &up, &run);
    clEnqueueReadBuffer(q, b, CL_TRUE, 0, n, out, 1, &run, NULL);
    clReleaseEvent(up);
    clReleaseEvent(run);
}
// good the last event of an in-order queue is enough
float f(HERE, cl_mem a, cl_mem b) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, 0, NULL);
    float x[16], y[16];
    cl_event two;
    clEnqueueReadBuffer(q, a, CL_FALSE, 0, 64, x, 0, NULL, NULL);
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, 64, y, 0, NULL, &two);
    clWaitForEvents(1, &two);
    clReleaseEvent(two);
    return x[0] + y[0];
}
// good events from the caller
void f(cl_command_queue q, HERE, cl_mem b, cl_uint num, const cl_event *events, cl_event *done) {
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, num, events, done);
}
// good a loop fills the array
void f(HERE, const float *h, int parts) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_event *ev = (cl_event *)malloc(parts * sizeof(cl_event));
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    for (int i = 0; i < parts; i++)
        clEnqueueWriteBuffer(q, b, CL_FALSE, i * 64, 64, h + i * 16, 0, NULL, &ev[i]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, parts, ev, NULL);
    clFinish(q);
    for (int i = 0; i < parts; i++) clReleaseEvent(ev[i]);
    free(ev);
}
// good waited on the host in between
void f(HERE, const float *h) {
    cl_command_queue q = clCreateCommandQueue(ctx, dev, OOO, NULL);
    cl_mem a = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n, NULL, NULL);
    cl_event one, two;
    clSetKernelArg(k, 0, sizeof(cl_mem), &a);
    clSetKernelArg(k, 1, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, a, CL_FALSE, 0, n, h, 0, NULL, &one);
    clWaitForEvents(1, &one);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, NULL, &two);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &two, NULL);
    clFinish(q);
    clReleaseEvent(one);
    clReleaseEvent(two);
}
"""


@pytest.mark.parametrize(("code", "chunk"), [*cases("OCL101", OCL101), *cases("OCL102", OCL102)])
def test_device_order(code: str, chunk: str) -> None:
    verify(code, chunk)
