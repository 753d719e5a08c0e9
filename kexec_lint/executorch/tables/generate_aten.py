"""Makes `aten.json`: `python generate_aten.py`, in an environment that has torch (for its torchgen).

The names of every ATen operator that codegen knows, generated out variants too, told apart by whether they take an
out argument: that decides between a typing error, a functional name and an operator without a portable kernel.
Of an out variant also how many tensors, optional tensors, tensor lists and results it has: that is the shape of
its key.
"""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path

import torchgen
from torchgen.gen import parse_native_yaml


def main() -> None:
    """Write the table of the installed torch."""
    folder = os.path.join(os.path.dirname(torchgen.__file__), "packaged", "ATen", "native")
    parsed = parse_native_yaml(f"{folder}/native_functions.yaml", f"{folder}/tags.yaml")
    functional: list[str] = []
    out: dict[str, list[int]] = {}
    for function in parsed.native_functions:
        schema = function.func
        if not schema.arguments.out:
            functional.append(str(schema.name))
            continue
        tensors = [str(argument.type) for argument in schema.arguments.flat_all if "Tensor" in str(argument.type)]
        lists = sum("[" in kind for kind in tensors)
        optional = sum("?" in kind and "[" not in kind for kind in tensors)
        out[str(schema.name)] = [len(tensors) - lists - optional, optional, lists, len(schema.returns)]
    table = {"torch": version("torch"), "out": dict(sorted(out.items())), "functional": sorted(functional)}
    Path(__file__).with_name("aten.json").write_text(
        json.dumps(table, indent=None, separators=(",", ":")) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
