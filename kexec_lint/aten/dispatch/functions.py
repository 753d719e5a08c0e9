"""The function behind a registration: C++ names from native_functions.yaml, Python functions from their
registries."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import Any

from kexec_lint.aten.dispatch.table import Row, load_torch, short_site
from kexec_lint.aten.schema import SchemaError, parse


@cache
def native_functions() -> dict[str, dict[str, Any]]:
    """Return operator → entry of native_functions.yaml of the installed wheel; empty when it is not shipped."""
    spec = importlib.util.find_spec("torchgen")
    if spec is None or spec.origin is None:
        return {}
    path = Path(spec.origin).parent / "packaged/ATen/native/native_functions.yaml"
    if not path.is_file():
        return {}
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = {}
    for entry in yaml.load(path.read_text(encoding="utf-8"), loader):
        name = entry["func"].partition("(")[0]
        found[f"aten::{name}"] = entry
    return found


@cache
def function_name(operator: str, row: Row | None, key: str) -> str | None:
    """Return the function that a row of an operator's table runs, or None if nothing names it.

    `key` is the key of the registration that filled the row (CompositeImplicitAutograd for a math kernel).
    """
    if row is not None and row.tag == "backend fallback":
        return None
    if row is None or ".py:" in row.site or (operator, key) in _REGISTERED:
        return getattr(python_function(operator, key), "__qualname__", None)
    entry = native_functions().get(operator)
    if entry is None:
        return None
    base = operator.partition("::")[2].partition(".")[0]
    if key.startswith("Autograd") and row is not None and "VariableType" in row.site:
        return f"torch::autograd::VariableType::{base}"
    if key == "ADInplaceOrView":
        return f"torch::ADInplaceOrView::{base}"
    table = {k.strip(): str(v) for keys, v in (entry.get("dispatch") or {}).items() for k in str(keys).split(",")}
    if key in table:
        return f"at::native::{_symbol(table[key])}" + (" (structured)" if entry.get("structured") else "")
    delegate = entry.get("structured_delegate")
    if delegate:
        out = native_functions().get(f"aten::{delegate}", {})
        inner = {k.strip(): str(v) for keys, v in (out.get("dispatch") or {}).items() for k in str(keys).split(",")}
        if key in inner:
            return f"at::native::{_symbol(inner[key])} (structured, via {delegate})"
        return None
    if key == "CompositeImplicitAutograd" and not table:
        return f"at::native::{_cpp_name(entry)}"
    return None


def _symbol(name: str) -> str:
    return name.rpartition("::")[2]


def _cpp_name(entry: dict[str, Any]) -> str:
    """Return the default C++ name of a composite: the base name, with `_out` for out variants."""
    try:
        schema = parse(entry["func"])
    except SchemaError:
        return str(entry["func"].partition("(")[0].partition(".")[0])
    out = any(a.writes and a.kwarg_only for a in schema.arguments)
    return schema.name + ("_out" if out else "")


_REGISTERED: dict[tuple[str, str], Any] = {}
"""(operator, key) → Python function, of the registrations that `watched_registrations` saw."""

CALLED_AT: dict[tuple[str, str], tuple[str, int]] = {}
"""(operator, key) → file and line of the `Library.impl` call; the key "define" stands for `Library.define`."""


@contextmanager
def watched_registrations() -> Iterator[None]:
    """Remember which Python function `Library.impl` gives to which operator and key, and where it is called: the
    dispatcher's own table only has the line of the Library."""
    library = load_torch().library.Library
    original, original_define = library.impl, library.define

    @wraps(original)
    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", *args: Any, **kwargs: Any) -> Any:
        result = original(self, op_name, fn, dispatch_key, *args, **kwargs)
        schema = getattr(op_name, "_schema", None)
        name = str(op_name) if schema is None else f"{schema.name}.{schema.overload_name}".rstrip(".")
        key = dispatch_key or getattr(self, "dispatch_key", "") or "CompositeImplicitAutograd"
        name = name if "::" in name else f"{self.ns}::{name}"
        _REGISTERED[name, key] = fn
        CALLED_AT[name, key] = _caller()
        return result

    @wraps(original_define)
    def define(self: Any, schema: str, *args: Any, **kwargs: Any) -> Any:
        result = original_define(self, schema, *args, **kwargs)
        CALLED_AT[f"{self.ns}::{schema.partition('(')[0].strip().rpartition('::')[2]}", "define"] = _caller()
        return result

    library.impl, library.define = impl, define
    try:
        yield
    finally:
        library.impl, library.define = original, original_define


def _caller() -> tuple[str, int]:
    """Return file and line of the innermost frame outside torch and this module."""
    frame: Any = sys._getframe(2)
    own = str(Path(load_torch().__file__).parent)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def python_function(operator: str, key: str) -> Any:
    """Return the Python function that was registered for an operator and key, or None."""
    found = _REGISTERED.get((operator, key))
    custom = getattr(getattr(load_torch(), "_library", None), "custom_ops", None)
    definition = getattr(custom, "OPDEFS", {}).get(operator)
    if definition is None:
        return found
    if key in ("Meta", "fake"):
        return getattr(definition, "_abstract_fn", None)
    if key.startswith("Autograd"):
        return getattr(definition, "_backward_fn", None)
    # A kernel of a custom_op is wrapped before it is registered; the one for every device is the function itself.
    backends = getattr(definition, "_backend_fns", {})
    return backends.get(_device(key)) or getattr(definition, "_init_fn", None)


def python_site(operator: str, key: str) -> str | None:
    """Return `file.py:line` of a Python kernel, fake or formula registered through torch.library, or None."""
    if operator.startswith("aten::") and (operator, key) not in _REGISTERED:
        return None
    function = python_function(operator, key)
    site = _code_site(function) if function is not None else None
    if site is None and key in ("Meta", "fake"):
        registry = getattr(getattr(load_torch(), "_library", None), "simple_registry", None)
        kernel = registry.singleton.find(operator).fake_impl.kernel if registry is not None else None
        return short_site(str(kernel.source)) if kernel is not None else None
    return site


def _device(key: str) -> str:
    return {"PrivateUse1": "privateuseone"}.get(key, key.lower())


def _code_site(function: Any) -> str | None:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return f"{short_site(code.co_filename)}:{code.co_firstlineno}" if code is not None else None
