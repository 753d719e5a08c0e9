"""EXT106, 107, 115, 116, 117, 203: what a build registers too much, twice, or from another state of the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from kexec_lint.executorch import tables
from kexec_lint.executorch.build import Build
from kexec_lint.executorch.program import Program
from kexec_lint.executorch.registration import Kind, Registered, finding
from kexec_lint.findings import Confidence, Finding, Location


def unneeded(build: Build, programs: list[Program]) -> Iterator[Finding]:
    """Yield EXT107 for selected operators that no model calls, EXT203 for those of undelegated variants."""
    if not build.selective or not programs:
        return
    needed = {operator for program in programs for operator in program.operators}
    sizes = tables.text_bytes()
    for operator, entries in sorted(build.generated.items()):
        if operator in needed or operator in build.release.prim:
            continue
        measured = _bytes(entries) or sizes.get(operator)
        cost = f", about {measured:,} bytes of code" if measured else ""
        yield finding(
            "EXT107",
            f"{operator} is registered and no model calls it{cost}",
            entries[0].at,
            help=f"remove {operator}, unless code of the application calls the kernel itself",
            operator=operator,
            bytes=measured,
            build=build.name,
        )
    yield from covered(build, programs)


def _bytes(entries: list[Registered]) -> int | None:
    return sum(entry.bytes or 0 for entry in entries) or None


def covered(build: Build, programs: list[Program]) -> Iterator[Finding]:
    """Yield EXT203: operators that only the undelegated variant of a delegated model needs.

    Two programs are variants if their methods take and return the same and one's operators include the other's.
    """
    for plain in programs:
        if plain.backends:
            continue
        others = {operator for program in programs if program is not plain for operator in program.operators}
        variants = [
            program
            for program in programs
            if program.backends
            and contract(program) == contract(plain)
            and set(program.operators) < set(plain.operators)
        ]
        if not variants:
            continue
        for operator in plain.operators:
            if operator not in others and operator in build.generated:
                yield finding(
                    "EXT203",
                    f"{operator} is registered only for {plain.path}, whose delegated variant is {variants[0].path}",
                    build.generated[operator][0].at,
                    help=f"remove it if {plain.path} does not ship",
                    operator=operator,
                    model=plain.path,
                    confidence=Confidence.LIKELY,
                )


def contract(program: Program) -> dict[str, tuple[object, object]]:
    """Return what each method takes and returns."""
    return {method.name: (method.inputs, method.outputs) for method in program.methods}


def stale(build: Build, programs: list[Program]) -> Iterator[Finding]:
    """Yield EXT106 where a selection says it was made from a model of this name, and that model needs other
    things.
    """
    for part in build.parts:
        if part.kind is not Kind.SELECTION or not part.models:
            continue
        listed = {entry.operator for entry in part.selected}
        keys = {operator: set(entry.keys or ()) for operator, entry in part.metadata.items()}
        named = {PurePath(name.replace("\\", "/")).name: at for name, at in part.models.items()}
        for program in programs:
            at = named.get(PurePath(program.path).name)
            if at is None:
                continue
            gone = sorted(set(program.operators) - listed)
            left = sorted(listed - set(program.operators)) if len(part.models) == 1 else []
            changed = sorted(
                operator
                for operator, wanted in program.kernel_keys.items()
                if operator in listed
                and not set(wanted) <= keys.get(operator, set())
                and "default" not in keys.get(operator, set())
            )
            if not gone and not left and not changed:
                continue
            parts = [
                f"{len(names)} {word} ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})"
                for names, word in (
                    (gone, "operators new"),
                    (left, "no longer called"),
                    (changed, "with other keys"),
                )
                if names
            ]
            yield finding(
                "EXT106",
                f"the selection was made from another state of {PurePath(program.path).name}: {'; '.join(parts)}",
                at,
                help="delete the generated YAML and build again, gen_selected_ops does not depend on the model; "
                "add_custom_command(OUTPUT ${gen_selected_ops_output_yaml} APPEND DEPENDS <model>) makes it",
                model=program.path,
                build=build.name,
            )
    for part in build.parts:
        for role, path, at in part.files:
            if role == "model":
                yield finding(
                    "EXT106",
                    f"{path} is no dependency of the generated selection: a new model keeps the old operator list",
                    at,
                    help="add_custom_command(OUTPUT ${gen_selected_ops_output_yaml} APPEND DEPENDS <model>)",
                    confidence=Confidence.POSSIBLE,
                    build=build.name,
                )


def capacity(build: Build) -> Iterator[Finding]:
    """Yield EXT115 where more kernels are registered than the registry holds.

    Since 1.4 a top-level selective build sizes the registry by its YAML (gen_max_kernel_num.py): keys of the
    metadata plus the primitive operators. A library that is not in the YAML then ends the process before main.
    """
    limit = build.capacity
    derived = False
    if limit is None:
        sized = _right_sized(build)
        if sized is None:
            return
        limit, derived = sized, True
    count = len(build.prim) + len({(e.operator, e.key, e.source) for es in build.registered.values() for e in es})
    if count <= limit[0]:
        return
    why = "its selection makes room for" if derived else "MAX_KERNEL_NUM is"
    extra = sorted(name for name in build.libraries if build.release.library(name))
    yield finding(
        "EXT115",
        f"{count} kernels are registered ({len(build.prim)} of them primitive), {why} {limit[0]}: "
        "the process aborts with 0x15 before main",
        limit[1],
        help=f"build with -DMAX_KERNEL_NUM={count}"
        + (f"; {', '.join(extra)} is not counted by the selection" if derived and extra else ""),
        needed=count,
        limit=limit[0],
        build=build.name,
    )


def _right_sized(build: Build) -> tuple[int, Location] | None:
    """Return the registry's size that CMake derives from a top-level selection, None where it does not."""
    top = [part for part in build.parts if part.top_level]
    major, minor = (int(number) for number in build.release.version.split(".")[:2])
    if not top or (major, minor) < (1, 4) or any(part.include_all for part in build.parts):
        return None
    keys: dict[str, set[str]] = {}
    for entry in build.selection:
        keys.setdefault(entry.operator, set()).update(entry.keys or ("default",))
    return sum(len(names) for names in keys.values()) + len(build.release.prim), top[0].at


