"""The operator registry: one record per `ns::op.overload` over the whole tree, Python and C++ together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from kexec_lint.aten import aten
from kexec_lint.aten.facts import (
    Call,
    Definition,
    Event,
    FileFacts,
    Function,
    Implementation,
    LibraryObject,
    Problem,
    Swallow,
    any_matches,
)
from kexec_lint.aten.infer import schema_from_function
from kexec_lint.aten.schema import Schema, SchemaError, parse

LOOKUPS = ("pybind", "executorch")
"""Roles that are registrations of something other than the dispatcher."""


@dataclass
class Operator:
    """Everything the tree says of one operator."""

    name: str
    definitions: list[Definition] = field(default_factory=list)
    implementations: list[Implementation] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        """The part before `::`."""
        return self.name.partition("::")[0]

    @property
    def definition(self) -> Definition | None:
        """The first definition."""
        return self.definitions[0] if self.definitions else None

    @cached_property
    def schema(self) -> Schema | None:
        """The schema as written, or inferred from a custom_op's annotations.

        None if it cannot be read, or if several definitions (of tests, of platforms) disagree.
        """
        found = [_schema_or_none(d) for d in self.definitions]
        return found[0] if found and all(s == found[0] for s in found) else None

    def schema_of(self, implementation: Implementation) -> Schema | None:
        """Return the schema a kernel was written for: that of the definition before it if several disagree."""
        if self.schema is not None or len(self.definitions) < 2:
            return self.schema
        own = [d for d in self.definitions if d.at.filename == implementation.at.filename]
        before = [d for d in own if d.at.row <= implementation.at.row]
        return _schema_or_none((before or own)[-1]) if own else None

    @property
    def kernels(self) -> list[Implementation]:
        """The implementations that compute: device and composite keys, the default function of a custom_op."""
        return [i for i in self.implementations if i.role == "kernel" and not i.key.startswith("Autocast")]

    def with_role(self, *roles: str) -> list[Implementation]:
        """Return the implementations of these roles; a kernel for an Autograd key counts as autograd."""
        return [i for i in self.implementations if role_of(i) in roles]

    @property
    def keys(self) -> set[str]:
        """Dispatch keys of the kernels; an empty key is CompositeImplicitAutograd."""
        return {i.key or "CompositeImplicitAutograd" for i in self.kernels if role_of(i) == "kernel"}

    @property
    def is_composite(self) -> bool:
        """Whether one kernel serves every device."""
        return bool(self.keys & aten.COMPOSITE_KEYS) or "?" in self.keys

    @property
    def is_implicit(self) -> bool:
        """Whether it decomposes below autograd, so that fake and gradient come for free."""
        return "CompositeImplicitAutograd" in self.keys or "?" in self.keys

    @property
    def is_custom(self) -> bool:
        """Whether it is defined by torch.library.custom_op."""
        return any(d.via == "custom_op" for d in self.definitions)

    @property
    def is_triton(self) -> bool:
        """Whether it is a triton_op, whose fake and autograd behaviour torch derives."""
        return any(d.via == "triton_op" for d in self.definitions)

    def returns_nothing(self) -> bool:
        """Whether it is known to return (); torch makes up the fake of such an operator."""
        if self.schema is not None:
            return not self.schema.returns and not self.schema.is_varret
        inferred = [d.function.returns for d in self.definitions if d.schema is None and d.function is not None]
        return bool(inferred) and all(r == "None" for r in inferred)


def role_of(implementation: Implementation) -> str:
    """Return the role, with kernels for Autograd, Meta and vmap keys counted as what they are."""
    key = implementation.key
    if implementation.role != "kernel":
        return implementation.role
    if key == "Meta":
        return "fake"
    if key.startswith("Autograd"):
        return "autograd"
    if key.startswith("Autocast"):
        return "autocast"
    if key.startswith(("FuncTorch", "Functionalize", "Python", "ADInplace", "BackendSelect", "Conjugate", "Negative")):
        return "other"
    return "kernel"


def _schema_or_none(definition: Definition) -> Schema | None:
    try:
        return read_schema(definition)
    except SchemaError:
        return None


def read_schema(definition: Definition) -> Schema | None:
    """Return the schema of a definition. Raises SchemaError where torch would; None if it is not known."""
    if definition.schema is None:
        if definition.function is not None and definition.via in ("custom_op", "triton_op"):
            return schema_from_function(definition)
        return None
    text = definition.schema
    name = definition.operator.partition("::")[2]
    if text.startswith("\x00"):  # torch.library.define takes the name and the rest apart
        return parse(name + text[1:])
    if definition.via in ("custom_op", "triton_op"):
        return parse(text if "->" in text.partition("(")[2] and not text.startswith("(") else name + text)
    return parse(text)


class Registry:
    """The records of all files, and what is known to be out of sight."""

    def __init__(self, files: Mapping[str, FileFacts]) -> None:
        self.files = dict(files)
        self.operators: dict[str, Operator] = {}
        self.open_definitions: set[str] = set()
        self.open_implementations: set[str] = set()
        self.fallbacks: set[str] = set()
        self.backends: set[str] = set()
        self.dangling: frozenset[str] | None = None
        """The dispatcher's own list of kernels without definition, when it was asked (`check --runtime`)."""
        self.asked: frozenset[str] = frozenset()
        """Namespaces whose operators the dispatcher has told."""
        wild: list[Implementation] = []
        for facts in sorted(self.files.values(), key=lambda f: bool(f.at_runtime)):  # the dispatcher's word comes last
            self.open_definitions |= set(facts.open_definitions)
            self.open_implementations |= set(facts.open_implementations)
            self.fallbacks |= set(facts.fallbacks)
            self.backends |= set(facts.backends)
            if facts.at_runtime:
                self.dangling = (self.dangling or frozenset()) | set(facts.dangling)
                self.asked |= {d.operator.partition("::")[0] for d in facts.definitions}
            for definition in facts.definitions:
                operator = self._operator(definition.operator)
                operator.definitions.append(definition)
                operator.implementations += default_kernels(definition)
            for implementation in facts.implementations:
                if implementation.operator.startswith("*::"):
                    wild.append(implementation)
                elif implementation.role not in LOOKUPS:
                    self._operator(implementation.operator).implementations.append(implementation)
        for facts in self.files.values():
            for call in facts.calls:
                for operator in self.resolve(call.operator):
                    operator.calls.append(call)
        self._wildcards(wild)

    def _operator(self, name: str) -> Operator:
        return self.operators.setdefault(name, Operator(name))

    def _wildcards(self, wild: Iterable[Implementation]) -> None:
        """Give a kernel of a Library that could not be resolved to every operator of that name."""
        for implementation in wild:
            name = implementation.operator.partition("::")[2]
            for operator in self.operators.values():
                if operator.name.partition("::")[2] == name:
                    operator.implementations.append(replace(implementation, function=None))

    def resolve(self, name: str) -> list[Operator]:
        """Return the operators a call can mean: that overload, or every overload of a packet."""
        if name in self.operators:
            return [self.operators[name]]
        return list(self._by_packet.get(name, ()))

    @cached_property
    def _by_packet(self) -> dict[str, list[Operator]]:
        found: dict[str, list[Operator]] = {}
        for operator in self.operators.values():
            packet = operator.name.partition(".")[0]
            if packet != operator.name:
                found.setdefault(packet, []).append(operator)
        return found

    @cached_property
    def namespaces(self) -> frozenset[str]:
        """Namespaces in which the tree defines an operator or opens a definition library."""
        found = {o.namespace for o in self.operators.values() if o.definitions}
        found |= {
            lib.namespace
            for lib in self.libraries()
            if lib.kind in ("DEF", "FRAGMENT", "scoped DEF", "scoped FRAGMENT")
        }
        return frozenset(found)

    @cached_property
    def owned(self) -> frozenset[str]:
        """Namespaces whose DEF library stands in the tree: every definition should be in sight."""
        found = {lib.namespace for lib in self.libraries() if lib.kind in ("DEF", "scoped DEF")}
        return frozenset(found) - frozenset(aten.digest()["namespaces"])

    @cached_property
    def symbolic(self) -> bool:
        """Whether a C++ block takes its namespace from a macro: any namespace may be meant."""
        return any(lib.namespace.startswith("${") for lib in self.libraries())

    def libraries(self) -> Iterator[LibraryObject]:
        """Yield every Library and TORCH_LIBRARY block."""
        for facts in self.files.values():
            yield from facts.libraries

    def problems(self) -> Iterator[Problem]:
        """Yield what files show by themselves."""
        for facts in self.files.values():
            yield from facts.problems

    def swallowed(self) -> Iterator[tuple[FileFacts, Swallow]]:
        """Yield the dropped import failures with their files."""
        for facts in self.files.values():
            for swallow in facts.swallowed:
                yield facts, swallow

    def is_open(self, namespace: str, what: str) -> bool:
        """Whether names of `what` ("definitions", "implementations") are computed at run time in a namespace, and the
        dispatcher was not asked."""
        names = self.open_definitions if what == "definitions" else self.open_implementations
        return namespace in names and namespace not in self.asked

    def any_open(self, namespace: str, what: str) -> bool:
        """Whether names of that namespace, or of one that is computed too, are out of sight."""
        names = self.open_definitions if what == "definitions" else self.open_implementations
        return self.is_open(namespace, what) or ("*" in names and namespace not in self.asked)

    def functions(self, name: str, near: str = "") -> list[Function]:
        """Return the C++ functions of that name: those of file `near` if there are any, else all."""
        own = [f for f in self.files[near].functions if f.name == name] if near in self.files else []
        return own or self._functions.get(name, [])

    @cached_property
    def _functions(self) -> dict[str, list[Function]]:
        found: dict[str, list[Function]] = {}
        for facts in self.files.values():
            for function in facts.functions:
                found.setdefault(function.name, []).append(function)
        return found

    def function_of(self, implementation: Implementation) -> Function | None:
        """Return the kernel's facts when they are in sight and unambiguous (overloads of a C++ name are not)."""
        if implementation.function is not None:
            return implementation.function
        if implementation.language != "c++" or not implementation.function_name:
            return None
        found = self.functions(implementation.function_name, implementation.at.filename)
        return found[0] if len(found) == 1 else None

    def keys(self, operator: Operator) -> set[str]:
        """Return the keys of an operator's kernels; without one in sight, of those that C++ registers for its name in
        a namespace spelled by a macro."""
        return operator.keys or self._symbolic_keys.get(operator.name.partition("::")[2], set())

    @cached_property
    def _symbolic_keys(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for operator in self.operators.values():
            if operator.name.startswith("${"):
                found.setdefault(operator.name.partition("::")[2], set()).update(operator.keys)
        return found

    def takes_tensors(self, operator: Operator, implementation: Implementation) -> bool:
        """Whether an argument is a tensor, by the schema or else the kernel's parameters; True if neither says.

        A call without tensors has no backend to dispatch on.
        """
        if operator.schema is not None:
            return operator.schema.is_vararg or any(a.type.base == "Tensor" for a in operator.schema.arguments)
        function = self.function_of(implementation)
        return function is None or any("Tensor" in (p.annotation or "Tensor") for p in function.parameters)

    def in_one_extension(self, first: str, second: str) -> bool:
        """Whether one list of a build script names both C++ files."""
        one, two = self.files[first].targets, self.files[second].targets
        if set(one) & set(two):
            return True
        a, b = first.replace("\\", "/"), second.replace("\\", "/")
        for path, facts in self.files.items():
            folder = path.replace("\\", "/").rpartition("/")[0]
            prefix = f"{folder}/" if folder else ""
            if facts.extensions and a.startswith(prefix) and b.startswith(prefix):
                inside = a.removeprefix(prefix), b.removeprefix(prefix)
                if any(all(any_matches(names, i) for i in inside) for names in facts.extensions):
                    return True
        return False

    def touches_memory(self, function: Function, near: str, depth: int = 2) -> Event | None:
        """Return the first raw access of a C++ function or of the functions of its own file that it calls."""
        found = function.of_kind("data-pointer", "launch")
        if found:
            return found[0]
        for called in self._called(function, near) if depth else ():
            event = self.touches_memory(called, near, depth - 1)
            if event is not None:
                return event
        return None

    def composes(self, function: Function, near: str, depth: int = 2) -> bool:
        """Whether a C++ function only calls ATen operators, through functions of its own file too."""
        if function.pure or function.of_kind("data-pointer", "launch"):
            return function.pure
        called = {f.name: f for f in self._called(function, near)}
        names = [n for n in function.calls if not n.isupper() and n not in ("assert", "defined")]
        return depth > 0 and all(n in called and self.composes(called[n], near, depth - 1) for n in names)

    def only_composes(self, operator: Operator) -> bool:
        """Whether every kernel in sight only composes ATen operators, whose gradient is then recorded by accident."""
        for implementation in operator.kernels:
            function = self.function_of(implementation)
            if function is None:
                return False
            native = implementation.language == "c++"
            if not (self.composes(function, implementation.at.filename) if native else function.pure):
                return False
        return bool(operator.kernels)

    def _called(self, function: Function, near: str) -> Iterator[Function]:
        for name in function.calls:
            found = self.functions(name, near)
            if len(found) == 1 and found[0] is not function:
                yield found[0]

    @cached_property
    def loads_anything(self) -> bool:
        """Whether the tree loads a library or extension whose operators are not in sight."""
        return any(f.loads for f in self.files.values())


def default_kernels(definition: Definition) -> list[Implementation]:
    """Return the kernels that custom_op and triton_op register for the decorated function."""
    if definition.via not in ("custom_op", "triton_op"):
        return []
    if definition.device_types is None or definition.via == "triton_op":
        keys = ["CompositeExplicitAutograd"]
    else:
        keys = [aten.key_of_device(d) or f"device {d}" for d in definition.device_types]
    name = definition.function.name if definition.function else None
    return [
        Implementation(
            definition.operator,
            definition.at,
            definition.via,
            "python",
            key,
            "kernel",
            definition.function,
            name,
            guard=definition.guard,
            raw="default",
        )
        for key in keys
    ]


def base_type(annotation: str | None) -> str:
    """Return a C++ or Python annotation without const, references and namespaces: `Tensor` for `const
    at::Tensor&`."""
    text = re.sub(r"\b(const|at|torch|c10|std|typing)\b(::|\.)?|[&*]", " ", annotation or "")
    return " ".join(text.split())
