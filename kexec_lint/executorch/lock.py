"""ops.lock: what a shipped binary registers, so that a later model can be judged without its build."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kexec_lint.executorch import tables
from kexec_lint.executorch.build import Build
from kexec_lint.executorch.checks.programs import describe
from kexec_lint.executorch.program import Program
from kexec_lint.executorch.registration import Kind, Part, Registered, RegistrationError, place

FORMAT = 1


def write(build: Build, models: Sequence[Program]) -> str:
    """Return the lock of a build and of the models that ship with it, as JSON with sorted keys."""
    operators = {
        operator: sorted({entry.key for entry in entries}) for operator, entries in sorted(build.registered.items())
    }
    lock: dict[str, Any] = {
        "ops_lock": FORMAT,
        "executorch": build.release.version,
        "operators": operators,
        "primitives": sorted(build.prim),
        "backends": sorted(build.backends),
        "dtypes": {name: sorted(kept) if kept is not None else None for name, kept in sorted(build.dtypes.items())}
        if build.dtype_selective
        else None,
        "models": {
            model.path.replace("\\", "/").rsplit("/", 1)[-1]: {
                "inputs": {method.name: [describe(value) for value in method.inputs] for method in model.methods},
                "planned_bytes": model.planned_bytes,
            }
            for model in models
        },
    }
    return json.dumps(lock, indent=1, sort_keys=True) + "\n"


def read(path: str, text: str) -> tuple[Part, str, dict[str, dict[str, Any]]]:
    """Return what the binary registers, the release, and the models by file name. Raises RegistrationError."""
    try:
        lock = json.loads(text)
    except ValueError as error:
        raise RegistrationError(f"{path}: no ops.lock: {error}") from error
    if not isinstance(lock, dict) or lock.get("ops_lock") != FORMAT:
        raise RegistrationError(f"{path}: no ops.lock of format {FORMAT}: make one with kexec-lint opset lock")
    lines = {line.strip().split('"')[1]: row for row, line in enumerate(text.splitlines(), 1) if '":' in line}
    try:
        part = Part(path, Kind.REGISTERED, place(path), exact=True)
        for operator, keys in lock["operators"].items():
            at = place(path, lines.get(operator, 1))
            part.registered.extend(Registered(operator, key, at, path) for key in keys)
        part.registered.extend(Registered(name, "default", place(path), path) for name in lock["primitives"])
        part.backends = {name: place(path) for name in lock["backends"]}
        part.backends_known = True
        if lock["dtypes"] is not None:
            part.dtype_selective = place(path, lines.get("dtypes", 1))
            part.dtypes = {name: None if kept is None else frozenset(kept) for name, kept in lock["dtypes"].items()}
        tables.load(lock["executorch"])
        return part, str(lock["executorch"]), dict(lock["models"])
    except (KeyError, TypeError, AttributeError) as error:
        raise RegistrationError(f"{path}: an ops.lock without {error}: make it again") from error
