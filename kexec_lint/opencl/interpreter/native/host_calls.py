"""Functions of the C and C++ libraries: which host memory they read, write, free, or only look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.interpreter import host
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.native import pointers
from kexec_lint.opencl.interpreter.values import NONE, AbstractValue, Known, Object, Phi, TupleValue, Unknown

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.calls import Arguments

READ_WRITE: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "memcpy": ((1,), (0,)),
    "memmove": ((1,), (0,)),
    "memcmp": ((0, 1), ()),
    "memchr": ((0,), ()),
    "memset": ((), (0,)),
    "bzero": ((), (0,)),
    "strcpy": ((1,), (0,)),
    "strncpy": ((1,), (0,)),
    "strcmp": ((0, 1), ()),
    "strlen": ((0,), ()),
    "sprintf": ((2, 3, 4), (0,)),
    "snprintf": ((3, 4, 5), (0,)),
    "fread": ((), (0,)),
    "fwrite": ((0,), ()),
    "fgets": ((), (0,)),
    "read": ((), (1,)),
    "write": ((1,), ()),
    "recv": ((), (1,)),
    "send": ((1,), ()),
    "qsort": ((0,), (0,)),
    "copy": ((0,), (2,)),
    "copy_n": ((0,), (2,)),
    "fill": ((), (0,)),
    "fill_n": ((), (0,)),
    "iota": ((), (0,)),
    "generate": ((), (0,)),
    "sort": ((0,), (0,)),
    "transform": ((0,), (2,)),
    "accumulate": ((0,), ()),
    "equal": ((0, 2), ()),
    "for_each": ((0,), ()),
    "all_of": ((0,), ()),
    "any_of": ((0,), ()),
    "max_element": ((0,), ()),
    "min_element": ((0,), ()),
    "printf": ((1, 2, 3, 4, 5), ()),
    "fprintf": ((2, 3, 4, 5), ()),
    "puts": ((0,), ()),
}
"""Name → positions of the arguments whose memory is read, and written."""

ALLOCATORS = frozenset(
    [
        "malloc",
        "calloc",
        "aligned_alloc",
        "_aligned_malloc",
        "valloc",
        "memalign",
        "realloc",
        "alloca",
        "_mm_malloc",
        "aligned_malloc",
        "new[]",
    ]
)
FREES = frozenset(["free", "_aligned_free", "_mm_free", "aligned_free"])
EXITS = frozenset(["exit", "_exit", "abort", "quick_exit", "_Exit", "terminate"])
TIMERS = frozenset(
    [
        "gettimeofday",
        "clock",
        "clock_gettime",
        "time",
        "timeGetTime",
        "omp_get_wtime",
        "wtime",
        "MPI_Wtime",
        "now",
        "QueryPerformanceCounter",
        "mach_absolute_time",
        "ftime",
        "timespec_get",
    ]
)
THREADS = frozenset(["pthread_create", "thread", "async", "CreateThread", "_beginthreadex", "thrd_create", "jthread"])
QUIET = frozenset(
    [
        "sizeof",
        "assert",
        "abs",
        "fabs",
        "fabsf",
        "sqrt",
        "sqrtf",
        "pow",
        "powf",
        "sin",
        "cos",
        "exp",
        "log",
        "floor",
        "ceil",
        "min",
        "max",
        "fmin",
        "fmax",
        "rand",
        "srand",
        "random",
        "atoi",
        "atof",
        "strtol",
        "getenv",
        "fopen",
        "fclose",
        "fflush",
        "fseek",
        "ftell",
        "rewind",
        "perror",
        "getopt",
        "strdup",
        "strcat",
        "strstr",
        "strchr",
        "strtok",
        "strrchr",
        "to_string",
        "stoi",
        "stof",
        "swap",
        "setw",
        "setprecision",
        "getline",
        "usleep",
        "sleep",
        "toupper",
        "tolower",
        "isdigit",
        "numeric_limits",
        "round",
        "roundf",
        "lround",
        "posix_memalign",
        "cout",
        "endl",
        "uniform_real_distribution",
        "numeric_limits",
        "getTime",
        "isnan",
        "feof",
    ]
)
"""Functions that touch no memory of commands and call nothing back."""

PAIRS = frozenset(["make_pair", "make_tuple"])
"""Functions that return their arguments together."""


def knows(name: str) -> bool:
    """Return whether a name is one of the C or C++ library's."""
    return (
        name in READ_WRITE
        or name in QUIET
        or name in PAIRS
        or name in ALLOCATORS
        or name in FREES
        or name in TIMERS
        or name in THREADS
    ) or name in EXITS


