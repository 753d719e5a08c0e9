"""The schema that torch.library.custom_op infers from a function's annotations (`torch.library.infer_schema`)."""

from __future__ import annotations

import ast
import re

from kexec_lint.aten.facts import Definition, Function, Parameter
from kexec_lint.aten.schema import Alias, Argument, Default, Schema, Type

_SCALARS = {
    "Tensor": "Tensor", "int": "int", "float": "float", "bool": "bool", "str": "str", "Number": "Scalar",
    "dtype": "ScalarType", "device": "Device", "SymInt": "SymInt", "types.Number": "Scalar", "layout": "Layout",
    "memory_format": "MemoryFormat", "None": "None", "Generator": "Generator", "ProcessGroup": "ProcessGroup",
}  # fmt: skip


def schema_from_function(definition: Definition) -> Schema | None:
    """Return the inferred schema, or None when an annotation is missing or not understood."""
    function = definition.function
    if function is None:
        return None
    namespace, _, name = definition.operator.partition("::")
    mutates = set(definition.mutates or ())
    arguments = []
    for parameter in function.parameters:
        argument = _argument(parameter, parameter.name in mutates or "unknown" in mutates)
        if argument is None:
            return None
        arguments.append(argument)
    returns = returns_from(function)
    if returns is None:
        return None
    return Schema(namespace, name, "", tuple(arguments), returns)


def returns_from(function: Function) -> tuple[Argument, ...] | None:
    """Return the declared results, or None if the annotation is missing or not understood."""
    text = clean(function.returns)
    if not text:
        return None
    if text == "None":
        return ()
    inner = _generic(text, ("tuple", "Tuple"))
    if inner is not None:
        parts = split(inner)
        if "..." in parts:
            return None
        kinds = [read_annotation(p) for p in parts]
        return None if any(k is None for k in kinds) else tuple(Argument("", k) for k in kinds if k is not None)
    kind = read_annotation(text)
    return (Argument("", kind),) if kind is not None else None


def _argument(parameter: Parameter, writes: bool) -> Argument | None:
    kind = read_annotation(clean(parameter.annotation))
    if kind is None or parameter.kind in ("var", "varkw"):
        return None
    alias = Alias(("a",), ("a",), True) if writes and kind.base == "Tensor" else None
    value: Default = None
    if parameter.default is not None:
        try:
            value = ast.literal_eval(parameter.default)
        except (ValueError, SyntaxError, TypeError):
            value = parameter.default
    return Argument(parameter.name, kind, parameter.kind == "keyword", parameter.default is not None, value, alias)


def clean(annotation: str | None) -> str:
    """Return an annotation without quotes and module names."""
    text = (annotation or "").strip().strip("'\"")
    return re.sub(r"\b(torch|typing|t|collections\.abc|numbers|_?types|np|jaxtyping)\.", "", text)


def read_annotation(text: str) -> Type | None:
    """Return the schema type of a Python annotation, or None."""
    text = text.strip().strip("'\"")
    if text in _SCALARS:
        return Type(_SCALARS[text])
    parts = [p.strip() for p in re.split(r"\s*\|\s*", text)] if "[" not in text or text.endswith("None") else [text]
    inner = _generic(text, ("Union",))
    if inner is not None:
        parts = split(inner)
    if len(parts) > 1:
        rest = [p for p in parts if p != "None"]
        if set(rest) <= {"int", "float", "bool"} and len(rest) > 1:
            kind: Type | None = Type("Scalar")
        else:
            kind = read_annotation(rest[0]) if len(rest) == 1 else None
        return Type("?", kind, optional=True) if kind and "None" in parts else kind
    inner = _generic(text, ("Optional",))
    if inner is not None:
        kind = read_annotation(inner)
        return Type("?", kind, optional=True) if kind else None
    inner = _generic(text, ("List", "list", "Sequence"))
    if inner is not None:
        kind = read_annotation(inner)
        return Type("[]", kind) if kind else None
    return None


def _generic(text: str, names: tuple[str, ...]) -> str | None:
    match = re.fullmatch(r"(\w+)\s*\[(.*)\]", text, re.S)
    return match[2] if match and match[1] in names else None


def split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth, last = [], 0, 0
    for index, character in enumerate(text):
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            parts.append(text[last:index].strip())
            last = index + 1
    return [*parts, text[last:].strip()]
