"""What is defined, implemented, twice defined, or registered under a name that does not exist."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from kexec_lint.aten import aten
from kexec_lint.aten.checks import Report, check
from kexec_lint.aten.facts import Definition, Implementation, LibraryObject
from kexec_lint.aten.registry import Operator, Registry, read_schema, role_of
from kexec_lint.aten.schema import SchemaError
from kexec_lint.findings import Related

OUT_OF_TREE_DEVICES = aten.words("npu musa mlu gcu sdaa hpu mkldnn opengl opencl ideep fpga")
"""Device types of PrivateUse1 backends that rename themselves, and old ones that PyTorch still parses."""


def _undefined_kernels(operator: Operator) -> bool:
    """Whether nothing computes the operator: no kernel, and no autograd kernel that could."""
    return not any(role_of(i) in ("kernel", "autograd", "other") for i in operator.implementations)


_OPAQUE = re.compile(r"[(,]\s*(?!torch\.\w+\s)[A-Za-z_]\w*(?:\.\w+)+\s+\w+")
"""An argument whose type is a dotted name (`torch.distributed.ProcessGroup group`)."""


def _without_kernel(registry: Registry, language: str) -> Iterator[Report]:
    for operator in registry.operators.values():
        definition = operator.definition
        if definition is None or _language(definition) != language or not _undefined_kernels(operator):
            continue
        space = operator.namespace
        asked = space in registry.asked
        if definition.via == "RegisterOperators" or registry.any_open(space, "implementations"):
            continue
        if registry.fallbacks & {"CPU", "CUDA", "PrivateUse1"}:
            continue
        if any(d.language not in (language, "runtime") for d in operator.definitions):
            continue
        if language == "python" and not asked and (registry.loads_anything or _imports_extension(registry, definition)):
            continue  # its kernel may be in the loaded library
        called = [c for c in operator.calls if not c.guarded]
        whole = space in registry.owned
        if not whole and not asked and not called and not _has_siblings(registry, operator):
            continue
        yield Report(
            definition.at,
            f"'{operator.name}' is defined but no kernel implements it",
            "register one (Library.impl, register_kernel, TORCH_LIBRARY_IMPL); a call raises "
            f"\"Could not run '{operator.name}' with arguments from the 'CPU' backend\"",
            "certain" if asked else "likely",
            tuple(Related("called here", c.at) for c in called[:1]),
            "error" if whole else None,
            operator.name,
        )


def _language(record: Definition | Implementation) -> str:
    """Return the language of a record; what the dispatcher tells and a place is known of was registered by Python."""
    return "python" if record.language == "runtime" else record.language


def _has_siblings(registry: Registry, operator: Operator) -> bool:
    """Whether the file that defines it gives kernels to other operators of the namespace: one was forgotten."""
    where = operator.definitions[0].at.filename
    return any(
        role_of(i) == "kernel" and i.at.filename == where and i.raw != "default"
        for other in registry.operators.values()
        if other is not operator and other.namespace == operator.namespace and other.definitions
        for i in other.implementations
    )


def _imports_extension(registry: Registry, definition: Definition) -> bool:
    facts = registry.files.get(definition.at.filename)
    return facts is not None and bool(facts.external)


@check("ATN101")
def definition_without_kernel(registry: Registry) -> Iterator[Report]:
    """Python: `Library.define` whose operator nothing implements."""
    yield from _without_kernel(registry, "python")


@check("ATN201")
def native_definition_without_kernel(registry: Registry) -> Iterator[Report]:
    """C++: `m.def(schema)` whose operator nothing implements."""
    yield from _without_kernel(registry, "c++")


def nearest(registry: Registry, name: str) -> str | None:
    """Return the defined operator whose name is closest to one that is not defined."""
    space = name.partition("::")[0]
    defined = [o.name for o in registry.operators.values() if o.definitions and o.namespace == space]
    found = difflib.get_close_matches(name, defined, 1, 0.75)
    return found[0] if found else None


def _dangling(registry: Registry, language: str) -> Iterator[Report]:
    for operator in registry.operators.values():
        if operator.definitions or operator.namespace == "_":
            continue
        space = operator.namespace
        known = registry.dangling is not None and operator.name in registry.dangling
        foreign = space in aten.FOREIGN_NAMESPACES and space not in registry.owned
        unsure = foreign or space not in registry.namespaces or registry.is_open(space, "definitions")
        if unsure and not known:
            continue
        close = nearest(registry, operator.name)
        whole = known or (space in registry.owned and "*" not in registry.open_definitions)
        # Outside a wholly visible namespace only a misspelt name is worth a word.
        if not whole and not (close and not _is_complete(registry.operators[close], operator)):
            continue
        written = [i for i in operator.implementations if i.via != "runtime"]
        for implementation in written or operator.implementations:
            if _language(implementation) != language:
                continue
            raises = (
                implementation.language == "python"
                and implementation.role in ("fake", "autograd", "vmap")
                and (implementation.via.startswith("torch.library."))
            )
            yield Report(
                implementation.at,
                f"no operator '{operator.name}' is defined: this {_what(implementation)} is never reached",
                (f"did you mean '{close}'? " if close else "define it, or correct the name; ")
                + (
                    f'importing the module raises "operator {operator.name} does not exist"'
                    if raises
                    else "PyTorch accepts the registration without a word"
                ),
                "certain" if whole else "likely",
                tuple(Related("the nearest name", registry.operators[close].definitions[0].at) for _ in [0] if close),
                operator=operator.name,
            )


def _is_complete(defined: Operator, dangling: Operator) -> bool:
    """Whether a defined operator already has every kernel that a misspelt one would bring."""
    return {role_of(i) + i.key for i in dangling.implementations} <= {
        role_of(i) + i.key for i in defined.implementations
    }


def _what(implementation: Implementation) -> str:
    role = role_of(implementation)
    if role == "kernel":
        return f"{implementation.key} kernel" if implementation.key not in ("", "?") else "kernel"
    return {"fake": "fake implementation", "autograd": "autograd formula"}.get(role, f"{role} rule")


@check("ATN110")
def dangling_implementation(registry: Registry) -> Iterator[Report]:
    """Python: a kernel for a name that nobody defined."""
    yield from _dangling(registry, "python")


@check("ATN202")
def native_dangling_implementation(registry: Registry) -> Iterator[Report]:
    """C++: `m.impl` for a name that nobody defined."""
    yield from _dangling(registry, "c++")


@check("ATN111")
def duplicate_registration(registry: Registry) -> Iterator[Report]:
    """The same kernel slot, or the same definition, twice on one path of one file."""
    for operator in registry.operators.values():
        seen: dict[tuple[object, ...], Implementation] = {}
        for implementation in operator.implementations:
            if (
                implementation.key == "?"
                or implementation.via == "runtime"
                or implementation.operator.startswith("*::")
                or implementation.raw == "default"
            ):
                continue
            if any("loop@" in g for g in implementation.guard):
                continue
            slot = role_of(implementation)
            key = (slot, implementation.key if slot != "dispatch" else implementation.at.row)
            again = [
                d for d in operator.definitions if d.via == "custom_op" and d.at.filename == implementation.at.filename
            ]
            number = sum(d.at.row <= implementation.at.row for d in again)  # a second custom_op starts anew
            slot_key = (*key, implementation.at.filename, implementation.guard, number)
            first = seen.setdefault(slot_key, implementation)
            if first is implementation or first.at == implementation.at:
                continue
            yield Report(
                implementation.at,
                f"a second {_what(implementation)} for '{operator.name}' replaces the first",
                "keep one; the last registration wins, and PyTorch warns at most once per process",
                related=(Related("the first registration", first.at),),
                operator=operator.name,
            )
        yield from _defined_twice(registry, operator)


def _defined_twice(registry: Registry, operator: Operator) -> Iterator[Report]:
    first: dict[tuple[object, ...], Definition] = {}
    for definition in operator.definitions:
        if definition.via in ("RegisterOperators", "runtime") or any("loop@" in g for g in definition.guard):
            continue
        before = first.setdefault((definition.at.filename, definition.guard), definition)
        if before is definition:
            continue
        custom = definition.via == before.via == "custom_op"
        if custom and registry.files[definition.at.filename].is_test and any("def@" in g for g in definition.guard):
            continue  # one test that tries several kernels of one name
        yield Report(
            definition.at,
            f"'{operator.name}' is defined a second time",
            "rename one; the second custom_op silently replaces the first"
            if custom
            else "rename one, or give it an overload name; it raises RuntimeError 'same name and overload name'"
            if definition.language == "python"
            else "rename one, or give it an overload name; loading the library terminates the process",
            related=(Related("the first definition", before.at),),
            severity="warning" if custom else "error",
            operator=operator.name,
        )


@check("ATN112")
def namespace_of_library(registry: Registry) -> Iterator[Report]:
    """A DEF library for a reserved namespace or one that PyTorch defines; a foreign prefix in a C++ block."""
    builtin = frozenset(aten.digest()["namespaces"])
    for library in registry.libraries():
        if library.language == "python" and library.kind in ("DEF", "FRAGMENT"):
            if library.namespace in aten.RESERVED_NAMESPACES:
                yield Report(
                    library.at,
                    f"namespace '{library.namespace}' is reserved",
                    "choose another name; the constructor raises ValueError",
                )
            elif library.kind == "DEF" and library.namespace in builtin:
                yield Report(
                    library.at,
                    f"PyTorch itself defines namespace '{library.namespace}'",
                    'open it with "FRAGMENT" to add operators or "IMPL" to add kernels; a second DEF raises '
                    "'Only a single TORCH_LIBRARY can be used'",
                )
            elif "::" in library.namespace or not library.namespace:
                yield Report(library.at, f"'{library.namespace}' is no namespace", "pass the part before '::' alone")
    for facts in registry.files.values():
        blocks = [x for x in facts.libraries if x.language == "c++"]
        items: list[Definition | Implementation] = [*facts.definitions, *facts.implementations]
        for item in items:
            if item.via not in ("m.def", "m.impl"):
                continue
            space = item.operator.partition("::")[0]
            owner = _block_of(blocks, item.at.row)
            if owner is not None and not owner.namespace.startswith("${") and space != owner.namespace and space != "_":
                yield Report(
                    item.at,
                    f"'{item.operator}' stands in a block of namespace '{owner.namespace}'",
                    "the namespaces differ: loading the library terminates the process; move it to its own block",
                )


def _block_of(blocks: list[LibraryObject], row: int) -> LibraryObject | None:
    before = [b for b in blocks if b.at.row <= row]
    return max(before, key=lambda b: b.at.row) if before else None


@check("ATN115")
def bad_key(registry: Registry) -> Iterator[Report]:
    """A dispatch key or a device type that PyTorch does not parse."""
    known = {k.lower(): k for k in aten.dispatch_keys()}
    for library in registry.libraries():
        key = library.key
        wrong = key not in aten.dispatch_keys() and not key.isupper() and key.lower() in known
        if library.language == "c++" and wrong:
            yield Report(library.at, f"'{key}' is no dispatch key", f"write {known[key.lower()]}")
    for operator in registry.operators.values():
        for implementation in operator.implementations:
            key = implementation.key
            if implementation.language == "c++":
                in_block = implementation.kind == "IMPL"  # said once, at the block
                if not in_block and key not in aten.dispatch_keys() and key.lower() in known and not key.isupper():
                    yield Report(
                        implementation.at,
                        f"'{key}' is no dispatch key",
                        f"write {known[key.lower()]}",
                        operator=operator.name,
                    )
                continue
            if key.startswith("device "):
                device = key.removeprefix("device ").partition(":")[0]
                if device in registry.backends or device in OUT_OF_TREE_DEVICES:
                    continue
                hint = {"gpu": "cuda", "tpu": "xla", "rocm": "cuda", "amd": "cuda", "nvidia": "cuda"}.get(
                    device.lower()
                )
                hint = hint or next(iter(difflib.get_close_matches(device.lower(), aten.DEVICE_KEYS, 1, 0.6)), None)
                yield Report(
                    implementation.at,
                    f"'{device}' is no device type",
                    (f"did you mean '{hint}'? " if hint else "") + "the registration raises RuntimeError",
                    operator=operator.name,
                )
            elif key and key != "?" and key not in aten.dispatch_keys() and implementation.role == "kernel":
                close = known.get(key.lower()) or next(
                    iter(difflib.get_close_matches(key, aten.dispatch_keys(), 1, 0.6)), None
                )
                yield Report(
                    implementation.at,
                    f"'{key}' is no dispatch key",
                    (f"did you mean '{close}'? " if close else "")
                    + "the registration raises 'could not parse dispatch key'",
                    operator=operator.name,
                )


@check("ATN116")
def schema_syntax(registry: Registry) -> Iterator[Report]:
    """A schema that PyTorch's parser rejects."""
    for operator in registry.operators.values():
        for definition in operator.definitions:
            text = definition.schema
            if text is None or definition.via in ("RegisterOperators", "runtime"):
                continue
            shown = text.lstrip("\x00")
            if text.startswith("\x00") and " -> " not in text:
                arrow = "->" in text
                yield Report(
                    definition.at,
                    "torch.library.define wants a schema like '(Tensor x) -> Tensor'"
                    + (", with spaces around the arrow" if arrow else ""),
                    f"got '{shown}'; it raises ValueError",
                    operator=operator.name,
                )
                continue
            if text.startswith("\x00") and not shown.startswith("("):
                yield Report(
                    definition.at,
                    "torch.library.define takes the schema without the operator's name",
                    f"start it with '('; got '{shown}', which raises ValueError",
                    operator=operator.name,
                )
                continue
            hexadecimal = re.search(r"=\s*-?(0[xX][0-9a-fA-F]+)", text)
            if hexadecimal:
                yield Report(
                    definition.at,
                    f"the default {hexadecimal[1]} of '{operator.name}' is read as 0",
                    "write it in decimal; the schema language has no hexadecimal numbers",
                    operator=operator.name,
                )
                continue
            try:
                read_schema(definition)
            except SchemaError as error:
                if _OPAQUE.search(text):
                    continue  # a class that torch may know as an opaque type at run time
                yield Report(
                    definition.at,
                    f"the schema of '{operator.name}' does not parse: {error}",
                    f"in '{' '.join(shown.split())}'",
                    operator=operator.name,
                )


