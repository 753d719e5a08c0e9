"""Executes the statements of a host program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.interpreter import (
    attributes,
    calls,
    commands,
    effects,
    event_lists,
    expressions,
    host,
    lifetimes,
    objects,
    queue_properties,
    threads,
)
from kexec_lint.opencl.interpreter.machine import Exhausted, Exit, Flow, Machine
from kexec_lint.opencl.interpreter.modules import ModuleScope
from kexec_lint.opencl.interpreter.values import (
    ABSENT,
    NONE,
    AbstractValue,
    ClassValue,
    External,
    Frame,
    FunctionValue,
    Imported,
    Known,
    Object,
    Phi,
    TupleValue,
    Unknown,
)

UNROLL = 2
"""Iterations of a loop of unknown length: the second one sees the back edge."""
UNROLL_COUNTED = 5
"""Iterations of a loop whose test is decided each time."""
UNROLL_KNOWN = 4
"""Iterations of a loop over known elements."""
UNROLL_ROTATING = 3
"""Iterations when the body picks slots by a remainder, so that a slot is used again."""


def run_in_module(m: Machine, scope: ModuleScope, statements: Sequence[p.Statement]) -> None:
    """Execute top-level statements of a module for good, without adding to the graph under construction."""
    kept = (m.frames, m.places, m.exits, m.guard, m.host, m.stack)
    m.frames, m.places, m.exits, m.stack = [scope.frame], [], [[]], []
    m.scratch += 1
    heap, m.heap = m.heap, type(m.heap)()
    try:
        execute_block(m, statements)
    except (Exhausted, RecursionError):
        pass
    finally:
        m.heap = heap
        m.scratch -= 1
        m.frames, m.places, m.exits, m.guard, m.host, m.stack = kept


def execute_block(m: Machine, statements: Sequence[p.Statement]) -> Flow:
    """Execute statements in order until one leaves the block."""
    dialect = m.frames[-1].scope.dialect
    if dialect is not None and dialect.has_labels(statements):
        labelled: Flow = dialect.run_labelled(m, statements)
        return labelled
    for statement in statements:
        flow = execute(m, statement)
        if flow is not Flow.NEXT:
            return flow
    return Flow.NEXT


def execute(m: Machine, statement: p.Statement) -> Flow:
    """Execute one statement."""
    m.steps += 1  # Machine.tick, without the call
    if m.steps > m.limit:
        raise Exhausted
    return m.frames[-1].scope.executors[statement.__class__](m, statement)


def _evaluation(m: Machine, statement: p.Evaluate) -> Flow:
    result = expressions.evaluate(m, statement.value)
    lifetimes.drop_result(m, result, statement.span)
    lifetimes.drop_temporaries(m, statement.span)
    return Flow.NEXT


def _assignment(m: Machine, statement: p.Assign) -> Flow:
    if statement.value is not None:
        result = expressions.evaluate(m, statement.value)
        for target in statement.targets:
            assign(m, target, result, statement.span)
        event_lists.note_built(m.frame, statement, result)
        lifetimes.drop_temporaries(m, statement.span)
    return Flow.NEXT


def _conditional(m: Machine, statement: p.If) -> Flow:
    test, then, orelse = statement.test, statement.then, statement.orelse
    if len(then) == 1 and not orelse and isinstance(then[0], p.Raise) and then[0].span == statement.span:
        _assert(m, expressions.evaluate(m, test), test)
        return Flow.NEXT
    return _if(m, expressions.evaluate(m, test), test, then, orelse)


def _return(m: Machine, statement: p.Return) -> Flow:
    result = NONE if statement.value is None else expressions.evaluate(m, statement.value)
    m.frame.returns.append((m.guard, result))
    return Flow.RETURN


def _raise(m: Machine, statement: p.Raise) -> Flow:
    if statement.value is not None:
        expressions.evaluate(m, statement.value)
    return Flow.RAISE


def _jump(m: Machine, statement: p.Jump) -> Flow:
    if statement.kind == "break":
        return Flow.BREAK
    return Flow.CONTINUE if statement.kind == "continue" else Flow.NEXT


def _deletion(m: Machine, statement: p.Delete) -> Flow:
    for target in statement.targets:
        _delete(m, target, statement.span)
    return Flow.NEXT


def _function(m: Machine, statement: p.Function) -> Flow:
    function = FunctionValue(statement, m.frame.scope, m.frame if m.frame.function else None)
    _set_variable(m, statement.name, function, statement.span)
    return Flow.NEXT


def _class(m: Machine, statement: p.Class) -> Flow:
    define_class(m, statement)
    return Flow.NEXT


def _scope(m: Machine, statement: p.Scope) -> Flow:
    (m.frame.globals_declared if statement.kind == "global" else m.frame.nonlocals).update(statement.names)
    return Flow.NEXT


# --- assignment -----------------------------------------------------------------------------------------------


def assign(m: Machine, target: p.Value, value: AbstractValue, span: p.Span) -> None:
    """Carry out `target = value`."""
    dialect = m.frames[-1].scope.dialect
    if dialect is not None:
        dialect.assign(m, target, value, span)
        return
    match target:
        case p.Name(id=name):
            _set_variable(m, name, value, span)
        case p.Attr(base=base, name=name):
            owner = expressions.evaluate(m, base)
            old = owner.state.get(name) if isinstance(owner, Object) else None
            if commands.is_queue(m, value) and isinstance(value, Object) and value.name == "queue":
                _name_queue(value, f"self.{name}" if base == p.Name(base.span, "self") else name)
            _name_memory(value, name)
            queue_properties.examine_assignment(m, owner, name, value, span)
            attributes.put(m, owner, name, value)
            if isinstance(old, AbstractValue):
                lifetimes.released(m, old, span)
        case p.Item(base=base, index=index):
            _set_item(m, expressions.evaluate(m, base), expressions.evaluate(m, index), value, target.span)
        case p.Seq(items=items):
            _unpack(m, items, value, span)
        case p.Star(value=inner):
            assign(m, inner, value, span)


def _set_variable(m: Machine, name: str, value: AbstractValue, span: p.Span) -> None:
    frame = m.frames[-1]
    state: dict[str, Any] = frame.variables
    if name in frame.globals_declared:
        state = frame.scope.frame.variables
    elif name in frame.nonlocals:
        outer = frame.parent
        while outer is not None and name not in outer.variables:
            outer = outer.parent
        state = outer.variables if outer is not None else state
    old = state.get(name)
    if value.__class__ is Object:
        name_value(value, name)
    m.heap.write(state, name, value)
    if isinstance(old, AbstractValue) and old is not value:
        lifetimes.released(m, old, span)


def name_value(value: AbstractValue, name: str) -> None:
    """Call a queue or memory object after the variable that first holds it."""
    _name_queue(value, name)
    _name_memory(value, name)


def _name_queue(value: AbstractValue, name: str) -> None:
    if isinstance(value, Object) and value.kind == "queue" and value.model.name == "the queue":
        value.model.name = name


GENERIC = frozenset(
    {"buffer", "image", "array", "result", "sub-buffer", "pool block", "SVM allocation", "SVM array"}
    | {"vector", "host memory"}
)


def _name_memory(value: AbstractValue, name: str) -> None:
    """Call memory after the variable that first holds it."""
    if not isinstance(value, Object) or not isinstance(value.model, g.Memory):
        return
    if value.model.name in GENERIC or value.model.name.endswith(("(…)", "get()")):
        value.model.name = name


def _set_item(m: Machine, base: AbstractValue, index: AbstractValue, value: AbstractValue, span: p.Span) -> None:
    match base:
        case Phi():
            for _, option in base.options:
                _set_item(m, option, index, value, span)
            return
        case Object(kind="list"):
            items = base.items()
            if isinstance(index, Known) and isinstance(index.value, int) and -len(items) <= index.value < len(items):
                changed = list(items)
                old = changed[index.value]
                changed[index.value] = value
                m.heap.write(base.state, "items", tuple(changed))
                lifetimes.released(m, old, span)
                return
            m.heap.write(base.state, expressions.place(index), value)
            m.heap.write(base.state, "open", True)
            return
        case Object(kind="dict" | "instance"):
            key = expressions.place(index)
            old_value = base.state.get(key)
            m.heap.write(base.state, key, value)
            if not isinstance(index, Known):
                m.heap.write(base.state, "open", True)
            if isinstance(old_value, AbstractValue):
                lifetimes.released(m, old_value, span)
            return
        case Object(kind="array"):
            objects.array_operation(
                m,
                [v for v in (value,) if isinstance(v, Object) and v.kind == "array"],
                span,
                "assignment",
                output=base,
            )
            return
    host.read(m, value, span, "assigned")
    if host.is_host(m, base):
        host.write(m, base, span, "an assignment to elements")
        return
    state = m.state_of(base)
    if state is not None:
        m.heap.write(state, expressions.place(index), value)


def _unpack(m: Machine, targets: tuple[p.Value, ...], value: AbstractValue, span: p.Span) -> None:
    elements = expressions.sequence(m, value)
    starred = next((i for i, t in enumerate(targets) if isinstance(t, p.Star)), None)
    if elements is not None and starred is not None and len(elements) >= len(targets) - 1:
        tail = len(targets) - starred - 1
        middle = m.list_of(elements[starred : len(elements) - tail])
        elements = (*elements[:starred], middle, *elements[len(elements) - tail :])
    if elements is not None and len(elements) == len(targets):
        for target, element in zip(targets, elements, strict=True):
            assign(m, target, element, span)
        return
    if isinstance(value, Phi):
        parts = [(guard, expressions.sequence(m, option)) for guard, option in value.options]
        if all(part is not None and len(part) == len(targets) for _, part in parts):
            for position, target in enumerate(targets):
                column = [(guard, part[position]) for guard, part in parts if part is not None]
                assign(m, target, m.merge(column), span)
            return
    for position, target in enumerate(targets):
        element = Unknown(("item", value, Known(position))) if isinstance(value, Unknown) else m.fresh("unpack")
        assign(m, target, element, span)


def _augmented(m: Machine, statement: p.AugAssign) -> Flow:
    _augment(m, statement)
    return Flow.NEXT


def _augment(m: Machine, statement: p.AugAssign) -> None:
    current = expressions.evaluate(m, statement.target)
    value = expressions.evaluate(m, statement.value)
    span = statement.span
    for _, option in [(None, current)] if not isinstance(current, Phi) else list(current.options):
        if isinstance(option, Object) and option.kind == "array":
            _augment_array(m, statement.op, option, value, span)
            return
    if host.is_host(m, current):
        host.read(m, value, span, "an operand")
        host.write(m, current, span, f"{statement.op}=", also_reads=True)
        return
    if isinstance(current, Object) and current.kind in ("list", "set") and statement.op == "+":
        known = expressions.sequence(m, value)
        more = known if known is not None else (Unknown(("spread", value)),)
        event_lists.note_read(current, -1)
        m.heap.write(current.state, "items", current.items() + more)
        return
    host.read(m, value, span, "an operand")
    assign(m, statement.target, expressions.binary(m, statement.op, current, value, span), span)


def _augment_array(m: Machine, op: str, array: Object, value: AbstractValue, span: p.Span) -> None:
    """`array op= value`; PyOpenCL up to 2026.1.4 forgets the event of `array -= scalar` (`array.py` L1307)."""
    others = [value] if isinstance(value, Object) and value.kind == "array" else []
    tracked = bool(others) or op != "-"
    objects.array_operation(
        m,
        others,
        span,
        f"{op}=" + ("" if tracked else " scalar"),
        output=array,
        tracked=tracked,
        reads_output=True,
    )


# --- deletion ----------------------------------------------------------------------------------------------------


def _delete(m: Machine, target: p.Value, span: p.Span) -> None:
    match target:
        case p.Name(id=name):
            old = m.frame.variables.get(name)
            m.heap.remove(m.frame.variables, name)
            if old is not None:
                lifetimes.released(m, old, span)
        case p.Seq(items=items):
            for item in items:
                _delete(m, item, span)
        case p.Attr(base=base, name=name):
            owner = expressions.evaluate(m, base)
            if isinstance(owner, Object) and name in owner.state:
                old = owner.state[name]
                m.heap.remove(owner.state, name)
                if isinstance(old, AbstractValue):
                    lifetimes.released(m, old, span)
        case p.Item(base=base, index=index):
            owner = expressions.evaluate(m, base)
            key = expressions.place(expressions.evaluate(m, index))
            if isinstance(owner, Object):
                old = owner.state.get(key)
                m.heap.remove(owner.state, key)
                if owner.kind == "list":
                    m.heap.write(owner.state, "items", ())
                    m.heap.write(owner.state, "open", True)
                if isinstance(old, AbstractValue):
                    lifetimes.released(m, old, span)


# --- branches -------------------------------------------------------------------------------------------------


def _if(
    m: Machine, test: AbstractValue, node: p.Value, then: Sequence[p.Statement], orelse: Sequence[p.Statement]
) -> Flow:
    if isinstance(node, p.Name | p.Attr):
        host.read(m, test, node.span, "a test")
    expressions.tested(m, test, node.span)
    decided = expressions.truth(m, test)
    if decided is not None:
        return execute_block(m, then if decided else orelse)
    yes, no = expressions.conditions(m, test)
    for outcome, body in ((yes, then), (no, orelse)):
        if outcome <= m.guard:
            return execute_block(m, body)
    narrow = _narrowing(m, node)
    return m.branch(
        [
            (yes, lambda: _narrowed(m, narrow, True, then)),
            (no, lambda: _narrowed(m, narrow, False, orelse)),
        ]
    )


def _assert(m: Machine, fails: AbstractValue, node: p.Value) -> None:
    """An assertion is taken to hold: what follows is no branch of the program. Its test may ask for a status."""
    match node:
        case p.Operation(op="not", operands=(p.Name() | p.Attr() as asserted,)):
            host.read(m, expressions.evaluate(m, asserted), asserted.span, "a test")
        case p.Operation(op="not", operands=(asserted,)):
            narrow = _narrowing(m, asserted)
            if narrow is not None:
                _narrowed(m, narrow, True, ())
    match fails:
        case Unknown(key=("test", "==", Unknown(key=("status", _, int() as at)), Known(value=frozenset() as names))):
            if "COMPLETE" in names and not m.scratch:
                poll = m.graph.nodes[at]
                assert isinstance(poll, g.HostPoint)
                m.point("unfinished", node.span, events=poll.events)


def _narrowing(m: Machine, node: p.Value) -> tuple[str, bool] | None:
    """Return (name, outcome) if the test says that with this outcome the variable is None."""
    match node:
        case p.Operation(op="is" | "==", operands=(p.Name(id=name), p.Const(value=None))):
            return name, True
        case p.Operation(op="is not" | "!=", operands=(p.Name(id=name), p.Const(value=None))):
            return name, False
    return None


def _narrowed(m: Machine, narrow: tuple[str, bool] | None, outcome: bool, body: Sequence[p.Statement]) -> Flow:
    if narrow is not None and narrow[0] in m.frame.variables:
        name, none_if = narrow
        value = m.frame.variables[name]
        if none_if is outcome:
            if isinstance(value, Unknown):
                m.heap.write(m.frame.variables, name, NONE)
        elif isinstance(value, Phi):
            rest = [(guard, option) for guard, option in value.options if option != NONE]
            if rest:
                m.heap.write(m.frame.variables, name, m.merge(rest))
    return execute_block(m, body)


# --- loops ----------------------------------------------------------------------------------------------------


def iterate(m: Machine, source: AbstractValue, span: p.Span) -> list[AbstractValue]:
    """Return the elements that the unrolled iterations of a loop see."""
    host.read(m, source, span, "iteration")
    known = expressions.sequence(m, source)
    if known is not None:
        return list(known)
    match source:
        case Known(value=range() as numbers):
            return [Known(i) for i in list(numbers[:UNROLL_KNOWN])]
        case Object(kind="range"):
            start, step = source.state["start"], source.state["step"]
            numbers_found: list[AbstractValue] = []
            value = start
            for _ in range(UNROLL_ROTATING):
                numbers_found.append(value)
                value = expressions.binary(m, "+", value, step, span)
            return numbers_found
        case Object(kind="enumerate"):
            inner = iterate(m, source.state["of"], span)
            return [TupleValue((Known(i), element)) for i, element in enumerate(inner)]
        case Object(kind="zip"):
            columns = [iterate(m, part, span) for part in source.state["of"].items]
            return [TupleValue(group) for group in zip(*columns, strict=False)]
        case Object(kind="list") if "make" in source.state:
            return [expressions.item(m, source, Known(i), span) for i in range(UNROLL)]
        case Object(kind="list" | "set"):
            return [e for e in source.items() if e != ABSENT] + [m.fresh("element")]
        case Object(kind="array"):
            return [expressions.item(m, source, m.fresh("index"), span) for _ in range(UNROLL)]
        case Phi():
            longest: list[AbstractValue] = []
            for _, option in source.options:
                if option != NONE:
                    elements = iterate(m, option, span)
                    longest = max(longest, elements, key=len)
            return longest
        case Unknown():
            return [Unknown(("item", source, Known(i))) for i in range(UNROLL_ROTATING)]
    return [m.fresh("element") for _ in range(UNROLL_ROTATING)]


def _rotates(body: Sequence[p.Statement]) -> bool:
    """Return whether a loop body picks slots by a remainder or flips an index."""

    def inside(value: p.Value) -> bool:
        if isinstance(value, p.Operation) and value.op in ("%", "^"):
            return not (value.op == "%" and isinstance(value.operands[0], p.Const))
        return any(inside(child) for child in p.children(value))

    for statement in objects.statements_in(body):
        match statement:
            case p.Assign(value=p.Value() as value) | p.Evaluate(value=value):
                if inside(value):
                    return True
            case p.If(test=test) if inside(test):
                return True
    return False


def _loop(m: Machine, loop: p.Loop) -> Flow:
    entry, depth = m.guard, len(m.exits)
    m.exits.append([])
    flow = Flow.NEXT
    known = m.rotating.get(id(loop))
    rotates = m.rotating[id(loop)] = _rotates(loop.body) if known is None else known
    if loop.iter is not None:
        source = expressions.evaluate(m, loop.iter)
        elements: list[AbstractValue | None] = list(iterate(m, source, loop.iter.span))
        exact = expressions.sequence(m, source) is not None
        limit = UNROLL_KNOWN if exact else UNROLL
        if rotates:
            limit = max(limit, UNROLL_ROTATING)
        finished = exact and len(elements) <= limit
        elements = elements[:limit]
    else:
        elements = [None] * (UNROLL_ROTATING if rotates else UNROLL)
        if m.native:
            elements = [None] * UNROLL_COUNTED
        finished = False
    limit = UNROLL_ROTATING if rotates else UNROLL
    counted = True
    outer = m.assumed
    for turn, element in enumerate(elements):
        if element is not None and loop.target is not None:
            assign(m, loop.target, element, loop.span)
        if loop.test is not None and (turn or not loop.test_last):
            test = expressions.evaluate(m, loop.test)
            expressions.tested(m, test, loop.test.span)
            decided = expressions.truth(m, test)
            if decided is False:
                finished = True
                break
            counted = counted and decided is True and not isinstance(loop.test, p.Const)
            m.assumed = outer if decided is not None else outer | expressions.conditions(m, test)[0]
        if loop.iter is None and turn >= limit and not counted:
            break
        flow = execute_block(m, loop.body)
        here = m.exits[depth]
        again = [exit for exit in here if exit.flow is Flow.CONTINUE]
        m.exits[depth] = [exit for exit in here if exit.flow is not Flow.CONTINUE]
        if again:
            m.gather(again, flow if flow is Flow.DEAD else Flow.NEXT)
            flow = Flow.NEXT if flow is Flow.DEAD else flow
        if flow is Flow.CONTINUE:
            flow = Flow.NEXT
        m.settle(entry, (Flow.CONTINUE,))
        if flow is not Flow.NEXT:
            break
        execute_block(m, loop.step)
    m.assumed = outer
    if not finished and (dialect := m.frames[-1].scope.dialect) is not None:
        dialect.after_loop(m, loop)
    exits = m.exits.pop()
    broken = [exit for exit in exits if exit.flow is Flow.BREAK]
    for exit in exits:
        if exit.flow is not Flow.BREAK:
            m.leave(exit)
    m.settle(entry, (Flow.CONTINUE, Flow.BREAK))
    if flow is Flow.BREAK:
        flow = Flow.NEXT
    if flow is Flow.NEXT or broken:
        m.gather(broken, flow if flow is Flow.NEXT else Flow.DEAD)
        if loop.orelse and finished and not broken:
            return execute_block(m, loop.orelse)
        return Flow.NEXT
    entered = loop.iter is None and (not m.native or counted or loop.test_last or isinstance(loop.test, p.Const))
    if not entered and flow in (Flow.RETURN, Flow.RAISE, Flow.DEAD) and not finished:
        # the loop may have no iteration at all: what follows is reached that way
        return Flow.NEXT if flow is Flow.DEAD else _zero_iterations(m, flow)
    return flow


def _zero_iterations(m: Machine, flow: Flow) -> Flow:
    """A body that always leaves: record it, and go on as if there had been no iteration."""
    m.leave(Exit(flow, m.guard, {}, m.host))
    m.serial += 1
    left = -m.condition(("zero", m.serial))
    m.deaths[left] = flow
    m.guard = m.guard | {left}
    return Flow.NEXT


# --- with and try ---------------------------------------------------------------------------------------------


def _with(m: Machine, statement: p.With) -> Flow:
    entered: list[tuple[AbstractValue, p.Value]] = []
    for value_node, target in statement.items:
        value = expressions.evaluate(m, value_node)
        entered.append((value, value_node))
        bound = value
        if isinstance(value, Object) and value.kind == "instance" and value.cls is not None:
            found = value.cls.lookup("__enter__")
            if found is not None:
                method, owner = found
                function = FunctionValue(method, owner.scope, owner.closure, value, owner)
                bound = calls.enter(m, function, calls.Arguments(), value_node.span)
        if target is not None:
            assign(m, target, bound, statement.span)
    refused = any(_expects_error(node) for _, node in entered)
    m.refusals += refused
    locks = m.locks
    m.locks = (*locks, *(value for value, _ in entered if threads.may_lock(value)))
    flow = execute_block(m, statement.body)
    m.locks = locks
    m.refusals -= refused
    if flow in (Flow.NEXT, Flow.RETURN):
        end = p.Span(
            statement.span.end_row, statement.span.end_column, statement.span.end_row, statement.span.end_column
        )
        for value, _ in reversed(entered):
            _leave_context(m, value, end)
    return flow


def _leave_context(m: Machine, value: AbstractValue, span: p.Span) -> None:
    """A queue finishes at the end of its block; a mapping is unmapped without waiting."""
    if isinstance(value, Phi):

        def leave(option: AbstractValue) -> Callable[[], Flow]:
            def run() -> Flow:
                _leave_context(m, option, span)
                return Flow.NEXT

            return run

        m.branch([(guard, leave(option)) for guard, option in value.options])
    elif isinstance(value, Object):
        if value.kind == "queue":
            commands.finish(m, value, span, "with")
            commands.close(m, value, span)
        elif value.kind in ("mapping", "map"):
            effects.unmap(m, value, calls.Arguments(), span)
        elif value.kind == "instance" and value.cls is not None and (found := value.cls.lookup("__exit__")):
            method, owner = found
            function = FunctionValue(method, owner.scope, owner.closure, value, owner)
            calls.enter(m, function, calls.Arguments([NONE, NONE, NONE]), span)
    elif commands.is_queue(m, value):
        commands.finish(m, value, span, "with")
        commands.close(m, value, span)
    elif isinstance(value, Unknown):
        calls.opaque(m, [value], span)


def _try(m: Machine, statement: p.Try) -> Flow:
    m.serial += 1
    number = m.serial

    refused = any(_catches_refusal(m, kind) for kind, _, _ in statement.handlers)

    def body() -> Flow:
        m.trying += bool(statement.handlers)
        m.refusals += refused
        flow = execute_block(m, statement.body)
        m.refusals -= refused
        m.trying -= bool(statement.handlers)
        return execute_block(m, statement.orelse) if flow is Flow.NEXT else flow

    arms: list[tuple[g.Guard, Callable[[], Flow]]] = [(frozenset(), body)]
    for position, (kind, name, block) in enumerate(statement.handlers):

        def handler(name: str | None = name, block: tuple[p.Statement, ...] = block) -> Flow:
            if name is not None:
                m.heap.write(m.frame.variables, name, m.fresh("exception"))
            flow = execute_block(m, block)
            if flow is Flow.RAISE:
                m.graph.raised.append(m.guard)
            return flow

        if kind is not None and position > 2:
            break
        chosen = m.condition(("handler", number, position))
        m.graph.decisions[chosen] = frozenset()
        arms.append((frozenset({chosen}), handler))
    flow = m.branch(arms) if len(arms) > 1 else body()
    if statement.final:
        final = execute_block(m, statement.final)
        if final is not Flow.NEXT:
            return final
    return flow


def _catches_refusal(m: Machine, kind: p.Value | None) -> bool:
    """Return whether an exception type is one of PyOpenCL's: the author expects that calls may be refused."""
    value = expressions.evaluate(m, kind) if kind is not None else NONE
    kinds = value.items if isinstance(value, TupleValue) else (value,)
    return any(isinstance(k, External) and k.dotted.startswith("pyopencl.") for k in kinds)


