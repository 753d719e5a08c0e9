"""Runs a program as Python would, with PyOpenCL recorded: `python -m kexec_lint.verify.launcher JOB -- …`.

The program's output, exceptions and exit code are its own: this module shows in no traceback.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import sys
from types import ModuleType, TracebackType
from typing import Any


def main() -> None:
    """Set up the recorder and run the program named in the job (JSON)."""
    job = json.loads(sys.argv[1])
    try:
        _prepare(job)
    except Exception as error:
        lines = str(error).splitlines() or [""]
        print(f"kexec-lint: PyOpenCL cannot be recorded: {type(error).__name__}: {lines[0]}", file=sys.stderr)
        sys.exit(2)
    try:
        _execute(job)
    except SystemExit:
        raise
    except BaseException as error:
        _clean(error)
        sys.excepthook(type(error), error, error.__traceback__)
        if isinstance(error, KeyboardInterrupt):
            sys.exit(130)
        sys.exit(1)


def _prepare(job: dict[str, Any]) -> None:
    """Import PyOpenCL, wrap it, and see to it that the records are written whatever happens."""
    import numpy as np
    import pyopencl as cl

    from kexec_lint.verify.recorder.patches import install
    from kexec_lint.verify.recorder.recorder import Experiment, Recorder
    from kexec_lint.verify.recorder.sites import Sites
    from kexec_lint.verify.recorder.stream import Writer

    for name in ("array", "tools", "elementwise"):
        __import__(f"pyopencl.{name}")
    writer = Writer(job["records"])
    sites = Sites(writer, os.path.dirname(os.path.abspath(cl.__file__)), os.path.dirname(os.path.abspath(__file__)))
    asked = dict(job["experiment"])
    asked["gates"] = tuple((tuple(earlier), tuple(later)) for earlier, later in asked.get("gates", ()))
    recorder = Recorder(cl, np, writer, sites, Experiment(**asked))
    install(recorder)
    atexit.register(recorder.close)
    leave = os._exit

    def _exit(status: int) -> Any:
        recorder.close()
        leave(status)

    os._exit = _exit


def _execute(job: dict[str, Any]) -> None:
    """Run a script or a module as `__main__`."""
    sys.argv = list(job["argv"])
    if job["module"]:
        sys.path[0] = os.getcwd()
        runpy.run_module(job["module"], run_name="__main__", alter_sys=True)
        return
    script = job["script"]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    module = ModuleType("__main__")
    module.__file__ = script
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = module
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec", dont_inherit=True)
    exec(code, module.__dict__)


def _clean(error: BaseException) -> None:
    """Take our own frames out of the traceback of an exception and of those behind it."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        kept = []
        step = one.__traceback__
        while step is not None:
            file = step.tb_frame.f_code.co_filename
            if not file.startswith((os.path.dirname(__file__) + os.sep, "<frozen runpy")) and "kexec-lint>" not in file:
                kept.append(step)
            step = step.tb_next
        following: TracebackType | None = None
        for step in reversed(kept):
            step.tb_next = following
            following = step
        one.__traceback__ = following
        pending += [one.__cause__, one.__context__]


if __name__ == "__main__":
    main()