@check("ATN118")
def implicit_composite(registry: Registry) -> Iterator[Report]:
    """A kernel registered without a key becomes CompositeImplicitAutograd."""
    for operator in registry.operators.values():
        for implementation in operator.implementations:
            if implementation.role != "kernel" or implementation.key or implementation.fallthrough:
                continue
            if implementation.via == "torch.library.define":
                continue
            clash = [i for i in operator.implementations if role_of(i) == "fake" and i is not implementation]
            others = [i for i in operator.kernels if i.key and i is not implementation]
            if not (clash or others) and not registry.takes_tensors(operator, implementation):
                continue  # no argument has a device to choose a kernel by
            if implementation.language == "c++":
                function = registry.function_of(implementation)
                if not registry.takes_tensors(operator, implementation):
                    continue
                near = implementation.at.filename
                if function is not None and registry.touches_memory(function, near):
                    continue  # ATN204
                opaque = function is not None and not registry.composes(function, near)
                if not (clash or others or opaque):
                    continue  # m.def(schema, fn) is how a composite is written
            yield Report(
                implementation.at,
                f"'{operator.name}' is registered without a dispatch key: it becomes "
                "CompositeImplicitAutograd, for every "
                "device and below autograd",
                "the fake registered for it raises 'We should not register a meta kernel'; name the key"
                if clash
                else 'name the key ("CPU", "CUDA"), or write "CompositeImplicitAutograd" if that is meant',
                related=tuple(Related("the fake that clashes", i.at) for i in clash[:1]),
                operator=operator.name,
            )


