"""Operator names, scalar types and kernel keys, as ExecuTorch writes them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SCALAR_TYPES = [
    "Byte",
    "Char",
    "Short",
    "Int",
    "Long",
    "Half",
    "Float",
    "Double",
    "ComplexHalf",
    "ComplexFloat",
    "ComplexDouble",
    "Bool",
    "QInt8",
    "QUInt8",
    "QInt32",
    "BFloat16",
    "QUInt4x2",
    "QUInt2x4",
    "Bits1x8",
    "Bits2x4",
    "Bits4x2",
    "Bits8",
    "Bits16",
    "Float8_e5m2",
    "Float8_e4m3fn",
    "Float8_e5m2fnuz",
    "Float8_e4m3fnuz",
    "UInt16",
    "UInt32",
    "UInt64",
]
"""Name of each `ScalarType` by its number (schema/scalar_type.fbs)."""

OPLIST_TYPES = frozenset(
    [
        "Byte",
        "Char",
        "Short",
        "Int",
        "Long",
        "Float",
        "Double",
        "Bool",
        "QInt8",
        "QUInt8",
        "QInt32",
        "QUInt4X2",
        "QUInt2X4",
    ]
)
"""Names that `gen_oplist --ops_dict` takes; every other one, Half and BFloat16 too, raises `Unknown dtype`."""

CODEGEN_TYPES = frozenset(["Byte", "Char", "Short", "Int", "Long", "Float", "Double", "Bool"])
"""Names that a `type_alias` of a functions.yaml may hold (`codegen/model.py`, class ScalarType)."""

FLOAT, HALF, BFLOAT16, DOUBLE, BOOL = 6, 5, 15, 7, 11
REDUCED = (HALF, BFLOAT16)

MAX_NAME = 99
"""Longest operator name: `populate_operator_name` prints into 100 characters, one of which ends the string."""


def dtype_name(number: int) -> str:
    """Return the name of a scalar type, or `dtype N` for a number that has none."""
    return SCALAR_TYPES[number] if 0 <= number < len(SCALAR_TYPES) else f"dtype {number}"


def namespace(operator: str) -> str:
    """Return what stands before `::`, or an empty string."""
    return operator.split("::", 1)[0] if "::" in operator else ""


def base_name(operator: str) -> str:
    """Return the operator without its overload, as `strip_operator_overload_name` does."""
    return operator.split(".", 1)[0]


def kernel_key(parts: Iterable[tuple[int, tuple[int, ...]]]) -> str:
    """Return the key of a call whose tensors have these (scalar type, dimension order); `v1` with no tensor.

    The form is gen_oplist's: `v1/6;0,1|6;0,1`, the out tensor once for each time the program passes it.
    """
    return "v1/" + "|".join(f"{dtype};{','.join(map(str, order))}" for dtype, order in parts) if parts else "v1"


def key_dtypes(key: str) -> frozenset[int]:
    """Return the scalar types that a key names; empty for `default`, `v1` and what is no key."""
    if "/" not in key:
        return frozenset()
    heads = (part.split(";")[0].strip() for part in key.split("/")[1].split("|"))
    return frozenset(int(head) for head in heads if head.isdigit())


def key_parts(key: str) -> int:
    """Return for how many tensors a key speaks."""
    return len(key.split("/", 1)[1].split("|")) if "/" in key else 0
