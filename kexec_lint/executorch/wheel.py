"""What the installed executorch registers: asked of its own runtime, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

from kexec_lint.executorch import tables
from kexec_lint.executorch.registration import Kind, Part, Registered, RegistrationError, place

_QUESTION = """
import json
try:
    from executorch.extension.pybindings import _C as runtime
except ImportError:
    from executorch.extension.pybindings import _portable_lib as runtime
print(json.dumps([runtime._get_operator_names(), runtime._get_registered_backend_names()]))
"""


def version() -> str | None:
    """Return the version of the installed executorch, None without one."""
    from importlib import metadata

    try:
        return metadata.version("executorch")
    except metadata.PackageNotFoundError:
        return None


def read(release: tables.Release | None = None) -> tuple[Part, str | None]:
    """Return what the runtime of the installed wheel registers, and a note where the facts had to answer for it.

    Importing the pybindings costs 0.3 s and needs no torch in the process. Where they do not import, the table of
    the installed release answers. Raises RegistrationError where executorch is not installed and no release is
    given.
    """
    installed = version()
    if installed is None:
        if release is None:
            raise RegistrationError(
                "--runtime wheel: executorch is not installed; name a release with --target-version"
            )
        return _part(release), f"executorch is not installed: judged by the facts of {release.version}"
    done = subprocess.run(
        [sys.executable, "-c", _QUESTION], capture_output=True, check=False, encoding="utf-8", timeout=120
    )
    if done.returncode == 0:
        operators, backends = json.loads(done.stdout.strip().splitlines()[-1])
        part = Part(f"executorch {installed} (installed)", Kind.REGISTERED, place("executorch"), exact=True)
        _fill(part, operators, backends)
        return part, None
    known = tables.load(installed)
    return _part(
        known
    ), f"the runtime of executorch {installed} does not import: judged by the facts of {known.version}"


def _part(release: tables.Release) -> Part:
    part = Part(f"executorch {release.version} wheel", Kind.REGISTERED, place("executorch"), exact=True)
    _fill(part, release.wheel_operators, release.wheel_backends)
    return part


def _fill(part: Part, operators: object, backends: object) -> None:
    for operator in sorted(set(operators)):  # type: ignore[call-overload]
        part.registered.append(Registered(operator, "default", part.at, part.path))
    for backend in sorted(set(backends)):  # type: ignore[call-overload]
        part.backends[backend] = part.at
    part.backends_known = True
