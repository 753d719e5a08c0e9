"""What one file says about operators: JSON-able records that `conclude` puts together into the registry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from kexec_lint.findings import Location


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel. `kind`: positional, keyword (only), var, varkw; `default` as source, None if
    absent."""

    name: str
    kind: str
    annotation: str | None = None
    default: str | None = None
    at: Location | None = None


@dataclass(frozen=True)
class Event:
    """Something a kernel's body does that a rule may care about, at its place.

    `kind` names it ("mutates", "returns", "touches-data"…), `subject` the parameter or operator, `detail` the
    words. `sure` is False when another path or an unknown value could make it harmless.
    """

    kind: str
    at: Location
    subject: str = ""
    detail: str = ""
    sure: bool = True


@dataclass(frozen=True)
class Function:
    """A kernel's signature and the events of its body. `opaque`: wrapped by an unknown decorator or partial.

    `pure`: it only composes operators of torch, so autograd and fake tensors work through it.
    """

    name: str
    at: Location
    parameters: tuple[Parameter, ...] = ()
    returns: str | None = None
    events: tuple[Event, ...] = ()
    opaque: bool = False
    pure: bool = False
    calls: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def of_kind(self, *kinds: str) -> tuple[Event, ...]:
        """Return the events of these kinds in source order."""
        return tuple(event for event in self.events if event.kind in kinds)


@dataclass(frozen=True)
class Definition:
    """An operator defined with a schema (`schema` None: inferred from the function's annotations).

    `via` is the API: Library.define, custom_op, triton_op, m.def, …; `fragment`: the namespace has another owner.
    """

    operator: str
    at: Location
    via: str
    language: str
    schema: str | None = None
    fragment: bool = False
    function: Function | None = None
    mutates: tuple[str, ...] | None = None
    device_types: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    guard: tuple[str, ...] = ()


@dataclass(frozen=True)
class Implementation:
    """A kernel given to the dispatcher for `key`; `role`: kernel, fake, autograd, autocast, vmap, dispatch.

    `key` is a dispatch key's name; empty when none was written. A name of "*" stands for names not resolved.
    """

    operator: str
    at: Location
    via: str
    language: str
    key: str
    role: str = "kernel"
    function: Function | None = None
    function_name: str | None = None
    keyset: bool = False
    fallthrough: bool = False
    guard: tuple[str, ...] = ()
    raw: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Call:
    """A call of an operator. `devices` are those that tensors among its arguments provably have."""

    operator: str
    at: Location
    scope: str = ""
    devices: tuple[str, ...] = ()
    grad: bool = False
    guarded: bool = False
    compiled: bool = False
    after_import: bool = False


@dataclass(frozen=True)
class LibraryObject:
    """A `Library(...)` in Python or a TORCH_LIBRARY block in C++. `dies`: why it does not live on, or empty."""

    namespace: str
    kind: str
    at: Location
    language: str
    key: str = ""
    scope: str = ""
    dies: str = ""
    guard: tuple[str, ...] = ()
    at_end: Location | None = None


@dataclass(frozen=True)
class Swallow:
    """A `try` that loads an extension whose failure the handler drops.

    `modules`: what is imported or loaded; `asked`: the file asks `hasattr(torch.ops…)` somewhere.
    """

    at: Location
    modules: tuple[str, ...]
    handler: Location
    asked: bool = False


@dataclass(frozen=True)
class Problem:
    """A finding that the file alone shows: everything but the page's own fields."""

    code: str
    at: Location
    message: str
    help: str | None = None
    confidence: str = "certain"


