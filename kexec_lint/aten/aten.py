"""What is known of ATen and the dispatcher's keys, from the digest of native_functions.yaml
(scripts/aten_digest.py)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


@cache
def digest() -> dict[str, Any]:
    """Return the digest as read."""
    loaded: dict[str, Any] = json.loads((Path(__file__).parent / "digest.json").read_text(encoding="utf-8"))
    return loaded


@cache
def dispatch_keys() -> frozenset[str]:
    """Return the names that the dispatcher parses as a dispatch key."""
    return frozenset(digest()["keys"])


@cache
def inplace_names() -> frozenset[str]:
    """Return names such as `add_` whose first argument is written; `requires_grad_` sets a flag and is left
    out."""
    return frozenset(digest()["inplace"]) - {"requires_grad_", "rename_"}


@cache
def view_names() -> frozenset[str]:
    """Return names of operators whose result is, or can be, a view of their first argument."""
    hidden = frozenset(n for n in digest()["views"] if n.startswith("_"))
    return frozenset(digest()["views"]) - hidden


MAYBE_VIEWS = frozenset(("contiguous", "reshape", "reshape_as", "flatten", "ravel", "to", "positive", "resolve_conj"))
"""Views that return their argument itself or a copy, depending on its layout or type."""

DEVICE_KEYS = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "xpu": "XPU",
    "hip": "HIP",
    "mps": "MPS",
    "xla": "XLA",
    "hpu": "HPU",
    "meta": "Meta",
    "ipu": "IPU",
    "mtia": "MTIA",
    "privateuseone": "PrivateUse1",
    "vulkan": "Vulkan",
    "lazy": "Lazy",
    "ve": "VE",
    "maia": "MAIA",
}
"""Device type → dispatch key, as `torch.library.impl` maps it; renamed PrivateUse1 backends are not in it."""

BACKEND_KEYS = frozenset(DEVICE_KEYS.values()) - {"Meta"}
COMPOSITE_KEYS = frozenset(
    ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
)
RESERVED_NAMESPACES = frozenset(("prim",))
"""`torch.library._reserved_namespaces`."""

FOREIGN_NAMESPACES = words(
    "aten prims prim quantized quantization _quantized mkl mkldnn mkldnn_prepacked onednn c10d _c10d_functional "
    "_c10d_functional_autograd c10d_functional symm_mem inductor inductor_prims _inductor_test "
    "higher_order rngprims "
    "debugprims debug_mode_ops export profiler static_runtime sparse streams fsdp _dtensor "
    "_native _test torch_xla "
    "xnnpack prepacked metal vulkan_prepack rel tensorexpr cuda internal torchvision torchaudio "
    "torchtext image video "
    "quantized_decomposed fbgemm fbgemm_gpu executorch executorch_prim dim_order_ops et_vk etvk "
    "ao torchao xformers "
    "xformers_flash flash_attn _C _vllm_fa2_C _vllm_fa3_C detectron2 torch_scatter torch_sparse torch_cluster "
    "torch_spline_conv pyg torch_tensorrt tensorrt torchrec nvfuser triton custom_op backends "
    "cadence cortex_m llama "
    "torch_ipex ipex auto_gptq bitsandbytes mamba_ssm causal_conv1d sgl_kernel flashinfer rwkv hpu npu musa mlu "
    "_caffe2 habana neuron tpu mtia xla torch_mlu torch_npu"
)
"""Namespaces whose definitions live in torch or in a well-known package; nothing is said of a name missing
there."""


def key_of_device(device: str) -> str | None:
    """Return the dispatch key of a device type, or None for one that PyTorch does not know."""
    return DEVICE_KEYS.get(device.partition(":")[0])
