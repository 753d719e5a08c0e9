"""Where the OpenCL runtimes are: the environment in which PyOpenCL's loader finds all that are installed.

PyOpenCL's wheel carries ocl-icd. It finds PoCL's wheel by itself, reads /etc/OpenCL/vendors unless OCL_ICD_VENDORS
names another folder, and knows nothing of a runtime that pip put under sys.prefix.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kexec_lint.verify import VerifyError

SYSTEM_VENDORS = "/etc/OpenCL/vendors"
LIBRARIES = ("/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib", "/usr/local/nvidia/lib64")
"""Where NVIDIA's driver puts its OpenCL library; container images often have it without an ICD file."""


def require() -> None:
    """Raise VerifyError with what to install if PyOpenCL or NumPy is missing."""
    for name in ("pyopencl", "numpy"):
        if importlib.util.find_spec(name) is None:
            raise VerifyError(f"{name} is missing; install it with: pip install 'kexec-lint[verify]'")


def no_platform() -> str:
    """Return the one line to say when the loader finds no platform."""
    if sys.platform == "linux" and platform.machine() == "x86_64":
        what = "pip install pocl-binary-distribution (a CPU runtime, no GPU needed)"
    else:
        what = "install PoCL (conda-forge, Homebrew or the distribution's pocl-opencl-icd) or the device's driver"
    vendors = os.environ.get("OCL_ICD_VENDORS")
    set_to = f"; OCL_ICD_VENDORS is {vendors}, only runtimes named there are seen" if vendors else ""
    return f"no OpenCL platform found: {what}; docs/verify.md lists the pitfalls{set_to}"


def environment() -> dict[str, str]:
    """Return this process's environment, extended so that runtimes without a usable ICD file are found too.

    What the user set in OCL_ICD_VENDORS or OCL_ICD_FILENAMES stays as it is.
    """
    env = dict(os.environ)
    if sys.platform != "linux" or "OCL_ICD_VENDORS" in env or "OCL_ICD_FILENAMES" in env:
        return env
    extra = list(_unlisted())
    if not extra:
        return env
    folder = os.path.join(tempfile.gettempdir(), f"kexec-lint-icd-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_uid != os.getuid():
        return env
    wanted = dict([*_system(), *extra])
    for stale in Path(folder).glob("*.icd"):
        if stale.stem not in wanted:  # a runtime that is gone since
            stale.unlink(missing_ok=True)
    for name, library in wanted.items():
        path = os.path.join(folder, f"{name}.icd")
        with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
            file.write(f"{library}\n")
        os.replace(f"{path}.{os.getpid()}", path)
    env["OCL_ICD_VENDORS"] = folder
    # The loader opens a runtime before the runtime can say where its own libraries are.
    folders = [os.path.dirname(library) for _, library in extra if os.path.isabs(library)]
    env["LD_LIBRARY_PATH"] = os.pathsep.join([*folders, *filter(None, [env.get("LD_LIBRARY_PATH")])])
    return env


def _unlisted() -> Iterator[tuple[str, str]]:
    """Yield (name, library) of runtimes that are installed but that no usable ICD file names."""
    listed = " ".join(library for _, library in _system())
    intel = Path(sys.prefix, "lib", "libintelocl.so")
    if intel.exists() and "libintelocl" not in listed:
        yield "intel-cpu", str(intel)
    named = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    nvidia = (Path(folder, "libnvidia-opencl.so.1") for folder in (*named, *LIBRARIES) if folder)
    found = next((library for library in nvidia if library.exists()), None)
    if "nvidia" not in listed and found is not None:
        yield "nvidia", str(found)


def _system() -> Iterator[tuple[str, str]]:
    for file in sorted(Path(SYSTEM_VENDORS).glob("*.icd")):
        try:
            yield file.stem, file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            continue
