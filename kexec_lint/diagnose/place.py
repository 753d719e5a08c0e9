"""A failure whose words are unknown, placed by the code that raised it: the innermost frame of its stack.

`places` in `layers.yaml` says which files and libraries belong to which layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from kexec_lint.diagnose.chain import Diagnosis, executor_of
from kexec_lint.diagnose.clean import Line
from kexec_lint.diagnose.knowledge import Knowledge

PLACED = "raised-in"
_PYTHON = re.compile(r'^\s{0,12}File "(?P<path>[^"\n]{1,400})", line \d+(?:, in (?P<function>[\w.<>]{1,100}))?')
_NATIVE = re.compile(
    r"""(?:frame\ )?\#\s?\d{1,3}:?\s.{0,400}?[\s(](?P<path>/[^\s()]{1,300}\.so[\w.]{0,20})   # gdb, Android, c10
      | \#\d{1,3}\s{1,3}0x[0-9a-f]{6,16}\ .{0,200}\((?P<path1>[\w.+-]{3,80})(?::[a-z]\w{3,8})?\+0x # sanitizers
      | ^\s{0,4}\d{1,3}\s{1,4}(?P<path2>\S{1,100}\.dylib|[A-Z]\w{2,60})\s+0x[0-9a-f]{6,16}\s # macOS
      | ^\#\s{1,3}[CVjv]\s{1,2}\[(?P<path3>[\w.+-]{3,80})\+0x                                # Java's crash report
      | \bsegfault\ at\ .{0,120}\ in\ (?P<path4>[\w.+-]{3,80})\[                             # the kernel's log
      | \bFaulting\ module\ (?:name|path):\ (?P<path5>[\w.+\-:\\]{3,200})                    # Windows
    """,
    re.X,
)
_FUNCTION = re.compile(r"\bin (?P<name>[A-Za-z_]\w{1,100})\b")
_PASSED = re.compile(
    r"lib(?:c|m|dl|gcc_s|pthread|stdc\+\+|c\+\+|c\+\+abi|art\w*|asan|OpenCL|unwind)[-.\d]*(?:so|dylib)|\bld-|linux-vdso"
)
"""Libraries whose frames on top of a native stack only carry the failure: abort, memcpy, the ICD loader."""
_DEEPEST = 8
"""Native frames looked at from the top; further down stand the callers."""


def placed(knowledge: Knowledge, lines: Sequence[Line]) -> Diagnosis | None:
    """Return the diagnosis of a failure by where it was raised, or None if that belongs to no layer."""
    for line, path in _raised(lines):
        name = _layer_of(knowledge, path)
        if name is None:
            continue
        layer = knowledge.layer[name]
        return Diagnosis(
            id=PLACED,
            executor=layer.executor or executor_of("\n".join(x.text for x in lines)),
            layer=name,
            severity="error",
            root=True,
            lines=((line.number, line.text),),
            cause=f"No known message; it was raised in code of this layer ({layer.title}).",
            next_steps=(*layer.trace, "kexec-lint boundary run -- {cmd|CMD}"),
            rules=(),
            sources=(),
        )
    return None


def _raised(lines: Sequence[Line]) -> Iterator[tuple[Line, str]]:
    """Yield the innermost frames: of the last traceback first, then of those before it, then of native stacks."""
    ends: list[tuple[Line, str]] = []
    open_: tuple[Line, str] | None = None
    native: list[tuple[Line, str]] = []
    for line in lines:
        frame = _PYTHON.match(line.text) if 'File "' in line.text else None
        if frame is not None:
            open_ = (line, f"{frame['path']} {frame['function'] or ''}".replace("\\", "/"))
        elif open_ is not None and not line.text.startswith(" "):
            ends.append(open_)
            open_ = None
        if len(native) < _DEEPEST and (match := _NATIVE.search(line.text[:800])) is not None:
            path = next(group for group in match.groups() if group)
            function = _FUNCTION.search(line.text)
            if _PASSED.search(path) is None:
                name = function["name"] if function else ""
                native.append((line, f"{path} {name}".replace("\\", "/")))
    if open_ is not None:
        ends.append(open_)
    yield from reversed(ends)
    yield from native


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _layer_of(knowledge: Knowledge, path: str) -> str | None:
    """Return the layer with the longest match in `path`, or None."""
    best: tuple[int, str] | None = None
    for layer in knowledge.layers:
        for pattern in layer.places:
            match = _compiled(pattern).search(path)
            if match is not None and (best is None or len(match[0]) > best[0]):
                best = (len(match[0]), layer.name)
    return best[1] if best else None
