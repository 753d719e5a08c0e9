"""Every dispatch and redispatch of a program: nested, timed, with the kernel that ran, on a release build of
torch.

`_EnablePythonDispatcher` makes the dispatcher ask `OpOverload._get_dispatch` for each call and redispatch; the
tracer answers with a function that runs the kernel of the resolved key. The names are private and checked first.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any

from kexec_lint.aten.dispatch import table
from kexec_lint.aten.dispatch.functions import function_name, python_site
from kexec_lint.aten.dispatch.table import load_torch

MISSING = "(no kernel)"


class TraceUnavailable(RuntimeError):
    """This version of torch lacks a name the tracer needs; the message is one line for the user."""


@dataclass
class Event:
    """One dispatch: `key` the runtime key, `registered_as` the key of the registration that ran, times in
    seconds."""

    operator: str
    key: str
    registered_as: str
    depth: int
    parent: int
    start: float
    duration: float = 0.0
    tag: str = ""
    site: str = ""
    function: str | None = None
    error: str | None = None
    inputs: tuple[str, ...] = ()


@dataclass
class Tracer:
    """Context manager that records the events of the calling thread; backward runs on it too while it is
    active."""

    operators: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    events: list[Event] = field(default_factory=list)
    _stack: list[int] = field(default_factory=list)
    _undo: list[Any] = field(default_factory=list)
    _info: dict[tuple[str, str, str], tuple[str, str, str | None]] = field(default_factory=dict)

    def __enter__(self) -> Tracer:
        torch = load_torch()
        missing = missing_names(torch)
        if missing:
            raise TraceUnavailable(f"PyTorch {torch.__version__} has no {missing[0]}: dispatches cannot be traced")
        overload = torch._ops.OpOverload
        original = overload._get_dispatch
        for cached in list(torch._ops.get_cached_ops()):
            cached._dispatch_cache.clear()
        torch._ops.reset_cached_ops()
        tracer = self

        def get_dispatch(op: Any, key: Any) -> Any:
            return tracer._answer(original, op, key)

        overload._get_dispatch = get_dispatch
        self._undo.append(lambda: setattr(overload, "_get_dispatch", original))
        multithreading = torch.autograd.set_multithreading_enabled(False)
        self._undo.append(lambda: multithreading.__exit__(None, None, None))
        guard = torch._C._EnablePythonDispatcher()
        self._undo.append(lambda: guard.__exit__(None, None, None) if hasattr(guard, "__exit__") else None)
        self._guard = guard
        if hasattr(guard, "__enter__"):
            guard.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        while self._undo:
            self._undo.pop()()
        self._guard = None

    def _answer(self, original: Any, op: Any, key: Any) -> Any:
        torch = load_torch()
        dispatch_key = torch._C.DispatchKey
        functionality = torch._C._to_functionality_key(key)
        if dispatch_key.Python in (key, functionality) or functionality == dispatch_key.PreDispatch:
            return original(op, key)
        try:
            final = torch._ops.resolve_key(op, key)
        except NotImplementedError:  # no kernel: the call itself says so, in torch's words
            final = None

        def run(*args: Any, **kwargs: Any) -> Any:
            return self._run(op, key, final, args, kwargs)

        return run  # not put into the cache, so that every call asks again

    def _run(self, op: Any, key: Any, final: Any, args: Any, kwargs: Any) -> Any:
        index = len(self.events)
        event = Event(
            table.qualified_name(op),
            _name(key),
            _name(final) if final is not None else MISSING,
            len(self._stack),
            self._stack[-1] if self._stack else -1,
            time.perf_counter(),
            inputs=tuple(map(_brief, args)) + tuple(f"{k}={_brief(v)}" for k, v in kwargs.items()),
        )
        self.events.append(event)
        self._stack.append(index)
        try:
            if final is None:
                # Calling an empty slot would crash; the dispatcher itself raises the error that the user knows.
                with load_torch()._C._DisablePythonDispatcher():
                    return op(*args, **kwargs)
            return op._op_dk(final, *_with_tensors(op, args), **kwargs)
        except BaseException as error:
            event.error = f"{type(error).__name__}: {str(error).strip()}"
            raise
        finally:
            event.duration = time.perf_counter() - event.start
            self._stack.pop()

    def describe(self) -> list[Event]:
        """Return the events with tag, site and function filled in, of the operators and keys asked for."""
        for event in self.events:
            known = (event.operator, event.key, event.registered_as)
            if known not in self._info:
                row = table.rows(event.operator).get(event.key)
                fallback = row is not None and row.tag == "backend fallback"
                own = None if fallback else python_site(event.operator, event.registered_as)
                self._info[known] = (
                    row.tag if row else "",
                    own or (table.short_site(row.site) if row else ""),
                    function_name(event.operator, row, event.registered_as),
                )
            event.tag, event.site, event.function = self._info[known]
        return [e for e in self.events if self._wanted(e)]

    def _wanted(self, event: Event) -> bool:
        names = (
            event.operator,
            event.operator.partition("::")[2],
            event.operator.partition("::")[2].partition(".")[0],
        )
        operator = not self.operators or any(o in names for o in self.operators)
        return operator and (not self.keys or event.key in self.keys or event.registered_as in self.keys)

    def innermost_error(self) -> Event | None:
        """Return the deepest event that raised the error which ended the program."""
        failed = [e for e in self.events if e.error is not None]
        return failed[-1] if failed and not self._after(failed[-1]) else None

    def _after(self, event: Event) -> bool:
        """Whether the program went on at top level after an event's error: it was caught."""
        index = self.events.index(event)
        return any(e.depth == 0 and e.error is None for e in self.events[index + 1 :])


