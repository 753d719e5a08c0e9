"""Modules of the scanned tree as the interpreter sees them: loaded once, evaluated name by name on demand."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from kexec_lint.opencl import NATIVE, program
from kexec_lint.opencl.interpreter.relevance import Relevance
from kexec_lint.opencl.interpreter.values import (
    AbstractValue,
    External,
    Frame,
    FunctionValue,
    Imported,
    Known,
    ModuleValue,
    Phi,
    Unknown,
)
from kexec_lint.source import NativeProject, Project, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from kexec_lint.opencl.interpreter.machine import Flow, Machine

ALWAYS_EXTERNAL = frozenset({"pyopencl", "numpy", "os", "sys", "time", "math", "threading", "logging", "builtins"})
"""Packages whose meaning comes from the API tables, or that hold no host code, even when scanned from within."""

BUILTINS = frozenset(dir(builtins))
_HEADERS = 60
"""Headers that are looked at for one file of C or C++."""
_SMALL_HEADER = 20_000
"""Characters of a header that is read although it names no call that orders commands: constants, macros, classes."""


@dataclass(eq=False)
class ModuleScope:
    """A module: its lowered source, its variables, and which statements bind which name."""

    path: str
    module: program.Module
    loader: Loader
    text: str = ""
    frame: Frame = field(init=False)
    bindings: Mapping[str, list[program.Statement]] = field(init=False)
    stars: list[program.Import] = field(init=False)
    busy: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    """Names that neither the file nor what it includes, or imports all names of, defines."""
    complete: bool = False
    elsewhere: dict[str, FunctionValue | None] = field(default_factory=dict)
    """Functions that files next to its headers define, None for names that none of them has (C and C++)."""
    headers: list[str] | None = None
    included: frozenset[str] | None = None
    """What the headers of a file define, directly included or not (C and C++)."""
    native: bool = field(init=False)
    """Whether the module is C or C++."""
    dialect: Any = field(init=False)
    """What executes the statements that C and C++ have of their own; None for Python."""
    executors: Mapping[type[program.Statement], Callable[[Machine, Any], Flow]] = field(init=False)
    """What executes each kind of statement."""
    evaluators: Mapping[type[program.Value], Callable[[Machine, Any], AbstractValue]] = field(init=False)
    """What evaluates each kind of value."""

    @cached_property
    def relevance(self) -> Relevance:
        """Which of its functions can matter to the enqueue graph."""
        if self.native:
            from kexec_lint.opencl.interpreter.native.relevance import Relevance as NativeRelevance

            others = self.loader.beside(self)
            foreign = frozenset(name for other in others for name in other.relevant_names) if others else frozenset()
            return NativeRelevance(self.text, self.module, foreign)  # type: ignore[return-value]
        return _relevance(self.text, self.module)

    @cached_property
    def relevant_names(self) -> frozenset[str]:
        """Functions, and classes with methods, that matter by what this file alone says (C and C++)."""
        from kexec_lint.opencl.interpreter.native.relevance import local

        return local(self.text, self.module).names

    @cached_property
    def opens_cl(self) -> bool:
        """Whether a C++ file uses the names of the namespace `cl` without it."""
        return "using namespace cl" in self.text

    def __post_init__(self) -> None:
        from kexec_lint.opencl.interpreter import expressions, statements

        self.native = self.module.language != "python"
        self.dialect, self.executors, self.evaluators = None, statements.EXECUTORS, expressions.EVALUATORS
        if self.native:
            from kexec_lint.opencl.interpreter.native import evaluating, executing

            self.dialect, self.executors, self.evaluators = executing, executing.EXECUTORS, evaluating.EVALUATORS
        self.frame = Frame(0, self, "")
        self.frame.variables["__file__"] = Known(self.path)
        self.frame.variables["__name__"] = Known("__main__")
        self.bindings, self.stars = _bindings(self.module)

    def defined(self, name: str, machine: Machine) -> AbstractValue | None:
        """Return the value of a name for a file that includes this one."""
        busy = name in self.busy
        self.busy.discard(name)
        try:
            return self.lookup(name, machine)
        finally:
            if busy:
                self.busy.add(name)

    def lookup(self, name: str, machine: Machine) -> AbstractValue | None:
        """Return the value of a module-level name, evaluating the statements that bind it if need be."""
        if name in self.frame.variables:
            return self.loader.bound(self.frame.variables, name, machine)
        if not self.complete and name in self.bindings and name not in self.busy:
            from kexec_lint.opencl.interpreter.statements import run_in_module

            self.busy.add(name)
            try:
                run_in_module(machine, self, self.bindings[name])
            finally:
                self.busy.discard(name)
            if name in self.frame.variables:
                return self.loader.bound(self.frame.variables, name, machine)
        if self.native and name not in self.loader.included_names(self):
            return None
        if name not in self.absent:
            for star in self.stars:
                found = self.loader.star(star, self.path, name, machine)
                if found is not None:
                    return found
            if not self.busy:
                self.absent.add(name)
        return External(f"builtins.{name}") if name in BUILTINS and not self.native else None


def _relevance(text: str, module: program.Module) -> Relevance:
    if "relevance" not in module.memo:
        module.memo["relevance"] = Relevance(text, module.body)
    return cast(Relevance, module.memo["relevance"])


def _bindings(module: program.Module) -> _Bindings:
    if "bindings" not in module.memo:
        module.memo["bindings"] = _bound(module)
    return cast("_Bindings", module.memo["bindings"])


_Bindings: TypeAlias = tuple[dict[str, list[program.Statement]], list[program.Import]]


def _bound(module: program.Module) -> _Bindings:
    """Return the statements that bind each name of a module, and its imports of all names of another."""
    bindings: dict[str, list[program.Statement]] = {}
    stars: list[program.Import] = []
    for statement in module.body:
        for name in bound_names(statement):
            if name == "*":
                stars.extend(s for s in _imports(statement) if s.names and s.names[0][0] == "*")
            bindings.setdefault(name, []).append(statement)
    return bindings, stars


class Loader:
    """Finds and lowers modules; keeps them for the time of one scan."""

    def __init__(self, project: Project, lower: Callable[..., program.Module]) -> None:
        self._project = project
        self._native = project if isinstance(project, NativeProject) else None
        self._lower = lower
        self._scopes: dict[str, ModuleScope | None] = {}
        self._modules: dict[tuple[str, int, str], AbstractValue] = {}
        self._headers: dict[tuple[str, str], ModuleScope | None] = {}
        self._included_files: dict[tuple[str, str], Source | None] = {}
        self._counterparts: dict[str, ModuleScope | None] = {}

    def keep(self, path: str, scope: ModuleScope) -> None:
        """Remember the scope of a module that was loaded by hand."""
        self._scopes[path] = scope

    def lowered(self, source: Source) -> program.Module:
        """Return the host program of a source; one in C or C++ with what it includes. Raises SyntaxProblem."""
        if self._native is None or source.suffix not in NATIVE:
            return self._lower(source)
        from kexec_lint.opencl.frontend.c import outline

        found: dict[str, Source] = {}
        pending = [(name, source.path) for name in reversed(outline(source).includes)]
        while pending and len(found) < _HEADERS:
            name, importer = pending.pop()
            header = self.header(name, importer)
            if header is not None and header.path not in found and header.path != source.path:
                found[header.path] = header
                pending.extend((inner, header.path) for inner in reversed(outline(header).includes))
        return self._lower(source, tuple(found.values()), self._native.flags(source.path))

    def header(self, name: str, importer: str) -> Source | None:
        """Return the file that an `#include` means, if it is worth reading."""
        key = name, importer
        if key not in self._included_files:
            self._included_files[key] = self._header(name, importer)
        return self._included_files[key]

    def _header(self, name: str, importer: str) -> Source | None:
        if self._native is None:
            return None if name.startswith("<") else self._project.read(name, importer)
        source = self._native.include(name, importer)
        if source is None or source.suffix not in NATIVE:
            return None
        return source if len(source.text) < _SMALL_HEADER or _holds_host_code(source) else None

    def counterpart(self, header: str) -> ModuleScope | None:
        """Return the scope of the file with the definitions of what a header declares, if it holds host code."""
        if header not in self._counterparts:
            source = self._native.counterpart(header) if self._native is not None else None
            worth = source is not None and source.path != header and _holds_host_code(source)
            self._counterparts[header] = self.load(source) if source is not None and worth else None
        return self._counterparts[header]

    def elsewhere(self, scope: ModuleScope, name: str, machine: Machine) -> FunctionValue | None:
        """Return the function of a name that a file next to an included header defines, None if none does."""
        if name not in scope.elsewhere:
            scope.elsewhere[name] = None
            for header in self._headers_of(scope):
                other = self.counterpart(header)
                found = other.frame.variables.get(name) if other is not None and other is not scope else None
                if other is not None and other is not scope and found is None and name in other.bindings:
                    found = other.lookup(name, machine)
                if isinstance(found, FunctionValue) and found.scope is other and not _is_static(found.node):
                    scope.elsewhere[name] = found
                    break
        return scope.elsewhere[name]

    def beside(self, scope: ModuleScope) -> list[ModuleScope]:
        """Return the headers of a file that hold host code, and the files with their definitions."""
        headers = [self._scopes.get(path) for path in self._headers_of(scope)]
        others = [*headers, *(self.counterpart(path) for path in self._headers_of(scope))]
        return [other for other in others if other is not None and other is not scope]

    def included_names(self, scope: ModuleScope) -> frozenset[str]:
        """Return the names that the headers of a file define: most names are in none of them."""
        if scope.included is None:
            scope.included = frozenset()  # headers may include one another
            headers = (self._scopes.get(path) for path in self._headers_of(scope))
            scope.included = frozenset(name for header in headers if header is not None for name in header.bindings)
        return scope.included

    def _headers_of(self, scope: ModuleScope) -> list[str]:
        """Return the paths of all headers that a file includes, directly or not."""
        if scope.headers is None:
            found: dict[str, None] = {}
            pending = [scope]
            while pending and len(found) < _HEADERS:
                including = pending.pop()
                for star in including.stars:
                    inner = self._include(star.module, including.path)
                    if inner is not None and inner.path not in found:
                        found[inner.path] = None
                        pending.append(inner)
            scope.headers = list(found)
        return scope.headers

    def load(self, source: Source, header: bool = False) -> ModuleScope | None:
        """Return the scope of a source file, None if it is no valid source. A header is taken as it stands."""
        if source.path not in self._scopes:
            try:
                module = self._lower(source) if header else self.lowered(source)
            except ValueError:
                self._scopes[source.path] = None
            else:
                self._scopes[source.path] = ModuleScope(source.path, module, self, source.text)
        return self._scopes[source.path]

    def module(self, name: str, level: int, importer: str) -> AbstractValue:
        """Return a module by import: one of the tree, or External."""
        asked = name, level, importer
        found = self._modules.get(asked)
        if found is None:
            found = self._modules[asked] = self._module(*asked)
        return found

    def _module(self, name: str, level: int, importer: str) -> AbstractValue:
        if not level and name.partition(".")[0] in ALWAYS_EXTERNAL:
            return External(name)
        source = self._project.module(name, level, importer)
        scope = self.load(source) if source is not None else None
        return ModuleValue(scope) if scope is not None else External("." * level + name)

    def bound(self, variables: dict[str, AbstractValue], name: str, machine: Machine) -> AbstractValue:
        """Return a variable; an imported one is looked for now and stays found."""
        value = variables[name]
        if isinstance(value, Imported):
            value = variables[name] = self._found(value, machine)
        elif isinstance(value, Phi) and any(isinstance(option, Imported) for _, option in value.options):
            # One module imported on several paths is one module.
            value = variables[name] = machine.merge(
                [(guard, self._found(o, machine) if isinstance(o, Imported) else o) for guard, o in value.options]
            )
        return value

    def _found(self, value: Imported, machine: Machine) -> AbstractValue:
        if value.member is None:
            return self.module(value.module, value.level, value.importer)
        return self.member(value.module, value.level, value.importer, value.member, machine)

    def member(self, name: str, level: int, importer: str, member: str, machine: Machine) -> AbstractValue:
        """Return what `from name import member` binds."""
        origin = self.module(name, level, importer)
        if isinstance(origin, ModuleValue):
            if origin.scope.path != importer:
                found = origin.scope.lookup(member, machine)
                if found is not None and not _is_builtin(found):
                    return found
            inner = self.module(f"{name}.{member}" if name else member, level, importer)
            if member == "pyopencl" and not isinstance(inner, ModuleValue):
                return External(member)  # handed on by the `__getattr__` of the module
            return inner if isinstance(inner, ModuleValue) else Unknown(("import", origin.scope.path, member))
        assert isinstance(origin, External)
        if not name:
            inner = self.module(member, level, importer)
            if isinstance(inner, ModuleValue):
                return inner
        return External(f"{origin.dotted}.{member}" if name else f"{origin.dotted}{member}")

    def star(self, statement: program.Import, importer: str, name: str, machine: Machine) -> AbstractValue | None:
        """Return what a star import binds for one name, None if it binds none (or cannot be known to)."""
        including = self._scopes.get(importer)
        if including is not None and including.native:
            return self._included(statement.module, importer, name, machine)
        origin = self.module(statement.module, statement.level, importer)
        if isinstance(origin, ModuleValue):
            if origin.scope.path == importer or name.startswith("_"):
                return None
            found = origin.scope.lookup(name, machine)
            return None if found is None or _is_builtin(found) else found
        from kexec_lint.opencl.api import pyopencl

        assert isinstance(origin, External)
        below = origin.dotted.removeprefix("pyopencl").lstrip(".")
        inside = f"{below}.{name}" if below else name
        known = origin.dotted.startswith("pyopencl") and (inside in pyopencl.FUNCTIONS or name == "mem_flags")
        return External(f"{origin.dotted}.{name}") if known else None

    def _included(self, header: str, importer: str, name: str, machine: Machine) -> AbstractValue | None:
        """Return what an included file of the tree defines by a name; `header` as written."""
        scope = self._include(header, importer)
        if scope is None or scope.path == importer or name in scope.busy:
            return None
        scope.busy.add(name)  # headers may include one another
        try:
            return scope.defined(name, machine)
        finally:
            scope.busy.discard(name)

    def _include(self, header: str, importer: str) -> ModuleScope | None:
        if (importer, header) not in self._headers:
            source = self.header(header, importer)
            self._headers[importer, header] = self.load(source, header=True) if source is not None else None
        return self._headers[importer, header]

    def text(self, path: str, relative_to: str) -> str | None:
        """Return the text of a file named by the source, None if it is not there."""
        found = self._project.read(path, relative_to)
        return found.text if found is not None else None

    def included_text(self, path: str, importer: str) -> str | None:
        """Return the text of a file that the source includes as a value, None if it is not there."""
        found = self._native.include(path, importer) if self._native is not None else None
        return found.text if found is not None else self.text(path, importer)


@lru_cache(maxsize=2048)
def _holds_host_code(source: Source) -> bool:
    from kexec_lint.opencl.api.native import holds_host_code

    return holds_host_code(source.text)


def _is_static(node: program.Function | program.Lambda) -> bool:
    marks = node.decorators if isinstance(node, program.Function) else ()
    return any(isinstance(mark, program.Name) and mark.id == "staticmethod" for mark in marks)


def _is_builtin(value: AbstractValue) -> bool:
    return isinstance(value, External) and value.dotted.startswith("builtins.")


def _imports(statement: program.Statement) -> Iterator[program.Import]:
    """Yield the import statements inside a top-level statement."""
    match statement:
        case program.Import():
            yield statement
        case program.If(then=then, orelse=orelse):
            for part in (*then, *orelse):
                yield from _imports(part)
        case program.Try(body=body, handlers=handlers, orelse=orelse, final=final):
            for part in (*body, *(s for _, _, block in handlers for s in block), *orelse, *final):
                yield from _imports(part)


def bound_names(statement: program.Statement) -> Iterator[str]:
    """Yield the names that a statement binds in its scope ("*" for a star import)."""
    match statement:
        case program.Assign(targets=targets):
            for target in targets:
                yield from _target_names(target)
        case program.AugAssign(target=target):
            yield from _target_names(target)
        case program.Evaluate(value=program.Call(func=program.Attr(base=program.Name(id=name)))):
            yield name  # a method call may fill what the name holds
        case program.Function(name=name) | program.Class(name=name):
            yield name
        case program.Import(module=module, names=names):
            for name, alias in names:
                yield alias or name or module.partition(".")[0]
        case program.If(then=then, orelse=orelse):
            for part in (*then, *orelse):
                yield from bound_names(part)
        case program.Try(body=body, handlers=handlers, orelse=orelse, final=final):
            for part in (*body, *(s for _, _, block in handlers for s in block), *orelse, *final):
                yield from bound_names(part)
        case program.With(items=items, body=body):
            for _, bound in items:
                if bound is not None:
                    yield from _target_names(bound)
            for part in body:
                yield from bound_names(part)
        case program.Loop(target=variable, body=body):
            if variable is not None:
                yield from _target_names(variable)
            for part in body:
                yield from bound_names(part)


def _target_names(target: program.Value) -> Iterator[str]:
    match target:
        case program.Name(id=name):
            yield name
        case program.Seq(items=items):
            for item in items:
                yield from _target_names(item)
        case program.Star(value=value):
            yield from _target_names(value)
        case program.Attr(base=base) | program.Item(base=base):
            yield from _target_names(base)
