"""Which registered kernel a call runs and why: key set, thread-local keys, the chain of rows, the winner."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from kexec_lint.aten.dispatch import table
from kexec_lint.aten.dispatch.functions import function_name, python_site
from kexec_lint.aten.dispatch.inputs import TensorInput, make, tensors
from kexec_lint.aten.dispatch.table import Registration, Row, load_torch


@dataclass(frozen=True)
class Step:
    """One key of the chain, from the highest priority down. `row` is None where there is no kernel."""

    key: str
    row: Row | None
    registered_as: str = ""
    function: str | None = None
    site: str = ""
    note: str = ""


@dataclass(frozen=True)
class Explanation:
    """The answer for one call. `winner` is None when no key of the call has a kernel; then `error` says what
    the user sees.

    `below` are the kernels that an autograd or autocast winner goes on to; `decomposes` the operators a composite
    calls, empty when it was not run.
    """

    operator: str
    schema: str
    schema_site: str
    inputs: tuple[str, ...]
    keys: tuple[str, ...]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    chain: tuple[Step, ...]
    winner: Step | None
    below: tuple[Step, ...] = ()
    decomposes: tuple[str, ...] = ()
    registered: tuple[Registration, ...] = ()
    error: str | None = None
    closest: Registration | None = None
    notes: tuple[str, ...] = field(default=())


def choose_overload(found: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return the overload that a call of a packet with these inputs means; the first one without inputs."""
    torch = load_torch()
    if isinstance(found, torch._ops.OpOverload):
        return found
    every = table.overloads(found)
    if (args or kwargs) and len(every) > 1 and hasattr(torch._C, "_jit_resolve_packet"):
        try:
            on_meta = make([args, kwargs], "meta")
            name = torch._C._jit_resolve_packet(found._qualified_op_name, *on_meta[0], **on_meta[1])
            return getattr(found, name or "default")
        except (RuntimeError, TypeError, NotImplementedError):
            pass  # no overload takes these arguments: the first one is told
    return every[0]


def key_names(keys: Any) -> tuple[str, ...]:
    """Return the names of a DispatchKeySet from the highest priority to the lowest."""
    torch = load_torch()
    found: list[str] = []
    while True:
        key = keys.highestPriorityTypeId()
        if key == torch._C.DispatchKey.Undefined:
            return tuple(found)
        name = str(key).rpartition(".")[2]
        if "?" not in name:  # a key that this build of torch has no name for
            found.append(name)
        keys = keys.remove(key)


def explain(overload: Any, args: list[Any], kwargs: dict[str, Any], decompose: bool = True) -> Explanation:
    """Explain the call of an overload with inputs of `parse_input`; without inputs, for one plain CPU tensor."""
    torch = load_torch()
    name = table.qualified_name(overload)
    described = list(tensors([args, kwargs]))
    notes: list[str] = []
    if not described and not args and not kwargs and any("Tensor" in str(a.type) for a in overload._schema.arguments):
        described = [TensorInput("float32", (1,), "cpu")]
        notes.append("no --input was given: explained for a plain CPU tensor")
    keys = None
    for item in described:
        keys = item.key_set() if keys is None else keys | item.key_set()
    include = torch._C._dispatch_tls_local_include_set()
    exclude = torch._C._dispatch_tls_local_exclude_set()
    if keys is None:
        device = str(kwargs.get("device", "cpu"))
        notes.append("no tensor argument: BackendSelect picks the backend from device=")
        backend = str(torch._C._dispatch_key_for_device(device.partition(":")[0]))
        keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, backend))
    effective = (keys | include) - exclude
    rows = table.rows(name)
    chain = tuple(_step(overload, name, key, rows.get(key)) for key in key_names(effective))
    running = [s for s in chain if s.row is not None and not s.row.fallthrough]
    winner = running[0] if running else None
    below: tuple[Step, ...] = ()
    if winner is not None and winner.registered_as.startswith(
        ("Autograd", "Autocast", "ADInplaceOrView", "BackendSelect")
    ):
        below = tuple(running[1:2]) if not winner.key.startswith("Autocast") else tuple(running[1:3])
    backend_key = next((s.key for s in reversed(chain) if s.key in torch_backends()), "")
    missing = winner is None or _is_only_fallback(winner, chain, backend_key)
    error = closest = None
    if missing:
        error = missing_message(name, backend_key)
        closest = _closest(name, backend_key)
        winner, below = None, ()
    decomposes: tuple[str, ...] = ()
    if winner is not None and winner.row is not None and winner.row.tag == "math kernel" and decompose:
        decomposes, note = _children(overload, args, kwargs)
        if note:
            notes.append(note)
    return Explanation(
        name,
        str(overload._schema),
        _schema_site(name),
        tuple(map(_describe, described)),
        key_names(keys),
        key_names(include),
        key_names(exclude),
        chain,
        winner,
        below,
        decomposes,
        table.registrations(name),
        error,
        closest,
        tuple(notes),
    )


