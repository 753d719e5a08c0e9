"""What is left when an entry point returns: events that outlive it, and the callbacks that it registered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.interpreter import calls, event_lists, lifetimes
from kexec_lint.opencl.interpreter.machine import Exhausted, Machine
from kexec_lint.opencl.interpreter.modules import ModuleScope
from kexec_lint.opencl.interpreter.values import NONE, AbstractValue, Frame, FunctionValue, Object

BODIES = 8
"""Callbacks and threads of one entry point whose functions are executed; the rest are like them."""


def conclude(m: Machine, frame: Frame, result: AbstractValue = NONE) -> None:
    """Complete the graph of a function whose body has been executed, before its effects are taken back."""
    roots = [
        result,
        *([frame.receiver] if frame.receiver is not None else []),
        *frame.scope.frame.variables.values(),
    ]
    outer = frame.parent
    while outer is not None:
        roots.extend(outer.variables.values())
        outer = outer.parent
    _outlive(m, roots)
    _host_arrays_die(m, roots)
    if frame.scope.native and frame.function == "main" and m.commands:
        m.frames.append(frame)
        m.point("exit", m.commands[-1].site[-1].span, what="the end of the program")
        m.frames.pop()
    _run_callbacks(m)


def conclude_module(m: Machine, scope: ModuleScope) -> None:
    """Complete the graph of a module: what its functions mention outlives the top level."""
    if m.graph.user_events:
        used = event_lists.names_in_functions(scope.module.body)
        _outlive(m, [value for name, value in scope.frame.variables.items() if name in used])
    if m.commands and m.frames and not scope.path.endswith(".ipynb"):
        m.point("exit", m.commands[-1].site[-1].span, what="the end of the program")
    _run_callbacks(m)


def _host_arrays_die(m: Machine, roots: list[AbstractValue]) -> None:
    """What only the local variables of the function held is gone when it returns."""
    for value, command in m.pinned:
        if not lifetimes.leads_to(m, roots, value):
            m.graph.host_deaths.append((value.model, command, m.host))


def _outlive(m: Machine, roots: list[AbstractValue]) -> None:
    """Mark the user events that something outside leads to: they may be set there."""
    for event in m.graph.user_events:
        if not event.escaped and lifetimes.leads_to(m, roots, Object("event", model=event)):
            event.escaped = True


def _run_callbacks(m: Machine) -> None:
    """Execute the functions that the runtime or other threads call, each in a graph of its own."""
    graph = m.graph
    for number, callback in enumerate(graph.callbacks[:BODIES]):
        graph.callbacks[number] = replace(callback, body=body_of(m, callback.function, 1))
    for number, thread in enumerate(graph.threads[:BODIES]):
        graph.threads[number] = replace(thread, body=body_of(m, thread.function, list(thread.arguments)))


def body_of(m: Machine, function: object, arguments: int | list[Any]) -> g.EnqueueGraph | None:
    """Return the graph of a function that something else calls, on unknown arguments or given ones."""
    if not isinstance(function, FunctionValue):
        return None
    kept = {name: value for name, value in vars(m).items() if name != "serial"}
    mark = m.heap.mark()
    try:
        m.begin("callback")
        m.frames, m.places, m.exits, m.stack, m.scratch = [], [], [[]], [], 0
        given = [m.fresh("argument") for _ in range(arguments)] if isinstance(arguments, int) else arguments
        span = function.node.span
        frame = calls.open_frame(m, function, calls.Arguments([*given], {}, [span] * len(given)), span)
        calls.run_frame(m, frame, function.node, span)
    except (Exhausted, RecursionError):
        m.graph.truncated = True
    finally:
        body = m.graph
        m.heap.take_back(mark)
        for name, value in kept.items():
            setattr(m, name, value)
    return body
