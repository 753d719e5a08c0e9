"""Reads ExecuTorch programs (.pte, .bpte): operators, kernel keys, delegates, planned memory; never crashes.

The layout is that of `schema/program.fbs` of executorch 1.4.1; field numbers below are the order of its fields.
Operators and keys come out as executorch's own `codegen/tools/selective_build` extension gives them.
"""

from __future__ import annotations

import struct

from kexec_lint.executorch.flatbuffer import Buffer, FormatError, Table
from kexec_lint.executorch.keys import kernel_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from mmap import mmap
    from typing import NamedTuple

    TensorAt = Callable[[int], "Tensor"]
    Data = bytes | memoryview | mmap
else:
    from kexec_lint.executorch.record import NamedTuple

PROGRAM_ID, BUNDLE_ID, DATA_ID = b"ET12", b"BP08", b"FT01"
LFS_HEADER = b"version https://git-lfs.github.com/spec/"

# Tags of the unions KernelTypes and InstructionArguments.
_INT, _BOOL, _DOUBLE, _TENSOR, _TENSOR_LIST, _OPTIONAL_TENSOR_LIST = 2, 3, 4, 5, 10, 11
_NUMBERS = {_INT: 4, _BOOL: 11, _DOUBLE: 7}  # Long, Bool, Double: the scalar types of plain numbers
_KERNEL_CALL, _DELEGATE_CALL, _MOVE_CALL, _JUMP_CALL, _FREE_CALL = range(1, 6)
_VALUE_NAMES = [
    "None",
    "None",
    "int",
    "bool",
    "float",
    "Tensor",
    "str",
    "int[]",
    "float[]",
    "bool[]",
    "Tensor[]",
    "Tensor?[]",
]


class Tensor(NamedTuple):
    """A tensor of a program. `external` is its fully qualified name if the data come from a .ptd file."""

    dtype: int
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    dynamism: int = 0
    external: str | None = None


class Call(NamedTuple):
    """A kernel call: `tensors` are (scalar type, dimension order, whether it stands for a list of tensors).

    `flags` are the boolean arguments as (position, value), `numbers` the plain numbers, those among them, as
    (position, scalar type).
    """

    operator: str
    tensors: tuple[tuple[int, tuple[int, ...], bool], ...]
    flags: tuple[tuple[int, bool], ...] = ()
    numbers: tuple[tuple[int, int], ...] = ()

    @property
    def key(self) -> str:
        """The key that gen_oplist writes: a list counts by its first tensor."""
        return kernel_key([(dtype, order) for dtype, order, _ in self.tensors])

    @property
    def runtime_key(self) -> str:
        """The key that `Method::resolve_operator` looks up: tensor lists do not count."""
        return kernel_key([(dtype, order) for dtype, order, listed in self.tensors if not listed])


class Delegate(NamedTuple):
    """A delegate: the backend's id, where its blob lies in the file (bytes from and to), its compile specs'
    keys.
    """

    backend: str
    blob: tuple[int, int] | None
    magic: bytes
    compile_specs: tuple[str, ...]


class Method(NamedTuple):
    """An execution plan. `steps` are the instructions in order: an operator's name, or a delegate's index."""

    name: str
    operators: tuple[str, ...]
    calls: frozenset[Call]
    delegates: tuple[Delegate, ...]
    inputs: tuple[Tensor | str, ...]
    outputs: tuple[Tensor | str, ...]
    arenas: tuple[int, ...]
    steps: tuple[str | int, ...]
    external: tuple[str, ...]


class Program(NamedTuple):
    """What a program file needs of the binary that loads it."""

    path: str
    size: int
    methods: tuple[Method, ...]
    named_data: tuple[str, ...] = ()
    bundled: bool = False
    calls: frozenset[Call] = frozenset()

    @property
    def operators(self) -> list[str]:
        """Every operator of every method, sorted, each once."""
        return sorted({operator for method in self.methods for operator in method.operators})

    @property
    def kernel_keys(self) -> dict[str, list[str]]:
        """The keys that gen_oplist writes to `et_kernel_metadata`, by operator."""
        keys: dict[str, set[str]] = {}
        for call in self.calls:
            keys.setdefault(call.operator, set()).add(call.key)
        return {operator: sorted(keys[operator]) for operator in sorted(keys)}

    @property
    def dtypes(self) -> dict[str, set[int]]:
        """The scalar types of the tensors of each operator's calls."""
        found: dict[str, set[int]] = {operator: set() for operator in self.operators}
        for call in self.calls:
            found[call.operator].update(dtype for dtype, _, _ in call.tensors)
        return found

    @property
    def backends(self) -> list[str]:
        """The backend of each delegate, in the order of the file; a backend stands once for each of its
        delegates.
        """
        return [delegate.backend for method in self.methods for delegate in method.delegates]

    @property
    def planned_bytes(self) -> int:
        """Bytes of the planned arenas of all methods together, as if all of them were loaded."""
        return sum(sum(method.arenas) for method in self.methods)

    @property
    def external(self) -> list[str]:
        """Fully qualified names of the tensors whose data must come from a .ptd file."""
        return sorted({name for method in self.methods for name in method.external})


