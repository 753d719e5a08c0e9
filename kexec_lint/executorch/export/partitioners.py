"""Makes the partitioners that `--partitioner` names: xnnpack, coreml, vulkan, none, or `module:object`."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from kexec_lint.executorch.export import ExportError, one_line

NAMED = {
    "xnnpack": ("executorch.backends.xnnpack.partition.xnnpack_partitioner", "XnnpackPartitioner"),
    "coreml": ("executorch.backends.apple.coreml.partition", "CoreMLPartitioner"),
    "vulkan": ("executorch.backends.vulkan.partitioner.vulkan_partitioner", "VulkanPartitioner"),
}
"""Short name → where executorch keeps the partitioner."""


def make(names: str) -> list[Any]:
    """Return new partitioners for a comma-separated list of names, in that order. Raises ExportError."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    return [made for name in wanted if name != "none" for made in _make(name)]


def _make(name: str) -> list[Any]:
    from executorch.exir.backend.partitioner import Partitioner

    module, attribute = NAMED.get(name, ("", ""))
    if not module:
        module, separator, attribute = name.partition(":")
        if not separator:
            known = ", ".join([*NAMED, "none"])
            raise ExportError(f"--partitioner {name}: neither one of {known} nor module:object")
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), attribute)
        if not isinstance(found, (Partitioner, list, tuple)):
            found = found()
    except Exception as error:
        raise ExportError(f"--partitioner {name}: {one_line(error)}") from None
    made = list(found) if isinstance(found, (list, tuple)) else [found]
    for entry in made:
        if not isinstance(entry, Partitioner):
            raise ExportError(f"--partitioner {name}: {type(entry).__name__} is no Partitioner")
    return made
