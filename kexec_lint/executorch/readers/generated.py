"""Reads what codegen wrote: RegisterCodegenUnboxedKernelsEverything.cpp and the generated headers."""

from __future__ import annotations

import re

from kexec_lint.executorch.registration import Kind, Part, Registered, place
from kexec_lint.findings import Location

_KERNEL = re.compile(r'\bKernel\(\s*"(?P<name>[^"]+)"\s*,\s*(?:"(?P<key>v1[^"]*)")?')
_LIBRARY = re.compile(r'\bEXECUTORCH_LIBRARY\(\s*(\w+)\s*,\s*"([\w.]+)"')
_VARIANT = re.compile(r'compare\("(?P<name>[^"]+)"\)\s*==\s*0\)\s*&&\s*\((?P<body>.*?)\)\)', re.S)
_CAPACITY = re.compile(r"#\s*define\s+EXECUTORCH_SELECTED_MAX_KERNEL_NUM\s+(\d+)")
_PRIM = re.compile(r"#\s*define\s+INCLUDE_(\w+)")


def is_generated(text: str) -> bool:
    """Return whether the source registers kernels or is a header that selective build generates."""
    return bool(
        _KERNEL.search(text)
        or _LIBRARY.search(text)
        or "should_include_kernel_dtype" in text
        or _CAPACITY.search(text)
        or "gen_selected_prim_ops.py" in text
    )


def read(path: str, text: str) -> Part:
    """Return registered kernels, selected dtypes, the registry's size or the selected primitive operators."""
    part = Part(path, Kind.SETTINGS, place(path))
    matches = [*_KERNEL.finditer(text)]
    for match in matches:
        at = _at(path, text, match.start("name"), len(match["name"]))
        part.registered.append(Registered(match["name"], match["key"] or "default", at, path))
    for match in _LIBRARY.finditer(text):
        name = f"{match[1]}::{match[2]}"
        part.registered.append(Registered(name, "default", _at(path, text, match.start(), len(match[0])), path))
    if part.registered:
        part.kind = Kind.REGISTERED
    if "should_include_kernel_dtype" in text:
        part.dtype_selective = place(path)
        part.dtypes = {match["name"]: _dtypes(match["body"]) for match in _VARIANT.finditer(text)}
    if size := _CAPACITY.search(text):
        part.capacity = int(size[1]), _at(path, text, size.start(), len(size[0]))
    if "gen_selected_prim_ops.py" in text:
        part.prim = frozenset(_PRIM.findall(text))
    return part


def _dtypes(body: str) -> frozenset[str] | None:
    names = re.findall(r"ScalarType::(\w+)", body)
    return frozenset(names) if names else None


def _at(path: str, text: str, offset: int, length: int) -> Location:
    row = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return place(path, row, column, length)
