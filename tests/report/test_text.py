"""What people read: full and concise."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from report_sample import RACE, READ, at

FULL = """\
error[OCL101] `square` reads `x` while the copy into it may still run (likely)
  --> src/app.py:11:11
   |
 5 |     queue = cl.CommandQueue(ctx, properties=OOO)
   |             ------------------------------------ out-of-order queue
...
 9 |     up = cl.enqueue_copy(queue, x, host, is_blocking=False)
   |          -------------------------------------------------- writes `x`, event `up`
10 |
11 |     run = prg.square(
   |           ^^^^^^^^^^^
12 |         queue, host.shape, None,
   |         ^^^^^^^^^^^^^^^^^^^^^^^^
13 |         x, y,
   |         ^^^^^
14 |     )
   |     ^ read-after-write
   |
  ::: src/k.cl:2:3
   |
 2 |   __global float *y) { y[0] = x[0]; }
   |   ----------------- reads its argument
   |
   = in order:
     1. src/app.py:9:10  the copy writes `x`
     2. src/app.py:11:11  `square` reads `x`
   = help: pass the copy's event to the kernel: wait_for=[up]
   = why: kexec-lint rule OCL101 (missing-wait-edge)

warning[OCL201] `out` is read <here> & now: 100%
  --> src/app.py:15:25
   |
15 |     name = "é😀"; return out[0]
   |                          ^^^^^^
   |
   = fix: wait for the event
   = why: kexec-lint rule OCL201 (host-read-before-wait)

"""


def test_full(write):
    assert write("full", RACE, READ) == FULL


def test_colour_adds_nothing_but_colour(write):
    coloured = write("full", RACE, READ, colour=True)
    assert "\x1b[1;31m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == write("full", RACE, READ)


def test_concise(write):
    assert write("concise", RACE, READ) == (
        "src/app.py:11:11: OCL101 `square` reads `x` while the copy into it may still run [error, likely]\n"
        "src/app.py:15:25: OCL201 `out` is read <here> & now: 100% [warning, certain]\n"
    )


def snippet(text: str) -> list[str]:
    """Return source rows and underlines without the frame."""
    lines = text.split("\n")
    return [line[5:] for line in lines[3 : lines.index("   |", 4) if "   |" in lines[4:] else None]]


@pytest.mark.parametrize(
    ("line", "column", "end", "shown"),
    [
        ("\tx = f(y)", 6, 10, ["    x = f(y)", "        ^^^^"]),
        ("世界 = f(y)", 6, 10, ["世界 = f(y)", "       ^^^^"]),
        ("e\u0301 = f(y)", 6, 10, ["e\u0301 = f(y)", "    ^^^^"]),
        ("x = f(\x1b[31m)", 5, 7, ["x = f(�[31m)", "    ^^"]),
        ("x = f(y)", 9, 9, ["x = f(y)", "        ^"]),
    ],
)
def test_carets_stand_under_their_text(write, project, line, column, end, shown):
    (project / "src" / "app.py").write_text(line + "\n", encoding="utf-8")
    text = write("full", replace(READ, location=at("src/app.py", 1, column, 1, end)))
    rows = [row.split("| ", 1)[1] for row in text.split("\n") if "| " in row]
    assert rows == shown


def test_long_lines_are_cut_around_the_place(write, project):
    (project / "src" / "app.py").write_text("x = [" + "0, " * 2000 + "f(y)]\n")
    text = write("full", replace(READ, location=at("src/app.py", 1, 6006, 1, 6010)), width=80)
    source, carets = [row.split("| ", 1)[1] for row in text.split("\n") if "| " in row]
    assert source[carets.index("^") :][:4] == "f(y)"
    assert max(map(len, text.split("\n"))) <= 80


def test_a_narrow_terminal_wraps_words(write):
    text = write("full", replace(RACE, help="word " * 60), width=70)
    assert max(len(line) for line in text.split("\n")[1:]) <= 70


def test_long_spans_are_shortened(write, project):
    (project / "src" / "app.py").write_text("f(\n" + "  a,\n" * 50 + ")\n")
    text = write("full", replace(READ, location=at("src/app.py", 1, 1, 52, 2)))
    assert [row.split("|")[0].strip() for row in text.split("\n") if re.match(r"\s*\d+ \|", row)] == [
        "1",
        "2",
        "52",
    ]


def test_a_file_that_is_gone_costs_only_its_source(write, project):
    (project / "src" / "k.cl").unlink()
    assert "::: src/k.cl:2:3" in write("full", RACE)
