"""Calls into code outside the scanned tree: the API tables, numpy, the standard library, and what is unknown."""

from __future__ import annotations

import posixpath
import textwrap
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from kexec_lint.opencl import program as p
from kexec_lint.opencl.api import host as host_api
from kexec_lint.opencl.api import pyopencl as api
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.interpreter import (
    attributes,
    calls,
    commands,
    effects,
    event_lists,
    expressions,
    host,
    kinds,
    objects,
    threads,
)
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import (
    ABSENT,
    NONE,
    AbstractValue,
    FunctionValue,
    Known,
    Object,
    Phi,
    TupleValue,
    Unknown,
)

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.calls import Arguments

EXITS = frozenset({"sys.exit", "os._exit", "os.abort", "builtins.exit", "builtins.quit", "builtins.SystemExit"})
"""Calls that end the process (SystemExit is made to be raised)."""

TIMERS = frozenset(
    ["time.time", "time.perf_counter", "time.monotonic", "time.process_time", "timeit.default_timer"]
) | {
    "time.perf_counter_ns",
    "time.time_ns",
    "time.monotonic_ns",
}


def user_model(m: Machine, function: FunctionValue) -> CallModel | None:
    """Return the user's row for a function of the tree, by its name or `module.name`."""
    if not m.models or not isinstance(function.node, p.Function):
        return None
    module = posixpath.splitext(posixpath.basename(function.scope.path))[0]
    names = [function.node.name, f"{module}.{function.node.name}"]
    if function.owner is not None:
        names += [f"{function.owner.node.name}.{function.node.name}", f"{module}.{names[0]}"]
    for declared, model in m.models.items():
        if declared in names or any(declared.endswith(f".{name}") for name in names[1:]):
            return model
    return None


def user_row(m: Machine, dotted: str) -> CallModel | None:
    """Return the user's row for a function outside the tree, by its name."""
    for declared, model in m.models.items():
        if dotted == declared or dotted.endswith(f".{declared}"):
            return model
    return None


@lru_cache(maxsize=4096)
def below_pyopencl(dotted: str) -> str | None:
    """Return the part of a dotted name below `pyopencl`, None if it is not PyOpenCL's."""
    parts = dotted.lstrip(".").split(".")
    if "pyopencl" not in parts:
        return None
    rest = [part for part in parts[parts.index("pyopencl") + 1 :] if part not in ("_cl", "cffi_cl", "_cluda")]
    return ".".join(rest)


def function(m: Machine, dotted: str, arguments: Arguments, span: p.Span) -> AbstractValue:
    """Call a function known by its dotted name."""
    row = user_row(m, dotted)
    if row is not None:
        return effects.run(m, row, arguments, span)
    below = below_pyopencl(dotted)
    if below is not None:
        return _pyopencl(m, below, arguments, span)
    if dotted in TIMERS:
        m.point("timer", span, what=dotted)
        return m.fresh("time")
    short = dotted.removeprefix("builtins.")
    handler = BUILTINS.get(short)
    if handler is not None:
        return handler(m, arguments, span)
    last = dotted.rpartition(".")[2]
    if dotted in threads.LOCKS:
        return m.object("lock", span)
    if dotted in threads.POOLS:
        return threads.pool(m)
    if last in threads.STARTERS or dotted.startswith(("threading.", "multiprocessing.", "concurrent.")):
        threads.start(m, last, arguments, span)
        return m.fresh("thread")
    if dotted in EXITS:
        m.point("exit", span, what=dotted.removeprefix("builtins."))
        return NONE
    if dotted.partition(".")[0] in host_api.READING_PACKAGES:
        return _host_function(m, dotted, arguments, span)
    calls.opaque(m, arguments.values, span, what=last)
    return m.fresh("call", dotted)


def _pyopencl(m: Machine, below: str, arguments: Arguments, span: p.Span) -> AbstractValue:
    m.allow()
    row = api.FUNCTIONS.get(below) or api.FUNCTIONS.get(below.removeprefix("array."))
    if row is not None:
        return effects.run(m, row, arguments, span)
    arrays = [v for v in arguments.values if isinstance(v, Object) and v.kind == "array"]
    if arrays and below.startswith(("array.", "clmath.", "clrandom.")):
        return objects.array_operation(m, arrays, span, below.rpartition(".")[2])
    if below.startswith("cltypes."):
        return m.fresh("scalar", below)
    if any(leaf for v in arguments.values for leaf in calls.leaves(m, v) if commands.is_queue(m, leaf)):
        calls.opaque(m, arguments.values, span, what=below)
    return m.fresh("pyopencl", below)


