"""Messages that no editor should send: the server answers with an error or not at all, and goes on."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="needs the extra lsp: pip install '.[lsp]'")

MESSAGES = 150
WORDS: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, 1e300, "", "x" * 5000, "\ud800", "file:///", "file://%00", "untitled:1", [], {},
    [[]], {"line": -1, "character": 2**31}, {"uri": None}, "../../../../etc/passwd", "quickfix",
)  # fmt: skip


def seeds(top: Path) -> list[dict[str, Any]]:
    uri = (top / "a.py").as_uri()
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 3, "character": 1}}
    document = {"uri": uri}
    text = "import pyopencl as cl\nq = cl.CommandQueue(cl.create_some_context())  # kexec: ignore[OCL101]\n"
    opened = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    notebook = {"uri": (top / "n.ipynb").as_uri(), "notebookType": "jupyter-notebook", "version": 1, "cells": []}
    found: list[tuple[str, Any]] = [
        ("textDocument/didOpen", {"textDocument": opened}),
        (
            "textDocument/didChange",
            {"textDocument": {**document, "version": 2}, "contentChanges": [{"text": text * 3}]},
        ),
        ("textDocument/didSave", {"textDocument": document}),
        ("textDocument/didClose", {"textDocument": document}),
        ("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": [opened]}),
        ("workspace/didChangeConfiguration", {"settings": {"kexec-lint": {"select": ["OCL"]}}}),
        ("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]}),
        ("$/cancelRequest", {"id": 3}),
        ("$/setTrace", {"value": "verbose"}),
    ]
    asked: list[tuple[str, Any]] = [
        ("textDocument/codeAction", {"textDocument": document, "range": place, "context": {"diagnostics": []}}),
        ("textDocument/hover", {"textDocument": document, "position": place["end"]}),
        ("textDocument/diagnostic", {"textDocument": document}),
        ("workspace/executeCommand", {"command": "kexec-lint.fixAll", "arguments": [uri]}),
        ("codeAction/resolve", {"title": "x", "data": {"uri": uri}}),
    ]
    return [{"jsonrpc": "2.0", "method": m, "params": p} for m, p in found] + [
        {"jsonrpc": "2.0", "id": 1000 + n, "method": m, "params": p} for n, (m, p) in enumerate(asked)
    ]


def mutated(value: Any, choose: random.Random) -> Any:
    """Return a message with one of its parts replaced, removed or doubled."""
    if isinstance(value, dict) and value and choose.random() < 0.9:
        key = choose.choice(list(value))
        if choose.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: mutated(value[key], choose)}
    if isinstance(value, list) and value and choose.random() < 0.9:
        at = choose.randrange(len(value))
        return [*value[:at], mutated(value[at], choose), *value[at:]]
    return choose.choice(WORDS)


def framed(text: bytes, choose: random.Random) -> bytes:
    """Return a message behind its head, which may name another encoding or more heads; its length stays right."""
    heads = [f"Content-Length: {len(text)}\r\n".encode()]
    if choose.random() < 0.2:
        heads.append(b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n")
    return b"".join(heads) + b"\r\n" + text


def answer(server: subprocess.Popen[bytes], number: int) -> dict[str, Any]:
    """Return the answer to a request; what else the server says is passed over, its own requests are refused."""
    assert server.stdout is not None
    while True:
        length = 0
        while (line := server.stdout.readline()).strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        assert line, "the server went away"
        message = json.loads(server.stdout.read(length))
        if "method" not in message and message.get("id") == number:
            return message


@pytest.mark.parametrize("seed", [1, 2])
def test_the_server_goes_on(tmp_path: Path, seed: int, request: pytest.FixtureRequest) -> None:
    (tmp_path / "a.py").write_text("import pyopencl as cl\n")
    env = {**os.environ, "KEXEC_LINT_CACHE_DIR": str(tmp_path / "cache")}
    server = subprocess.Popen(
        [sys.executable, "-m", "kexec_lint", "server"], env=env, cwd=tmp_path,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert server.stdin is not None
    watch = threading.Timer(60, server.kill)  # a server that hangs is a fault, not a test without an end
    watch.start()
    request.addfinalizer(watch.cancel)
    request.addfinalizer(server.kill)
    choose = random.Random(seed)

    def send(message: Any) -> None:
        text = json.dumps(message).encode()
        server.stdin.write(framed(text, choose))
        server.stdin.flush()

    def ask(number: int, method: str, params: Any) -> dict[str, Any]:
        send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return answer(server, number)

    folders = [{"uri": tmp_path.as_uri(), "name": "x"}]
    started = ask(1, "initialize", {"processId": None, "capabilities": {}, "workspaceFolders": folders})
    assert "result" in started
    send({"jsonrpc": "2.0", "method": "initialized", "params": {}})
    sound = seeds(tmp_path)
    for number in range(MESSAGES):
        message = choose.choice(sound)
        for _ in range(choose.choice((0, 1, 1, 2))):
            message = mutated(message, choose)
        if isinstance(message, dict) and message.get("method") in ("exit", "shutdown"):
            continue
        send(message)
        if number % 50 == 49:
            assert ask(10_000 + number, "no/such/method", {})["error"]["code"] == -32601
    server.stdin.write(framed(b"{not json", choose))
    place = {"textDocument": {"uri": (tmp_path / "a.py").as_uri()}, "position": {"line": 0, "character": 0}}
    send(sound[0])
    assert "error" not in ask(20_000, "textDocument/hover", place)
    ask(20_001, "shutdown", None)
    send({"jsonrpc": "2.0", "method": "exit"})
    assert server.wait(timeout=20) == 0