def torch_backends() -> frozenset[str]:
    """Return the names of the dense, sparse and quantized backend keys."""
    from kexec_lint.aten import aten

    names = aten.BACKEND_KEYS | {"Meta"}
    return frozenset(
        f"{kind}{name}" for kind in ("", "Sparse", "SparseCsr", "Quantized", "NestedTensor") for name in names
    )


def _is_only_fallback(winner: Step, chain: tuple[Step, ...], backend: str) -> bool:
    """Whether what runs first is a fallback or autograd above a backend without kernel: it will find none
    either."""
    own = next((s for s in chain if s.key == backend), None)
    passes_on = winner.row is not None and winner.row.tag in ("backend fallback", "autograd kernel")
    return passes_on and own is not None and own.row is None


def _step(overload: Any, name: str, key: str, row: Row | None) -> Step:
    if row is None:
        return Step(key, None)
    alias = registered_as(overload, key, row)
    site = table.short_site(row.site)
    own = python_site(name, alias) if row.tag != "backend fallback" else None
    return Step(key, row, alias, function_name(name, row, alias), own or site)


def registered_as(overload: Any, key: str, row: Row) -> str:
    """Return the key of the registration that filled a row: the key itself or the alias it came through."""
    torch = load_torch()
    if row.tag == "backend fallback":
        return key
    try:
        found = torch._ops.resolve_key(overload, getattr(torch._C.DispatchKey, key))
    except (NotImplementedError, AttributeError, RuntimeError):  # no kernel, or a key that Python does not name
        return key
    return str(found).rpartition(".")[2]


def _describe(item: TensorInput) -> str:
    words = [f"{item.dtype}[{', '.join(map(str, item.shape))}]", item.device]
    return " ".join(
        words + ["requires_grad"] * item.requires_grad + ([item.layout] if item.layout != "strided" else [])
    )


def _schema_site(name: str) -> str:
    torch = load_torch()
    for line in torch._C._dispatch_dump(name).splitlines():
        if line.startswith("debug: "):
            return table.short_site(line.removeprefix("debug: ").removeprefix("registered at "))
    return ""


def missing_message(name: str, backend: str) -> str:
    """Return the first sentence of the error that torch raises when a backend has no kernel."""
    return f"NotImplementedError: Could not run '{name}' with arguments from the '{backend}' backend."


def _closest(name: str, backend: str) -> Registration | None:
    """Return the registration that comes nearest: another backend of the same kind, else any kernel.

    Its site is that of the Python function where there is one.
    """
    found = [r for r in table.registrations(name) if not r.inactive and not r.fallthrough]
    found = [r for r in found if not r.key.startswith(("Auto", "Tracer", "FuncTorch", "Meta", "Python"))]
    kind = backend.replace("CUDA", "").replace("CPU", "")
    found.sort(key=lambda r: (not r.key.startswith(kind), r.key not in ("CPU", "CUDA"), r.key))
    return replace(found[0], site=python_site(name, found[0].key) or found[0].site) if found else None


def _children(overload: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """Return the operators that a composite calls, by running it once on its inputs (on meta if they are not
    there)."""
    from kexec_lint.aten.dispatch.trace import Tracer, TraceUnavailable

    if not args and not kwargs:
        return (), "give --input to see what it decomposes into"
    note = ""
    try:
        real = make([args, kwargs])
    except (RuntimeError, AssertionError, NotImplementedError):  # AssertionError: torch was built without CUDA
        real = make([args, kwargs], "meta")
        note = "its device is not here: decomposed on meta tensors"
    tracer = Tracer()
    try:
        with tracer:
            overload(*real[0], **real[1])
    except TraceUnavailable as error:
        return (), str(error)
    except Exception as error:  # a kernel may raise anything; that it does is part of the answer
        return (), f"running it raises {type(error).__name__}: {str(error).strip().splitlines()[0][:160]}"
    names = [e.operator for e in tracer.events if e.depth == 1]
    return tuple(dict.fromkeys(names)), note
