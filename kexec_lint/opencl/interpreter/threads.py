"""Threads: which function each one runs, and which locks are held where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.interpreter import calls, expressions
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import NONE, AbstractValue, FunctionValue, Object, Unknown

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.calls import Arguments

STARTERS = frozenset(
    ["Thread", "Process", "submit", "apply_async", "start_new_thread", "Timer", "run_in_executor", "to_thread"]
)
"""Names of calls that start code running beside this one."""
LOCKS = frozenset({"threading.Lock", "threading.RLock", "threading.Semaphore", "threading.Condition"})
"""Makers of what only one thread holds at a time."""
POOLS = frozenset({"concurrent.futures.ThreadPoolExecutor", "multiprocessing.pool.ThreadPool"})
"""Makers of pools whose workers are threads of this process."""


def pool(m: Machine) -> Unknown:
    """Return a pool of threads."""
    return m.fresh("threads")


def is_pool(value: object) -> bool:
    """Return whether a value is a pool of threads."""
    return isinstance(value, Unknown) and value.key[:2] == ("fresh", "threads")


def start(m: Machine, name: str, arguments: Arguments, span: p.Span, times: int = 1) -> None:
    """Code starts to run beside this one: from here on, order between commands is not known."""
    calls.escape(m, arguments.values)
    leaves = [leaf for value in arguments.values for leaf in calls.leaves(m, value)]
    if any(isinstance(leaf, Object | Unknown | FunctionValue) for leaf in leaves):
        m.graph.threaded = True
    target, given = _target(m, name, arguments)
    if isinstance(target, FunctionValue) and not m.scratch and name != "Process":
        _escape_closure(target)
        for _ in range(times):
            m.graph.threads.append(g.ThreadStart(m.site(span), m.guard, len(m.graph.nodes), target, tuple(given)))


def _target(m: Machine, name: str, arguments: Arguments) -> tuple[AbstractValue, list[AbstractValue]]:
    """Return the function that a thread runs and its arguments, by the convention of the call."""
    positional = list(arguments.positional)
    if name in ("Thread", "Timer"):
        first = 1 if name == "Timer" else 0
        target = arguments.keywords.get("target", arguments.keywords.get("function"))
        if target is None:
            # Thread(group, target, name, args), Timer(interval, function, args)
            target = positional[1] if len(positional) > 1 else NONE
        packed = arguments.keywords.get("args", positional[first + 2] if len(positional) > first + 2 else NONE)
        if name == "Timer" and "args" not in arguments.keywords:
            packed = positional[2] if len(positional) > 2 else NONE
        return target, list(expressions.sequence(m, packed) or ())
    if name == "run_in_executor":
        return (positional[1] if len(positional) > 1 else NONE), positional[2:]
    if name == "start_new_thread":
        packed = positional[1] if len(positional) > 1 else NONE
        return (positional[0] if positional else NONE), list(expressions.sequence(m, packed) or ())
    if name == "map":
        return (positional[0] if positional else NONE), [m.fresh("item") for _ in positional[1:]]
    return (positional[0] if positional else NONE), positional[1:]


def _escape_closure(function: FunctionValue) -> None:
    """Events in the variables around a thread's function may be set or waited for in it."""
    frame = function.closure
    while frame is not None:
        for value in frame.variables.values():
            if isinstance(value, Object) and value.kind == "event":
                value.model.escaped = True
        frame = frame.parent


def lock_method(m: Machine, lock: AbstractValue, name: str) -> AbstractValue | None:
    """Carry out `lock.acquire()` and `lock.release()`; None for other methods."""
    if name == "acquire":
        m.locks = (*m.locks, lock)
        return m.fresh("acquired")
    if name == "release" and lock in m.locks:
        m.locks = tuple(held for held in m.locks if held != lock)
        return NONE
    return None


def may_lock(value: AbstractValue) -> bool:
    """Return whether the context manager of a `with` may be a lock."""
    return isinstance(value, Unknown) or (isinstance(value, Object) and value.kind == "lock")


__all__ = ["LOCKS", "POOLS", "STARTERS", "is_pool", "lock_method", "may_lock", "pool", "start"]
