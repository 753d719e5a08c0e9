"""C and C++ to the host program, as tables of source and what it lowers to."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kexec_lint.opencl import program as p
from kexec_lint.opencl.frontend.c import lower
from kexec_lint.source import Source


def shown(value: p.Value | None) -> str:
    """Return a value as short text."""
    match value:
        case None:
            return "-"
        case p.Const(value=constant):
            return repr(constant)
        case p.Name(id=name):
            return name
        case p.Attr(base=base, name=name):
            return f"{shown(base)}.{name}"
        case p.Item(base=base, index=index):
            return f"{shown(base)}[{shown(index)}]"
        case p.Call(func=func, args=args):
            return f"{shown(func)}({', '.join(shown(a.value) for a in args)})"
        case p.Seq(items=items):
            return "{" + ", ".join(map(shown, items)) + "}"
        case p.Operation(op=op, operands=parts):
            return f"({op} {' '.join(map(shown, parts))})"
        case p.Bind(target=target, value=inner):
            return f"({shown(target)} := {shown(inner)})"
        case p.Choice(test=test, then=then, orelse=orelse):
            return f"({shown(test)} ? {shown(then)} : {shown(orelse)})"
        case p.Lambda(params=params, body=body):
            return f"[{', '.join(one.name for one in params)} => {block(body)}]"
        case p.Opaque(kind=kind, parts=parts):
            return f"<{kind} {' '.join(map(shown, parts))}>"
    return type(value).__name__


def block(body: Iterable[p.Statement]) -> str:
    """Return statements as short text."""
    return "; ".join(map(statement, body))


def statement(node: p.Statement) -> str:
    """Return a statement as short text."""
    match node:
        case p.Assign(targets=targets, value=value, type=type_):
            head = f"{type_} " if type_ else ""
            return head + " = ".join([*map(shown, targets), *([] if value is None else [shown(value)])])
        case p.AugAssign(target=target, op=op, value=value):
            return f"{shown(target)} {op}= {shown(value)}"
        case p.Evaluate(value=value):
            return shown(value)
        case p.Return(value=value):
            return f"return {shown(value)}"
        case p.If(test=test, then=then, orelse=orelse):
            return f"if {shown(test)} {{{block(then)}}}" + (f" else {{{block(orelse)}}}" if orelse else "")
        case p.Loop(test=test, iter=source, target=target, body=body, step=step, test_last=last):
            head = (
                f"for {shown(target)} in {shown(source)}" if source else f"{'do ' if last else ''}while {shown(test)}"
            )
            return f"{head} {{{block(body)}}}" + (f" step {{{block(step)}}}" if step else "")
        case p.Jump(kind=kind, label=label):
            return f"{kind} {label}" if label else kind
        case p.Label(name=name):
            return f"{name}:"
        case p.Block(body=body):
            return f"{{{block(body)}}}"
        case p.Delete(targets=targets):
            return f"delete {', '.join(map(shown, targets))}"
        case p.Raise(value=value):
            return f"throw {shown(value)}"
        case p.Try(body=body, handlers=handlers):
            return f"try {{{block(body)}}}" + "".join(f" catch {{{block(inner)}}}" for _, _, inner in handlers)
    return type(node).__name__


def lowered(text: str, suffix: str) -> p.Module:
    return lower(Source(f"a{suffix}", text, text.encode()))


STATEMENTS = [
    ("cl_event ev;", "cl_event ev"),
    ("cl_event ev[2], *p = &ev[0];", "cl_event[] ev; cl_event* p = (address ev[0])"),
    ("static const float zero = 0.5f;", "static float zero = 0.5"),
    ("size_t n = 0x10UL, m = 010;", "size_t n = 16; size_t m = 8"),
    ("a->b.c[i] = *p;", "a.b.c[i] = (deref p)"),
    ("err |= f(x);", "err |= f(x)"),
    ("i++; --j;", "i += 1; j -= 1"),
    ("g(n++, ++m);", "g((post+ n), (m := (+ m 1)))"),
    ("CHECK(err, err = f());", "(checked err (err := f()))"),
    ("CHECK(f(), \"f\");", "(checked f() 'f')"),
    ("assert(f() == 0);", "(checked (== f() 0))"),
    ("LOG(\"x\");", "LOG('x')"),
    ("x = (float *)malloc(n);", "x = (cast 'float*' malloc(n))"),
    ("x = sizeof(cl_mem) + sizeof y;", "x = (+ sizeof('cl_mem') sizeof('y'))"),
    ("const char *s = \"a\" \"b\\n\";", "char* s = 'ab\\n'"),
    ("cl_event w[] = {a, b};", "cl_event[] w = {a, b}"),
    ("if (a) f(); else if (b) g(); else h();", "if a {f()} else {if b {g()} else {h()}}"),
    ("for (int i = 0; i < n; i++) f(i);", "{int i = 0; while (< i n) {f(i)} step {i += 1}}"),
    ("while (n--) f();", "while (post- n) {f()}"),
    ("do { f(); } while (n);", "do while n {f()}"),
    ("goto out; f(); out: g();", "goto out; f(); out:; g()"),
    ("x = a ? b : c;", "x = (a ? b : c)"),
    ("f(), g();", "f(); g()"),
    ("return a && b || !c;", "return (or (and a b) (not c))"),
    ("(*table->clFinish)(q);", "table.clFinish(q)"),
    ("switch (x) { case 1: f(); break; case 2: case 3: g(); break; default: h(); }",
     "if (== x 1) {f()} else {if (or (== x 2) (== x 3)) {g()} else {h()}}"),
    ("switch (x) { case 1: f(); case 2: g(); }", "if (== x 1) {f(); g()} else {if (== x 2) {g()}}"),
    ("switch (x) { case 1: if (y) break; f(); }", "do while False {if (== x 1) {if y {break}; f()}}"),
    ("\n#ifdef A\nf();\n#else\ng();\n#endif\n", "if #A {f()} else {g()}"),
    ("\n#ifndef A\nf();\n#endif\n", "if #A {} else {f()}"),
    ("\n#if 0\nf();\n#endif\ng();", "g()"),
    ("\n#ifdef __cplusplus\nf();\n#else\ng();\n#endif\n", "g()"),
    ("GET_TIME(x)\nf();", "GET_TIME(x); f()"),
]  # fmt: skip

CPP = [
    ("cl::CommandQueue q(context, device);", "cl::CommandQueue q = cl::CommandQueue(context, device)"),
    ("cl::Kernel k{program, \"x\"};", "cl::Kernel k = cl::Kernel(program, 'x')"),
    ("auto b = cl::Buffer(c, f, n);", "auto b = cl::Buffer(c, f, n)"),
    ("OCL_CHECK(err, cl::Buffer b(c, f, n, h.data(), &err));",
     "cl::Buffer b = cl::Buffer(c, f, n, h.data(), (address err))"),
    ("OCL_CHECK(err, err = q.enqueueTask(k));", "(checked err (err := q.enqueueTask(k)))"),
    ("std::vector<cl::Event> ev(2), &r = ev;",
     "std::vector<cl::Event> ev = std::vector<cl::Event>(2); std::vector<cl::Event>& r = ev"),
    ("auto x = dev.getInfo<CL_DEVICE_NAME>(&err);", "auto x = dev.getInfo((address err))"),
    ("for (auto &e : ev) e.wait();", "for e in ev {e.wait()}"),
    ("auto [a, b] = f();", "auto {} = f()".replace("{}", "{a, b}")),
    ("delete[] h; delete p;", "delete h; delete p"),
    ("float *h = new float[n];", "float* h = new[]('float', n)"),
    ("T *h = new T(1);", "T* h = (new T(1))"),
    ("x = static_cast<int>(y);", "x = (cast 'static_cast<int>' y)"),
    ("f(std::move(x));", "f(x)"),
    ("auto g = [&](int i) { return i; };", "auto g = [i => return i]"),
    ("try { f(); } catch (cl::Error &e) { g(); }", "f()"),
    ("if (auto it = f(); it != 0) g();", "auto it = f(); if (!= it 0) {g()}"),
    ("throw x;", "throw x"),
    ("const char *s = R\"CLC(a\"b)CLC\";", "char* s = 'a\"b'"),
    ("int n = 1'000;", "int n = 1000"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), STATEMENTS)
def test_c(text: str, expected: str) -> None:
    (function,) = lowered(f"void f(void) {{{text}}}\n", ".c").body
    assert isinstance(function, p.Function)
    assert block(function.body) == expected


@pytest.mark.parametrize(("text", "expected"), CPP)
def test_cpp(text: str, expected: str) -> None:
    (function,) = lowered(f"void f() {{{text}}}\n", ".cpp").body
    assert isinstance(function, p.Function)
    assert block(function.body) == expected


def test_macro_that_wraps_an_enqueue_is_expanded() -> None:
    text = (
        "#define RUN(q, k, n) do { if (clEnqueueTask(q, k, n, NULL, NULL)) return; } while (0)\n"
        "void f(void) { RUN(queue, kernels[0], 0); }\n"
    )
    (function,) = lowered(text, ".c").body
    assert isinstance(function, p.Function)
    expected = "do while 0 {if clEnqueueTask(queue, kernels[0], 0, None, None) {return -}}"
    assert block(function.body) == expected
    assert {one.span.row for one in function.body} == {2}


def test_constant_macros_are_read_in_place() -> None:
    (function,) = lowered("#define N 4\n#define M (N * 2)\nint f(void) { return M; }\n", ".c").body
    assert isinstance(function, p.Function)
    assert block(function.body) == "return (* 4 2)"


def test_methods_outside_their_class() -> None:
    text = (
        "class A { public: A(); void run(int); static int s(); cl::CommandQueue q; };\n"
        "A::A() : q(context, device) {}\nvoid A::run(int n) { q.finish(); }\nint A::s() { return 1; }\n"
    )
    (made,) = lowered(text, ".cpp").body
    assert isinstance(made, p.Class)
    methods = {one.name: one for one in made.body if isinstance(one, p.Function)}
    assert set(methods) == {"__init__", "run", "s"}
    assert [one.name for one in methods["run"].params] == ["this", "n"]
    assert [one.name for one in methods["s"].params] == []
    assert block(methods["__init__"].body) == "this.q = cl::CommandQueue(context, device)"


def test_errors_do_not_hide_the_rest() -> None:
    text = "void f(void) { @@@ x = ; clFinish(q); }\nvoid g(void) { h(); }\n"
    names = [one.name for one in lowered(text, ".c").body if isinstance(one, p.Function)]
    assert "g" in names
    calls = "".join(block(one.body) for one in lowered(text, ".c").body if isinstance(one, p.Function))
    assert "clFinish(q)" in calls


@pytest.mark.parametrize(
    "text",
    [
        "void f() { x = " + "(" * 5000 + "1" + ")" * 5000 + "; }",
        "void f() { x = " + " + ".join(["a"] * 5000) + "; }",
        "void f() { " + "if (a) { " * 400 + "g();" + " }" * 400 + " }",
        "void f() { " + " else ".join(["if (a) { g(); }"] * 3000) + " }",
        "void f() { " + "{" * 3000 + " }" * 3000 + " }",
        "int t[] = {" + "1, " * 20000 + "};",
    ],
    ids=["parentheses", "sum", "ifs", "else ifs", "blocks", "table"],
)
def test_deep_and_long_sources_are_read(text: str) -> None:
    for one in lowered(text, ".c").body:
        if isinstance(one, p.Function):
            assert isinstance(one.body, tuple)


def test_spans_count_characters() -> None:
    (function,) = lowered('void f(void) { g("äö", h()); }\n', ".c").body
    assert isinstance(function, p.Function)
    (call,) = function.body
    assert isinstance(call, p.Evaluate)
    assert isinstance(call.value, p.Call)
    assert call.value.args[1].value.span == p.Span(1, 24, 1, 27)
