"""C++ kernels: types against the schema, composite kernels that touch memory, launches, fallthroughs, pybind."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kexec_lint.aten.checks import Report, check
from kexec_lint.aten.facts import Event, Function, Implementation, Parameter
from kexec_lint.aten.registry import Operator, Registry, base_type, role_of
from kexec_lint.aten.schema import Argument, Schema
from kexec_lint.findings import Location, Related

CUDA_KEYS = frozenset(("CUDA", "AutogradCUDA", "HIP"))
WRONG_SCALARS = {
    "int": "int64_t",
    "unsigned": "int64_t",
    "unsigned int": "int64_t",
    "int32_t": "int64_t",
    "uint32_t": "int64_t",
    "uint64_t": "int64_t",
    "size_t": "int64_t",
    "short": "int64_t",
    "int16_t": "int64_t",
    "uint8_t": "int64_t",
    "float": "double",
}
SCALARS = {
    "int": {"int64_t", "long", "long int", "SymInt", "long long"},
    "SymInt": {"int64_t", "SymInt", "long", "long long"},
    "float": {"double"},
    "bool": {"bool"},
    "str": {"string", "string_view", "basic_string"},
    "Tensor": {"Tensor"},
}


def _kernels(registry: Registry, operator: Operator) -> Iterator[tuple[Implementation, Function]]:
    """Yield the C++ kernels of an operator whose function is in sight."""
    for implementation in operator.implementations:
        function = registry.function_of(implementation)
        if implementation.language == "c++" and function is not None:
            yield implementation, function


@check("ATN204")
def composite_touches_memory(registry: Registry) -> Iterator[Report]:
    """`m.def(schema, &fn)` with a body that needs memory: every device and the fake tensors get it."""
    for operator in registry.operators.values():
        for implementation in operator.implementations:
            if implementation.language != "c++" or implementation.key or implementation.via != "m.def":
                continue
            function = registry.function_of(implementation)
            event = registry.touches_memory(function, implementation.at.filename) if function is not None else None
            if event is None or not registry.takes_tensors(operator, implementation):
                continue
            what = "launches a kernel" if event.kind == "launch" else "takes a raw data pointer"
            yield Report(
                implementation.at,
                f"'{operator.name}' is registered for every device (CompositeImplicitAutograd), "
                f"and its function {what}",
                "keep m.def(schema) and register the function with TORCH_LIBRARY_IMPL(ns, CPU "
                "or CUDA, m); with another "
                "device or a fake tensor it reads memory that is not there",
                related=(Related("here", event.at),),
                operator=operator.name,
            )


@check("ATN205")
def native_types(registry: Registry) -> Iterator[Report]:
    """Parameter types, arity and undeclared writes of C++ kernels."""
    for operator in registry.operators.values():
        seen: set[Location] = set()
        for implementation, function in _kernels(registry, operator):
            schema = operator.schema_of(implementation)
            if role_of(implementation) not in ("kernel", "fake") or implementation.fallthrough:
                continue
            boxed = implementation.raw == "boxed"  # the stable ABI converts by rules of its own
            for parameter in () if boxed else function.parameters:
                wrong = WRONG_SCALARS.get(base_type(parameter.annotation))
                if wrong and parameter.at is not None and parameter.at not in seen:
                    seen.add(parameter.at)
                    yield _typed(
                        operator,
                        parameter,
                        parameter.at,
                        f"'{parameter.annotation}' is no kernel argument type",
                        f"use {wrong}; the registration fails to compile",
                    )
            if schema is None or implementation.keyset or schema.is_vararg:
                continue
            taken = [p for p in function.parameters if base_type(p.annotation) not in ("DispatchKeySet",)]
            if len(taken) != len(schema.arguments):
                if function.at not in seen:
                    seen.add(function.at)
                    yield Report(
                        function.at,
                        f"'{function.name}' takes {len(taken)} arguments and the schema of "
                        f"'{operator.name}' has "
                        f"{len(schema.arguments)}",
                        "make them agree; loading the library terminates the process",
                        related=(Related("registered here", implementation.at),),
                        operator=operator.name,
                    )
                continue
            for parameter, argument in zip(taken, schema.arguments, strict=True):
                report = None if boxed else _mismatch(operator, parameter, argument)
                if report is not None and report.at not in seen:
                    seen.add(report.at)
                    yield report
            yield from _undeclared(operator, schema, function, taken, seen)


def _typed(operator: Operator, parameter: Parameter, at: Location, message: str, help: str) -> Report:
    return Report(at, f"{message} ('{parameter.name}' of '{operator.name}')", help, operator=operator.name)


def _mismatch(operator: Operator, parameter: Parameter, argument: Argument) -> Report | None:
    """Return a report when the C++ type of an argument contradicts its schema type beyond doubt."""
    written = base_type(parameter.annotation)
    optional = re.fullmatch(r"optional\s*<\s*(.*)\s*>", written)
    inner = base_type(optional[1]) if optional else written
    kind = argument.type
    plain = kind.element if kind.optional and kind.element else kind
    if parameter.at is None or not written:
        return None
    known = {name for names in SCALARS.values() for name in names}
    listed = re.match(
        r"(vector|ArrayRef|List|ITensorListRef|TensorList|IntArrayRef|SymIntArrayRef|OptionalArrayRef|array)\b",
        inner,
    )
    if plain.is_list:
        if inner in known:
            return _typed(
                operator,
                parameter,
                parameter.at,
                f"the schema says {kind} and the function takes {written}",
                "take a list type (at::TensorList, at::IntArrayRef); loading the library terminates the process",
            )
        return None
    if plain.base not in SCALARS:
        return None
    if listed:
        return _typed(
            operator,
            parameter,
            parameter.at,
            f"the schema says {kind} and the function takes {written}",
            "make them agree; loading the library terminates the process",
        )
    if inner in known and inner not in SCALARS[plain.base]:
        return _typed(
            operator,
            parameter,
            parameter.at,
            f"the schema says {kind} and the function takes {written}",
            "make them agree; loading the library terminates the process",
        )
    if optional is not None and inner in known and not kind.optional:
        return _typed(
            operator,
            parameter,
            parameter.at,
            f"the schema says {kind} and the function takes {written}",
            f"write {plain.base}? in the schema; loading the library terminates the process",
        )
    if kind.optional and optional is None and inner in known and inner != "Tensor":
        return _typed(
            operator,
            parameter,
            parameter.at,
            f"the schema says {kind} and the function takes {written}",
            "take std::optional; loading the library terminates the process",
        )
    return None


def _undeclared(
    operator: Operator, schema: Schema, function: Function, taken: list[Parameter], seen: set[Location]
) -> Iterator[Report]:
    for event in function.of_kind("mutates"):
        index = next((i for i, p in enumerate(taken) if p.name == event.subject), None)
        if index is None or schema.arguments[index].writes or event.at in seen:
            continue
        seen.add(event.at)
        yield Report(
            event.at,
            f"this writes to '{event.subject}' ({event.detail}), which the schema of "
            f"'{operator.name}' does not declare",
            f"write Tensor(a!) {schema.arguments[index].name} in the schema",
            operator=operator.name,
        )


@check("ATN206")
def hidden_from_dispatcher(registry: Registry) -> Iterator[Report]:
    """A tensor function that only Python's import machinery knows."""
    registered = {
        i.function_name for o in registry.operators.values() for i in o.implementations if i.language == "c++"
    }
    for facts in registry.files.values():
        for implementation in facts.implementations:
            if implementation.role != "pybind" or implementation.function_name in registered:
                continue
            function = registry.function_of(implementation)
            if function is None or not any("Tensor" in (p.annotation or "") for p in function.parameters):
                continue
            yield Report(
                implementation.at,
                f"'{function.name}' takes tensors and is exported by pybind11 alone",
                "register it with TORCH_LIBRARY; torch.compile, torch.export and autocast "
                "cannot see a pybind11 function",
            )


