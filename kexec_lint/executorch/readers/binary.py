"""Reads what is in a linked binary: ELF and Mach-O files, static archives and linker maps."""

from __future__ import annotations

import re

from kexec_lint.executorch import tables
from kexec_lint.executorch.registration import Kind, Part, Registered, place

_NAME = re.compile(rb"\x00([A-Za-z_]\w{1,40}::[A-Za-z_]\w{0,80}(?:\.\w{1,60})?)(?=\x00)")
_MAP_HEADS = (
    "Memory Configuration",
    "Linker script and memory map",
    "VMA      LMA",
    "# Object files:",
    "# Sections:",
)
_KERNEL_OBJECT = re.compile(r"\b(op_\w+)\.(?:cpp\.)?(?:o|obj)\b")
# A function of a kernel library as g++ and clang mangle it: torch::executor::native::add_out(…).
_MANGLED = re.compile(r"_ZN(?:5torch8executor6native|(?P<other>(?:\d+\w+?)*?6native))(?P<length>\d+)(?P<rest>\w+)")
_BACKEND = re.compile(rb"\x00(\w{2,30}Backend)(?=\x00)")


def is_map(text: str) -> bool:
    """Return whether the text is a linker map: of GNU ld, lld or Apple's linker."""
    head = text[:20_000]
    return any(mark in head for mark in _MAP_HEADS) or bool(
        re.search(r"^ *\.text\S* +0x[0-9a-f]+ +0x", text, re.M)
    )


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
    part.backends = {
        match[1].decode(): place(path) for match in _BACKEND.finditer(data) if match[1].decode() in known
    }
    part.backends_known = True
    return part


def read_map(path: str, text: str, release: tables.Release) -> Part:
    """Return the operators whose kernel functions a linker map places in the binary, with their bytes.

    A map names functions, not operators: `torch::executor::native::add_out` stands for aten::add.out by the
    release's YAML files. Kernels without the registration object are not registered: those are in `stripped`.
    """
    part = Part(path, Kind.REGISTERED, place(path))
    operators: dict[str, list[str]] = {}
    for operator, function in release.kernel_functions.items():
        operators.setdefault(function.split("::")[-1].removeprefix("opt_"), []).append(operator)
        operators.setdefault(function.split("::")[-1], []).append(operator)
    sizes: dict[str, int] = {}
    rows: dict[str, int] = {}
    registers = False
    discarded = False
    lines = text.splitlines()
    for row, line in enumerate(lines, 1):
        if line.startswith(("Discarded input sections", "# Dead Stripped Symbols")):
            discarded = True
        elif line.startswith(
            ("Memory Configuration", "Linker script and memory map", "# Object files", "# Symbols")
        ):
            discarded = False
        if discarded:
            continue
        if "RegisterCodegenUnboxedKernels" in line or "RegisterKernels" in line:
            registers |= bool(re.search(r"0x[0-9a-fA-F]+|^\s*[0-9a-f]{4,}", line)) or "(" in line
        for match in _MANGLED.finditer(line):
            length = int(match["length"])
            name = match["rest"][:length]
            for operator in operators.get(name, ()):
                rows.setdefault(operator, row)
                size = _size(line) or _size(lines[row] if row < len(lines) and "_ZN" not in lines[row] else "")
                sizes[operator] = sizes.get(operator, 0) + size
    for operator in sorted(rows):
        entry = Registered(operator, "default", place(path, rows[operator]), path, sizes[operator] or None)
        if registers:
            part.registered.append(entry)
        else:
            part.stripped[operator] = entry.at
    return part


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
