"""Reads mutated program files: `python fuzz_programs.py [COUNT] [SEED]`. No crash, no hang, bounded memory.

Each mutant is read in this process under a limit of time and of memory: a FormatError or a Program is right,
anything else ends the run with the mutant's number and its bytes in a file.
"""

from __future__ import annotations

import random
import sys
import time
import tracemalloc
from pathlib import Path

import pte

from kexec_lint.executorch import program
from kexec_lint.executorch.flatbuffer import FormatError

DATA = Path(__file__).parent / "data"
SECONDS = 2.0
MEMORY = 60
"""Most bytes held per byte of the file, above a constant; Python's numbers and tables are that much larger."""


def seeds() -> list[bytes]:
    """Return sound files of every kind."""
    files = [path.read_bytes() for path in sorted(DATA.glob("*.pte"))]
    method = {
        "calls": [
            {"aten::cat.out": [["6;0,1", "6;0,1"], 0, "6;0,1", "6;0,1"]},
            {"aten::index.Tensor_out": ["6;0", [None, "4;0"], "6;0", "6;0"]},
            {"delegate": "XnnpackBackend"},
        ],
        "inputs": ["6;0,1 1x8"],
        "outputs": ["6;0,1 1x8"],
        "external": ["weight"],
    }
    written = pte.program({"forward": method, "encode": method})
    return [*files, written, pte.bundle(written), pte.external(["weight", "bias"])]


def mutate(data: bytes, choose: random.Random) -> bytes:
    """Return a changed copy: bits, words that look like offsets or lengths, cuts, repeats and splices."""
    out = bytearray(data)
    for _ in range(choose.choice((1, 1, 2, 4, 16))):
        if not out:
            break
        at = choose.randrange(len(out))
        kind = choose.randrange(7)
        if kind == 0:
            out[at] ^= 1 << choose.randrange(8)
        elif kind == 1:
            out[at] = choose.randrange(256)
        elif kind == 2:
            word = choose.choice((0, 1, 4, 8, at, len(out), 0x7FFFFFFF, 0xFFFFFFFF, choose.randrange(1 << 32)))
            start = at & ~3
            out[start : start + 4] = word.to_bytes(4, "little")
        elif kind == 3:
            del out[at:]
        elif kind == 4:
            del out[at : at + choose.randrange(1, 64)]
        elif kind == 5:
            piece = out[at : at + choose.randrange(1, 64)]
            out[at:at] = piece * choose.randrange(1, 4)
        else:
            other = choose.randrange(len(out))
            out[at : at + 4] = out[other : other + 4]
    return bytes(out)


def read(data: bytes) -> None:
    """Read as a program and as external data, and look at everything that is derived."""
    for reader in (program.read, program.read_external):
        try:
            found = reader("mutant", data)
        except FormatError:
            continue
        if isinstance(found, program.Program):
            assert found.kernel_keys is not None
            assert found.planned_bytes is not None
            assert found.dtypes is not None
            assert found.external is not None


def run(count: int, seed: int, memory_every: int = 50) -> tuple[float, float]:
    """Read `count` mutants; return the slowest in seconds and the most memory in bytes per byte of the file."""
    choose = random.Random(seed)
    originals = seeds()
    slowest = most = 0.0
    for number in range(count):
        data = mutate(choose.choice(originals), choose)
        measured = number % memory_every == 0
        if measured:
            tracemalloc.start()
        began = time.perf_counter()
        try:
            read(data)
            taken = time.perf_counter() - began
            peak = tracemalloc.get_traced_memory()[1] if measured else 0
            assert taken < SECONDS, f"{taken:.1f} s"
            assert peak < 200_000 + MEMORY * len(data), f"{peak} bytes for a file of {len(data)}"
        except Exception:
            Path(f"mutant-{seed}-{number}.pte").write_bytes(data)
            print(f"mutant {number} of seed {seed} is written to mutant-{seed}-{number}.pte")
            raise
        finally:
            if measured:
                tracemalloc.stop()
        slowest = max(slowest, taken)
        if measured and len(data) > 1000:
            most = max(most, peak / len(data))
    return slowest, most


if __name__ == "__main__":
    count, seed = (
        (int(word) for word in [*sys.argv[1:], "100000", "1"][:2]) if len(sys.argv) < 3 else map(int, sys.argv[1:3])
    )
    began = time.perf_counter()
    slowest, most = run(count, seed)
    taken = time.perf_counter() - began
    print(f"{count} mutants in {taken:.0f} s: slowest {slowest * 1000:.1f} ms, {most:.0f} bytes held per byte at most")