def _with_tensors(op: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with numbers that stand for tensors made tensors again.

    C++ passes a scalar as a 0-dim "wrapped number" tensor, which arrives in Python as a number, and few
    operators take it back as one. The dtype is chosen so that type promotion gives what the wrapped number would.
    """
    schema = op._schema.arguments
    if not any(isinstance(a, (bool, int, float, complex)) and _is_tensor(schema[i]) for i, a in enumerate(args)):
        return args
    torch = load_torch()
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    return tuple(
        _wrapped(torch, a, tensors) if isinstance(a, (bool, int, float, complex)) and _is_tensor(schema[i]) else a
        for i, a in enumerate(args)
    )


def _is_tensor(argument: Any) -> bool:
    return str(argument.type) in ("Tensor", "Optional[Tensor]")


def _wrapped(torch: Any, value: Any, tensors: list[Any]) -> Any:
    if isinstance(value, (bool, int)):
        return torch.tensor(value)
    complicated = isinstance(value, complex)
    same = [t for t in tensors if (t.is_complex() if complicated else t.is_floating_point())]
    if any(t.dim() for t in same):
        dtype = torch.complex128 if complicated else torch.float64  # a dimensioned tensor decides the result's type
    elif same:
        dtype = same[0].dtype
    else:
        dtype = torch.get_default_dtype() if not complicated else torch.complex64
    return torch.tensor(value, dtype=dtype)


def missing_names(torch: Any) -> list[str]:
    """Return the private names that tracing needs and this version lacks."""
    wanted = {
        "torch._C._EnablePythonDispatcher": hasattr(torch._C, "_EnablePythonDispatcher"),
        "torch._C._DisablePythonDispatcher": hasattr(torch._C, "_DisablePythonDispatcher"),
        "torch._C._to_functionality_key": hasattr(torch._C, "_to_functionality_key"),
        "torch._ops.OpOverload._get_dispatch": hasattr(torch._ops.OpOverload, "_get_dispatch"),
        "torch._ops.resolve_key": hasattr(torch._ops, "resolve_key"),
        "torch._ops.get_cached_ops": hasattr(torch._ops, "get_cached_ops"),
        "torch._ops.reset_cached_ops": hasattr(torch._ops, "reset_cached_ops"),
    }
    return [name for name, there in wanted.items() if not there]


_MISFIT = re.compile(
    r"overload|Expected a value of type|invalid combination of arguments|is missing value for argument|"
    r"missing \d+ required positional arguments?: \"|Unknown keyword argument|\(position \d+\) must be|"
    r"expected at most \d+ argument|takes \d+ positional arguments? but"
)
"""What torch's argument parsers say; Python quotes a missing parameter's name in single quotes."""


def layer_of(event: Event | None, error: BaseException | None) -> str:
    """Return which layer raised: schema, missing kernel, fake, a check inside a kernel, or the kernel itself."""
    text = event.error if event is not None and event.error else f"{type(error).__name__}: {error}"
    if event is not None and event.registered_as == MISSING:
        return "dispatch: no kernel for the key"
    if "Could not run" in text or "could not find kernel" in text:
        return "dispatch: no kernel for the key"
    if event is None:
        return "schema: the arguments fit no overload" if _MISFIT.search(text) else "outside the dispatcher"
    words = text.lower()
    if "fake" in words or "meta tensor" in words or event.registered_as == "Meta":
        return "fake: no data behind the tensor"
    if "same device" in words or "on cpu" in words or "is_cuda" in words:
        return "kernel: its device check"
    if "dtype" in words or "scalar type" in words or "not implemented for '" in words:
        return "kernel: its dtype check"
    if "size" in words or "shape" in words or "dimension" in words:
        return "kernel: its shape check"
    return "kernel: inside it"


def _name(key: Any) -> str:
    return str(key).rpartition(".")[2]


def _brief(value: Any) -> str:
    torch = load_torch()
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).rpartition(".")[2]
        kind = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64"}.get(
            kind, kind
        )
        try:
            shape = ",".join(map(str, value.shape))
        except RuntimeError:
            shape = "?"
        return f"{kind}[{shape}]" + ("" if value.device.type == "cpu" else f" {value.device.type}")
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
        return f"[{', '.join(map(_brief, value[:3]))}{', …' if len(value) > 3 else ''}]"
    plain = (bool, int, float, complex, str, torch.dtype, torch.device, torch.layout)
    listed = isinstance(value, (list, tuple)) and all(isinstance(v, (bool, int, float)) for v in value)
    if value is None or isinstance(value, plain) or listed:
        text = repr(value)
    else:
        return type(value).__name__  # its repr may dispatch
    return text if len(text) <= 40 else f"{text[:37]}…"
