"""ATN208: whether the build that stands beside a file compiles it."""

from __future__ import annotations

import re

from kexec_lint.aten.facts import FileBuilder, Problem
from kexec_lint.aten.native.text import NativeFile
from kexec_lint.source import Project, Source

BUILD_FILES = ("setup.py", "CMakeLists.txt")
LEVELS = 4
"""How many folders up a build file is looked for."""

_GLOB = re.compile(r"glob|GLOB|rglob|listdir|os\.walk|scandir|find_sources|aux_source_directory|\bfile\s*\(", re.I)
_BUILDS = re.compile(r"CppExtension|CUDAExtension|cpp_extension|add_library|define_gpu_extension|target_sources", re.I)


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
