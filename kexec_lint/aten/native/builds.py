"""What the build beside a file says of it: whether it compiles it (ATN208), and with which others (ATN203)."""

from __future__ import annotations

import re
from functools import cache

from kexec_lint.aten.facts import FileBuilder, Problem, any_matches
from kexec_lint.aten.native.text import NativeFile
from kexec_lint.source import Project, Source

BUILD_FILES = ("setup.py", "CMakeLists.txt")
LEVELS = 4
"""How many folders up a build file is looked for."""

_GLOB = re.compile(r"glob|GLOB|rglob|listdir|os\.walk|scandir|find_sources|aux_source_directory|\bfile\s*\(", re.I)
_BUILDS = re.compile(r"CppExtension|CUDAExtension|cpp_extension|add_library|define_gpu_extension|target_sources", re.I)


_TARGET = re.compile(r"\b\w*(?:add_library|add_module|gpu_extension|extension_target)\w*\s*\(([^()]*)\)", re.I)
_VARIABLE = re.compile(r"\b(?:set|file)\s*\(\s*(?:(GLOB\w*)\s+)?(\w+)\s+([^()]*)\)", re.I)
_SHRINKS = re.compile(r"\blist\s*\(\s*(?:REMOVE_\w+|FILTER|TRANSFORM|SUBLIST)\s+(\w+)", re.I)


def read_targets(source: Source, project: Project, facts: FileBuilder) -> None:
    """Record the lists of a nearby CMakeLists.txt that name a file with a TORCH_LIBRARY block: a target's own
    arguments, or a variable or glob that a target takes whole."""
    if not any(x.kind == "DEF" for x in facts.libraries):
        return
    parts = source.path.replace("\\", "/").split("/")
    for level in range(min(LEVELS, len(parts))):
        build = project.read("../" * level + "CMakeLists.txt", source.path)
        if build is not None:
            folder = "/".join(parts[: len(parts) - level - 1])
            here = "/".join(parts[len(parts) - level - 1 :])
            lists = source_lists(build.text)
            facts.targets.extend(f"{folder}#{n}" for n, names in enumerate(lists) if any_matches(names, here))


@cache
def source_lists(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the source lists of a CMakeLists.txt that end up whole in one target."""
    text = re.sub(r"#[^\n]*", "", text)
    targets = [m[1] for m in _TARGET.finditer(text)]
    shrinking = {m[1] for m in _SHRINKS.finditer(text)}
    found = [_words(arguments) for arguments in targets]
    for glob, name, words in _VARIABLE.findall(text):
        taken = any(re.search(rf"\$\{{{re.escape(name)}\}}", arguments) for arguments in targets)
        if taken and name not in shrinking:
            names = _words(words)
            found.append(tuple(f"**/{n}" for n in names) if glob.upper() == "GLOB_RECURSE" else names)
    return tuple(found)


def _words(arguments: str) -> tuple[str, ...]:
    words = (w.strip('"') for w in arguments.split())
    own = (re.sub(r"^\$\{(?:CMAKE_CURRENT_(?:SOURCE|LIST)_DIR|(?:CMAKE|PROJECT)_SOURCE_DIR)\}/", "", w) for w in words)
    return tuple(w.removeprefix("./") for w in own if "$" not in w and "." in w)


def read_build(file: NativeFile, source: Source, project: Project, facts: FileBuilder) -> None:
    """Report device kernels in a file that no nearby build names, when that build lists its sources by name."""
    devices = [x for x in facts.libraries if x.kind == "IMPL" and x.key in ("CUDA", "HIP", "XPU", "MPS")]
    kernels = [i for i in facts.implementations if i.key in ("CUDA", "HIP", "XPU", "MPS") and i.kind == "IMPL"]
    if not devices or not kernels:
        return
    name = source.path.replace("\\", "/").rpartition("/")[2]
    builds: list[Source] = []
    for level in range(LEVELS):
        for file_name in BUILD_FILES:
            found = project.read("../" * level + file_name, source.path)
            if found is not None and _BUILDS.search(found.text):
                builds.append(found)
        if builds:
            break
    if not builds:
        return
    stem = name.rpartition(".")[0]
    for build in builds:
        if _GLOB.search(build.text) or re.search(rf"\b{re.escape(name)}\b", build.text) or "subdirectory" in build.text:
            return
        if name.endswith((".cu", ".hip")) and re.search(rf"\b{re.escape(stem)}\.(?:cu|hip)\b", build.text):
            return  # hipify renames
    listed = [b for b in builds if re.search(r"\.(?:cpp|cc|cu|cxx)\b", b.text)]
    if len(listed) != len(builds):
        return
    where = builds[0].path.replace("\\", "/").rpartition("/")[2]
    at = devices[0].at
    facts.problems.append(
        Problem(
            "ATN208",
            at,
            f"{where} lists its sources and '{name}' is not among them: these {devices[0].key} kernels are "
            "not in the extension",
            f'add the file to the sources; calls with {devices[0].key} tensors raise "Could not '
            f"run … '{devices[0].key}'\"",
            "likely",
        )
    )
