"""Characters of string constants are found where they stand in the file."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rendering import module

from kexec_lint.opencl.frontend.literals import locate
from kexec_lint.opencl.program import Assign, Const, Span

PLACES = [
    ('x = "kernel"', "n", (1, 9)),
    ('x = """\nvoid\n  f"""', "f", (3, 3)),
    ("x = 'a\\n' \\\n  r'\\nq'", "q", (2, 7)),
    ("x = ('a\\n'  # 'q'\n  'ü\\x41\\N{BULLET}q')", "q", (2, 19)),
    ('x = "a\\\nq"', "q", (2, 1)),
    ("x = 'it\\'s\\dq'", "q", (1, 13)),
]


@pytest.mark.parametrize(("source", "character", "place"), PLACES)
def test_places(source: str, character: str, place: tuple[int, int]) -> None:
    (statement,) = module(source).body
    assert isinstance(statement, Assign)
    assert isinstance(statement.value, Const)
    value = statement.value.value
    assert isinstance(value, str)
    assert locate(source, statement.value.span, value, value.index(character)) == place


def test_a_part_of_an_f_string_is_found_by_row() -> None:
    source = 'x = f"""\nvoid {name}\n(q)"""'
    assert locate(source, Span(1, 5, 3, 7), "\nvoid ", 3) == (2, 1)
    assert locate(source, Span(1, 5, 3, 7), "\n(q)", 3) == (2, 1)


TEXT = st.text(st.sampled_from("ab'\"\\\nü🙂\t{}#xN0"), max_size=20)


@given(st.lists(st.tuples(st.sampled_from(["", "u", "r"]), st.booleans(), TEXT), min_size=1, max_size=3))
def test_every_unescaped_character_is_where_it_says(literals: list[tuple[str, bool, str]]) -> None:
    written = "(\n" + "\n ".join(_literal(*one) for one in literals) + ")"
    value = ast.literal_eval(written)
    rows = written.split("\n")
    places = [locate(written, Span(1, 1, len(rows), len(rows[-1]) + 1), value, place) for place in range(len(value))]
    assert places == sorted(places)
    for character, (row, column) in zip(value, places, strict=True):
        there = (rows[row - 1] + "\n")[column - 1]
        assert there in (character, "\\")


def _literal(prefix: str, triple: bool, text: str) -> str:
    if prefix == "r":
        return 'r"""' + text.replace('"', "").replace("\\", "") + '"""'
    return prefix + (('"""' + text.replace("\\", "\\\\").replace('"', '\\"') + '"""') if triple else repr(text))
