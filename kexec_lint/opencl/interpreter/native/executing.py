"""Statements of C and C++ that Python has not: declarations, blocks, gotos, delete, classes with typed members."""

from __future__ import annotations

from collections.abc import Sequence

from kexec_lint.opencl import program as p
from kexec_lint.opencl.api import c as api
from kexec_lint.opencl.interpreter import calls, expressions, objects, statements
from kexec_lint.opencl.interpreter.machine import Exit, Flow, Machine
from kexec_lint.opencl.interpreter.native import calling, evaluating, events, host_calls, pointers, scopes
from kexec_lint.opencl.interpreter.values import (
    NONE,
    AbstractValue,
    ClassValue,
    FunctionValue,
    Known,
    Object,
    Unknown,
)


def assign(m: Machine, target: p.Value, value: AbstractValue, span: p.Span) -> None:
    """Carry out `target = value`."""
    value = pointers.value_of(m, value, span)
    match target:
        case p.Name(id=name):
            scopes.assign_name(m, name, value, span)
        case p.Attr(base=base, name=name):
            owner = expressions.evaluate(m, base)
            pointers.set_member(m, owner, name, value, span)
            if isinstance(value, Object):
                statements.name_value(value, name)
        case p.Item(base=base, index=index):
            inner = pointers.target(expressions.evaluate(m, base))
            if isinstance(base, p.Name) and isinstance(value, Object):
                statements.name_value(value, f"{base.id}[]")
            pointers.set_element(m, inner, expressions.evaluate(m, index), value, span)
        case p.Operation(op="deref", operands=(pointer,)):
            _through(m, expressions.evaluate(m, pointer), value, span)
        case p.Operation(op="cast", operands=(*_, inner_node)):
            assign(m, inner_node, value, span)
        case p.Seq(items=items):
            for number, item in enumerate(items):
                if isinstance(item, p.Name):
                    element = pointers.element(m, value, _known(number), span)
                    m.heap.write(m.frame.variables, item.id, element)
        case p.Call():
            at = calling.place_or_value(m, target)
            if isinstance(at, pointers.Address):
                pointers.store(m, at, value, span)


def _known(number: int) -> AbstractValue:
    from kexec_lint.opencl.interpreter.values import Known

    return Known(number)


def _through(m: Machine, at: AbstractValue, value: AbstractValue, span: p.Span) -> None:
    """Carry out `*at = value`."""
    from kexec_lint.opencl.interpreter.native import operands

    if isinstance(at, Unknown) and not isinstance(value, Object):
        from kexec_lint.opencl.interpreter import host

        if host.is_host(m, at):
            host.write(m, at, span, "an assignment")
            return
    if isinstance(at, Object) and at.kind in ("host", "map"):
        pointers.set_element(m, at, _known(0), value, span)
        return
    operands.hand_out(m, at, value, span)


def _assign(m: Machine, node: p.Assign) -> Flow:
    """An assignment, or a declaration: `type` is given."""
    if node.type is None or node.type == "#define":
        return statements.EXECUTORS[p.Assign](m, node)
    if node.type == "static function":
        return Flow.NEXT
    target = node.targets[0]
    if isinstance(target, p.Seq):
        if node.value is not None:
            assign(m, target, expressions.evaluate(m, node.value), node.span)
        return Flow.NEXT
    if not isinstance(target, p.Name):
        return statements.EXECUTORS[p.Assign](m, node)
    value: AbstractValue | None = None
    copies = False
    if node.value is not None:
        if node.type.endswith("&") and isinstance(node.value, p.Name | p.Attr | p.Item):
            value = calling.by_reference(m, node.value)
        else:
            value = expressions.evaluate(m, node.value)
        copies = isinstance(node.value, p.Name | p.Attr | p.Item) and node.type not in ("auto",)
    if node.type.endswith("[]") and isinstance(node.value, p.Mapping):
        value = (
            m.list_of(v for v in value.state.values() if isinstance(v, AbstractValue))
            if isinstance(value, Object)
            else value
        )
    scopes.declare(m, target.id, node.type, value, node.span, copies)
    return Flow.NEXT


def _block(m: Machine, node: p.Block) -> Flow:
    return scopes.run_block(m, node.body, node.span)


def _delete(m: Machine, node: p.Delete) -> Flow:
    for target in node.targets:
        value = expressions.evaluate(m, target)
        if isinstance(value, Object) and value.kind == "instance" and value.cls is not None:
            found = value.cls.lookup(f"~{value.cls.node.name}")
            if found is not None:
                method, owner = found
                bound = FunctionValue(method, owner.scope, owner.closure, value, owner)
                calls.enter(m, bound, calls.Arguments(), node.span)
        host_calls.free(m, value, node.span, "delete")
    return Flow.NEXT


def _jump(m: Machine, node: p.Jump) -> Flow:
    if node.kind != "goto":
        return statements.EXECUTORS[p.Jump](m, node)
    m.label = node.label
    return Flow.GOTO


def has_labels(body: Sequence[p.Statement]) -> bool:
    """Return whether a block holds the target of a goto."""
    for one in body:  # noqa: SIM110  # asked of every block that is executed: half the time of any()
        if one.__class__ is p.Label:
            return True
    return False


