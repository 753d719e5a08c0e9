"""The server's conversation with an editor: what it asks and is told, and when files are checked."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import threading
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from kexec_lint import __version__, rulebook
from kexec_lint.engine.texts import Texts
from kexec_lint.findings import Finding, Location
from kexec_lint.lsp import actions, buffers
from kexec_lint.lsp.buffers import Buffer
from kexec_lint.lsp.diagnostics import Placing, diagnostic, located
from kexec_lint.lsp.places import place_of, split, touches
from kexec_lint.lsp.session import Session, Survey, survey
from kexec_lint.lsp.settings import SECTION, ClientSettingsError, read

_WATCHED = "**/{*.py,*.pyi,*.ipynb,*.c,*.cc,*.cpp,*.cxx,*.h,*.hpp,*.cu,*.cl,*.ocl,*.yaml,*.yml,*.toml,CMakeLists.txt}"

_PATIENCE = 3.0
"""Seconds that a client has to answer what its settings are."""

_ACTIONS = lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.SourceFixAll, actions.FIX_ALL])
_DIAGNOSTICS = lsp.DiagnosticOptions(identifier=SECTION, inter_file_dependencies=True, workspace_diagnostics=True)
_NOTEBOOKS = lsp.NotebookDocumentSyncOptions(
    [
        lsp.NotebookDocumentFilterWithCells(
            cells=[lsp.NotebookCellLanguage("python"), lsp.NotebookCellLanguage("markdown")], notebook="*"
        )
    ]
)


class Server:
    """One conversation. Files are checked by one thread; all folders together by a process beside it."""

    def __init__(self) -> None:
        # Whole texts: pygls splits lines where neither the protocol nor Python does, and would misplace changes.
        self.lsp = LanguageServer(
            "kexec-lint",
            __version__,
            text_document_sync_kind=lsp.TextDocumentSyncKind.Full,
            notebook_document_sync=_NOTEBOOKS,
        )
        self.session = Session()
        self._thread = ThreadPoolExecutor(1, "check")
        self._process: ProcessPoolExecutor | None = None
        self._checking = asyncio.Lock()
        self._configured = asyncio.Event()
        self._surveying: asyncio.Task[None] | None = None
        self._survey_again = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._folders: list[str] = []
        self._told: set[str] = set()
        self._published: dict[str, set[str]] = {}
        self._results = 0
        self._result_ids: dict[str, tuple[str, list[lsp.Diagnostic]]] = {}

    # --- what the client can do ---------------------------------------------------------------------------------

    @property
    def pulls(self) -> bool:
        """Whether the client asks for diagnostics; else they are sent."""
        document = self.lsp.client_capabilities.text_document
        return document is not None and document.diagnostic is not None

    def _can(self, *path: str) -> bool:
        """Return whether the capability at the end of a path of attributes is there and on."""
        value: Any = self.lsp.client_capabilities
        for name in path:
            value = getattr(value, name, None)
        return bool(value)

    # --- life ---------------------------------------------------------------------------------------------------

    def initialize(self, params: lsp.InitializeParams) -> None:
        """Take over folders and settings."""
        uris = [folder.uri for folder in params.workspace_folders or ()] or [params.root_uri or ""]
        paths = (to_fs_path(uri) for uri in uris if uri)
        self._folders = [os.path.realpath(path) for path in paths if path and os.path.isdir(path)]
        if self._folders:
            os.chdir(self._folders[0])
            self.session.start = os.getcwd()
            self.session.partial = True
        self._configure(params.initialization_options)
        # Half a second of imports, paid while the editor still draws its window.
        threading.Thread(target=_warm_up, daemon=True).start()

    async def initialized(self) -> None:
        """Ask for settings and for word of changed files, then look at all folders."""
        await asyncio.wait({self._later(self.pull_configuration())}, timeout=_PATIENCE)
        self._configured.set()
        if self._can("workspace", "did_change_watched_files", "dynamic_registration"):
            options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher(_WATCHED)])
            watch = lsp.Registration("watch", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            self._later(self.lsp.client_register_capability_async(lsp.RegistrationParams([watch])))
        if self._can("workspace", "did_change_configuration", "dynamic_registration"):
            change = lsp.Registration("settings", lsp.WORKSPACE_DID_CHANGE_CONFIGURATION, {"section": SECTION})
            self._later(self.lsp.client_register_capability_async(lsp.RegistrationParams([change])))
        self.survey_soon()

    def shutdown(self) -> None:
        """End the threads and the process."""
        for task in self._tasks:
            task.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.shutdown(wait=False, cancel_futures=True)

    # --- settings -----------------------------------------------------------------------------------------------

    async def pull_configuration(self, pushed: Any = None) -> None:
        """Read the editor's settings, asked for where the client answers, else those that it `pushed`."""
        if self._can("workspace", "configuration"):
            item = lsp.ConfigurationItem(section=SECTION)
            answers = await self.lsp.workspace_configuration_async(lsp.ConfigurationParams([item]))
            if answers and answers[0] is not None:
                self._configure(answers[0])
        elif isinstance(pushed, dict) and SECTION in pushed:
            self._configure(pushed[SECTION])

    def _configure(self, given: Any) -> None:
        try:
            settings = read(_plain(given))
        except ClientSettingsError as error:
            self._tell(str(error))
            return
        if settings != self.session.settings:
            self.session.settings = settings
            self.session.generation += 1
            if self._configured.is_set():
                self.survey_soon()

    # --- checking -----------------------------------------------------------------------------------------------

    def buffer(self, uri: str) -> Buffer | None:
        """Return the open file that a URI belongs to."""
        return buffers.of(self.lsp.workspace, uri)

    async def fresh(self, uri: str) -> Buffer | None:
        """Bring the findings of an open file up to date; of several calls, only the newest text is checked."""
        await self._configured.wait()  # else the first findings would be judged by other settings, and flash
        async with self._checking:
            buffer = self.buffer(uri)
            if buffer is None or self.session.is_current(buffer):
                return buffer
            others = [other for path, other in self._buffers().items() if path != buffer.path]
            loop = asyncio.get_running_loop()
            problem = await loop.run_in_executor(self._thread, self.session.check, buffer, others)
            if problem is not None:
                self._tell(problem)
            return buffer

    async def push(self, uri: str) -> None:
        """Check an open file and send its diagnostics, unless it has changed meanwhile."""
        buffer = await self.fresh(uri)
        now = self.buffer(uri)
        if buffer is not None and now is not None and now.version == buffer.version:
            self._publish(buffer.path)

    def changed(self, uri: str) -> None:
        """Do what a change of an open file asks for: a client that pulls will ask by itself."""
        if not self.pulls:
            self._later(self.push(uri))

    def closed(self, uri: str) -> None:
        """Let a file be one on the disk again."""
        path = buffers.path_of(uri)
        if path is not None:
            self.session.forget(path)
            if not self.pulls and not (self._folders and self.session.settings.workspace_diagnostics):
                self._send(uri, [])
            self.survey_soon()

    def survey_soon(self) -> None:
        """Check all folders, after the check of them that may be on its way."""
        if not self._folders:
            self._later(self._show({buffer.path for buffer in self._buffers().values()}))
        elif self._surveying is None or self._surveying.done():
            self._surveying = self._later(self._survey())
        else:
            self._survey_again = True

    def change_folders(self, added: Iterable[str], removed: Iterable[str]) -> None:
        """Follow the folders that the client opens and closes; names stay relative to the first of all."""
        paths = [buffers.path_of(uri) for uri in added]
        gone = {buffers.path_of(uri) for uri in removed}
        self._folders += [path for path in paths if path and path not in self._folders]
        self._folders = [path for path in self._folders if path not in gone]
        self.survey_soon()

    async def _survey(self) -> None:
        while True:
            self._survey_again = False
            seen, generation = self._buffers(), self.session.generation
            request = self.session.survey(self._folders, list(seen.values()))
            loop = asyncio.get_running_loop()
            if self._process is None:
                self._process = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
            try:
                outcome: Survey = await loop.run_in_executor(self._process, survey, self.session.start, request)
            except BrokenProcessPool:
                self._process = None
                self._tell("the process that checks all folders died; only open files are checked")
                return
            if outcome.problem is not None:
                self._tell(outcome.problem)
            if not outcome.failed:
                changed = await loop.run_in_executor(self._thread, self.session.accept, outcome, seen, generation)
                await self._show(changed)
            if not self._survey_again and generation == self.session.generation:
                return

    async def _show(self, changed: set[str]) -> None:
        """Let the client see what changed, and the open files that are no longer current."""
        open_now = self._buffers()
        if self.pulls:
            stale = any(not self.session.is_current(buffer) for buffer in open_now.values())
            if (changed or stale) and self._can("workspace", "diagnostics", "refresh_support"):
                await self.lsp.workspace_diagnostic_refresh_async(None)
            return
        for path in changed:
            if path in open_now or self.session.settings.workspace_diagnostics:
                self._publish(path)
        for buffer in open_now.values():
            if not self.session.is_current(buffer):
                await self.push(buffer.uri)

    # --- answers ------------------------------------------------------------------------------------------------

    async def document_diagnostic(
        self, params: lsp.DocumentDiagnosticParams
    ) -> lsp.RelatedFullDocumentDiagnosticReport | lsp.RelatedUnchangedDocumentDiagnosticReport:
        """Answer what is to say about one document."""
        uri = params.text_document.uri
        buffer = await self.fresh(uri)
        items = self._items(buffer.path).get(uri, []) if buffer is not None else []
        result = self._result_id(uri, items)
        if params.previous_result_id == result:
            return lsp.RelatedUnchangedDocumentDiagnosticReport(result_id=result)
        return lsp.RelatedFullDocumentDiagnosticReport(items=items, result_id=result)

    def workspace_diagnostic(self, params: lsp.WorkspaceDiagnosticParams) -> lsp.WorkspaceDiagnosticReport:
        """Answer what is to say about all files, from the last check of all folders."""
        if not self.session.settings.workspace_diagnostics:
            return lsp.WorkspaceDiagnosticReport([])
        previous = {unquote(item.uri): item.value for item in params.previous_result_ids}
        reports: list[lsp.WorkspaceFullDocumentDiagnosticReport | lsp.WorkspaceUnchangedDocumentDiagnosticReport] = []
        for path, known in list(self.session.known.items()):
            for uri, items in self._items(path).items():
                result = self._result_id(uri, items)
                if previous.get(unquote(uri)) == result:
                    reports.append(
                        lsp.WorkspaceUnchangedDocumentDiagnosticReport(uri=uri, result_id=result, version=known.version)
                    )
                else:
                    reports.append(
                        lsp.WorkspaceFullDocumentDiagnosticReport(
                            uri=uri, items=items, result_id=result, version=known.version
                        )
                    )
        return lsp.WorkspaceDiagnosticReport(reports)

    async def code_actions(self, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        """Answer what can be done about the findings in a range."""
        uri = params.text_document.uri
        buffer = await self.fresh(uri)
        if buffer is None:
            return []
        source = self._texts().source(self.session.shown(buffer.path))
        wanted = params.context.only or [lsp.CodeActionKind.QuickFix]
        found: list[lsp.CodeAction] = []
        place = self._placing()
        if _asks(wanted, lsp.CodeActionKind.QuickFix):
            for finding in await self._with_fixes(buffer, self._at(buffer, uri, params.range)):
                found += actions.actions(finding, source, place)
        if params.context.only and _asks(wanted, actions.FIX_ALL) and buffer.path in self.session.known:
            every = await self._with_fixes(buffer, self.session.known[buffer.path].findings)
            action = actions.fix_all(every, place)
            found += [action] if action is not None else []
        return found

    async def _with_fixes(self, buffer: Buffer, findings: list[Finding]) -> list[Finding]:
        """Return findings with their fixes, which are tried out only when they are asked for."""
        others = [other for path, other in self._buffers().items() if path != buffer.path]
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self.session.offer, buffer, others, findings)

    async def hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        """Answer what the findings under the cursor are about, and what order holds at the command there."""
        uri = params.text_document.uri
        buffer = await self.fresh(uri)
        if buffer is None:
            return None
        findings = self._at(buffer, uri, lsp.Range(params.position, params.position))
        order = await self._order_at(buffer, uri, params.position)
        if not findings and order is None:
            return None
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, actions.hover(findings, order)))

    async def _order_at(self, buffer: Buffer, uri: str, position: lsp.Position) -> str | None:
        others = [other for path, other in self._buffers().items() if path != buffer.path]
        for cell, (part, lines) in buffer.parts.items():
            if unquote(part) == unquote(uri):
                row, column = place_of(lines, position, _value(self.lsp.workspace.position_encoding))
                at = Location(self.session.shown(buffer.path), row, column, row, column, cell)
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._thread, self.session.order_at, buffer, others, at)
        return None  # the notebook itself, of which no cell was named

    async def explain(self, code: str) -> None:
        """Open the page of a rule, or say its summary where the client cannot open a document."""
        try:
            rule = rulebook.rule(code)
        except KeyError:
            self._tell(f"no rule has the code {code}")
            return
        if self._can("window", "show_document", "support"):
            page = lsp.ShowDocumentParams(buffers.uri_of(str(rule.page)), take_focus=True)
            answer = await self.lsp.window_show_document_async(page)
            if answer.success:
                return
        text = f"{rule.code} ({rule.name}): {rule.summary} {rule.url}"
        self.lsp.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, text))

    # --- placing ------------------------------------------------------------------------------------------------

    def _buffers(self) -> dict[str, Buffer]:
        return buffers.every(self.lsp.workspace)

    def _texts(self) -> Texts:
        """Return the texts of files as the editor holds them, those of others as they lie on the disk."""
        return Texts({self.session.shown(path): buffer.data for path, buffer in self._buffers().items()})

    def _placing(self) -> Placing:
        """Return what tells where locations lie in the documents that are open now, and in files on the disk."""
        encoding = _value(self.lsp.workspace.position_encoding)
        open_now, texts = self._buffers(), Texts({})

        def place(at: Location) -> lsp.Location:
            path = self.session.absolute(at.filename)
            buffer = open_now.get(path)
            if buffer is not None and at.cell in buffer.parts:
                uri, lines = buffer.parts[at.cell]
                return located(uri, lines, at, encoding)
            if at.cell is not None:  # the cells of a notebook that is not open have no address
                return lsp.Location(buffers.uri_of(path), lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0)))
            source = texts.source(path)
            return located(buffers.uri_of(path), split(source.text) if source else [], at, encoding)

        return place

    def _items(self, path: str) -> dict[str, list[lsp.Diagnostic]]:
        """Return diagnostics by document: the file itself and, of an open notebook, every cell."""
        known = self.session.known.get(path)
        buffer = self._buffers().get(path)
        uris = [uri for uri, _ in buffer.parts.values()] if buffer is not None else [buffers.uri_of(path)]
        items: dict[str, list[lsp.Diagnostic]] = {uri: [] for uri in uris}
        place = self._placing()
        for finding in known.findings if known is not None else ():
            at = place(finding.location)
            shown = diagnostic(finding, place)
            if finding.location.cell is not None and buffer is None:
                shown.message = f"cell {finding.location.cell}, line {finding.location.row}: {shown.message}"
            items.setdefault(at.uri, []).append(shown)
        return items

    def _at(self, buffer: Buffer, uri: str, where: lsp.Range) -> list[Finding]:
        known = self.session.known.get(buffer.path)
        place = self._placing()
        placed = [(finding, place(finding.location)) for finding in (known.findings if known else ())]
        return [finding for finding, at in placed if unquote(at.uri) == unquote(uri) and touches(at.range, where)]

    def _publish(self, path: str) -> None:
        by_uri = self._items(path)
        # What was said under another address (a notebook before its cells were open) is taken back.
        for uri in self._published.get(path, set()) - set(by_uri):
            self._send(uri, [])
        self._published[path] = {uri for uri, items in by_uri.items() if items}
        for uri, items in by_uri.items():
            self._send(uri, items)

    def _send(self, uri: str, items: list[lsp.Diagnostic]) -> None:
        document = self.lsp.workspace.text_documents.get(unquote(uri))
        version = document.version if document is not None else None
        self.lsp.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, items, version))

    def _result_id(self, uri: str, items: list[lsp.Diagnostic]) -> str:
        """Return an id that stays the same while the diagnostics of a document do."""
        known = self._result_ids.get(uri)
        if known is None or known[1] != items:
            self._results += 1
            known = self._result_ids[uri] = (str(self._results), items)
        return known[0]

    def _tell(self, text: str) -> None:
        """Show a line that the user must act on, once."""
        if text not in self._told:
            self._told.add(text)
            self.lsp.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"kexec-lint: {text}"))

    def _later(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logging.getLogger(__name__).error("internal error: %r", error)


def create() -> LanguageServer:
    """Return a server with all its features, ready to start."""
    server = Server()
    feature = server.lsp.feature

    @feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        server.initialize(params)

    @feature(lsp.INITIALIZED)
    async def initialized(params: lsp.InitializedParams) -> None:
        await server.initialized()

    @feature(lsp.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.shutdown()

    @feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    @feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidOpenTextDocumentParams | lsp.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @feature(lsp.NOTEBOOK_DOCUMENT_DID_OPEN)
    @feature(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def notebook_changed(params: lsp.DidOpenNotebookDocumentParams | lsp.DidChangeNotebookDocumentParams) -> None:
        server.changed(params.notebook_document.uri)

    @feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    @feature(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def notebook_closed(params: lsp.DidCloseNotebookDocumentParams) -> None:
        server.closed(params.notebook_document.uri)

    @feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    @feature(lsp.NOTEBOOK_DOCUMENT_DID_SAVE)
    @feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def saved(params: Any) -> None:
        server.session.generation += _settings_among(params)
        server.survey_soon()

    @feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: lsp.DidChangeConfigurationParams) -> None:
        await server.pull_configuration(_plain(params.settings))
        server.survey_soon()

    @feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders(params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        server.change_folders(
            (folder.uri for folder in params.event.added), (folder.uri for folder in params.event.removed)
        )

    @feature(lsp.TEXT_DOCUMENT_DIAGNOSTIC, _DIAGNOSTICS)
    async def document_diagnostic(params: lsp.DocumentDiagnosticParams) -> Any:
        return await server.document_diagnostic(params)

    @feature(lsp.WORKSPACE_DIAGNOSTIC)
    def workspace_diagnostic(params: lsp.WorkspaceDiagnosticParams) -> Any:
        return server.workspace_diagnostic(params)

    @feature(lsp.TEXT_DOCUMENT_CODE_ACTION, _ACTIONS)
    async def code_action(params: lsp.CodeActionParams) -> Any:
        return await server.code_actions(params)

    @feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(params: lsp.HoverParams) -> Any:
        return await server.hover(params)

    @server.lsp.command(actions.EXPLAIN)
    async def explain(code: str) -> None:
        await server.explain(code)

    return server.lsp


def _asks(wanted: Iterable[str], kind: str) -> bool:
    """Return whether an action of a kind is wanted: kinds form a tree by their dots."""
    return any(kind == str(one) or kind.startswith(f"{one}.") for one in map(_value, wanted))


def _value(kind: Any) -> str:
    return str(getattr(kind, "value", kind))


def _settings_among(params: Any) -> bool:
    """Return whether a file of settings is among those that changed."""
    from kexec_lint.engine.settings import NAMES

    uris = [change.uri for change in getattr(params, "changes", ())]
    document = getattr(params, "text_document", None)
    uris += [document.uri] if document is not None else []
    return any(unquote(uri).rsplit("/", 1)[-1] in NAMES for uri in uris)


def _plain(given: Any) -> Any:
    """Return settings as plain objects; pygls hands some over as named tuples or attributes."""
    if hasattr(given, "_asdict"):
        given = given._asdict()
    if isinstance(given, dict):
        return {key: _plain(value) for key, value in given.items()}
    return [_plain(item) for item in given] if isinstance(given, (list, tuple)) else given


def _warm_up() -> None:
    """Import what the first check needs and read the rules' index and pages."""
    import importlib

    from kexec_lint.engine import cache, executors, index

    index.load(cache.folder())
    for module in executors.EXECUTORS.values():
        prepare = getattr(executors.load(module), "prepare", None)
        if prepare is not None:
            prepare()
    for name in ("libcst", "kexec_lint.engine.analysis", "kexec_lint.opencl.report"):
        importlib.import_module(name)
    rulebook.load()
