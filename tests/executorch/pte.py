"""Writes small .pte, .bpte and .ptd files from a description, for tests: a FlatBuffer writer of its own.

A description is a mapping from method to `calls`, `inputs`, `outputs`, `arenas` and `external`. A call is a
mapping from operator to its arguments, or from `delegate` to a backend (and the identifier of its blob).
Arguments: "6;0,1" or "6;0,1 2x8" is a tensor (scalar type; dimension order; sizes), a list of such a tensor list
(null inside makes it an optional one), others are numbers, booleans, null and lists of numbers.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

SCALARS = {"b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "Q": 8, "d": 8}


@dataclass
class Table:
    fields: dict[int, Any] = field(default_factory=dict)


@dataclass
class Vector:
    items: list[Any]
    kind: str | None = None  # struct letter of scalars, None for tables


@dataclass
class Bytes:
    data: bytes
    text: bool = False


def text(value: str) -> Bytes:
    return Bytes(value.encode(), text=True)


def flatbuffer(root: Table, identifier: bytes, reserved: int = 0) -> bytes:
    """Serialise: parents before children, so that every offset points forward."""
    out = bytearray(b"\0\0\0\0" + identifier + bytes(reserved))
    queue: list[tuple[int, Any]] = [(0, root)]
    while queue:
        slot, node = queue.pop(0)
        if isinstance(node, Table):
            out += bytes(-len(out) % 8)
            width = 4 + 2 * (max(node.fields, default=-1) + 1)
            vtable = len(out)
            out += bytes(width)
            out += bytes(-len(out) % 8)
            start = len(out)
            out += struct.pack("<i", start - vtable)
            offsets = {}
            for number, value in sorted(node.fields.items()):
                kind, scalar = value if isinstance(value, tuple) else ("I", 0)
                out += bytes(-len(out) % SCALARS[kind])
                offsets[number] = len(out)
                out += struct.pack(f"<{kind}", scalar)
                if not isinstance(value, tuple):
                    queue.append((offsets[number], value))
            struct.pack_into("<HH", out, vtable, width, len(out) - start)
            for number, at in offsets.items():
                struct.pack_into("<H", out, vtable + 4 + 2 * number, at - start)
        elif isinstance(node, Bytes):
            out += bytes(-len(out) % 4)
            start = len(out)
            out += struct.pack("<I", len(node.data)) + node.data + (b"\0" if node.text else b"")
        else:
            width = SCALARS[node.kind] if node.kind else 4
            out += bytes(-(len(out) + 4) % max(width, 4))
            start = len(out)
            out += struct.pack("<I", len(node.items))
            if node.kind:
                out += struct.pack(f"<{len(node.items)}{node.kind}", *node.items)
            else:
                for item in node.items:
                    queue.append((len(out), item))
                    out += b"\0\0\0\0"
        struct.pack_into("<I", out, slot, start - slot)
    return bytes(out)


def tensor(description: str, external: str | None = None) -> Table:
    head, _, sizes = description.partition(" ")
    dtype, _, order = head.partition(";")
    dims = [int(d) for d in order.split(",") if d]
    shape = [int(n) for n in sizes.split("x")] if sizes else [2] * len(dims)
    fields: dict[int, Any] = {0: ("b", int(dtype)), 2: Vector(shape, "i"), 3: Vector(dims, "B")}
    if external is not None:
        fields[9] = Table({1: text(external), 2: ("b", 1)})
    return Table(fields)


class Plan:
    """Collects the values, operators and delegates of one method."""

    def __init__(self, name: str, description: dict[str, Any], blobs: list[bytes]) -> None:
        self.values: list[Table] = []
        self.operators: list[str] = []
        self.delegates: list[Table] = []
        instructions = []
        for call in description.get("calls", ()):
            [(operator, arguments)] = call.items()
            if operator == "delegate":
                instructions.append(self.delegate(arguments, blobs))
            else:
                if operator not in self.operators:
                    self.operators.append(operator)
                indices = [self.value(argument) for argument in arguments]
                fields = {0: ("i", self.operators.index(operator)), 1: Vector(indices, "i")}
                instructions.append(Table({0: ("B", 1), 1: Table(fields)}))
        for fqn in description.get("external", ()):
            self.add(5, tensor("6;0", fqn))
        inputs = [self.value(value) for value in description.get("inputs", ())]
        outputs = [self.value(value) for value in description.get("outputs", ())]
        chain = Table({2: Vector(instructions)})
        self.table = Table(
            {
                0: text(name),
                2: Vector(self.values),
                3: Vector(inputs, "i"),
                4: Vector(outputs, "i"),
                5: Vector([chain]),
                6: Vector([operator_table(name) for name in self.operators]),
                7: Vector(self.delegates),
                8: Vector(list(description.get("arenas", [0, 64])), "q"),
            }
        )

    def add(self, kind: int, value: Table) -> int:
        self.values.append(Table({0: ("B", kind), 1: value}))
        return len(self.values) - 1

    def value(self, value: Any) -> int:
        if isinstance(value, str):
            return self.add(5, tensor(value))
        if isinstance(value, bool):
            return self.add(3, Table({0: ("B", int(value))}))
        if isinstance(value, int):
            return self.add(2, Table({0: ("q", value)}))
        if isinstance(value, float):
            return self.add(4, Table({0: ("d", value)}))
        if value is None:
            return self.add(1, Table())
        if any(isinstance(item, str) or item is None for item in value):
            indices = [-1 if item is None else self.value(item) for item in value]
            return self.add(11 if None in value else 10, Table({0: Vector(indices, "i")}))
        return self.add(7, Table({0: Vector([int(item) for item in value], "i")}))

    def delegate(self, description: str, blobs: list[bytes]) -> Table:
        backend, _, mark = description.partition(" ")
        blobs.append(b"\0\0\0\0" + (mark or "XH00").encode() + bytes(16))
        reference = Table({0: ("b", 1), 1: ("I", len(blobs) - 1)})
        self.delegates.append(Table({0: text(backend), 1: reference, 2: Vector([])}))
        fields = {0: ("i", len(self.delegates) - 1), 1: Vector([], "i")}
        return Table({0: ("B", 2), 1: Table(fields)})


def operator_table(operator: str) -> Table:
    name, dot, overload = operator.rpartition(".")
    return Table({0: text(name if dot else operator), 1: text(overload if dot else "")})


def program(description: dict[str, Any]) -> bytes:
    """Return a .pte file."""
    blobs: list[bytes] = []
    plans = [Plan(name, method or {}, blobs).table for name, method in description.items()]
    segments, offset = [], 0
    for blob in blobs:
        segments.append(Table({0: ("Q", offset), 1: ("Q", len(blob))}))
        offset += len(blob)
    root = Table({0: ("I", 0), 1: Vector(plans), 4: Vector(segments)})
    data = bytearray(flatbuffer(root, b"ET12", reserved=32))
    size = len(data)
    data += bytes(-len(data) % 16)
    base = len(data) if blobs else 0
    struct.pack_into("<4sIQQQ", data, 8, b"eh00", 32, size, base, offset)
    return bytes(data) + b"".join(blobs) if blobs else bytes(data[:size])


def bundle(inner: bytes) -> bytes:
    """Return a .bpte file around a program."""
    return flatbuffer(Table({0: ("I", 0), 2: Bytes(inner)}), b"BP08")


def external(names: list[str]) -> bytes:
    """Return a .ptd file that brings these tensors."""
    entries = [Table({0: text(name), 1: ("I", 0)}) for name in names]
    segments = [Table({0: ("Q", 0), 1: ("Q", 0)})]
    return flatbuffer(Table({0: ("I", 0), 1: Vector(segments), 2: Vector(entries)}), b"FT01")
