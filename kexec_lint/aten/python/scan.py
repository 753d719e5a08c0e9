"""Reads one Python file into facts."""

from __future__ import annotations

import ast

from kexec_lint.aten.facts import FileBuilder, FileFacts
from kexec_lint.aten.python.builds import inline_sources, read_builds
from kexec_lint.aten.python.libraries import Libraries
from kexec_lint.aten.python.mixes import Mixes
from kexec_lint.aten.python.module import Module, Scope
from kexec_lint.aten.python.registrations import Registrations
from kexec_lint.aten.python.uses import Uses
from kexec_lint.source import Project, Source

REGISTERS = (
    "torch.library",
    "register_kernel",
    "register_fake",
    "torch.ops",
    "torch import library",
    "torch import ops",
    "custom_op",
    "triton_op",
    "load_library",
)
BUILDS = ("cpp_extension", "TORCH_CUDA_ARCH_LIST", "-gencode")


def read_python(source: Source, project: Project) -> FileFacts | None:
    """Return the facts of a Python file or notebook; None if it is not Python."""
    try:
        module = Module(source, project)
    except (SyntaxError, ValueError, RecursionError):
        return None
    facts, text = FileBuilder(), source.text
    if any(word in text for word in REGISTERS):
        libraries = Libraries(module, project, facts)
        registrations = Registrations(module, libraries, facts)
        registrations.read()
        Uses(module, project, registrations.custom_operator, facts).read()
    if any(word in text for word in BUILDS):
        read_builds(module, project, facts)
    if "cuda" in text:
        Mixes(module, facts).read(_cuda_kernels(module, facts))
    if "TORCH_LIBRARY" in text:
        from kexec_lint.aten.native.scan import read_inline

        for node, inline in inline_sources(module):
            read_inline(inline, module.at(node), source.path, facts)
    return facts.build(is_test=_is_test(source.path))


def _cuda_kernels(module: Module, facts: FileBuilder) -> dict[Scope, frozenset[str]]:
    """Return the functions registered for CUDA alone, with the parameters annotated or used as tensors."""
    names = {i.function_name for i in facts.implementations if i.key == "CUDA" and i.function is not None}
    names |= {
        d.function.name for d in facts.definitions
        if d.function is not None and d.device_types == ("cuda",)
    }  # fmt: skip
    other = {i.function_name for i in facts.implementations if i.key not in ("CUDA",) and i.role == "kernel"}
    found: dict[Scope, frozenset[str]] = {}
    for name in names - other:
        for node in module.functions.get(name or "", ()):
            annotated = {
                a.arg for a in node.args.args
                if a.annotation is not None and ast.unparse(a.annotation).endswith("Tensor")
            }  # fmt: skip
            found[node] = frozenset(annotated)
    return found


def _is_test(path: str) -> bool:
    parts = path.replace("\\", "/").split("/")
    stem = parts[-1]
    return stem.startswith("test_") or stem.endswith("_test.py") or stem == "conftest.py" or "tests" in parts[:-1]
