"""Write kexec_lint/aten/digest.json: what the linter knows of ATen without importing torch.

Run it with the torch whose facts are wanted: `python scripts/aten_digest.py > kexec_lint/aten/digest.json`.
Sources: `torchgen/packaged/ATen/native/native_functions.yaml` of the wheel, and the dispatcher's own key names.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import torch
import yaml

sys.path.insert(0, str(Path(__file__).parent.parent))
from kexec_lint.aten.schema import parse

DEVICES = [
    "cpu",
    "cuda",
    "xpu",
    "hip",
    "mps",
    "xla",
    "hpu",
    "meta",
    "ipu",
    "mtia",
    "privateuseone",
    "vulkan",
    "lazy",
    "ve",
    "maia",
]


def native_functions() -> list[dict[str, object]]:
    """Return the entries of native_functions.yaml of the installed wheel."""
    spec = importlib.util.find_spec("torchgen")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / "packaged/ATen/native/native_functions.yaml"
    entries: list[dict[str, object]] = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    return entries


def keys() -> tuple[list[str], list[str]]:
    """Return (names the dispatcher parses, those of them that are aliases)."""
    names = [n for n in dir(torch._C.DispatchKey) if not n.startswith("_") and torch._C._parse_dispatch_key(n)]
    aliases = [
        n for n in names
        if n.startswith(("Composite", "FuncTorchBatchedDecomposition")) or n == "Autograd"
    ]  # fmt: skip
    return names, aliases


def devices() -> dict[str, str]:
    """Return device type → dispatch key, as `torch.library.impl` maps it."""
    found = {}
    for name in DEVICES:
        try:
            found[name] = torch._C._dispatch_key_for_device(name)
        except RuntimeError:
            continue
    return found


def main() -> None:
    """Print the digest."""
    operators, inplace, views = set(), set(), set()
    for entry in native_functions():
        schema = parse(str(entry["func"]))
        operators.add(schema.name)
        first = schema.arguments[0] if schema.arguments else None
        if schema.name.endswith("_") and first is not None and first.writes:
            inplace.add(schema.name)
        if first is not None and first.alias and not first.writes and any(r.alias for r in schema.returns):
            views.add(schema.name)
    parsed, aliases = keys()
    namespaces = {name.partition("::")[0] for name in torch._C._dispatch_get_all_op_names()}
    digest = {
        "torch": torch.__version__.partition("+")[0],
        "keys": parsed,
        "alias_keys": aliases,
        "devices": devices(),
        "namespaces": sorted(namespaces),
        "operators": sorted(operators),
        "inplace": sorted(inplace),
        "views": sorted(views),
    }
    print("{")
    print(",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in digest.items()))
    print("}")


if __name__ == "__main__":
    main()
