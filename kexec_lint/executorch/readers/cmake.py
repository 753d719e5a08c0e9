"""Reads CMake files: option settings, selective-build calls, what is linked, and the mistakes that CMake
accepts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from kexec_lint.executorch import tables
from kexec_lint.executorch.readers import cmake_options, oplist
from kexec_lint.executorch.readers.cmake_syntax import (
    Argument,
    Command,
    Variables,
    commands,
    is_true,
    keywords,
)
from kexec_lint.executorch.registration import Kind, Part, finding, place
from kexec_lint.findings import Confidence, Location

GEN_SELECTED = {
    "LIB_NAME",
    "OPS_SCHEMA_YAML",
    "ROOT_OPS",
    "INCLUDE_ALL_OPS",
    "OPS_FROM_MODEL",
    "DTYPE_SELECTIVE_BUILD",
}
GEN_BINDINGS = {"LIB_NAME", "FUNCTIONS_YAML", "CUSTOM_OPS_YAML", "DTYPE_SELECTIVE_BUILD", "ADD_EXCEPTION_BOUNDARY"}
GEN_OPERATORS = {"LIB_NAME", "KERNEL_LIBS", "DEPS", "DTYPE_SELECTIVE_BUILD", "SHARED"}
WHOLE = re.compile(r"whole-archive|force_load|WHOLE_?ARCHIVE|all_load", re.I)
LINK_HELPER = ("executorch_target_link_options_shared_lib", "target_link_options_shared_lib")
NOT_SELF_LINKED = {"custom_ops", "executorch_delegate_ethos_u"}
"""Targets of executorch whose own CMake files do not ask for whole-archive linking."""
_MAX = re.compile(r"\bMAX_KERNEL_NUM=(\d+)")


@dataclass
class _Reading:
    part: Part
    release: tables.Release
    variables: Variables
    options: cmake_options.Settings = field(default_factory=cmake_options.Settings)
    generated: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    own_static: dict[str, Location] = field(default_factory=dict)
    imported: set[str] = field(default_factory=set)
    links: list[tuple[str, Argument, bool]] = field(default_factory=list)
    brings_executorch: bool = False
    inside: bool = False


def read(path: str, source: str, release: tables.Release, inside: bool = False) -> Part:
    """Return what a CMakeLists.txt or .cmake file sets, selects and links, with its findings.

    `inside` says that a CMakeLists.txt further up brings executorch's targets, which carry whole-archive
    themselves.
    """
    part = Part(path, Kind.SETTINGS, place(path))
    folder = path.rpartition("/")[0]
    reading = _Reading(part, release, Variables(folder), brings_executorch=inside, inside=inside)
    for command in commands(path, source):
        handler = _HANDLERS.get(command.name)
        if handler is not None:
            handler(reading, command)
        for argument in command.arguments:
            for number in _MAX.findall(argument.text):
                part.capacity = int(number), argument.at
    reading.options.read_names = cmake_options.names_read(source)
    cmake_options.judge(part, reading.options, release)
    _links(reading)
    return part


def read_cache(path: str, text: str, release: tables.Release) -> Part:
    """Return the settings of a CMakeCache.txt. A name that no file declares has the type UNINITIALIZED there."""
    part = Part(path, Kind.SETTINGS, place(path))
    settings = cmake_options.Settings(cached=True)
    for row, line in enumerate(text.splitlines(), 1):
        match = re.match(r"([\w.+-]+):(\w+)=(.*)$", line)
        if match is None or match[2] in ("INTERNAL", "STATIC"):
            continue
        at = place(path, row, 1, len(match[1]))
        if match[1] == "MAX_KERNEL_NUM" and match[3].isdigit():
            part.capacity = int(match[3]), at
        settings.set(match[1], match[3], at)
        if match[2] == "UNINITIALIZED":
            settings.uninitialised.add(match[1])
    cmake_options.judge(part, settings, release)
    return part


def read_presets(path: str, text: str, release: tables.Release) -> list[Part]:
    """Return one part for each configure preset of a CMakePresets.json that sets an ExecuTorch option."""
    try:
        document = json.loads(text)
    except ValueError:
        return []
    if not isinstance(document, dict) or not isinstance(document.get("configurePresets"), list):
        return []
    parts = []
    for preset in document["configurePresets"]:
        variables = preset.get("cacheVariables") if isinstance(preset, dict) else None
        if not isinstance(variables, dict):
            continue
        part = Part(path, Kind.SETTINGS, place(path))
        settings = cmake_options.Settings()
        for name, value in variables.items():
            plain = value.get("value") if isinstance(value, dict) else value
            shown = {True: "ON", False: "OFF", None: ""}.get(plain, plain) if not isinstance(plain, str) else plain
            settings.set(str(name), str(shown), _line_of(path, text, f'"{name}"'))
        cmake_options.judge(part, settings, release)
        parts.append(part)
    return parts


def _line_of(path: str, text: str, needle: str) -> Location:
    offset = max(text.find(needle), 0)
    start = text.rfind("\n", 0, offset) + 1
    return place(path, text.count("\n", 0, offset) + 1, offset - start + 1, len(needle))


def _set(reading: _Reading, command: Command) -> None:
    if not command.arguments:
        return
    name = command.arguments[0].text
    values = reading.variables.expand_all(command.arguments[1:])
    texts = []
    for value in values:
        if value.text in ("CACHE", "PARENT_SCOPE") and not value.quoted:
            break
        texts.append(value.text)
    reading.variables.values[name] = ";".join(texts)
    if name.startswith("EXECUTORCH_"):
        reading.options.set(name, ";".join(texts), command.arguments[0].at)
    for text in texts:
        for define in re.findall(r"-D(EXECUTORCH_\w+)=(\S+)", text):
            reading.options.set(define[0], define[1], command.arguments[0].at)


def _option(reading: _Reading, command: Command) -> None:
    if command.arguments:
        reading.options.declared.add(command.arguments[0].text)


def _overridable(reading: _Reading, command: Command) -> None:
    words = reading.variables.expand_all(command.arguments)
    if len(words) > 1:
        reading.options.set(words[0].text, words[1].text, command.arguments[0].at)


def _declare(reading: _Reading, command: Command) -> None:
    if command.arguments:
        reading.options.declared.add(command.arguments[0].text)


def _gen_selected_ops(reading: _Reading, command: Command) -> None:
    part = reading.part
    before, found = keywords(reading.variables.expand_all(command.arguments), GEN_SELECTED)
    if before and not found:
        part.problems.append(
            finding(
                "EXT118",
                "gen_selected_ops takes keyword arguments only: positional ones select nothing and CMake says nothing",
                command.at,
                help="write gen_selected_ops(LIB_NAME <lib> ROOT_OPS <operators> OPS_FROM_MODEL <model.pte>)",
            )
        )
        part.kind = Kind.SELECTION
        return
    given = {
        name: [value for value in found.get(name, []) if value.text]
        for name in ("OPS_SCHEMA_YAML", "ROOT_OPS", "OPS_FROM_MODEL")
    }
    constant = {name for name, values in given.items() if values and not any("${" in v.text for v in values)}
    part.kind = Kind.SELECTION
    part.is_list = bool(given["ROOT_OPS"])
    if len(constant) > 1:
        part.problems.append(
            finding(
                "EXT119",
                f"gen_selected_ops gets {' and '.join(sorted(constant))}: the selection is the union of all",
                command.at,
                help="keep one of them if the smaller set was meant; nothing in CMake warns",
            )
        )
    part.unresolved += [value.text for value in given["ROOT_OPS"] if "${" in value.text]
    part.unresolved += [value.text for value in found.get("INCLUDE_ALL_OPS", []) if "${" in value.text]
    for value in given["ROOT_OPS"]:
        if "${" not in value.text:
            for name in oplist.split_root_ops(value.text):
                offset = max(value.text.find(name), 0) if "\n" not in value.text else 0
                at = place(part.path, value.at.row, value.at.column + offset + value.quoted, len(name))
                oplist.add(part, name, at)
    for role, name in (("schema", "OPS_SCHEMA_YAML"), ("model", "OPS_FROM_MODEL")):
        part.files.extend((role, value.text, value.at) for value in given[name])
    if any(is_true(value.text) for value in found.get("INCLUDE_ALL_OPS", [])):
        part.include_all = command.at
    _dtype_flag(part, found)
    if any(is_true(value.text) for value in found.get("DTYPE_SELECTIVE_BUILD", [])) and not given["OPS_FROM_MODEL"]:
        part.problems.append(
            finding(
                "EXT112",
                "DTYPE_SELECTIVE_BUILD without OPS_FROM_MODEL stops CMake: only a model tells the dtypes",
                found["DTYPE_SELECTIVE_BUILD"][0].at,
                help="pass OPS_FROM_MODEL, or leave DTYPE_SELECTIVE_BUILD off",
            )
        )


def _gen_bindings(reading: _Reading, command: Command) -> None:
    _, found = keywords(reading.variables.expand_all(command.arguments), GEN_BINDINGS)
    for role, name in (("functions", "FUNCTIONS_YAML"), ("custom", "CUSTOM_OPS_YAML")):
        reading.part.files.extend((role, value.text, value.at) for value in found.get(name, []) if value.text)
    _dtype_flag(reading.part, found)


def _gen_operators_lib(reading: _Reading, command: Command) -> None:
    _, found = keywords(reading.variables.expand_all(command.arguments), GEN_OPERATORS)
    for value in found.get("LIB_NAME", []):
        reading.generated.add(value.text)
    _dtype_flag(reading.part, found)
    kernels = [value.text for value in found.get("KERNEL_LIBS", [])]
    if any(is_true(value.text) for value in found.get("DTYPE_SELECTIVE_BUILD", [])):
        others = [name for name in kernels if name != "portable_kernels" and "${" not in name]
        if kernels and "portable_kernels" not in kernels and not any("${" in name for name in kernels):
            reading.part.problems.append(
                finding(
                    "EXT112",
                    f"DTYPE_SELECTIVE_BUILD works for portable_kernels only; with {', '.join(kernels)} CMake stops",
                    found["DTYPE_SELECTIVE_BUILD"][0].at,
                    help="add portable_kernels to KERNEL_LIBS, or leave DTYPE_SELECTIVE_BUILD off",
                )
            )
        elif others:
            reading.part.problems.append(
                finding(
                    "EXT112",
                    f"dtype selection does not reach {', '.join(others)}: only portable_kernels is built again",
                    found["DTYPE_SELECTIVE_BUILD"][0].at,
                )
            )


def _dtype_flag(part: Part, found: dict[str, list[Argument]]) -> None:
    for value in found.get("DTYPE_SELECTIVE_BUILD", []):
        if is_true(value.text):
            part.dtype_selective = value.at


def _whole(reading: _Reading, command: Command) -> None:
    if command.arguments:
        reading.whole.add(reading.variables.expand(command.arguments[0].text))


def _link_options(reading: _Reading, command: Command) -> None:
    words = [argument.text for argument in reading.variables.expand_all(command.arguments)]
    if words and any(WHOLE.search(word) for word in words):
        reading.whole.add(words[0])
        for word in words:
            reading.whole.update(re.findall(r"TARGET_FILE:([\w:]+)", word))
            reading.whole.update(re.findall(r"lib(\w+)\.(?:a|lib)\b", word))
            if re.search(r"all_load", word):
                reading.whole.add("*")


def _link_libraries(reading: _Reading, command: Command) -> None:
    arguments = reading.variables.expand_all(command.arguments)
    whole = False
    for argument in arguments[1:]:
        text = argument.text
        if re.search(r"no-whole-archive", text):
            whole = False
            continue
        if WHOLE.search(text):
            if text.startswith("$<LINK_LIBRARY:"):
                inner = text.removeprefix("$<LINK_LIBRARY:").rstrip(">").split(",")
                for name in inner[1:]:
                    reading.links.append((arguments[0].text, Argument(name, argument.at), True))
                continue
            for names in re.findall(r"TARGET_FILE:([\w:]+)|lib(\w+)\.(?:a|lib)\b", text):
                reading.whole.update(name for name in names if name)
            whole = "whole-archive" in text and "," not in text.split("whole-archive", 1)[1]
            if "all_load" in text:
                reading.whole.add("*")
            continue
        if text in (
            "PRIVATE",
            "PUBLIC",
            "INTERFACE",
            "LINK_PUBLIC",
            "LINK_PRIVATE",
            "debug",
            "optimized",
            "general",
        ):
            continue
        reading.links.append((arguments[0].text, argument, whole))


def _library(reading: _Reading, command: Command) -> None:
    arguments = reading.variables.expand_all(command.arguments)
    words = [argument.text for argument in arguments]
    if not words:
        return
    if "IMPORTED" in words:
        reading.imported.add(words[0])
    if "SHARED" in words or "MODULE" in words or "OBJECT" in words or "INTERFACE" in words:
        reading.shared.add(words[0])
    elif any("RegisterCodegenUnboxedKernels" in word for word in words[1:]):
        reading.own_static[words[0]] = arguments[0].at
    if "IMPORTED" not in words and "ALIAS" not in words:
        reading.own.add(words[0])


def _brings(reading: _Reading, command: Command) -> None:
    if command.arguments and re.search(r"executorch", reading.variables.expand(command.arguments[0].text), re.I):
        reading.brings_executorch = True


def brings_executorch(source: str) -> bool:
    """Return whether a CMakeLists.txt is executorch's own or adds executorch to its project."""
    return bool(
        re.search(
            r"\b(?:find_package|project|add_subdirectory|FetchContent_MakeAvailable)\s*\([^)]*executorch",
            source,
            re.I,
        )
    )


