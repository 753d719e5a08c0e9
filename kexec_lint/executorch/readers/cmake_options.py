"""Judges EXECUTORCH_ settings: names that nothing reads, checks that do not work, several selectors at once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kexec_lint.executorch import tables
from kexec_lint.executorch.readers import oplist
from kexec_lint.executorch.readers.cmake_syntax import is_false, is_true
from kexec_lint.executorch.registration import Kind, Part, finding
from kexec_lint.findings import Confidence, Location

SELECTORS = ("EXECUTORCH_SELECT_OPS_YAML", "EXECUTORCH_SELECT_OPS_LIST", "EXECUTORCH_SELECT_OPS_MODEL")
DTYPE = "EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD"

MEANT = {
    "EXECUTORCH_DTYPE_SELECTIVE_BUILD": DTYPE,
    "EXECUTORCH_SELECT_OPS_FROM_MODEL": "EXECUTORCH_SELECT_OPS_MODEL",
    "EXECUTORCH_SELECT_ALL_OPS": None,
    "EXECUTORCH_SELECT_OPS_FILE": "EXECUTORCH_SELECT_OPS_YAML",
}
"""Names that READMEs and scripts used and no build file reads, with the option that was meant."""

OPTION_BACKENDS = {
    "EXECUTORCH_BUILD_XNNPACK": "XnnpackBackend",
    "EXECUTORCH_BUILD_VULKAN": "VulkanBackend",
    "EXECUTORCH_BUILD_COREML": "CoreMLBackend",
    "EXECUTORCH_BUILD_MPS": "MPSBackend",
    "EXECUTORCH_BUILD_QNN": "QnnBackend",
    "EXECUTORCH_BUILD_OPENVINO": "OpenvinoBackend",
    "EXECUTORCH_BUILD_VGF": "VgfBackend",
    "EXECUTORCH_BUILD_NEURON": "NeuropilotBackend",
    "EXECUTORCH_BUILD_WEBGPU": "WebGPUBackend",
    "EXECUTORCH_BUILD_MLX": "MLXBackend",
    "EXECUTORCH_BUILD_CUDA": "CudaBackend",
    "EXECUTORCH_BUILD_METAL": "MetalBackend",
    "EXECUTORCH_BUILD_ENN": "EnnBackend",
}
OPTION_LIBRARIES = {
    "EXECUTORCH_BUILD_KERNELS_QUANTIZED": "quantized_ops_lib",
    "EXECUTORCH_BUILD_KERNELS_LLM": "custom_ops",
    "EXECUTORCH_BUILD_KERNELS_CUSTOM": "custom_ops",
    "EXECUTORCH_BUILD_CADENCE": "cadence_ops_lib",
    "EXECUTORCH_BUILD_CORTEX_M": "cortex_m_ops_lib",
}


@dataclass
class Settings:
    """The settings of one file. `declared` are its own options, `read_names` what its commands look at."""

    values: dict[str, tuple[str, Location]] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    read_names: frozenset[str] = frozenset()
    uninitialised: set[str] = field(default_factory=set)
    cached: bool = False

    def set(self, name: str, value: str, at: Location) -> None:
        """Record a setting; the last one counts."""
        self.values[name] = value, at

    def value(self, name: str) -> str:
        """Return the value, empty where it is not set."""
        return self.values[name][0] if name in self.values else ""


def names_read(source: str) -> frozenset[str]:
    """Return the EXECUTORCH_ names that a CMake source reads."""
    code = re.sub(r"#.*", "", source)
    found = set(re.findall(r"\$\{(EXECUTORCH_\w+)\}", code))
    for condition in re.findall(r"\b(?:else)?if\s*\(([^)]*)", code, re.I):
        found.update(re.findall(r"\bEXECUTORCH_\w+", condition))
    return frozenset(found)


def judge(part: Part, settings: Settings, release: tables.Release) -> None:
    """Fill `part` from the settings, with the findings of EXT112, EXT118 and EXT119."""
    for name, (value, at) in settings.values.items():
        _name(part, settings, release, name, value, at)
    _selectors(part, settings)
    _dtype(part, settings)
    part.optimized |= is_true(settings.value("EXECUTORCH_BUILD_KERNELS_OPTIMIZED"))
    for name, library in OPTION_LIBRARIES.items():
        if is_true(settings.value(name)):
            part.libraries.setdefault(library, settings.values[name][1])
    for name, backend in OPTION_BACKENDS.items():
        if is_true(settings.value(name)):
            part.backends.setdefault(backend, settings.values[name][1])
    part.backends_known |= settings.cached


def _name(part: Part, settings: Settings, release: tables.Release, name: str, value: str, at: Location) -> None:
    if name in release.options or name in settings.declared or name in settings.read_names:
        return
    if not name.startswith("EXECUTORCH_"):
        meant: str | None = f"EXECUTORCH_{name}"
        if name not in ("SELECT_OPS_LIST", "SELECT_OPS_YAML", "SELECT_OPS_MODEL") or name in settings.read_names:
            return
    elif name in MEANT and (not settings.cached or is_true(value) or name in settings.uninitialised):
        meant = MEANT[name]
    elif settings.cached and name not in settings.uninitialised:
        return  # a type in the cache says that some file declares it
    else:
        import difflib

        near = difflib.get_close_matches(name, sorted(release.options), n=1, cutoff=0.85)
        meant = near[0] if near else None
        if meant is None and name not in settings.uninitialised:
            return  # a variable of the project's own, as far as one file tells
    newer = [version for version in tables.RELEASES if name in tables.load(version).options]
    if newer:
        message = f"executorch {release.version} has no option {name}; it is in {newer[0]} to {newer[-1]}"
    else:
        message = f"no build file of executorch {release.version} reads {name}: setting it changes nothing"
    part.problems.append(finding("EXT118", message, at, help=f"did you mean {meant}?" if meant else None))


def _selectors(part: Part, settings: Settings) -> None:
    given = [name for name in SELECTORS if settings.value(name)]
    if not given:
        return
    part.kind = Kind.SELECTION
    # gen_selected_max_kernel_num runs unless the user pins MAX_KERNEL_NUM (CMakeLists.txt of 1.4.1).
    part.top_level = True
    constant = [name for name in given if "${" not in settings.value(name)]
    if len(constant) > 1:
        part.problems.append(
            finding(
                "EXT119",
                f"{' and '.join(constant)} are set: the selection is their union, and the check that should stop "
                "this tests their text as a truth value and never fires",
                settings.values[constant[-1]][1],
                help="keep one of them if the smaller set was meant",
            )
        )
    value, at = settings.values.get(SELECTORS[1], ("", part.at))
    if "${" in value:
        part.unresolved.append(value)
    elif value:
        part.is_list = True
        for name in oplist.split_root_ops(value):
            oplist.add(part, name, at)
    for role, name in (("schema", SELECTORS[0]), ("model", SELECTORS[2])):
        if settings.value(name):
            part.files.append((role, settings.value(name), settings.values[name][1]))
    runner = settings.values.get("EXECUTORCH_BUILD_EXECUTOR_RUNNER")
    if runner is not None and is_true(runner[0]) and not settings.cached:
        part.problems.append(
            finding(
                "EXT118",
                "executor_runner links the full kernel library, not executorch_kernels: the selection does "
                "not reach it",
                runner[1],
                help="test a selective build with a target of your own that links executorch_kernels",
                confidence=Confidence.LIKELY,
            )
        )


def _dtype(part: Part, settings: Settings) -> None:
    if not is_true(settings.value(DTYPE)):
        return
    at = settings.values[DTYPE][1]
    part.dtype_selective = at
    model = settings.value("EXECUTORCH_SELECT_OPS_MODEL")
    if model and not is_true(model) and "${" not in model:
        part.problems.append(
            finding(
                "EXT118",
                f"{DTYPE}=ON stops CMake with `requires 'EXECUTORCH_SELECT_OPS_MODEL'` although that is set: "
                "the check "
                "takes the path for a truth value",
                at,
                help="call gen_selected_ops(… OPS_FROM_MODEL … DTYPE_SELECTIVE_BUILD ON) yourself, "
                "or apply pull request 19443 of pytorch/executorch",
            )
        )
    elif not model and not is_false(settings.value(DTYPE)):
        part.problems.append(
            finding(
                "EXT112",
                f"{DTYPE}=ON without EXECUTORCH_SELECT_OPS_MODEL: only a model tells the dtypes, CMake stops",
                at,
            )
        )
    if is_true(settings.value("EXECUTORCH_BUILD_KERNELS_OPTIMIZED")):
        part.problems.append(
            finding(
                "EXT112",
                "dtype selection does not work with EXECUTORCH_BUILD_KERNELS_OPTIMIZED: CMake stops, only "
                "portable_kernels is supported",
                at,
            )
        )