def _host_function(m: Machine, dotted: str, arguments: Arguments, span: p.Span) -> AbstractValue:
    """A function of numpy and the like on host arrays."""
    first = arguments.positional[0] if arguments.positional else NONE
    spans = arguments.spans
    out = arguments.keywords.get("out")
    if out is not None:
        host.write(m, out, span, "an output argument")
    if dotted in host_api.WRITE_FIRST:
        host.write(m, first, spans[0] if spans else span, "a write", also_reads="shuffle" in dotted)
        for value, where in zip(arguments.positional[1:], spans[1:], strict=False):
            host.read(m, value, where, dotted)
        return NONE
    if dotted in host_api.VIEW_FUNCTIONS and host.is_host(m, first):
        return host.view(m, first)
    if dotted not in host_api.QUIET_FUNCTIONS and dotted not in host_api.VIEW_FUNCTIONS:
        for value, where in zip(arguments.positional, spans, strict=False):
            host.read(m, value, where, dotted)
        for name, value in arguments.keywords.items():
            if name != "out":
                host.read(m, value, span, dotted)
    module, _, last = dotted.rpartition(".")
    if module.startswith("numpy") and last in SCALAR_SIZES:
        if isinstance(first, TupleValue) or (isinstance(first, Object) and first.kind in ("list", "host", "map")):
            return host.make(m, span, f"{last}(…)")  # of several numbers it makes an array
        return Object("scalar", {"size": SCALAR_SIZES[last], "type": last, "value": first})
    if module.startswith("numpy") and (last in host_api.ARRAY_MAKERS or module in ("numpy", "numpy.random")):
        dimensions = None
        shape = arguments.keywords.get("shape", first)
        if last in ("empty", "zeros", "ones", "full"):
            dimensions = len(shape.items) if isinstance(shape, TupleValue) else None
            if isinstance(shape, Known) and isinstance(shape.value, int):
                dimensions = 1
        made = host.make(m, span, f"{last}(…)", dotted not in host_api.UNINITIALISED, dimensions)
        if last in ("array", "asarray", "ascontiguousarray"):
            made.state["dimensions"] = None
        return made
    calls.opaque(m, arguments.values, span, what=last)
    return m.fresh("host", dotted)


SCALAR_SIZES = {
    **dict.fromkeys(("int8", "uint8", "byte", "ubyte", "bool_"), 1),
    **dict.fromkeys(("int16", "uint16", "float16", "short", "ushort", "half"), 2),
    **dict.fromkeys(("int32", "uint32", "float32", "intc", "uintc", "single"), 4),
    **dict.fromkeys(("int64", "uint64", "float64", "complex64", "double", "longlong", "ulonglong", "int_", "intp"), 8),
    **dict.fromkeys(("complex128",), 16),
}
"""Scalar types of numpy and their sizes in bytes."""


# --- methods --------------------------------------------------------------------------------------------------


def method(m: Machine, receiver: AbstractValue, name: str, arguments: Arguments, span: p.Span) -> AbstractValue:
    """Call a method of a modelled object, a constant or a container."""
    if isinstance(receiver, Known | TupleValue):
        return _constant_method(m, receiver, name, arguments, span)
    assert isinstance(receiver, Object)
    if receiver.kind in ("list", "set"):
        return _list_method(m, receiver, name, arguments, span)
    if receiver.kind == "dict":
        return _dict_method(m, receiver, name, arguments)
    if receiver.kind == "path":
        return _path_method(m, receiver, name, arguments)
    if receiver.kind == "map" and name == "release":
        return effects.unmap(m, receiver, arguments, span)
    if receiver.kind in ("host", "map"):
        return _array_like_method(m, receiver, name, arguments, span)
    if receiver.kind == "lock":
        return threads.lock_method(m, receiver, name) or m.fresh(name)
    if receiver.kind == "mapping":
        return effects.unmap(m, receiver, arguments, span)
    row = api.METHODS.get(receiver.kind, {}).get(name)
    if row is not None:
        return effects.run(m, row, arguments, span, receiver)
    if receiver.kind == "array":
        if name in ("__len__", "astype", "sum", "min", "max", "any", "all", "conj", "real", "imag", "map"):
            return objects.array_operation(m, [receiver], span, name)
        calls.opaque(m, [receiver, *arguments.values], span, what=name)
        return m.fresh("array method")
    if receiver.kind == "generated" and name == "build":
        return receiver  # of a template
    if receiver.kind in ("generated", "pool", "allocator", "local"):
        return effects.allocate(m, receiver, arguments, span) if name == "allocate" else m.fresh(name)
    calls.opaque(m, [receiver, *arguments.values], span, what=name)
    return m.fresh("method")


