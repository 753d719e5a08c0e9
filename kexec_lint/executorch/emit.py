"""Computes which kernels executorch's codegen emits for a selection: what `codegen/gen.py` does, without running
it.

The rules are those of `torchgen.selective_build.selector.SelectiveBuilder` (is_operator_selected,
is_root_operator, et_get_selected_kernels) and of `ETKernelIndex._to_backend_index`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kexec_lint.executorch.keys import base_name


@dataclass(frozen=True)
class Selection:
    """A selection as codegen sees it. `roots` and `all_overloads` are subsets of `operators`."""

    operators: frozenset[str]
    roots: frozenset[str]
    all_overloads: frozenset[str]
    metadata: Mapping[str, Sequence[str]]
    include_all: bool = False

    def selects(self, operator: str) -> bool:
        """As `is_operator_selected`: by name, or by the bare name if that includes all overloads."""
        return self.include_all or operator in self.operators or base_name(operator) in self.all_overloads

    def is_root(self, operator: str) -> bool:
        """As `is_root_operator`."""
        if not self.selects(operator):
            return False
        if self.include_all:
            return True
        if operator in self.operators:
            return operator in self.roots
        base = base_name(operator)
        return base in self.all_overloads and base in self.roots


@dataclass
class Emission:
    """The kernels that are registered, operator → keys; `failures` says where codegen stops, and at which line."""

    kernels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    failures: list[tuple[str, str]] = field(default_factory=list)


def emit(selection: Selection, available: Mapping[str, Sequence[str]]) -> Emission:
    """Return what codegen registers when `available` (operator → kernel keys of the YAML files) meets a
    selection.
    """
    emission = Emission()
    for operator, keys in available.items():
        if not selection.is_root(operator):
            continue
        if len(keys) > 1:
            # gen_headers converts every selected operator's kernels to a BackendIndex, which holds one.
            emission.failures.append(
                (
                    operator,
                    f"Can't convert ETKernelIndex to BackendIndex because {operator} has more than one kernels",
                )
            )
            continue
        try:
            chosen = selected_keys(selection, operator, keys)
        except LookupError as error:
            emission.failures.append((operator, str(error)))
            continue
        if chosen:
            emission.kernels[operator] = chosen
    return emission


def selected_keys(selection: Selection, operator: str, keys: Sequence[str]) -> tuple[str, ...]:
    """As `et_get_selected_kernels`. Raises LookupError with the message where that fails."""
    wanted = selection.metadata.get(operator)
    if wanted is None:
        return tuple(keys) if selection.include_all else ()
    chosen: set[str] = set()
    for key in wanted:
        match = None
        for candidate in keys:
            if candidate == "default":
                continue
            if "/" not in key:
                raise LookupError("list index out of range (a specialised kernel, and metadata that say `default`)")
            if candidate.split("/")[1] == key.split("/")[1]:
                match = candidate
                break
        if match is None and "default" not in keys:
            raise LookupError("Missing kernel for the model")
        chosen.add(match or "default")
    return tuple(sorted(chosen))
