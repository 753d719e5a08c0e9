"""Calls in C and C++: API functions, functions of the tree, constructors, methods, the library, what is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api import c as c_api
from kexec_lint.opencl.api import hpp
from kexec_lint.opencl.api import native as api
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.frontend.c import INCLUDED_TEXT
from kexec_lint.opencl.interpreter import calls, commands, expressions, host, library
from kexec_lint.opencl.interpreter import effects as shared
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.native import (
    construct,
    containers,
    effects,
    host_calls,
    making,
    operands,
    pointers,
    scopes,
    sources,
)
from kexec_lint.opencl.interpreter.values import (
    NONE,
    AbstractValue,
    ClassValue,
    FunctionValue,
    Known,
    Object,
    Phi,
    Unknown,
)

_SYNC = re.compile(
    r"(?:^|_|[a-z])(?:finish|sync|synchroni[sz]e|wait|barrier|join|drain|complete)(?:$|_|[A-Z])", re.IGNORECASE
)
"""Names of functions that, wherever they are, may wait for anything."""

SIZES = {
    **dict.fromkeys(("char", "cl_char", "cl_uchar", "unsigned char", "uint8_t", "int8_t", "bool"), 1),
    **dict.fromkeys(("short", "cl_short", "cl_ushort", "uint16_t", "int16_t", "cl_half"), 2),
    **dict.fromkeys(("int", "unsigned", "unsignedint", "float", "cl_int", "cl_uint", "cl_float", "int32_t"), 4),
    **dict.fromkeys(("uint32_t",), 4),
    **dict.fromkeys(("double", "cl_long", "cl_ulong", "cl_double", "size_t", "int64_t", "uint64_t"), 8),
}
_HANDLES = frozenset({"cl_mem", "cl_sampler", "void*", "cl_event", "cl::Buffer", "cl_mem*"})


def call(m: Machine, node: p.Call) -> AbstractValue:
    """Evaluate a call."""
    result = place_or_value(m, node)
    return pointers.load(m, result, node.span) if isinstance(result, pointers.Reference) else result


def place_or_value(m: Machine, node: p.Call) -> AbstractValue:
    """Evaluate a call; what a function of the tree returns by reference stays a reference."""
    match node.func:
        case p.Name(id="sizeof"):
            return _sizeof(m, node)
        case p.Name(id="new[]"):
            kind = node.args[0].value
            made = host.make(m, node.span, "host memory")
            return scopes.allocated(m, f"{kind.value}*" if isinstance(kind, p.Const) else "", made)
        case p.Name(id=name):
            return _named(m, name, node)
        case p.Attr(base=base, name=name):
            return _method(m, base, name, node)
        case p.Lambda():
            function = expressions.evaluate(m, node.func)
            return calls.apply(m, function, calls.Arguments(), node.span)
    callee = expressions.evaluate(m, node.func)
    return _apply(m, callee, "", node)


def _sizeof(m: Machine, node: p.Call) -> AbstractValue:
    given = node.args[0].value if node.args else None
    text = str(given.value) if isinstance(given, p.Const) else ""
    if text in SIZES:
        return Known(SIZES[text])
    if text in _HANDLES:
        return Known(8)
    type_ = m.frame.types.get(text)
    if type_ is not None:
        if api.kind_of(type_) == "scalar" and not type_.endswith(("*", "]")):
            size = SIZES.get(type_.replace(" ", ""))
            return Known(size) if size is not None and size != 8 else Known(4)
        return Unknown(("sizeof", text)) if api.kind_of(type_) is None else Known(8)
    return Known(4) if api.kind_of(text) == "scalar" and text and not text.endswith("*") else Unknown(("sizeof", text))


def arguments_of(m: Machine, node: p.Call, callee: AbstractValue | None = None) -> calls.Arguments:
    """Evaluate arguments; what a function of the tree takes by reference is given by its address."""
    references: set[int] | None = None
    if isinstance(callee, FunctionValue):
        shift = 1 if callee.bound is not None else 0
        references = {
            number
            for number, param in enumerate(callee.node.params[shift:])
            if param.type is not None and param.type.endswith("&") and not param.type.endswith("&&")
        }
    if not references:
        given = [expressions.evaluate(m, arg.value) for arg in node.args]
        return calls.Arguments(given, {}, [arg.value.span for arg in node.args])
    made = calls.Arguments()
    for number, arg in enumerate(node.args):
        if number in references and isinstance(arg.value, p.Name | p.Attr | p.Item):
            value = by_reference(m, arg.value)
        else:
            value = expressions.evaluate(m, arg.value)
        made.positional.append(value)
        made.spans.append(arg.value.span)
    return made


def by_reference(m: Machine, node: p.Value) -> AbstractValue:
    """Return a reference to a variable; objects with an identity stand for themselves."""
    value = expressions.evaluate(m, node)
    if isinstance(value, Object) and value.kind in ("list", "dict", "host", "instance", "map", "queue", "kernel"):
        return value
    at = address(m, node)
    if isinstance(at, pointers.Address):
        return pointers.Reference(at.state, at.key, at.base, at.index, at.type)
    return value


def address(m: Machine, node: p.Value) -> AbstractValue:
    """Return `&node`."""
    match node:
        case p.Name(id=name):
            state = scopes.state_of(m, name)
            if state is None:
                found = scopes.find(m, name, node.span)
                if isinstance(found, FunctionValue):
                    return found
                state = m.frame.scope.frame.variables
                if name not in state:
                    m.heap.write(state, name, found or Unknown(("name", m.frame.scope.path, name)))
            held = state.get(name)
            if isinstance(held, pointers.Reference):
                return pointers.Address(held.state, held.key, held.base, held.index)
            if isinstance(held, Object) and (held.kind == "host" or pointers.is_array(held)):
                return pointers.pointer_to(held)
            return pointers.Address(state, name)
        case p.Attr(base=base, name=name):
            owner = pointers.target(expressions.evaluate(m, base))
            if isinstance(owner, pointers.Address):
                owner = pointers.load(m, owner)
            if pointers.is_array(owner):
                owner = pointers.element(m, owner, Known(0), node.span)
            if isinstance(owner, Object) and owner.kind in ("host", "map"):
                return owner
            state = m.state_of(owner)
            if state is None:
                return m.fresh("address")
            if not isinstance(state.get(name), AbstractValue):
                state[name] = pointers.member(m, owner, name, node.span)
            held = state.get(name)
            if isinstance(held, Object) and (held.kind == "host" or pointers.is_array(held)):
                return pointers.pointer_to(held)
            return pointers.Address(state, name)
        case p.Item(base=base, index=index):
            inner = expressions.evaluate(m, base)
            at = expressions.evaluate(m, index)
            while isinstance(inner, pointers.Address) and inner.base is None and at == Known(0):
                return inner
            if isinstance(inner, pointers.Address) and inner.base is not None and inner.index is not None:
                return pointers.to_element(inner.base, expressions.binary(m, "+", inner.index, at, node.span))
            if isinstance(inner, Object) and inner.kind in ("list", "dict"):
                return pointers.to_element(inner, at)
            if isinstance(inner, Object) and inner.kind in ("host", "map"):
                return host.view(m, inner, part=at != Known(0))
            if isinstance(inner, Unknown):
                if host.is_host(m, inner):
                    return inner
                state = m.state_of(inner)
                key = expressions.place(at)
                if state is not None and key in state:
                    return pointers.Address(state, key)
                if state is not None:
                    return UnknownElement(m, inner, at)
            return inner
        case p.Operation(op="deref", operands=(inner_node,)):
            return expressions.evaluate(m, inner_node)
        case p.Operation(op="cast", operands=(*_, inner_node)):
            return address(m, inner_node)
        case p.Call(func=p.Attr(base=base, name=name)):
            owner = pointers.target(expressions.evaluate(m, base))
            found = containers.address_of_element(owner, name, arguments_of(m, node))
            if found is not None:
                return found
    value = place_or_value(m, node) if isinstance(node, p.Call) else expressions.evaluate(m, node)
    if isinstance(value, pointers.Reference):
        return pointers.Address(value.state, value.key, value.base, value.index)
    if isinstance(value, pointers.Address):
        return value
    state = {"temporary": value}
    return pointers.Address(state, "temporary")


def UnknownElement(m: Machine, base: Unknown, index: AbstractValue) -> pointers.Address:
    """Return the address of an element of an array that cannot be seen."""
    state = m.unknown_state.setdefault(base, {})
    key = expressions.place(index)
    state[key] = Unknown(("item", base, index))
    return pointers.Address(state, key)


# --- functions ------------------------------------------------------------------------------------------------


def _named(m: Machine, name: str, node: p.Call) -> AbstractValue:
    callee = scopes.find(m, name.partition("<")[0] if "::" not in name else name, node.span)
    if isinstance(callee, FunctionValue | ClassValue):
        return _apply(m, callee, name, node)
    row = c_api.FUNCTIONS.get(name)
    if row is not None:
        return effects.run(m, row, arguments_of(m, node), node.span)
    if construct.is_type(m, name):
        return construct.construct(m, name, arguments_of(m, node), node.span)
    if callee is not None:
        return _apply(m, callee, name, node)
    if name == INCLUDED_TEXT:
        return sources.included(m, node)
    wrapped = _wrapped(name, len(node.args))
    if wrapped is not None:
        return _wrapper(m, wrapped, node)
    other = m.loader.elsewhere(m.frames[-1].scope, name.rpartition("::")[2], m) if not _known(name) else None
    if other is not None and isinstance(other.node, p.Function) and other.scope.relevance.matters(other.node):
        return _apply(m, other, name, node)
    scope, _, last = name.rpartition("::")
    if last in hpp.FREE and (scope == "cl" or m.frame.scope.opens_cl):
        arguments = arguments_of(m, node)
        free = hpp.FREE[last]
        if free.does == "transfer":
            return construct.transfer(m, arguments, node.span)
        receiver = None if free.does in ("wait", "finish_default", "nothing") else Unknown(("default queue",))
        return effects.run(m, free, arguments, node.span, receiver)
    if scope in ("compute", "boost::compute"):  # an algorithm: many of them wait for their queue
        arguments = arguments_of(m, node)
        commands.everything_may_wait(m, node.span, last)
        return unknown(m, last, arguments, node.span)
    return _apply(m, Unknown(("name", m.frames[-1].scope.path, name)), name, node)


def _known(name: str) -> bool:
    """Return whether a name is one of the C or C++ libraries: no file of the tree defines it."""
    last = name.rpartition("::")[2]
    return name.startswith(("std::", "cl::", "boost::")) or host_calls.knows(last)


@lru_cache(maxsize=4096)
def _wrapped(name: str, count: int) -> tuple[CallModel, int] | None:
    """Return the row of a call that a wrapper is named for, and how many arguments it takes before the row's own."""
    match = c_api.WRAPPED.match(name)
    row = c_api.FUNCTIONS.get(match[1]) if match is not None else None
    if row is None or row.does in ("query", "nothing"):
        return None
    wanted = len(row.params)
    if count == wanted or (count == wanted - 1 and row.params[-1:] == ("err",)):
        return row, 0
    return (row, 1) if count == wanted + 1 else None


