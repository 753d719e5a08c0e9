"""Reads what is in a linked binary: ELF and Mach-O files, static archives and linker maps."""

from __future__ import annotations

import re

from kexec_lint.executorch import tables
from kexec_lint.executorch.registration import Kind, Part, Registered, place

_NAME = re.compile(rb"\x00([A-Za-z_]\w{1,40}::[A-Za-z_]\w{0,80}(?:\.\w{1,60})?)(?=\x00)")
_MAP_HEADS = (
    "Archive member included ",
    "Discarded input sections",
    "Memory Configuration",
    "Linker script and memory map",
    "# Object files:",
    "# Sections:",
)
_LLD_HEAD = re.compile(r"^\s*VMA\s+LMA\s+Size\s+Align\s", re.M)
_KERNEL_OBJECT = re.compile(r"\b(op_\w+)\.(?:cpp\.)?(?:o|obj)\b")
_REGISTERS = re.compile(r"Register(?:CodegenUnboxed)?Kernels\w*(?:\.cpp)?\.(?:o|obj)\b")
_DISCARDED = ("Discarded input sections", "# Dead Stripped Symbols")
_KEPT = ("Memory Configuration", "Linker script and memory map", "# Object files", "# Sections", "# Symbols")
# A function of a kernel library as g++ and clang mangle it: torch::executor::native::add_out(…).
_MANGLED = re.compile(r"_ZN(?P<spaces>(?:\d+[A-Za-z_]\w*?)*?)6native(?P<length>\d+)(?P<rest>[A-Za-z_]\w+)")
_DEMANGLED = re.compile(r"\b((?:\w+::)*)native::(\w+)\(")
_NUMBERED_OBJECT = re.compile(r"\[\s*(\d+)\]\s+\S")  # Apple's linker numbers the objects, and names them once
_SECTION = re.compile(r"^\s*(\.[\w.$]+)")
_BACKEND = re.compile(rb"\x00(\w{2,30}Backend)(?=\x00)")


def is_map(text: str) -> bool:
    """Return whether the text is a linker map: of GNU ld, lld or Apple's linker."""
    head = text[:20_000]
    return any(mark in head for mark in _MAP_HEADS) or bool(_LLD_HEAD.search(head))


def read_binary(path: str, data: bytes, release: tables.Release) -> Part:
    """Return the operators whose scoped names a binary holds.

    Generated registration passes every name as a string; the switch macros name operators without `aten::`, so a
    scoped name is a registration. The linker may merge a string into the tail of a longer one, so the names of the
    release are looked for by their end, others only where they stand alone.
    """
    part = Part(path, Kind.REGISTERED, place(path), exact=True)
    found = {operator for operator in release.known if operator.encode() + b"\0" in data}
    spaces = {operator.split("::")[0] for operator in release.known}
    for match in _NAME.finditer(data):
        name = match[1].decode("ascii", "replace")
        if name.split("::")[0] in spaces and "." in name:
            found.add(name)
    part.registered = [Registered(name, "default", place(path), path) for name in sorted(found)]
    known = set(tables.LIBRARY_BACKENDS.values())
    part.backends = {match[1].decode(): place(path) for match in _BACKEND.finditer(data) if match[1].decode() in known}
    part.backends_known = True
    return part


def read_map(path: str, text: str, release: tables.Release) -> Part:
    """Return the operators whose kernel functions a linker map places in the binary, with their bytes.

    A map names functions, not operators: `torch::executor::native::add_out` stands for aten::add.out by the
    release's YAML files. Where it names objects only, op_add.cpp.o stands for the operators of op_add.cpp. The bytes
    of an operator are those of all the code that its object brings, templates too. Kernels without the registration
    object are not registered: those are in `stripped`.
    """
    part = Part(path, Kind.REGISTERED, place(path))
    functions = _functions(release)
    files: dict[str, list[str]] = {}
    for operator, file in release.kernel_files.items():
        files.setdefault(file, []).append(operator)
    sizes: dict[str, int] = {}
    rows: dict[str, int] = {}
    by_object: dict[str, tuple[int, int]] = {}
    numbered: dict[str, str] = {}
    section = ""
    registers = discarded = False
    lines = text.splitlines()
    for row, line in enumerate(lines, 1):
        if line.startswith(_DISCARDED):
            discarded = True
        elif line.startswith(_KEPT):
            discarded = False
        if discarded:
            continue
        registers |= bool(_REGISTERS.search(line))
        if match := _SECTION.match(line):
            section = match[1]
        for name in _called(line):
            size = _size(line) or _size(lines[row] if row < len(lines) and not _called(lines[row]) else "")
            for operator in functions.get(name, ()):
                rows.setdefault(operator, row)
                sizes[operator] = sizes.get(operator, 0) + size
        size = _size(line)
        number = _NUMBERED_OBJECT.search(line)
        match = _KERNEL_OBJECT.search(line)
        if match and number and not size:
            numbered[number[1]] = match[1]
        # A line of GNU ld or lld with a section's size and object; of Apple's with a symbol's size and object.
        file = match[1] if match else numbered.get(number[1], "") if number else ""
        if file in files and size and (number or section.startswith(".text") or ":(.text" in line):
            first, sum_ = by_object.get(file, (row, 0))
            by_object[file] = first, sum_ + size
    if not rows:
        for file, (row, _) in by_object.items():
            rows.update(dict.fromkeys(files[file], row))
    for operator in sorted(rows):
        object_size = by_object.get(release.kernel_files.get(operator, ""), (0, 0))[1]
        size = object_size or sizes.get(operator, 0)
        entry = Registered(operator, "default", place(path, rows[operator]), path, size or None)
        if registers:
            part.registered.append(entry)
        else:
            part.stripped[operator] = entry.at
    return part


def _functions(release: tables.Release) -> dict[str, list[str]]:
    """Return the operators by the scoped name of their C++ function."""
    found: dict[str, list[str]] = {}
    for operator, function in release.kernel_functions.items():
        space, _, name = function.rpartition("::")
        for spelt in {name, name.removeprefix("opt_")}:
            found.setdefault(f"{space.removesuffix('::native')}::{spelt}", []).append(operator)
    return found


def _called(line: str) -> list[str]:
    """Return the functions of a namespace `native` on a line, mangled or not, with what `native` is in."""
    if "native" not in line:
        return []
    mangled = [
        "::".join([*_spaces(match["spaces"]), match["rest"][: int(match["length"])]])
        for match in _MANGLED.finditer(line)
    ]
    return mangled or [f"{space}{name}" for space, name in _DEMANGLED.findall(line)]


def _spaces(mangled: str) -> list[str]:
    """Return the names in `5torch8executor`."""
    found = []
    while match := re.match(r"\d+", mangled):
        end = match.end() + int(match[0])
        found.append(mangled[match.end() : end])
        mangled = mangled[end:]
    return found


def _size(line: str) -> int:
    """Return the size on a map line: the second hexadecimal number of GNU ld and Apple, the third column of
    lld.
    """
    numbers = re.findall(r"0x([0-9a-fA-F]+)", line)
    if len(numbers) >= 2:
        return int(numbers[1], 16)
    columns = line.split()
    if len(columns) > 4 and all(re.fullmatch(r"[0-9a-f]+", column) for column in columns[:3]):
        return int(columns[2], 16)
    return 0