def _constant_method(
    m: Machine, receiver: Known | TupleValue, name: str, arguments: Arguments, span: p.Span
) -> AbstractValue:
    if isinstance(receiver, TupleValue):
        return m.fresh("tuple method")
    value = receiver.value
    if isinstance(value, str):
        if name == "join" and arguments.positional:
            parts = expressions.sequence(m, arguments.positional[0])
            if parts is not None:
                between: list[AbstractValue] = []
                for number, part in enumerate(parts):
                    between += [receiver, part] if number else [part]
                return expressions.text(m, between) if between else Known("")
        if name == "format":
            for used in arguments.values:
                effects.use(m, used, span, "text")
            return _format(m, receiver, arguments)
        if name in ("substitute", "safe_substitute", "render"):
            return Known(value, skeleton=True)
        plain = [a.value for a in arguments.positional if isinstance(a, Known)]
        known = len(plain) == len(arguments.positional) and not arguments.keywords and not arguments.open
        if known and name in _TEXT_METHODS and (name != "encode" or plain in ([], ["utf-8"], ["utf8"], ["ascii"])):
            try:
                return Known(getattr(value, name)(*plain), receiver.skeleton)
            except (TypeError, ValueError):
                return m.fresh("text")
        if name == "replace" and arguments.positional and isinstance(arguments.positional[0], Known):
            return Known(value.replace(str(arguments.positional[0].value), expressions.HOLE), skeleton=True)
    if isinstance(value, bytes) and name == "decode":
        return Known(value.decode("utf-8", "replace"), receiver.skeleton)
    return m.fresh("constant method")


_TEXT_METHODS = frozenset(
    [
        "strip",
        "lstrip",
        "rstrip",
        "lower",
        "upper",
        "replace",
        "split",
        "splitlines",
        "encode",
        "startswith",
        "endswith",
    ]
)


