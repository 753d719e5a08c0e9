"""What a Python kernel does with its arguments that its schema does not say."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.aten import aten
from kexec_lint.aten.checks import Report, check
from kexec_lint.aten.checks.signatures import argument_of, python_kernels
from kexec_lint.aten.facts import Event, Function, Implementation
from kexec_lint.aten.registry import Operator, Registry, role_of
from kexec_lint.aten.schema import Argument, Schema
from kexec_lint.findings import Location, Related


def _tensor_argument(
    implementation: Implementation, function: Function, schema: Schema | None, event: Event
) -> Argument | None:
    """Return the schema argument an event is about if it is a tensor or a list of tensors."""
    if schema is None:
        return None
    argument = argument_of(implementation, function, schema, event.subject)
    return argument if argument is not None and argument.type.base == "Tensor" else None


@check("ATN108")
def undeclared_mutation(registry: Registry) -> Iterator[Report]:
    """A kernel writes to an argument that the schema does not mark."""
    for operator in registry.operators.values():
        seen: set[tuple[Location, str]] = set()
        for implementation, function in python_kernels(operator):
            if role_of(implementation) != "kernel" or implementation.key.startswith("Autograd"):
                continue
            for event in function.of_kind("mutates", "augments"):
                argument = _tensor_argument(implementation, function, operator.schema_of(implementation), event)
                written = (function.at, event.subject)  # the first write to an argument speaks for the others
                if argument is None or argument.writes or written in seen:
                    continue
                if event.kind == "augments" and argument.type.is_list:
                    continue
                seen.add(written)
                definition = operator.definitions[0]
                custom = definition.via == "custom_op" and definition.schema is None
                yield Report(
                    event.at,
                    f"this writes to '{event.subject}' ({event.detail}), which '{operator.name}' does not declare",
                    f'declare mutates_args=("{event.subject}",), or work on a clone'
                    if custom
                    else f"write Tensor(a!) {argument.name} in the schema, or work on a clone; tracing and "
                    "autograd take the argument for unchanged",
                    related=(Related("the definition", definition.at),),
                    operator=operator.name,
                )


@check("ATN109")
def alias_return(registry: Registry) -> Iterator[Report]:
    """A kernel returns an argument, or a view of one, that the schema says is a new tensor."""
    for operator in registry.operators.values():
        seen: set[Location] = set()
        for implementation, function in python_kernels(operator):
            schema = operator.schema_of(implementation)
            if schema is None:
                continue
            key = implementation.key
            if role_of(implementation) != "kernel" or key in ("", "CompositeImplicitAutograd"):
                continue
            for event in function.of_kind("returns-alias"):
                link, index, text = event.detail.split(":", 2)
                argument = _tensor_argument(implementation, function, schema, event)
                if argument is None or event.at in seen or argument.type.is_list:
                    continue
                position = int(index)
                if position >= len(schema.returns) or schema.returns[position].alias is not None:
                    continue
                seen.add(event.at)
                what = {"same": "is", "view": "is a view of", "maybe": "can be"}[link]
                yield Report(
                    event.at,
                    f"the result '{text}' {what} the argument '{event.subject}', and the schema "
                    f"of '{operator.name}' "
                    "promises a new tensor",
                    "return a clone; custom_op raises at run time"
                    if operator.is_custom
                    else "return a clone, or declare the alias (Tensor(a) … -> Tensor(a)); nothing notices it",
                    confidence="certain" if link != "maybe" else "possible" if ".to(" in text else "likely",
                    operator=operator.name,
                )


@check("ATN125")
def self_recursion(registry: Registry) -> Iterator[Report]:
    """A kernel calls its own operator on the same inputs, which leads back to it."""
    for operator in registry.operators.values():
        own = {
            d.function.name
            for d in operator.definitions
            if d.function is not None and d.via in ("custom_op", "triton_op") and d.function.name != "<lambda>"
        }
        names = {operator.name, operator.name.partition(".")[0] if "." not in operator.name else operator.name}
        seen: set[Location] = set()
        for implementation in operator.implementations:
            function = implementation.function
            if implementation.language != "python" or function is None or implementation.role in ("vmap", "dispatch"):
                continue
            if implementation.via.endswith("register_autograd"):
                continue
            for event in function.of_kind("calls-operator"):
                if not event.sure or event.at in seen or event.subject not in names | own:
                    continue
                seen.add(event.at)
                key = implementation.key or "CompositeImplicitAutograd"
                yield Report(
                    event.at,
                    f"the {key} kernel of '{operator.name}' calls '{operator.name}' with its own "
                    "arguments: endless "
                    "recursion",
                    "call the function that computes, or exclude the key first (torch._C._ExcludeDispatchKeyGuard)"
                    if key.startswith("Auto")
                    else "call the function that computes instead of the operator",
                    operator=operator.name,
                )


@check("ATN126")
def stride_assumption(registry: Registry) -> Iterator[Report]:
    """A kernel reads memory by position without looking at strides."""
    fixed = {"needs_fixed_stride_order", "needs_exact_strides", "needs_contiguous_strides", "?"}
    for operator in registry.operators.values():
        tags = {t for d in operator.definitions for t in d.tags}
        if tags & fixed:
            continue
        seen: set[Location] = set()
        for implementation in operator.implementations:
            function = registry.function_of(implementation)
            if function is None or role_of(implementation) != "kernel":
                continue
            looked = {e.subject for e in function.of_kind("looks-at-strides")}
            for event in function.of_kind("assumes-strides"):
                if event.subject in looked or event.at in seen:
                    continue
                seen.add(event.at)
                yield Report(
                    event.at,
                    f"{event.detail} takes '{event.subject}' for contiguous",
                    "call contiguous() first or tag the operator needs_fixed_stride_order; "
                    "torch.compile may pass other "
                    "strides than eager did",
                    operator=operator.name,
                )


@check("ATN127")
def function_in_kernel(registry: Registry) -> Iterator[Report]:
    """An autograd.Function below the Autograd key records nothing; where that key has a kernel, nothing has to be."""
    for operator in registry.operators.values():
        seen: set[Location] = set()
        recorded = {i.key for i in operator.implementations if role_of(i) == "autograd"}
        for implementation, function in _device_kernels(operator):
            if not recorded.isdisjoint(("Autograd", f"Autograd{implementation.key}")):
                continue
            for event in function.of_kind("applies-function"):
                if event.at in seen:
                    continue
                seen.add(event.at)
                yield Report(
                    event.at,
                    f"'{event.detail}' runs in the {implementation.key} kernel of '{operator.name}', below autograd",
                    "register the formula with register_autograd, or the Function under the Autograd key",
                    operator=operator.name,
                )


def _device_kernels(operator: Operator) -> Iterator[tuple[Implementation, Function]]:
    for implementation in operator.implementations:
        function, key = implementation.function, implementation.key
        if implementation.language != "python" or function is None or role_of(implementation) != "kernel":
            continue
        if key in aten.BACKEND_KEYS or (key == "CompositeExplicitAutograd" and operator.is_custom):
            yield implementation, function
