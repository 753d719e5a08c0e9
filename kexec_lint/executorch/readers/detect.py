"""Tells what a build file is by its content, and reads it: the one entrance to the readers."""

from __future__ import annotations

from pathlib import Path

from kexec_lint.executorch import program, tables
from kexec_lint.executorch.flatbuffer import FormatError
from kexec_lint.executorch.readers import oplist
from kexec_lint.executorch.registration import Kind, Part, RegistrationError, place

BINARIES = (b"\x7fELF", b"!<arch>\n", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""First bytes of ELF files, static archives and Mach-O files."""
CACHE_HEAD = "# This is the CMakeCache file."

FOLDER_FILES = (
    "selected_operators.yaml",
    "RegisterCodegenUnboxedKernelsEverything.cpp",
    "selected_op_variants.h",
    "selected_max_kernel_num.h",
    "selected_prim_ops.h",
    "CMakeCache.txt",
)


def read(path: str, release: tables.Release) -> list[Part]:
    """Return the parts of a build that a file or a folder describes.

    Raises RegistrationError, with what to pass instead, for a file that says nothing about a build.
    """
    file = Path(path)
    if file.is_dir():
        return _folder(file, release)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise RegistrationError(f"{path}: {error.strerror or error}") from error
    return parse(path, data, release)


def parse(path: str, data: bytes, release: tables.Release) -> list[Part]:
    """Return what the bytes of one file say about a build; see `read`. Each reader is imported when needed."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    if data[4:8] in (program.PROGRAM_ID, program.BUNDLE_ID) or name.endswith((".pte", ".bpte")):
        return [of_model(path, data)]
    if data.startswith(BINARIES):
        from kexec_lint.executorch.readers import binary

        return [binary.read_binary(path, data, release)]
    if program.is_lfs_pointer(data):
        raise RegistrationError(f"{path}: a Git LFS pointer, not the file itself: run `git lfs pull`")
    text = data.decode("utf-8", "replace")
    if name.endswith((".yaml", ".yml")):
        return [_yaml(path, text)]
    if name in ("CMakeCache.txt", "CMakeLists.txt") or name.endswith(".cmake") or text.startswith(CACHE_HEAD):
        from kexec_lint.executorch.readers import cmake

        cached = name == "CMakeCache.txt" or text.startswith(CACHE_HEAD)
        return [cmake.read_cache(path, text, release) if cached else cmake.read(path, text, release)]
    if name.endswith((".cpp", ".cc", ".cxx", ".h", ".hpp")):
        from kexec_lint.executorch.readers import generated

        if generated.is_generated(text):
            return [generated.read(path, text)]
    if name.endswith(".json"):
        return _json(path, text, release)
    if oplist.is_list(text):
        return [oplist.read(path, text)]
    if name in ("BUCK", "TARGETS") or "et_operator_library" in text or "executorch_generated_lib" in text:
        from kexec_lint.executorch.readers import buck

        return [buck.read(path, text)]
    from kexec_lint.executorch.readers import binary

    if binary.is_map(text):
        return [binary.read_map(path, text, release)]
    return [_yaml(path, text)]


def _json(path: str, text: str, release: tables.Release) -> list[Part]:
    """Return the parts of CMake presets, or the selection of an `ops_dict`."""
    from kexec_lint.executorch.readers import cmake

    if presets := cmake.read_presets(path, text, release):
        return presets
    part = Part(path, Kind.SELECTION, place(path))
    oplist.read_dict(part, text, place(path))
    if not part.selected and not part.problems:
        raise RegistrationError(f"{path}: neither CMake presets that set ExecuTorch options nor an ops_dict")
    return [part]


def _yaml(path: str, text: str) -> Part:
    from kexec_lint.executorch.readers import functions_yaml, selected_yaml, yaml_nodes

    root = yaml_nodes.compose(path, text) if ":" in text else None
    if root is not None and selected_yaml.is_selection(root):
        return selected_yaml.read(path, root)
    if root is not None and functions_yaml.is_functions(root):
        return functions_yaml.read(path, root)
    raise RegistrationError(
        f"{path}: says nothing about a build; pass a selected_operators.yaml, functions.yaml, generated .cpp, "
        "CMake or BUCK file, linker map, ELF file, model, or a list of operators"
    )


def of_model(path: str, data: bytes) -> Part:
    """Return the selection that gen_oplist makes from a model. Raises RegistrationError for one that does not
    read.
    """
    try:
        model = program.read(path, data)
    except FormatError as error:
        raise RegistrationError(f"{path}: {error}") from error
    part = Part(path, Kind.SELECTION, place(path))
    keys = model.kernel_keys
    for operator in model.operators:
        oplist.add(part, operator, place(path), tuple(keys.get(operator, ())) or ("default",))
    return part


def _folder(folder: Path, release: tables.Release) -> list[Part]:
    """Return the parts of a CMake build folder: the generated files under it and its cache."""
    found = [
        path for name in FOLDER_FILES for path in sorted(folder.rglob(name)) if len(path.relative_to(folder).parts) <= 6
    ]
    parts = [part for path in found for part in read(str(path), release)]
    generated_parts = {Path(part.path).parent for part in parts if part.kind is Kind.REGISTERED}
    # The generated source is what the selection beside it became: one of them is enough, and the source is exact.
    kept = [
        part
        for part in parts
        if not (part.kind is Kind.SELECTION and not part.problems and Path(part.path).parent in generated_parts)
    ]
    if not kept:
        raise RegistrationError(f"{folder}: no generated file and no CMakeCache.txt of a selective build in it")
    return kept
