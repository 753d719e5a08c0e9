"""Sources of cells changed in a notebook's own bytes."""

from __future__ import annotations

import json

import pytest

from kexec_lint.engine.notebooks import rewritten

LINES = r"""{
 "cells": [
  {"cell_type": "markdown", "source": []},
  {
   "source": [
    "a = 1\n",
    "\u00e9 = a"
   ], "outputs": [{"data": {"x": "[{"}}]
  }
 ],
 "nbformat": 4
}
"""


@pytest.mark.parametrize(
    ("text", "cell", "after"),
    [
        (LINES, 2, LINES.replace(r'    "\u00e9', '    "b = 2\\n",\n' r'    "\u00e9')),
        ('{"cells":[{"source":["a = 1\\n","c"]}]}', 1, '{"cells":[{"source":["a = 1\\n", "b = 2\\n", "c"]}]}'),
        ('{"m": 1, "cells": [{"source": "a = 1\\né"}]}', 1, '{"m": 1, "cells": [{"source": "a = 1\\nb = 2\\né"}]}'),
    ],
)
def test_only_the_changed_lines_are_written_anew(text: str, cell: int, after: str) -> None:
    assert rewritten(text, {cell: lambda source: source.replace("1\n", "1\nb = 2\n")}) == after
    assert json.loads(after)
