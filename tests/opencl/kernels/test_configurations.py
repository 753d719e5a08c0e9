"""Preprocessing: branches that the text does not decide, macros, offsets that lead back to the author's text."""

from __future__ import annotations

import pytest

from kexec_lint.opencl.kernels import read_kernels
from kexec_lint.opencl.kernels.condition import evaluate
from kexec_lint.opencl.kernels.source import configurations


def accesses(text: str, kernel: str = "k") -> list[tuple[str, bool | None, bool | None]]:
    return [(param.name, param.reads, param.writes) for param in read_kernels(text)[kernel].params]


def test_branches_that_disagree_give_unknown() -> None:
    text = """
__kernel void k(__global int *a, __global int *b) {
#ifdef STORE
    a[0] = 1;
#else
    int x = a[0];
#endif
    b[0] = 1;
}"""
    assert accesses(text) == [("a", None, None), ("b", False, True)]


def test_the_same_condition_is_the_same_choice() -> None:
    text = """
#ifdef DOUBLE
typedef double real;
#else
typedef float real;
#endif
__kernel void k(__global real *a,
#if defined(DOUBLE)
    double x
#else
    float x
#endif
) { a[0] = x; }"""
    kernel = read_kernels(text)["k"]
    assert [param.name for param in kernel.params] == ["a", "x"]
    assert kernel.params[0].writes is True
    assert kernel.params[1].size is None


def test_every_branch_is_seen_also_inside_others() -> None:
    text = """
__kernel void k(__global int *a, __global int *b, __global int *c, __global int *d) {
#if MODE == 1
    a[0] = 1;
#elif MODE == 2
    b[0] = 1;
#else
#  ifdef DEEP
    c[0] = 1;
#  else
    d[0] = 1;
#  endif
#endif
}"""
    assert accesses(text) == [(name, False, None) for name in "abcd"]


def test_decided_branches() -> None:
    text = """
#define N 4
#if N > 2 && !defined(NEVER_MIND) || 1
#define WRITE(p) p[0] = 1
#else
#define WRITE(p)
#endif
#if 0
broken {{{
#endif
__kernel void k(__global int *a) { WRITE(a); }"""
    kernel = read_kernels(text)["k"]
    assert kernel.complete
    assert accesses(text) == [("a", False, True)]


def test_a_default_is_taken() -> None:
    text = "#ifndef T\n#define T float\n#endif\n__kernel void k(__global T *a, T x) { a[0] = x; }"
    kernel = read_kernels(text)["k"]
    assert kernel.complete
    assert (kernel.params[1].type, kernel.params[1].size) == ("float", 4)


def test_kernels_made_by_macros() -> None:
    text = """
#define KERNEL(name, op) __kernel void name##_##op(__global int *a) { a[0] op##_is 1; }
#define add_is +=
#define set_is =
KERNEL(do, add)
KERNEL(do, set)
#define ENTRY __kernel void
ENTRY plain(__global int *a) { }"""
    assert accesses(text, "do_add") == [("a", True, True)]
    assert accesses(text, "do_set") == [("a", False, True)]
    assert accesses(text, "plain") == [("a", False, False)]


def test_a_text_that_does_not_balance_costs_one_kernel() -> None:
    text = "__kernel void a(__global int *x) { if (1) { x[0] = 1; \n__kernel void b(__global int *x) { x[0] = 1; }"
    kernels = read_kernels(text)
    assert (kernels["a"].complete, kernels["b"].complete) == (False, True)
    assert kernels["b"].params[0].reads is False


def test_templates_are_unknown() -> None:
    text = "__kernel void k(__global int *a, __global int *b) {\n% for i in range(3):\n a[${i}] = 1;\n% endfor\n}"
    kernel = read_kernels(text)["k"]
    assert not kernel.complete
    assert kernel.params[1].writes is None


@pytest.mark.parametrize(
    "text",
    [
        "__kernel void k(__global int *a) { barrier(CLK_GLOBAL_MEM_FENCE); }",
        "/* é */ __kernel\nvoid k(__global int *a) // ünï\n{ barrier(CLK_GLOBAL_MEM_FENCE); }",
        "#define X 1\r\n__kernel void k(__global int *a)\r\n{ a[X] = X; barrier(CLK_GLOBAL_MEM_FENCE); }",
        "#define LONG(a, b) a + b + a\nint x = LONG(1, 2);\n__kernel void k() { barrier(CLK_GLOBAL_MEM_FENCE); }",
    ],
)
def test_offsets(text: str) -> None:
    kernel = read_kernels(text)["k"]
    assert text[slice(*kernel.name_span)] == "k"
    assert text[slice(*kernel.span)].startswith("__kernel")
    assert text[slice(*kernel.span)].endswith("}")
    (barrier,) = kernel.barriers
    assert text[slice(*barrier.span)] == "barrier(CLK_GLOBAL_MEM_FENCE)"
    assert kernel.ends_with_global_barrier


def test_a_macro_counts_as_a_whole() -> None:
    text = "#define SYNC barrier(CLK_LOCAL_MEM_FENCE)\n__kernel void k() { SYNC; }"
    (barrier,) = read_kernels(text)["k"].barriers
    assert text[slice(*barrier.span)] == "SYNC"
    assert barrier.fences == {"local"}


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("__attribute__((reqd_work_group_size(64, 2, 1)))", (64, 2, 1)),
        ("__attribute__((vec_type_hint(float4), reqd_work_group_size(8,8,1)))", (8, 8, 1)),
        ("__attribute__((reqd_work_group_size(WIDTH, 1, 1)))", (32, 1, 1)),
        ("__attribute__((reqd_work_group_size(UNSET, 1, 1)))", None),
        ("__attribute__((work_group_size_hint(64, 1, 1)))", None),
        ("", None),
    ],
)
def test_required_size(attribute: str, expected: tuple[int, int, int] | None) -> None:
    for text in (f"__kernel {attribute} void k(int n) {{}}", f"{attribute}\n__kernel void k(int n) {{}}"):
        assert read_kernels("#define WIDTH 32\n" + text)["k"].required_work_group_size == expected


@pytest.mark.parametrize(
    ("condition", "truth"),
    [
        ("1", True),
        ("0x10 == 16 && 010 == 8", True),
        ("defined(A)", True),
        ("defined B", None),
        ("!defined(GONE)", True),
        ("A > 3 ? 0 : 1", False),
        ("B && 0", False),
        ("B || 1", True),
        ("B > 2", None),
        ("(1 << 3) % 5 == 3", True),
        ("1 / 0", None),
        ("~", None),
        ("A(", None),
        ("(" * 500, None),
    ],
)
def test_condition(condition: str, truth: bool | None) -> None:
    known = {"A": "4", "GONE": False}
    assert evaluate(condition, lambda name: known.get(name), {}) is truth


def test_macros_that_explode_end_soon() -> None:
    lines = ["#define M0 x"] + [f"#define M{i} M{i - 1} M{i - 1} M{i - 1} M{i - 1}" for i in range(1, 40)]
    text = "\n".join(lines) + "\n__kernel void k(__global int *a) { M39; }"
    assert read_kernels(text) == {}


def test_few_configurations() -> None:
    text = "".join(f"#ifdef C{i}\nint a{i};\n#else\nint b{i};\n#endif\n" for i in range(50))
    seen = list(configurations(text))
    assert len(seen) == 2
    assert seen[-1][1]