def _expects_error(node: p.Value) -> bool:
    """Return whether a context manager is a test's `pytest.raises(…)` or `self.assertRaises(…)`."""
    func = node.func if isinstance(node, p.Call) else None
    name = func.name if isinstance(func, p.Attr) else func.id if isinstance(func, p.Name) else ""
    return name in ("raises", "assertRaises", "assertRaisesRegex")


# --- definitions ----------------------------------------------------------------------------------------------


def define_class(m: Machine, node: p.Class) -> ClassValue:
    """Evaluate a class statement."""
    bases = tuple(expressions.evaluate(m, base) for base in node.bases)
    methods = {s.name: s for s in _flat(node.body) if isinstance(s, p.Function)}
    cls = ClassValue(node, m.frame.scope, bases, methods, {}, m.frame if m.frame.function else None)
    m.serial += 1
    frame = Frame(m.serial, m.frame.scope, node.name, parent=m.frame if m.frame.function else None)
    frame.variables = cls.variables
    _set_variable(m, node.name, cls, node.span)
    m.frames.append(frame)
    try:
        for statement in node.body:
            if isinstance(statement, p.Assign | p.Import | p.Class):
                execute(m, statement)
    finally:
        m.frames.pop()
    return cls


def _flat(body: Sequence[p.Statement]) -> list[p.Statement]:
    """Return the statements of a class body, those under `if` and `try` too."""
    result: list[p.Statement] = []
    for statement in body:
        match statement:
            case p.If(then=then, orelse=orelse):
                result += _flat((*then, *orelse))
            case p.Try(body=inner):
                result += _flat(inner)
            case _:
                result.append(statement)
    return result


