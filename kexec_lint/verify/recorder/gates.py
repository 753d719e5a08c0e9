"""Gates: user events that hold the earlier command of a pair until the later one is seen to be complete.

A gate must never stop the program: it opens when the later command is complete, when the deadline is over, at
every end of the program. While one is shut the host never waits inside a driver, where nobody could open it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

PAUSE = 0.0005


@dataclass(eq=False)
class Gate:
    """A pair by the ordinals of its commands.

    `result`: "" while nothing is known, "later-first", "held", "not-reached", "gate-ignored".
    """

    earlier: tuple[str, int]
    later: tuple[str, int]
    result: str = ""
    detail: str = ""
    user: Any = None
    shut_at: float = 0.0
    first: Any = None
    second: Any = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def shut(self, cl: Any, context: Any, ordinal: tuple[str, int]) -> Any:
        """Return the user event that holds the earlier command from now on."""
        self.user = cl.UserEvent(context)
        self.shut_at = time.monotonic()
        return self.user

    @property
    def is_shut(self) -> bool:
        """Whether it holds a command now."""
        return self.user is not None and not self.result

    def look(self, deadline: float) -> None:
        """Open it if what was to be seen has been seen, or if time is over."""
        if not self.is_shut:
            return
        if self.first is not None and self.second is not None and self.second.command_execution_status <= 0:
            if self.first.command_execution_status <= 0:
                self.open("gate-ignored", "the earlier command ran although it was held")
            else:
                self.open("later-first", "")
        elif time.monotonic() - self.shut_at > deadline:
            if self.second is None:
                self.open("not-reached", "the later command was not enqueued while the earlier one was held")
            else:
                self.open("held", "it did not start while the earlier one was held")

    def open(self, result: str, detail: str) -> None:
        """Let the held command go."""
        with self.lock:
            if self.result:
                return
            self.result, self.detail = result, detail
        if self.user is not None:
            self.user.set_status(0)


class Gates:
    """All gates of a run, and the thread that opens them when the program does something else for too long."""

    def __init__(self, cl: Any, gates: list[Gate], deadline: float) -> None:
        self.all = gates
        self._deadline = deadline
        self._by_earlier = {gate.earlier: gate for gate in reversed(gates)}
        self._kept: list[Any] = []
        self._held: list[Any] = []
        self._watchdog: threading.Thread | None = None

    def hold(self, thing: Any) -> None:
        """Keep an object alive while a gate may still be shut."""
        if all(gate.result for gate in self.all):
            self._held.clear()
        else:
            self._held.append(thing)

    def any_shut(self) -> bool:
        """Return whether a gate holds a command."""
        return any(gate.is_shut for gate in self.all)

    def gate_for(self, ordinal: tuple[str, int]) -> Gate | None:
        """Return the gate that is to hold a command."""
        gate = self._by_earlier.get(ordinal)
        return gate if gate is not None and gate.user is None and not gate.result else None

    def enqueued(self, ordinal: tuple[str, int], event: Any, queue: Any) -> None:
        """Note a command that was enqueued while a gate is shut.

        Its event is kept: PyOpenCL's NannyEvents wait in their destructor without letting other threads run.
        """
        self._kept.append(event)
        for gate in self.all:
            if gate.earlier == ordinal and gate.is_shut:
                gate.first = event
            if gate.later == ordinal and gate.is_shut:
                gate.second = event
                gate.shut_at = time.monotonic()
        queue.flush()
        if self._watchdog is None or not self._watchdog.is_alive():
            self._watchdog = threading.Thread(target=self._watch, daemon=True, name="kexec-lint gates")
            self._watchdog.start()

    def _watch(self) -> None:
        while self.any_shut():
            for gate in self.all:
                gate.look(self._deadline)
            time.sleep(PAUSE)
        self._kept.clear()

    def wait(self, done: Callable[[], bool]) -> None:
        """Let the host wait for something, with an eye on the gates."""
        while self.any_shut() and not done():
            for gate in self.all:
                gate.look(self._deadline)
            time.sleep(PAUSE)

    def open_all(self, why: str) -> None:
        """Open what is still shut."""
        for gate in self.all:
            if gate.is_shut:
                gate.look(self._deadline)
            if gate.is_shut:
                # What was enqueued last deserves a look as long as any other.
                end = gate.shut_at + self._deadline
                while gate.second is not None and gate.is_shut and time.monotonic() < end:
                    gate.look(self._deadline)
                    time.sleep(PAUSE)
            if not gate.result:
                gate.open("not-reached" if gate.second is None else "held", why)
