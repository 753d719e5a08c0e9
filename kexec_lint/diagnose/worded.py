"""A failure that no entry and no place explains, judged by what its line speaks of.

`subjects` in `layers.yaml` are the things a layer's failures speak of. What speaks of two layers decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from kexec_lint.diagnose.chain import Diagnosis, executor_of
from kexec_lint.diagnose.clean import Line
from kexec_lint.diagnose.knowledge import Knowledge
from kexec_lint.diagnose.unknown import last_of_traceback

WORDED = "speaks-of"
_LINES = 20
"""Failing lines looked at, from the last; what went wrong first is said there or nowhere."""


def worded(knowledge: Knowledge, lines: Sequence[Line], failed: Sequence[Line]) -> Diagnosis | None:
    """Return the diagnosis of a failure by the subject of its lines, or None if they name none or more than one."""
    telling = [line for line in failed if last_of_traceback(line)]
    telling = telling or [line for line in failed if not line.text.lstrip().startswith('File "')]
    found: dict[str, Line] = {}
    for line in telling[-_LINES:]:
        for layer in knowledge.layers:
            if any(_compiled(pattern).search(line.text[:600]) for pattern in layer.subjects):
                found.setdefault(layer.name, line)
    if len(found) != 1:
        return None
    ((name, line),) = found.items()
    layer = knowledge.layer[name]
    return Diagnosis(
        id=WORDED,
        executor=layer.executor or executor_of("\n".join(x.text for x in lines)),
        layer=name,
        severity="error",
        root=True,
        lines=((line.number, line.text),),
        cause=f"No known message; what it speaks of belongs to this layer ({layer.title}).",
        next_steps=(*layer.trace, "kexec-lint boundary run -- {cmd|CMD}"),
        rules=(),
        sources=(),
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.I)
