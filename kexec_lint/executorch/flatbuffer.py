"""Reads FlatBuffers of unknown origin: every offset is checked and the work is bounded by the size of the data."""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_U16 = struct.Struct("<H")
_I32 = struct.Struct("<i")
_U32 = struct.Struct("<I")
_SCALARS = {name: struct.Struct(f"<{name}") for name in "bBhHiIqQfd"}


class FormatError(ValueError):
    """The data are not what they claim to be; the message says at which byte and why."""


class Buffer:
    """A FlatBuffer inside `data`.

    A well-formed buffer holds every element once, so reading all of it costs about its size. A hostile one lets
    many vectors share their elements; `spend` counts what was read and stops at four times the size.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = memoryview(data)
        self._left = 4 * len(self.data) + 4096

    def spend(self, amount: int, at: int) -> None:
        """Count `amount` bytes as read. Raises FormatError when far more was read than the buffer holds."""
        self._left -= amount
        if self._left < 0:
            raise FormatError(f"the structure at byte {at} refers to itself too often")

    def unpack(self, kind: struct.Struct, at: int) -> int:
        """Return the scalar at byte `at`. Raises FormatError outside the data."""
        if at < 0 or at + kind.size > len(self.data):
            raise FormatError(f"byte {at} lies outside the {len(self.data)} bytes of the file")
        value: int = kind.unpack_from(self.data, at)[0]
        return value

    def follow(self, at: int) -> int:
        """Return the position that the unsigned offset at byte `at` refers to."""
        offset = self.unpack(_U32, at)
        target = at + offset
        if offset == 0 or target + 4 > len(self.data):
            raise FormatError(f"the offset at byte {at} points to byte {target} of {len(self.data)}")
        return target

    def root(self) -> Table:
        """Return the root table."""
        return Table(self, self.follow(0))


class Table:
    """A table of a buffer; fields are asked for by id, which is their order in the schema."""

    __slots__ = ("at", "buffer", "size", "vtable")

    def __init__(self, buffer: Buffer, at: int) -> None:
        self.buffer = buffer
        self.at = at
        self.vtable = at - buffer.unpack(_I32, at)
        self.size = buffer.unpack(_U16, self.vtable)
        if self.size < 4 or self.vtable + self.size > len(buffer.data):
            raise FormatError(f"the table at byte {at} has a field list of {self.size} bytes")
        buffer.spend(4, at)

    def field(self, number: int) -> int | None:
        """Return the position of field `number`, or None where the table leaves it out."""
        entry = 4 + 2 * number
        if entry + 2 > self.size:
            return None
        offset = self.buffer.unpack(_U16, self.vtable + entry)
        return self.at + offset if offset else None

    def scalar(self, number: int, kind: str, default: int = 0) -> int:
        """Return a scalar field; `kind` is its `struct` letter."""
        at = self.field(number)
        return default if at is None else self.buffer.unpack(_SCALARS[kind], at)

    def table(self, number: int) -> Table | None:
        """Return a table field, or None."""
        at = self.field(number)
        return None if at is None else Table(self.buffer, self.buffer.follow(at))

    def _vector(self, number: int, width: int) -> tuple[int, int] | None:
        at = self.field(number)
        if at is None:
            return None
        start = self.buffer.follow(at)
        length = self.buffer.unpack(_U32, start)
        if start + 4 + length * width > len(self.buffer.data):
            raise FormatError(f"the vector at byte {start} claims {length} elements, more than the file holds")
        return start + 4, length

    def length(self, number: int) -> int:
        """Return the number of elements of a vector field of tables; 0 where it is left out."""
        vector = self._vector(number, 4)
        return vector[1] if vector else 0

    def has(self, number: int) -> bool:
        """Return whether the field is there."""
        return self.field(number) is not None

    def numbers(self, number: int, kind: str) -> tuple[int, ...]:
        """Return a vector of scalars; `kind` is the `struct` letter of an element."""
        width = _SCALARS[kind].size
        vector = self._vector(number, width)
        if vector is None:
            return ()
        self.buffer.spend(width * vector[1], vector[0])
        return struct.unpack_from(f"<{vector[1]}{kind}", self.buffer.data, vector[0])

    def span(self, number: int) -> tuple[int, int] | None:
        """Return first and last byte (exclusive) of a vector of bytes, without reading it."""
        vector = self._vector(number, 1)
        return None if vector is None else (vector[0], vector[0] + vector[1])

    def text(self, number: int) -> str:
        """Return a string field; bytes that are not UTF-8 show as the replacement character."""
        span = self.span(number)
        if span is None:
            return ""
        self.buffer.spend(span[1] - span[0], span[0])
        return bytes(self.buffer.data[span[0] : span[1]]).decode("utf-8", "replace")

    def tables(self, number: int) -> Iterator[Table]:
        """Yield the tables of a vector of tables."""
        vector = self._vector(number, 4)
        if vector is not None:
            start, length = vector
            for index in range(length):
                self.buffer.spend(4, start)
                yield Table(self.buffer, self.buffer.follow(start + 4 * index))
