"""A failure that no entry and no place explains, judged by what its line speaks of.

`subjects` in `layers.yaml` are the things a layer's failures speak of. What speaks of two layers decides nothing,
but for two of ExecuTorch, of which one brings the other about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from kexec_lint.diagnose.chain import Diagnosis, of_layer
from kexec_lint.diagnose.clean import Line
from kexec_lint.diagnose.knowledge import Knowledge
from kexec_lint.diagnose.unknown import last_of_traceback

WORDED = "speaks-of"
_SOURCE = re.compile(r"[\w.+/\\-]{1,300}\.(?:py|cc?|cpp|cxx|h|hpp|cuh?|mm|bc)\b")
"""A place in a source file is not what a message speaks of."""
_PASSING = re.compile(
    r"^\s{0,4}#\d{1,3}\s{1,3}0x"
    r"|^Faulting (?:application|module)\b"
    r"|\b\w{0,30}Warning:|\b(?:WARN(?:ING)?|warning|Warning)\b[\]:>]|^\[?W[ \d]|\b[Ss]kipping\b|\b[Dd]eprecated\b"
)
"""A warning or a frame of a stack does not say what failed."""
_FOREIGN = re.compile(r"onnx|\btensorflow\b|\bpaddle|\bjax(?:lib)?\b|\bmxnet\b|tensorrt|tflite|\bkeras\b", re.I)
"""Other frameworks have operators, kernels and exports, too."""
_LITE = re.compile(r"tflite|tensorflow[./]lite|\bTfLite|onnxruntime", re.I)
"""Whose delegates and runtimes are not ExecuTorch's, whatever line of the text names them."""
_LINES = 20
"""Failing lines looked at, from the last; what went wrong first is said there or nowhere."""


def worded(knowledge: Knowledge, lines: Sequence[Line], failed: Sequence[Line]) -> Diagnosis | None:
    """Return the diagnosis of a failure by the subject of its lines, or None if they name none or more than one."""
    found = _spoken(knowledge, lines, failed)
    name = _one(knowledge, list(found))
    return None if name is None else _of(knowledge, name, found[name], lines)


def backend(knowledge: Knowledge, lines: Sequence[Line], told: Sequence[Diagnosis]) -> Diagnosis | None:
    """Return the diagnosis by the one layer of ExecuTorch that the lines of `told` name, whatever else they name."""
    numbers = {number for diagnosis in told for number, _ in diagnosis.lines}
    found = _spoken(knowledge, lines, [line for line in lines if line.number in numbers])
    name = _one(knowledge, [name for name in found if knowledge.layer[name].executor == "executorch"])
    return None if name is None else _of(knowledge, name, found[name], lines)


def _spoken(knowledge: Knowledge, lines: Sequence[Line], failed: Sequence[Line]) -> dict[str, Line]:
    """Return the layers whose subjects the failing lines name, each with the first line that does."""
    telling = [line for line in failed if last_of_traceback(line)]
    telling = telling or [line for line in failed if not line.text.lstrip().startswith('File "')]
    found: dict[str, Line] = {}
    for line in telling[-_LINES:]:
        text = _SOURCE.sub("", line.text[:600])
        if _PASSING.search(text):
            continue
        foreign = _FOREIGN.search(text) is not None
        for layer in knowledge.layers:
            if foreign and layer.executor in ("aten", "executorch"):
                continue
            if any(_compiled(pattern).search(text) for pattern in layer.subjects):
                found.setdefault(layer.name, line)
    own = [name for name in found if knowledge.layer[name].executor == "executorch"]
    if own and any(_LITE.search(line.text[:600]) for line in lines) and not any("xecu" in x.text for x in lines):
        for name in own:
            del found[name]
    return found


def _of(knowledge: Knowledge, name: str, line: Line, lines: Sequence[Line]) -> Diagnosis:
    return of_layer(knowledge, name, line, lines, WORDED, "what it speaks of belongs to")


def _one(knowledge: Knowledge, names: Sequence[str]) -> str | None:
    """Return the layer that is spoken of: the only one, or of an ExecuTorch program the part that failed first."""
    if len(names) == 2 and all(knowledge.layer[name].executor == "executorch" for name in names):
        names = [name for name in names if not set(names) & set(knowledge.layer[name].follows) - {name}]
    return names[0] if len(names) == 1 else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.I)
