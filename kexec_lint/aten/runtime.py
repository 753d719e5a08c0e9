"""`check --runtime MODULE`: what the dispatcher itself knows after a module is imported, as facts for the
registry.

`facts` starts this module as a program in a process of its own, so that nothing is registered in the linter's.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from kexec_lint.aten.dispatch.functions import CALLED_AT, watched_registrations
from kexec_lint.aten.dispatch.table import DispatchUnavailable, load_torch, registrations
from kexec_lint.aten.facts import Definition, FileFacts, Implementation, to_json
from kexec_lint.findings import Location

PLACE = "<runtime>"
"""File name of records that come from the dispatcher and that no Python call registered; nothing is reported there."""


class RuntimeFailed(RuntimeError):
    """The module could not be imported or torch is not there; the message is one line for the user."""


def facts(module: str, python: str = sys.executable, timeout: float = 300.0) -> dict[str, dict[str, Any]]:
    """Return pseudo-file → facts of the operators that importing a module registers. Raises RuntimeFailed."""
    handle, target = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path])}
    try:
        run = subprocess.run(
            [python, "-m", "kexec_lint.aten.runtime", module, target],
            capture_output=True,
            text=True,
            env=environment,
            timeout=timeout,
            check=False,
        )
        text = Path(target).read_text(encoding="utf-8")
    except subprocess.TimeoutExpired:
        raise RuntimeFailed(f"importing {module} took more than {timeout:.0f} s") from None
    finally:
        os.unlink(target)
    if run.returncode or not text:
        lines = [line for line in run.stderr.strip().splitlines() if line.strip()]
        reason = lines[-1] if lines else f"the process ended with {run.returncode}"
        raise RuntimeFailed(f"--runtime {module}: {reason}")
    return {PLACE: json.loads(text)}


def collect(module: str) -> FileFacts:
    """Import a module and return what it registered: definitions, kernels by key, fakes, names left dangling."""
    torch = load_torch()
    before = set(torch._C._dispatch_get_all_op_names())
    dangling_before = set(_dangling(torch))
    with watched_registrations():
        importlib.import_module(module)
    names = sorted(set(torch._C._dispatch_get_all_op_names()) - before)
    definitions, implementations = [], []
    for name in names:
        schema = _schema(torch, name)
        if schema is not None:
            definitions.append(Definition(name, _place(name, "define"), "runtime", "runtime", schema, True))
        for item in registrations(name):
            if not item.inactive:
                implementations.append(
                    Implementation(
                        name, _place(name, item.key), "runtime", "runtime", item.key, fallthrough=item.fallthrough
                    )
                )
        if _has_fake(torch, name):
            implementations.append(Implementation(name, _place(name, "Meta"), "runtime", "runtime", "Meta", "fake"))
    dangling = tuple(sorted(set(_dangling(torch)) - dangling_before))
    return FileFacts(
        definitions=tuple(definitions),
        implementations=tuple(implementations),
        dangling=dangling,
        at_runtime=(module,),
    )


def _place(name: str, key: str) -> Location:
    """Return where Python registered it, by absolute path; PLACE for what C++ registered."""
    file, row = CALLED_AT.get((name, key), (PLACE, 1))
    return Location(os.path.abspath(file) if file != PLACE else PLACE, row, 1, row, 2)


def _dangling(torch: Any) -> list[str]:
    found = getattr(torch._C, "_dispatch_find_dangling_impls", None)
    texts = found() if found is not None else []
    return [m[1] for text in texts for m in [re.search(r"^name: (\S+)", text, re.M)] if m]


def _schema(torch: Any, name: str) -> str | None:
    for line in torch._C._dispatch_dump(name).splitlines():
        if line.startswith("schema: "):
            text = line.removeprefix("schema: ")
            return None if text == "(none)" else text
    return None


def _has_fake(torch: Any, name: str) -> bool:
    registry = getattr(getattr(torch._library, "simple_registry", None), "singleton", None)
    return registry is not None and registry.find(name).fake_impl.kernel is not None


def main() -> None:
    """Write the facts of the module named on the command line to the file named after it, or end with one line on
    standard error."""
    module = sys.argv[1]
    sys.path.insert(0, "")
    try:
        found = collect(module)
    except DispatchUnavailable as error:
        sys.exit(str(error))
    except Exception as error:  # whatever the user's module raises
        text = str(error).strip().splitlines()
        sys.exit(f"importing {module} raises {type(error).__name__}: {text[0] if text else ''}")
    Path(sys.argv[2]).write_text(json.dumps(to_json(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
