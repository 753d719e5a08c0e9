"""Whether a kernel's signature fits the schema of its operator."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kexec_lint.aten.checks import Report, check
from kexec_lint.aten.facts import Definition, Function, Implementation, Parameter
from kexec_lint.aten.infer import clean, read_annotation, returns_from
from kexec_lint.aten.registry import Operator, Registry, role_of
from kexec_lint.aten.schema import Argument, Schema
from kexec_lint.findings import Related

PLAIN = frozenset(("Tensor", "int", "float", "bool", "str"))


def python_kernels(operator: Operator) -> Iterator[tuple[Implementation, Function]]:
    """Yield the Python kernels and fakes of an operator whose signature counts as written."""
    for implementation in operator.implementations:
        function = implementation.function
        if implementation.language != "python" or function is None or function.opaque:
            continue
        if role_of(implementation) in ("kernel", "fake"):
            yield implementation, function


def parameters(implementation: Implementation, function: Function) -> list[Parameter]:
    """Return the positional parameters that receive the schema's arguments."""
    found = [p for p in function.parameters if p.kind == "positional"]
    return found[1:] if implementation.keyset else found


def pairs(implementation: Implementation, function: Function, schema: Schema) -> Iterator[tuple[Parameter, Argument]]:
    """Yield each parameter with the schema argument it receives."""
    positional = [a for a in schema.arguments if not a.kwarg_only]
    for parameter, argument in zip(parameters(implementation, function), positional, strict=False):
        yield parameter, argument
    given = {p.name: p for p in function.parameters}
    for argument in schema.arguments:
        if argument.kwarg_only and argument.name in given:
            yield given[argument.name], argument


def argument_of(implementation: Implementation, function: Function, schema: Schema, name: str) -> Argument | None:
    """Return the schema argument that a parameter receives."""
    return next((a for p, a in pairs(implementation, function, schema) if p.name == name), None)


@check("ATN106")
def signature(registry: Registry) -> Iterator[Report]:
    """Arity, order, keyword-only names and clear type conflicts of Python kernels."""
    for operator in registry.operators.values():
        yield from _annotations(operator)
        said: set[tuple[object, ...]] = set()
        for implementation, function in python_kernels(operator):
            schema = operator.schema_of(implementation)
            if schema is None:
                continue
            own = implementation.raw == "default" and operator.definitions[0].schema is None
            text = None if own else _conflict(implementation, function, schema)
            if text and (function.at, text) not in said:
                said.add((function.at, text))
                definition = operator.definitions[0]
                only_typed = "is annotated" in text
                yield Report(
                    function.at,
                    f"{text} ('{operator.name}')",
                    "the kernel gets what the schema says, whatever the annotation"
                    if only_typed
                    else "PyTorch accepts the registration; a call that passes the argument raises TypeError",
                    "likely" if only_typed else "certain",
                    (Related("the schema", definition.at), Related("registered here", implementation.at)),
                    "warning" if only_typed else None,
                    operator.name,
                )
        if operator.schema is not None:
            yield from _backward(operator, operator.schema)


def _conflict(implementation: Implementation, function: Function, schema: Schema) -> str | None:
    positional = [a for a in schema.arguments if not a.kwarg_only]
    keyword = [a for a in schema.arguments if a.kwarg_only]
    taken = parameters(implementation, function)
    kinds = {p.kind for p in function.parameters}
    if implementation.keyset and "var" not in kinds and not any(p.kind == "positional" for p in function.parameters):
        return f"'{function.name}' takes no key set, which with_keyset=True passes first"
    if "var" not in kinds and len(taken) < len(positional):
        names = {p.name for p in function.parameters if p.kind == "keyword"}
        moved = [a.name for a in positional if a.name in names]
        if moved:
            return f"'{function.name}' takes '{moved[0]}' by keyword only, and the schema passes it by position"
        return f"'{function.name}' takes {_count(taken)} but the schema passes {len(positional)}"
    required = [p for p in taken[len(positional) :] if p.default is None]
    by_name = {a.name for a in keyword}
    extra = [p for p in required if p.name not in by_name]
    if extra:
        return f"'{function.name}' needs '{extra[0].name}', which the schema does not have"
    names = {p.name for p in function.parameters}
    if "varkw" not in kinds:
        missing = [a.name for a in keyword if a.name not in names]
        if missing:
            return f"'{function.name}' has no parameter '{missing[0]}', which the schema passes by keyword"
    wanted = [
        p
        for p in function.parameters
        if p.kind == "keyword" and p.default is None and p.name not in {a.name for a in schema.arguments}
    ]
    if wanted:
        return f"'{function.name}' needs keyword '{wanted[0].name}', which the schema does not have"
    order = [p.name for p in taken[: len(positional)]]
    expected = [a.name for a in positional]
    if order != expected and len(order) == len(expected) and sorted(order) == sorted(expected):
        at = next(i for i, (x, y) in enumerate(zip(order, expected, strict=True)) if x != y)
        return f"'{function.name}' takes '{order[at]}' where the schema passes '{expected[at]}'"
    for parameter, argument in pairs(implementation, function, schema):
        if argument.has_default and parameter.default is None and _is_trimmed(implementation):
            return (
                f"'{function.name}' needs '{parameter.name}': arguments that equal the schema's default "
                f"({argument.default!r}) are not passed to a Python kernel"
            )
    for parameter, argument in pairs(implementation, function, schema):
        conflict = _type_conflict(parameter, argument)
        if conflict:
            where = f"'{parameter.name}' of '{function.name}'"
            return f"{where} is annotated {conflict} and the schema says {argument.type}"
    return None


