"""Kernel launches: sizes, arguments, what each argument lets the kernel do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.interpreter import (
    attributes,
    calls,
    commands,
    expressions,
    objects,
)
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import (
    NONE,
    AbstractValue,
    Known,
    Object,
    Phi,
    TupleValue,
    Unknown,
    options,
)

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.calls import Arguments


Bound = dict[str, AbstractValue]

_SCALARS = frozenset({"local", "scalar", "python", "none", "sampler"})
"""Kinds of arguments that are no memory."""


def launch_call(m: Machine, kernel: AbstractValue, arguments: Arguments, span: p.Span) -> AbstractValue:
    """`kernel(queue, global_size, local_size, *args, wait_for=…)`."""
    positional = arguments.positional
    queue = positional[0] if positional else arguments.keywords.get("queue", NONE)
    size = positional[1] if len(positional) > 1 else NONE
    local = positional[2] if len(positional) > 2 else NONE
    given = dict(enumerate(positional[3:]))
    spans = dict(enumerate(arguments.spans[3:]))
    counted = not arguments.open and len(positional) >= 3
    return launch(m, kernel, queue, size, local, given if counted or given else {}, counted, arguments, span, spans)


def launch_enqueue(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    """`enqueue_nd_range_kernel(queue, kernel, global, local)`: the arguments were set before."""
    bound = arguments.bind(row.params)
    kernel = bound.get("kernel", NONE)
    state = m.state_of(kernel)
    given: dict[int, AbstractValue] = {}
    complete = False
    if state is not None and isinstance(state.get("arguments"), dict):
        given = dict(state["arguments"])
        complete = bool(state.get("all_set"))
    keywords = calls.Arguments([], {k: v for k, v in bound.items() if k in ("wait_for", "g_times_l")})
    size, local = bound.get("global_work_size", NONE), bound.get("local_work_size", NONE)
    return launch(m, kernel, bound.get("queue", NONE), size, local, given, complete, keywords, span, {})


def launch(
    m: Machine,
    kernel: AbstractValue,
    queue: AbstractValue,
    size: AbstractValue,
    local: AbstractValue,
    given: dict[int, AbstractValue],
    counted: bool,
    arguments: Arguments,
    span: p.Span,
    spans: dict[int, p.Span],
) -> AbstractValue:
    """Enqueue a kernel with these arguments; `counted` says that they are all of them."""
    parsed = kernel.model if isinstance(kernel, Object) else None
    params = parsed.params if parsed is not None and parsed.signature_known else None
    operands: list[g.Access] = []
    described: list[g.Argument] = []
    for number, value in sorted(given.items()):
        param = params[number] if params is not None and number < len(params) else None
        described.append(_describe(m, value, spans.get(number)))
        if param is not None and param.kind not in ("global", "constant", "image", "pipe", "unknown"):
            continue
        if param is None and not _may_be_memory(m, value):
            continue
        reads, writes = (param.reads, param.writes) if param is not None else (None, None)
        operands.extend(
            commands.accesses(
                m,
                value,
                param.name if param is not None else f"argument {number + 1}",
                reads,
                _flagged(value, writes),
                position=number,
                atomic=bool(param is not None and param.atomic_only),
            )
        )
    if parsed is None and counted and len(operands) == 1 and operands[0].writes is None:
        others = [argument.kind for number, argument in enumerate(described) if number != operands[0].position]
        if _SCALARS.issuperset(others):
            operands = [replace(operands[0], writes=True)]  # a kernel that writes nothing has no effect
    launch = g.Launch(
        _sizes(m, size),
        _sizes(m, local),
        local != NONE,
        tuple(described) if counted and len(described) == len(given) else None,
        scales=arguments.keywords.get("g_times_l") == Known(True),
        dtypes_declared=bool((m.state_of(kernel) or {}).get("dtypes")),
        one_group=local != NONE and local == size and "g_times_l" not in arguments.keywords,
        uniform=_uniform(kernel),
        refusal_expected=bool(m.refusals),
        values=tuple(given.items()),
    )
    waits = arguments.keywords.get("wait_for")
    if arguments.open_keywords and waits is None:
        waits = Unknown(("param", 0, "kwargs"))
    return commands.enqueue(
        m,
        span,
        "kernel",
        queue,
        waits,
        operands,
        what=_kernel_name(kernel),
        kernel=parsed,
        kernel_object=kernel,
        launch=launch,
    )


def _uniform(kernel: AbstractValue) -> bool | None:
    """Without `-cl-std=CL2.0` or later a program may not be launched with a partial last work-group."""
    options = kernel.state.get("options") if isinstance(kernel, Object) else None
    return None if options is None else "-cl-std=CL2" not in options and "-cl-std=CL3" not in options


def _kernel_name(kernel: AbstractValue) -> str:
    match kernel:
        case Object(name=name):
            return name
        case Unknown(key=("attr" | "name" | "param", _, str(name)) | ("fresh", "attribute", str(name), _)):
            return name
    return "a kernel"


def _flagged(value: AbstractValue, writes: bool | None) -> bool | None:
    """A kernel may not write an object made with READ_ONLY, so an unknown access to it is a read."""
    if (
        writes is None
        and isinstance(value, Object)
        and isinstance(value.model, g.Memory)
        and value.model.access == "read"
    ):
        return False
    return writes


def _may_be_memory(m: Machine, value: AbstractValue) -> bool:
    """Return whether an argument of a kernel that cannot be read may be memory."""
    match value:
        case Phi():
            return any(_may_be_memory(m, option) for _, option in value.options)
        case Object(kind="memory" | "array"):
            return True
        case Object(kind="host"):
            return bool(value.state.get("as_svm"))
        case Unknown():
            if value.key[0] in ("fresh", "op", "len", "test"):
                return False
            return not (value.key[0] == "attr" and value.key[2] in ("shape", "size", "dtype", "nbytes", "itemsize"))
    return False


def _describe(m: Machine, value: AbstractValue, span: p.Span | None) -> g.Argument:
    match value:
        case Object(kind="memory"):
            return g.Argument("memory", memory=value.model, span=span)
        case Object(kind="array"):
            return g.Argument("array", memory=value.model, span=span)
        case Object(kind="local"):
            return g.Argument("local", span=span)
        case Object(kind="scalar"):
            several = isinstance(value.state["value"], Unknown | Phi)
            return g.Argument("scalar", value.state["size"], value.state["type"], span=span, several=several)
        case Object(kind="host"):
            kind = "memory" if value.state.get("as_svm") else "host"
            return g.Argument(kind, memory=value.model, span=span)
        case Known(value=None):
            return g.Argument("none", span=span)
        case Known(value=bool() | int() | float()):
            return g.Argument("python", type=type(value.value).__name__, span=span)
    return g.Argument("unknown", span=span)


def _sizes(m: Machine, value: AbstractValue) -> tuple[int | None, ...] | None:
    elements = expressions.sequence(m, value) if value != NONE else None
    if elements is None:
        return None
    return tuple(e.value if isinstance(e, Known) and isinstance(e.value, int) else None for e in elements)


def set_args(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    assert isinstance(receiver, Object)
    m.heap.write(receiver.state, "arguments", dict(enumerate(arguments.positional)))
    m.heap.write(receiver.state, "all_set", not arguments.open)
    if receiver.model is not None and not arguments.open and not m.refusals:
        described = tuple(_describe(m, v, s) for v, s in zip(arguments.positional, arguments.spans, strict=True))
        m.graph.set_args.append(
            g.SetArgs(m.site(span), m.guard, receiver.model, described, bool(receiver.state.get("dtypes")))
        )
    return NONE


def set_arg(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    assert isinstance(receiver, Object)
    bound = arguments.bind(row.params)
    index = bound.get("index")
    if isinstance(index, Known) and isinstance(index.value, int):
        m.heap.write(
            receiver.state, "arguments", {**receiver.state["arguments"], index.value: bound.get("value", NONE)}
        )
    return NONE


def set_dtypes(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    m.heap.write(receiver.state, "dtypes", True)
    return NONE


def generated(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    bound = arguments.bind(row.params)
    made = m.object("generated", span, row.params[0] if row.params else "")
    made.state["arguments_text"] = bound.get("arguments", NONE)
    made.state["operation_text"] = bound.get("operation", NONE)
    made.state["returns"] = row.returns
    made.state["vectors"] = row.reads == ("every",)
    return made


def declaration(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    """`VectorArg`, `ScalarArg`: an argument of a generated kernel."""
    return m.object("declaration", span, pointer=row.reads == ("every",))


def generated_call(m: Machine, kernel: Object, arguments: Arguments, span: p.Span) -> AbstractValue:
    """Call an ElementwiseKernel, ReductionKernel or ScanKernel: it waits for its Array arguments' events.

    An ElementwiseKernel does not add its own event to its outputs (PyOpenCL PR 611).
    """
    pointers = _pointers(m, kernel, len(arguments.positional))
    arrays = [
        (number, value)
        for number, value in enumerate(arguments.positional)
        if value != NONE
        and all(_is_array(option, number in pointers) for _, option in options(value) if option != NONE)
    ]
    if not arrays:
        calls.opaque(m, arguments.values, span, what="a generated kernel")
        return m.fresh("generated")
    written = _written_arguments(kernel, len(arguments.positional))
    operands: list[g.Access] = []
    for number, value in arrays:
        writes = True if written is not None and number in written else (None if written is None else False)
        operands.extend(commands.accesses(m, value, f"argument {number + 1}", True, writes))
    queue = arguments.keywords.get("queue", NONE)
    if queue == NONE:
        queue = attributes.get(m, arrays[0][1], "queue", span)
    waits = objects.events_of(m, [value for _, value in arrays], arguments.keywords.get("wait_for", NONE))
    event = commands.enqueue(m, span, "kernel", queue, waits, operands, what="a generated kernel", array=True)
    if kernel.state["returns"] != "array":
        return event if kernel.state["returns"] == "event" else m.fresh("generated")
    result = objects.new_array(m, span, queue, name="result")
    objects.add_event(m, result, event)
    asked = expressions.truth(m, arguments.keywords.get("return_event", Known(False)))
    return TupleValue((result, event)) if asked else result


def _is_array(value: AbstractValue, declared: bool) -> bool:
    """Return whether an argument is an Array, by construction or because the kernel is `declared` to get one."""
    if isinstance(value, Unknown):
        return declared and value.key[0] != "fresh"
    return isinstance(value, Object) and value.kind == "array"


def _pointers(m: Machine, kernel: Object, count: int) -> frozenset[int]:
    """Return which arguments of a generated kernel are Arrays by its declaration."""
    if kernel.state["vectors"]:
        return frozenset(range(count))
    declared = kernel.state["arguments_text"]
    if isinstance(declared, Known) and isinstance(declared.value, str):
        return frozenset(number for number, part in enumerate(declared.value.split(",")) if "*" in part)
    parts = expressions.sequence(m, declared) or ()
    return frozenset(n for n, part in enumerate(parts) if isinstance(part, Object) and part.state.get("pointer"))


def _written_arguments(kernel: Object, count: int) -> set[int] | None:
    """Return which arguments an ElementwiseKernel's operation assigns, None if its texts are not known."""
    import re

    text, operation = kernel.state.get("arguments_text", NONE), kernel.state.get("operation_text", NONE)
    if not (isinstance(text, Known) and isinstance(operation, Known)):
        return None
    if not (isinstance(text.value, str) and isinstance(operation.value, str)):
        return None
    names = [part.replace("*", " ").split()[-1] for part in text.value.split(",") if part.split()]
    stored = set(re.findall(r"(\w+)\s*\[[^\]]*\]\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)", operation.value))
    return {number for number, name in enumerate(names) if name in stored}
