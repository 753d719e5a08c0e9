"""Puts the parts of a build together: which kernels it registers, which backends it links, which dtypes it
keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kexec_lint.executorch import tables
from kexec_lint.executorch.emit import Emission, Selection, emit
from kexec_lint.executorch.keys import SCALAR_TYPES, key_dtypes, namespace
from kexec_lint.executorch.registration import Kernel, Kind, Part, Registered, Selected, place
from kexec_lint.findings import Location

_SMALLEST_LIBRARY = 170


@dataclass
class Build:
    """One build, ready to be compared with models.

    `registered` is operator → its registrations; `complete` is False where a part could not be resolved, so that a
    missing operator is no proof; `open` says that nothing tells what is registered. `selective` is False where a
    whole kernel library is in: nothing is unneeded then.
    """

    name: str
    release: tables.Release
    parts: list[Part]
    registered: dict[str, list[Registered]] = field(default_factory=dict)
    emission: Emission = field(default_factory=Emission)
    selection: list[Selected] = field(default_factory=list)
    available: dict[str, Kernel] = field(default_factory=dict)
    custom_known: bool = False
    complete: bool = True
    open: bool = False
    custom_open: bool = False
    selective: bool = False
    prim: frozenset[str] = frozenset()
    backends: dict[str, Location] = field(default_factory=dict)
    backends_known: bool = False
    libraries: dict[str, Location] = field(default_factory=dict)
    dtype_selective: Location | None = None
    dtypes: dict[str, frozenset[str] | None] = field(default_factory=dict)
    capacity: tuple[int, Location] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def at(self) -> Location:
        """Where to add a missing operator: the selection, or the first part."""
        for part in self.parts:
            if part.kind is Kind.SELECTION:
                return part.selected[-1 if part.is_list else 0].at if part.selected else part.at
        return self.parts[0].at if self.parts else place(self.name)

    def has(self, operator: str) -> bool:
        """Return whether some kernel of the operator is registered."""
        return self.open or operator in self.registered or operator in self.prim

    @property
    def generated(self) -> dict[str, list[Registered]]:
        """What the selection registers, without linked libraries."""
        own = {part.path for part in self.parts}
        return {
            operator: [entry for entry in entries if entry.source in own]
            for operator, entries in self.registered.items()
            if any(entry.source in own for entry in entries)
        }


def assemble(
    name: str,
    parts: Sequence[Part],
    release: tables.Release,
    libraries: Iterable[str] = (),
    backends: Iterable[str] | None = None,
    dtype_selective: bool = False,
) -> Build:
    """Return the build that the parts describe together, with further libraries and backends from the command
    line.
    """
    build = Build(name, release, list(parts))
    flag = place(name)
    _kernels(build)
    _selected(build)
    for part in parts:
        for entry in part.registered:
            build.registered.setdefault(entry.operator, []).append(entry)
        build.libraries.update(part.libraries)
        build.backends.update(part.backends)
        build.backends_known |= part.backends_known
        build.capacity = part.capacity or build.capacity
        build.dtype_selective = build.dtype_selective or part.dtype_selective
    for part in parts:
        build.custom_open |= part.custom_unresolved
        for path in part.unresolved:
            build.complete = False
            build.notes.append(f"{part.path} names {path}, which cannot be resolved here")
    for library in libraries:
        if library in tables.LIBRARY_BACKENDS:
            build.backends.setdefault(tables.LIBRARY_BACKENDS[library], flag)
        elif release.library(library) is None and not tables.registers_nothing(library):
            build.complete = False
            build.notes.append(f"library {library} is unknown: what it registers is not counted")
        build.libraries.setdefault(library, flag)
    for backend in backends or ():
        build.backends.setdefault(backend, flag)
    build.backends_known |= backends is not None
    _linked(build)
    _prims(build)
    if dtype_selective and build.dtype_selective is None:
        build.dtype_selective = flag
    _dtypes(build)
    if build.selective and _holds_a_library(build):
        build.selective = False
    says = any(part.kind is not Kind.SETTINGS or part.broken for part in parts) or bool(build.registered)
    if not says:
        build.open = True
        build.complete = False
        build.notes.append(f"{name}: nothing says which operators are registered")
    return build


def _holds_a_library(build: Build) -> bool:
    """Return whether the whole portable library of some release is in: that was not selected one by one."""
    if len(build.registered) < min(_SMALLEST_LIBRARY, len(build.release.portable)):
        return False
    return any(tables.load(version).portable <= build.registered.keys() for version in tables.RELEASES)


def _kernels(build: Build) -> None:
    """Fill `available`: the YAML files of the build, or the portable library where none is named."""
    named = [part for part in build.parts if part.kind is Kind.KERNELS]
    functions = [p for p in named if any(namespace(kernel.operator) == "aten" for kernel in p.kernels)]
    build.custom_known = bool(named)
    if not functions:
        optimized = any(part.optimized for part in build.parts)
        operators = build.release.portable | (
            build.release.libraries["optimized_ops_lib"] if optimized else frozenset()
        )
        source = place(f"executorch {build.release.version}, kernels/portable/functions.yaml")
        build.available = {operator: Kernel(operator, source) for operator in sorted(operators)}
    for part in named:
        for kernel in part.kernels:
            if kernel.out_variant:
                build.available[kernel.operator] = kernel


def _selected(build: Build) -> None:
    """Run the emulated codegen over the union of the selections; without one, every kernel of a YAML is
    registered.
    """
    chosen = [part for part in build.parts if part.kind is Kind.SELECTION]
    kernels = [part for part in build.parts if part.kind is Kind.KERNELS]
    if any(part.broken for part in build.parts):
        build.complete = False
        build.notes.append("codegen stops on this build's files, so there is no binary to judge")
        return
    if not chosen:
        for part in kernels:
            for kernel in part.kernels:
                if kernel.out_variant:
                    entry = Registered(
                        kernel.operator, kernel.keys[0] if kernel.keys else "default", kernel.at, part.path
                    )
                    build.registered.setdefault(kernel.operator, []).append(entry)
        return
    build.selective = True
    include_all = any(part.include_all for part in chosen)
    metadata: dict[str, set[str]] = {}
    at: dict[str, tuple[Location, str]] = {}
    for part in chosen:
        build.selection.extend(part.selected)
        for chosen_operator in part.selected:
            at.setdefault(chosen_operator.operator, (chosen_operator.at, part.path))
        for listed in (*part.selected, *part.metadata.values()):
            if listed.keys is not None:
                metadata.setdefault(listed.operator, set()).update(listed.keys)
    # Two selections merge as `merge_operator_dicts` does: a flag that one of them sets is set.
    selection = Selection(
        frozenset(entry.operator for entry in build.selection),
        frozenset(entry.operator for entry in build.selection if entry.root),
        frozenset(entry.operator for entry in build.selection if entry.all_overloads),
        {operator: sorted(keys) for operator, keys in metadata.items()},
        include_all,
    )
    build.emission = emit(selection, {name: kernel.keys for name, kernel in build.available.items()})
    for operator, keys in build.emission.kernels.items():
        location, path = at.get(operator, (chosen[0].include_all or chosen[0].at, chosen[0].path))
        for key in keys:
            build.registered.setdefault(operator, []).append(Registered(operator, key, location, path))
    for part in chosen:
        if not part.is_list:
            continue
        # A plain list says what is registered, also of namespaces whose YAML is not at hand.
        for named in part.selected:
            space = namespace(named.operator)
            if space not in ("", "aten") and named.operator not in build.registered and not build.custom_known:
                registered = Registered(named.operator, "default", named.at, part.path)
                build.registered.setdefault(named.operator, []).append(registered)
    if include_all:
        build.selective = False


def _linked(build: Build) -> None:
    """Add what the linked kernel libraries register."""
    for library, at in build.libraries.items():
        for operator in sorted(build.release.library(library) or ()):
            build.registered.setdefault(operator, []).append(Registered(operator, "default", at, library))


def _prims(build: Build) -> None:
    """Fill `prim`: all of them come with libexecutorch, unless a header, a Buck target or the binary itself says
    less.
    """
    limits = [part.prim for part in build.parts if part.prim is not None]
    if limits:
        macros = frozenset().union(*limits)
        build.prim = frozenset(
            operator
            for operator in build.release.prim
            if operator.replace("::", "_").replace(".", "_").upper() in macros
        )
    elif any(part.exact for part in build.parts):
        build.prim = frozenset()
    else:
        build.prim = build.release.prim


def _dtypes(build: Build) -> None:
    """Fill `dtypes`, the header of a dtype-selective build: name without `aten::` → scalar types, None for all.

    As gen_selected_op_variants.py: the union over all tensors of all keys; `default` ends the reading of a list.
    """
    headers = [part.dtypes for part in build.parts if part.dtypes is not None]
    if headers:
        for header in headers:
            build.dtypes.update(header)
        return
    for part in build.parts:
        entries = [*part.metadata.values(), *(entry for entry in part.selected if entry.keys is not None)]
        for entry in entries:
            names: set[str] = set()
            for key in entry.keys or ():
                if key == "default" or "/" not in key:
                    break
                names.update(SCALAR_TYPES[number] for number in key_dtypes(key) if number < len(SCALAR_TYPES))
            build.dtypes[entry.operator.removeprefix("aten::")] = frozenset(names) or None


def resolve(path: str, relative_to: str) -> Path | None:
    """Return the file that a build file names, relative to its folder, or None where it is not there."""
    for candidate in (Path(path), Path(relative_to).parent / path):
        try:
            if candidate.is_file():
                return candidate
        except OSError:
            continue
    return None