def call(m: Machine, name: str, arguments: Arguments, span: p.Span) -> AbstractValue | None:
    """Carry out a call of the C or C++ library, None if the name is none of it."""
    given = arguments.positional
    if name in READ_WRITE:
        reads, writes = READ_WRITE[name]
        for number, value in enumerate(given):
            where = arguments.spans[number] if number < len(arguments.spans) else span
            if number in writes:
                _touch(m, value, where if where.row else span, name, number in reads, True)
            elif number in reads:
                _touch(m, value, where if where.row else span, name, True, False)
        return given[0] if given and name in ("memcpy", "memset", "strcpy") else m.fresh("number")
    if name in ALLOCATORS:
        return host.make(m, span, "host memory", initialised=name == "calloc")
    if name in FREES:
        for value in given:
            free(m, value, span, name)
        return NONE
    if name in EXITS:
        if not _fails(name, given):
            m.point("exit", span, what=name)
        return NONE
    if name in TIMERS:
        _timer(m, name, span)
        return m.fresh("time")
    if name in THREADS:
        from kexec_lint.opencl.interpreter import calls

        calls.escape(m, given)
        m.graph.threaded = True
        return m.fresh("thread")
    if name == "posix_memalign" and given:
        from kexec_lint.opencl.interpreter.native import operands

        operands.hand_out(m, given[0], host.make(m, span, "host memory"), span)
        return Known(0)
    if name == "swap" and len(given) == 2 and all(isinstance(v, pointers.Address) for v in given):
        first, second = given
        assert isinstance(first, pointers.Address)
        assert isinstance(second, pointers.Address)
        a, b = pointers.load(m, first), pointers.load(m, second)
        pointers.store(m, first, b, span)
        pointers.store(m, second, a, span)
        return NONE
    if name in PAIRS:
        return TupleValue(tuple(map(pointers.target, given)))
    if name in QUIET:
        return m.fresh("result", name)
    return None


def _fails(name: str, given: list[AbstractValue]) -> bool:
    """Whether an exit says that the program failed: nobody is left who wants the results of its commands."""
    if not given:
        return name in ("abort", "terminate")
    status = given[0]
    if isinstance(status, Known):
        return status.value not in (0, None)
    return isinstance(status, Unknown) and status.name == "EXIT_FAILURE"


def _timer(m: Machine, name: str, span: p.Span) -> None:
    """The clock is read; by a function that does nothing else of interest, it is its caller who reads it."""
    point = m.point("timer", span, what=name)
    site = point.site
    for node, frame in zip(reversed(m.stack), reversed(m.frames), strict=False):
        if len(site) < 2 or not isinstance(node, p.Function) or frame.scope.relevance.matters(node):
            break
        site = site[:-1]
    point.site = site


def _touch(m: Machine, value: AbstractValue, span: p.Span, what: str, reads: bool, writes: bool) -> None:
    if isinstance(value, pointers.Address):
        held = value.state.get(value.key) if value.base is None else value.base
        if isinstance(held, Object) and held.kind in ("host", "map"):
            value = held
        elif isinstance(held, Object) and isinstance(held.state.get("#host"), Object):
            value = held.state["#host"]
    if isinstance(value, Object) and isinstance(value.state.get("#host"), Object):
        value = value.state["#host"]
    host.access(m, value, span, what, reads, writes)


def free(m: Machine, value: AbstractValue, span: p.Span, what: str) -> None:
    """Host memory is given back, in flight or not."""
    if isinstance(value, Phi):
        return
    if isinstance(value, pointers.Address):
        value = pointers.load(m, value, span)
    if isinstance(value, Object) and isinstance(value.state.get("#host"), Object):
        value = value.state["#host"]  # a struct that a command uses as host memory
    memory = host.memory(m, value)
    if memory is None or m.scratch:
        return
    if id(memory.root) not in m.users and memory.host_pointer is None:
        return
    point = m.point("release", span, what=what, memory=memory)
    point.accesses.append(g.Access(memory, False, True, role="scope"))
    if memory.host_pointer is not None:
        point.accesses.append(g.Access(memory.host_pointer, False, True, role="scope"))


__all__ = ["Unknown", "call", "free"]