def run_labelled(m: Machine, body: Sequence[p.Statement]) -> Flow:
    """Execute a block with labels: a goto forward skips what stands between; one backward ends its path here."""
    entry, depth = m.guard, len(m.exits)
    m.exits.append([])
    flow = Flow.NEXT
    for statement in body:
        if isinstance(statement, p.Label):
            if flow is Flow.GOTO:
                m.leave(Exit(flow, m.guard, {}, m.host, m.label))
                flow = Flow.DEAD
            here = m.exits[depth]
            arriving = [e for e in here if e.flow is Flow.GOTO and e.label == statement.name]
            m.exits[depth] = [e for e in here if e not in arriving]
            if arriving:
                m.gather(arriving, flow if flow is Flow.NEXT else Flow.DEAD)
                m.settle(entry, (Flow.GOTO,))
                if flow is not Flow.NEXT and flow is not Flow.DEAD:
                    m.exits[depth].append(Exit(flow, m.guard, {}, m.host))
                flow = Flow.NEXT
        elif flow is Flow.NEXT:
            flow = statements.execute(m, statement)
    for exit in m.exits.pop():
        m.leave(exit)
    return flow


def after_loop(m: Machine, loop: p.Loop) -> None:
    """A loop was followed for some turns only: counters are not known after it, arrays hold more than was seen."""
    for one in (*loop.step, *objects.statements_in(loop.body)):
        if isinstance(one, p.AugAssign) and isinstance(one.target, p.Name):
            held = scopes.state_of(m, one.target.id)
            if one in loop.step or (held is not None and isinstance(held.get(one.target.id), Known)):
                assign(m, one.target, m.fresh("counter", one.target.id), one.span)
    for value in list(m.frame.variables.values()):
        if pointers.is_array(value) and isinstance(value, Object) and not value.state.get("open"):
            m.heap.write(value.state, "open", pointers.LONGER)
        events.after_loop(pointers.target(value))


def _class(m: Machine, node: p.Class) -> Flow:
    """A class: its methods, and the declared types of its members."""
    types = {
        target.id: one.type
        for one in node.body
        if isinstance(one, p.Assign) and one.type and one.type != "static function"
        for target in one.targets
        if isinstance(target, p.Name)
    }
    inner = p.Class(node.span, node.name, (), tuple(one for one in node.body if isinstance(one, p.Function)))
    bases: list[AbstractValue] = []
    for base in node.bases:
        if isinstance(base, p.Name) and base.id.startswith("class "):
            found = _included(m, node.name)
        else:
            found = expressions.evaluate(m, base)
        if isinstance(found, ClassValue):
            bases.append(found)
        elif isinstance(base, p.Name) and not base.id.startswith("class "):
            bases.append(Unknown(("base", base.id)))
    made = statements.define_class(m, inner)
    made = ClassValue(inner, made.scope, tuple(bases), made.methods, made.variables, made.closure)
    made.variables["#types"] = Object("types", dict(types))
    defaults = [one for one in node.body if isinstance(one, p.Assign) and one.value is not None]
    for one in defaults:
        target = one.targets[0]
        if isinstance(target, p.Name) and one.value is not None:
            made.variables[target.id] = expressions.evaluate(m, one.value)
    for inner_class in node.body:
        if isinstance(inner_class, p.Class):
            _class(m, inner_class)
    m.heap.write(m.frame.variables, node.name, made)
    return Flow.NEXT


def _included(m: Machine, name: str) -> AbstractValue:
    """Return the class of that name that an included file defines."""
    scope = m.frame.scope
    for star in scope.stars:
        found = m.loader.star(star, scope.path, name, m)
        if found is not None:
            return found
    return NONE


def _augment(m: Machine, node: p.AugAssign) -> Flow:
    current = expressions.evaluate(m, node.target)
    value = pointers.value_of(m, expressions.evaluate(m, node.value), node.span)
    moved = pointers.offset(m, node.op, current, value, node.span) if node.op in ("+", "-") else None
    if moved is None:
        current = pointers.value_of(m, current, node.span)
        moved = evaluating.arithmetic(m, node.op, current, value, node.span)
    assign(m, node.target, moved, node.span)
    return Flow.NEXT


def _evaluate(m: Machine, node: p.Evaluate) -> Flow:
    expressions.evaluate(m, node.value)
    match node.value:
        case p.Call(func=p.Name(id=name)) if name in api.STATUS:
            m.remark(
                "OCL314",
                node.span,
                f"The status of {name} is not looked at: a refused call leaves the program with old contents",
                "compare it with CL_SUCCESS, in a checking macro if there is one",
            )
    return Flow.NEXT


def _return(m: Machine, node: p.Return) -> Flow:
    """A function that returns a reference returns the place, not what stands there."""
    returns = getattr(m.stack[-1], "by_reference", False) if m.stack else False
    if not returns or not isinstance(node.value, p.Name | p.Attr | p.Item):
        return statements.EXECUTORS[p.Return](m, node)
    m.frame.returns.append((m.guard, calling.by_reference(m, node.value)))
    return Flow.RETURN


EXECUTORS = statements.Executors(
    {
        **statements.EXECUTORS,
        p.Assign: _assign,
        p.AugAssign: _augment,
        p.Evaluate: _evaluate,
        p.Block: _block,
        p.Delete: _delete,
        p.Jump: _jump,
        p.Class: _class,
        p.Return: _return,
    }
)

__all__ = ["EXECUTORS", "assign", "events", "has_labels", "run_labelled"]
