"""Extension builds in Python: CppExtension sources, cpp_extension.load, inline C++ and fixed GPU architectures."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kexec_lint.aten.facts import FileBuilder, Problem
from kexec_lint.aten.python.module import Module, argument
from kexec_lint.aten.python.sources import extension_sources
from kexec_lint.source import Project

CPP_EXTENSION = "torch.utils.cpp_extension."
_MODULE = re.compile(r"\b(PYBIND11_MODULE|PyInit_|NB_MODULE|TORCH_PYTHON_MODULE|STABLE_PYTHON)")
_LIBRARY = re.compile(r"\b(TORCH_LIBRARY|STABLE_TORCH_LIBRARY)")
_ARCH = re.compile(r"-gencode|arch=compute_|--offload-arch")


def read_builds(module: Module, project: Project, facts: FileBuilder) -> None:
    """Record what extensions are built from; report loads whose Python module or operator library is missing
    (ATN211) and fixed architectures (ATN212)."""
    facts.extensions.extend(extension_sources(module))
    for call in module.calls:
        name = module.dotted(call.func)
        if name == CPP_EXTENSION + "load":
            _check_load(module, project, facts, call)
        elif name == CPP_EXTENSION + "load_inline":
            _check_inline(module, facts, call)
    _check_architectures(module, facts)


def inline_sources(module: Module) -> Iterator[tuple[ast.Constant, str]]:
    """Yield string constants that hold C++ registrations, with their text."""
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _LIBRARY.search(node.value):
            yield node, node.value


def _texts(module: Module, project: Project, node: ast.expr | None) -> list[str] | None:
    """Return the texts of the source files of a list, or None if one is not known."""
    if isinstance(node, ast.Name):
        node = module.value(node)
    elements = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node] if node is not None else []
    found = []
    for element in elements:
        values = module.strings(element)
        if values is None and isinstance(element, ast.Call) and element.args:
            values = module.strings(element.args[-1])  # os.path.join(here, "ext.cpp")
        if not values:
            return None
        for value in values:
            source = project.read(value, module.source.path)
            if source is None:
                return None
            found.append(source.text)
    return found or None


def _is_python_module(module: Module, call: ast.Call) -> bool | None:
    given = argument(call, None, "is_python_module")
    standalone = argument(call, None, "is_standalone")
    if standalone is not None or any(k.arg is None for k in call.keywords):
        return None
    if given is None:
        return True
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, bool) else None


def _check_load(module: Module, project: Project, facts: FileBuilder, call: ast.Call) -> None:
    texts = _texts(module, project, argument(call, 1, "sources"))
    if texts is not None:
        _judge(module, facts, call, "\n".join(texts), has_functions=False)


def _check_inline(module: Module, facts: FileBuilder, call: ast.Call) -> None:
    given = argument(call, 1, "cpp_sources")
    elements = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given]
    values = [module.strings(e) for e in elements]
    if any(v is None for v in values):
        return
    functions = argument(call, None, "functions")
    has_functions = functions is not None and not (isinstance(functions, ast.Constant) and functions.value is None)
    _judge(module, facts, call, "\n".join(t for v in values if v for t in v), has_functions)


def _judge(module: Module, facts: FileBuilder, call: ast.Call, text: str, has_functions: bool) -> None:
    wants_module = _is_python_module(module, call)
    has_module, has_library = bool(_MODULE.search(text)) or has_functions, bool(_LIBRARY.search(text))
    if wants_module is True and has_library and not has_module:
        facts.problems.append(
            Problem(
                "ATN211",
                module.at(call),
                "the sources only register operators (TORCH_LIBRARY), but they are loaded as a Python module",
                "pass is_python_module=False; the import raises 'dynamic module does not define "
                "module export function'",
            )
        )
    elif wants_module is False and has_module and not has_library:
        facts.problems.append(
            Problem(
                "ATN211",
                module.at(call),
                "the sources define a Python module (PYBIND11_MODULE) and no operators, but it is loaded as a library",
                "leave is_python_module out; with False the functions of the module cannot be reached",
            )
        )


def _check_architectures(module: Module, facts: FileBuilder) -> None:
    for node in module.nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = ast.unparse(node.targets[0])
            values = module.strings(node.value)
            if "TORCH_CUDA_ARCH_LIST" in target and "environ" in target and values:
                _judge_arch(module, facts, node, values[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("environ.setdefault", "putenv")):
            if node.args and module.strings(node.args[0]) == ("TORCH_CUDA_ARCH_LIST",) and len(node.args) > 1:
                values = module.strings(node.args[1])
                if values:
                    _judge_arch(module, facts, node, values[0])
        elif isinstance(node, (ast.List, ast.Tuple)):
            flags = [v for e in node.elts for v in (module.strings(e) or ())]
            codes = [f for f in flags if "arch=compute_" in f]
            if codes and all("code=sm_" in c for c in codes):
                _report_arch(module, facts, node, codes[-1])


def _judge_arch(module: Module, facts: FileBuilder, node: ast.AST, value: str) -> None:
    if value and "PTX" not in value.upper():
        _report_arch(module, facts, node, value)


def _report_arch(module: Module, facts: FileBuilder, node: ast.AST, value: str) -> None:
    facts.problems.append(
        Problem(
            "ATN212",
            module.at(node),
            f"GPU architectures are fixed ('{value}') without PTX",
            "add '+PTX' to the newest one; on a later GPU every kernel raises 'no kernel image is available'",
        )
    )
