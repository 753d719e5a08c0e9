"""OCL304, OCL305, OCL306 in C: the life of events and what may stand in a wait list."""

from __future__ import annotations

import pytest
from native_cases import cases, verify

OCL304 = r"""
// bad never released
void f(cl_command_queue q, HERE) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev); // expect: OCL304
    clWaitForEvents(1, &ev);
}
// bad overwritten
void f(cl_command_queue q, HERE) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev); // expect: OCL304
    clReleaseEvent(ev);
}
// bad overwritten in a loop
void f(cl_command_queue q, HERE, int times) {
    cl_event ev = NULL;
    for (int i = 0; i < times; i++) {
        clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev); // expect: OCL304
        clWaitForEvents(1, &ev);
    }
    clReleaseEvent(ev);
}
// bad an event of a loop body
void f(cl_command_queue q, HERE, int times) {
    for (int i = 0; i < times; i++) {
        cl_event ev;
        clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev); // expect: OCL304
        clWaitForEvents(1, &ev);
    }
}
// bad an element of an array is overwritten
void f(cl_command_queue q, HERE) {
    cl_event ev[2];
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev[0]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev[0]); // expect: OCL304
    clWaitForEvents(1, ev);
    clReleaseEvent(ev[0]);
}
// bad one of an array is left
void f(cl_command_queue q, HERE) {
    cl_event ev[2];
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev[0]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev[1]); // expect: OCL304
    clWaitForEvents(2, ev);
    clReleaseEvent(ev[0]);
}
// good released
void f(cl_command_queue q, HERE) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    clWaitForEvents(1, &ev);
    clReleaseEvent(ev);
}
// good released in a loop
void f(cl_command_queue q, HERE, int parts) {
    cl_event ev[8];
    for (int i = 0; i < parts; i++) clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev[i]);
    clWaitForEvents(parts, ev);
    for (int i = 0; i < parts; i++) clReleaseEvent(ev[i]);
}
// good given to the caller
void f(cl_command_queue q, HERE, cl_event *done) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    *done = ev;
}
// good kept in a struct of the caller
struct job { cl_event last; };
void f(cl_command_queue q, HERE, struct job *j) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    j->last = ev;
}
// good a helper releases it
static void done_with(cl_event e) { clWaitForEvents(1, &e); clReleaseEvent(e); }
void f(cl_command_queue q, HERE) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    done_with(ev);
}
// good a function that cannot be seen gets it
void f(cl_command_queue q, HERE) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    profile_and_release(&ev);
}
// good a global keeps it
static cl_event last;
void f(cl_command_queue q, HERE) {
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &last);
}
// good released before the next one
void f(cl_command_queue q, HERE, int times) {
    cl_event ev;
    for (int i = 0; i < times; i++) {
        clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
        clWaitForEvents(1, &ev);
        clReleaseEvent(ev);
    }
}
// good a chain that releases the event of before
void f(cl_command_queue q, HERE, int times) {
    cl_event before = NULL, ev;
    for (int i = 0; i < times; i++) {
        clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, before ? 1 : 0, before ? &before : NULL, &ev);
        if (before) clReleaseEvent(before);
        before = ev;
    }
    if (before) clReleaseEvent(before);
}
// good released behind a goto
int f(cl_command_queue q, HERE) {
    cl_event ev = NULL;
    cl_int err = clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    if (err != CL_SUCCESS) goto out;
    err = clWaitForEvents(1, &ev);
out:
    if (ev) clReleaseEvent(ev);
    return err;
}
// good an array whose length is not known, released in a loop
void send(cl_command_queue q, cl_mem b, void *p, size_t n, cl_event *sent, cl_event *done) {
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, p, 0, NULL, sent);
    clEnqueueReadBuffer(q, b, CL_FALSE, 0, n, p, 1, sent, done);
}
void f(cl_command_queue q, cl_mem *b, char *p, size_t n, int runs) {
    int blocks = n / 64, i;
    cl_event sent[blocks], done[blocks];
    for (int r = 0; r < runs; r++) {
        for (i = 0; i < blocks; i++) {
            size_t size = 64;
            if (i == blocks - 1) {
                size = n % 64;
                if (size % 8 != 0)
                    size = 8;
            }
            send(q, b[i], p, size, &sent[i], &done[i]);
        }
        clFinish(q);
        for (i = 0; i < blocks; i++) {
            clReleaseEvent(sent[i]);
            clReleaseEvent(done[i]);
        }
    }
}
// bad an array whose length is not known, and nothing is released
void send(cl_command_queue q, cl_mem b, void *p, size_t n, cl_event *sent) {
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, p, 0, NULL, sent); // expect: OCL304
}
void f(cl_command_queue q, cl_mem *b, char *p, size_t n, int runs) {
    int blocks = n / 64, i;
    cl_event sent[blocks];
    for (int r = 0; r < runs; r++) {
        for (i = 0; i < blocks; i++)
            send(q, b[i], p, 64, &sent[i]);
        clFinish(q);
    }
}
// good released by a function that goes over more of them than a loop is followed
int done(cl_event *events, int count) {
    if (clWaitForEvents(count, events) != CL_SUCCESS)
        return -1;
    for (int i = 0; i < count; ++i)
        clReleaseEvent(events[i]);
    return 0;
}
int f(cl_command_queue q, HERE) {
    cl_event events[8];
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &events[0]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &events[1]);
    if (done(events, 2))
        return -1;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &events[0]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &events[1]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &events[2]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &events[3]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &events[4]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &events[5]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &events[6]);
    return done(events, 7);
}
"""

