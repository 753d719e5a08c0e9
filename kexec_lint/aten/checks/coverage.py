"""What an operator lacks where it is used: a device kernel, a fake, a gradient, an out variant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kexec_lint.aten import aten
from kexec_lint.aten.checks import Report, check
from kexec_lint.aten.checks.fakes import has_fake
from kexec_lint.aten.facts import Call, Implementation
from kexec_lint.aten.registry import Operator, Registry, role_of
from kexec_lint.findings import Related


def _is_closed(registry: Registry, operator: Operator) -> bool:
    """Whether every implementation of the operator should be in sight."""
    if not operator.definitions or any(d.via == "RegisterOperators" for d in operator.definitions):
        return False
    if registry.any_open(operator.namespace, "implementations"):
        return False
    definition = operator.definitions[0]
    own = definition.via in ("custom_op", "triton_op") or operator.namespace in registry.owned
    return own or bool(operator.kernels)


def _narrow(operator: Operator) -> bool:
    return operator.is_custom and all(i.raw == "default" for i in operator.kernels)


@check("ATN102")
def device_kernel_missing(registry: Registry) -> Iterator[Report]:
    """A call with tensors of a device for which there is no kernel."""
    for operator in registry.operators.values():
        keys = operator.keys
        if not keys or operator.is_composite or not _is_closed(registry, operator):
            continue
        if any(i.role == "kernel" for i in operator.with_role("autograd", "other")):
            continue  # a hand-written Autograd kernel may route to another operator
        said: set[str] = set()
        for call in operator.calls:
            key = _missing_key(registry, keys, call)
            if key is None or key in said or call.guarded:
                continue
            if _narrow(operator) and key == "CPU":
                continue  # ATN103
            said.add(key)
            kernel = next(i for i in operator.kernels)
            yield Report(
                call.at,
                f"'{operator.name}' has no {key} kernel, and this call passes a tensor on '{call.devices[0]}' "
                f"(registered: {', '.join(sorted(keys))})",
                f"register a kernel for {key}; the call raises \"Could not run '{operator.name}' "
                "with arguments from the "
                f"'{key}' backend\"",
                related=(Related("the registered kernel", kernel.at),),
                operator=operator.name,
            )


def _missing_key(registry: Registry, keys: set[str], call: Call) -> str | None:
    """Return the key a call needs and the operator lacks; mixed devices dispatch to the GPU and say nothing."""
    if len(call.devices) != 1 or call.devices[0] == "meta":
        return None
    key = aten.key_of_device(call.devices[0])
    if key is None or key in keys or key in registry.fallbacks:
        return None
    return key


@check("ATN103")
def narrow_device_types(registry: Registry) -> Iterator[Report]:
    """A custom_op whose only kernel is for another device than the tensors it is called with."""
    for operator in registry.operators.values():
        if not operator.is_custom or not _narrow(operator) or operator.is_composite:
            continue
        if not _is_closed(registry, operator) or "CPU" in operator.keys:
            continue
        call = next((c for c in operator.calls if c.devices == ("cpu",) and not c.guarded), None)
        if call is None or any(k.startswith("device ") for k in operator.keys) or "CPU" in registry.fallbacks:
            continue
        definition = operator.definitions[0]
        devices = ", ".join(definition.device_types or ())
        yield Report(
            definition.at,
            f"'{operator.name}' has a kernel for device_types={devices} only, and is called with CPU tensors",
            'add @op.register_kernel("cpu"), or leave device_types out if the function works on any device',
            related=(Related("called here", call.at),),
            operator=operator.name,
        )


@check("ATN104")
def fake_missing(registry: Registry) -> Iterator[Report]:
    """An operator without fake that torch.compile or torch.export reaches, or that a library forgot."""
    fakes = _fakes_of_libraries(registry)
    for operator in registry.operators.values():
        if not operator.keys or has_fake(registry, operator) or not _is_closed(registry, operator):
            continue
        call = next((c for c in operator.calls if c.compiled and not c.guarded), None)
        if call is None and any(c.guarded and c.compiled for c in operator.calls):
            continue
        definition = operator.definitions[0]
        others = fakes.get(operator.namespace, []) if call is None and _returns_tensor(operator) else []
        why = ", and torch.compile or torch.export reaches it" if call else ""
        if others:
            why = f", and {len(others)} other operators of '{operator.namespace}' have one"
        yield Report(
            definition.at,
            f"'{operator.name}' has no fake implementation{why}",
            f'add @torch.library.register_fake("{operator.name}"); tracing raises an error instead of a graph',
            "certain" if call else "likely" if others else "possible",
            (
                *(Related("reached here", call.at) for _ in [0] if call),
                *(Related("the fake of another one", o.at) for o in others[:1]),
            ),
            operator=operator.name,
        )


def _fakes_of_libraries(registry: Registry) -> dict[str, list[Implementation]]:
    """Return namespace → fakes, of namespaces that give one to most of their operators: another was forgotten.

    At least three, and twice as many as there are operators without; operators that return no tensor do not count.
    """
    fakes: dict[str, list[Implementation]] = {}
    without: Counter[str] = Counter()
    for operator in registry.operators.values():
        space = operator.namespace
        if operator.definitions and operator.keys:
            own = [i for i in operator.implementations if role_of(i) == "fake"]
            fakes.setdefault(space, []).extend(own[:1])
            without[space] += not own and not has_fake(registry, operator) and _returns_tensor(operator)
    return {
        space: found
        for space, found in fakes.items()
        if len(found) >= max(3, 2 * without[space]) and not registry.any_open(space, "implementations")
    }


def _returns_tensor(operator: Operator) -> bool:
    schema = operator.schema
    return schema is not None and any(r.type.base == "Tensor" for r in schema.returns)


@check("ATN105")
def autograd_missing(registry: Registry) -> Iterator[Report]:
    """An operator without gradient whose input requires one."""
    for operator in registry.operators.values():
        if not operator.keys or operator.is_implicit or operator.is_triton or not _is_closed(registry, operator):
            continue
        if operator.with_role("autograd") or registry.fallbacks & {"Autograd", "AutogradCPU", "AutogradCUDA"}:
            continue
        schema = operator.schema
        if schema is None or not any(r.type.base == "Tensor" for r in schema.returns) or not schema.is_functional:
            continue
        if not operator.is_custom and registry.only_composes(operator):
            continue
        call = next((c for c in operator.calls if c.grad and not c.guarded), None)
        if call is None:
            continue
        yield Report(
            operator.definitions[0].at,
            f"'{operator.name}' has no autograd formula, and an input requires grad",
            "add torch.library.register_autograd; "
            + (
                "backward() raises 'no autograd formula was registered'"
                if operator.is_custom
                else "the gradient stops here with no more than a warning at backward()"
            ),
            "certain" if operator.is_custom else "likely",
            (Related("an input requires grad here", call.at),),
            operator=operator.name,
        )


def _is_lowered(registry: Registry, call: Call) -> bool:
    """Whether a call is in a program that its file exports for ExecuTorch, tests of passes left aside."""
    facts = registry.files[call.at.filename]
    return call.compiled and not call.guarded and facts.executorch and not facts.is_test


@check("ATN117")
def out_variant_missing(registry: Registry) -> Iterator[Report]:
    """A custom operator in a program for ExecuTorch without the out variant its runtime calls."""
    for operator in registry.operators.values():
        name = operator.name
        if not operator.definitions or "." in name or operator.is_implicit or operator.is_triton:
            continue
        schema = operator.schema
        if schema is None or not schema.is_functional or operator.returns_nothing():
            continue
        if any(o.startswith(f"{name}.") and "out" in o.rpartition(".")[2] for o in registry.operators):
            continue
        if f"{name}_out" in registry.operators or registry.is_open(operator.namespace, "definitions"):
            continue
        call = next((c for c in operator.calls if _is_lowered(registry, c)), None)
        if call is None or any(role_of(i) == "executorch" for i in operator.implementations):
            continue
        yield Report(
            operator.definitions[0].at,
            f"'{name}' has no out variant, and a program that is exported for ExecuTorch calls it",
            f"define '{name}.out' with the out= arguments; to_executorch() raises 'Missing out variants'",
            "likely",
            (Related("called here", call.at),),
            operator=name,
        )
