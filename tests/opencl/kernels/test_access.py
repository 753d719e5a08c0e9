"""Reads and writes of kernel parameters: r, w, rw, - (neither), ? (unknown); "r?" is read and perhaps written."""

from __future__ import annotations

import pytest

from kexec_lint.opencl.kernels import KernelParam, read_kernels

FIRST = {
    "p[0] = 1;": "w",
    "n = p[0];": "r",
    "p[0] += 1;": "rw",
    "p[0]++;": "rw",
    "--*p;": "rw",
    "*p = n;": "w",
    "*(p + n) = n;": "w",
    "(p)[n] = n;": "w",
    "p[n].x = n;": "w",
    "p->x = n;": "w",
    "n = p->x;": "r",
    ";": "-",
    "n = sizeof(*p);": "-",
    "n = (int)(p - p);": "-",
    "__global int *q = p + 3; q[n] = 1;": "w",
    "__global int *q = p; __global int *r = q; n = r[1];": "r",
    "__global int *q = &p[n]; *q++ = 1;": "w",
    "p += n; p[0] = 1;": "w",
    "__global int *q = (__global int *)p; q[0] = 1;": "w",
    "__global int *q = n ? p : p + 1; *q = 1;": "w",
    "__global int *q = n ? p : o; *q = 1;": "?",
    "{ __global int *q = o; n = q[0]; } { __global int *q = p; q[0] = 1; }": "w",
    "{ __global int *q = p; n = q[0]; } { __global int *q = o; q[0] = 1; }": "r",
    "if (n) p[0] = 1; else n = p[1];": "rw",
    "for (int i = 0; i < n; i++) p[i] = i;": "w",
    "n = n > 0 && p[n] > 0;": "r",
    "int a[2] = {p[0], 1}; a[0] = 1;": "r",
    "__global int *a[2] = {p, o}; a[0][1] = 1;": "?",
    "vstore4((int4)(1), n, p);": "w",
    "int4 v = vload4(0, p);": "r",
    "vstore_half_rte(1.0f, n, (__global half *)p);": "w",
    "atomic_add(p, 1);": "rw",
    "atom_inc(&p[n]);": "rw",
    "atomic_store((__global atomic_int *)p, 1);": "w",
    "n = atomic_load_explicit((__global atomic_int *)p, memory_order_relaxed, memory_scope_device);": "r",
    "event_t e = async_work_group_copy(l, p, n, 0);": "r",
    "event_t e = async_work_group_copy(p, l, n, 0);": "w",
    "prefetch(p, n);": "-",
    'printf("%d %p", p[0], p);': "r",
    "float f; fract(1.0f, (__global float *)p);": "w",
    "reader(p); ": "r",
    "writer(p, n);": "w",
    "through(p, n);": "w",
    "*same(p) = 1;": "w",
    "nobody_knows(p);": "?",
    "nobody_knows(p[0]);": "r?",
    "n = max(p[0], abs(n));": "r",
    "SWAP(p->x, n);": "r?",
    "HOLE p[n] = 1;": "?",
    "HOLE *p = 1;": "?",
    "n = 1; HOLE int q[2] = {1, 2}; p[0] = q[1];": "?w",
    "nobody_knows(&p[n]); p[0] = 1;": "?w",
    "pair.first = p;": "?",
    "ELEMENT(p, n) = 1;": "w",
    "STORE(p, n, 1);": "w",
    "GET(p);": "r",
    "recursive(p, n);": "?",
    "switch (n) { case 1: p[0] = 1; break; default: break; }": "w",
    "do { n += p[n]; } while (n < 3);": "r",
    "n = (p[0], 1);": "r",
    "p[p[0]] = 1;": "rw",
    "int4 v = ((__global int4 *)p)[0];": "r",
    "((__global int4 *)p)[0].s1 = 1;": "w",
    "x @ y p[0] = 1;": "?",
}

HELPERS = """
#define ELEMENT(q, i) q[i]
#define STORE(q, i, v) do { ELEMENT(q, i) = (v); } while (0)
#define GET(q) n = ELEMENT(q, 0)
int reader(__global const int *q) { return q[0]; }
void writer(__global int *q, int n) { q[n] = n; }
void through(__global int *a, int n) { __global int *b = a + 1; writer(b, n); }
__global int *same(__global int *q) { return q + 1; }
void recursive(__global int *q, int n) { if (n) recursive(q, n - 1); }
"""


def answer(param: KernelParam) -> str:
    """Return the access in the notation of the tables."""
    if param.reads is None and param.writes is None:
        return "?"
    return {
        (True, False): "r",
        (False, True): "w",
        (True, True): "rw",
        (False, False): "-",
        (True, None): "r?",
        (None, True): "?w",
        (None, False): "?-",
        (False, None): "-?",
    }[param.reads, param.writes]  # type: ignore[index]