def _is_trimmed(implementation: Implementation) -> bool:
    """Whether torch calls it with trailing default arguments left out: kernels held by the dispatcher are."""
    return role_of(implementation) == "kernel"


def _count(taken: list[Parameter]) -> str:
    return f"{len(taken)} positional argument" + ("" if len(taken) == 1 else "s")


def _type_conflict(parameter: Parameter, argument: Argument) -> str | None:
    """Return the annotation if it contradicts the schema's type beyond doubt."""
    annotated = read_annotation(clean(parameter.annotation)) if parameter.annotation else None
    if annotated is None or annotated.base not in PLAIN:
        return None
    base = argument.type.base
    base = {"SymInt": "int"}.get(base, base)
    if base not in PLAIN:
        return None
    listed = annotated.is_list != argument.type.is_list
    numeric = {annotated.base, base} <= {"int", "float", "bool"}
    if (annotated.base != base and not numeric) or listed:
        return clean(parameter.annotation)
    return None


def _annotations(operator: Operator) -> Iterator[Report]:
    """What custom_op cannot infer a schema from: it raises ValueError at the decorator."""
    for definition in operator.definitions:
        function = definition.function
        if definition.via not in ("custom_op", "triton_op") or definition.schema is not None or function is None:
            continue
        if function.opaque:
            continue
        for parameter in function.parameters:
            if parameter.annotation is None:
                yield _inference(definition, parameter, f"parameter '{parameter.name}' has no annotation")
                break
            if parameter.kind in ("var", "varkw"):
                yield _inference(definition, parameter, f"'*{parameter.name}' cannot stand in a schema")
                break
            if clean(parameter.annotation) in (
                "dict",
                "list",
                "tuple",
                "set",
                "object",
                "Callable",
                "Any",
                "ndarray",
            ):
                yield _inference(definition, parameter, f"'{parameter.name}' has type {parameter.annotation}")
                break
        else:
            if function.returns is None:
                yield Report(
                    function.at,
                    f"custom_op infers the schema of '{operator.name}', and '{function.name}' has no return annotation",
                    "annotate it or pass schema=; the decorator raises ValueError",
                    operator=operator.name,
                )
        names = {p.name for p in function.parameters}
        unknown = [m for m in definition.mutates or () if m not in names and m != "unknown"]
        if unknown:
            yield Report(
                definition.at,
                f"mutates_args names '{unknown[0]}', which is no parameter of '{function.name}'",
                "name the parameters that are written; the decorator raises ValueError",
                operator=operator.name,
            )


def _inference(definition: Definition, parameter: Parameter, what: str) -> Report:
    assert definition.function is not None
    return Report(
        parameter.at or definition.function.at,
        f"custom_op infers the schema of '{definition.operator}', and {what}",
        "annotate it with a type of the schema language or pass schema=; the decorator raises ValueError",
        operator=definition.operator,
    )


def _backward(operator: Operator, schema: Schema) -> Iterator[Report]:
    """A backward formula takes ctx and one gradient for each return."""
    for implementation in operator.implementations:
        function = implementation.function
        if (
            implementation.role != "autograd"
            or function is None
            or function.opaque
            or not implementation.via.endswith("register_autograd")
        ):
            continue
        if any(p.kind == "var" for p in function.parameters) or schema.is_varret:
            continue
        taken = [p for p in function.parameters if p.kind == "positional"]
        required = [p for p in taken if p.default is None]
        passed = 1 + len(schema.returns)
        if not len(required) <= passed <= len(taken):
            yield Report(
                function.at,
                f"'{function.name}' takes {_count(taken)} but is called with ctx and {len(schema.returns)} "
                f"gradient{'' if len(schema.returns) == 1 else 's'} ('{operator.name}')",
                "one gradient is passed for each return of the schema; backward() raises TypeError",
                operator=operator.name,
            )


