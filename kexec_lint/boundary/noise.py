"""Which failed driver calls are the normal life of a runtime, and why: each rule with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from kexec_lint.boundary.asked import Asked
from kexec_lint.boundary.requests import BLIND

AGAIN = frozenset({"EINTR", "EAGAIN", "ERESTARTSYS", "ERESTARTNOINTR", "ERESTARTNOHAND", "ERESTART_RESTARTBLOCK"})
STILL_RUNNING = frozenset({"ETIME", "ETIMEDOUT", "EBUSY"})
NOT_HERE = frozenset({"ENOTTY", "EOPNOTSUPP", "ENOTSUP", "ENOSYS"})
UNANSWERED = NOT_HERE | {"EINVAL", "EACCES", "EPERM", "ENODEV", "ENOENT", "E2BIG", "ERANGE"}
NO_NODE = frozenset({"ENOENT", "ENOTDIR", "EISDIR", "ELOOP"})
OPTIONAL_NODES = (
    "nvidia-caps/",
    "nvidia-modeset",
    "nvidia-uvm-tools",
    "nvidia-nvswitch",
    "nvidia-nvlink",
    "controlD",
)


NOT_ON_DISCRETE = frozenset(
    f"DRM_IOCTL_I915_GEM_{n}"
    for n in ("SET_DOMAIN", "SET_CACHING", "GET_CACHING", "MMAP", "PREAD", "PWRITE", "USERPTR")
)
"""Requests that answer ENODEV on discrete GPUs, by the comments of i915_drm.h."""


@dataclass(frozen=True)
class Aside:
    """Why a failed call is set aside. A probe may still turn out to be the end of a device: see verdicts."""

    reason: str
    probe: bool


def aside(item: Asked) -> Aside | None:
    """Return why a failed call is no refusal, or None if it is one."""
    errno, kinds = item.call.errno, item.kinds
    if errno in AGAIN:
        return Aside("interrupted or asked to try again: libraries loop on it", False)
    if errno == "EBADF" and (item.fd or 0) < 0:
        return Aside("the descriptor is that of a failed open", False)
    if item.what in ("open", "access"):
        if errno in NO_NODE:
            return Aside("scan: no such device node", True)
        if any(word in (item.path or "") for word in OPTIONAL_NODES):
            return Aside("optional node", False)
        return None
    if item.family in BLIND:
        return None  # a healthy run has no failing call at all on these (facts, one H200)
    if "wait" in kinds and errno in STILL_RUNNING:
        return Aside("wait: the work had not finished yet", False)
    if "legacy" in kinds and errno in UNANSWERED:
        return Aside("legacy call for the display master only", False)
    if "display" in kinds and errno in UNANSWERED:
        return Aside("display call on a node without display or without being its master", False)
    if errno == "ENODEV" and item.name in NOT_ON_DISCRETE:
        return Aside("i915: not supported on discrete GPUs, and documented so", False)
    if kinds <= {"query"} and errno in UNANSWERED:
        return Aside("probe: the driver does not know this feature", True)
    if errno in NOT_HERE and not (kinds <= {"submit"} and errno != "ENOTTY"):
        return Aside("probe: the file does not know this request", True)
    return None
