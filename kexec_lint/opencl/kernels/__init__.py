"""OpenCL C: the kernels of a text, what each parameter is, and whether its memory is read and written.

`read_kernels` is the one entry. A kernel that is not understood gives None (unknown), never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kexec_lint.opencl.kernels.unit import Unit


@dataclass(frozen=True)
class KernelParam:
    """One parameter of a kernel.

    `kind` is "global", "constant", "local", "image", "sampler", "pipe", "scalar", "struct" or "unknown"; `type` is
    the type without qualifiers (of the pointee for pointers); `size` the bytes of a scalar or vector. `reads` and
    `writes` speak of the memory behind a pointer or image, None for unknown; both are False for kinds without such
    memory. `atomic_only`: every access is an atomic function.
    """

    name: str
    kind: str
    type: str
    size: int | None
    const: bool
    reads: bool | None
    writes: bool | None
    atomic_only: bool = False


@dataclass(frozen=True)
class Barrier:
    """A work-group barrier. `fences` holds "global", "local", "image"; None when its flags are not understood."""

    span: tuple[int, int]
    fences: frozenset[str] | None


@dataclass(frozen=True)
class Kernel:
    """A kernel. Spans are half-open offsets in characters of the text that was read.

    `required_work_group_size` is what `reqd_work_group_size` says. `signature_known`: number and kinds of the
    parameters are sure. `complete`: that, and every statement was understood in every preprocessor configuration.
    """

    name: str
    params: tuple[KernelParam, ...]
    barriers: tuple[Barrier, ...]
    required_work_group_size: tuple[int, int, int] | None
    ends_with_global_barrier: bool
    span: tuple[int, int]
    name_span: tuple[int, int]
    complete: bool
    signature_known: bool


@lru_cache(maxsize=512)
def read_kernels(text: str) -> dict[str, Kernel]:
    """Return the kernels that an OpenCL C text defines, by name. Never raises for any text."""
    if "kernel" not in text:
        return {}
    from kexec_lint.opencl.kernels.merge import merge

    return merge(read_units(text))


@lru_cache(maxsize=64)
def read_units(text: str) -> tuple[tuple[Unit, ...], bool]:
    """Return the text in enough preprocessor configurations, and whether they cover all its branches."""
    from kexec_lint.opencl.kernels.source import TooLarge, configurations
    from kexec_lint.opencl.kernels.unit import Unit

    units: list[Unit] = []
    covered = False
    if re.search(r"\b(__)?kernel\b", text):
        try:
            for expanded, complete in configurations(text):
                units.append(Unit(expanded))
                covered = complete
        except TooLarge:
            covered = False
    return tuple(units), covered