def _format(m: Machine, receiver: Known, arguments: Arguments) -> AbstractValue:
    """`"…".format(…)`: fill in what is known, leave holes for the rest."""
    import re

    position = iter(arguments.positional)

    def fill(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        field = match[1]
        if field.isdigit():
            index = int(field)
            value = arguments.positional[index] if index < len(arguments.positional) else None
        else:
            value = arguments.keywords.get(field) if field else next(position, None)
        return str(value.value) if isinstance(value, Known) else expressions.HOLE

    filled = re.sub(r"\{\{|\}\}|\{(\w*)[^{}]*\}", fill, receiver.value)
    return Known(filled, skeleton=True)


def _list_method(m: Machine, receiver: Object, name: str, arguments: Arguments, span: p.Span) -> AbstractValue:
    items = receiver.items()
    first = arguments.positional[0] if arguments.positional else NONE
    match name:
        case "append" | "add" | "appendleft":
            event_lists.note_read(receiver, -1)
            m.heap.write(receiver.state, "items", (*items, first))
            return NONE
        case "extend" | "update" | "__iadd__":
            event_lists.note_read(receiver, -1)
            known = expressions.sequence(m, first)
            more = known if known is not None else (Unknown(("spread", first)),)
            m.heap.write(receiver.state, "items", items + more)
            if known is None and not attributes.is_event_name(first):
                m.heap.write(receiver.state, "open", True)
            return NONE
        case "insert" if len(arguments.positional) > 1:
            m.heap.write(receiver.state, "items", (arguments.positional[1], *items))
            return NONE
        case "pop" | "popleft":
            if items and not receiver.state.get("open"):
                at = 0 if name == "popleft" or first == Known(0) else len(items) - 1
                if _is_spread(items[at]):
                    return m.fresh("pop")  # of several that are not known
                m.heap.write(receiver.state, "items", items[:at] + items[at + 1 :])
                return items[at]
            return m.fresh("pop")
        case "clear":
            m.heap.write(receiver.state, "items", ())
            return NONE
        case "copy":
            return m.list_of(items)
        case "remove" | "discard":
            m.heap.write(receiver.state, "items", tuple(i for i in items if i is not first and i != first))
            return NONE
        case "sort" | "reverse" | "index" | "count":
            return m.fresh(name)
    return m.fresh("list method")


def _dict_method(m: Machine, receiver: Object, name: str, arguments: Arguments) -> AbstractValue:
    first = arguments.positional[0] if arguments.positional else NONE
    entries = [(k, v) for k, v in receiver.state.items() if isinstance(k, tuple) and k[0] in ("key", "index")]
    match name:
        case "get" | "setdefault" | "pop":
            key = expressions.place(first)
            if key in receiver.state:
                found: AbstractValue = receiver.state[key]
                return found
            other = arguments.positional[1] if len(arguments.positional) > 1 else NONE
            if receiver.state.get("open") or not isinstance(first, Known):
                return m.fresh("get")
            if name == "setdefault":
                m.heap.write(receiver.state, key, other)
            return other
        case "values":
            return m.list_of([v for _, v in entries])
        case "keys":
            return m.list_of([Known(k[1]) if k[0] == "key" else k[1] for k, _ in entries])
        case "items":
            return m.list_of([TupleValue((Known(k[1]) if k[0] == "key" else k[1], v)) for k, v in entries])
        case "update":
            if isinstance(first, Object) and first.kind == "dict":
                for k, v in first.state.items():
                    m.heap.write(receiver.state, k, v)
            else:
                m.heap.write(receiver.state, "open", True)
            for keyword, v in arguments.keywords.items():
                m.heap.write(receiver.state, ("key", keyword), v)
            return NONE
        case "copy":
            return Object("dict", dict(receiver.state))
    return m.fresh("dict method")


def _path_method(m: Machine, receiver: Object, name: str, arguments: Arguments) -> AbstractValue:
    """Methods of a file, of `pathlib.Path` and of `importlib.resources` paths, as far as kernel sources need them."""
    if name in ("read_text", "read_bytes", "read", "open"):
        if name == "open":
            return receiver
        text = m.loader.text(receiver.state["path"].value, m.frame.scope.path)
        return Known(text) if text is not None else m.fresh("file")
    if name in ("joinpath", "with_name") and all(isinstance(a, Known) for a in arguments.positional):
        parts = [str(a.value) for a in arguments.positional if isinstance(a, Known)]
        return path_object(posixpath.join(receiver.state["path"].value, *parts))
    if name in ("resolve", "absolute", "as_posix", "expanduser", "__enter__"):
        return receiver
    return m.fresh("path")


def path_object(path: str) -> Object:
    """Return a path or an opened file."""
    return Object("path", {"path": Known(path)})


def _array_like_method(m: Machine, receiver: Object, name: str, arguments: Arguments, span: p.Span) -> AbstractValue:
    if name in host_api.WRITERS:
        host.write(m, receiver, span, f"{name}()")
        return NONE
    if name in host_api.VIEWS:
        return host.view(m, receiver)
    for value, where in zip(arguments.positional, arguments.spans, strict=False):
        host.read(m, value, where, name)
    if name in host_api.QUIET_METHODS:
        return m.fresh("metadata")
    host.read(m, receiver, span, f"{name}()")
    if name in ("copy", "astype", "flatten", "reshape", "conj", "round", "clip"):
        return host.make(m, span, name)
    return m.fresh("number")


# --- unknown callees ------------------------------------------------------------------------------------------


def unknown_call(m: Machine, callee: Unknown, arguments: Arguments, span: p.Span) -> AbstractValue:
    """Call something that could not be resolved: a kernel launch by its shape, a method by its name, else opaque."""
    name = str(callee.key[2]) if callee.key[0] in ("attr", "name", "param", "import") and len(callee.key) > 2 else ""
    base = callee.key[1] if callee.key[0] == "attr" else None
    if name and (row := user_row(m, name)) is not None:
        return effects.run(m, row, arguments, span)
    if base is not None:
        handled = _unknown_method(m, base, name, arguments, span)
        if handled is not None:
            return handled
    if looks_like_launch(m, arguments):
        return effects.launch_call(m, callee, arguments, span)
    if name in threads.STARTERS or (name == "map" and threads.is_pool(base)):
        threads.start(m, name, arguments, span, times=2 if name == "map" else 1)
        return m.fresh("thread")
    if name in api.SYNC_NAMES:
        commands.everything_may_wait(m, span, name)
    for value, where in zip(arguments.values, arguments.spans, strict=False):
        if host.is_host(m, value):
            host.access(m, value, where, "a call", reads=True, writes=False, certain=False)
    known_receiver = base is not None and not _leads_to_device(m, base)
    calls.opaque(m, [*arguments.values, *([] if base is None or known_receiver else [base])], span, what=name)
    return Unknown(("result", callee, m.serial)) if base is None else m.fresh("result", name)


def _leads_to_device(m: Machine, base: AbstractValue) -> bool:
    return commands.is_queue(m, base) or base in m.unknown_events


def _unknown_method(
    m: Machine, base: AbstractValue, name: str, arguments: Arguments, span: p.Span
) -> AbstractValue | None:
    """Methods on values of unknown kind that have one meaning in OpenCL host code."""
    if name == "finish" and not arguments.positional:
        commands.finish(m, base, span)
        if not commands.is_queue(m, base):
            commands.everything_may_wait(m, span, name)
        return NONE
    if name == "flush" and not arguments.positional and commands.is_queue(m, base):
        m.point("flush", span, queue=commands.queue_model(m, base))
        return NONE
    if name == "wait" and not arguments.positional:
        commands.wait_for(m, m.list_of([base]), span)
        commands.everything_may_wait(m, span, name)
        return NONE
    if name in ("acquire", "release") and not arguments.positional:
        locked = threads.lock_method(m, base, name)
        if locked is not None:
            return locked
    if name == "add_event" and arguments.positional:
        m.tracked_arrays.add(objects.token(base))
        objects.add_event(m, base, arguments.positional[0])
        return NONE
    if name in ("append", "extend", "add"):
        return _append_unknown(m, base, name, arguments)
    if name in ("get", "get_async", "map_to_host") and commands.canonical(base) in m.unknown_memory:
        memory = m.unknown_memory[commands.canonical(base)]
        if memory.kind != "host":
            return effects.unknown_array_get(m, base, span)
    if name == "get" and not arguments.positional:
        commands.everything_may_wait(m, span, name)  # as an Array's does
    if name == "setitem" and base in m.unknown_memory:
        return effects.run(m, api.METHODS["array"][name], arguments, span, base)
    if name == "build":
        return base
    if host.is_host(m, base):
        if name in host_api.WRITERS:
            host.write(m, base, span, f"{name}()")
            return NONE
        if name in host_api.QUIET_METHODS:
            return base if name in host_api.VIEWS else m.fresh("metadata")
        host.read(m, base, span, f"{name}()")
        return m.fresh("number")
    return None


def _append_unknown(m: Machine, base: AbstractValue, name: str, arguments: Arguments) -> AbstractValue:
    """`unknown.append(event)`: the list may be given to any later wait."""
    for value in arguments.values:
        for leaf in calls.leaves(m, value):
            if isinstance(leaf, Object) and leaf.kind == "event":
                leaf.model.escaped = True
    return NONE


def looks_like_launch(m: Machine, arguments: Arguments) -> bool:
    """Return whether a call of something unknown has the shape `kernel(queue, global_size, local_size, …)`."""
    if len(arguments.positional) < 3 or not commands.is_queue(m, arguments.positional[0]):
        return False
    second, third = arguments.positional[1], arguments.positional[2]
    sized = isinstance(second, TupleValue | Unknown | Phi) or (isinstance(second, Object) and second.kind == "list")
    local = third == NONE or isinstance(third, TupleValue | Phi) or (isinstance(third, Object) and third.kind == "list")
    if isinstance(third, Unknown):
        local = isinstance(second, TupleValue)
    return sized and local


# --- builtins and the standard library ------------------------------------------------------------------------

Handler = Callable[[Machine, "Arguments", p.Span], AbstractValue]


def _is_spread(value: AbstractValue) -> bool:
    return isinstance(value, Unknown) and value.key[0] == "spread"


def _first(arguments: Arguments) -> AbstractValue:
    return arguments.positional[0] if arguments.positional else NONE


def _list(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    if not arguments.positional:
        return m.list_of(())
    known = expressions.sequence(m, arguments.positional[0])
    if known is None:
        source = arguments.positional[0]
        made = m.list_of((Unknown(("spread", source)),))
        made.state["open"] = True
        if isinstance(source, Object) and source.kind == "list":
            return source
        return made
    return m.list_of(known)


def _tuple(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    known = expressions.sequence(m, _first(arguments)) if arguments.positional else ()
    return TupleValue(known) if known is not None else _first(arguments)


def _dict(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    made = Object("dict", {("key", k): v for k, v in arguments.keywords.items()})
    first = _first(arguments)
    if isinstance(first, Object) and first.kind == "dict":
        made.state = {**first.state, **made.state}
    elif arguments.positional or arguments.open_keywords:
        made.state["open"] = True
    return made


def _range(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    numbers = [a.value for a in arguments.positional if isinstance(a, Known) and isinstance(a.value, int)]
    if len(numbers) == len(arguments.positional) and numbers:
        try:
            return Known(range(*numbers))
        except (TypeError, ValueError):
            return m.fresh("range")
    start = arguments.positional[0] if len(arguments.positional) > 1 else Known(0)
    return Object("range", {"start": start, "step": (arguments.positional + [Known(1)] * 3)[2]})


def _len(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    first = _first(arguments)
    known = expressions.sequence(m, first)
    if known is not None and not any(isinstance(e, Phi) or e == ABSENT or _is_spread(e) for e in known):
        return Known(len(known))
    if isinstance(first, Known) and isinstance(first.value, str | bytes):
        return Known(len(first.value))
    return Unknown(("len", first)) if isinstance(first, Unknown) else m.fresh("len")


def _getattr(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    if len(arguments.positional) >= 2 and isinstance(arguments.positional[1], Known):
        return attributes.get(m, arguments.positional[0], str(arguments.positional[1].value), span)
    base = _first(arguments)
    if isinstance(base, Object) and base.kind == "program" and len(arguments.positional) > 1:
        key = ("kernel", arguments.positional[1])
        if key not in base.state:
            base.state[key] = Object("kernel", {"arguments": {}}, site=m.site(span), name="a kernel")
        found: AbstractValue = base.state[key]
        return found
    return m.fresh("getattr")


def _setattr(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    if len(arguments.positional) == 3 and isinstance(arguments.positional[1], Known):
        attributes.put(m, arguments.positional[0], str(arguments.positional[1].value), arguments.positional[2])
    return NONE


def _reader(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    for value, where in zip(arguments.positional, arguments.spans, strict=False):
        effects.use(m, value, where, "a call")
    return m.fresh("builtin")


def _absolute(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    first = _first(arguments)
    if isinstance(first, Object) and first.kind == "array":
        return objects.array_operation(m, [first], span, "abs")
    return _reader(m, arguments, span)


def _quiet(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    return m.fresh("builtin")


def _question(ask: Callable[[AbstractValue, AbstractValue], AbstractValue]) -> Handler:
    def handle(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
        return ask(*arguments.positional) if len(arguments.positional) == 2 else m.fresh("builtin")

    return handle


def _type(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    return kinds.type_of(arguments.positional[0]) if len(arguments.positional) == 1 else m.fresh("builtin")


def _number(convert: Callable[[str], object]) -> Handler:
    def handle(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
        first = _first(arguments)
        effects.use(m, first, arguments.spans[0] if arguments.spans else span, "a conversion")
        if isinstance(first, Known) and not arguments.keywords and len(arguments.positional) == 1:
            try:
                return Known(convert(first.value))
            except (TypeError, ValueError, OverflowError):
                return m.fresh("number")
        return Unknown(("op", "number", first)) if isinstance(first, Unknown) else m.fresh("number")

    return handle


def _identity(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    return _first(arguments)


def _enumerate(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    known = expressions.sequence(m, _first(arguments))
    if known is not None:
        return m.list_of([TupleValue((Known(i), e)) for i, e in enumerate(known)])
    return Object("enumerate", {"of": _first(arguments)})


def _zip(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    parts = [expressions.sequence(m, a) for a in arguments.positional]
    if parts and all(part is not None for part in parts):
        return m.list_of([TupleValue(group) for group in zip(*parts, strict=False)])
    return Object("zip", {"of": TupleValue(tuple(arguments.positional))})


def _open(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    first = _first(arguments)
    if isinstance(first, Object) and first.kind == "path":
        return first
    if isinstance(first, Known) and isinstance(first.value, str) and not first.skeleton:
        return path_object(first.value)
    return m.fresh("file")


def _path_join(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    parts = [a.state["path"] if isinstance(a, Object) and a.kind == "path" else a for a in arguments.positional]
    if parts and all(isinstance(a, Known) and isinstance(a.value, str) and not a.skeleton for a in parts):
        return Known(posixpath.join(*(a.value for a in parts if isinstance(a, Known))))
    return m.fresh("path")


def _dirname(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    first = _first(arguments)
    if isinstance(first, Known) and isinstance(first.value, str):
        return Known(posixpath.dirname(first.value))
    return m.fresh("path")


def _path(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    joined = _path_join(m, arguments, span)
    return path_object(joined.value) if isinstance(joined, Known) else m.fresh("path")


def _resources(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    """`importlib.resources.files(package)`: the folder of a package, when it is the module's own or a known one."""
    first = _first(arguments)
    here = posixpath.dirname(m.frame.scope.path)
    if isinstance(first, Known) and isinstance(first.value, str) and first.value != "__main__":
        last = first.value.rpartition(".")[2]
        head, found, _ = here.rpartition(f"/{last}")
        return path_object(f"{head}{found}" if found else posixpath.join(here, last))
    return path_object(here)


def _resource_file(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    """`pkg_resources.resource_string(package, name)`, `importlib.resources.read_text(package, name)`."""
    folder = _resources(m, arguments, span)
    name = arguments.positional[1] if len(arguments.positional) > 1 else NONE
    if isinstance(folder, Object) and isinstance(name, Known):
        text = m.loader.text(posixpath.join(folder.state["path"].value, str(name.value)), m.frame.scope.path)
        if text is not None:
            return Known(text)
    return m.fresh("resource")


def _resource_name(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    folder = _resources(m, arguments, span)
    name = arguments.positional[1] if len(arguments.positional) > 1 else NONE
    if isinstance(folder, Object) and isinstance(name, Known):
        return Known(posixpath.join(folder.state["path"].value, str(name.value)))
    return m.fresh("resource")


def _partial(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    return m.fresh("partial")


def _dedent(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    first = _first(arguments)
    if isinstance(first, Known) and isinstance(first.value, str):
        return Known(textwrap.dedent(first.value), first.skeleton)
    return m.fresh("text")


def _str(m: Machine, arguments: Arguments, span: p.Span) -> AbstractValue:
    first = _first(arguments)
    if isinstance(first, Known):
        return Known(str(first.value), first.skeleton)
    if isinstance(first, Object) and first.kind == "path":
        known: AbstractValue = first.state["path"]
        return known
    effects.use(m, first, span, "text")
    return m.fresh("text")


BUILTINS: dict[str, Handler] = {
    "list": _list,
    "set": _list,
    "frozenset": _list,
    "collections.deque": _list,
    "tuple": _tuple,
    "dict": _dict,
    "range": _range,
    "len": _len,
    "getattr": _getattr,
    "setattr": _setattr,
    "enumerate": _enumerate,
    "zip": _zip,
    "open": _open,
    "io.open": _open,
    "int": _number(int),
    "float": _number(float),
    "bool": _number(bool),
    "str": _str,
    "iter": _identity,
    "sorted": _list,
    "reversed": _list,
    "os.path.join": _path_join,
    "os.path.dirname": _dirname,
    "os.path.split": _quiet,
    "os.path.abspath": _identity,
    "os.path.realpath": _identity,
    "os.path.normpath": _identity,
    "os.fspath": _str,
    "pathlib.Path": _path,
    "pathlib.PurePath": _path,
    "importlib.resources.files": _resources,
    "importlib_resources.files": _resources,
    "importlib.resources.read_text": _resource_file,
    "pkg_resources.resource_string": _resource_file,
    "pkg_resources.resource_filename": _resource_name,
    "pkgutil.get_data": _resource_file,
    "textwrap.dedent": _dedent,
    "inspect.cleandoc": _dedent,
    "functools.partial": _partial,
    "copy.copy": _identity,
    "string.Template": _identity,
    "mako.template.Template": _identity,
    "jinja2.Template": _identity,
    "print": _reader,
    "repr": _reader,
    "sum": _reader,
    "min": _reader,
    "max": _reader,
    "any": _reader,
    "all": _reader,
    "abs": _absolute,
    "bytes": _reader,
    "bytearray": _reader,
    "isinstance": _question(kinds.is_instance),
    "hasattr": _question(kinds.has_attribute),
    "type": _type,
    **dict.fromkeys(("id", "callable", "issubclass", "vars", "hash"), _quiet),
}
"""Functions whose result matters to the analysis, by dotted name (without `builtins.`)."""
