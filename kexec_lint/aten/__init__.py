"""PyTorch's operator registration and dispatch: the executor's face to the engine, light to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kexec_lint import rulebook
from kexec_lint.findings import Confidence, Finding, Severity
from kexec_lint.source import FileResult, Options, Project, Source

PYTHON_SUFFIXES = frozenset((".py", ".pyi"))
SUFFIXES = frozenset((".py", ".cpp", ".cc", ".cxx", ".cu", ".cuh", ".h", ".hpp", ".hip", ".mm"))

OPERATORS = b"torch.ops"
PYTHON_NEEDLES = frozenset(
    (
        b"torch.library",
        OPERATORS,
        b"torch import library",
        b"torch import ops",
        b"custom_op(",
        b"triton_op(",
        b"cpp_extension",
        b"register_kernel(",
        b"register_fake(",
        b"rename_privateuse1_backend",
    )
)
NATIVE_NEEDLES = frozenset(
    (
        b"TORCH_LIBRARY",
        b"PYBIND11_MODULE",
        b"EXECUTORCH_LIBRARY",
        b"RegisterOperators",
        b"torch::Library",
        b"at::Tensor",
        b"torch::Tensor",
        b"ATen/",
    )
)
MENTIONS = dict.fromkeys(PYTHON_SUFFIXES, frozenset({b"torch", b"TORCH"})) | dict.fromkeys(
    SUFFIXES - PYTHON_SUFFIXES, frozenset({b"torch", b"TORCH", b"ATen/", b"at::"})
)
"""Of these every file that concerns PyTorch holds at least one; tested before the needles."""
UNLESS = {
    OPERATORS: frozenset(
        OPERATORS + space for space in (b".aten.", b".prims.", b".higher_order.", b".quantized_decomposed.")
    )
}
"""No rule speaks of the operators that PyTorch defines itself: who calls those alone need not be read."""
MIX_NEEDLES = (b'"cuda', b"'cuda", b".cuda()")


def needles(codes: frozenset[str], suffix: str) -> frozenset[bytes]:
    """Return what a file must hold to define, implement, call or load an operator."""
    pages = rulebook.load()
    own = {code for code in codes if not code.startswith(("OCL", "EXT", "KXL"))}  # ours, and those of plug-ins
    if not own:
        return frozenset()
    extra = {needle.encode() for code in own if code in pages for needle in pages[code].needles}
    return (PYTHON_NEEDLES if suffix in PYTHON_SUFFIXES else NATIVE_NEEDLES) | extra


def scan(source: Source, project: Project, options: Options) -> FileResult:
    """Read one file into facts; what they mean is judged in `conclude`."""
    from kexec_lint.aten.facts import FileFacts, to_json

    facts: FileFacts | None = None
    if source.suffix == ".py":
        mixed = "ATN128" in options.codes and b"torch" in source.data and any(n in source.data for n in MIX_NEEDLES)
        extra = (b"TORCH_CUDA_ARCH_LIST", b"-gencode")
        if mixed or any(needle in source.data for needle in (*PYTHON_NEEDLES, *extra)):
            from kexec_lint.aten.python.scan import read_python

            facts = read_python(source, project)
    elif source.suffix in SUFFIXES and any(n in source.data for n in NATIVE_NEEDLES):
        from kexec_lint.aten.native.scan import read_native

        facts = read_native(source, project)
    if facts is None:
        return FileResult()
    data = to_json(facts)
    return FileResult(facts=data or None)


def _shown(facts: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """Return absolute path → path as shown, of the files that were read."""
    import os.path

    return {os.path.abspath(path): path for path in facts}


def conclude(facts: Mapping[str, dict[str, Any]], options: Options) -> list[Finding]:
    """Build the registry from the facts of all files and run the enabled checks on it."""
    if not facts:
        return []
    from kexec_lint.aten.checks import Report, load
    from kexec_lint.aten.facts import from_json
    from kexec_lint.aten.registry import Registry

    registry = Registry({path: from_json(facts[path]) for path in sorted(facts)})
    pages = rulebook.load()
    reports: list[tuple[str, Report]] = [
        (p.code, Report(p.at, p.message, p.help, p.confidence)) for p in registry.problems()
    ]
    for code, functions in load().items():
        if code in options.codes:
            reports += [(code, report) for function in functions for report in function(registry)]
    limit = Confidence(options.confidence).rank
    found: dict[tuple[object, ...], Finding] = {}
    for code, report in reports:
        confidence = Confidence(report.confidence)
        if (
            code not in options.codes
            or code not in pages
            or confidence.rank > limit
            or report.at.filename == "<runtime>"
        ):
            continue
        if registry.asked and report.at.filename not in facts:  # the dispatcher gives absolute paths
            shown = _shown(facts).get(report.at.filename)
            if shown is None:
                continue
            report = replace(report, at=replace(report.at, filename=shown))
        rule = pages[code]
        extra = (("operator", report.operator),) if report.operator else ()
        finding = Finding(
            code,
            rule.name,
            Severity(report.severity or rule.severity),
            confidence,
            report.message,
            report.at,
            report.help,
            related=report.related,
            extra=extra,
        )
        found.setdefault((code, report.at.filename, report.at.cell, report.at.row, report.at.column), finding)
    return sorted(found.values(), key=lambda f: f.sort_key)
