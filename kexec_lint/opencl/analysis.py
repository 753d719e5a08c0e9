"""From a source file to its enqueue graphs: one graph for each entry point (module, function, method)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from kexec_lint.opencl import NATIVE
from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api.model import user_models
from kexec_lint.opencl.frontend import SyntaxProblem
from kexec_lint.opencl.interpreter import afterwards, calls, objects, statements
from kexec_lint.opencl.interpreter.machine import Exhausted, Machine
from kexec_lint.opencl.interpreter.modules import Loader, ModuleScope
from kexec_lint.opencl.interpreter.values import (
    ClassValue,
    Frame,
    FunctionValue,
    Object,
    Phi,
    TupleValue,
    Unknown,
)
from kexec_lint.source import Options, Project, Source

CONSTRUCTOR = 3_000
"""Evaluated nodes that a constructor may take beyond what other code may without enqueueing anything."""


@dataclass
class Analysis:
    """The graphs of a file, the kernel sources that it builds, and one-line notes."""

    graphs: list[g.EnqueueGraph] = field(default_factory=list)
    kernel_texts: dict[str, g.Site] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def analyse(source: Source, project: Project, options: Options) -> Analysis:
    """Build the enqueue graphs of a Python file. Raises SyntaxProblem, ModelError."""
    loader = Loader(project, lowered)
    scope = ModuleScope(source.path, lowered(source), loader, source.text)
    loader.keep(source.path, scope)
    machine = Machine(loader, options, user_models(options.models))
    analysis = Analysis(notes=list(scope.module.notes))
    _run_module(machine, scope, analysis)
    scope.complete = True
    entries = list(_entry_points(machine, scope))
    for function in reversed(entries) if scope.native else entries:  # C defines what is called before its callers
        if id(function.node) not in machine.entered or options.assume_out_of_order:
            _run_function(machine, function, analysis)
    analysis.kernel_texts = machine.kernel_texts
    return analysis


@lru_cache(maxsize=256)
def lowered(source: Source) -> p.Module:
    """Return the host program of a file; imports bring up the same files again and again."""
    if source.suffix in NATIVE:
        from kexec_lint.opencl.frontend.c import lower as lower_native

        return lower_native(source)
    from kexec_lint.opencl.frontend.python import lower

    return lower(source)


def _run_module(m: Machine, scope: ModuleScope, analysis: Analysis) -> None:
    """Execute the top level. Its objects stay for the functions; its commands form a graph of their own."""
    m.begin("<module>")
    _reset(m)
    m.frames.append(scope.frame)
    m.exits.append([])
    try:
        statements.execute_block(m, scope.module.body)
        afterwards.conclude_module(m, scope)
    except (Exhausted, RecursionError):
        m.graph.truncated = True
    m.heap = type(m.heap)()
    if m.graph.worth_judging:
        analysis.graphs.append(m.graph)


def _reset(m: Machine) -> None:
    m.frames, m.places, m.exits, m.stack, m.scratch = [], [], [], [], 0


def _entry_points(m: Machine, scope: ModuleScope) -> Iterator[FunctionValue]:
    """Yield the functions and methods of the module whose body may enqueue or touch what is enqueued."""
    for value in list(scope.frame.variables.values()):
        if isinstance(value, FunctionValue) and value.scope is scope and isinstance(value.node, p.Function):
            if scope.relevance.matters(value.node):
                yield value
        elif isinstance(value, ClassValue) and value.scope is scope:
            yield from _methods(m, value)


def _methods(m: Machine, cls: ClassValue) -> Iterator[FunctionValue]:
    for method in cls.methods.values():
        if not cls.scope.relevance.matters(method):
            continue
        if objects.decorated(method, "staticmethod"):
            yield FunctionValue(method, cls.scope, cls.closure, None, cls)
        elif objects.decorated(method, "classmethod"):
            yield FunctionValue(method, cls.scope, cls.closure, cls, cls)
        elif method.params:
            yield FunctionValue(method, cls.scope, cls.closure, instance_of(m, cls), cls)
    for inner in cls.variables.values():
        if isinstance(inner, ClassValue) and inner is not cls and inner.scope is cls.scope:
            yield from _methods(m, inner)


def instance_of(m: Machine, cls: ClassValue) -> Object:
    """Return the instance on which the methods of a class are analysed: its constructor ran on unknown values."""
    if id(cls) in m.instances:
        return m.instances[id(cls)]
    _reset(m)
    m.begin(f"{cls.node.name}.__init__")
    m.frames.append(cls.scope.frame)
    m.exits.append([])
    instance = Object("instance", cls=cls, name=cls.node.name)
    m.instances[id(cls)] = instance
    found = cls.lookup("__init__")
    if found is None:
        return instance
    method, owner = found
    m.scratch += 1
    m.idle = -CONSTRUCTOR
    try:
        function = FunctionValue(method, owner.scope, owner.closure, instance, owner)
        calls.enter(m, function, calls.Arguments([], {}, open=False), method.span)
    except (Exhausted, RecursionError):
        pass
    finally:
        _reset(m)
    _remember_events(instance)
    for name in [name for name, value in instance.state.items() if objects.is_switch(value)]:
        del instance.state[name]  # another method, or the owner of the object, may have set it since
    return instance


def _remember_events(instance: Object) -> None:
    """What the constructor enqueued is long done; but earlier calls may have left events with the object's Arrays."""
    seen: set[int] = set()
    pending: list[object] = [instance]
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        match value:
            case Object(kind="array"):
                events = value.state.get("event_list")
                if isinstance(events, Object):
                    events.state["items"] = (objects.pending_before(value),)
            case Object():
                pending.extend(value.state.values())
            case tuple():
                pending.extend(value)
            case TupleValue(items=items):
                pending.extend(items)
            case Phi():
                pending.extend(option for _, option in value.options)


def _run_function(m: Machine, function: FunctionValue, analysis: Analysis) -> None:
    """Analyse one function with unknown arguments; what it changes is taken back afterwards."""
    node = function.node
    assert isinstance(node, p.Function)
    _reset(m)
    m.begin(node.name)
    m.frames.append(function.scope.frame)
    m.exits.append([])
    m.serial += 1
    mark = m.heap.mark()
    frame = Frame(m.serial, function.scope, node.name, parent=function.closure, owner=function.owner)
    frame.types.update((param.name, param.type) for param in node.params if param.type is not None)
    for number, param in enumerate(node.params):
        if number == 0 and function.bound is not None:
            frame.variables[param.name] = function.bound
            frame.receiver = function.bound
        elif param.star == 1:
            rest = m.list_of([Unknown(("spread", Unknown(("param", frame.number, param.name))))])
            rest.state["open"] = True
            frame.variables[param.name] = rest
        elif param.star == 2:
            frame.variables[param.name] = Object("dict", {"open": True})
        else:
            frame.variables[param.name] = Unknown(("param", frame.number, param.name))
    m.frames.pop()
    try:
        result = calls.run_frame(m, frame, node, node.span)
        afterwards.conclude(m, frame, result)
    except (Exhausted, RecursionError):
        m.graph.truncated = True
    except SyntaxProblem as problem:
        analysis.notes.append(str(problem))
    finally:
        m.heap.take_back(mark)
    if m.graph.worth_judging:
        analysis.graphs.append(m.graph)