@check("ATN207")
def unchecked_dtype(registry: Registry) -> Iterator[Report]:
    """A kernel with one dtype in mind, or a CUDA dtype switch without half precision."""
    seen: set[Location] = set()
    for operator in registry.operators.values():
        for implementation, function in _kernels(registry, operator):
            if role_of(implementation) != "kernel":
                continue
            pointer = next((e for e in function.of_kind("data-pointer") if e.sure), None)
            if pointer is not None and pointer.at not in seen and implementation.key:
                seen.add(pointer.at)
                typed = f"data_ptr<{pointer.detail}>()" if pointer.detail else "data_ptr()"
                yield Report(
                    pointer.at,
                    f"'{pointer.subject}' is read through {typed} without a look at its dtype ('{operator.name}')",
                    f"start with TORCH_CHECK({pointer.subject}.scalar_type() == …); "
                    + (
                        "for another dtype the user sees 'expected scalar type' from inside the kernel"
                        if pointer.detail
                        else "for another dtype the bytes are misread"
                    ),
                    "likely",
                    operator=operator.name,
                )
            if implementation.key in CUDA_KEYS:
                for event in function.of_kind("dtype-switch")[:1]:
                    if event.subject == "FLOATING_TYPES" and event.at not in seen:
                        seen.add(event.at)
                        yield Report(
                            event.at,
                            f"the CUDA kernel of '{operator.name}' switches over float and double only",
                            "use AT_DISPATCH_FLOATING_TYPES_AND2(kHalf, kBFloat16, …); under autocast it raises "
                            "'not implemented for 'Half''",
                            "likely",
                            operator=operator.name,
                        )