@dataclass(frozen=True)
class FileFacts:
    """All records of one file.

    `open_definitions`, `open_implementations`: namespaces ("*" for any) in which names are computed at run time.
    `loads`: libraries and extension modules it loads; `external`: imports that are not in the tree.
    `functions`: C++ functions that take tensors, by name. `extensions`: of a build script, the paths and glob
    patterns that one extension is compiled from; `targets`: of a C++ file, the lists of a CMakeLists.txt that name it.
    """

    definitions: tuple[Definition, ...] = ()
    implementations: tuple[Implementation, ...] = ()
    calls: tuple[Call, ...] = ()
    libraries: tuple[LibraryObject, ...] = ()
    problems: tuple[Problem, ...] = ()
    functions: tuple[Function, ...] = ()
    open_definitions: tuple[str, ...] = ()
    open_implementations: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    external: tuple[str, ...] = ()
    swallowed: tuple[Swallow, ...] = ()
    executorch: bool = False
    fallbacks: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    is_test: bool = False
    dangling: tuple[str, ...] = ()
    at_runtime: tuple[str, ...] = ()
    """Set for the pseudo-file that `check --runtime` adds: the modules imported; `dangling` is the
    dispatcher's list."""
    extensions: tuple[tuple[str, ...], ...] = ()
    targets: tuple[str, ...] = ()


_NESTED: dict[str, Any] = {
    "definitions": Definition,
    "implementations": Implementation,
    "calls": Call,
    "libraries": LibraryObject,
    "problems": Problem,
    "functions": Function,
    "parameters": Parameter,
    "events": Event,
    "function": Function,
    "swallowed": Swallow,
    "handler": Location,
    "at": Location,
    "at_end": Location,
}
_RECORDS = frozenset(_NESTED.values())


def any_matches(patterns: Iterable[str], path: str) -> bool:
    """Whether a path is one of these or fits one of these globs; `*` stays within a folder, `**/` does not."""
    return any(path == p or ("*" in p and re.fullmatch(_regex(p), path)) for p in patterns)


def _regex(pattern: str) -> str:
    text = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    return text.replace(r"\?", "[^/]")


def to_json(facts: FileFacts) -> dict[str, Any]:
    """Return the records as JSON types, without what is as it is by default."""
    return {name: _plain(value) for name, _ in _fields(FileFacts) if (value := getattr(facts, name))}


def _plain(value: Any) -> Any:
    if value.__class__ is tuple:
        return [_plain(item) for item in value]
    if value.__class__ not in _RECORDS:
        return value
    pairs = [(name, getattr(value, name), default) for name, default in _fields(value.__class__)]
    return {name: _plain(item) for name, item, default in pairs if item is not default}


def from_json(data: Mapping[str, Any]) -> FileFacts:
    """Return the records of `to_json`, whether or not they went through JSON text."""
    facts = _load(FileFacts, data)
    assert isinstance(facts, FileFacts)
    return facts


def _load(kind: Any, data: Mapping[str, Any]) -> Any:
    return kind(**{name: _value(name, data[name]) for name, _ in _fields(kind) if name in data})


def _value(name: str, value: Any) -> Any:
    if value.__class__ is dict:
        return _load(_NESTED[name], value)
    if value.__class__ is list or value.__class__ is tuple:
        return tuple([_value(name, item) for item in value])
    return value


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return name and default of each field of a record; without one, what no value is."""
    return tuple((each.name, each.default) for each in fields(kind))


@dataclass
class FileBuilder:
    """The records of a file while it is read."""

    definitions: list[Definition] = field(default_factory=list)
    implementations: list[Implementation] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    libraries: list[LibraryObject] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    open_definitions: set[str] = field(default_factory=set)
    open_implementations: set[str] = field(default_factory=set)
    loads: list[str] = field(default_factory=list)
    external: list[str] = field(default_factory=list)
    swallowed: list[Swallow] = field(default_factory=list)
    fallbacks: list[str] = field(default_factory=list)
    backends: list[str] = field(default_factory=list)
    executorch: bool = False
    extensions: list[tuple[str, ...]] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)

    def build(self, is_test: bool = False) -> FileFacts:
        """Return the frozen records."""
        return FileFacts(
            tuple(self.definitions),
            tuple(self.implementations),
            tuple(self.calls),
            tuple(self.libraries),
            tuple(self.problems),
            tuple(self.functions),
            tuple(sorted(self.open_definitions)),
            tuple(sorted(self.open_implementations)),
            tuple(self.loads),
            tuple(self.external),
            tuple(self.swallowed),
            self.executorch,
            tuple(self.fallbacks),
            tuple(self.backends),
            is_test,
            extensions=tuple(self.extensions),
            targets=tuple(self.targets),
        )