def is_lfs_pointer(data: Data) -> bool:
    """Return whether these are the bytes of a Git LFS pointer instead of the file."""
    return bytes(data[: len(LFS_HEADER)]) == LFS_HEADER


def read(path: str, data: Data) -> Program:
    """Read a program from the bytes of a .pte or .bpte file, which may be mapped. Raises FormatError."""
    view, bundled = memoryview(data), False
    base = 0
    if data[4:8] == BUNDLE_ID:
        span = Buffer(view).root().span(2)  # BundledProgram{version, method_test_suites, program}
        if span is None:
            raise FormatError("a bundled program (BP08) without a program inside")
        view, bundled, base = view[span[0] : span[1]], True, span[0]
    _check_identifier(bytes(view[:8]), data)
    program_size, segments_at = _header(view)
    buffer = Buffer(view[:program_size] if program_size else view)
    root = buffer.root()
    reader = _Reader(root, view, segments_at, base)
    methods = tuple(reader.method(plan) for plan in root.tables(1))
    if not methods:
        raise FormatError("a program without an execution plan")
    named = tuple(entry.text(0) for entry in root.tables(7))
    return Program(path, len(data), methods, named, bundled, frozenset().union(*(m.calls for m in methods)))


def read_external(path: str, data: Data) -> frozenset[str]:
    """Return the names of the tensors that a .ptd file brings. Raises FormatError with the reason."""
    if is_lfs_pointer(data):
        raise FormatError("a Git LFS pointer, not the file itself: run `git lfs pull`")
    if data[4:8] != DATA_ID:
        raise FormatError(f"{_identifier(data)} instead of {DATA_ID.decode()}: not a .ptd file")
    # Extended header of extension/flat_tensor: FH01 at byte 8, length, flatbuffer offset and size, segments.
    buffer = Buffer(memoryview(data))
    if data[8:12] == b"FH01" and len(data) >= 48:
        start, size, base, length = struct.unpack_from("<QQQQ", data, 16)
        if base + length > len(data):
            raise FormatError(f"{len(data)} bytes of {base + length}: the file is truncated")
        if start + size > len(data):
            raise FormatError(f"its header names {start + size} bytes, the file has {len(data)}")
    return frozenset(entry.text(0) for entry in buffer.root().tables(2))


def _check_identifier(head: bytes, data: Data) -> None:
    if is_lfs_pointer(data):
        raise FormatError("a Git LFS pointer, not the program itself: run `git lfs pull`")
    if not data:
        raise FormatError("an empty file")
    if head[4:8] != PROGRAM_ID:
        raise FormatError(f"{_identifier(head)} instead of {PROGRAM_ID.decode()}: not an ExecuTorch program")


def _identifier(data: Data) -> str:
    """Return what stands where the identifier should, in hexadecimal where it is no word."""
    found = bytes(data[4:8])
    return f"identifier {found.decode() if found.isalnum() else found.hex(' ') or 'missing'}"


def _header(view: memoryview) -> tuple[int, int]:
    """Return the program's size and the segments' base from the extended header, (0, 0) without one.

    As `ExtendedHeader::Parse` and `Program::load` of v1.4.1: a header whose magic is wrong is no header.
    """
    if bytes(view[8:10]) != b"eh" or len(view) < 32:
        return 0, 0
    length, program_size, base = struct.unpack_from("<IQQ", view, 12)
    if length < 24:
        raise FormatError(f"the extended header says it is {length} bytes long, at least 24 are needed")
    segment_bytes = struct.unpack_from("<Q", view, 32)[0] if length >= 32 and len(view) >= 40 else 0
    expected = base + segment_bytes if base else program_size
    if max(expected, program_size) > len(view):
        raise FormatError(
            f"{len(view)} bytes of the {max(expected, program_size)} that its header names: the file is truncated"
        )
    return program_size, base


