"""Bytes to text: encodings, notebooks, and the line said about what is neither."""

from __future__ import annotations

import json

import pytest

from kexec_lint.engine.decoding import Unreadable, decode
from kexec_lint.engine.notebooks import without_pictures
from kexec_lint.engine.reading import LIMIT


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"x = 1\n", "x = 1\n"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        ("# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"), "# -*- coding: latin-1 -*-\nx = 'é'\n"),
        ("#!/bin/sh\n# vim: set fileencoding=cp1251 :\nы\n".encode("cp1251"), None),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        ("x = '😀'\n".encode(), "x = '😀'\n"),
        (b"x = 1\n\n# coding: nonsense, but on the third line\n", None),
        (b"", ""),
    ],
)
def test_python_text(data, text):
    source = decode("x.py", data)
    assert text is None or source.text == text
    assert source.data == data


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("x.py", b"ok = 1\nx = '\xff'\n", "not UTF-8 text (line 2), not checked"),
        ("x.c", b"\xe9", "not UTF-8 text (line 1), not checked"),
        ("x.py", b"# coding: klingon\n", "declares the unknown encoding 'klingon', not checked"),
        ("x.py", b"# coding: rot13\n", "declares the unknown encoding 'rot13 (not a text encoding)', not checked"),
        ("x.py", b"x\0y", "holds null bytes, not checked"),
        ("x.ipynb", b"{", "not a notebook"),
        ("x.ipynb", b"[]", "not a notebook of format 4"),
        ("x.ipynb", b"[" * 100_000, "not a notebook"),
    ],
)
def test_what_is_not_text(name, data, reason):
    with pytest.raises(Unreadable) as error:
        decode(name, data)
    assert reason in str(error.value)


def notebook(*cells: tuple[str, str], language: str = "python") -> bytes:
    return json.dumps(
        {
            "cells": [
                {"cell_type": kind, "source": text.splitlines(keepends=True), "metadata": {}} for kind, text in cells
            ],
            "metadata": {"language_info": {"name": language}},
            "nbformat": 4,
        }
    ).encode()


def test_notebook_cells_are_joined_with_their_rows():
    source = decode("n.ipynb", notebook(("code", "a = 1\nb = 2"), ("markdown", "# no code"), ("code", "c = 3\n")))
    assert source.text == "a = 1\nb = 2\nc = 3\n"
    assert source.cells == ((1, 1), (1, 2), (3, 1))
    assert source.suffix == ".py"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("%matplotlib inline\nx = 1\n", "pass\nx = 1\n"),
        ("if x:\n    !ls\n", "if x:\n    pass\n"),
        ("files = !ls\n", "files = None\n"),
        ("cl.Buffer?\n", "pass\n"),
        ("%%time\nx = 1\n", "#\nx = 1\n"),
        ("%%bash\nls -l\n", "#\n#\n"),
        ("%%cl_kernel\n__kernel void f() {}\n", "%%cl_kernel\n__kernel void f() {}\n"),
        ("%time x = f()\n", "0;    x = f()\n"),
        ("if x:\n    %timeit -n 10 f()\n", "if x:\n    0;            f()\n"),
        ("x = (3\n     % y)\n", "x = (3\n     % y)\n"),
        ("no Python here\n", "#\n"),
        ("await f()\n", "await f()\n"),
    ],
)
def test_what_only_ipython_reads_becomes_harmless(cell, text):
    assert decode("n.ipynb", notebook(("code", cell))).text == text


def test_notebooks_of_other_languages_are_empty():
    assert decode("n.ipynb", notebook(("code", "x <- 1"), language="R")).text == ""


def test_pictures_of_a_notebook_do_not_count(tree, run):
    picture = "iVBORw0KGgo" + "OCL+kexec/" * 800_000 + "=="
    document = {
        "cells": [
            {
                "cell_type": "code",
                "source": ["x = 1\n", "MARK = 'MARK[OCL101]'\n"],
                "outputs": [
                    {
                        "data": {
                            "image/png": picture + "\n",
                            "text/html": [f'<img src="data:image/png;base64,{picture}">'],
                        }
                    }
                ],
            }
        ],
        "nbformat": 4,
    }
    data = json.dumps(document).encode()
    assert len(data) > LIMIT
    source = decode("n.ipynb", data)
    assert (source.text, source.data) == ("x = 1\nMARK = 'MARK[OCL101]'\n", data)
    assert json.loads(without_pictures(data))["cells"][0]["source"] == document["cells"][0]["source"]
    assert len(without_pictures(data)) < 400


def test_code_about_pictures_stays():
    text = 'html = "<img src=\\"data:image/png;base64,iVBORw0" + code\nkinds = {"image/png": "x"}\n'
    data = json.dumps({"cells": [{"cell_type": "code", "source": text}]}).encode()
    assert decode("n.ipynb", data).text == text
