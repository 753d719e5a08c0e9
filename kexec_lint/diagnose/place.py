"""A failure whose words are unknown, placed by the code that raised it: the innermost frame of its stack.

`places` in `layers.yaml` says which files and libraries belong to which layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from kexec_lint.diagnose.chain import Diagnosis, of_layer
from kexec_lint.diagnose.clean import Line
from kexec_lint.diagnose.knowledge import Knowledge

PLACED = "raised-in"
_PYTHON = tuple(
    map(
        re.compile,
        (
            r'^\s{0,12}File "([^"\n]{1,400})", line \d+(?:, in ([\w.<>]{1,100}))?',
            r"^File (\S{1,300}\.py):\d+(?:, in ([\w.<>]{1,100}))?",  # IPython
            r'^\s{0,12}([\w./\\\-]{1,300}\.py)", line \d+, in ([\w.<>]{1,100})',  # the beginning cut off
            r"^[│|\s]{0,4}(\S{1,300}\.py):\d+:? in (\w{1,100})",  # rich, pytest
        ),
    )
)
_LIBRARY = r"([\w.+/~=-]{3,300}\.so[\w.]{0,20})"
_NATIVE = tuple(
    map(
        re.compile,
        (
            r"#\s?\d{1,3}:?\s.{0,400}?[\s(](/[^\s()]{1,300}\.so[\w.]{0,20})",  # gdb, Android, c10
            r"^[>\s]{0,8}0x[0-9a-f]{6,16} in .{0,400}? from (/\S{1,300}\.so[\w.]{0,20})",  # gdb, where it stopped
            r"^\s{0,4}\[\d{1,2}\]( cl[A-Z]\w{3,40})\(",  # Julia
            # phones, without numbers; Crashlytics; Play; a sentence; glibc
            rf"(?:^|[\s!]){_LIBRARY}(?: \(offset \w{{1,20}}\))? ?\([\w:~<].{{0,300}}\+(?:0x)?[0-9a-f]{{0,16}}\)",
            rf"^\s{{0,8}}(?:#?\d{{1,3}}\s{{1,4}})(?:pc\s{{1,2}})?{_LIBRARY}\s{{1,4}}0x[0-9a-f]{{3,16}}",
            rf"#\d{{1,3}}\s{{1,3}}pc\s{{1,3}}(?:0x)?[0-9a-f]{{3,16}}\s{{1,3}}{_LIBRARY}",
            rf"(?:[Ss]egmentation fault|SIGSEGV|[Cc]rash(?:ed|es)?|[Ss]ignal \d{{1,2}})\b.{{0,40}} in {_LIBRARY}",
            rf"(?:^|[\s!]){_LIBRARY}\((?:\w{{0,200}}\+0x[0-9a-f]+)?\) ?\[0x[0-9a-f]{{6,16}}\]",
            r"#\d{1,3}\s{1,3}0x[0-9a-f]{6,16} .{0,200}\(([\w.+-]{3,80})(?::[a-z]\w{3,8})?\+0x",  # sanitizers
            r"^\s{0,4}#\d{1,3}\s{1,3}(?:0x[0-9a-f]{6,16} in )?([\w:~]{0,100}::[\w:~]{1,100}|xnn_\w{3,90})",  # gdb
            r"^[>\s]{0,8}(?:#\d{1,3}\s{1,3})?(?:0x[0-9a-f]{6,16} in)?( cl[A-Z]\w{3,40}) \(",
            r"^\s{0,4}\d{1,3}\s{1,4}(\S{1,100}\.dylib|[A-Z]\w{2,60})\s+0x[0-9a-f]{6,16}\s",  # macOS
            r"^==\d{1,8}==\s{1,8}(?:at|by) 0x[0-9A-F]{4,16}: .{0,300}\(in (/\S{1,300}\.so[\w.]{0,20})\)",  # valgrind
            r"^#\s{1,3}[CVjv]\s{1,2}\[([\w.+-]{3,80})\+0x",  # Java
            r"\bsegfault at .{0,120} in ([\w.+-]{3,80})\[",  # the kernel's log
            r"(?:^|[\s(\[])([\w.-]{3,80}\.(?:dll|DLL|sys))(?:!\S{0,120})?\s?\+\s?0x[0-9a-fA-F]+",  # Windows, reports
            r"^\s{0,8}(?:[0-9a-fA-F`]{8,34}\s{1,4})?([\w.-]{3,80}\.(?:dll|DLL|sys))!\S",  # Windows, debuggers
            r"[\\/]([\w.-]{3,80}\.dll)\(0x[0-9a-fA-F]{4,16}\) \+ 0x",  # Windows, c10
            # Windows, crash reports in any language; an event as XML
            r"^\s{0,8}(?:<Data>|Sig\[3\]\.Value=|[^:\uff1a\n]{2,60}[:\uff1a] ?)"
            r"([\w.-]{3,80}\.(?:dll|DLL|sys))(?:</Data>|\s{0,4}[,\u3001\uff0c]|\s{0,4}$)",
            # Windows, in a sentence
            r"(?i:\bfaulting module(?: name| path)?:?|\bcrash(?:ed|es)? in|\bexception (?:in|at))"
            r" (?!0x)([\w.+\-:\\]{3,200})",
            r"\bin module ([\w.-]{3,80}\.(?:dll|DLL))\b",
            r"^(?:\[\w[\w ]{1,20}\]){0,3} ?\[([\w.+-]{3,80}\.so)\] \S",  # Play, a title
            r"\.(_Cfunc_\w{2,60})\(",  # Go, a call of C
            r"^\w{2,400} at (/\S{1,300}\.so[\w.]{0,20}) \(unknown line\)",  # Julia, a crash
            # Rust, where it panicked: the crate and its file
            r"(?:panicked at .{0,400}?|^\s{1,24}at \S{0,200})"
            r"[/\\]registry[/\\]src[/\\][^/\\\s]{1,60}[/\\](\S{3,120}\.rs):\d",
            r"(?i:\baccess violation\b.{0,60} (?:in|at)|\bexception at 0x[0-9a-f]{4,16}) \(?([\w.-]{3,80}\.dll)\b",
        ),
    )
)
_NATIVE_WORDS = (
    "#",
    ".so] ",
    "_Cfunc_",
    "(unknown line)",
    ".rs:",
    "0x",
    " in ",
    "module",
    "] cl",
    ".so (",
    "(offset ",
    ".dll",
    ".DLL",
    ".sys",
)
_FUNCTION = re.compile(
    r"\bin ([A-Za-z_][\w:]{1,160})|\b(executorch::[\w:]{1,160})"
    r"|[(\s]((?:torch::executor::|vkcompute::|xnn_)[\w:]{1,160})"
)
_CALL = re.compile(r"cl[A-Z]\w{3,40}$")
_PASSED = re.compile(
    r"lib(?:c|m|dl|gcc_s|pthread|stdc\+\+|c\+\+|c\+\+abi|art\w*|asan|OpenCL|unwind)[-.\d]*(?:so|dylib)|\bld-|linux-vdso"
    r"|(?i:ntdll|kernel32|kernelbase|ucrtbased?|vcruntime\d*|msvcp\d+|user32|win32u|gdi32|opencl)\.dll"
)
"""Libraries whose frames on top of a native stack only carry the failure: abort, memcpy, the ICD loader."""
_DEEPEST = 8
"""Native frames looked at from the top; further down stand the callers."""


def placed(knowledge: Knowledge, lines: Sequence[Line]) -> Diagnosis | None:
    """Return the diagnosis of a failure by where it was raised, or None if that belongs to no layer."""
    for line, path in _raised(lines):
        name = _layer_of(knowledge, path)
        if name is not None:
            return of_layer(knowledge, name, line, lines, PLACED, "it was raised in code of")
    return None


def _raised(lines: Sequence[Line]) -> Iterator[tuple[Line, str]]:
    """Yield the innermost frames: of the last traceback first, then of those before it, then of native stacks."""
    ends: list[tuple[Line, str]] = []
    open_: tuple[Line, str] | None = None
    native: list[tuple[Line, str]] = []
    before = ""
    for line in lines:
        text = line.text[:800]
        if text.lstrip().startswith("from /"):  # gdb breaks long frames
            text = f"{before} {text.lstrip()}"
        before = text
        if ".py" in text or 'File "' in text:
            frame = next(filter(None, (pattern.match(text) for pattern in _PYTHON)), None)
        else:
            frame = None
        if frame is not None:
            open_ = (line, f"{frame[1]} {frame[2] or ''}".replace("\\", "/"))
        elif open_ is not None and not text.startswith((" ", "│", "-")):
            ends.append(open_)
            open_ = None
        if len(native) < _DEEPEST and any(map(text.__contains__, _NATIVE_WORDS)):
            native += _native(line, text)
    if open_ is not None:
        ends.append(open_)
    yield from reversed(ends)
    yield from native


def _native(line: Line, text: str) -> Iterator[tuple[Line, str]]:
    match = next(filter(None, (pattern.search(text) for pattern in _NATIVE)), None)
    if match is None:
        return
    function = _FUNCTION.search(text)
    name = function[function.lastindex or 0] if function else ""
    if _PASSED.search(match[1]) is None:
        yield line, f"{match[1]} {name}".replace("\\", "/")
    elif _CALL.match(name) and "OpenCL" in match[1]:
        yield line, f"libOpenCL {name}"  # the loader only follows the handle that it was given


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
