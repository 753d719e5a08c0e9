"""EXT102 to EXT105, 113, 114, 120: what is wrong with an operator list or a kernel YAML by itself."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.executorch import tables
from kexec_lint.executorch.build import Build
from kexec_lint.executorch.keys import base_name, namespace
from kexec_lint.executorch.names import Meaning, meaning, suggest
from kexec_lint.executorch.registration import Kind, Part, Selected, finding, place
from kexec_lint.findings import Finding


def check(part: Part, release: tables.Release, also: frozenset[str] = frozenset()) -> Iterator[Finding]:
    """Yield the findings of one file; `also` are operators that other files of the build have kernels for."""
    yield from part.problems
    if part.kind is Kind.SELECTION:
        yield from names(part, release, also)
        yield from emits_nothing(part, release)
        yield from key_order(part)
        if part.include_all is not None:
            yield finding(
                "EXT120",
                "every operator is included: the build is not selective",
                part.include_all,
                help="list the models' operators: kexec-lint opset minimal MODEL… --emit yaml",
            )
    if part.kind is Kind.KERNELS:
        yield from unreachable(part)


def names(part: Part, release: tables.Release, also: frozenset[str]) -> Iterator[Finding]:
    """Yield EXT102 and EXT103 for names that select no kernel."""
    listed: dict[str, Selected] = {}
    for entry in (*part.selected, *part.metadata.values()):
        listed.setdefault(entry.operator, entry)
    for operator, entry in listed.items():
        if operator in also:
            continue
        if entry.all_overloads and any(base_name(name) == operator for name in part.metadata):
            continue  # the bare name selects the overloads that have metadata
        means = meaning(operator, release)
        near = suggest(operator, release)
        did_you_mean = f"write {' or '.join(near)}" if near else None
        if means is Meaning.FUNCTIONAL and entry.all_overloads and part.include_all is None:
            reason = f"{operator} names no overload; executorch's metadata are by overload, so no kernel is emitted"
        elif means is Meaning.FUNCTIONAL:
            reason = f"{operator} is functional; a program calls out variants, so this selects no kernel"
        elif means is Meaning.BARE:
            reason = f"{operator!r} has no namespace, so it selects no kernel"
        else:
            reason = ""
        if reason:
            yield finding("EXT103", reason, entry.at, help=did_you_mean, operator=operator)
        elif means is Meaning.OUT:
            versions = tables.releases_with(operator)
            since = f"; {versions[0]} to {versions[-1]} have one" if versions else ""
            yield finding(
                "EXT102",
                f"no kernel library of executorch {release.version} has {operator}{since}: codegen drops it silently",
                entry.at,
                help=did_you_mean or "write a kernel and name it in CUSTOM_OPS_YAML, or delegate or decompose it",
                operator=operator,
            )
        elif means is Meaning.UNKNOWN:
            yield finding(
                "EXT102",
                f"there is no operator {operator}: codegen drops the name silently",
                entry.at,
                help=f"did you mean {near[0]}?" if near else "remove it",
                operator=operator,
            )


def emits_nothing(part: Part, release: tables.Release) -> Iterator[Finding]:
    """Yield EXT104 for entries that codegen skips: no kernel metadata, or no root operator."""
    if part.include_all is not None:
        return
    if part.null_metadata is not None:
        yield finding(
            "EXT104",
            "et_kernel_metadata is null: codegen wants a mapping and no kernel is emitted",
            part.null_metadata,
            help="gen_oplist of 1.4.1 writes this when it gets no source; pass a model, a list or a YAML",
        )
        return
    useful = [entry for entry in part.selected if meaning(entry.operator, release) in (Meaning.KERNEL, Meaning.CUSTOM)]
    mute = [entry for entry in useful if entry.keys is None and entry.operator not in release.prim]
    dropped = [entry for entry in useful if not entry.root and entry not in mute]
    counted = [entry for entry in useful if entry.operator not in release.prim]
    if mute and len(mute) == len(counted):
        yield finding(
            "EXT104",
            "operators without et_kernel_metadata: codegen emits no kernel at all, and says nothing",
            place(part.path, mute[0].at.row, mute[0].at.column, len(mute[0].operator)),
            help="add et_kernel_metadata with `default` for each operator, "
            "or make the file with gen_oplist or kexec-lint opset minimal --emit yaml",
        )
    else:
        for entry in mute:
            yield finding(
                "EXT104",
                f"{entry.operator} has no et_kernel_metadata: codegen emits no kernel for it",
                entry.at,
                help=f"add `{entry.operator}: [default]` under et_kernel_metadata",
                operator=entry.operator,
            )
    for entry in dropped:
        yield finding(
            "EXT104",
            f"{entry.operator} is no root operator: codegen emits no kernel for it",
            entry.at,
            help="set is_root_operator: true, or remove the entry",
            operator=entry.operator,
        )
    selected = {entry.operator for entry in part.selected}
    bare = {entry.operator for entry in part.selected if entry.all_overloads}
    # A kernel may check the selected types under another operator's name, which then needs metadata alone.
    asked = {f"aten::{release.dtype_checked[name]}" for name in selected & release.dtype_checked.keys()}
    for operator, entry in part.metadata.items():
        if part.selected and operator not in selected | asked and base_name(operator) not in bare:
            if meaning(operator, release) not in (Meaning.KERNEL, Meaning.CUSTOM) or operator in release.prim:
                continue
            yield finding(
                "EXT104",
                f"{operator} has kernel metadata but is not under `operators`: codegen emits no kernel for it",
                entry.at,
                help="add it under `operators` with is_root_operator: true",
                operator=operator,
            )


def key_order(part: Part) -> Iterator[Finding]:
    """Yield EXT113 where a key stands before `default`: the dtype header then still restricts the operator."""
    for entry in part.metadata.values():
        keys = entry.keys or ()
        if "default" in keys and keys.index("default") > 0 and "/" in keys[0]:
            yield finding(
                "EXT113",
                f"{entry.operator}: `default` stands after {keys[0]}; a dtype-selective build stops reading at "
                "`default` and keeps only the dtypes before it",
                entry.keys_at or entry.at,
                help="put `default` first, as a sorted list has it",
                operator=entry.operator,
            )


def unreachable(part: Part) -> Iterator[Finding]:
    """Yield EXT114 for specialised kernels that no program can reach."""
    for kernel in part.kernels:
        special = [key for key in kernel.keys if key != "default"]
        if not special:
            continue
        reason = help_ = None
        shape = tables.aten_shapes().get(kernel.operator.removeprefix("aten::"))
        parts = special[0].count("|") + 1
        if "default" in kernel.keys:
            reason = f"{kernel.operator} has a default and a specialised kernel: codegen takes one (AssertionError)"
            help_ = "keep one of them; dispatch on the dtype inside the kernel"
        elif shape is not None and shape.lists:
            reason = (
                f"{kernel.operator} takes a tensor list, which the key in the selection counts and the "
                "runtime's does "
                "not: a specialised kernel is never found"
            )
            help_ = "register a default kernel"
        elif shape is not None and not shape.optional and parts != shape.tensors + shape.returns:
            reason = (
                f"the specialised kernel of {kernel.operator} names {parts} tensors, a program's key has "
                f"{shape.tensors + shape.returns}: the out tensor counts as argument and as result"
            )
            help_ = "add one more entry after the out argument for the result, or register a default kernel"
        if reason:
            yield finding("EXT114", reason, kernel.at, help=help_, operator=kernel.operator)


def custom_operators(part: Part) -> list[Selected]:
    """Return the selected operators whose namespace is not ATen's."""
    return [entry for entry in part.selected if namespace(entry.operator) not in ("", "aten", "executorch_prim")]


def unmatched(build: Build) -> Iterator[Finding]:
    """Yield EXT114 where codegen stops because no specialised kernel matches what is selected."""
    for operator, reason in build.emission.failures:
        kernel = build.available[operator]
        yield finding(
            "EXT114",
            f"{operator}: codegen stops: {reason}",
            kernel.at,
            help="register one default kernel",
            operator=operator,
            build=build.name,
        )
