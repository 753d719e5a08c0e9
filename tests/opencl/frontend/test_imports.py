"""The import table of a module."""

from __future__ import annotations

import pytest
from rendering import module

from kexec_lint.opencl.frontend.imports import imports

TABLES = [
    ("import pyopencl as cl", {"cl": "pyopencl"}),
    ("import pyopencl.array", {"pyopencl": "pyopencl"}),
    ("import pyopencl.array as cla, numpy", {"cla": "pyopencl.array", "numpy": "numpy"}),
    ("from pyopencl import array, mem_flags as mf", {"array": "pyopencl.array", "mf": "pyopencl.mem_flags"}),
    ("from .common import pyopencl", {"pyopencl": ".common.pyopencl"}),
    ("from . import ocl\nfrom .. import opencl as o", {"ocl": ".ocl", "o": "..opencl"}),
    ("from a import *\nfrom .b import *", {"*": "a", "*2": ".b"}),
    ("try:\n import pyopencl as cl\nexcept ImportError:\n import fake as cl", {"cl": "pyopencl"}),
    ("if a:\n import b\nelse:\n import c", {"b": "b", "c": "c"}),
    ("class A:\n import b", {"b": "b"}),
    ("def f():\n import b", {}),
    ("with a:\n for b in c:\n  while d:\n   import e", {"e": "e"}),
]


@pytest.mark.parametrize(("source", "expected"), TABLES)
def test_tables(source: str, expected: dict[str, str]) -> None:
    assert imports(module(source)) == expected
