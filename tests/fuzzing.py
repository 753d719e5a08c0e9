"""Fuzz targets and the mutations of their seeds; `benchmarks/fuzz.py` runs them for as long as one likes.

A target reads bytes that anybody may have written. It may find nothing or refuse them in its own words; an exception,
an internal error, or more time than a bound is a fault.
"""

from __future__ import annotations

import atexit
import gzip
import json
import random
import re
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import planting

HERE = Path(__file__).parent

SECONDS = 20.0
"""Processor seconds that no input may take; the slowest of the seeds takes a tenth of that."""

LONGEST = 200_000


class Target(NamedTuple):
    """What is read, sound examples of it, and the function that raises where it must not."""

    name: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[bytes], None]


def mutated(choose: random.Random, seeds: list[bytes]) -> bytes:
    """Return a seed with some of its bytes, tokens or lines changed, mixed with another one, or nested deeply."""
    out = choose.choice(seeds)
    for _ in range(choose.choice((1, 1, 2, 3, 8))):
        out = choose.choice(_WAYS)(out, choose, seeds)[:LONGEST]
    return out


def _bytes(data: bytes, choose: random.Random, seeds: list[bytes]) -> bytes:
    if not data:
        return choose.randbytes(8)
    out = bytearray(data)
    at = choose.randrange(len(out))
    length = choose.choice((1, 1, 2, 4, 16))
    match choose.randrange(4):
        case 0:
            out[at] ^= 1 << choose.randrange(8)
        case 1:
            out[at : at + length] = choose.randbytes(length)
        case 2:
            del out[at : at + length]
        case _:
            del out[at:]
    return bytes(out)


def _tokens(data: bytes, choose: random.Random, seeds: list[bytes]) -> bytes:
    parts = _TOKEN.findall(data)
    others = _TOKEN.findall(choose.choice(seeds))
    if not parts or not others:
        return data
    at = choose.randrange(len(parts))
    match choose.randrange(5):
        case 0:
            parts[at] = choose.choice(others)
        case 1:
            parts.insert(at, choose.choice(others))
        case 2:
            del parts[at : at + choose.choice((1, 1, 5))]
        case 3:
            other = choose.randrange(len(parts))
            parts[at], parts[other] = parts[other], parts[at]
        case _:
            parts[at] = choose.choice(_WORDS)
    return b"".join(parts)


def _lines(data: bytes, choose: random.Random, seeds: list[bytes]) -> bytes:
    lines = data.splitlines(keepends=True)
    others = choose.choice(seeds).splitlines(keepends=True)
    if not lines or not others:
        return data
    at = choose.randrange(len(lines))
    match choose.randrange(5):
        case 0:
            start = choose.randrange(len(others))
            lines[at:at] = others[start : start + choose.choice((1, 3, 20))]
        case 1:
            del lines[at : at + choose.choice((1, 3))]
        case 2:
            lines[at:at] = lines[at : at + choose.choice((1, 3))] * choose.choice((1, 2, 50))
        case 3:
            lines[at] = b" " * choose.choice((0, 1, 4, 8)) + lines[at].lstrip(b" ")
        case _:
            choose.shuffle(lines)
    return b"".join(lines)


def _nested(data: bytes, choose: random.Random, seeds: list[bytes]) -> bytes:
    at = choose.randrange(len(data) + 1)
    before, behind = choose.choice(_PAIRS)
    depth = choose.choice((3, 30, 300, 3000))
    return data[:at] + before * depth + b"x" + behind * depth + data[at:]


_TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")
_PAIRS = (
    (b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"{a: ", b"}"), (b"f(", b")"), (b"-", b""), (b"not ", b""), (b"*", b""),
    (b"x + ", b""), (b"x.", b""), (b"if x: ", b""), (b"<", b">"), (b'"', b'"'), (b"/*", b"*/"), (b"lambda: ", b""),
    (b"\n- ", b""), (b"a ? b : ", b""), (b"#if 1\n", b"#endif\n"), (b"f'{", b"}'"), (b"&a ", b""), (b"await ", b""),
)  # fmt: skip
_WORDS = (
    b"0", b"-1", b"1e999", b"9" * 40, b"0x7fffffffffffffff", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", "𝄞é\u2028".encode(),
    b"\r", b"\x0c", b"\t", b"\\", b"\\\n", b'"""', b"'", b"%s" * 50, b"None", b"self", b"*args", b"**kwargs", b"yield",
    b"async", b"match", b"#define", b"#include", b"template<", b"!!python/object/apply:os.system", b"&a", b"*a",
    b"<<: *a", b"0.5", b"1 << 99999", b"'a' * 10 ** 10", b"[0] * 10 ** 10", b"10 ** 10 ** 10", b"~", b"|",
)  # fmt: skip
_WAYS = (_bytes, _tokens, _tokens, _tokens, _lines, _lines, _nested)


