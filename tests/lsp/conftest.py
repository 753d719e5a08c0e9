"""A real server in its own process, spoken to as editors do."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

reason = "needs the extra lsp and pytest-lsp: pip install '.[lsp]' pytest-lsp"
pytest.importorskip("pygls", reason=reason)
pytest_lsp = pytest.importorskip("pytest_lsp", reason=reason)

from lsprotocol import types as lsp  # noqa: E402
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities  # noqa: E402

Talk = Callable[..., AbstractAsyncContextManager[LanguageClient]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that the editor has open."""
    top = tmp_path / "project"
    top.mkdir()
    (top / ".git").mkdir()
    return top


@pytest.fixture
def talk(tmp_path: Path, folder: Path) -> Talk:
    """Start a server and a client of some editor's abilities; `pulls` lets it ask for diagnostics."""

    @asynccontextmanager
    async def start(
        editor: str = "visual-studio-code",
        settings: dict[str, Any] | None = None,
        encodings: tuple[lsp.PositionEncodingKind, ...] | None = None,
        pulls: bool | None = None,
        root: Path = folder,
    ) -> AsyncIterator[LanguageClient]:
        env = {**os.environ, "KEXEC_LINT_CACHE_DIR": str(tmp_path / "cache")}
        client = await ClientServerConfig([sys.executable, "-m", "kexec_lint", "server"], server_env=env).start()
        registered: list[str] = []

        @client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
        def register(params: lsp.RegistrationParams) -> None:
            registered.extend(item.method for item in params.registrations)

        client.registered = registered
        client.set_configuration({"kexec-lint": settings or {}})
        able = client_capabilities(editor)
        able.workspace.configuration = True
        if pulls:
            able.text_document.diagnostic = lsp.DiagnosticClientCapabilities()
            able.workspace.diagnostics = lsp.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
        if encodings:
            able.general = lsp.GeneralClientCapabilities(position_encodings=list(encodings))
        uri = root.as_uri()
        try:
            await client.initialize_session(
                lsp.InitializeParams(capabilities=able, workspace_folders=[lsp.WorkspaceFolder(uri, "project")])
            )
            yield client
        finally:
            await client.shutdown_session()
            await client.stop()

    return start