_HANDLERS = {
    "set": _set,
    "option": _option,
    "define_overridable_option": _declare,
    "set_overridable_option": _overridable,
    "gen_selected_ops": _gen_selected_ops,
    "generate_bindings_for_kernels": _gen_bindings,
    "gen_operators_lib": _gen_operators_lib,
    "target_link_options": _link_options,
    "target_link_libraries": _link_libraries,
    "add_library": _library,
    "find_package": _brings,
    "project": _brings,
    "add_subdirectory": _brings,
    "fetchcontent_makeavailable": _brings,
    **dict.fromkeys(LINK_HELPER, _whole),
}


def _links(reading: _Reading) -> None:
    """Record the linked kernel libraries and backends; one that the linker will strip is EXT117."""
    part = reading.part
    for _, argument, whole in reading.links:
        name = _target(argument.text)
        own = name in reading.own_static
        if name in reading.own and not own:
            continue  # a target of the project's own that has the name of one of executorch's
        backend = tables.LIBRARY_BACKENDS.get(name)
        if name not in tables.KERNEL_LIBRARIES and backend is None and not own and name not in reading.generated:
            continue
        part.libraries.setdefault(name, argument.at)
        if name == "portable_kernels":
            continue
        if backend is not None:
            part.backends.setdefault(backend, argument.at)
        kept = whole or name in reading.whole or "*" in reading.whole or name in reading.shared
        by_file = name != argument.text.removeprefix("executorch::")
        helped = name in reading.generated or (
            reading.brings_executorch
            and not own
            and (reading.inside or name not in NOT_SELF_LINKED)
            and name not in reading.imported
        )
        if kept or (helped and not by_file):
            continue
        part.stripped.setdefault(name, argument.at)
        what = f"backend {backend}" if backend else "its kernels"
        part.problems.append(
            finding(
                "EXT117",
                f"{name} is linked as a plain static library: nothing refers to it, so the linker drops {what}",
                argument.at,
                help=f"call executorch_target_link_options_shared_lib({name}), or link "
                f"$<LINK_LIBRARY:WHOLE_ARCHIVE,{name}> (-force_load on Apple)",
                confidence=Confidence.LIKELY,
            )
        )


def _target(text: str) -> str:
    """Return the target's name of a link item: `libx.a`, `-lx`, `executorch::x`."""
    match = re.search(r"(?:^|/)lib([\w-]+)\.(?:a|lib)$", text)
    if match:
        return match[1]
    if text.startswith("-l"):
        return text[2:]
    return text.removeprefix("executorch::")
