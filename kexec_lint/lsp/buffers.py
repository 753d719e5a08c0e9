"""What the editor holds: open documents and notebooks, as bytes for the engine and as lines for positions."""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
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
    path = to_fs_path(uri) if uri.startswith("file:") else None
    if document is None or path is None:
        return None
    text = document.source
    # Under the URI that the client gave: it may quote more or less than another writer of the same path.
    return Buffer(path, document.uri, document.version or 0, encode(text), {None: (document.uri, split(text))})


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


def _notebook(workspace: Workspace, notebook: lsp.NotebookDocument) -> Buffer | None:
    path = to_fs_path(notebook.uri)
    if path is None or not notebook.uri.startswith("file:"):
        return None
    cells = []
    parts: dict[int | None, tuple[str, list[str]]] = {}
    version = notebook.version
    for number, cell in enumerate(notebook.cells, 1):
        document = workspace.get_text_document(cell.document)
        code = cell.kind == lsp.NotebookCellKind.Code
        source = document.source.replace("\r\n", "\n")
        cells.append({"cell_type": "code" if code and _python(document.language_id) else "markdown", "source": source})
        parts[number] = (cell.document, split(source))
        version += document.version or 0
    data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    return Buffer(path, notebook.uri, version, data, parts)


def _python(language: str | None) -> bool:
    return language in (None, "", "python")
