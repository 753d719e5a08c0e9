"""What a program needs, as an object for machines and a table for people."""

from __future__ import annotations

from typing import Any

from kexec_lint.executorch.checks.programs import describe
from kexec_lint.executorch.program import Program


def as_object(model: Program) -> dict[str, Any]:
    """Return operators, kernel keys, delegates and memory of a program, JSON-able.

    `delegates` names the backend of each delegate in order; `planned_bytes` are the arenas of all methods
    together.
    """
    return {
        "operators": model.operators,
        "kernel_keys": model.kernel_keys,
        "delegates": model.backends,
        "planned_bytes": model.planned_bytes,
        "file_bytes": model.size,
        "bundled": model.bundled,
        "external_data": model.external,
        "methods": {
            method.name: {
                "inputs": [describe(value) for value in method.inputs],
                "outputs": [describe(value) for value in method.outputs],
                "operators": sorted(set(method.operators)),
                "delegates": [
                    {
                        "backend": delegate.backend,
                        "bytes": delegate.blob[1] - delegate.blob[0] if delegate.blob else None,
                        "compile_specs": list(delegate.compile_specs),
                    }
                    for delegate in method.delegates
                ],
                "instructions": len(method.steps),
                "arenas": list(method.arenas),
            }
            for method in model.methods
        },
    }


def as_text(model: Program) -> str:
    """Return the same as a table."""
    lines = [f"{model.path}  {model.size:,} bytes{', bundled program' if model.bundled else ''}"]
    keys = model.kernel_keys
    width = max((len(operator) for operator in model.operators), default=0)
    for operator in model.operators:
        listed = keys.get(operator) or ["never called"]
        lines.append(f"  {operator:<{width}}  {listed[0]}")
        lines += [f"  {'':<{width}}  {key}" for key in listed[1:]]
    if not model.operators:
        lines.append("  no operators: everything is delegated")
    for method in model.methods:
        takes = ", ".join(describe(value) for value in method.inputs)
        gives = ", ".join(describe(value) for value in method.outputs)
        lines.append(f"  method {method.name}({takes}) -> {gives}")
        arenas = ", ".join(f"{size:,}" for size in method.arenas if size)
        lines.append(f"    planned {sum(method.arenas):,} bytes" + (f" in {arenas}" if ", " in arenas else ""))
        for index, delegate in enumerate(method.delegates):
            size = f"{delegate.blob[1] - delegate.blob[0]:,} bytes" if delegate.blob else "no data"
            specs = f", compile specs {', '.join(delegate.compile_specs)}" if delegate.compile_specs else ""
            lines.append(f"    delegate {index}: {delegate.backend}, {size}{specs}")
    if model.external:
        lines.append(f"  needs {len(model.external)} tensors from a .ptd file: {', '.join(model.external[:5])}")
    return "\n".join(lines) + "\n"