@cache
def _folder() -> str:
    folder = tempfile.mkdtemp(prefix="kexec-lint-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _sources(*suffixes: str) -> Callable[[], list[bytes]]:
    return lambda: [text.encode() for name, text in planting.sources() if name.endswith(suffixes)]


def _checked(name: str) -> Callable[[bytes], None]:
    """Return what checks bytes under a file name, with all rules, as an editor would from standard input."""
    from kexec_lint.engine.check import Request, check
    from kexec_lint.engine.rules import Selection

    def read(data: bytes) -> None:
        request = Request(
            selection=Selection(select=("ALL",)),
            confidence="possible",
            isolated=True,
            jobs=1,
            cache_directory=_folder(),  # of the index of rules only
            cache_results=False,
            stdin=(name, data),
        )
        report = check(request)
        assert not report.errors, report.errors

    return read


def _pte(data: bytes) -> None:
    import fuzz_programs

    fuzz_programs.read(data)


def _pte_seeds() -> list[bytes]:
    return [path.read_bytes() for path in sorted((HERE / "executorch" / "data").glob("*.pte"))]


def _builds(name: str) -> Callable[[bytes], None]:
    """Return what reads bytes as a description of a build, as `opset` does."""

    def read(data: bytes) -> None:
        from kexec_lint.executorch import tables
        from kexec_lint.executorch.loading import load_builds
        from kexec_lint.executorch.registration import RegistrationError

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, name)
            file.write_bytes(data)
            try:
                load_builds([str(file)], tables.load())
            except RegistrationError:
                return

    return read


def _selection_seeds() -> list[bytes]:
    written = [path.read_bytes() for path in sorted((HERE / "executorch" / "data").glob("*.yaml"))]
    return written + _sources(".yaml")()


def _strace_seeds() -> list[bytes]:
    found = []
    for path in sorted((HERE / "boundary" / "data").rglob("*")):
        if path.is_file():
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            lines = data.splitlines(keepends=True)
            found += [b"".join(lines[start : start + 60]) for start in range(0, len(lines), max(len(lines) // 6, 1))]
    return found


def _strace(data: bytes) -> None:
    from kexec_lint.boundary import records, text, timeline
    from kexec_lint.boundary.logs import read_lines
    from kexec_lint.boundary.verdicts import judge

    report = judge(read_lines(iter(data.decode("utf-8", "replace").splitlines(keepends=True)), "-"))
    json.dumps(records.report_record(report))
    list(text.lines(report, everything=True))
    timeline.render(report, "x.html")


def _log_seeds() -> list[bytes]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    files = sorted((HERE / "diagnose" / "data").glob("reports*.yaml"))
    reports = [report for path in files for report in yaml.load(path.read_text(encoding="utf-8"), loader)]
    return [report["text"].encode() for report in reports]


@cache
def _knowledge():
    from kexec_lint import diagnose

    return diagnose.load([], None)


def _log(data: bytes) -> None:
    from kexec_lint.diagnose import clean, diagnose, render

    found = diagnose(clean.decode(data), _knowledge())
    render.as_json(found)
    render.as_text(found, _knowledge(), {}, width=100)


def targets() -> dict[str, Target]:
    """Return the targets by name."""
    found = (
        Target("python", _sources(".py"), _checked("mutant.py")),
        Target("c", _sources(".c"), _checked("mutant.c")),
        Target("c++", _sources(".cpp", ".c"), _checked("mutant.cpp")),
        Target("kernel", _sources(".cl"), _checked("mutant.cl")),
        Target("yaml", _sources(".yaml"), _checked("selected_operators.yaml")),
        Target("cmake", _sources(".cmake"), _checked("CMakeLists.txt")),
        Target("starlark", _sources(".bzl"), _checked("defs.bzl")),
        Target("selection", _selection_seeds, _builds("selected_operators.yaml")),
        Target("build", _sources(".cmake"), _builds("CMakeLists.txt")),
        Target("pte", _pte_seeds, _pte),
        Target("strace", _strace_seeds, _strace),
        Target("log", _log_seeds, _log),
    )
    return {target.name: target for target in found}