@pytest.mark.parametrize("body", FIRST)
def test_first_parameter(body: str) -> None:
    text = f"{HELPERS}__kernel void k(__global int *p, __global int *o, __local int *l, int n)\n{{\n{body}\n}}\n"
    assert answer(read_kernels(text)["k"].params[0]) == FIRST[body]


SIGNATURES = {
    "__global const float * restrict a": ("a", "global", "float", None, True, "?"),
    "const __global float *a": ("a", "global", "float", None, True, "-"),
    "global float a[]": ("a", "global", "float", None, False, "-"),
    "__global float * const a": ("a", "global", "float", None, False, "-"),
    "__constant float4 *a": ("a", "constant", "float4", None, False, "-"),
    "__local double *a": ("a", "local", "double", None, False, "-"),
    "float a": ("a", "scalar", "float", 4, False, "-"),
    "const unsigned int a": ("a", "scalar", "uint", 4, True, "-"),
    "unsigned a": ("a", "scalar", "uint", 4, False, "-"),
    "long int a": ("a", "scalar", "long", 8, False, "-"),
    "uchar4 a": ("a", "scalar", "uchar4", 4, False, "-"),
    "float3 a": ("a", "scalar", "float3", 16, False, "-"),
    "double16 a": ("a", "scalar", "double16", 128, False, "-"),
    "half a": ("a", "scalar", "half", 2, False, "-"),
    "read_only image2d_t a": ("a", "image", "image2d_t", None, False, "-"),
    "__write_only image3d_t a": ("a", "image", "image3d_t", None, False, "-"),
    "image2d_array_t a": ("a", "image", "image2d_array_t", None, False, "-"),
    "sampler_t a": ("a", "sampler", "sampler_t", None, False, "-"),
    "read_only pipe int a": ("a", "pipe", "pipe int", None, False, "-"),
    "struct S a": ("a", "struct", "struct S", None, False, "-"),
    "T a": ("a", "struct", "struct", None, False, "-"),
    "real a": ("a", "scalar", "float", 4, False, "-"),
    "REAL a": ("a", "scalar", "double", 8, False, "-"),
    "GLOBAL real *a": ("a", "global", "float", None, False, "-"),
    "enum E a": ("a", "scalar", "enum E", 4, False, "-"),
    "mystery a": ("a", "unknown", "mystery", None, False, "?"),
    "MEMORY float *a": ("a", "unknown", "MEMORY float", None, False, "-"),
    "__global float *RESTRICT a": None,
    "PARAMETERS": None,
    "float f, hole": None,
}
TYPES = """
typedef struct { float x; } T;
typedef float real;
#define REAL double
#define GLOBAL __global
"""


@pytest.mark.parametrize("written", SIGNATURES)
def test_signature(written: str) -> None:
    kernel = read_kernels(f"{TYPES}kernel void k({written}) {{ ; }}")["k"]
    expected = SIGNATURES[written]
    if expected is None:
        assert not kernel.signature_known
        return
    name, kind, type_name, size, const, access = expected
    (param,) = kernel.params
    assert (param.name, param.kind, param.size, param.const) == (name, kind, size, const)
    assert param.type == type_name or (kind == "struct" and param.type.startswith("struct"))
    assert kernel.signature_known == (kind != "unknown")
    assert access == "?" or answer(param) == access


IMAGES = {
    "read_only image2d_t i": ("float4 v = read_imagef(i, s, (float2)(0));", "r"),
    "write_only image2d_t i": ("write_imagef(i, (int2)(0), (float4)(0));", "w"),
    "read_write image2d_t i": ("write_imagef(i, (int2)(0), read_imagef(i, (int2)(0)));", "rw"),
    "image2d_t i": ("int w = get_image_width(i);", "-"),
    "image3d_t i": ("unseen(i);", "?-"),
}


@pytest.mark.parametrize("declared", IMAGES)
def test_images(declared: str) -> None:
    body, expected = IMAGES[declared]
    kernel = read_kernels(f"__kernel void k({declared}, sampler_t s) {{ {body} }}")["k"]
    assert answer(kernel.params[0]) == expected


def test_atomic_only() -> None:
    text = "__kernel void k(__global int *a, __global int *b) { atomic_inc(a); atomic_inc(b); b[1] = 0; }"
    a, b = read_kernels(text)["k"].params
    assert (a.atomic_only, b.atomic_only) == (True, False)


def test_const_is_not_written_even_if_it_goes_where_nobody_sees() -> None:
    (param,) = read_kernels("__kernel void k(__global const int *a) { unseen(a); }")["k"].params
    assert (param.reads, param.writes) == (None, False)
