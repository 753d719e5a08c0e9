"""Listens to partitioners: why each node was refused, in their own words.

XNNPACK logs a `WhyNoPartition` for a node; Arm's partitioners fill a `WhyNoPartitionReporter`; Vulkan and Core ML
write a sentence to their log (executorch 1.4.1: exir/backend/utils.py, vulkan_partitioner.py,
coreml_partitioner.py).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_VULKAN = re.compile(
    r"\[Vulkan Partitioner\] Due to \[(?P<reason>.*?)\], skipping .*? = (?P<target>[\w.]+)\(", re.DOTALL
)
_CORE_ML = re.compile(r"Skipping op for CoreML delegation because it is (?P<reason>.*): (?P<target>\S+)$")
_CORE_ML_OVERRIDE = re.compile(r"(?P<target>\S+) (?P<reason>is not supported by CoreML)\.")


@dataclass
class Reasons:
    """Why nodes were refused: by node name, and by operator where a partitioner says no more than that."""

    nodes: dict[str, str] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)

    def of(self, node: Any) -> str | None:
        """Return the reason for a node of the lowered graph, None where no partitioner gave one."""
        return self.nodes.get(node.name) or self.targets.get(target_name(node).lower())


def target_name(node: Any) -> str:
    """Return `aten.add.Tensor` for a node that calls that operator."""
    return str(getattr(node.target, "__name__", node.target))


class _Listener(logging.Handler):
    def __init__(self, reasons: Reasons) -> None:
        super().__init__(logging.DEBUG)
        self.reasons = reasons

    def emit(self, record: logging.LogRecord) -> None:
        why = record.msg
        if hasattr(why, "node") and hasattr(why, "reason"):
            self.reasons.nodes[str(getattr(why.node, "name", why.node))] = str(why.reason)
            return
        text = record.getMessage()
        match = _VULKAN.match(text) or _CORE_ML.match(text) or _CORE_ML_OVERRIDE.match(text)
        if match:
            self.reasons.targets[match["target"].lower()] = match["reason"]  # Core ML says it in lower case


@contextmanager
def collected() -> Iterator[Reasons]:
    """Collect what partitioners say while the body runs; nothing of it is printed."""
    from executorch.exir.backend import utils

    reasons = Reasons()
    root, backends = logging.getLogger(), logging.getLogger("executorch.backends")
    before = root.handlers[:], root.level, backends.level
    reporter: Any = getattr(utils, "WhyNoPartitionReporter", None)
    original = reporter.report_reject if reporter else None

    def report(self: Any, node: Any, reason: str) -> None:
        reasons.nodes.setdefault(node.name, reason)
        original(self, node, reason)  # type: ignore[misc]

    root.handlers = [_Listener(reasons)]
    root.setLevel(logging.INFO)
    backends.setLevel(logging.DEBUG)
    if reporter:
        reporter.report_reject = report
    try:
        yield reasons
    finally:
        root.handlers, root.level = before[0], before[1]
        backends.setLevel(before[2])
        if reporter:
            reporter.report_reject = original
