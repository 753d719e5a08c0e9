"""What the editor holds: open documents and notebooks, as bytes for the engine and as lines for positions."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import Workspace

from kexec_lint.lsp.places import split


@dataclass(frozen=True)
class Buffer:
    """One file as the editor holds it. `version` grows with every change; `parts` are the URI and lines of the
    document, under None, or those of every cell of a notebook under its number.
    """

    path: str
    uri: str
    version: int
    data: bytes
    parts: Mapping[int | None, tuple[str, list[str]]] = field(compare=False)


def of(workspace: Workspace, uri: str) -> Buffer | None:
    """Return the buffer that a document, a notebook or a cell belongs to; None if it is not an open file."""
    notebook = workspace.get_notebook_document(notebook_uri=uri) or workspace.get_notebook_document(cell_uri=uri)
    if notebook is not None:
        return _notebook(workspace, notebook)
    document = workspace.text_documents.get(unquote(uri))
    # Under the URI that the client gave: it may quote more or less than another writer of the same path.
    return None if document is None else _document(document.uri, document.version or 0, document.source)


def every(workspace: Workspace) -> dict[str, Buffer]:
    """Return all buffers by absolute path."""
    found = (of(workspace, uri) for uri in (*workspace.text_documents, *workspace.notebook_documents))
    return {buffer.path: buffer for buffer in found if buffer is not None}


def encode(text: str) -> bytes:
    """Return the text as UTF-8; a mark in front overrules a declared encoding, which is that of the saved file."""
    if text.isascii():
        return text.encode()
    return codecs.BOM_UTF8 + text.removeprefix("\ufeff").encode("utf-8", "replace")


def uri_of(path: str) -> str:
    """Return the URI of an absolute path."""
    return from_fs_path(path) or path


@lru_cache(maxsize=256)
def _document(uri: str, version: int, text: str) -> Buffer | None:
    path = path_of(uri)
    return None if path is None else Buffer(path, uri, version, encode(text), {None: (uri, split(text))})


def _notebook(workspace: Workspace, notebook: lsp.NotebookDocument) -> Buffer | None:
    cells = []
    version = notebook.version
    for cell in notebook.cells:
        document = workspace.get_text_document(cell.document)
        code = cell.kind == lsp.NotebookCellKind.Code and document.language_id in (None, "", "python")
        cells.append((cell.document, code, document.source))
        version += document.version or 0
    return _cells(notebook.uri, version, tuple(cells))


@lru_cache(maxsize=32)
def _cells(uri: str, version: int, cells: tuple[tuple[str, bool, str], ...]) -> Buffer | None:
    path = path_of(uri)
    if path is None:
        return None
    entries = [
        {"cell_type": "code" if code else "markdown", "source": "\n".join(split(text))} for _, code, text in cells
    ]
    data = json.dumps({"cells": entries, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    parts: dict[int | None, tuple[str, list[str]]] = {
        number: (cell, split(text)) for number, (cell, _, text) in enumerate(cells, 1)
    }
    return Buffer(path, uri, version, data, parts)


def path_of(uri: str) -> str | None:
    """Return the path of a file; a folder that the editor opened through a link has the names of the real one."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    if path is None or os.path.isdir(path):
        return path and os.path.realpath(path)
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
