"""The smallest registration that is sufficient for some models: operators, keys, and the types kernels compute
in.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from kexec_lint.executorch import tables
from kexec_lint.executorch.checks.dtypes import Why, asked
from kexec_lint.executorch.checks.missing import is_primitive
from kexec_lint.executorch.keys import dtype_name, namespace
from kexec_lint.executorch.program import Call, Program

FORMS = ("yaml", "root-ops", "ops-dict", "cmake")


@dataclass(frozen=True)
class Needed:
    """An operator with its keys, why it stands there, and the library that brings it (None: selective build)."""

    operator: str
    keys: tuple[str, ...]
    reason: str
    library: str | None = None
    listed: bool = True
    """False for a name whose dtypes the header must hold although no kernel of it is needed."""


def needed(models: Sequence[Program], release: tables.Release) -> list[Needed]:
    """Return what a build must register for the models, sorted by operator."""
    found: list[Needed] = []
    also: dict[str, set[str]] = {}
    for operator in sorted({operator for model in models for operator in model.operators}):
        users = [model.path.rsplit("/", 1)[-1] for model in models if operator in model.operators]
        keys = {key for model in models for key in model.kernel_keys.get(operator, ())}
        calls = [call for model in models for call in model.calls if call.operator == operator]
        reason = ", ".join(sorted(set(users)))
        if operator in release.dtype_checked:
            for call in sorted(calls):
                for dtype, why in sorted(asked(call, release).items()):
                    if why is not Why.TENSOR:
                        keys.add(f"v1/{dtype};")
                        reason += f"; {dtype_name(dtype)}: {_reason(call, dtype, why)}"
        checked = release.dtype_checked.get(operator)
        if checked is not None and checked != operator.removeprefix("aten::"):
            also.setdefault(checked if "::" in checked else f"aten::{checked}", set()).update(keys)
        library = None
        if is_primitive(operator, release):
            library = "executorch"
        elif operator not in release.portable:
            library = next((name for name, listed in release.libraries.items() if operator in listed), None)
            library = library or tables.NAMESPACE_LIBRARIES.get(namespace(operator))
        if library is None and operator not in release.portable:
            custom = namespace(operator) != "aten"
            reason += "; custom: its YAML goes to CUSTOM_OPS_YAML" if custom else "; no library has a kernel for it"
        # One reason for each of two calls with the same closure is enough.
        reason = "; ".join(dict.fromkeys(reason.split("; ")))
        found.append(Needed(operator, tuple(sorted(keys)) or ("default",), reason, library))
    names = {entry.operator for entry in found}
    for operator, keys in also.items():
        if operator not in names:
            found.append(Needed(operator, tuple(sorted(keys)), "name under which another kernel checks", None, False))
    return sorted(found, key=lambda entry: entry.operator)


def _reason(call: Call, dtype: int, why: Why) -> str:
    if why is Why.NUMBER:
        return "it reads a number so"
    return f"it computes {dtype_name(min(entry for entry, _, _ in call.tensors))} in {dtype_name(dtype)}"


def emit(form: str, models: Sequence[Program], release: tables.Release) -> str:
    """Return the registration as one of FORMS, with a comment for each entry where the form has comments."""
    entries = needed(models, release)
    writer = {"yaml": _yaml, "root-ops": _root_ops, "ops-dict": _ops_dict, "cmake": _cmake}[form]
    return writer(entries, models, release)


def selected(entries: Sequence[Needed]) -> list[Needed]:
    """Return those that codegen must bind: neither primitive nor of another library."""
    return [entry for entry in entries if entry.library is None and entry.listed]


def _elsewhere(entries: Sequence[Needed]) -> list[str]:
    return [f"# {e.operator}: from {e.library} ({e.reason})" for e in entries if e.library is not None]


def _yaml(entries: Sequence[Needed], models: Sequence[Program], release: tables.Release) -> str:
    chosen = selected(entries)
    lines = [f"# Smallest selection for {', '.join(sorted({model.path for model in models}))}."]
    lines += _elsewhere(entries)
    lines += ["build_features: []", "custom_classes: []"]
    with_keys = [entry for entry in entries if entry.library is None]
    lines += ["et_kernel_metadata:" if with_keys else "et_kernel_metadata: {}"]
    for entry in with_keys:
        lines += [f"  {entry.operator}:  # {entry.reason}", *(f"  - {key}" for key in entry.keys)]
    lines += ["include_all_non_op_selectives: false", "include_all_operators: false", "kernel_metadata: {}"]
    lines += ["operators:" if chosen else "operators: {}"]
    for entry in chosen:
        users = entry.reason.split("; ")[0].split(", ")
        lines += [
            f"  {entry.operator}:",
            "    debug_info:",
            *(f"    - {user}" for user in users),
            "    include_all_overloads: false",
            "    is_root_operator: true",
            "    is_used_for_training: true",
        ]
    return "\n".join(lines) + "\n"


def _root_ops(entries: Sequence[Needed], models: Sequence[Program], release: tables.Release) -> str:
    chosen = selected(entries)
    comments = [f"# {entry.operator}: {entry.reason}" for entry in chosen] + _elsewhere(entries)
    return "\n".join([*comments, ",".join(entry.operator for entry in chosen)]) + "\n"


def _ops_dict(entries: Sequence[Needed], models: Sequence[Program], release: tables.Release) -> str:
    return json.dumps({entry.operator: list(entry.keys) for entry in selected(entries)}, indent=2) + "\n"


def _cmake(entries: Sequence[Needed], models: Sequence[Program], release: tables.Release) -> str:
    chosen = selected(entries)
    custom = [entry.operator for entry in chosen if entry.operator not in release.portable]
    backends = sorted({backend for model in models for backend in model.backends})
    by_name = {name: library for library, name in tables.LIBRARY_BACKENDS.items()}
    libraries = sorted({entry.library for entry in entries if entry.library not in (None, "executorch")})
    lines = ["set(_models_ops"]
    lines += [f'    "{entry.operator}"  # {entry.reason}' for entry in chosen]
    lines += [
        ")",
        'list(JOIN _models_ops "," _models_ops)',
        'gen_selected_ops(LIB_NAME "models_ops_lib" ROOT_OPS "${_models_ops}")',
        "generate_bindings_for_kernels(",
        '  LIB_NAME "models_ops_lib"',
        "  FUNCTIONS_YAML ${EXECUTORCH_ROOT}/kernels/portable/functions.yaml",
    ]
    if custom:
        lines.append(f"  CUSTOM_OPS_YAML <YAML that declares {', '.join(custom)}>")
    lines += [
        ")",
        'gen_operators_lib(LIB_NAME "models_ops_lib" KERNEL_LIBS portable_kernels DEPS executorch_core)',
        "target_link_libraries(<target> PRIVATE executorch models_ops_lib)",
    ]
    whole = [*libraries, *(by_name[backend] for backend in backends if backend in by_name)]
    lines += [f"target_link_libraries(<target> PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,{name}>)" for name in whole]
    lines += [f"# link the library of backend {backend}" for backend in backends if backend not in by_name]
    return "\n".join(lines) + "\n"
