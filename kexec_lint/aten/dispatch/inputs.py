"""Inputs of a call: written by the user ("f32[2,3] cuda requires_grad"), or made up to fit a schema."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kexec_lint.aten.dispatch.table import load_torch

DTYPES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u8": "uint8",
    "b8": "bool",
    "bool": "bool",
    "c64": "complex64",
    "c128": "complex128",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
}
_TENSOR = re.compile(r"(?P<dtype>[a-z]+\d*(?:e\dm\d)?|\w+)\[(?P<shape>[\d\s,]*)\](?P<options>.*)", re.S)


@dataclass(frozen=True)
class TensorInput:
    """A tensor as described: nothing is allocated, so a device that is not there can be asked about."""

    dtype: str
    shape: tuple[int, ...]
    device: str
    requires_grad: bool = False
    layout: str = "strided"

    def key_set(self) -> Any:
        """Return the dispatch keys such a tensor has, without making one when its device is not there."""
        torch = load_torch()
        try:
            return torch._C._dispatch_keys(self.make())
        except (RuntimeError, AssertionError, NotImplementedError):  # AssertionError: torch was built without CUDA
            backend = self.backend_key()
            own = f"Sparse{backend}" if self.layout == "sparse" else backend
            keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, own))
            for name in ("ADInplaceOrView", f"Autograd{backend}", f"Autocast{backend}"):
                key = getattr(torch._C.DispatchKey, name, None)
                keys = keys | torch._C.DispatchKeySet(key) if key is not None else keys
            return keys

    def backend_key(self) -> str:
        """Return the backend key of the device."""
        torch = load_torch()
        return str(torch._C._dispatch_key_for_device(self.device.partition(":")[0]))

    def make(self, seed: int = 0) -> Any:
        """Return a tensor with deterministic values. Raises what torch raises when the device is not there."""
        torch = load_torch()
        dtype = getattr(torch, self.dtype)
        if self.device == "meta":
            return torch.empty(self.shape, dtype=dtype, device="meta", requires_grad=self.requires_grad)
        generator = torch.Generator().manual_seed(seed)
        if dtype.is_floating_point or dtype.is_complex:
            wide = torch.complex128 if dtype.is_complex else torch.float64
            value = torch.rand(self.shape, generator=generator, dtype=wide).to(dtype)
        elif dtype == torch.bool:
            value = torch.randint(0, 2, self.shape, generator=generator).to(dtype)
        else:
            value = torch.randint(0, 2, self.shape, generator=generator).to(dtype)
        value = value.to(self.device)
        if self.layout == "sparse":
            value = value.to_sparse()
        return value.requires_grad_() if self.requires_grad else value


def parse_input(text: str) -> tuple[str | None, Any]:
    """Return (keyword or None, value) of one --input; a tensor becomes a TensorInput.

    Raises ValueError that says how inputs are written.
    """
    keyword = re.match(r"([a-z_]\w*)=(?!=)(.*)", text, re.S)
    name, rest = (keyword[1], keyword[2]) if keyword else (None, text)
    return name, _value(rest.strip())


def _value(text: str) -> Any:
    match = _TENSOR.fullmatch(text)
    if match and match["dtype"] in {**DTYPES, **{v: v for v in DTYPES.values()}}:
        device, grad, layout = "cpu", False, "strided"
        for word in match["options"].split():
            if word == "requires_grad":
                grad = True
            elif word in ("sparse", "strided"):
                layout = word
            else:
                device = word
        shape = tuple(int(n) for n in match["shape"].split(",") if n.strip())
        return TensorInput(DTYPES.get(match["dtype"], match["dtype"]), shape, device, grad, layout)
    if text.startswith("[") and re.search(r"[a-z]\d*\[", text):
        parts = re.findall(r"\w+\[[\d\s,]*\][^,\[\]]*", text[1:-1])
        return [_value(p.strip()) for p in parts]
    torch_name = text.removeprefix("torch.")
    if torch_name in DTYPES.values():
        return getattr(load_torch(), torch_name)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise ValueError(
            f"cannot read input '{text}': write a tensor as 'f32[2,3] cuda requires_grad', or a Python literal"
        ) from None


def tensors(values: Any) -> Iterator[TensorInput]:
    """Yield the tensor inputs inside lists, tuples and dictionaries."""
    if isinstance(values, TensorInput):
        yield values
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from tensors(value)
    elif isinstance(values, dict):
        for value in values.values():
            yield from tensors(value)


def make(values: Any, device: str | None = None) -> Any:
    """Return the values with tensors made, on another device if one is given."""
    if isinstance(values, TensorInput):
        moved = (
            values
            if device is None
            else TensorInput(values.dtype, values.shape, device, values.requires_grad, values.layout)
        )
        return moved.make()
    if isinstance(values, (list, tuple)):
        return type(values)(make(v, device) for v in values)
    if isinstance(values, dict):
        return {k: make(v, device) for k, v in values.items()}
    return values


STRATEGIES: tuple[dict[str, Any], ...] = (
    {"shape": (3, 3)},
    {"shape": (3, 3), "dtype": "int64"},
    {"shape": (2, 3, 4)},
    {"shape": (1, 2, 4, 4), "ints": 2},
    {"shape": (1, 2, 4, 4), "ints": 1},
    {"shape": (1, 2, 4, 4, 4), "ints": 2},
    {"shape": (4,)},
    {"shape": (4,), "dtype": "int64"},
    {"shape": (3, 3), "dtype": "bool"},
    {"shape": (3, 3), "dtype": "complex64"},
    {"shape": (3, 3), "second": "int64"},
    {"shape": (3, 3), "second": "bool"},
    {"shape": (2, 3), "ints": 3},
    {"shape": ()},
)
"""Ways to fill a schema: shape and dtype of the tensors, dtype of those after the first, value of the integers."""


def generate(schema: Any, device: str = "cpu") -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield candidate (args, kwargs) for a torch.FunctionSchema; most operators accept one of them."""
    for strategy in STRATEGIES:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        index = 0
        known = True
        for argument in schema.arguments:
            if argument.has_default_value():
                continue
            kind = str(argument.type)
            if "Tensor" in kind:
                dtype = strategy.get("dtype", "float32")
                dtype = strategy.get("second", dtype) if index else dtype
                value: Any = TensorInput(dtype, strategy["shape"], device)
                index += 1
                if kind.startswith("List"):
                    value = [value, value]
            else:
                value = _plain(kind, argument, strategy)
            if value is _UNKNOWN:
                known = False
                break
            if argument.kwarg_only:
                kwargs[argument.name] = value
            else:
                args.append(value)
        if known:
            yield args, kwargs


