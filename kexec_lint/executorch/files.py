"""Plain `check` of one source file: YAML, CMake, Buck and Python, without a model."""

from __future__ import annotations

from kexec_lint.executorch import tables
from kexec_lint.executorch.checks import python, selection
from kexec_lint.executorch.compare import unique
from kexec_lint.executorch.readers import buck, cmake, functions_yaml, selected_yaml, yaml_nodes
from kexec_lint.executorch.registration import Part, RegistrationError
from kexec_lint.findings import Finding
from kexec_lint.source import Project, Source

UP = 8
"""How many folders up a CMakeLists.txt is looked for that brings executorch's targets."""


def check(source: Source, project: Project) -> list[Finding]:
    """Return the findings of one file, by the facts of the newest release."""
    if source.suffix == ".py":
        return unique(python.check(source))
    release = tables.load()
    return unique(finding for part in parts(source, release, project) for finding in selection.check(part, release))


def parts(source: Source, release: tables.Release, project: Project) -> list[Part]:
    """Return what the file says about a build; nothing for a file of another purpose."""
    name = source.path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if name == "cmakelists.txt" or name.endswith(".cmake"):
        inside = "target_link_libraries" in source.text and _inside(source, project)
        return [cmake.read(source.path, source.text, release, inside)]
    if name == "cmakepresets.json":
        return cmake.read_presets(source.path, source.text, release)
    if name.endswith((".yaml", ".yml")):
        return _yaml(source)
    return [buck.read(source.path, source.text)] if buck.is_buck(source.text) else []


def _inside(source: Source, project: Project) -> bool:
    """Return whether a CMakeLists.txt further up brings executorch; the search ends where there is none."""
    missed = 0
    for level in range(0 if source.path.endswith(".cmake") else 1, UP):
        above = project.read("../" * level + "CMakeLists.txt", source.path)
        if above is not None and cmake.brings_executorch(above.text):
            return True
        missed = missed + 1 if above is None else 0
        if missed > 3:
            break
    return False


def _yaml(source: Source) -> list[Part]:
    try:
        root = yaml_nodes.compose(source.path, source.text)
    except RegistrationError:
        return []
    if root is None:
        return []
    if functions_yaml.is_functions(root):
        # PyTorch's native_functions.yaml has the same form; only executorch's names the kernels.
        return [functions_yaml.read(source.path, root)] if "kernel_name" in source.text else []
    if selected_yaml.is_selection(root):
        part = selected_yaml.read(source.path, root)
        return [part] if _is_executorch(part, source.text) else []
    return []


def _is_executorch(part: Part, text: str) -> bool:
    """Return whether a selection is made for executorch.

    PyTorch Mobile's has the same keys, no kernel metadata and no out variants.
    """
    if "et_kernel_metadata" in text or part.include_all:
        return True
    return any(entry.operator.rpartition(".")[2].endswith("out") for entry in part.selected)
