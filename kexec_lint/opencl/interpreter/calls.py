"""Applies functions: those of the scanned tree are entered, those of the API tables looked up, others are opaque."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.interpreter import commands, effects, event_lists, expressions, library, objects
from kexec_lint.opencl.interpreter.machine import DEPTH, EARLY, Exhausted, Flow, Machine
from kexec_lint.opencl.interpreter.values import (
    ABSENT,
    NONE,
    AbstractValue,
    BoundApi,
    ClassValue,
    External,
    Frame,
    FunctionValue,
    Known,
    Object,
    Phi,
    TupleValue,
    Unknown,
)


@dataclass
class Arguments:
    """Evaluated arguments. `open` if `*args` or `**kwargs` of unknown content were among them."""

    positional: list[AbstractValue] = field(default_factory=list)
    keywords: dict[str, AbstractValue] = field(default_factory=dict)
    spans: list[p.Span] = field(default_factory=list)
    open: bool = False
    open_keywords: bool = False

    def bind(self, params: tuple[str, ...]) -> dict[str, AbstractValue]:
        """Return values by parameter name; surplus positional arguments are left out."""
        bound = dict(zip(params, self.positional, strict=False))
        bound.update(self.keywords)
        return bound

    @property
    def values(self) -> list[AbstractValue]:
        """All argument values."""
        return [*self.positional, *self.keywords.values()]

    def after(self, *first: AbstractValue) -> Arguments:
        """Return the same arguments behind further positional ones."""
        return Arguments([*first, *self.positional], self.keywords, [p.NOWHERE] * len(first) + self.spans, self.open)


def call(m: Machine, node: p.Call) -> AbstractValue:
    """Evaluate a call."""
    if isinstance(node.func, p.Name) and node.func.id == "super" and m.frame.owner is not None:
        return Object("super", {"owner": m.frame.owner, "receiver": m.frame.receiver or NONE})
    callee = expressions.evaluate(m, node.func)
    arguments = evaluate_arguments(m, node.args)
    return apply(m, callee, arguments, node.span)


def evaluate_arguments(m: Machine, nodes: tuple[p.Arg, ...]) -> Arguments:
    """Evaluate arguments in source order, spreading stars where their content is known."""
    arguments = Arguments()
    for node in nodes:
        value = expressions.evaluate(m, node.value)
        if node.star == 1:
            spread = expressions.sequence(m, value)
            if spread is None:
                arguments.open = True
                spread = (Unknown(("spread", value)),)
                if isinstance(value, Object) and value.kind == "list":
                    spread = value.items() or spread
            arguments.positional.extend(spread)
            arguments.spans.extend([node.value.span] * len(spread))
        elif node.star == 2:
            if isinstance(value, Object) and value.kind == "dict":
                for key, element in value.state.items():
                    if isinstance(key, tuple) and key[0] == "key" and isinstance(key[1], str):
                        arguments.keywords[key[1]] = element
                arguments.open_keywords |= bool(value.state.get("open"))
            else:
                arguments.open_keywords = True
        elif node.keyword is not None:
            arguments.keywords[node.keyword] = value
        else:
            arguments.positional.append(value)
            arguments.spans.append(node.value.span)
    return arguments


def apply(m: Machine, callee: AbstractValue, arguments: Arguments, span: p.Span) -> AbstractValue:
    """Call an abstract value."""
    match callee:
        case Phi():
            return _apply_any(m, callee, arguments, span)
        case FunctionValue():
            model = library.user_model(m, callee)
            if model is not None:
                return effects.run(m, model, arguments, span)
            return enter(m, callee, arguments, span)
        case ClassValue():
            return instantiate(m, callee, arguments, span)
        case BoundApi(receiver=receiver, name=name):
            return library.method(m, receiver, name, arguments, span)
        case External(dotted=dotted):
            if m.trying and not dotted.startswith(("pyopencl", "builtins.")) and not m.scratch:
                m.point("call", span)
            return library.function(m, dotted, arguments, span)
        case Object(kind="kernel"):
            return effects.launch_call(m, callee, arguments, span)
        case Object(kind="generated"):
            return effects.generated_call(m, callee, arguments, span)
        case Object(kind="pool" | "allocator"):
            return effects.allocate(m, callee, arguments, span)
        case Object(kind="instance", cls=ClassValue() as cls) if found := cls.lookup("__call__"):
            method, owner = found
            return enter(m, FunctionValue(method, owner.scope, owner.closure, callee, owner), arguments, span)
        case Unknown():
            if m.trying and not m.scratch and not library.looks_like_launch(m, arguments):
                m.point("call", span)
            return library.unknown_call(m, callee, arguments, span)
    opaque(m, [callee, *arguments.values], span)
    return m.fresh("call")


def _apply_any(m: Machine, callee: Phi, arguments: Arguments, span: p.Span) -> AbstractValue:
    callable_options = [(guard, o) for guard, o in callee.options if o not in (NONE, ABSENT)]
    if len(callable_options) == 1:
        return apply(m, callable_options[0][1], arguments, span)
    results: list[tuple[g.Guard, AbstractValue]] = []

    def arm(guard: g.Guard, option: AbstractValue) -> Any:
        def run() -> Flow:
            results.append((guard, apply(m, option, arguments, span)))
            return Flow.NEXT

        return run

    m.branch([(guard, arm(guard, option)) for guard, option in callable_options[:4]])
    return m.merge(results)


# --- functions of the tree ------------------------------------------------------------------------------------


def apply_function(
    m: Machine,
    function: FunctionValue,
    positional: list[AbstractValue],
    keywords: dict[str, AbstractValue],
    span: p.Span,
) -> AbstractValue:
    """Enter a function with evaluated arguments."""
    return enter(m, function, Arguments(positional, keywords, [span] * len(positional)), span)


def too_deep(m: Machine, node: p.Function | p.Lambda) -> bool:
    """Whether a function is not entered once more: it is running twice, or the calls are nested too deep."""
    return len(m.frames) >= DEPTH or m.callers(node) >= 2


def enter(m: Machine, function: FunctionValue, arguments: Arguments, span: p.Span) -> AbstractValue:
    """Execute the body of a function of the tree and return what it returns."""
    node = function.node
    if isinstance(node, p.Function) and not function.scope.relevance.enter(node) and function.closure is None:
        return m.fresh("irrelevant")
    if too_deep(m, node):
        opaque(m, [*arguments.values, function.bound or NONE], span)
        return m.fresh("recursion")
    cached = isinstance(node, p.Function) and objects.decorated(
        node,
        "lru_cache",
        "cache",
        "memoize",
        "memoize_method",
        "first_arg_dependent_memoize",
        "memoize_on_first_arg",
    )
    key: Any = ("cached", id(node), function.bound, tuple(arguments.positional), tuple(arguments.keywords.items()))
    if cached and key in m.memo:
        return m.memo[key]
    if isinstance(node, p.Function) and objects.decorated(node, "contextmanager"):
        opaque(m, arguments.values, span, everything=True)
        return m.fresh("context manager")
    frame = open_frame(m, function, arguments, span)
    began = m.steps
    try:
        result = run_frame(m, frame, node, span)
    except Exhausted:
        if began <= m.most_steps // EARLY and m.steps > m.most_steps and m.stack and not m.scratch:
            m.followed.add(id(node))  # a run of its own would hardly come further
        raise
    if m.stack and not m.scratch and _general(node, function, arguments):
        m.entered.add(id(node))
    if m.stack and not m.scratch:
        m.followed.add(id(node))
    if cached:
        m.memo[key] = result
    return result


def _general(node: p.Function | p.Lambda, function: FunctionValue, arguments: Arguments) -> bool:
    """Return whether a call gave every parameter a value that decides no branch: it stands for any other call."""
    given = len(arguments.values) + (function.bound is not None)
    return given >= len(node.params) and all(isinstance(v, Unknown | Object) for v in arguments.values)


def open_frame(m: Machine, function: FunctionValue, arguments: Arguments, span: p.Span) -> Frame:
    """Bind arguments to parameters in a new activation."""
    node = function.node
    m.serial += 1
    name = node.name if isinstance(node, p.Function) else "<lambda>"
    frame = Frame(m.serial, function.scope, name, parent=function.closure, owner=function.owner)
    positional = [*([function.bound] if function.bound is not None else []), *arguments.positional]
    frame.receiver = positional[0] if positional and function.owner is not None else None
    keywords = dict(arguments.keywords)
    frame.types.update((param.name, param.type) for param in node.params if param.type is not None)
    for param in node.params:
        if param.star == 1:
            frame.variables[param.name] = TupleValue(tuple(positional)) if not arguments.open else m.list_of(positional)
            if arguments.open:
                frame.variables[param.name].state["open"] = True  # type: ignore[attr-defined]
            positional = []
        elif param.star == 2:
            rest = Object("dict", {("key", k): v for k, v in keywords.items()})
            if arguments.open_keywords:
                rest.state["open"] = True
            frame.variables[param.name] = rest
        elif positional and not param.keyword_only:
            value = positional.pop(0)
            frame.variables[param.name] = value
            keywords.pop(param.name, None)
        elif param.name in keywords:
            frame.variables[param.name] = keywords.pop(param.name)
        elif arguments.open or arguments.open_keywords:
            frame.variables[param.name] = Unknown(("param", frame.number, param.name))
        elif param.default is not None:
            frame.variables[param.name] = default(m, function, param)
        else:
            frame.variables[param.name] = Unknown(("param", frame.number, param.name))
    return frame


def default(m: Machine, function: FunctionValue, param: p.Param) -> AbstractValue:
    """Return the default value of a parameter, evaluated where the function was defined."""
    assert param.default is not None
    if isinstance(param.default, p.Const):
        return Known(param.default.value)
    frame = Frame(0, function.scope, "", parent=function.closure)
    m.frames.append(frame)
    try:
        return expressions.evaluate(m, param.default)
    finally:
        m.frames.pop()


def run_frame(m: Machine, frame: Frame, node: p.Function | p.Lambda, span: p.Span) -> AbstractValue:
    """Execute a body in a prepared activation; early returns join at the end."""
    from kexec_lint.opencl.interpreter.lifetimes import release_locals
    from kexec_lint.opencl.interpreter.statements import execute_block

    entry = m.guard
    if m.frames:
        m.places.append(g.Place(m.frame.number, m.frame.scope.path, span, m.frame.function))
        pushed = True
    else:
        pushed = False
    m.frames.append(frame)
    m.stack.append(node)
    m.ran.add(node.span)
    if getattr(node, "broken", False) and not m.scratch:
        m.graph.threaded = True  # a part that could not be read may order anything
    m.exits.append([])
    try:
        flow = execute_block(m, node.body)
        exits = [exit for exit in m.exits.pop() if exit.flow is not Flow.RAISE]
        m.gather(exits, Flow.NEXT if flow in (Flow.NEXT, Flow.RETURN) else Flow.DEAD)
        m.settle(entry, (Flow.RETURN, Flow.BREAK, Flow.CONTINUE, Flow.RAISE, Flow.DEAD, Flow.GOTO))
        returns = list(frame.returns)
        if flow is Flow.NEXT and returns:
            returns.append((frozenset(), NONE))
        result: AbstractValue = m.merge(returns) if returns else NONE
        if frame.yields:
            result = m.list_of(frame.temporaries)
            result.state["open"] = True
        if frame.scope.native:
            from kexec_lint.opencl.interpreter.native import scopes

            given = {param.name for param in node.params}
            scopes.leave(m, frame, [name for name in frame.types if name not in given], result, _end(node))
            return result
        event_lists.examine(m, frame, node)
        if isinstance(node, p.Function):
            event_lists.examine_parameters(m, frame, node)
        release_locals(m, frame, result, span)
        return result
    finally:
        if m.frames and m.frames[-1] is frame:
            m.frames.pop()
        if m.stack and m.stack[-1] is node:
            m.stack.pop()
        if pushed and m.places:
            m.places.pop()


def _end(node: p.Function | p.Lambda) -> p.Span:
    """Return the place of the brace that ends a function."""
    row, column = node.span.end_row, node.span.end_column
    return p.Span(row, max(column - 1, 1), row, column)


def instantiate(m: Machine, cls: ClassValue, arguments: Arguments, span: p.Span) -> AbstractValue:
    """Make an instance and run its constructor."""
    for value in arguments.positional:
        for leaf in leaves(m, value):
            if isinstance(leaf, Object) and leaf.kind == "event":
                leaf.state["given back"] = True  # in C++ the new object may be the owner from here on
    instance = m.object("instance", span, cls.node.name)
    instance.cls = cls
    found = cls.lookup("__init__")
    if found is not None:
        method, owner = found
        enter(m, FunctionValue(method, owner.scope, owner.closure, instance, owner), arguments, span)
    else:
        fields = [
            s for a in reversed(list(objects.lineage(cls))) for s in a.node.body if isinstance(s, p.Assign) and s.type
        ]
        names = [t.id for s in fields for t in s.targets if isinstance(t, p.Name)]
        for name, value in arguments.bind(tuple(names)).items():
            instance.state[name] = value
        if cls.opaque_bases:
            opaque(m, arguments.values, span)
    return instance


@contextmanager
def aside(m: Machine, method: p.Function, owner: ClassValue, instance: Object) -> Iterator[None]:
    """Evaluate in the context of a method, with unknown parameters, without adding to the graph."""
    m.serial += 1
    frame = Frame(m.serial, owner.scope, method.name, parent=owner.closure, owner=owner, receiver=instance)
    for number, param in enumerate(method.params):
        frame.variables[param.name] = instance if number == 0 else Unknown(("param", frame.number, param.name))
    m.frames.append(frame)
    m.ran.add(method.span)
    m.scratch += 1
    m.exits.append([])
    try:
        yield
    finally:
        m.exits.pop()
        m.scratch -= 1
        m.frames.pop()


# --- code that cannot be seen ---------------------------------------------------------------------------------


def opaque(m: Machine, values: list[AbstractValue], span: p.Span, everything: bool = False, what: str = "") -> None:
    """Code that cannot be seen gets these values: it may wait for the commands that they lead to."""
    if m.scratch:
        return
    found = [leaf for value in values if value.__class__ is not Known for leaf in leaves(m, value)]
    _escape(found)
    if everything:
        commands.everything_may_wait(m, span, what)
        return
    reached: set[int] = set()
    targets: list[g.Command] = []
    queue_seen = False
    for leaf in found:
        if isinstance(leaf, Object) and leaf.kind == "instance":
            commands.everything_may_wait(m, span, what)
            return
        if isinstance(leaf, Object) and leaf.kind == "event":
            event: g.Event = leaf.model
            if event.command is not None and m.owns(event.command):
                targets.append(event.command)
        elif commands.is_queue(m, leaf):
            queue_seen = True
        elif isinstance(leaf, Object) and leaf.kind in ("memory", "array"):
            reached.add(id(leaf.model.root))
        elif isinstance(leaf, Unknown) and commands.canonical(leaf) in m.unknown_memory:
            memory = m.unknown_memory[commands.canonical(leaf)]
            if memory.kind != "host":
                reached.add(id(memory.root))
    if queue_seen:
        commands.everything_may_wait(m, span, what)
        return
    targets.extend(c for key in reached for c in m.users.get(key, ()))
    arrays = frozenset(
        objects.token(leaf)
        for leaf in found
        if isinstance(leaf, Unknown) or (isinstance(leaf, Object) and leaf.kind == "array")
    )
    if targets or not arrays.isdisjoint(m.tracked_arrays):
        point = m.point("opaque", span, what=what, arrays=arrays)
        for command in targets:
            point.after(command, False, "host")


def escape(m: Machine, values: Iterable[AbstractValue]) -> None:
    """Code that cannot be seen gets these values: events may be waited for or set there, mappings ended."""
    for value in values:
        _escape(leaves(m, value))


def _escape(found: Iterable[AbstractValue]) -> None:
    for leaf in found:
        if isinstance(leaf, Object) and leaf.kind in ("event", "map", "mapping"):
            leaf.model.escaped = True


def leaves(m: Machine, value: AbstractValue, depth: int = 3) -> Iterator[AbstractValue]:
    """Yield the objects that a value leads to through containers."""
    match value:
        case Phi():
            for _, option in value.options:
                yield from leaves(m, option, depth)
        case TupleValue(items=items) if depth:
            for element in items:
                yield from leaves(m, element, depth - 1)
        case Object(kind="list" | "set") if depth:
            for element in value.items():
                yield from leaves(m, element, depth - 1)
            if isinstance(value.state.get("sample"), AbstractValue):
                yield from leaves(m, value.state["sample"], depth - 1)
        case Object(kind="dict") if depth:
            for element in value.state.values():
                if isinstance(element, AbstractValue):
                    yield from leaves(m, element, depth - 1)
        case FunctionValue(bound=AbstractValue() as bound):
            yield bound
        case BoundApi(receiver=receiver):
            yield receiver
        case Known():
            return
        case _:
            yield value