def _import(m: Machine, statement: p.Import) -> Flow:
    path = m.frame.scope.path
    for name, alias in statement.names:
        if name == "*":
            continue
        if name:
            value = Imported(statement.module, statement.level, path, name)
            _set_variable(m, alias or name, value, statement.span)
        elif alias:
            _set_variable(m, alias, Imported(statement.module, statement.level, path, None), statement.span)
        else:
            top = statement.module.partition(".")[0]
            _set_variable(m, top, Imported(top, statement.level, path, None), statement.span)
    return Flow.NEXT


class Executors(dict[type[p.Statement], Callable[[Machine, Any], Flow]]):
    """What executes each kind of statement; a kind of its own is executed as the one that it refines, or passed."""

    def __missing__(self, kind: type[p.Statement]) -> Callable[[Machine, Any], Flow]:
        """Return what executes a kind that is not in the table."""
        found = next((self[base] for base in kind.__mro__[1:] if base in self), lambda m, statement: Flow.NEXT)
        self[kind] = found
        return found


EXECUTORS = Executors(
    {
        p.Evaluate: _evaluation,
        p.Assign: _assignment,
        p.AugAssign: _augmented,
        p.If: _conditional,
        p.Return: _return,
        p.Loop: _loop,
        p.With: _with,
        p.Try: _try,
        p.Raise: _raise,
        p.Jump: _jump,
        p.Delete: _deletion,
        p.Function: _function,
        p.Class: _class,
        p.Import: _import,
        p.Scope: _scope,
        p.Block: lambda m, statement: execute_block(m, statement.body),
    }
)
