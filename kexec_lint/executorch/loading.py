"""From paths to builds and programs: which files are parts of one build, and what they name in turn."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from kexec_lint.executorch import program, tables
from kexec_lint.executorch.build import Build, assemble, resolve
from kexec_lint.executorch.flatbuffer import FormatError
from kexec_lint.executorch.readers import detect
from kexec_lint.executorch.registration import Kind, Part, RegistrationError, finding, place
from kexec_lint.findings import Finding


def load_program(path: str) -> program.Program | Finding:
    """Return the program of a file, or the finding EXT301 that says why there is none.

    Raises OSError for a file that cannot be read at all.
    """
    try:
        return program.read(path, _mapped(path))
    except FormatError as error:
        return finding(
            "EXT301",
            f"{path} is no sound program: {error}",
            place(path),
            help=("compare its size and checksum with the exported file; a partial copy or a Git LFS pointer looks so"),
            model=path,
        )


def _mapped(path: str) -> mmap.mmap | bytes:
    """Return the bytes of a file without reading them: weights of gigabytes may follow the program."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""


def load_external(path: str) -> frozenset[str] | Finding:
    """Return the tensors that a .ptd file brings, or EXT302 with the reason why it does not read."""
    try:
        return program.read_external(path, _mapped(path))
    except FormatError as error:
        return finding("EXT302", f"{path} is no sound data file: {error}", place(path), model=path)


def load_builds(
    paths: Sequence[str],
    release: tables.Release,
    libraries: Iterable[str] = (),
    backends: Iterable[str] | None = None,
    dtype_selective: bool = False,
) -> list[Build]:
    """Return the builds of several `--build` paths.

    A selection or a registered set is a build; YAML of kernels, CMake settings and generated headers belong to
    every build given beside them, as do the `libraries` that are files. A comma joins paths to one build.
    Raises RegistrationError.
    """
    libraries = list(libraries)
    shared: list[Part] = []
    names: list[str] = []
    for library in libraries:
        if "/" in library or Path(library).is_file():
            shared += [_as_library(part) for part in detect.read(library, release)]
        else:
            names.append(library)
    heads: list[tuple[str, list[Part]]] = []
    settings: list[tuple[str, list[Part]]] = []
    for path in paths:
        pieces = [path] if Path(path).exists() else path.split(",")
        parts = [part for piece in pieces for part in detect.read(piece, release)]
        parts += [extra for part in parts for extra in named_files(part, release)]
        if any(part.kind in (Kind.SELECTION, Kind.REGISTERED) for part in parts):
            heads.append((path, parts))
        else:
            settings.append((path, parts))
    common = [part for _, parts in settings for part in parts] + shared
    if not heads:
        label = " + ".join(path for path, _ in settings) or ", ".join(libraries) or "no build"
        return [assemble(label, _default(common), release, names, backends, dtype_selective)]
    return [assemble(path, parts + common, release, names, backends, dtype_selective) for path, parts in heads]


def _as_library(part: Part) -> Part:
    part.libraries.setdefault(part.path, part.at)
    return part


def _default(parts: list[Part]) -> list[Part]:
    """Add the whole library that a CMake build without any selection links (executorch_kernels)."""
    cached = [part for part in parts if part.backends_known and not part.exact]
    if cached and not any(part.kind is Kind.KERNELS for part in parts):
        library = "optimized_native_cpu_ops_lib" if any(part.optimized for part in parts) else "portable_ops_lib"
        cached[0].libraries.setdefault(library, cached[0].at)
    return parts


def named_files(part: Part, release: tables.Release) -> list[Part]:
    """Return the parts of the files that a build file names: the model, YAML files; only those that can be
    read.
    """
    found: list[Part] = []
    for role, path, _ in part.files:
        file = resolve(path, part.path)
        if file is None:
            _not_here(part, role, path, release, found)
            continue
        try:
            pieces = detect.read(str(file), release)
        except RegistrationError:
            part.unresolved.append(path)
            continue
        for piece in pieces:
            if role == "schema":
                found += _schema(part, piece)
            else:
                found.append(piece)
    return found


def _not_here(part: Part, role: str, path: str, release: tables.Release, found: list[Part]) -> None:
    """Answer for a named file that is not there: one of executorch's own is known, others leave the build open."""
    if role == "custom":
        part.custom_unresolved = True
        return
    operators = _well_known(path, release) if role in ("functions", "schema") else None
    if operators is None:
        part.unresolved.append(path)
    elif role == "schema":
        from kexec_lint.executorch.readers import oplist

        chosen = Part(part.path, Kind.SELECTION, part.at)
        for operator in sorted(operators):
            oplist.add(chosen, operator, part.at)
        found.append(chosen)
    elif operators != release.portable:
        part.optimized = True


def _schema(part: Part, piece: Part) -> list[Part]:
    """Return the selection of an OPS_SCHEMA_YAML: every operator of a kernel YAML, with the key `default`."""
    from kexec_lint.executorch.readers import oplist

    if piece.kind is not Kind.KERNELS:
        part.broken = True
        part.problems.append(
            finding(
                "EXT105",
                f"{piece.path} is a selection, but the option takes a kernel YAML (functions.yaml, custom "
                "operators): "
                "gen_oplist stops with AttributeError",
                next((at for role, _, at in part.files if role == "schema"), part.at),
                help="name the operators in EXECUTORCH_SELECT_OPS_LIST, or pass the model",
            )
        )
        return []
    chosen = Part(piece.path, Kind.SELECTION, piece.at)
    for kernel in piece.kernels:
        oplist.add(chosen, kernel.operator, kernel.at)
    return [chosen]


def _well_known(path: str, release: tables.Release) -> frozenset[str] | None:
    """Return the kernels of a YAML that lies in the executorch tree, None for other files."""
    for ending, library in (
        ("kernels/portable/functions.yaml", "portable_ops_lib"),
        ("merged.yaml", "optimized_ops_lib"),
        ("kernels/optimized/optimized.yaml", "optimized_ops_lib"),
    ):
        if path.replace("\\", "/").replace(":", "/").endswith(ending):
            return release.libraries[library]
    return None
