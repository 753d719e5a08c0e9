"""A failure that no entry explains: say so, name the nearest layer by its words, and how to trace on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from kexec_lint.diagnose.chain import UNKNOWN, Diagnosis, executor_of
from kexec_lint.diagnose.clean import Line
from kexec_lint.diagnose.endings import Ending
from kexec_lint.diagnose.knowledge import Knowledge

_STRONG = re.compile(
    r"""^\s{0,8}(?:[\w.]{1,80}\.)?\w{0,60}(?:Error|Exception|Fault|Interrupt)(?::|$)   # last line of a traceback
      | \b(?:[Ff]atal|FATAL|panicked|PANIC)\b | \b(?:terminate|Terminating)\ (?:called|due) | \bAborted\b
      | [Ss]egmentation\ fault | \bsegfault\ at\b | \b[Ff]aulting\ module\b | \bSIG(?:SEGV|ABRT|BUS|ILL|FPE)\b
      | \bFatal\ signal\ \d
      | \bAddressSanitizer:\ | (?:^|\s)\#\d\d\ pc\ [0-9a-f]{8}
      | \.so[\w.]{0,20}(?:\ \(offset\ \w{1,20}\))?\ ?\([\w:~<].{0,300}\+(?:0x)?[0-9a-f]{0,16}\)\ ?(?:[(\[]|$)
      | core\ dumped | \bAssertion\b.{0,200}\bfailed
      | [Ii]llegal\ (?:hardware\ )?instruction | \b(?:EXCEPTION_)?ACCESS_VIOLATION\b
      | \b[Aa]ccess\ [Vv]iolation\b | \b(?:0[xX])?[Cc]0000(?:005|409|374|0[fF][dD])\b
      | \bAPPCRASH\b | \.dll\(0x[0-9A-F]{4,16}\)\ \+\ 0x | \bBus\ error\b
      | \bkernel:?\ (?:BUG\ at|NULL\ pointer\ dereference) | \bOops:\ \w
      | ^\s{0,4}Killed\b | [Uu]ncaught\ [Ee]xception | [Ee]xit(?:ed)?\ (?:with\ )?(?:code|status):?\ [1-9]
      | \b\w{1,60}Error:""",
    re.X,
)
_WEAK = re.compile(
    r"""\b[Ee]rror\b[^\n]{0,2}: | \bERROR\b | \b\w{0,60}[Ee]xception: | \b(?:[Ff]ailed|FAILED|[Ff]ailure)\b
      | \b[Ff]ails?\ (?:with|to|at|on)\b | \bTraceback\ \(most\ recent
      | ^[EF]\ \d\d:\d\d:\d\d | ^[EF]\d{4}\ \d\d: | ^\d\d-\d\d\ [\d:.]{8,15}\s+\d+\s+\d+\ [EF]\  | ^[EF]/\w
      | ^\s{0,12}File\ "[^"\n]{1,400}",\ line\ \d+,\ in\  | ^\w{1,60}(?:Error|Exception)\s{2,}Traceback\b
      | ^[>\s]{0,4}(?:\#\d{1,3}\s{1,3})?0x[0-9a-f]{6,16}\ in\ \S | ^\S{1,200}\.py:\d+:\ in\ \w""",
    re.X,
)
_SHORT = 6
"""So few lines are a pasted message, not a log: any words for what is missing, refused or broken are meant."""
_SAID = re.compile(
    r"""\b(?:can(?:no|'|\ no)t|couldn't|could\ not|unable|won't|doesn't|does\ not|didn't
      | not\ (?:yet\ )?(?:supported|permitted|found|available|implemented|registered|compatible|defined)
      | not\ (?:yet\ )?(?:loaded|built|compiled)
      | unsupported|unrecogni[sz]ed|incompatible|undefined|missing|invalid|mismatch\w*|crash(?:e[sd]|ing)?
      | abort(?:s|ed)?|segfault\w*|broken|rejected|refused|denied|corrupt\w*|no\ such|fail\w*|error\w*)\b
      | \w(?:Error|Exception|Warning)\b""",
    re.X | re.I,
)
_LATE = 40
"""A line that only speaks of an error counts among the last so many: long logs of good runs hold some, too."""
_CLEAN = re.compile(
    r"\b(?:0|no|zero|without)\ (?:\w+\ )?(?:errors?|failures?|failed)\b|errors?(?:\(\))?\s?[:=]\s?0\b|\b0 errors", re.I
)
_LAST = re.compile(r"^\s{0,8}(?:[\w.]{1,80}\.)?\w{0,60}(?:Error|Exception|Interrupt)(?::|$)")


def failures(lines: Sequence[Line]) -> list[Line]:
    """Return the lines that say that something failed."""
    found = []
    for index, line in enumerate(lines):
        text = line.text[:600]
        late = index >= len(lines) - _LATE
        if (_STRONG.search(text) or (late and _WEAK.search(text))) and not _CLEAN.search(text):
            found.append(line)
    return found


def said(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of a short text that say, in whatever words, that something is not there, refused or broken."""
    if len(lines) > _SHORT:
        return []
    return [line for line in lines if _SAID.search(line.text[:600]) and not _CLEAN.search(line.text[:600])]


def last_of_traceback(line: Line) -> bool:
    """Return whether a line can be the last one of a traceback, which names the exception."""
    return _LAST.match(line.text) is not None


def unknown(knowledge: Knowledge, lines: Sequence[Line], failed: Sequence[Line], ending: Ending | None) -> Diagnosis:
    """Return the diagnosis of a failure that nothing known explains."""
    telling = [line for line in failed if last_of_traceback(line)] or list(failed)
    near = nearest(knowledge, lines, failed)
    layer = knowledge.layer.get(near or "")
    cause = "No known message." if failed else ""
    if ending is not None and ending.bad:
        cause = f"{cause} The command {ending.text}.".strip()
    if layer is not None:
        cause += f" By its words nearest to {layer.name} ({layer.title}); that is a guess, not a finding."
    steps = [*(layer.trace if layer else ()), "kexec-lint boundary run -- {cmd|CMD}"]
    if ending is not None:
        steps = [*ending.steps, *steps]
    return Diagnosis(
        id=UNKNOWN,
        executor=executor_of("\n".join(line.text for line in failed)) or executor_of("\n".join(x.text for x in lines)),
        layer=UNKNOWN,
        severity="error",
        root=True,
        lines=tuple({line.number: line.text for line in telling[-5:]}.items()),
        cause=cause.strip(),
        next_steps=tuple(dict.fromkeys(steps)),
        rules=(),
        sources=(),
    )


def nearest(knowledge: Knowledge, lines: Sequence[Line], failed: Sequence[Line]) -> str | None:
    """Return the layer whose words stand most often in and around the failing lines; None without enough votes."""
    votes: Counter[str] = Counter()
    said = "\n".join(line.text for line in failed[-50:]).lower()
    context = "\n".join(line.text for line in lines[-200:]).lower()
    for layer in knowledge.layers:
        votes[layer.name] = sum(3 for word in layer.words if word in said) + sum(1 for w in layer.words if w in context)
    best = votes.most_common(1)
    return best[0][0] if best and best[0][1] >= 6 else None
