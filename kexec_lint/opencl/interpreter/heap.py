"""Mutable state with an undo log, so that the branches of a program start from the same state and join again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kexec_lint.opencl.graph import Guard
from kexec_lint.opencl.interpreter.values import ABSENT, AbstractValue, Unknown, merge

State = dict[Any, Any]
Change = dict[tuple[int, Any], tuple[State, Any]]
"""(identity of the state, key) → (the state, value)."""

_MISSING = object()


class Heap:
    """Writes states (variables of a frame, fields of an object) and remembers how to take writes back."""

    def __init__(self) -> None:
        self._log: list[tuple[State, Any, Any]] = []

    def write(self, state: State, key: Any, value: Any) -> None:
        """Set one entry of a state."""
        self._log.append((state, key, state.get(key, _MISSING)))
        state[key] = value

    def remove(self, state: State, key: Any) -> None:
        """Delete one entry of a state, if it is there."""
        if key in state:
            self._log.append((state, key, state.pop(key)))

    def mark(self) -> int:
        """Return a point to which `take_back` can return."""
        return len(self._log)

    def take_back(self, mark: int) -> Change:
        """Undo all writes since `mark` and return what they had set."""
        change: Change = {}
        for state, key, _ in self._log[mark:]:
            change[id(state), key] = (state, state.get(key, _MISSING))
        for state, key, old in reversed(self._log[mark:]):
            if old is _MISSING:
                state.pop(key, None)
            else:
                state[key] = old
        del self._log[mark:]
        return change

    def apply(self, change: Change) -> None:
        """Write a whole change again."""
        for (_, key), (state, value) in change.items():
            if value is _MISSING:
                self.remove(state, key)
            else:
                self.write(state, key, value)

    def join(self, arms: list[tuple[Guard, Change]], fallback: Callable[[Any], Unknown]) -> None:
        """Write the merge of several changes that started from the present state."""
        keys: dict[tuple[int, Any], State] = {}
        for _, change in arms:
            for place, (state, _) in change.items():
                keys.setdefault(place, state)
        for (identity, key), state in keys.items():
            before = state.get(key, _MISSING)
            place, unchanged = (identity, key), (state, before)
            values = [(guard, change.get(place, unchanged)[1]) for guard, change in arms]
            first = values[0][1]
            for _, value in values:
                if value is not first:
                    break
            else:
                if first is _MISSING:
                    self.remove(state, key)
                elif first is not before:
                    self.write(state, key, first)
                continue
            merged: Any
            if key == "items" and all(v is _MISSING or isinstance(v, tuple) for _, v in values):
                merged = _join_sequences(values, lambda key=key: fallback(key))  # type: ignore[misc]
            else:
                choices = [(g, v) for g, v in values if v is not _MISSING]
                if not all(isinstance(v, AbstractValue) for _, v in choices):
                    merged = choices[-1][1]
                else:
                    merged = merge(choices, lambda key=key: fallback(key))  # type: ignore[misc]
            if merged is not before:
                self.write(state, key, merged)


def _join_sequences(values: list[tuple[Guard, Any]], fallback: Callable[[], Unknown]) -> tuple[AbstractValue, ...]:
    """Join element tuples position by position; an element that one arm lacks is there only under its guard."""
    sequences = [(guard, () if items is _MISSING else items) for guard, items in values]
    longest = max(len(items) for _, items in sequences)
    return tuple(
        merge([(g, items[i] if i < len(items) else ABSENT) for g, items in sequences], fallback) for i in range(longest)
    )
