"""Evaluates the value nodes of a host program to abstract values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from kexec_lint.opencl import program as p
from kexec_lint.opencl.graph import Guard
from kexec_lint.opencl.interpreter import attributes, calls, effects, event_lists, host, kinds, queue_properties
from kexec_lint.opencl.interpreter.machine import Exhausted, Flow, Machine
from kexec_lint.opencl.interpreter.values import (
    ABSENT,
    NONE,
    AbstractValue,
    BoundApi,
    ClassValue,
    External,
    FunctionValue,
    Known,
    ModuleValue,
    Object,
    Phi,
    TupleValue,
    Unknown,
)

HOLE = "kexec_hole"
"""The identifier that stands for a part of a kernel source that could not be computed."""

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "|": operator.or_,
    "&": operator.and_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARISONS = frozenset({"<", "<=", "==", "!=", ">", ">=", "is", "is not", "in", "not in"})
_LARGEST = 1 << 62
_LONGEST = 1 << 20


def evaluate(m: Machine, node: p.Value) -> AbstractValue:
    """Return what a value node may evaluate to, carrying out its calls on the way."""
    m.steps += 1  # Machine.tick, without the call
    if m.steps > m.limit:
        raise Exhausted
    return m.frames[-1].scope.evaluators[node.__class__](m, node)


_PLAIN = frozenset({Known, Unknown, External, FunctionValue, ClassValue, ModuleValue, BoundApi, TupleValue})
"""Values that a variable holds as they are: no import to be carried out, no list whose reads count."""


def _constant(m: Machine, node: p.Const) -> AbstractValue:
    return Known(node.value)


def _name(m: Machine, node: p.Name) -> AbstractValue:
    frame = m.frames[-1]
    found = frame.variables.get(node.id)
    if found is None and frame.parent is None:  # most of the others are a module's
        found = frame.scope.frame.variables.get(node.id)
    return found if found.__class__ in _PLAIN and not frame.globals_declared else lookup(m, node.id)  # type: ignore[return-value]


def _attribute(m: Machine, node: p.Attr) -> AbstractValue:
    return attributes.get(m, evaluate(m, node.base), node.name, node.span)


def _bind(m: Machine, node: p.Bind) -> AbstractValue:
    from kexec_lint.opencl.interpreter.statements import assign

    result = evaluate(m, node.value)
    assign(m, node.target, result, node.span)
    return result


def _display(m: Machine, node: p.Seq) -> AbstractValue:
    elements = elements_of(m, node.items)
    return TupleValue(tuple(elements)) if node.kind == "tuple" else m.list_of(elements, node.kind)


def _slice(m: Machine, node: p.Slice) -> AbstractValue:
    ends = tuple(NONE if e is None else evaluate(m, e) for e in (node.lower, node.upper, node.step))
    return TupleValue((Known("slice"), *ends))


def _opaque(m: Machine, node: p.Opaque) -> AbstractValue:
    values = [evaluate(m, part) for part in node.parts]
    if node.kind in ("yield", "yield from", "await"):
        if node.kind != "await":
            m.frame.yields = True
            m.frame.temporaries.extend(values)
        calls.opaque(m, values, node.span, everything=True)
        if node.kind == "await" and values:
            return values[0]
    return m.fresh(node.kind)


def _choice(m: Machine, node: p.Choice) -> AbstractValue:
    test = evaluate(m, node.test)
    tested(m, test, node.test.span)
    return choice(m, test, lambda: evaluate(m, node.then), lambda: evaluate(m, node.orelse))


EVALUATORS: dict[type[p.Value], Callable[[Machine, Any], AbstractValue]] = {
    p.Const: _constant,
    p.Name: _name,
    p.Attr: _attribute,
    p.Call: lambda m, node: calls.call(m, node),
    p.Item: lambda m, node: item(m, evaluate(m, node.base), evaluate(m, node.index), node.span),
    p.Seq: _display,
    p.Operation: lambda m, node: operation(m, node.op, node.operands, node),
    p.Choice: _choice,
    p.Bind: _bind,
    p.Lambda: lambda m, node: FunctionValue(node, m.frame.scope, m.frame),
    p.Mapping: lambda m, node: mapping(m, node.items),
    p.Format: lambda m, node: text(m, [evaluate(m, part) for part in node.parts], node.span),
    p.Comprehension: lambda m, node: comprehension(m, node),
    p.Star: lambda m, node: evaluate(m, node.value),
    p.Slice: _slice,
    p.Opaque: _opaque,
}
"""What evaluates each kind of value; C and C++ have a table of their own."""


def lookup(m: Machine, name: str) -> AbstractValue:
    """Return the value of a name: local, enclosing, module, builtin."""
    frame = m.frame
    if name not in frame.globals_declared:
        current: Any = frame
        while current is not None:
            if name in current.variables:
                found = m.loader.bound(current.variables, name, m)
                event_lists.note_read(found)
                return found
            current = current.parent
    value = frame.scope.lookup(name, m)
    return value if value is not None else Unknown(("name", frame.scope.path, name))


def elements_of(m: Machine, items: tuple[p.Value, ...]) -> list[AbstractValue]:
    """Evaluate the items of a display, spreading `*value` where its elements are known."""
    elements: list[AbstractValue] = []
    for node in items:
        if isinstance(node, p.Star):
            value = evaluate(m, node.value)
            spread = sequence(m, value)
            elements.extend(spread if spread is not None else [Unknown(("spread", value))])
        else:
            elements.append(evaluate(m, node))
    return elements


def sequence(m: Machine, value: AbstractValue) -> tuple[AbstractValue, ...] | None:
    """Return the elements of a list, set, tuple, string or dict (its keys), None if unknown."""
    match value:
        case TupleValue(items=items) if not (items and items[0] == Known("slice")):
            return items
        case Object(kind="list" | "set" | "dict") if value.state.get("open") or "make" in value.state:
            return None
        case Object(kind="list" | "set"):
            return tuple(e for e in value.items() if e != ABSENT)
        case Object(kind="dict"):
            return tuple(Known(key) for kind, key in _pairs(value) if kind == "key")
        case Known(value=tuple() | list() as items):
            return tuple(Known(i) for i in items)
        case Known(value=range() as numbers) if len(numbers) <= 64:
            return tuple(Known(i) for i in numbers)
    return None


def _pairs(value: Object) -> list[tuple[str, Any]]:
    return [key for key in value.state if isinstance(key, tuple) and len(key) == 2]


def mapping(m: Machine, pairs: tuple[tuple[p.Value | None, p.Value], ...]) -> Object:
    """Evaluate a dict display."""
    result = Object("dict")
    for key_node, value_node in pairs:
        value = evaluate(m, value_node)
        if key_node is None:
            if isinstance(value, Object) and value.kind == "dict":
                result.state.update(value.state)
            else:
                result.state["open"] = True
            continue
        result.state[place(evaluate(m, key_node))] = value
    return result


def place(index: AbstractValue) -> tuple[str, Any]:
    """Return the state key under which an element with this index is stored."""
    return ("key", index.value) if isinstance(index, Known) and _hashable(index.value) else ("index", index)


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def item(m: Machine, base: AbstractValue, index: AbstractValue, span: p.Span) -> AbstractValue:
    """Return `base[index]`; reading an element of a host array is a host access."""
    match base:
        case Phi():
            return m.merge([(guard, item(m, option, index, span)) for guard, option in base.options if option != NONE])
        case TupleValue(items=items):
            return _element(m, items, index, lambda: m.fresh("item"))
        case Known(value=str() | bytes() | tuple() as constant) if isinstance(index, Known):
            try:
                return Known(constant[index.value])
            except (TypeError, IndexError, KeyError):
                return m.fresh("item")
        case Object(kind="list"):
            if "make" in base.state:
                return _made(m, base, index)
            if base.state.get("open"):
                return _opened(m, base, index)
            return _element(m, base.items(), index, lambda: _opened(m, base, index))
        case Object(kind="dict" | "instance" | "environment"):
            key = place(index)
            if key in base.state:
                found: AbstractValue = base.state[key]
                return found
            if "make" in base.state:
                return _made(m, base, index)
            return _opened(m, base, index)
        case Object(kind="map"):
            return host.element(m, base, index, span)
        case Object(kind="memory" | "array"):
            return attributes.slice_memory(m, base, index, span)
        case Object(kind="tuple_of_map"):
            return m.fresh("item")
        case External():
            return External(base.dotted)
    if host.is_host(m, base):
        return host.element(m, base, index, span)
    if isinstance(base, Unknown):
        state = m.unknown_state.get(base)
        if state is not None and place(index) in state:
            stored: AbstractValue = state[place(index)]
            return stored
        return Unknown(("item", base, index)) if _depth(base) < 8 else m.fresh("deep")
    return m.fresh("item")


def _made(m: Machine, base: Object, index: AbstractValue) -> AbstractValue:
    """Return an element of a container whose elements are made alike: each index has one of its own."""
    key = place(index)
    if key not in base.state:
        base.state[key] = base.state["make"](index)
    element: AbstractValue = base.state[key]
    return element


def _opened(m: Machine, base: Object, index: AbstractValue) -> AbstractValue:
    key = ("unseen", index)
    if key not in base.state:
        base.state[key] = Unknown(("element", id(base), index))
        m.memo["keep", id(base)] = base
    found: AbstractValue = base.state[key]
    return found


def _element(
    m: Machine, items: tuple[AbstractValue, ...], index: AbstractValue, otherwise: Callable[[], AbstractValue]
) -> AbstractValue:
    match index:
        case Known(value=int() as number) if -len(items) <= number < len(items):
            return items[number]
        case TupleValue(items=(Known(value="slice"), lower, upper, step)):
            ends = [e.value for e in (lower, upper, step) if isinstance(e, Known)]
            if len(ends) == 3:
                try:
                    return TupleValue(items[slice(*ends)])
                except (TypeError, ValueError):
                    return otherwise()
        case Phi():
            chosen = [(guard, _element(m, items, option, otherwise)) for guard, option in index.options]
            return m.merge(chosen)
    return otherwise()


def _depth(value: AbstractValue) -> int:
    depth = 0
    while isinstance(value, Unknown) and value.key[0] in ("attr", "item"):
        value, depth = value.key[1], depth + 1
    return depth


# --- operators ------------------------------------------------------------------------------------------------


def operation(m: Machine, op: str, nodes: tuple[p.Value, ...], node: p.Value) -> AbstractValue:
    """Evaluate an operator."""
    if op in ("and", "or"):
        return _shortcut(m, op, nodes, node)
    values = [evaluate(m, n) for n in nodes]
    if op == "not":
        tested(m, values[0], nodes[0].span)
        return negate(m, values[0])
    if op == "cast":
        return values[-1]
    for value, operand in zip(values, nodes, strict=True):
        if op not in ("is", "is not"):
            host.read(m, value, operand.span, "operator")
    if len(values) == 1:
        return unary(m, op, values[0])
    result = values[0]
    for value in values[1:]:
        result = binary(m, op, result, value, node.span)
    return result


def unary(m: Machine, op: str, value: AbstractValue) -> AbstractValue:
    """Return `op value`."""
    if isinstance(value, Known) and isinstance(value.value, int | float):
        if op == "neg":
            return Known(-value.value)
        if op == "~" and isinstance(value.value, int):
            return Known(~value.value)
    if isinstance(value, Object) and value.kind == "array":
        return attributes.array_result(m, [value], p.NOWHERE)
    if op in ("address", "deref"):
        return value
    return Unknown(("op", op, value)) if isinstance(value, Unknown) and _depth(value) < 6 else m.fresh(op)


def _shortcut(m: Machine, op: str, nodes: tuple[p.Value, ...], node: p.Value) -> AbstractValue:
    """`a and b`, `a or b`: the later operands are evaluated only if the earlier ones let them."""
    first = evaluate(m, nodes[0])
    if len(nodes) == 2 and isinstance(first, Known) and isinstance(first.value, frozenset):
        queue_properties.examine_choice(m, op, node, first, evaluate(m, nodes[1]))
    for before, rest in pairwise(nodes):
        tested(m, first, before.span)
        decided = truth(m, first)
        if decided is not None:
            if decided is (op == "or"):
                return first
            first = evaluate(m, rest)
            continue
        kept = first
        if op == "or":
            first = choice(m, first, lambda kept=kept: kept, lambda rest=rest: evaluate(m, rest))  # type: ignore[misc]
        else:
            first = choice(m, first, lambda rest=rest: evaluate(m, rest), lambda kept=kept: kept)  # type: ignore[misc]
    return first


def binary(m: Machine, op: str, left: AbstractValue, right: AbstractValue, span: p.Span) -> AbstractValue:
    """Return `left op right`."""
    if op in ("is", "is not", "==", "!="):
        same = _same(left, right)
        if same is not None:
            return Known(same if op in ("is", "==") else not same)
        positive = Unknown(("test", "is" if op in ("is", "is not") else "==", left, right))
        return positive if op in ("is", "==") else negate(m, positive)
    if isinstance(left, Known) and isinstance(right, Known):
        if op == "+" and isinstance(left.value, str) and isinstance(right.value, str):
            return Known(left.value + right.value, left.skeleton or right.skeleton)
        folded = _fold(op, left.value, right.value)
        if folded is not None:
            return Known(folded, left.skeleton or right.skeleton)
    if op == "%" and isinstance(left, Known) and isinstance(left.value, str):
        effects.use(m, right, span, "text")
        return _percent(m, left, right)
    if op == "+":
        joined = _concatenate(m, left, right)
        if joined is not None:
            return joined
    if op == "/" and isinstance(left, Known | Object) and isinstance(right, Known):
        path = attributes.join_path(m, left, right)
        if path is not None:
            return path
    if op in ("in", "not in"):
        known = sequence(m, right)
        if known is not None and all(isinstance(e, Known | External) for e in (left, *known)):
            found = {_same(left, e) for e in known}
            if True in found or None not in found:
                return Known((True in found) == (op == "in"))
        positive = Unknown(("test", "in", left, right))
        return positive if op == "in" else negate(m, positive)
    arrays = [v for v in (left, right) if isinstance(v, Object) and v.kind == "array"]
    if arrays and op not in _COMPARISONS:
        return attributes.array_result(m, arrays, span)
    flags = attributes.flags(op, left, right)
    if flags is not None:
        return flags
    if op == ">" or op == ">=":
        return Unknown(("test", op, left, right))
    if op in ("<", "<="):
        return Unknown(("test", ">" if op == "<" else ">=", right, left))
    if _symbolic(left) and _symbolic(right):
        return Unknown(("op", op, left, right))
    if host.is_host(m, left) or host.is_host(m, right):
        return host.make(m, span, "numpy")
    return m.fresh(op)


def _symbolic(value: AbstractValue) -> bool:
    return isinstance(value, Known) or (isinstance(value, Unknown) and _size(value) < 12)


def _size(value: object) -> int:
    if isinstance(value, Unknown):
        return 1 + sum(_size(part) for part in value.key[1:])
    return 0


def _same(left: AbstractValue, right: AbstractValue) -> bool | None:
    """Return whether two values are the same object or equal constants; None if that depends."""
    if isinstance(left, Known) and isinstance(right, Known):
        if left.skeleton or right.skeleton:
            return None
        try:
            return bool(left.value == right.value)
        except Exception:  # a comparison of the user's constants may raise anything
            return None
    if left is right:
        return True
    if isinstance(left, External) and isinstance(right, External):
        return kinds.same_type(left, right)
    for a, b in ((left, right), (right, left)):
        if a == NONE and isinstance(b, Object | TupleValue | FunctionValue | External):
            return False
        if isinstance(b, Phi):
            answers = {_same(option, a) for _, option in b.options}
            return answers.pop() if len(answers) == 1 else None
    return None


def _fold(op: str, left: Any, right: Any) -> Any:
    function = _ARITHMETIC.get(op)
    if op == "**" and isinstance(left, int) and isinstance(right, int) and 0 <= right < 64 and abs(left) < 1 << 16:
        return left**right
    if function is None:
        return None
    if op == "<<" and not (isinstance(right, int) and 0 <= right < 64):
        return None
    if op == "*" and any(isinstance(v, str | bytes | tuple) for v in (left, right)):
        count = left if isinstance(left, int) else right
        if not isinstance(count, int) or count > 4096:
            return None
    try:
        result = function(left, right)
    except (TypeError, ValueError, ArithmeticError):
        return None
    if isinstance(result, int) and abs(result) > _LARGEST:
        return None
    if isinstance(result, str | bytes | tuple) and len(result) > _LONGEST:
        return None
    return result


def _concatenate(m: Machine, left: AbstractValue, right: AbstractValue) -> AbstractValue | None:
    """Join two sequences; text and event lists with unknown parts keep what is known."""
    if isinstance(left, TupleValue) and isinstance(right, TupleValue):
        return TupleValue(left.items + right.items)
    texts = [isinstance(v, Known) and isinstance(v.value, str) for v in (left, right)]
    if any(texts):
        return text(m, [left, right])
    lists = [v for v in (left, right) if isinstance(v, Object) and v.kind in ("list", "set")]
    tuples = [v for v in (left, right) if isinstance(v, TupleValue)]
    parts = [attributes.event_list(m, v) for v in (left, right)]
    if (lists or any(part is not None for part in parts)) and not tuples:
        elements: list[AbstractValue] = []
        for value in (left, right):
            known = sequence(m, value)
            elements.extend(known if known is not None else [Unknown(("spread", value))])
        return m.list_of(elements)
    if isinstance(left, Unknown) and isinstance(right, Unknown) and _size(left) + _size(right) < 12:
        return Unknown(("op", "+", left, right))
    return None


def text(m: Machine, parts: list[AbstractValue], span: p.Span = p.NOWHERE) -> AbstractValue:
    """Join parts to a string; what is not known becomes a hole."""
    for value in parts:
        if span is not p.NOWHERE:
            effects.use(m, value, span, "text")
    if not any(isinstance(v, Known) and isinstance(v.value, str) for v in parts):
        return m.fresh("text")
    known = [isinstance(v, Known) and v.value is not None for v in parts]
    joined = "".join(str(v.value) if ok else HOLE for v, ok in zip(parts, known, strict=True))  # type: ignore[attr-defined]
    skeleton = not all(known) or any(isinstance(v, Known) and v.skeleton for v in parts)
    return Known(joined[:_LONGEST], skeleton)


def _percent(m: Machine, template: Known, right: AbstractValue) -> AbstractValue:
    """`"…" % values`: constants are filled in, the rest become holes."""
    import re

    values = list(right.items) if isinstance(right, TupleValue) else [right]
    position = iter(values)

    def fill(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        if match[1]:
            value = right.state.get(("key", match[1])) if isinstance(right, Object) else None
        else:
            value = next(position, None)
        return str(value.value) if isinstance(value, Known) else HOLE

    filled = re.sub(r"%(?:\((\w+)\))?[-+ #0]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa%]", fill, template.value)
    return Known(filled, skeleton=True)


# --- truth and choice -----------------------------------------------------------------------------------------


def truth(m: Machine, value: AbstractValue) -> bool | None:
    """Return the truth of a value if it is known."""
    match value:
        case Known(value=constant, skeleton=False):
            return bool(constant)
        case TupleValue(items=items):
            return bool(items)
        case Object(kind="list" | "set"):
            if value.state.get("open") or "make" in value.state:
                return None
            certain = [e for e in value.items() if not isinstance(e, Phi) and e != ABSENT]
            if certain and not all(isinstance(e, Unknown) and e.key[0] == "spread" for e in certain):
                return True
            return None if value.items() else False
        case Object(kind="dict" | "host" | "map" | "array"):
            return None
        case Object() | FunctionValue() | External():
            return True
        case Unknown(key=("not", inner)):
            decided = truth(m, inner)
            return None if decided is None else not decided
        case Unknown():
            number = m.conditions.get(value)
            if number is not None:
                if number in m.guard or number in m.assumed:
                    return True
                if -number in m.guard or -number in m.assumed:
                    return False
        case Phi():
            answers = {truth(m, option) for guard, option in value.options if not _excluded(m, guard)}
            if len(answers) == 1:
                return answers.pop()
    return None


def tested(m: Machine, value: AbstractValue, span: p.Span) -> None:
    """A branch or loop depends on a value: an Array gets its element for that, the status of an event is noted."""
    if isinstance(value, Object) and value.kind == "array":
        effects.use(m, value, span, "a test")
    attributes.note_tested(m, value)


def _excluded(m: Machine, guard: Guard) -> bool:
    return any(-condition in m.guard or -condition in m.assumed for condition in guard)


def negate(m: Machine, value: AbstractValue) -> AbstractValue:
    """Return `not value`."""
    decided = truth(m, value)
    if decided is not None:
        return Known(not decided)
    if isinstance(value, Unknown):
        return value.key[1] if value.key[0] == "not" else Unknown(("not", value))
    return Unknown(("not", value)) if isinstance(value, Phi) else m.fresh("not")


def conditions(m: Machine, test: AbstractValue) -> tuple[Guard, Guard]:
    """Return the guards of the two outcomes of an undecided test."""
    polarity = True
    while isinstance(test, Unknown) and test.key[0] == "not":
        test, polarity = test.key[1], not polarity
    if not isinstance(test, Unknown | Phi):
        test = m.fresh("test")
    number = m.condition(test)
    return (frozenset({number}), frozenset({-number})) if polarity else (frozenset({-number}), frozenset({number}))


def choice(
    m: Machine, test: AbstractValue, then: Callable[[], AbstractValue], orelse: Callable[[], AbstractValue]
) -> AbstractValue:
    """Evaluate `then if test else orelse`."""
    decided = truth(m, test)
    if decided is not None:
        return then() if decided else orelse()
    yes, no = conditions(m, test)
    results: list[tuple[Guard, AbstractValue]] = []

    def arm(guard: Guard, run: Callable[[], AbstractValue]) -> Callable[[], Flow]:
        def go() -> Flow:
            results.append((guard, run()))
            return Flow.NEXT

        return go

    m.branch([(yes, arm(yes, then)), (no, arm(no, orelse))])
    return m.merge(results)


def comprehension(m: Machine, node: p.Comprehension) -> AbstractValue:
    """Evaluate a comprehension; over unknown elements, every index of the result has an element of its own."""
    from kexec_lint.opencl.interpreter.statements import assign, iterate

    if len(node.clauses) != 1:
        return m.fresh("comprehension")
    clause = node.clauses[0]
    source = evaluate(m, clause.iter)
    elements = iterate(m, source, clause.iter.span)
    saved = dict(m.frame.variables)

    def one(element: AbstractValue) -> tuple[AbstractValue, AbstractValue]:
        assign(m, clause.target, element, node.span)
        for test in clause.tests:
            evaluate(m, test)
        key = evaluate(m, node.key) if node.key is not None else NONE
        return key, evaluate(m, node.element)

    try:
        known = sequence(m, source)
        if known is not None and len(known) <= 16:
            pairs = [one(element) for element in known]
            if node.kind == "dict":
                result = Object("dict")
                for key, value in pairs:
                    result.state[place(key)] = value
                return result
            made = m.list_of([value for _, value in pairs])
            if clause.tests:
                made.state["open"] = True
            return made
        result = Object("dict" if node.kind == "dict" else "list")
        frame, depth = m.frame, len(m.places)

        def make(index: AbstractValue) -> AbstractValue:
            if depth > len(m.places) or m.frame.scope is not frame.scope:
                return m.fresh("element")
            kept = dict(m.frame.variables)
            m.frames.append(frame)
            try:
                return one(elements[0] if elements else m.fresh("element"))[1]
            except Exhausted:
                return m.fresh("element")
            finally:
                m.frames.pop()
                m.frame.variables.update({k: v for k, v in kept.items() if k in m.frame.variables})

        started = len(m.graph.threads)
        first = one(elements[0] if elements else m.fresh("element"))[1]
        m.graph.threads.extend(m.graph.threads[started:])  # each further element starts a thread as well
        if isinstance(first, Object) and first.kind == "event":
            made = m.list_of((first, Unknown(("spread", source))))
            made.state["open"] = True
            return made
        if isinstance(first, Object) and first.kind in ("queue", "memory", "array", "host"):
            result.state["make"] = make
            result.state["sample"] = first
        elif isinstance(first, Unknown) or first == NONE or isinstance(first, Known):
            result.state["make"] = lambda index: Unknown(("element", id(result), index))
            m.memo["keep", id(result)] = result
        else:
            result.state["make"] = make
        return result
    finally:
        for name in m.frame.variables.keys() - saved.keys():
            del m.frame.variables[name]
        m.frame.variables.update(saved)
