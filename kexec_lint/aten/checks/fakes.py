"""Fake and Meta kernels: they see no data, and what they return must look like the real result."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.aten import aten
from kexec_lint.aten.checks import Report, check
from kexec_lint.aten.checks.signatures import argument_of
from kexec_lint.aten.facts import Event, Function, Implementation
from kexec_lint.aten.registry import Operator, Registry, role_of


def _fakes(operator: Operator) -> Iterator[tuple[Implementation, Function]]:
    for implementation in operator.implementations:
        if role_of(implementation) == "fake" and implementation.language == "python" and implementation.function:
            yield implementation, implementation.function


def _is_tensor(operator: Operator, implementation: Implementation, function: Function, event: Event) -> bool | None:
    """Whether the parameter is a tensor, by the schema or else by its annotation; None if neither says."""
    schema = operator.schema_of(implementation)
    if schema is not None:
        argument = argument_of(implementation, function, schema, event.subject)
        if argument is not None:
            return argument.type.base == "Tensor"
    annotation = next((p.annotation for p in function.parameters if p.name == event.subject), None)
    return "Tensor" in annotation if annotation else None


@check("ATN120")
def fake_touches_data(registry: Registry) -> Iterator[Report]:
    """A fake kernel asks for values."""
    for operator in registry.operators.values():
        seen: set[tuple[str, int]] = set()
        for implementation, function in _fakes(operator):
            checked = bool(function.of_kind("checks-size"))
            is_meta = implementation.role == "kernel"
            kinds = ["touches-data", "branches-on-data"] + (["copies-to-cpu"] if is_meta else [])
            for event in function.of_kind(*kinds):
                tensor = _is_tensor(operator, implementation, function, event)
                method = event.detail.startswith(".")
                if tensor is False or (tensor is None and not method):
                    continue
                if (event.at.filename, event.at.row) in seen:
                    continue
                unbacked = checked and event.detail in (".item()", "int()")
                seen.add((event.at.filename, event.at.row))
                branch = event.kind == "branches-on-data"
                yield Report(
                    event.at,
                    f"the fake of '{operator.name}' "
                    + (
                        f"branches on the values of '{event.subject}'"
                        if branch
                        else f"reads the data of '{event.subject}' ({event.detail})"
                    ),
                    "a fake tensor has no data: return the shape from metadata, or a size from "
                    "torch.library.get_ctx().new_dynamic_size()",
                    confidence="possible" if unbacked else "certain" if tensor else "likely",
                    operator=operator.name,
                )


@check("ATN121")
def fake_wrong_metadata(registry: Registry) -> Iterator[Report]:
    """A fake makes its result without the device and dtype of the input."""
    for operator in registry.operators.values():
        keys = registry.keys(operator)
        cpu_only = keys <= {"CPU"} and bool(keys)
        placeholder = any(f.of_kind("factory") for f in _native_kernels(registry, operator))
        for _, function in _fakes(operator):
            tensor = next((p.name for p in function.parameters if p.kind == "positional"), "x")
            for event in function.of_kind("factory"):
                if event.detail == "device" and cpu_only:
                    continue
                if placeholder and not event.sure:
                    continue  # the kernel returns the same
                yield Report(
                    event.at,
                    f"the fake of '{operator.name}' makes its result without {event.detail}",
                    f"use {tensor}.new_{event.subject.rpartition('.')[2]}(…) or pass them; the "
                    "compiled program sees a "
                    "float32 tensor on the CPU" + (" whatever the input is" if "dtype" in event.detail else ""),
                    confidence="likely",
                    operator=operator.name,
                )


def _native_kernels(registry: Registry, operator: Operator) -> Iterator[Function]:
    """Yield the C++ functions that are an operator's kernels, or bear its name (its Python kernel calls them)."""
    for implementation in operator.implementations:
        function = registry.function_of(implementation) if implementation.language == "c++" else None
        if function is not None:
            yield function
    yield from registry.functions(operator.name.partition("::")[2].partition(".")[0])


def has_fake(registry: Registry, operator: Operator) -> bool:
    """Whether a fake tensor can go through the operator."""
    if operator.is_implicit or operator.is_triton or operator.returns_nothing():
        return True
    if any(role_of(i) == "fake" for i in operator.implementations):
        return True
    explicit = [i for i in operator.kernels if i.key in aten.COMPOSITE_KEYS and i.raw != "default"]
    explicit = [i for i in explicit if not (operator.is_custom and i.via.endswith("register_kernel"))]
    return bool(explicit) or "pt2_compliant_tag" in {t for d in operator.definitions for t in d.tags}
