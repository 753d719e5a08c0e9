"""What a host value may be for a kernel parameter (clSetKernelArg; PyOpenCL's Kernel.set_arg)."""

from __future__ import annotations

import re

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.kernels import KernelParam

_FLOATING = re.compile(r"(half|float|double)\d*$")


def mismatch(param: KernelParam, argument: g.Argument, dtypes_declared: bool) -> tuple[str, str, str] | None:
    """Return (what is given, what is wanted, what to do) for an argument that cannot be right, else None.

    `dtypes_declared`: the kernel knows its scalar types (`set_scalar_arg_dtypes`) and converts Python numbers.
    """
    match param.kind:
        case "scalar":
            return _for_scalar(param, argument, dtypes_declared)
        case "global" | "constant":
            return _for_pointer(param, argument)
        case "local":
            return _for_local(param, argument)
        case "image":
            return _for_image(param, argument)
    return None


def _for_scalar(param: KernelParam, argument: g.Argument, dtypes_declared: bool) -> tuple[str, str, str] | None:
    wanted = f"a {param.type}" if param.size is None else f"a {param.type} of {param.size} bytes"
    match argument.kind:
        case "memory" | "array" if argument.memory is None or argument.memory.kind != "host":
            return "a memory object", wanted, "pass the number itself, as a numpy scalar of that type"
        case "local":
            return "local memory", wanted, "pass a numpy scalar of that type"
        case "python" if not dtypes_declared:
            return (
                f"a Python {argument.type} without a size",
                wanted,
                f"pass {_numpy(param.type)}(…), or declare the types once with set_scalar_arg_dtypes",
            )
        case "scalar" if not dtypes_declared and argument.size is not None and param.size is not None:
            if argument.several and param.type[-1:].isdigit():
                return None
            if argument.size != param.size:
                given = f"{argument.type or 'a scalar'} of {argument.size} bytes"
                return given, wanted, f"pass {_numpy(param.type)}(…)"
            if _floating(argument.type) != bool(_FLOATING.match(param.type)) and argument.type:
                return (
                    f"{argument.type}",
                    wanted,
                    f"its bits would be taken for another type: pass {_numpy(param.type)}(…)",
                )
    return None


def _for_pointer(param: KernelParam, argument: g.Argument) -> tuple[str, str, str] | None:
    wanted = f"a pointer to {param.kind} memory"
    match argument.kind:
        case "python" | "scalar":
            given = f"a Python {argument.type}" if argument.kind == "python" else argument.type or "a scalar"
            return given, wanted, "pass a Buffer, or array.data"
        case "host":
            return "a host array", wanted, "copy it into a Buffer first, and pass that"
        case "array":
            return "an Array", wanted, "pass array.data (or array.base_data and the offset)"
        case "local":
            return "local memory", wanted, "pass a Buffer, or make the parameter __local"
    return None


def _for_local(param: KernelParam, argument: g.Argument) -> tuple[str, str, str] | None:
    wanted = "a pointer to local memory"
    match argument.kind:
        case "python" | "scalar" | "memory" | "array" | "host":
            given = {"python": "a number", "scalar": "a number", "host": "a host array"}.get(
                argument.kind, "a memory object"
            )
            return given, wanted, "pass pyopencl.LocalMemory(bytes)"
    return None


def _for_image(param: KernelParam, argument: g.Argument) -> tuple[str, str, str] | None:
    match argument.kind:
        case "memory" if argument.memory is not None and argument.memory.kind == "buffer" and argument.memory.known:
            return "a buffer", f"an {param.type}", "create a pyopencl.Image"
        case "python" | "scalar" | "host" | "local":
            return "a value that is no image", f"an {param.type}", "create a pyopencl.Image"
    return None


def _numpy(type_name: str) -> str:
    """Return numpy's name of an OpenCL C scalar type."""
    names = {
        "char": "int8",
        "uchar": "uint8",
        "short": "int16",
        "ushort": "uint16",
        "int": "int32",
        "uint": "uint32",
    }
    names |= {"long": "int64", "ulong": "uint64", "half": "float16", "float": "float32", "double": "float64"}
    if type_name in names:
        return f"numpy.{names[type_name]}"
    return f"pyopencl.cltypes.{type_name}" if type_name[-1:].isdigit() else "a numpy scalar "


def _floating(dtype: str) -> bool:
    return "float" in dtype or "half" in dtype or "double" in dtype