def duplicates(build: Build) -> Iterator[Finding]:
    """Yield EXT116 for each pair of sources that register the same operator and key."""
    pairs: dict[tuple[str, str], list[str]] = {}
    for operator, entries in build.registered.items():
        first: dict[str, Registered] = {}
        for entry in entries:
            if entry.key in first and first[entry.key].source != entry.source:
                pairs.setdefault((first[entry.key].source, entry.source), []).append(operator)
            else:
                first.setdefault(entry.key, entry)
    places = {entry.source: entry.at for entries in build.registered.values() for entry in entries}
    binary = {part.path for part in build.parts if part.exact}
    for (left, right), names in pairs.items():
        if left in binary or right in binary:
            continue  # a map or an executable shows the result, it is not linked beside the others
        yield finding(
            "EXT116",
            f"{left} and {right} both register {len(names)} kernel{'s' if len(names) > 1 else ''} "
            f"({', '.join(sorted(names)[:3])}{', …' if len(names) > 3 else ''}): the process aborts with 0x16",
            places[right],
            help="link one of them; merge_yaml joins two kernel YAML files into one library",
            operator=names[0] if len(names) == 1 else None,
            operators=sorted(names),
            build=build.name,
        )


def stripped(build: Build) -> Iterator[Finding]:
    """Yield EXT117 for a linker map with kernels and without the object that registers them."""
    for part in build.parts:
        if part.kind is Kind.REGISTERED and part.stripped and not part.registered:
            operator, at = next(iter(part.stripped.items()))
            yield finding(
                "EXT117",
                f"the map holds kernels of {len(part.stripped)} operators ({operator}, …) and no "
                "registration object: "
                "nothing registers them",
                at,
                help="link the generated library with whole-archive (executorch_target_link_options_shared_lib)",
                build=build.name,
            )