@check("ATN123")
def defined_namespace_twice(registry: Registry) -> Iterator[Report]:
    """Python: two DEF libraries of one namespace that can live in one process."""
    yield from _double_def(registry, "python")


@check("ATN203")
def native_namespace_twice(registry: Registry) -> Iterator[Report]:
    """C++: two TORCH_LIBRARY blocks of one namespace in one extension: one file, or files that one build list
    names."""
    yield from _double_def(registry, "c++")


def _double_def(registry: Registry, language: str) -> Iterator[Report]:
    seen: dict[str, list[LibraryObject]] = {}
    for path in sorted(registry.files):
        facts = registry.files[path]
        for library in facts.libraries:
            if (
                library.kind != "DEF"
                or library.dies.startswith("a temporary")
                or any("loop@" in g for g in library.guard)
            ):
                continue
            known = [(_together(registry, x, library), x) for x in seen.get(library.namespace, ())]
            known = [(sure, x) for sure, x in known if sure is not None]
            if known and library.language == language and known[0][1].language == language:
                sure, first = min(known, key=lambda k: ("certain", "likely", "possible").index(k[0] or ""))
                same = first.at.filename == library.at.filename
                yield Report(
                    library.at,
                    f"namespace '{library.namespace}' is defined a second time"
                    + (" in this extension" if language == "c++" and not same and sure == "likely" else ""),
                    "use \"FRAGMENT\" here; the second DEF raises 'Only a single TORCH_LIBRARY can be used'"
                    if language == "python"
                    else "use TORCH_LIBRARY_FRAGMENT here; loading both terminates the process",
                    sure or "likely",
                    (Related("the first definition of the namespace", first.at),),
                )
            seen.setdefault(library.namespace, []).append(library)


