"""Objects of the host program: instances of classes of the tree, programs and kernels, Arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.interpreter import commands
from kexec_lint.opencl.interpreter.machine import Exhausted, Machine
from kexec_lint.opencl.interpreter.values import (
    NONE,
    AbstractValue,
    ClassValue,
    FunctionValue,
    Known,
    Object,
    Phi,
    TupleValue,
    Unknown,
)


def decorated(function: p.Function, *names: str) -> bool:
    """Return whether one of these (undotted) names decorates a function."""
    for decorator in function.decorators:
        node = decorator.func if isinstance(decorator, p.Call) else decorator
        last = node.name if isinstance(node, p.Attr) else node.id if isinstance(node, p.Name) else ""
        if last in names:
            return True
    return False


# --- instances ------------------------------------------------------------------------------------------------


def instance_attribute(m: Machine, instance: Object, name: str, span: p.Span) -> AbstractValue:
    """Return an attribute of an instance that its constructor did not set."""
    cls = instance.cls
    if cls is None:
        return Unknown(("attr", _token(m, instance), name))
    found = cls.lookup(name)
    if found is not None:
        method, owner = found
        if decorated(method, "property", "cached_property", "memoize_method", "memoize_in"):
            from kexec_lint.opencl.interpreter import calls

            if decorated(method, "property", "cached_property"):
                key = ("property", id(instance), name)
                if key not in m.memo or not decorated(method, "cached_property"):
                    bound = FunctionValue(method, owner.scope, owner.closure, instance, owner)
                    m.memo[key] = calls.apply_function(m, bound, [], {}, span)
                    m.memo["keep", id(instance)] = instance
                return m.memo[key]
        if decorated(method, "staticmethod"):
            return FunctionValue(method, owner.scope, owner.closure, None, owner)
        receiver = cls if decorated(method, "classmethod") else instance
        return FunctionValue(method, owner.scope, owner.closure, receiver, owner)
    default = next((a.variables[name] for a in lineage(cls) if name in a.variables), None)
    if default is not None and not (is_plain(default) and any(name in _assignments(m, a) for a in lineage(cls))):
        return default
    if name == "__class__":
        return cls
    key = ("late", id(instance), name)
    if key not in m.memo:
        m.memo["keep", id(instance)] = instance
        m.memo[key] = Unknown(("attr", _token(m, instance), name))
        if default is None or is_switch(default):
            m.memo[key] = _assigned_elsewhere(m, instance, cls, name)
    return m.memo[key]


def _token(m: Machine, instance: Object) -> Unknown:
    m.memo["keep", id(instance)] = instance
    return Unknown(("object", id(instance)))


def lineage(cls: ClassValue) -> Iterator[ClassValue]:
    """Yield a class and its bases, nearest first."""
    yield cls
    for base in cls.bases:
        if isinstance(base, ClassValue) and base is not cls:
            yield from lineage(base)


def _assigned_elsewhere(m: Machine, instance: Object, cls: ClassValue, name: str) -> AbstractValue:
    """Return what the only assignment `self.name = …` in any method of the class gives, else unknown."""
    unknown = Unknown(("attr", _token(m, instance), name))
    sites = [(*site, a) for a in lineage(cls) for site in _assignments(m, a).get(name, ())]
    if len(sites) != 1:
        return unknown
    value, method, owner = sites[0]
    from kexec_lint.opencl.interpreter import calls, expressions

    if not isinstance(value, p.Call | p.Name | p.Attr | p.Item | p.Seq | p.Const | p.Choice | p.Operation):
        return unknown
    with calls.aside(m, method, owner, instance):
        try:
            found = expressions.evaluate(m, value)
        except (Exhausted, RecursionError):
            return unknown
    if isinstance(found, Object) and found.kind in ("queue", "memory", "array", "program", "kernel", "instance"):
        if found.kind == "array":
            found.state["event_list"].state["items"] = (pending_before(found),)
            found.model.name = f"self.{name}" if found.model.name in ("array", "result") else found.model.name
        return found
    return found if isinstance(found, Known) and not is_switch(found) else unknown


def changes(m: Machine, instance: Object, name: str) -> bool:
    """Return whether a number, text or the like that a constructor sets may be another by the time that a method runs:
    None and the truth values are set later by convention, others where a second method assigns them.
    """
    value = instance.state[name]
    if is_switch(value) or instance.cls is None or not is_plain(value):
        return is_switch(value)
    sites = [method.name for a in lineage(instance.cls) for _, method in _assignments(m, a).get(name, ())]
    return len(sites) > 1 and any(method != "__init__" for method in sites)


def is_plain(value: object) -> bool:
    """Return whether a value is a number, text, or a tuple of these, not an object of the API or the program."""
    if isinstance(value, TupleValue):
        return all(is_plain(item) for item in value.items)
    return isinstance(value, Known) or (isinstance(value, Object) and value.kind == "scalar")


def is_switch(value: object) -> bool:
    """Return whether a value that a constructor sets is one that programs change later: None, True, False."""
    return isinstance(value, Known) and (value.value is None or isinstance(value.value, bool))


def _assignments(m: Machine, cls: ClassValue) -> dict[str, list[tuple[p.Value | None, p.Function]]]:
    """Return what the methods of one class assign to attributes of their receiver, None left out.

    Without a value: where the new one hangs on the old one (`self.n += 1`), or is a part of something.
    """
    if id(cls) not in m.assignments:
        found: dict[str, list[tuple[p.Value | None, p.Function]]] = {}
        for method in cls.methods.values():
            receiver = method.params[0].name if method.params else ""
            for statement in statements_in(method.body):
                for target, value in _targets(statement):
                    if isinstance(value, p.Const) and value.value is None:
                        continue
                    if isinstance(target, p.Attr) and isinstance(target.base, p.Name) and target.base.id == receiver:
                        found.setdefault(target.name, []).append((value, method))
        m.assignments[id(cls)] = found
        m.memo["keep", id(cls)] = cls
    return m.assignments[id(cls)]


def _targets(statement: p.Statement) -> Iterator[tuple[p.Value, p.Value | None]]:
    """Yield what a statement assigns to, and what it assigns."""
    match statement:
        case p.AugAssign(target=target):
            yield target, None
        case p.Assign(targets=targets, value=value) if value is not None:
            for target in targets:
                if not isinstance(target, p.Seq):
                    yield target, value
                elif isinstance(value, p.Seq) and len(value.items) == len(target.items):
                    yield from zip(target.items, value.items, strict=True)
                else:
                    yield from ((item, None) for item in target.items)


def statements_in(body: Iterable[p.Statement]) -> Iterator[p.Statement]:
    """Yield every statement of a body, nested ones too, but not those of inner functions and classes."""
    for statement in body:
        yield statement
        match statement:
            case p.If(then=then, orelse=orelse):
                yield from statements_in((*then, *orelse))
            case p.Loop(body=inner, orelse=orelse, step=step):
                yield from statements_in((*inner, *orelse, *step))
            case p.With(body=inner) | p.Block(body=inner):
                yield from statements_in(inner)
            case p.Try(body=inner, handlers=handlers, orelse=orelse, final=final):
                yield from statements_in((*inner, *orelse, *final))
                for _, _, handler in handlers:
                    yield from statements_in(handler)


def super_attribute(m: Machine, base: Object, name: str) -> AbstractValue:
    """Return `super().name`."""
    owner: ClassValue | None = base.state.get("owner")
    for parent in owner.bases if owner is not None else ():
        if isinstance(parent, ClassValue) and (found := parent.lookup(name)):
            method, origin = found
            return FunctionValue(method, origin.scope, origin.closure, base.state["receiver"], origin)
    return Unknown(("super", name))


# --- programs and kernels -------------------------------------------------------------------------------------


def kernel_of(m: Machine, program: Object, name: str) -> AbstractValue:
    """Return the kernel of that name: a new kernel object at each access, alike in all that matters to one thread.

    PyOpenCL, `Program.__getattr__`: every attribute access makes a new `Kernel`.
    """
    key = ("kernel", name)
    if key not in program.state:
        parsed = program.state.get("kernels")
        kernel = parsed.get(name) if parsed is not None else None
        known: dict[str, object] = {"arguments": {}, "options": program.state.get("options")}
        made = Object("kernel", known, model=kernel, site=program.site, name=name)
        if parsed is not None and kernel is None and parsed and not program.state.get("skeleton"):
            made.state["missing"] = True
        program.state[key] = made
    found: Object = program.state[key]
    return Object("kernel", found.state, model=found.model, site=found.site, name=found.name)


# --- pyopencl.array -------------------------------------------------------------------------------------------


def new_array(m: Machine, span: p.Span, queue: AbstractValue, initialised: bool = True, name: str = "array") -> Object:
    """Return a new Array with storage of its own and an empty list of events."""
    memory = g.Memory(name, "array", known=True, created=m.site(span), initialised=initialised, tracked=True)
    before = bool(m.scratch)  # made by a constructor or an imported module, not by the entry point
    return m.object("array", span, name, memory, queue_value=queue, event_list=m.list_of(()), before=before)


def storage(array: Object) -> Object:
    """Return `array.data`: the memory object without its events."""
    if "storage" not in array.state:
        array.state["storage"] = Object("memory", {"array": array}, model=array.model, site=array.site)
    found: Object = array.state["storage"]
    return found


def add_event(m: Machine, array: AbstractValue, event: AbstractValue) -> None:
    """`array.add_event(event)`: what follows on the array waits for it too."""
    if isinstance(array, Phi):
        for _, option in array.options:
            add_event(m, option, event)
        return
    if isinstance(array, Object) and array.kind == "array":
        events = array.state.get("event_list")
        if isinstance(events, Object):
            m.heap.write(events.state, "items", (*events.items(), event))
        return
    state = m.state_of(array)
    if state is not None:
        events = state.get("events")
        if isinstance(events, Object) and events.kind == "list":
            m.heap.write(events.state, "items", (*events.items(), event))
        else:
            before = Unknown(("spread", Unknown(("attr", array, "events"))))
            m.heap.write(state, "events", m.list_of((before, event)))


def pending_before(owner: Object, name: str = "events") -> Unknown:
    """Return the events that a list of an object held when the entry point was called, as a part of a wait list."""
    return Unknown(("spread", Unknown(("attr", token(owner), name))))


def token(array: AbstractValue) -> AbstractValue:
    """Return a value that stands for an Array in the keys of unknown values.

    One that the entry point makes itself stands for itself: all that happens to it is seen.
    """
    if isinstance(array, Object) and (array.state.get("before") or array.kind == "instance"):
        return Unknown(("before", id(array.model if array.kind == "array" else array)))
    return array


def events_of(m: Machine, arrays: Iterable[AbstractValue], given: AbstractValue = NONE) -> AbstractValue:
    """Return the events of Arrays, and those of a wait list `given` besides, as a wait list."""
    elements: list[AbstractValue] = []
    for array in arrays:
        events = _own_events(m, array)
        if isinstance(events, Object):
            elements.extend(events.items())
        elif events is not None:
            elements.append(Unknown(("spread", events)))
    if not elements:
        return given
    return m.list_of(elements if given == NONE else [*elements, Unknown(("spread", given))])


def _own_events(m: Machine, array: AbstractValue) -> AbstractValue | None:
    """Return the list of events of an Array, of one of several, or of what is used as one."""
    match array:
        case Object():
            found = array.state.get("event_list")
            return found if isinstance(found, Object) else None
        case Unknown():
            kept: AbstractValue = (m.unknown_state.get(array) or {}).get("events", Unknown(("attr", array, "events")))
            return kept
        case Phi(options=choices):
            lists = [(guard, _own_events(m, option)) for guard, option in choices]
            return m.merge([(guard, events) for guard, events in lists if events is not None])
    return None


def array_operation(
    m: Machine,
    inputs: list[Object],
    span: p.Span,
    what: str,
    output: Object | None = None,
    tracked: bool = True,
    given: AbstractValue = NONE,
    reads_output: bool = False,
) -> Object:
    """A kernel that PyOpenCL launches for Arrays: waits for the events of its inputs, is added to its output's.

    `given` is a wait list that it got besides.
    """
    queue = next(
        (a.state["queue_value"] for a in (*inputs, *([output] if output else [])) if "queue_value" in a.state),
        NONE,
    )
    result = output if output is not None else new_array(m, span, queue, name="result")
    operands: list[g.Access] = []
    for array in inputs:
        operands.extend(commands.accesses(m, array, "input", True, False))
    operands.extend(commands.accesses(m, result, "output", reads_output, True))
    everything = [*inputs, *([result] if output is not None else [])]
    waits = events_of(m, everything, given)
    event = commands.enqueue(m, span, "kernel", queue, waits, operands, what=what, array=True)
    if tracked:
        add_event(m, result, event)
    return result
