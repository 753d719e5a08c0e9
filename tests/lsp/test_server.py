"""End to end: a real server, spoken to over its pipes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from editing import KERNEL, ORDERED, RACE, codes, opened, typed, until
from lsprotocol import types as lsp

pytestmark = pytest.mark.asyncio


async def test_says_what_is_wrong_and_falls_silent_when_it_is_put_right(talk, folder: Path):
    async with talk() as client:
        uri = opened(client, folder / "app.py", RACE)
        (race,) = await until(client, uri, len)
        assert (race.code, race.source, race.severity) == ("OCL101", "kexec-lint", lsp.DiagnosticSeverity.Error)
        assert race.range.start == lsp.Position(KERNEL, 6)
        assert race.code_description.href.endswith("/OCL101/")
        assert "help: " in race.message
        assert KERNEL - 1 in [item.location.range.start.line for item in race.related_information]
        assert all(item.location.uri == uri for item in race.related_information)
        typed(client, uri, ORDERED, 2)
        assert codes(await until(client, uri, lambda found: not found)) == []
        assert client.messages == []


async def test_the_last_good_findings_follow_their_lines_while_the_text_does_not_parse(talk, folder: Path):
    async with talk() as client:
        uri = opened(client, folder / "app.py", RACE)
        await until(client, uri, len)
        typed(client, uri, "def half(:\n\n" + RACE, 2)
        (race,) = await until(client, uri, lambda found: found and found[0].range.start.line == KERNEL + 2)
        assert race.code == "OCL101"
        typed(client, uri, ORDERED, 3)
        await until(client, uri, lambda found: not found)


async def test_every_file_of_the_folder_is_checked_and_unsaved_text_counts(talk, folder: Path):
    (folder / "kernels.py").write_text('SOURCE = """__kernel void f(__global float *x) { x[0] = 1; }"""\n')
    (folder / "closed.py").write_text(RACE)
    async with talk() as client:
        closed = (folder / "closed.py").as_uri()
        assert codes(await until(client, closed, len)) == ["OCL101"]
        opened(client, folder / "closed.py", ORDERED)
        await until(client, closed, lambda found: not found)


async def test_what_two_files_say_together_follows_the_text_at_once_and_other_files_when_it_is_saved(
    talk, folder: Path
):
    ops = 'import torch\nlib = torch.library.Library("shop", "DEF")\nlib.define("{}(Tensor x) -> Tensor")\n'
    kernel = 'import torch\n\n@torch.library.impl("shop::f", "CPU")\ndef f(x):\n    return x.clone()\n'
    (folder / "kernel.py").write_text(kernel)
    async with talk() as client:
        uri = opened(client, folder / "ops.py", ops.format("f"))
        await until(client, uri, lambda found: not found)
        typed(client, uri, ops.format("g"), 2)
        assert codes(await until(client, uri, len)) == ["ATN101"]
        typed(client, uri, ops.format("f"), 3)
        await until(client, uri, lambda found: not found)
        other = opened(client, folder / "kernel.py", "import torch\n")
        client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(other)))
        assert codes(await until(client, uri, len)) == ["ATN101"]


@pytest.mark.parametrize(
    ("encoding", "column"),
    [(lsp.PositionEncodingKind.Utf8, 17), (lsp.PositionEncodingKind.Utf16, 14), (None, 14)],
)
async def test_columns_are_counted_in_the_units_agreed_on(talk, folder: Path, encoding, column):
    odd = RACE.replace("run = program", "s='é😀';run = program")
    async with talk(encodings=(encoding,) if encoding else None) as client:
        uri = opened(client, folder / "app.py", odd)
        (race,) = await until(client, uri, len)
        assert race.range.start == lsp.Position(KERNEL, column)


async def test_a_client_that_pulls_is_answered_and_told_when_to_ask_again(talk, folder: Path):
    (folder / "closed.py").write_text(RACE)
    async with talk(pulls=True) as client:
        uri = opened(client, folder / "app.py", RACE)
        document = lsp.TextDocumentIdentifier(uri)
        first = await client.text_document_diagnostic_async(lsp.DocumentDiagnosticParams(document))
        assert codes(first.items) == ["OCL101"]
        again = await client.text_document_diagnostic_async(
            lsp.DocumentDiagnosticParams(document, previous_result_id=first.result_id)
        )
        assert (again.kind, again.result_id) == ("unchanged", first.result_id)
        typed(client, uri, ORDERED, 2)
        after = await client.text_document_diagnostic_async(lsp.DocumentDiagnosticParams(document))
        assert (after.kind, codes(after.items)) == ("full", [])
        while not client.diagnostic_refresh_count:
            await asyncio.sleep(0.01)
        report = await client.workspace_diagnostic_async(lsp.WorkspaceDiagnosticParams([]))
        by_file = {Path(item.uri).name: codes(item.items) for item in report.items}
        assert by_file["closed.py"] == ["OCL101"]
        assert client.diagnostics == {}


async def test_a_comment_silences_and_its_rule_is_explained(talk, folder: Path):
    async with talk() as client:
        uri = opened(client, folder / "app.py", RACE)
        (race,) = await until(client, uri, len)
        params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), race.range, lsp.CodeActionContext([race]))
        offered = {action.title: action for action in await client.text_document_code_action_async(params)}
        fix = next(action for title, action in offered.items() if action.edit and "suppress" not in title)
        assert fix.diagnostics[0].code == "OCL101"
        (edit,) = fix.edit.changes[uri]
        assert edit.range.start.line == KERNEL
        assert "up" in edit.new_text
        suppress = next(action for title, action in offered.items() if "suppress" in title)
        (edit,) = suppress.edit.changes[uri]
        lines = RACE.split("\n")
        lines[edit.range.start.line] = edit.new_text
        assert lines[KERNEL].endswith("  # kexec: ignore[OCL101] TODO: say why")
        typed(client, uri, "\n".join(lines), 2)
        await until(client, uri, lambda found: not found)
        assert any("explain" in title for title in offered)
        # pytest-lsp takes an action that holds a command for a bare command and garbles its arguments.
        await client.workspace_execute_command_async(lsp.ExecuteCommandParams("kexec-lint.explain", ["OCL101"]))
        assert client.shown_documents[-1].uri.endswith("/opencl/OCL101.md")


async def test_hover_tells_the_finding_and_its_page(talk, folder: Path):
    async with talk() as client:
        uri = opened(client, folder / "app.py", RACE)
        await until(client, uri, len)
        document = lsp.TextDocumentIdentifier(uri)
        told = await client.text_document_hover_async(lsp.HoverParams(document, lsp.Position(KERNEL, 10)))
        assert told.contents.kind == lsp.MarkupKind.Markdown
        assert "missing-wait-edge" in told.contents.value
        assert "## How to fix" in told.contents.value
        assert await client.text_document_hover_async(lsp.HoverParams(document, lsp.Position(0, 0))) is None


async def test_hover_tells_the_order_that_holds_at_a_command(talk, folder: Path):
    fetch = "down = cl.enqueue_copy(queue, host, y, is_blocking=False, wait_for=[run])\nqueue.finish()"
    async with talk() as client:
        uri = opened(client, folder / "app.py", RACE.replace("queue.finish()", fetch))
        await until(client, uri, len)
        document = lsp.TextDocumentIdentifier(uri)
        told = await client.text_document_hover_async(lsp.HoverParams(document, lsp.Position(KERNEL, 10)))
        assert "**Order** of kernel square (line 16) on out-of-order queue `queue`" in told.contents.value
        assert "- **not** after the upload (line 15), though both use `x`" in told.contents.value
        told = await client.text_document_hover_async(lsp.HoverParams(document, lsp.Position(KERNEL + 1, 20)))
        assert "- after kernel square (line 16): its event is in the wait list" in told.contents.value
        assert "missing-wait-edge" not in told.contents.value


async def test_settings_of_the_editor_and_of_the_project_take_hold_at_once(talk, folder: Path):
    async with talk(settings={"ignore": ["OCL101"]}) as client:
        uri = opened(client, folder / "app.py", RACE)
        assert codes(await until(client, uri, lambda found: True)) == []
        client.set_configuration({"kexec-lint": {}})
        client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams({}))
        await until(client, uri, len)
        settings = folder / "kexec-lint.toml"
        settings.write_text('ignore = ["OCL101"]\n')
        change = lsp.FileEvent(settings.as_uri(), lsp.FileChangeType.Created)
        client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([change]))
        await until(client, uri, lambda found: not found)
        settings.write_text("ignroe = []\n")
        client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([change]))
        while not client.messages:
            await asyncio.sleep(0.01)
        assert "kexec-lint.toml:1: unknown key 'ignroe'; did you mean 'ignore'?" in client.messages[0].message
        assert lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES in client.registered


async def test_a_wrong_setting_is_one_line(talk, folder: Path):
    async with talk(settings={"confidence": "sure"}) as client:
        uri = opened(client, folder / "app.py", RACE)
        await until(client, uri, len)
        (message,) = client.messages
        assert message.message == "kexec-lint: kexec-lint.confidence must be one of certain, likely, possible"


async def test_the_cells_of_a_notebook_are_one_program(talk, folder: Path):
    head, tail = RACE.split("host = ")
    cells = [
        ("c1", lsp.NotebookCellKind.Code, head),
        ("c2", lsp.NotebookCellKind.Markup, "# Ünder"),
        ("c3", lsp.NotebookCellKind.Code, "host = " + tail),
    ]
    uri = (folder / "a.ipynb").as_uri()
    async with talk() as client:
        client.notebook_document_did_open(
            lsp.DidOpenNotebookDocumentParams(
                lsp.NotebookDocument(
                    uri,
                    "jupyter-notebook",
                    1,
                    [lsp.NotebookCell(kind, f"{uri}#{name}") for name, kind, _ in cells],
                ),
                [
                    lsp.TextDocumentItem(
                        f"{uri}#{name}", "python" if kind == lsp.NotebookCellKind.Code else "markdown", 1, text
                    )
                    for name, kind, text in cells
                ],
            )
        )
        (race,) = await until(client, f"{uri}#c3", len)
        assert (race.code, race.range.start.line) == ("OCL101", 4)
        assert any(item.location.uri == f"{uri}#c1" for item in race.related_information)
        document = lsp.TextDocumentIdentifier(f"{uri}#c3")
        offered = await client.text_document_code_action_async(
            lsp.CodeActionParams(document, race.range, lsp.CodeActionContext([race]))
        )
        (edit,) = next(a for a in offered if "suppress" in a.title).edit.changes[f"{uri}#c3"]
        assert edit.range.start.line == 4
        change = lsp.NotebookDocumentCellChanges(
            text_content=[
                lsp.NotebookDocumentCellContentChanges(
                    lsp.VersionedTextDocumentIdentifier(2, f"{uri}#c3"),
                    [lsp.TextDocumentContentChangeWholeDocument("host = " + ORDERED.split("host = ")[1])],
                )
            ]
        )
        client.notebook_document_did_change(
            lsp.DidChangeNotebookDocumentParams(
                lsp.VersionedNotebookDocumentIdentifier(2, uri), lsp.NotebookDocumentChangeEvent(cells=change)
            )
        )
        await until(client, f"{uri}#c3", lambda found: not found)


async def test_an_excluded_file_stays_silent_and_a_declared_encoding_is_that_of_the_disk(talk, folder: Path):
    (folder / "kexec-lint.toml").write_text('exclude = ["vendored/"]\n')
    (folder / "vendored").mkdir()
    async with talk() as client:
        left_out = opened(client, folder / "vendored" / "app.py", RACE)
        latin = opened(client, folder / "app.py", "# -*- coding: latin-1 -*- é\n" + RACE)
        assert (await until(client, latin, len))[0].range.start == lsp.Position(KERNEL + 1, 6)
        assert codes(await until(client, left_out, lambda found: True)) == []


async def test_a_folder_opened_through_a_link_has_one_name_for_a_file(talk, folder: Path, tmp_path: Path):
    (folder / "closed.py").write_text(RACE)
    link = tmp_path / "link"
    link.symlink_to(folder)
    async with talk(root=link) as client:
        uri = opened(client, link / "closed.py", ORDERED)
        assert codes(await until(client, uri, lambda found: True)) == []
        other = opened(client, link / "app.py", RACE)
        await until(client, other, len)
        client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        typed(client, other, ORDERED, 2)
        await until(client, other, lambda found: not found)
        assert {uri: codes(found) for uri, found in client.diagnostics.items() if found} == {}