def _together(registry: Registry, first: LibraryObject, second: LibraryObject) -> str | None:
    """Return how sure it is that two blocks end up in one process, None if they are alternatives.

    One path of one file; Python modules of one package; C++ files that one list of a build names.
    """
    a, b = first.at.filename.replace("\\", "/"), second.at.filename.replace("\\", "/")
    if first.language != second.language:
        return None
    if a == b:
        scoped = first.language == "c++" or not first.scope or first.scope == second.scope
        return "certain" if first.guard == second.guard and scoped else None
    if first.guard or second.guard or first.scope or second.scope:
        return None
    if any(registry.files[p].is_test for p in (first.at.filename, second.at.filename)):
        return None
    if first.language == "c++":
        if registry.in_one_extension(first.at.filename, second.at.filename):
            return "likely"
        return None if first.namespace.startswith("${") else "possible"
    package = a.rpartition("/")[0]
    inside = f"{package}/__init__.py" in {p.replace("\\", "/") for p in registry.files}
    return "likely" if package == b.rpartition("/")[0] and inside else None


@check("ATN124")
def aten_override(registry: Registry) -> Iterator[Report]:
    """A kernel that replaces one of ATen's for the whole process."""
    known = frozenset(aten.digest()["operators"])
    for operator in registry.operators.values():
        if operator.namespace != "aten" or operator.definitions:
            continue
        name = operator.name.partition("::")[2].partition(".")[0]
        for implementation in operator.implementations:
            key = implementation.key
            if implementation.language != "python" or role_of(implementation) not in ("kernel", "autograd"):
                continue
            if key in ("PrivateUse1", "AutogradPrivateUse1", "?") or name not in known:
                continue
            if key not in ("", "CPU", "CUDA", "XPU", "MPS", "Autograd", "AutogradCPU", "AutogradCUDA") and (
                key not in aten.COMPOSITE_KEYS
            ):
                continue
            yield Report(
                implementation.at,
                f"this replaces PyTorch's own {key or 'CompositeImplicitAutograd'} kernel of "
                f"'{operator.name}' for the "
                "whole process",
                "every library in the process gets this kernel; use a TorchDispatchMode or an operator of your own",
                operator=operator.name,
            )
