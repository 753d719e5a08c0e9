"""Files made by an adversary: mutants of sound ones, and the bombs that were found so far."""

from __future__ import annotations

import time

import fuzzing
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kexec_lint.engine.check import check
from kexec_lint.engine.request import Request
from kexec_lint.engine.settings import SettingsError

TARGETS = fuzzing.targets()
EXAMPLES = 40
"""For each target; `python benchmarks/fuzz.py --minutes 60` is the long form."""


@pytest.mark.parametrize("name", TARGETS)
def test_mutants_are_read_or_refused(name: str) -> None:
    target = TARGETS[name]
    seeds = target.seeds()

    @given(st.randoms(use_true_random=False))
    @settings(max_examples=EXAMPLES, derandomize=True, database=None)
    def read(choose) -> None:
        data = fuzzing.mutated(choose, seeds)
        began = time.process_time()
        target.read(data)
        assert time.process_time() - began < fuzzing.SECONDS

    read()


PYTHON = "import pyopencl as cl\nq = cl.CommandQueue(cl.create_some_context())\n"
C = "#include <CL/cl.h>\nvoid f(cl_command_queue q, cl_mem m) { clFinish(q); "
CPP = "#include <CL/opencl.hpp>\n"
KERNEL = "__kernel void f(__global int *x) { "


def around(inner: str, before: str, behind: str, times: int) -> str:
    return before * times + inner + behind * times


def each(count: int, line: str) -> str:
    """Repeat a line with its number for I and the next for J."""
    return "".join(line.replace("I", str(number)).replace("J", str(number + 1)) for number in range(count))


LOOPS = "".join("    " * depth + "for x in range(10 ** 9):\n" for depth in range(40)) + "    " * 40

BOMBS = {
    "braces": ("python", PYTHON + "f'" + around("x", "{", "}", 3000) + "'\n"),
    "parentheses": ("python", PYTHON + "x = " + around("1", "(", ")", 5000) + "\n"),
    "sum": ("python", PYTHON + "x = " + " + ".join(["q"] * 20_000) + "\n"),
    "attributes": ("python", PYTHON + "x = q" + ".a" * 20_000 + "\n"),
    "numbers": ("python", PYTHON + "x = 10 ** 10 ** 10\ny = 'a' * 10 ** 12\nz = [0] * 10 ** 12\nw = 1 << 10 ** 12\n"),
    "loops": ("python", PYTHON + LOOPS + "q.finish()\n"),
    "branches": ("python", PYTHON + "def f(a):\n" + "    if a:\n        q = cl.CommandQueue(a)\n" * 3000),
    "calls": ("python", PYTHON + each(60, "def fI(x):\n    fJ(x)\n    fJ(x)\n") + "f0(q)\n"),
    "returns": ("python", PYTHON + "def f(x):\n    return f(f(x))\nf(q).finish()\n"),
    "elifs": ("python", PYTHON + "if q:\n    pass\n" + "elif q:\n    q.finish()\n" * 3000),
    "c blocks": ("c", C + around("", "{", "}", 5000) + "}\n"),
    "c casts": ("c", C + "int x = " + "(int)" * 5000 + "1; }\n"),
    "c macros": ("c", "#define A0 q\n" + each(40, "#define AJ AI AI\n") + C + "clFinish(A40); }\n"),
    "c includes": ("c", '#include "mutant.c"\n' * 50 + C + "}\n"),
    "templates": ("c++", CPP + "template<class T> " * 2000 + "void f(cl::CommandQueue q) { q.finish(); }\n"),
    "angles": ("c++", CPP + "void f() { " + around("b", "a<", ">", 3000) + " x; cl::CommandQueue q; }\n"),
    "kernel": ("kernel", KERNEL + "x[0] = " + around("1", "(", ")", 4000) + "; }\n"),
    "kernel ifs": ("kernel", KERNEL + around("", "if (x[0]) { barrier(1); ", "}", 500) + " }\n"),
    "aliases": ("yaml", "operators: &a0 [x]\n" + each(40, "aJ: &aJ [*aI, *aI, *aI]\n")),
    "flow": ("yaml", "operators: " + around("", "[", "]", 5000) + "\n"),
    "tags": ("selection", "operators: !!python/object/apply:os.system ['touch canary']\n"),
    "cmake": ("build", "set(A " + around("x", "${", "}", 3000) + ")\ngen_selected_ops(${A})\n"),
    "starlark": ("starlark", "et_operator_library(ops = " + around('"aten::relu"', "[", "]", 150) + ")\n"),
    "log": ("log", "CL_" * 30_000 + "\n" + " " * 60_000 + "error: " + "a" * 60_000 + "\n"),
    "escapes": ("log", "\x1b[" * 20_000 + "m CL_OUT_OF_RESOURCES\n"),
    "strace": ("strace", 'openat(AT_FDCWD, "' + "\\" * 50_000 + '", O_RDWR) = -1 EACCES (Permission denied)\n'),
    "arguments": ("strace", "ioctl(3, " + around("", "{", "}", 5000) + ") = -1 EINVAL (Invalid argument)\n"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    target, text = BOMBS[name]
    began = time.process_time()
    TARGETS[target].read(text.encode())
    assert time.process_time() - began < fuzzing.SECONDS
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("value", ["3", "[3]", "true", "{ a = 1 }", "[[]]", '""', "[]", "1.5"])
@pytest.mark.parametrize("field", ["does", "kind", "params", "reads", "writes", "queue", "wait", "returns"])
def test_any_value_of_a_model_is_taken_or_refused(field: str, value: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kexec-lint.toml").write_text(f'[models]\n"m.f" = {{ {field} = {value} }}\n')
    (tmp_path / "a.py").write_text("import pyopencl as cl\nimport m\nm.f(cl.CommandQueue(cl.create_some_context()))\n")
    try:
        told = check(Request(paths=("a.py",))).errors
    except SettingsError as error:
        told = [str(error)]
    assert all(line.startswith(f"{tmp_path}/kexec-lint.toml:2: models.'m.f'") for line in told)
