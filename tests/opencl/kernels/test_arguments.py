"""Which host value fits which kernel parameter."""

from __future__ import annotations

import pytest

from kexec_lint.opencl.checks.kernel_arguments import mismatch
from kexec_lint.opencl.graph import Argument, Memory
from kexec_lint.opencl.kernels import read_kernels

SIGNATURE = """
typedef struct { int a; } Pair;
__kernel void k(__global float *pointer, float number, int whole, float4 vector, Pair pair, __local float *tile,
                read_only image2d_t image, sampler_t sampler, mystery unknown, __constant int *fixed) {}
"""
PARAMS = {param.name: param for param in read_kernels(SIGNATURE)["k"].params}
BUFFER = Memory("b", "buffer", known=True)
IMAGE = Memory("i", "image", known=True)
GIVEN = {
    "buffer": Argument("memory", memory=BUFFER),
    "image": Argument("memory", memory=IMAGE),
    "array": Argument("array", memory=Memory("a", "array", known=True)),
    "host": Argument("host", memory=Memory("h", "host", known=True)),
    "local": Argument("local"),
    "float": Argument("python", type="float"),
    "float32": Argument("scalar", 4, "float32"),
    "float64": Argument("scalar", 8, "float64"),
    "int32": Argument("scalar", 4, "int32"),
    "none": Argument("none"),
    "unknown": Argument("unknown"),
}
REFUSED = {
    "pointer": {"array", "host", "local", "float", "float32", "float64", "int32"},
    "fixed": {"array", "host", "local", "float", "float32", "float64", "int32"},
    "number": {"buffer", "image", "array", "local", "float", "float64", "int32"},
    "whole": {"buffer", "image", "array", "local", "float", "float32", "float64"},
    "vector": {"buffer", "image", "array", "local", "float", "float32", "float64", "int32"},
    "pair": set(),
    "tile": {"buffer", "image", "array", "host", "float", "float32", "float64", "int32"},
    "image": {"buffer", "host", "local", "float", "float32", "float64", "int32"},
    "sampler": set(),
    "unknown": set(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    refused = {given for given, argument in GIVEN.items() if mismatch(PARAMS[name], argument, False)}
    assert refused == REFUSED[name]


def test_declared_types_convert_numbers() -> None:
    for given in ("float", "float32", "float64", "int32"):
        assert mismatch(PARAMS["number"], GIVEN[given], True) is None
    assert mismatch(PARAMS["number"], GIVEN["buffer"], True) is not None


def test_words() -> None:
    assert mismatch(PARAMS["number"], GIVEN["float64"], False) == (
        "float64 of 8 bytes",
        "a float of 4 bytes",
        "pass numpy.float32(…)",
    )
