"""Asks the player: jobs go to a process of its own, so that a driver that hangs or crashes costs one answer."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from types import TracebackType
from typing import Any

from kexec_lint.verify import VerifyError, runtimes


class Lost(RuntimeError):
    """The player gave no answer: it hung or died; the text says which."""


class Player:
    """A player process, started when it is first asked and again after it was lost."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str | None] = queue.Queue()

    def __enter__(self) -> Player:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def ask(self, job: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Return the answer to a job. Raises Lost after `seconds` or when the process dies."""
        process = self._process or self._start()
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            self.stop()
            raise Lost(f"no answer within {seconds:.0f} s: the driver hangs") from None
        except OSError:
            line = None
        if line is None:
            code = process.wait()
            self.stop()
            raise Lost(f"the driver ended the process ({_ending(code)})")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def _start(self) -> subprocess.Popen[str]:
        runtimes.require()
        process = subprocess.Popen(
            [sys.executable, "-m", "kexec_lint.verify.player"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=runtimes.environment(),
        )
        self._process, self._answers = process, queue.Queue()
        threading.Thread(target=_pump, args=(process, self._answers), daemon=True).start()
        return process


def _pump(process: subprocess.Popen[str], answers: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        answers.put(line)
    answers.put(None)


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def devices(player: Player, wanted: str | None = None) -> list[dict[str, Any]]:
    """Return the devices that the loader finds; `wanted` is a part of a platform's or device's name, or a kind.

    Raises VerifyError if there is none.
    """
    try:
        answer = player.ask({"op": "platforms"}, 60)
    except Lost as lost:
        raise VerifyError(f"listing the OpenCL platforms failed: {lost}") from None
    found: list[dict[str, Any]] = answer.get("devices", [])
    if not found:
        raise VerifyError(runtimes.no_platform())
    if wanted is None:
        return found
    chosen = [d for d in found if wanted.lower() in f"{d['platform']} {d['name']} {d['kind']}".lower()]
    if not chosen:
        names = "; ".join(dict.fromkeys(label(device) for device in found))
        raise VerifyError(f"no device matches {wanted!r}; there are: {names}")
    return chosen


def label(device: dict[str, Any]) -> str:
    """Name a device in a report."""
    return f"{device['platform']}: {device['name']}"