_UNKNOWN = object()


def _plain(kind: str, argument: Any, strategy: dict[str, Any]) -> Any:
    torch = load_torch()
    number = strategy.get("ints", 1)
    if "Optional" in kind:
        return None
    real = str(getattr(argument, "real_type", kind))
    if real == "ScalarType":
        return torch.float32
    if real in ("Layout", "MemoryFormat"):
        return torch.strided if real == "Layout" else torch.contiguous_format
    if kind == "int":
        return 0 if argument.name in ("dim", "start", "dim0", "storage_offset", "axis", "index") else number
    if kind in ("number", "float"):
        return 0.5
    if kind == "bool":
        return False
    if kind == "str":
        return {"reduce": "sum", "mode": "constant", "rounding_mode": "floor"}.get(argument.name, "mean")
    if kind == "Device":
        return torch.device("cpu")
    if kind in ("List[int]", "List[float]", "List[bool]", "List[number]"):
        count = argument.N or (len(strategy["shape"]) if "size" in argument.name or "shape" in argument.name else 1)
        if argument.name in ("dims", "dim"):
            return list(range(max(count, 1)))
        if argument.name in ("size", "shape", "sizes") and not argument.N:
            return list(strategy["shape"])
        filler: Any = {"List[float]": 1.0, "List[bool]": False, "List[number]": 1}.get(kind, number)
        return [filler] * count
    return _UNKNOWN