OCL305 = r"""
// bad waited for
void f(cl_command_queue q, HERE) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    clReleaseEvent(ev);
    clWaitForEvents(1, &ev); // expect: OCL305
}
// bad in a wait list
void f(cl_command_queue q, HERE) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    clReleaseEvent(ev);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &ev, NULL); // expect: OCL305
}
// bad released twice
void f(cl_command_queue q, HERE) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    clReleaseEvent(ev);
    clFinish(q);
    clReleaseEvent(ev); // expect: OCL305
}
// bad through a copy
void f(cl_command_queue q, HERE) {
    cl_event ev, same;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    same = ev;
    clReleaseEvent(ev);
    clWaitForEvents(1, &same); // expect: OCL305
}
// bad an element of an array
void f(cl_command_queue q, HERE) {
    cl_event ev[2];
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev[0]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev[1]);
    clReleaseEvent(ev[0]);
    clWaitForEvents(2, ev); // expect: OCL305
    clReleaseEvent(ev[1]);
}
// bad a helper has released it
static void drop(cl_event e) { clReleaseEvent(e); }
void f(cl_command_queue q, HERE) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    drop(ev);
    clWaitForEvents(1, &ev); // expect: OCL305
}
// good after the last use
void f(cl_command_queue q, HERE) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &ev, NULL);
    clReleaseEvent(ev);
}
// good retained
void f(cl_command_queue q, HERE) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    clRetainEvent(ev);
    clReleaseEvent(ev);
    clWaitForEvents(1, &ev);
    clReleaseEvent(ev);
}
// good the variable holds another event by then
void f(cl_command_queue q, HERE) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    clReleaseEvent(ev);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    clWaitForEvents(1, &ev);
    clReleaseEvent(ev);
}
// good released on a path that returns
void f(cl_command_queue q, HERE, int early) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    if (early) {
        clReleaseEvent(ev);
        return;
    }
    clWaitForEvents(1, &ev);
    clReleaseEvent(ev);
}
// good released in one branch, used in the other
void f(cl_command_queue q, HERE, int quiet) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ev);
    if (quiet) {
        clReleaseEvent(ev);
    } else {
        clWaitForEvents(1, &ev);
        clReleaseEvent(ev);
    }
}
// good an event of the caller
void f(cl_event ev) {
    clWaitForEvents(1, &ev);
    clReleaseEvent(ev);
}
"""