@check("ATN207")
def unchecked_device(registry: Registry) -> Iterator[Report]:
    """A raw pointer goes to a GPU kernel, and nothing has looked at the tensor's device: a CPU tensor's is invalid."""
    for facts in registry.files.values():
        for implementation in facts.implementations:
            function = registry.function_of(implementation)
            if implementation.role != "pybind" or function is None:
                continue
            pointer = next((e for e in function.of_kind("unchecked-device") if e.sure), None)
            if pointer is not None:
                yield _device(pointer, f"pybind11 passes any tensor to '{function.name}'", "likely")
    for operator in registry.operators.values():
        for implementation, function in _kernels(registry, operator):
            if implementation.key not in CUDA_KEYS:
                continue
            if sum("Tensor" in (p.annotation or "") for p in function.parameters) < 2:
                continue  # the dispatcher has seen to the only one
            pointer = next(iter(function.of_kind("unchecked-device")), None)
            if pointer is not None:
                why = f"one CUDA tensor is enough to run this kernel of '{operator.name}'"
                yield _device(pointer, why, "possible", operator.name)


def _device(pointer: Event, why: str, confidence: str, operator: str = "") -> Report:
    return Report(
        pointer.at,
        f"'{pointer.subject}' goes to a GPU kernel without a look at its device: {why}",
        f"start with TORCH_CHECK({pointer.subject}.is_cuda(), …); a CPU tensor ends in an illegal memory access",
        confidence,
        operator=operator,
    )


@check("ATN209")
def unchecked_launch(registry: Registry) -> Iterator[Report]:
    """A launch whose error nobody asks for, or on the default stream."""
    for facts in registry.files.values():
        functions = [*facts.functions, *(i.function for i in facts.implementations if i.function is not None)]
        for function in functions:
            for event in function.of_kind("launch"):  # the first one speaks for the function
                missing = set(event.detail.split(","))
                wanted = []
                if "check" in missing:
                    wanted.append("C10_CUDA_KERNEL_LAUNCH_CHECK() after it")
                if "stream" in missing:
                    wanted.append("at::cuda::getCurrentCUDAStream() as its stream")
                if not wanted:
                    continue
                if "guard" in missing and "stream" in missing:
                    wanted.append("a CUDAGuard for the tensor's device")
                yield Report(
                    event.at,
                    f"the launch of '{event.subject}' lacks {' and '.join(wanted)}",
                    "an invalid launch goes unnoticed until a later, unrelated call"
                    if "check" in missing
                    else "it runs on the default stream and races with PyTorch's work on the current one",
                    "likely",
                )
                break


@check("ATN210")
def autograd_fallthrough(registry: Registry) -> Iterator[Report]:
    """A fallthrough at the Autograd key of an operator that returns tensors."""
    for operator in registry.operators.values():
        schema = operator.schema
        for implementation in operator.implementations:
            if not implementation.fallthrough or not implementation.key.startswith("Autograd"):
                continue
            if operator.namespace == "_" or operator.is_implicit or schema is None or registry.only_composes(operator):
                continue
            if not any(r.type.base == "Tensor" for r in schema.returns) or not schema.is_functional:
                continue
            if not any(a.type.base == "Tensor" for a in schema.arguments):
                continue
            yield Report(
                implementation.at,
                f"autograd falls through for '{operator.name}': its result carries no gradient and nothing says so",
                "register a formula, or torch::autograd::autogradNotImplementedFallback(), which raises at backward()",
                operator=operator.name,
            )
