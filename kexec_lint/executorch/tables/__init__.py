"""Facts of each executorch release: operators by library, dtype checks, CMake options. Made by `generate.py`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

RELEASES = ("0.4.0", "0.5.0", "0.6.0", "0.7.0", "1.0.1", "1.1.0", "1.2.0", "1.3.1", "1.4.1", "1.5.1")
NEWEST = RELEASES[-1]

# Targets of the CMake build under the names by which people link them, each with the lists it registers.
# kernels/optimized: the merged YAML registers portable and optimized in one library.
_TARGETS = {
    "portable_ops_lib": ("portable_ops_lib",),
    "portable_kernels": (),
    "optimized_native_cpu_ops_lib": ("portable_ops_lib", "optimized_ops_lib"),
    "optimized_ops_lib": ("optimized_ops_lib",),
    "quantized_ops_lib": ("quantized_ops_lib",),
    "custom_ops": ("custom_ops",),
    "custom_ops_lib": ("custom_ops",),
    "custom_ops_aot_lib": ("custom_ops",),
    "cadence_ops_lib": ("cadence_ops_lib",),
    "cortex_m_ops_lib": ("cortex_m_ops_lib",),
}
KERNEL_LIBRARIES = frozenset(_TARGETS)

_WITHOUT_KERNELS = {
    "executorch",
    "executorch_core",
    "executorch_kernels",
    "executorch_backends",
    "executorch_extensions",
}

NAMESPACE_LIBRARIES = {
    "quantized_decomposed": "quantized_ops_lib",
    "llama": "custom_ops",
    "preprocess": "custom_ops",
    "cortex_m": "cortex_m_ops_lib",
    "cadence": "cadence_ops_lib",
    "torchao": "torchao_ops_executorch",
    "dim_order_ops": "portable_ops_lib",
    "et_copy": "portable_ops_lib",
}
"""Which CMake target brings the kernels of a namespace."""

LIBRARY_BACKENDS = {
    "xnnpack_backend": "XnnpackBackend",
    "vulkan_backend": "VulkanBackend",
    "coremldelegate": "CoreMLBackend",
    "mpsdelegate": "MPSBackend",
    "qnn_executorch_backend": "QnnBackend",
    "openvino_backend": "OpenvinoBackend",
    "vgf_backend": "VgfBackend",
    "executorch_delegate_ethos_u": "EthosUBackend",
    "neuron_backend": "NeuropilotBackend",
    "webgpu_backend": "WebGPUBackend",
    "mlxdelegate": "MLXBackend",
    "aoti_cuda_backend": "CudaBackend",
    "metal_backend": "MetalBackend",
    "enn_backend": "EnnBackend",
    "executorch_delegate_neutron": "NeutronBackend",
}
"""Backend that a CMake target registers."""


class UnknownReleaseError(ValueError):
    """There is no table for the release asked for."""


def registers_nothing(target: str) -> bool:
    """Return whether a target of executorch is known to register no kernel by itself."""
    return target in _WITHOUT_KERNELS or target.startswith("extension_") or target.endswith("_kernels")


@dataclass(frozen=True)
class Release:
    """The facts of one release; see `generate.py` for where each comes from."""

    version: str
    libraries: dict[str, frozenset[str]]
    prim: frozenset[str]
    wheel_operators: frozenset[str]
    wheel_backends: frozenset[str]
    dtype_checked: dict[str, str]
    dtype_compute: dict[str, str]
    dtype_promoted: dict[str, list[int]]
    dtype_values: dict[str, list[int]]
    options: frozenset[str]
    kernel_functions: dict[str, str]
    kernel_files: dict[str, str]

    @property
    def portable(self) -> frozenset[str]:
        """The operators of kernels/portable/functions.yaml."""
        return self.libraries["portable_ops_lib"]

    @cached_property
    def known(self) -> frozenset[str]:
        """Every operator that a library of the release registers, primitive ones too."""
        return frozenset(self.prim.union(*self.libraries.values()))

    def library(self, target: str) -> frozenset[str] | None:
        """Return what a CMake target registers, or None for a target that is no kernel library."""
        lists = _TARGETS.get(target)
        return None if lists is None else frozenset().union(*(self.libraries[name] for name in lists))


@cache
def load(version: str = NEWEST) -> Release:
    """Return the facts of a release; `1.4` means the newest 1.4. Raises UnknownReleaseError for one without a
    table.
    """
    version = version.removeprefix("v")
    matches = [name for name in RELEASES if name == version or name.startswith(version + ".")]
    if not matches and version.count(".") == 2:
        # A patch release without a table has the kernels of its minor release.
        minor = version.rsplit(".", 1)[0] + "."
        matches = [name for name in RELEASES if name.startswith(minor)]
    if not matches:
        raise UnknownReleaseError(f"no facts about executorch {version}: known are {', '.join(RELEASES)}")
    table = json.loads(Path(__file__).with_name(f"{matches[-1]}.json").read_text(encoding="utf-8"))
    return Release(
        matches[-1],
        {name: frozenset(operators) for name, operators in table["libraries"].items()},
        frozenset(table["prim"]),
        frozenset(table["wheel"]["operators"]),
        frozenset(table["wheel"]["backends"]),
        table["dtype_checked"],
        table["dtype_compute"],
        table["dtype_promoted"],
        table["dtype_values"],
        frozenset(table["options"]),
        table["kernel_functions"],
        table["kernel_files"],
    )


def releases_with(operator: str) -> list[str]:
    """Return the releases in which some library registers the operator, oldest first."""
    return [version for version in RELEASES if operator in load(version).known]


@cache
def text_bytes() -> dict[str, int]:
    """Return bytes of machine code per portable operator: x86-64, gcc 12, -Os, release 1.4.1, objects as built."""
    sizes: dict[str, int] = json.loads(Path(__file__).with_name("text_bytes.json").read_text(encoding="utf-8"))
    return sizes


@dataclass(frozen=True)
class Shape:
    """How many tensors, optional tensors, tensor lists (out arguments too) and results an out variant has."""

    tensors: int
    optional: int
    lists: int
    returns: int


@cache
def aten() -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of ATen's operators with and without an out argument, of the newest torch tabulated."""
    table = _aten_table()
    return frozenset(table["out"]), frozenset(table["functional"])


@cache
def aten_shapes() -> dict[str, Shape]:
    """Return the shape of every ATen out variant, by name without namespace."""
    return {name: Shape(*numbers) for name, numbers in _aten_table()["out"].items()}


@cache
def _aten_table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Path(__file__).with_name("aten.json").read_text(encoding="utf-8"))
    return table
