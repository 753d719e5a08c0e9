"""One preprocessor configuration of a kernel text: its functions, lowered and summarised when asked for."""

from __future__ import annotations

import re

from kexec_lint.opencl.kernels import functions
from kexec_lint.opencl.kernels.access import Summary, summarise
from kexec_lint.opencl.kernels.lower import lower
from kexec_lint.opencl.kernels.source import Expanded
from kexec_lint.opencl.kernels.syntax import Function

MAX_CALL_DEPTH = 24


class Unit:
    """The functions of one configuration. Lowering and summaries are made once and kept."""

    def __init__(self, expanded: Expanded) -> None:
        self.expanded = expanded
        self.texts = functions.find(expanded)
        self.types = functions.typedefs(expanded.text)
        self._lowered: dict[int, Function] = {}
        self._summaries: dict[int, Summary | None] = {}
        self._depth = 0

    def kernels(self) -> list[functions.Text]:
        """Return the kernels in source order."""
        return [text for text in self.texts if text.kernel]

    def function(self, text: functions.Text) -> Function:
        """Return the lowered function."""
        if text.body[0] not in self._lowered:
            self._lowered[text.body[0]] = lower(self.expanded, text, self.types)
        return self._lowered[text.body[0]]

    def reachable(self, text: functions.Text) -> list[functions.Text]:
        """Return a kernel and the functions whose names occur in its body or, in turn, in theirs."""
        found, stack = [text], [text]
        names = {other.name for other in self.texts}
        while stack:
            words = set(re.findall(r"[A-Za-z_]\w*", self.expanded.text[slice(*stack.pop().body)])) & names
            fresh = [other for other in self.texts if other.name in words and other not in found]
            found += fresh
            stack += fresh
        return found

    def find(self, name: str, arity: int) -> Function | None:
        """Return the only function of that name and number of parameters, else None."""
        found = [self.function(text) for text in self.texts if text.name == name]
        if len(found) > 1:
            found = [function for function in found if len(function.params) == arity]
        return found[0] if len(found) == 1 else None

    def summary(self, function: Function) -> Summary | None:
        """Return what a function does with its parameters; None for a recursive one."""
        if function.start not in self._summaries:
            self._summaries[function.start] = None  # while it is being made: recursion gives unknown
            if self._depth < MAX_CALL_DEPTH:
                self._depth += 1
                self._summaries[function.start] = summarise(function, self._helper)
                self._depth -= 1
        return self._summaries[function.start]

    def _helper(self, name: str, arity: int) -> Summary | None:
        function = self.find(name, arity) if name else None
        return self.summary(function) if function is not None else None