class _Reader:
    """Reads the plans of one program; `base` is where the program starts within its file."""

    def __init__(self, root: Table, view: memoryview, segments_at: int, base: int) -> None:
        self.view = view
        self.base = base
        self.segments: list[tuple[int, int]] = []
        for segment in root.tables(4):
            start, size = segments_at + segment.scalar(0, "Q"), segment.scalar(1, "Q")
            if start + size > len(view):
                raise FormatError(f"segment {len(self.segments)} ends at byte {start + size}, the file at {len(view)}")
            self.segments.append((start, start + size))
        self.inline = [entry.span(0) for entry in root.tables(3)]

    def method(self, plan: Table) -> Method:
        values = list(plan.tables(2))
        kinds = [value.scalar(0, "B") for value in values]
        tensors: dict[int, Tensor] = {}

        def tensor(index: int) -> Tensor:
            if index not in tensors:
                if not 0 <= index < len(values) or kinds[index] != _TENSOR:
                    raise FormatError(f"value {index} of method {name!r} is not a tensor")
                tensors[index] = _tensor(_needed(values[index].table(1), "a tensor"))
            return tensors[index]

        def contract(indices: tuple[int, ...]) -> tuple[Tensor | str, ...]:
            for index in indices:
                if not 0 <= index < len(values):
                    raise FormatError(f"method {name!r} takes or returns value {index} of {len(values)}")
            return tuple(tensor(index) if kinds[index] == _TENSOR else _value_name(kinds[index]) for index in indices)

        name = plan.text(0)
        operators = tuple(_operator(entry) for entry in plan.tables(6))
        delegates = tuple(self.delegate(entry) for entry in plan.tables(7))
        calls: set[Call] = set()
        steps: list[str | int] = []
        for chain in plan.tables(5):
            for instruction in chain.tables(2):
                kind = instruction.scalar(0, "B")
                if kind not in (_KERNEL_CALL, _DELEGATE_CALL):
                    if kind not in (_MOVE_CALL, _JUMP_CALL, _FREE_CALL):
                        raise FormatError(f"method {name!r} holds an instruction of unknown kind {kind}")
                    continue
                call = _needed(instruction.table(1), "an instruction")
                index = call.scalar(0, "i")
                if kind == _DELEGATE_CALL:
                    if not 0 <= index < len(delegates):
                        raise FormatError(f"method {name!r} calls delegate {index} of {len(delegates)}")
                    steps.append(index)
                    continue
                if not 0 <= index < len(operators):
                    raise FormatError(f"method {name!r} calls operator {index} of {len(operators)}")
                steps.append(operators[index])
                parts: list[tuple[int, tuple[int, ...], bool]] = []
                flags: list[tuple[int, bool]] = []
                numbers: list[tuple[int, int]] = []
                for position, argument in enumerate(call.numbers(1, "i")):
                    if not 0 <= argument < len(values):
                        raise FormatError(f"{operators[index]} takes value {argument} of {len(values)}")
                    found = self.argument(kinds, values, argument, tensor)
                    if found is not None:
                        parts.append((found[0].dtype, found[0].dim_order, found[1]))
                    elif kinds[argument] in _NUMBERS:
                        numbers.append((position, _NUMBERS[kinds[argument]]))
                    if kinds[argument] == _BOOL:
                        flags.append((position, bool(_needed(values[argument].table(1), "a bool").scalar(0, "B"))))
                calls.add(Call(operators[index], tuple(parts), tuple(flags), tuple(numbers)))
        external = []
        for index, kind in enumerate(kinds):
            if kind == _TENSOR and (fqn := tensor(index).external) is not None:
                external.append(fqn)
        return Method(
            name,
            operators,
            frozenset(calls),
            delegates,
            contract(plan.numbers(3, "i")),
            contract(plan.numbers(4, "i")),
            plan.numbers(8, "q"),
            tuple(steps),
            tuple(external),
        )

    def argument(
        self, kinds: list[int], values: list[Table], index: int, tensor: TensorAt
    ) -> tuple[Tensor, bool] | None:
        """Return the tensor by which an argument counts in a key and whether it stands for a list; else None."""
        kind = kinds[index]
        if kind == _TENSOR:
            return tensor(index), False
        if kind not in (_TENSOR_LIST, _OPTIONAL_TENSOR_LIST):
            return None
        items = _needed(values[index].table(1), "a tensor list").numbers(0, "i")
        for item in items:
            if kind == _OPTIONAL_TENSOR_LIST and (item == -1 or (0 <= item < len(kinds) and kinds[item] != _TENSOR)):
                continue
            return tensor(item), True
        return None

    def delegate(self, entry: Table) -> Delegate:
        specs = tuple(spec.text(0) for spec in entry.tables(2))
        reference = entry.table(1)
        blob: tuple[int, int] | None = None
        if reference is not None:
            spans = self.segments if reference.scalar(0, "b") == 1 else self.inline
            index = reference.scalar(1, "I")
            if index >= len(spans):
                raise FormatError(f"the data of delegate {entry.text(0)!r} are blob {index} of {len(spans)}")
            blob = spans[index]
        magic = bytes(self.view[blob[0] : min(blob[0] + 8, blob[1])]) if blob else b""
        span = (blob[0] + self.base, blob[1] + self.base) if blob else None
        return Delegate(entry.text(0), span, magic, specs)


def _needed(table: Table | None, what: str) -> Table:
    if table is None:
        raise FormatError(f"{what} without its content")
    return table


def _value_name(kind: int) -> str:
    return _VALUE_NAMES[kind] if kind < len(_VALUE_NAMES) else f"value of kind {kind}"


def _operator(entry: Table) -> str:
    name, overload = entry.text(0), entry.text(1)
    return f"{name}.{overload}" if overload else name


def _tensor(entry: Table) -> Tensor:
    extra = entry.table(9)
    external = extra.text(1) if extra is not None and extra.scalar(2, "b") == 1 else None
    return Tensor(entry.scalar(0, "b"), entry.numbers(2, "i"), entry.numbers(3, "B"), entry.scalar(8, "b"), external)
