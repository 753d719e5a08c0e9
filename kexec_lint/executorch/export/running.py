"""Runs a program on the installed executorch runtime, in a process of its own: a kernel may abort."""

from __future__ import annotations

import io
import os
import re
import tempfile
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import Any

from kexec_lint.executorch.export import ExportError, one_line

_LOGGED = re.compile(r"\[\w+\.cpp:\d+\] (.*)")


class RunError(ExportError):
    """The runtime refuses the program or dies of it."""


class Runtime:
    """The installed runtime, started when it is first asked and again after a crash."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._folder = tempfile.TemporaryDirectory()
        self._log = Path(self._folder.name, "stderr")

    def __enter__(self) -> Runtime:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._folder.cleanup()

    def backends(self) -> list[str]:
        """Return the backends that the runtime has."""
        found: list[str] = self._ask(_backends)
        return found

    def load(self, data: bytes, method: str) -> None:
        """Load a method of a program. Raises RunError with the runtime's own error."""
        self._ask(_load, data, method)

    def run(self, data: bytes, method: str, inputs: list[list[Any]]) -> list[list[Any]]:
        """Return the flat outputs of a method for each list of flat inputs. Raises RunError."""
        answer = self._ask(_run, data, method, _packed(inputs))
        outputs: list[list[Any]] = _unpacked(answer)
        return outputs

    def _ask(self, task: Any, *arguments: Any) -> Any:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                1, mp_context=get_context("spawn"), initializer=_log_to, initargs=(str(self._log),)
            )
        told = self._log.stat().st_size if self._log.exists() else 0
        try:
            return self._pool.submit(task, *arguments).result()
        except BrokenProcessPool:
            self._stop()
            raise RunError(f"the runtime aborts{self._said(told)}") from None
        except Exception as error:
            raise RunError(one_line(error) + self._said(told)) from None

    def _said(self, start: int) -> str:
        """Return what the runtime logged since byte `start` that tells most, in parentheses."""
        if not self._log.exists():
            return ""
        text = self._log.read_bytes()[start:].decode("utf-8", "replace")
        lines = [match[1] for match in _LOGGED.finditer(text) if "cpu" not in match[1].lower()]
        missing = [line for line in lines if line.startswith("Missing operator")]
        chosen = list(dict.fromkeys(missing or lines[:1]))
        return f" ({'; '.join(chosen)})" if chosen else ""

    def _stop(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def _log_to(path: str) -> None:
    """Send what the runtime and its libraries print to a file."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)


def _packed(value: Any) -> bytes:
    """Return tensors as bytes: they must not travel as handles of shared memory, which outlive a crash."""
    import torch

    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def _unpacked(data: bytes) -> Any:
    import torch

    return torch.load(io.BytesIO(data), weights_only=True)


def _bindings() -> Any:
    """Return the runtime's pybindings, with the quantized kernels that the wheel brings."""
    import torch

    try:
        from executorch.extension.pybindings import _C as runtime
    except ImportError:
        from executorch.extension.pybindings import _portable_lib as runtime
    with suppress(Exception):
        import executorch.kernels.quantized  # noqa: F401
    torch.set_num_threads(1)
    return runtime


def _backends() -> list[str]:
    return list(_bindings()._get_registered_backend_names())


def _load(data: bytes, method: str) -> None:
    _bindings()._load_program_from_buffer(data).load_method(method)


def _run(data: bytes, method: str, inputs: bytes) -> bytes:
    module = _bindings()._load_for_executorch_from_buffer(data)
    return _packed([_detached(module.run_method(method, tuple(one))) for one in _unpacked(inputs)])


def _detached(outputs: Any) -> list[Any]:
    """Return copies of the outputs, which lie in memory that the next run writes."""
    return [output.clone() if hasattr(output, "clone") else output for output in outputs]