@check("ATN107")
def default_mismatch(registry: Registry) -> Iterator[Report]:
    """A default in a kernel that is not the schema's."""
    for operator in registry.operators.values():
        seen: set[object] = set()
        for implementation in operator.implementations:
            function = registry.function_of(implementation)
            schema = operator.schema_of(implementation)
            if schema is None:
                continue
            own = operator.definitions[0]
            if function is None or function.opaque or role_of(implementation) not in ("kernel", "fake"):
                continue
            if implementation.raw == "default" and own.schema is None:
                continue
            for parameter, argument in pairs(implementation, function, schema):
                if parameter.default is None or not argument.has_default or parameter.at in seen:
                    continue
                value = _literal(parameter.default, implementation.language)
                if value is _UNKNOWN or _equal(value, argument.default) or parameter.name in function.unread:
                    continue
                seen.add(parameter.at)
                yield Report(
                    parameter.at or function.at,
                    f"'{parameter.name}={parameter.default}' differs from the schema's default "
                    f"{argument.default!r} "
                    f"('{operator.name}')",
                    "write the same default in both; which of the two runs depends on how the operator is called"
                    if implementation.language == "python"
                    else "write the same default in both; through the dispatcher the schema's is used",
                    # A fake that has its own default usually reads only the metadata of what it is given.
                    confidence="possible" if role_of(implementation) == "fake" else "certain",
                    related=(Related("the schema", own.at),),
                    operator=operator.name,
                )


_UNKNOWN = object()


def _literal(text: str, language: str) -> object:
    if language == "c++":
        text = {
            "true": "True",
            "false": "False",
            "std::nullopt": "None",
            "c10::nullopt": "None",
            "{}": "None",
        }.get(text, text.rstrip("fFlLuU") if text[:1].isdigit() else text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError):
        return _UNKNOWN


def _equal(value: object, default: object) -> bool:
    if isinstance(default, str) and not isinstance(value, str):
        return True  # an enumeration such as ScalarType or Mean
    if value is None and default == ():
        return True
    if isinstance(value, (list, tuple)) and isinstance(default, tuple):
        return tuple(value) == default
    if isinstance(default, tuple) and len(set(default)) == 1:
        return bool(value == default[0])
    if isinstance(value, bool) != isinstance(default, bool):
        return bool(value == default) and value is not None
    return bool(value == default)


@check("ATN119")
def autograd_on_mutating(registry: Registry) -> Iterator[Report]:
    """register_autograd accepts only functional operators."""
    for operator in registry.operators.values():
        schema = operator.schema
        for implementation in operator.implementations:
            if implementation.role != "autograd" or not implementation.via.endswith("register_autograd"):
                continue
            written = [a.name for a in schema.arguments if a.writes] if schema is not None else []
            if not written and schema is None:
                written = [m for d in operator.definitions for m in d.mutates or ()]
            if not written:
                continue
            yield Report(
                implementation.at,
                f"'{operator.name}' writes to '{written[0]}', so it cannot have an autograd formula",
                "define a functional operator for the formula; this call raises 'Cannot "
                "register autograd formula for "
                "non-functional operator'",
                related=tuple(Related("defined here", d.at) for d in operator.definitions[:1]),
                operator=operator.name,
            )


@check("ATN122")
def return_mismatch(registry: Registry) -> Iterator[Report]:
    """A path that returns nothing, or another number of values than the schema."""
    for operator in registry.operators.values():
        for implementation, function in python_kernels(operator):
            schema = operator.schema_of(implementation)
            if schema is None and len(operator.definitions) > 1:
                continue
            returns = schema.returns if schema is not None else returns_from(function)
            if returns is None or (schema is not None and schema.is_varret):
                continue
            if any(r.type.base in ("None", "NoneType") for r in returns):
                continue
            for event in function.of_kind("returns"):
                message = _wrong_return(event.subject, len(returns), [r.type.optional for r in returns], returns)
                if message is None:
                    continue
                falls = "the end" in event.detail
                yield Report(
                    function.at if falls else event.at,
                    (f"'{function.name}' can end without a return, and " if falls else f"{message}, and ")
                    + f"'{operator.name}' returns {_spell(len(returns))}",
                    "return the value on every path; PyTorch passes None on without an error"
                    if event.subject == "none"
                    else "return what the schema declares",
                    operator=operator.name,
                )


def _wrong_return(kind: str, wanted: int, optional: list[bool], returns: tuple[Argument, ...]) -> str | None:
    if kind == "none":
        return "this returns None" if wanted and not all(optional) else None
    name, _, number = kind.partition(":")
    if not wanted:
        return None if kind == "unknown" else "this returns a value"
    if name not in ("tuple", "list") or not number:
        return None
    if wanted == 1:
        single = returns[0].type
        return (
            f"this returns a tuple of {number}"
            if name == "tuple" and not single.is_list and single.base != "Any"
            else None
        )
    return f"this returns {number} values" if int(number) != wanted else None


def _spell(count: int) -> str:
    return {0: "nothing", 1: "one value"}.get(count, f"{count} values")