def _wrapper(m: Machine, wrapped: tuple[CallModel, int], node: p.Call) -> AbstractValue:
    """`hc_clEnqueueReadBuffer(ctx, queue, …)`: the call that it is named for, behind a context."""
    row, shift = wrapped
    arguments = arguments_of(m, node)
    given = calls.Arguments(arguments.positional[shift:], {}, arguments.spans[shift:])
    if shift and row.params and row.params[-1] == "err":
        return effects.run(m, row, given, node.span)
    result = effects.run(m, row, given, node.span)
    if row.does in ("queue", "buffer", "kernel", "program", "context") and given.positional:
        operands.hand_out(m, given.positional[-1], result, node.span)
        return making.SUCCESS
    return result


def _apply(m: Machine, callee: AbstractValue, name: str, node: p.Call) -> AbstractValue:
    span = node.span
    if isinstance(callee, FunctionValue):
        callee = _overload(callee, len(node.args))
        model = library.user_model(m, callee)
        arguments = arguments_of(m, node, callee)
        if model is not None:
            return shared.run(m, model, arguments, span)
        return _enter(m, callee, arguments, span)
    if isinstance(callee, ClassValue):
        return calls.instantiate(m, construct.completed(m, callee), arguments_of(m, node), span)
    arguments = arguments_of(m, node)
    if isinstance(callee, Phi):
        functions = [o for _, o in callee.options if isinstance(o, FunctionValue | Object)]
        if len(functions) == 1:
            callee = functions[0]
    if isinstance(callee, FunctionValue):
        return _enter(m, callee, arguments, span)
    if isinstance(callee, Object):
        if callee.kind == "functor":
            return construct.functor_call(m, callee, arguments, span)
        if callee.kind == "kernel" and arguments.positional:
            return construct.functor_call(m, Object("functor", {"kernel": callee}), arguments, span)
        if callee.kind == "instance" and callee.cls is not None and (found := callee.cls.lookup("__call__")):
            method, owner = found
            bound = FunctionValue(method, owner.scope, owner.closure, callee, owner)
            return _enter(m, bound, arguments, span)
    last = name.rpartition("::")[2].partition("<")[0]
    known = host_calls.call(m, last, arguments, span)
    if known is not None:
        return known
    model = library.user_row(m, name) if name else None
    if model is not None:
        return shared.run(m, model, arguments, span)
    return unknown(m, last, arguments, span)


