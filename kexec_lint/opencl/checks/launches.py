"""OCL403 to OCL406: the launch of a kernel against its signature, its required size and its accesses."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.findings import Confidence
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.kernel_arguments import mismatch
from kexec_lint.opencl.kernels import Kernel

MAX_DIMENSIONS = 3
"""Work dimensions of every known device (CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS is at least 3)."""


@check("OCL403", "OCL404")
def arguments(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield argument lists that do not fit the parameters of the kernel in the source."""
    set_before = [call.kernel for call in graph.set_args]
    for command in graph.commands:
        launch, kernel = command.launch, command.kernel
        if not isinstance(kernel, Kernel) or launch is None or launch.arguments is None:
            continue
        if launch.refusal_expected:
            continue
        if kernel not in set_before or any(argument.span is not None for argument in launch.arguments):
            yield from _arguments(kernel, launch.arguments, command.site, launch.dtypes_declared)
    for call in graph.set_args:
        if isinstance(call.kernel, Kernel):
            yield from _arguments(call.kernel, call.arguments, call.site, call.dtypes_declared)


def _arguments(
    kernel: Kernel, given: tuple[g.Argument, ...], site: g.Site, dtypes_declared: bool
) -> Iterator[Evidence]:
    if not kernel.signature_known:
        return
    wanted = len(kernel.params)
    if len(given) != wanted:
        names = ", ".join(param.name for param in kernel.params)
        yield Evidence(
            "OCL403",
            site,
            f"kernel {kernel.name} takes {_count(wanted)} but gets {len(given)}",
            f"its parameters are ({names}); every one needs a value, local memory a LocalMemory",
        )
        return
    for param, argument in zip(kernel.params, given, strict=True):
        words = mismatch(param, argument, dtypes_declared)
        if words is not None:
            yield Evidence(
                "OCL404",
                _at(site, argument),
                f"{words[0]} for parameter `{param.name}` of kernel {kernel.name}, which is {words[1]}",
                words[2],
            )


def _count(number: int) -> str:
    return f"{number} argument{'' if number == 1 else 's'}"


def _at(site: g.Site, argument: g.Argument) -> g.Site:
    """Return the place of an argument, that of the call if it is not known."""
    if argument.span is None or not argument.span.row:
        return site
    return (*site[:-1], site[-1]._replace(span=argument.span))


@check("OCL405")
def sizes(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield work sizes that the runtime must refuse (specification of clEnqueueNDRangeKernel)."""
    for command in graph.commands:
        if command.kind == "kernel" and command.launch is not None and not command.launch.refusal_expected:
            yield from _sizes(command, command.launch)


def _sizes(command: g.Command, launch: g.Launch) -> Iterator[Evidence]:
    whole, local = launch.global_size, launch.local_size if launch.local_given else None
    kernel = f"kernel {command.what}" if command.what and " " not in command.what else "the kernel"
    if whole is not None and len(whole) > MAX_DIMENSIONS:
        words = f"{kernel} is launched with {len(whole)} dimensions; there are at most {MAX_DIMENSIONS}"
        yield Evidence("OCL405", command.site, words, "fold the further dimensions into the last one")
        return
    if local is None:
        return
    if whole is not None and len(whole) != len(local):
        words = f"{kernel} is launched with {len(whole)} global and {len(local)} local dimensions"
        yield Evidence("OCL405", command.site, words, "give both sizes the same number of dimensions")
        return
    required = command.kernel.required_work_group_size if isinstance(command.kernel, Kernel) else None
    if required is not None and any(
        have is not None and have != want for have, want in zip(local, required, strict=False)
    ):
        have = "x".join("?" if size is None else str(size) for size in local)
        want = "x".join(map(str, required[: len(local)]))
        words = f"{kernel} is launched with work-groups of {have}, but its reqd_work_group_size is {want}"
        yield Evidence("OCL405", command.site, words, "launch it with that local size, or change the attribute")
        return
    if whole is None or launch.scales or launch.uniform is not True:
        return
    for size, part in zip(whole, local, strict=True):
        if size and part and part > 0 and size % part:
            yield Evidence(
                "OCL405",
                command.site,
                f"{kernel}: the global size {size} is no multiple of the local size {part}",
                f"round it up to {-(-size // part) * part} and let the kernel skip the rest, or build the program "
                "with -cl-std=CL2.0 or later",
            )
            return


@check("OCL406")
def flags(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield kernels that write a memory object made READ_ONLY for kernels, or read one made WRITE_ONLY."""
    for command in graph.commands:
        if command.kind != "kernel" or not isinstance(command.kernel, Kernel) or not command.kernel.signature_known:
            continue
        given = command.launch.arguments if command.launch is not None else None
        if given is not None and len(given) != len(command.kernel.params):
            continue  # OCL403: which argument belongs to which parameter is not known
        for access in command.accesses:
            allowed = access.memory.root.access
            if not access.certain or access.position is None or allowed is None:
                continue
            param = command.kernel.params[access.position] if access.position < len(command.kernel.params) else None
            if param is None:
                continue
            if allowed == "read" and param.writes:
                did, flag, instead = "writes", "READ_ONLY", "READ_WRITE or WRITE_ONLY"
            elif allowed == "write" and param.reads:
                did, flag, instead = "reads", "WRITE_ONLY", "READ_WRITE or READ_ONLY"
            else:
                continue
            memory = access.memory.root
            yield Evidence(
                "OCL406",
                command.site,
                f"kernel {command.kernel.name} {did} `{param.name}`, and `{memory.name}` was made {flag}",
                f"{flag} speaks of what kernels may do; create it with mem_flags.{instead}",
                confidence=Confidence.CERTAIN,
                related=((f"`{memory.name}` is created here", memory.created),) if memory.created else (),
            )
