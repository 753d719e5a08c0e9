"""Types and declarators of C and C++, as short texts: `cl_event[]`, `float*`, `std::vector<cl::Event>&`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kexec_lint.opencl.frontend.c_unit import Unit, named

_NOISE = re.compile(r"\b(?:const|volatile|struct|class|enum|union|typename|register|inline|constexpr|mutable|extern)\b")
_SPACE = re.compile(r"\s+")
_TIGHT = re.compile(r"\s*([<>,*&:])\s*")


@dataclass(frozen=True)
class Declared:
    """What a declarator declares. `sizes` are the array lengths' nodes; `function` its function declarator."""

    name: str
    type: str
    sizes: tuple[Any, ...] = ()
    function: Any = None


def type_text(unit: Unit, node: Any) -> str:
    """Return a type as written, without qualifiers and needless spaces."""
    return "" if node is None else tidy(unit.text(node))


@lru_cache(maxsize=4096)
def tidy(text: str) -> str:
    """Return the text of a type without qualifiers and needless spaces."""
    plain = _SPACE.sub(" ", _NOISE.sub(" ", text)).strip()
    return _TIGHT.sub(r"\1", plain)


def declared(unit: Unit, node: Any, kind: str) -> Declared:
    """Follow a declarator to the name that it declares, and the type that it gives it."""
    sizes: list[Any] = []
    function = None
    while node is not None:
        match node.type:
            case "pointer_declarator" | "abstract_pointer_declarator":
                kind += "*"
                node = node.child_by_field_name("declarator")
            case "reference_declarator" | "abstract_reference_declarator":
                kind += "&"
                node = next(iter(n for n in named(node)), None)
            case "array_declarator" | "abstract_array_declarator":
                kind += "[]"
                sizes.append(node.child_by_field_name("size"))
                node = node.child_by_field_name("declarator")
            case "function_declarator" | "abstract_function_declarator":
                function = function or node
                node = node.child_by_field_name("declarator")
            case "parenthesized_declarator" | "attributed_declarator":
                node = next(iter(named(node)), None)
            case "init_declarator":
                node = node.child_by_field_name("declarator")
            case "template_function" | "template_method":
                node = node.child_by_field_name("name")
            case _:
                return Declared("".join(unit.text(node).split()), kind, tuple(sizes), function)
    return Declared("", kind, tuple(sizes), function)
