"""Takes findings to real OpenCL devices: gate and probe, replays, the recorder of a running program, timelines."""

from __future__ import annotations


class VerifyError(RuntimeError):
    """What keeps a verification from being done, in one line: a missing extra, platform, device or script."""
