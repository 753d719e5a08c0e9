"""The function behind a registration: C++ names from native_functions.yaml, Python functions from their
registries."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
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
    if row is not None and (row.tag == "backend fallback" or ".py:" in row.site):
        return None
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


def python_site(operator: str, key: str) -> str | None:
    """Return `file.py:line` of a Python kernel, fake or formula registered through torch.library, or None."""
    torch = load_torch()
    library = getattr(torch, "_library", None)
    definitions = getattr(getattr(library, "custom_ops", None), "OPDEFS", {})
    custom = definitions.get(operator) if hasattr(definitions, "get") else None
    if custom is not None:
        function = None
        if key in ("Meta", "fake"):
            function = getattr(custom, "_abstract_fn", None)
        elif key.startswith("Autograd"):
            function = getattr(custom, "_backward_fn", None)
        else:
            backends = getattr(custom, "_backend_fns", {})
            function = backends.get(_device(key)) or backends.get(None) or getattr(custom, "_init_fn", None)
        if function is not None:
            return _code_site(
                getattr(custom, "_init_fn", function)
                if key not in ("Meta", "fake") and not key.startswith("Autograd") and _device(key) not in backends
                else function
            )
    if key in ("Meta", "fake"):
        registry = getattr(getattr(library, "simple_registry", None), "singleton", None)
        if registry is not None:
            kernel = registry.find(operator).fake_impl.kernel
            if kernel is not None:
                return short_site(str(kernel.source))
    return None


def _device(key: str) -> str:
    return {"PrivateUse1": "privateuseone"}.get(key, key.lower())


def _code_site(function: Any) -> str | None:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return f"{short_site(code.co_filename)}:{code.co_firstlineno}" if code is not None else None


def clean_name(text: str) -> str:
    """Return a name usable as a file or trace label."""
    return re.sub(r"[^\w.:-]+", "_", text)
