"""Whether operators are there when they are called: library lifetimes, loads, swallowed failures."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.aten import aten
from kexec_lint.aten.checks import Report, check
from kexec_lint.aten.facts import FileFacts, LibraryObject
from kexec_lint.aten.registry import Registry
from kexec_lint.findings import Related

BUILTIN = aten.FOREIGN_NAMESPACES - {"_C"}


@check("ATN113")
def library_lifetime(registry: Registry) -> Iterator[Report]:
    """A Library that is collected, and takes its operators with it."""
    for facts in registry.files.values():
        for library in facts.libraries:
            if library.language != "python" or not library.dies or library.kind.startswith("scoped"):
                continue
            if _used_only_inside(registry, facts, library):
                continue
            call = next(
                (c for o in registry.operators.values() if o.namespace == library.namespace for c in o.calls), None
            )
            yield Report(
                library.at,
                f"the Library of '{library.namespace}' does not live on: {library.dies}",
                "keep it in a module-level name; when it is collected, its definitions and kernels are removed",
                "certain" if library.scope == "" or not facts.is_test else "likely",
                tuple(Related("an operator of it is called here", c.at) for c in [call] if c),
            )


def _used_only_inside(registry: Registry, facts: FileFacts, library: LibraryObject) -> bool:
    """Whether the function that holds the Library is the only one that calls its operators (a test, a script)."""
    if not library.scope:
        return False
    if facts.is_test and library.scope.startswith("test"):
        return True  # its operators are to end with the test
    inside = outside = 0
    for other in registry.files.values():
        for call in other.calls:
            if call.operator.partition("::")[0] != library.namespace:
                continue
            if other is facts and call.scope == library.scope:
                inside += 1
            else:
                outside += 1
    if library.kind == "IMPL":
        return not outside and (inside > 0 or facts.is_test)
    return (inside > 0 and not outside) or (facts.is_test and not outside)


@check("ATN114")
def use_before_load(registry: Registry) -> Iterator[Report]:
    """A call into a namespace that nothing in sight defines or loads."""
    if registry.symbolic or registry.loads_anything or "*" in registry.open_definitions:
        return
    for facts in registry.files.values():
        if facts.external or facts.swallowed:
            continue
        said: set[str] = set()
        for call in facts.calls:
            space = call.operator.partition("::")[0]
            if space in said or space in BUILTIN or space in registry.namespaces or call.guarded:
                continue
            if space in registry.open_definitions:
                continue
            said.add(space)
            yield Report(
                call.at,
                f"nothing defines or loads the operators of 'torch.ops.{space}' before this call",
                "import the extension or torch.ops.load_library first; it raises "
                f"\"'_OpNamespace' '{space}' object has no "
                'attribute …"',
                "likely",
                operator=call.operator,
            )


@check("ATN129")
def swallowed_import(registry: Registry) -> Iterator[Report]:
    """An extension whose failed import is dropped, while its operators are used."""
    for facts, swallow in registry.swallowed():
        python_defined = {
            o.namespace for o in registry.operators.values() if any(d.language == "python" for d in o.definitions)
        }
        uses = [
            call
            for other in registry.files.values()
            for call in other.calls
            if not call.guarded and call.operator.partition("::")[0] not in BUILTIN | python_defined
        ]
        fitting = [c for c in uses if _comes_from(c.operator.partition("::")[0], swallow.modules)]
        own = {m.rpartition(".")[2] for m in swallow.modules}
        call = min(fitting, key=lambda c: c.operator.partition("::")[0] not in own, default=None)
        if call is None:
            continue
        if call.at.filename != facts_name(registry, facts) and not _comes_from(
            call.operator.partition("::")[0], [m for m in swallow.modules if m != "load_library"]
        ):
            continue
        space = call.operator.partition("::")[0]
        if swallow.asked and all(c.guarded for c in facts.calls if c.operator.partition("::")[0] == space):
            continue  # it falls back, or says itself what is missing
        module = next((m for m in swallow.modules if _comes_from(space, [m])), swallow.modules[0])
        yield Report(
            swallow.handler,
            f"a failure to load '{module}' is dropped here, and 'torch.ops.{space}' is used later",
            "raise, or keep the error and raise it at the first use; the user only sees "
            f"\"'_OpNamespace' '{space}' object "
            'has no attribute …"',
            "likely",
            (Related("the import", swallow.at), Related("used here", call.at)),
        )


def facts_name(registry: Registry, facts: FileFacts) -> str:
    """Return the path a file's facts belong to."""
    return next(path for path, other in registry.files.items() if other is facts)


def _comes_from(namespace: str, modules: tuple[str, ...] | list[str]) -> bool:
    """Whether a namespace can come from one of these modules: same last name, or an extension of the package."""
    for module in modules:
        last = module.lstrip(".").rpartition(".")[2]
        if module == "load_library" or last == namespace:
            return True
        compiled = last.startswith("_") or last.endswith(("_C", "_ext", "_cuda", "_ops", "_lib", "_kernels", "_cpp"))
        related = namespace in module or last.strip("_") in namespace
        if compiled and (related or last == "_C"):
            return True
    return False