def _overload(function: FunctionValue, count: int) -> FunctionValue:
    """Return the function of that name that takes so many arguments; the given one unless exactly one does."""
    node = function.node
    if not isinstance(node, p.Function) or _takes(node, count):
        return function
    found = function.owner.node.body if function.owner is not None else function.scope.bindings.get(node.name, ())
    fitting = [s for s in found if isinstance(s, p.Function) and s.name == node.name and _takes(s, count)]
    return replace(function, node=fitting[0]) if len(fitting) == 1 else function


def _takes(node: p.Function, count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    params = [param for param in node.params if param.name != "this"]
    least = sum(param.default is None and not param.star for param in params)
    return least <= count and (count <= len(params) or any(param.star for param in params))


def _enter(m: Machine, function: FunctionValue, arguments: calls.Arguments, span: p.Span) -> AbstractValue:
    """Enter a function of the tree; one that is not worth it may still write through its pointers."""
    node = function.node
    if isinstance(node, p.Function) and not function.scope.relevance.enter(node) and function.closure is None:
        _havoc(m, arguments, span)
        return m.fresh("irrelevant")
    if calls.too_deep(m, node):
        _havoc(m, arguments, span)
    return calls.enter(m, function, arguments, span)


def _havoc(m: Machine, arguments: calls.Arguments, span: p.Span) -> None:
    """Code that is not followed gets these pointers: what they lead to may be read, and may change."""
    for value, where in zip(arguments.positional, arguments.spans, strict=False):
        at = where if where.row else span
        if pointers.is_array(value):
            assert isinstance(value, Object)
            m.heap.write(value.state, "open", True)
        elif host.is_host(m, value):
            host.access(m, value, at, "a call", reads=True, writes=False, certain=False, role="passed")
        elif isinstance(value, pointers.Address) and not (isinstance(value, pointers.Reference)):
            held = value.state.get(value.key) if value.base is None else NONE
            if isinstance(held, Object) and held.kind in ("host", "list", "dict", "instance", "queue", "memory"):
                continue
            if value.base is None:
                m.heap.write(value.state, value.key, m.fresh("written", str(value.key)))
            elif isinstance(value.base, Object) and value.base.kind == "dict":
                pointers.store(m, value, m.fresh("written"), span)


def unknown(m: Machine, name: str, arguments: calls.Arguments, span: p.Span) -> AbstractValue:
    """A function that cannot be seen: it may wait for what it can reach, and write through what it is given."""
    if name and _synchronises(name):
        commands.everything_may_wait(m, span, name)
    escaping = [_resolved(m, value) for value in arguments.positional]
    if _reaches_a_queue(m, escaping):
        calls.escape(m, escaping)
        commands.everything_may_wait(m, span, name)
    else:
        calls.opaque(m, escaping, span, what=name)
    _havoc(m, arguments, span)
    for value in escaping:
        if isinstance(value, Object) and value.kind in ("list", "dict"):
            m.heap.write(value.state, "open", True)
        elif isinstance(value, Object) and value.kind == "event":
            value.state["given back"] = True
    return m.fresh("result", name)


@lru_cache(maxsize=4096)
def _synchronises(name: str) -> bool:
    return _SYNC.search(name) is not None


def _resolved(m: Machine, value: AbstractValue) -> AbstractValue:
    seen = 0
    while isinstance(value, pointers.Address) and seen < 4:
        value = pointers.load(m, value)
        seen += 1
    return value


def _reaches_a_queue(m: Machine, values: list[AbstractValue]) -> bool:
    """Return whether unseen code can get at a queue in use: it is global, a member, or inside what it is given."""
    if not m.commands or m.scratch:
        return False
    receiver = m.frame.receiver
    owners = [value for value in values if isinstance(value, Unknown)]
    for unknown_queue, queue in m.unknown_queues.items():
        if queue not in m.lanes:
            continue
        root = unknown_queue
        while isinstance(root, Unknown) and root.key[0] in ("attr", "item", "deref"):
            if root in owners:
                return True
            root = root.key[1]
        if root in owners or (isinstance(root, Unknown) and root.key[0] in ("name", "object", "fresh")):
            return True
    if isinstance(receiver, Object) and _hold_queue(receiver.state.values()):
        return True
    return _hold_queue(m.frame.scope.frame.variables.values()) or _hold_queue(values)


def _hold_queue(values: Iterable[object], depth: int = 2) -> bool:
    """Return whether a queue is among values, or inside them."""
    for value in values:
        if value.__class__ is Object:
            assert isinstance(value, Object)
            if value.kind == "queue":
                return True
            inner = depth and value.kind in ("instance", "list", "dict")
            if inner and (_hold_queue(value.state.values(), depth - 1) or _hold_queue(value.items(), depth - 1)):
                return True
        elif value.__class__ is Phi:
            assert isinstance(value, Phi)
            if _hold_queue([option for _, option in value.options], depth):
                return True
    return False


# --- methods --------------------------------------------------------------------------------------------------


def _method(m: Machine, base_node: p.Value, name: str, node: p.Call) -> AbstractValue:
    wrapped = _wrapped(name, len(node.args))
    if wrapped is not None:
        expressions.evaluate(m, base_node)
        return _wrapper(m, wrapped, node)
    base = pointers.target(expressions.evaluate(m, base_node))
    if isinstance(base, pointers.Address):
        base = pointers.load(m, base)
    if isinstance(base, Phi):
        real = [o for _, o in base.options if o != NONE]
        kinds = {o.kind if isinstance(o, Object) else "?" for o in real}
        if len(real) == 1 or (len(kinds) == 1 and kinds <= {"list", "host", "event"} and name not in ("push_back",)):
            results = [_on(m, o, name, node) for o in real[:1]]
            return results[0]
    return _on(m, base, name, node)


def _on(m: Machine, base: AbstractValue, name: str, node: p.Call) -> AbstractValue:
    span = node.span
    if isinstance(base, Object):
        if base.kind == "instance":
            return _instance_method(m, base, name, node)
        arguments = arguments_of(m, node)
        if base.kind in ("host", "map") and not pointers.is_cell(base):
            return containers.host_method(m, base, name, arguments, span)
        if base.kind in ("list", "dict"):
            return containers.list_method(m, base, name, arguments, span)
        row = api.METHODS.get(base.kind, {}).get(name)
        if row is not None:
            return effects.run(m, row, arguments, span, base)
        if base.kind == "memory" and name in ("createSubBuffer",):
            bound = calls.Arguments([base, *arguments.positional])
            return effects.run(m, c_api.FUNCTIONS["clCreateSubBuffer"], bound, span)
        if name in ("get", "operator()", "operator->", "value"):
            return base
        if name == "getInfo":
            return m.fresh("info")
        if base.kind == "functor":
            return base
        calls.opaque(m, [base, *arguments.positional], span, what=name)
        return m.fresh("method")
    if isinstance(base, Unknown):
        found = _method_by_name(m, base, name, node)
        if found is not None:
            return found
    arguments = arguments_of(m, node)
    member = pointers.member(m, base, name, span) if isinstance(base, Unknown) else NONE
    if isinstance(member, FunctionValue | Object) and not isinstance(member, Object | Unknown):
        return calls.apply(m, member, arguments, span)
    if name in ("push_back", "emplace_back", "push", "insert", "add", "append"):
        calls.escape(m, [_resolved(m, value) for value in arguments.positional])
        for value in arguments.positional:
            found_value = _resolved(m, value)
            if isinstance(found_value, Object) and found_value.kind == "event":
                found_value.model.escaped = True
                found_value.state["given back"] = True
        return m.fresh("appended")
    if host.is_host(m, base):
        if name in containers.ITERATORS:
            return base
        made = Object("host", {}, model=host.memory(m, base))
        return containers.host_method(m, made, name, arguments, span)
    if name in containers.ITERATORS and name not in ("end", "cend"):
        return base
    if name in ("size", "empty", "length"):
        return Unknown(("size", base))
    if commands.is_queue(m, base):
        commands.everything_may_wait(m, span, name)
    return unknown(m, name, arguments, span)


def _method_by_name(m: Machine, base: Unknown, name: str, node: p.Call) -> AbstractValue | None:
    """Methods that mean one thing in OpenCL host code, whatever is known of their receiver."""
    span = node.span
    if name in api.METHODS["queue"] and (name.startswith("enqueue") or name in ("finish", "flush")):
        if (
            name in ("finish", "flush") and not commands.is_queue(m, base) and base.key[0] in ("param", "name", "attr")
        ) and not _named_queue(base):
            commands.everything_may_wait(m, span, name)
        return effects.run(m, api.METHODS["queue"][name], arguments_of(m, node), span, base)
    if name == "wait" and not node.args:
        commands.wait_for(m, m.list_of([base]), span)
        commands.everything_may_wait(m, span, name)
        return making.SUCCESS
    if name in ("setArg", "set_arg") and len(node.args) == 2:
        return effects.run(m, api.METHODS["kernel"][name], arguments_of(m, node), span, base)
    if name == "getProfilingInfo" or name == "setCallback" or name == "setStatus":
        return effects.run(m, api.METHODS["event"][name], arguments_of(m, node), span, base)
    return None


def _named_queue(base: Unknown) -> bool:
    return "queue" in base.name.lower() or base.name.lower() in ("q", "cq")


def _instance_method(m: Machine, base: Object, name: str, node: p.Call) -> AbstractValue:
    found = base.cls.lookup(name) if base.cls is not None else None
    if found is None and base.cls is not None:
        found = construct.completed(m, base.cls).lookup(name)
    if found is not None:
        method, owner = found
        static = any(isinstance(mark, p.Name) and mark.id == "staticmethod" for mark in method.decorators)
        bound = FunctionValue(method, owner.scope, owner.closure, None if static else base, owner)
        return _apply(m, bound, name, node)
    held = base.state.get(name)
    if isinstance(held, FunctionValue):
        return _apply(m, held, name, node)
    row = api.METHODS["queue"].get(name)
    arguments = arguments_of(m, node)
    if row is not None and name.startswith("enqueue"):
        return effects.run(m, row, arguments, node.span, Unknown(("object", id(base))))
    if base.cls is None and name in ("finish", "wait"):
        commands.everything_may_wait(m, node.span, name)
        return m.fresh("method")
    calls.opaque(m, [base, *arguments.positional], node.span, what=name)
    _havoc(m, arguments, node.span)
    return m.fresh("method")


__all__ = ["address", "call", "g"]
