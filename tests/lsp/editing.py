"""What an editor does with files, and a program with a race to do it to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from lsprotocol import types as lsp
from pytest_lsp import LanguageClient

RACE = '''\
import numpy as np
import pyopencl as cl

ctx = cl.create_some_context()
queue = cl.CommandQueue(ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
program = cl.Program(ctx, """
__kernel void square(__global const float *x, __global float *y) {
    int i = get_global_id(0);
    y[i] = x[i] * x[i];
}
""").build()
host = np.ones(64, np.float32)
x = cl.Buffer(ctx, cl.mem_flags.READ_ONLY, host.nbytes)
y = cl.Buffer(ctx, cl.mem_flags.WRITE_ONLY, host.nbytes)
up = cl.enqueue_copy(queue, x, host, is_blocking=False)
run = program.square(queue, host.shape, None, x, y)
queue.finish()
'''
KERNEL = 15
"""Line of the kernel that nothing orders after the upload, from 0."""
ORDERED = RACE.replace("None, x, y)", "None, x, y, wait_for=[up])")


def opened(client: LanguageClient, path: Path, text: str, language: str = "python") -> str:
    """Open a file with a text and return its URI."""
    uri = path.as_uri()
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, language, 1, text)))
    return uri


def typed(client: LanguageClient, uri: str, text: str, version: int) -> None:
    """Change the whole text of an open file."""
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(version, uri), [lsp.TextDocumentContentChangeWholeDocument(text)]
        )
    )


async def until(
    client: LanguageClient, uri: str, holds: Callable[[Sequence[lsp.Diagnostic]], object], seconds: float = 30
) -> Sequence[lsp.Diagnostic]:
    """Wait for diagnostics of a document that hold and return them."""
    async with asyncio.timeout(seconds) if hasattr(asyncio, "timeout") else _Patient():
        while uri not in client.diagnostics or not holds(client.diagnostics[uri]):
            await asyncio.sleep(0.01)
    return client.diagnostics[uri]


def codes(diagnostics: Sequence[lsp.Diagnostic]) -> list[object]:
    """Return the codes in order."""
    return [diagnostic.code for diagnostic in diagnostics]


class _Patient:
    """Python 3.10 has no asyncio.timeout; the run's own limit ends a test that waits in vain."""

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, *error: object) -> None:
        pass