OCL306 = r"""
// bad a count without events
void f(cl_command_queue q, HERE) {
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, NULL, NULL); // expect: OCL306
}
// bad events without a count
void f(cl_command_queue q, HERE, cl_mem b, const float *h) {
    cl_event ev;
    clEnqueueWriteBuffer(q, b, CL_TRUE, 0, n, h, 0, NULL, &ev);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, &ev, NULL); // expect: OCL306
    clReleaseEvent(ev);
}
// bad its own event
void f(cl_command_queue q, HERE, cl_event ev) {
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &ev, &ev); // expect: OCL306
}
// bad never assigned
void f(cl_command_queue q, HERE) {
    cl_event ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &ev, NULL); // expect: OCL306
}
// bad a count beyond the array
void f(cl_command_queue q, HERE, cl_event a, cl_event b) {
    cl_event both[] = {a, b};
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 3, both, NULL); // expect: OCL306
}
// bad an element that nothing wrote
void f(cl_command_queue q, HERE, cl_mem b, const float *h) {
    cl_event ev[2];
    clEnqueueWriteBuffer(q, b, CL_TRUE, 0, n, h, 0, NULL, &ev[0]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 2, ev, NULL); // expect: OCL306
    clReleaseEvent(ev[0]);
}
// good nothing
void f(cl_command_queue q, HERE) {
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
}
// good one
void f(cl_command_queue q, HERE, cl_event ev) {
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &ev, NULL);
}
// good the caller's
void f(cl_command_queue q, HERE, cl_uint num, const cl_event *events) {
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, num, events, NULL);
}
// good none or one
void f(cl_command_queue q, HERE, cl_event ev) {
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, ev ? 1 : 0, ev ? &ev : NULL, NULL);
}
// good a function that cannot be seen fills it
void f(cl_command_queue q, HERE, cl_mem b) {
    cl_event ev;
    upload_elsewhere(q, b, &ev);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &ev, NULL);
    clReleaseEvent(ev);
}
// good written under an index that is not known
void f(cl_command_queue q, HERE, cl_mem b, const float *h, int at) {
    cl_event ev[2];
    clEnqueueWriteBuffer(q, b, CL_TRUE, 0, n, h, 0, NULL, &ev[at]);
    clEnqueueWriteBuffer(q, b, CL_TRUE, 0, n, h, 0, NULL, &ev[1 - at]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 2, ev, NULL);
    clReleaseEvent(ev[0]);
    clReleaseEvent(ev[1]);
}
// good another event for the result
void f(cl_command_queue q, HERE, cl_event before, cl_event *after) {
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &before, after);
}
"""

OCL308 = r"""
// bad nothing was enqueued before
void f(cl_command_queue q, HERE) {
    cl_event last = NULL, ev;
    for (int i = 0; i < 2; i++) {
        clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &last, &ev); // expect: OCL308
        clFinish(q);
        clReleaseEvent(ev);
    }
}
// good there is one
void f(cl_command_queue q, HERE) {
    cl_event last = NULL, ev;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &last);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &last, &ev);
    clFinish(q);
    clReleaseEvent(last);
    clReleaseEvent(ev);
}
// good the count leaves out the one that is NULL
void f(cl_command_queue q, HERE, cl_event first, cl_event *second) {
    cl_uint more = second != NULL ? 1 : 0;
    cl_event events[] = { first, second != NULL ? *second : NULL };
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1 + more, events, NULL);
    clFinish(q);
}
"""

TABLES = {"OCL304": OCL304, "OCL305": OCL305, "OCL306": OCL306, "OCL308": OCL308}


@pytest.mark.parametrize(("code", "chunk"), [row for code, text in TABLES.items() for row in cases(code, text, 1)])
def test_events(code: str, chunk: str) -> None:
    verify(code, chunk)
