"""EXT101, 108, 109, 121, 201, 202: operators and backends that a model needs and the build lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kexec_lint.executorch import tables
from kexec_lint.executorch.build import Build
from kexec_lint.executorch.keys import namespace
from kexec_lint.executorch.names import Meaning, meaning, suggest
from kexec_lint.executorch.program import Program
from kexec_lint.executorch.registration import finding, place
from kexec_lint.findings import Confidence, Finding, Severity


def missing(program: Program, build: Build) -> list[str]:
    """Return the operators of the program that the build does not register."""
    return [operator for operator in program.operators if not build.has(operator)]


def operators(program: Program, build: Build) -> Iterator[Finding]:
    """Yield EXT101 for each missing operator, with EXT108 or EXT109 where the cause is its library or the prim
    set.
    """
    for operator in missing(program, build):
        if is_primitive(operator, build.release):
            yield _primitive(program, build, operator)
            continue
        yield finding(
            "EXT101",
            f"{program.path} calls {operator}, which {build.name} does not register: loading fails with 0x14",
            build.at,
            help=_remedy(operator, build),
            operator=operator,
            model=program.path,
            build=build.name,
            confidence=_confidence(operator, build),
        )
        space = namespace(operator)
        if space != "aten" and operator not in build.available:
            yield _custom(program, build, operator, space)


def _confidence(operator: str, build: Build) -> Confidence:
    """Return how sure it is that the operator is missing: a named YAML that is not here may bring a custom one."""
    open_ = not build.complete or (build.custom_open and namespace(operator) != "aten")
    return Confidence.POSSIBLE if open_ else Confidence.CERTAIN


def is_primitive(operator: str, release: tables.Release) -> bool:
    """Return whether the operator belongs to those that kernels/prim_ops registers."""
    return operator in release.prim or namespace(operator) == "executorch_prim"


def _primitive(program: Program, build: Build, operator: str) -> Finding:
    versions = [version for version in tables.RELEASES if operator in tables.load(version).prim]
    if operator not in build.release.prim:
        known = f"{versions[0]} and later have it" if versions else "no release has it"
        message = f"{program.path} calls {operator}, no primitive of executorch {build.release.version}: {known}"
        help_ = "build a release that has it, or export with the release that is deployed"
    else:
        message = f"{program.path} calls {operator}, which the primitive operators in {build.name} lack"
        help_ = (
            f"add {operator} to the selected primitive operators, or include all of them; "
            "link libexecutorch with whole-archive"
        )
    return finding(
        "EXT109",
        message,
        build.at,
        help=help_,
        operator=operator,
        model=program.path,
        build=build.name,
    )


def _remedy(operator: str, build: Build) -> str:
    """Return what to do about a missing operator, by where a kernel for it exists."""
    release = build.release
    libraries = sorted(name for name, listed in release.libraries.items() if operator in listed)
    failed = [reason for name, reason in build.emission.failures if name == operator]
    if failed:
        return f"codegen stops: {failed[0]}"
    if operator in build.available or "portable_ops_lib" in libraries:
        wrong = [e.operator for e in build.selection if operator in suggest(e.operator, release)]
        if wrong and operator not in {entry.operator for entry in build.selection}:
            return f"select {operator}: {wrong[0]} does not mean it"
        if operator in {entry.operator for entry in build.selection}:
            return f"{operator} is listed, but no kernel is emitted for it: give it kernel metadata and a kernel YAML"
        return f"add {operator} to the selection"
    if libraries:
        return f"link {libraries[0]} with whole-archive"
    if namespace(operator) not in ("aten", ""):
        return "link the library that registers it, or pass its YAML as CUSTOM_OPS_YAML"
    versions = tables.releases_with(operator)
    if versions:
        return f"its kernel is in executorch {versions[0]} to {versions[-1]}; the build is {release.version}"
    return (
        f"no kernel library of executorch {release.version} has {operator}: decompose or delegate it at export, "
        "or write a kernel"
    )


def _custom(program: Program, build: Build, operator: str, space: str) -> Finding:
    library = tables.NAMESPACE_LIBRARIES.get(space)
    listed = next((entry.at for entry in build.selection if entry.operator == operator), None)
    if library is not None:
        message = f"{operator} is in {library}, which this build does not link"
        help_ = f"link {library} with whole-archive (executorch_target_link_options_shared_lib)"
    else:
        dropped = " and codegen drops it from the selection silently" if listed else ""
        message = f"{operator} is a custom operator: no kernel YAML of this build names it{dropped}"
        help_ = "pass its YAML as CUSTOM_OPS_YAML, or link the library whose EXECUTORCH_LIBRARY registers it"
    return finding(
        "EXT108",
        message,
        listed or build.at,
        help=help_,
        confidence=_confidence(operator, build),
        operator=operator,
        model=program.path,
        build=build.name,
    )


def no_kernel_anywhere(program: Program, release: tables.Release) -> Iterator[Finding]:
    """Yield EXT121 for a freshly exported program: operators that no library of the release has a kernel for."""
    for operator in program.operators:
        if meaning(operator, release) in (Meaning.OUT, Meaning.UNKNOWN, Meaning.FUNCTIONAL):
            versions = tables.releases_with(operator)
            later = f" ({versions[0]} to {versions[-1]} have one)" if versions else ""
            yield finding(
                "EXT121",
                f"{operator} exports cleanly, but no library of executorch {release.version} has a kernel{later}",
                place(program.path),
                help="decompose it before export, delegate it, or write a kernel",
                operator=operator,
                model=program.path,
            )


def backends(program: Program, build: Build) -> Iterator[Finding]:
    """Yield EXT201 for each backend that a delegate asks for and the build does not link."""
    for backend in sorted(set(program.backends)):
        if backend in build.backends:
            continue
        count = program.backends.count(backend)
        calls = f"{count} delegate{'s' if count > 1 else ''}"
        known = build.backends_known or bool(build.backends)
        linked = ", ".join(sorted(build.backends)) or "none"
        library = next((n for n, name in tables.LIBRARY_BACKENDS.items() if name == backend), None)
        yield finding(
            "EXT201",
            f"{program.path} has {calls} of {backend}, the build links {linked}: loading fails with 0x20",
            build.at,
            help=(f"link {library} with whole-archive, " if library else f"link the library of {backend}, ")
            + "or export for a backend that the build has"
            + ("" if known else "; name what is linked with --backends"),
            confidence=Confidence.CERTAIN if known else Confidence.LIKELY,
            model=program.path,
            backend=backend,
            build=build.name,
        )


def fallback(program: Program, build: Build | None) -> Iterator[Finding]:
    """Yield EXT202: the operators that stay on the CPU beside the delegates, and whether the build has them."""
    if not program.backends or not program.operators:
        return
    lacking = missing(program, build) if build is not None else []
    rest = [operator for operator in program.operators if operator not in lacking]
    parts = [f"in the build: {', '.join(rest)}"] if build is not None and rest else []
    parts += [f"not in the build: {', '.join(lacking)}"] if lacking else []
    found = finding(
        "EXT202",
        f"{program.path}: {len(program.operators)} operators stay on the CPU beside "
        f"{', '.join(sorted(set(program.backends)))}: {'; '.join(parts) or ', '.join(program.operators)}",
        place(program.path),
        help="their kernels must be registered although a backend is linked",
        model=program.path,
    )
    yield replace(found, severity=Severity.ERROR) if lacking else found
