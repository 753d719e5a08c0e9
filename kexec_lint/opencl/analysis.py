"""From a source file to its enqueue graphs: one graph for each entry point (module, function, method)."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kexec_lint.opencl import NATIVE
from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api.model import user_models
from kexec_lint.opencl.frontend import SyntaxProblem
from kexec_lint.opencl.interpreter import afterwards, calls, commands, objects, statements
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
from kexec_lint.source import Flags, Options, Project, Source

MODULE = 500
"""Evaluated nodes that the top level of a module may take beyond what other code may without enqueueing anything."""
CONSTRUCTOR = 3_000
"""Evaluated nodes that a constructor may take beyond what other code may without enqueueing anything."""


class Entry(NamedTuple):
    """An entry point: its name, its graph if that is worth judging, and the places of all functions that ran for it."""

    name: str
    graph: g.EnqueueGraph | None
    ran: frozenset[p.Span]


@dataclass
class Analysis:
    """The graphs of a file, the kernel sources that it builds, and one-line notes.

    `entries` are all entry points by their number in the file; those that were left out have no graph. `shared` are
    the places of the functions that ran for all of them: constructors.
    """

    entries: list[Entry] = field(default_factory=list)
    shared: frozenset[p.Span] = frozenset()
    kernel_texts: dict[str, g.Site] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def graphs(self) -> list[g.EnqueueGraph]:
        """The graphs that are worth judging."""
        return [entry.graph for entry in self.entries if entry.graph is not None]


def analyse(source: Source, project: Project, options: Options, only: frozenset[int] | None = None) -> Analysis:
    """Build the enqueue graphs of a file, or those of `only` some of its entry points.

    Raises SyntaxProblem, ModelError.
    """
    loader = Loader(project, lowered if only is None else lambda s, *more: _lowered(s is not source, s, *more))
    scope = ModuleScope(source.path, loader.lowered(source), loader, source.text)
    loader.keep(source.path, scope)
    machine = Machine(loader, options, user_models(options.models), in_c=scope.native)
    analysis = Analysis(notes=list(scope.module.notes))
    graph = _run_module(machine, scope)
    analysis.entries.append(Entry("<module>", graph, frozenset(machine.ran)))
    scope.complete = True
    machine.ran = set()
    entries = list(_entry_points(machine, scope, only))
    analysis.shared = frozenset(machine.ran)
    # C defines what is called before its callers.
    for node, function in reversed(entries) if scope.native else entries:
        graph, ran = None, frozenset[p.Span]()
        known = machine.followed if function is not None and _private(function) else machine.entered
        if function is not None and (only or id(node) not in known or options.assume_out_of_order):
            machine.ran = set()
            graph = _run_function(machine, function, analysis)
            ran = frozenset(machine.ran)
        analysis.entries.append(Entry(node.name, graph, ran))
    analysis.kernel_texts = machine.kernel_texts
    return analysis


_Arguments = tuple[Source, tuple[Source, ...], Flags | None]
_LOWERED: OrderedDict[str, tuple[_Arguments, p.Module]] = OrderedDict()
_KEPT = 1_000_000
"""Characters of source whose host programs are kept; one takes some sixty times its source."""
_lowered_size = 0
"""At most so many characters are kept now."""


def lowered(source: Source, headers: tuple[Source, ...] = (), flags: Flags | None = None) -> p.Module:
    """Return the host program of a file; imports bring up the same files again and again.

    Of each path the last text is kept: an editor brings a new one with every key.
    """
    global _lowered_size
    arguments = source, headers, flags
    known = _LOWERED.pop(source.path, None)
    if known is not None and known[0] == arguments:
        _LOWERED[source.path] = known
        return known[1]
    module = _lower(*arguments)
    _LOWERED[source.path] = arguments, module
    _lowered_size += len(source.text)
    if _lowered_size > _KEPT:  # a tenth is made room for, so that they are seldom counted
        _lowered_size = sum(len(kept[0].text) for kept, _ in _LOWERED.values())
        while _lowered_size > _KEPT * 9 // 10 and len(_LOWERED) > 1:
            _, (oldest, _) = _LOWERED.popitem(last=False)
            _lowered_size -= len(oldest[0].text)
    return module


def _lower(source: Source, headers: tuple[Source, ...] = (), flags: Flags | None = None) -> p.Module:
    if source.suffix in NATIVE:
        from kexec_lint.opencl.frontend.c import lower as lower_native

        return lower_native(source, headers, flags)
    from kexec_lint.opencl.frontend.python import lower

    return lower(source)


def _lowered(keep: bool, source: Source, *more: Any) -> p.Module:
    """Return the host program of a file; the text of a trial is not kept."""
    return lowered(source, *more) if keep else _lower(source, *more)


def _run_module(m: Machine, scope: ModuleScope) -> g.EnqueueGraph | None:
    """Execute the top level. Its objects stay for the functions; its commands form a graph of their own."""
    m.begin("<module>")
    m.allow(MODULE)
    _reset(m)
    m.frames.append(scope.frame)
    m.exits.append([])
    try:
        statements.execute_block(m, scope.module.body)
        afterwards.conclude_module(m, scope)
    except (Exhausted, RecursionError):
        m.graph.truncated = True
        if not scope.native:
            _define_rest(m, scope)
    m.heap = type(m.heap)()
    return m.graph if m.graph.worth_judging else None


def _define_rest(m: Machine, scope: ModuleScope) -> None:
    """Define the functions and classes below the place where the budget for the top level was spent."""
    for statement in scope.module.body:
        if isinstance(statement, p.Function | p.Class) and statement.name not in scope.frame.variables:
            _reset(m)
            m.frames.append(scope.frame)
            m.exits.append([])
            m.allow()
            try:
                statements.execute(m, statement)
            except (Exhausted, RecursionError):
                continue


def _reset(m: Machine) -> None:
    m.frames, m.places, m.exits, m.stack, m.scratch = [], [], [], [], 0


def _private(function: FunctionValue) -> bool:
    """Return whether a function of C or C++ is static: nobody calls it but its own file."""
    node = function.node
    alone = function.scope.native and function.owner is None and isinstance(node, p.Function)
    return alone and isinstance(node, p.Function) and objects.decorated(node, "staticmethod")


def _entry_points(
    m: Machine, scope: ModuleScope, only: frozenset[int] | None
) -> Iterator[tuple[p.Function, FunctionValue | None]]:
    """Yield the functions and methods of the module whose body may enqueue or touch what is enqueued.

    Those that are not wanted come without their value, which takes the run of a constructor.
    """
    # A class that stands under two names has its methods but once.
    candidates = list({id(candidate[0]): candidate for candidate in _candidates(scope)}.values())
    for number, (node, function, cls) in enumerate(candidates, 1):
        if only is not None and (len(candidates) + 1 - number if scope.native else number) not in only:
            yield node, None
        elif function is not None or cls is None:
            yield node, function
        else:
            yield node, FunctionValue(node, cls.scope, cls.closure, instance_of(m, cls), cls)


Candidate = tuple[p.Function, FunctionValue | None, ClassValue | None]
"""A function with its value; a method with its class, whose instance it needs."""


def _candidates(scope: ModuleScope) -> Iterator[Candidate]:
    for value in list(scope.frame.variables.values()):
        if isinstance(value, FunctionValue) and value.scope is scope and isinstance(value.node, p.Function):
            if scope.relevance.matters(value.node):
                yield value.node, value, None
        elif isinstance(value, ClassValue) and value.scope is scope:
            yield from _methods(value)


def _methods(cls: ClassValue) -> Iterator[Candidate]:
    for method in cls.methods.values():
        if not cls.scope.relevance.matters(method):
            continue
        if objects.decorated(method, "staticmethod"):
            yield method, FunctionValue(method, cls.scope, cls.closure, None, cls), cls
        elif objects.decorated(method, "classmethod"):
            yield method, FunctionValue(method, cls.scope, cls.closure, cls, cls), cls
        elif method.params:
            yield method, None, cls
    for inner in cls.variables.values():
        if isinstance(inner, ClassValue) and inner is not cls and inner.scope is cls.scope:
            yield from _methods(inner)


def instance_of(m: Machine, cls: ClassValue) -> Object:
    """Return the instance on which the methods of a class are analysed: its constructor ran on unknown values."""
    if id(cls) in m.instances:
        return m.instances[id(cls)]
    _reset(m)
    m.begin(f"{cls.node.name}.__init__")
    m.frames.append(cls.scope.frame)
    m.exits.append([])
    instance = Object("instance", cls=cls, name=cls.node.name)
    if cls.node.name == "Array" and cls.scope.path.endswith("pyopencl/array.py"):
        m.scratch += 1  # it was made before
        instance = objects.new_array(m, cls.node.span, Unknown(("classattr", id(cls), "queue")), name="self")
        m.scratch -= 1
        _remember_events(instance)
        _reset(m)
    m.instances[id(cls)] = instance
    found = cls.lookup("__init__") if instance.kind == "instance" else None
    if found is None:
        return instance
    method, owner = found
    m.scratch += 1
    m.allow(CONSTRUCTOR)
    try:
        function = FunctionValue(method, owner.scope, owner.closure, instance, owner)
        calls.enter(m, function, calls.Arguments([], {}, open=False), method.span)
    except (Exhausted, RecursionError):
        pass
    finally:
        _reset(m)
    _remember_events(instance)
    for name in [name for name in instance.state if isinstance(name, str) and objects.changes(m, instance, name)]:
        del instance.state[name]  # another method, or the owner of the object, may have set it since
    return instance


def _remember_events(instance: Object) -> None:
    """What the constructor enqueued is long done; but earlier calls may have left events with the object's Arrays, and
    in the lists of events that it fills.
    """
    for name, value in instance.state.items():
        if isinstance(value, Object) and value.kind == "list" and _is_filled(instance, name, value):
            value.state["items"] = (objects.pending_before(instance, name),)
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


_EVENTS = re.compile(r"(?:^|_)(?:events?|evts?|wait|waits|wait_for|pending|depends|in_flight)(?:_|$)")


def _is_filled(instance: Object, name: object, made: Object) -> bool:
    """Return whether a list is one of events by its name, and some method adds to it."""
    if not isinstance(name, str) or not _EVENTS.search(name):
        return False
    if not all(isinstance(item, Object) and item.kind == "event" for item in made.items()):
        return False
    added = re.compile(rf"\.{name}\s*(?:\.(?:append|extend|insert)\(|\+=)")
    return instance.cls is not None and any(added.search(cls.scope.text) for cls in objects.lineage(instance.cls))


def _call_returned(m: Machine, frame: Frame, function: FunctionValue) -> None:
    """Call the function that an entry point returns, as its caller may do later, with unknown arguments."""
    node = function.node
    if function.closure is not frame or not isinstance(node, p.Function) or id(node) in m.entered:
        return
    m.frames.append(frame)
    m.exits.append([])
    commands.everything_may_wait(m, node.span, "the caller")
    given = [Unknown(("param", frame.number, param.name)) for param in node.params if not param.star]
    calls.enter(m, function, calls.Arguments([*given], {}, [node.span] * len(given)), node.span)
    m.exits.pop()
    m.frames.pop()


def _run_function(m: Machine, function: FunctionValue, analysis: Analysis) -> g.EnqueueGraph | None:
    """Return the graph of one function with unknown arguments; what it changes is taken back afterwards."""
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
        for returned in result.items if isinstance(result, TupleValue) else (result,):
            if isinstance(returned, FunctionValue):
                _call_returned(m, frame, returned)
        afterwards.conclude(m, frame, result)
    except (Exhausted, RecursionError):
        m.graph.truncated = True
    except SyntaxProblem as problem:
        analysis.notes.append(str(problem))
    finally:
        m.heap.take_back(mark)
    return m.graph if m.graph.worth_judging else None
