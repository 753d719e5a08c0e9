"""What a delegate's blob says about the nodes it fused, where its schema is known: XNNPACK's.

Layout: backends/xnnpack/serialization/schema.fbs and the header XH00 of xnnpack_graph_serialize.py (1.4.1): at
byte 10 offset and size of a FlatBuffer XNNGraph{version, xnodes: [XNode{union, debug_handle, min_max}], …}.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from kexec_lint.executorch.flatbuffer import Buffer, FormatError
from kexec_lint.executorch.program import Delegate

XNNPACK_NODES = [
    "Add",
    "FullyConnected",
    "Softmax",
    "Sigmoid",
    "StaticTranspose",
    "Clamp",
    "Conv2d",
    "Div",
    "StaticResizeBilinear2D",
    "StaticConstantPad",
    "AvgPooling2d",
    "Minimum",
    "DepthwiseConv2d",
    "MaxPooling2d",
    "Multiply",
    "Subtract",
    "Floor",
    "Convert",
    "GlobalAvgPooling2d",
    "StaticReshape",
    "ArgMaxPooling2d",
    "SquareRoot",
    "Ceiling",
    "Hardswish",
    "LeakyReLU",
    "Maximum",
    "Negate",
    "Square",
    "ELU",
    "Abs",
    "PReLU",
    "Concatenate2",
    "Concatenate3",
    "Concatenate4",
    "StaticSlice",
    "ScaledDotProductAttention",
    "BatchMatrixMultiply",
    "Concatenate5",
    "ConvTranspose2d",
    "ReciprocalSquareRoot",
    "Log",
    "Gelu",
    "Tanh",
    "Exp",
    "Sin",
    "Copy",
    "Cos",
]
"""Names of the members of `XNodeUnion`, whose tags start at 1."""


def nodes(delegate: Delegate, data: Sequence[int] | memoryview | bytes) -> list[str] | None:
    """Return the operations of a delegate in order, None where the blob's schema is not known.

    `data` are the bytes of the program's file. Raises FormatError for a damaged blob.
    """
    if delegate.backend != "XnnpackBackend" or delegate.blob is None:
        return None
    blob = memoryview(bytes(data[delegate.blob[0] : delegate.blob[1]]))
    if bytes(blob[4:8]) == b"XH00" and len(blob) >= 18:
        start, size = struct.unpack_from("<II", blob, 10)
        if start + size > len(blob):
            raise FormatError(f"the graph ends at byte {start + size} of a blob of {len(blob)}")
        blob = blob[start : start + size]
    if bytes(blob[4:8]) not in (b"XN00", b"XN01"):
        return None
    tags = [node.scalar(0, "B") for node in Buffer(blob).root().tables(1)]
    return [XNNPACK_NODES[tag - 1] if 1 <= tag <= len(XNNPACK_NODES) else f"operation {tag}" for tag in tags]
