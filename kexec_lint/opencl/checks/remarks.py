"""What the interpreter noticed at a single call, as evidence."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.findings import Confidence
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check


@check("OCL304", "OCL305", "OCL306", "OCL307", "OCL308", "OCL314", "OCL317", "OCL507")
def remarks(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield the remarks of a graph."""
    for remark in graph.remarks:
        yield Evidence(
            remark.code,
            remark.site,
            remark.message,
            remark.help,
            confidence=Confidence(remark.confidence),
            related=remark.related,
        )
