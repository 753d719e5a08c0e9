"""Damaged kernel texts never raise and never take long."""

from __future__ import annotations

import time

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kexec_lint.opencl.checks.kernel_barriers import kernel_issues
from kexec_lint.opencl.kernels import Kernel, read_kernels

SEED = """
#define N 4
#define AT(p, i) ((p)[(i) % N])
#ifdef FAST
#define LOAD(p) p[0]
#else
#define LOAD(p) AT(p, 1)
#endif
typedef struct { float x; int n; } Cell;
float helper(__global const float *a, __local float *t, int i) {
    t[i] = a[i];
    return t[i ^ 1] > 0 ? a[i] : LOAD(a);
}
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void first(__global float *restrict v, __global Cell *cells, __local float *tile, const int n,
    read_only image2d_t im)
{
    int g = get_global_id(0), l = get_local_id(0);
    if (g >= n) return;
    for (int s = get_local_size(0) / 2; s > 0; s >>= 1) {
        if (l < s) tile[l] += tile[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    v[g] = helper(v, tile, l);
    barrier(CLK_GLOBAL_MEM_FENCE);
    do { cells[g].n += (int)v[g - 1]; } while (cells[n].x == 0);
    switch (n) { case 1: vstore4((float4)(1, 2, 3, 4), g, v); break; default: atomic_add(&cells[0].n, 1); }
}
kernel void second(global int *a) { while (1) { if (a[0]) break; a[get_group_id(0)] = 1; } }
"""
PIECES = [
    *"{}()[];,*&#'?:\n\0é",
    *('"', "\\\n", "/*", "*/", "//", "##", "#if", "%s", "{{ x }}", "${y}", "1e", "0x", "barrier(", "__kernel "),
    *("\n#if 1\n", "\n#else\n", "\n#endif\n", "\n#ifdef X\n", "\n#define v v v\n", "\n#define n(n) n(n)\n"),
    *("goto x; x:", "for (;;) ", "__attribute__(("),
]
SECONDS = 5.0
"""Far more than any text of this size needs, and far less than a hang."""


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = SEED
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(text)))
        length = draw(st.sampled_from([0, 0, 1, 3, 20, 200]))
        piece = draw(st.one_of(st.sampled_from(PIECES), st.just(text[at : at + 60])))
        text = text[:at] + piece + text[at + length :]
    return text


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged())
@example("__kernel void k(" + "(" * 5000)
@example("__kernel void k(int a) {" + "if (a) {" * 2000)
@example("__kernel void k(int a) { a = " + "-" * 3000 + "a; }")
@example("__kernel void k(int a) { a = " + "(" * 3000 + "a" + ")" * 3000 + "; }")
@example("__kernel void k(int a) { a = " + "a + " * 20000 + "a; }")
@example("__kernel void k(int a) { " + "for (;;) " * 300 + "a++; }")
@example("__kernel void k(int a) { " + "a *= a + get_global_id(0); " * 300 + "}")
@example("#define A B\n#define B A\n__kernel void k(A a, __global B *b) { b[A] = B; }")
@example("#define F(x) F(F(x)) F(x)\n__kernel void k() { " + "F(" * 40 + ")" * 40 + "; }")
@example("#if 1\n" * 3000 + "__kernel void k() {}")
@example(
    "    t[i]__global const float *a, __local float *t, int i) {\n"
    "__kernel __attribute__((reqd_work_group_size(64, 1, 1)))\nvoid first(__global float *restrict v,"
    " __global Cell *cells, __local float *tile, const int n,\n    read_only image2d_t im)\n{\nkernel vo"
)
def test_no_text_raises_or_hangs(text: str) -> None:
    start = time.perf_counter()
    kernels = read_kernels(text)
    issues = kernel_issues(text)
    assert time.perf_counter() - start < SECONDS
    assert all(
        isinstance(kernel, Kernel) and 0 <= kernel.span[0] <= kernel.span[1] <= len(text) for kernel in kernels.values()
    )
    assert all(0 <= issue.span[0] <= issue.span[1] <= len(text) for issue in issues)


def test_the_seed_itself() -> None:
    assert set(read_kernels(SEED)) == {"first", "second"}
    assert [issue.code for issue in kernel_issues(SEED)] == ["OCL401", "OCL402", "OCL401"]
