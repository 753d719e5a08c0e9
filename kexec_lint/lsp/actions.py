"""What an editor offers at a finding: its fix, a comment that silences it, its page; and the text of its hover."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lsprotocol import types as lsp

from kexec_lint import rulebook
from kexec_lint.engine import ignores
from kexec_lint.engine.rewriting import apart
from kexec_lint.findings import Edit, Finding
from kexec_lint.lsp.diagnostics import Placing, diagnostic
from kexec_lint.source import Source

EXPLAIN = "kexec-lint.explain"
"""The server's command that opens a rule's page; its argument is the code."""
FIX_ALL = "source.fixAll.kexec-lint"
REASON = "TODO: say why"
"""What the suppression action writes for its user to write over."""


def actions(finding: Finding, source: Source | None, place: Placing) -> Iterable[lsp.CodeAction]:
    """Yield what can be done about a finding in the open file `source`."""
    told = [diagnostic(finding, place)]
    fix = finding.fix
    if fix is not None and fix.applicability != "display":
        unsafe = "" if fix.applicability == "safe" else " (unsafe: look at it)"
        yield lsp.CodeAction(
            title=f"{finding.code}: {fix.message}{unsafe}",
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=told,
            is_preferred=fix.applicability == "safe" or None,
            edit=workspace_edit(fix.edits, place),
        )
    comment = ignores.edit(source, finding, REASON) if source is not None else None
    if comment is not None:
        yield lsp.CodeAction(
            title=f"{finding.code}: suppress here, with a reason",
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=told,
            edit=workspace_edit((comment,), place),
        )
    yield lsp.CodeAction(
        title=f"{finding.code}: explain {finding.name}",
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=told,
        command=lsp.Command("Explain", EXPLAIN, arguments=[finding.code]),
    )


def fix_all(findings: Sequence[Finding], place: Placing) -> lsp.CodeAction | None:
    """Return the action that applies all safe fixes; of two that touch, the first in the file is taken."""
    safe = [finding for finding in findings if finding.fix is not None and finding.fix.applicability == "safe"]
    edits = [edit for finding in apart(safe) if finding.fix is not None for edit in finding.fix.edits]
    if not edits:
        return None
    return lsp.CodeAction("kexec-lint: apply all safe fixes", kind=FIX_ALL, edit=workspace_edit(edits, place))


def workspace_edit(edits: Iterable[Edit], place: Placing) -> lsp.WorkspaceEdit:
    """Return edits as the protocol's, by document."""
    changes: dict[str, list[lsp.TextEdit]] = {}
    for edit in edits:
        at = place(edit.location)
        changes.setdefault(at.uri, []).append(lsp.TextEdit(at.range, edit.content))
    return lsp.WorkspaceEdit(changes=changes)


def hover(findings: Sequence[Finding], order: str | None) -> str:
    """Return Markdown about a place: each finding with what to do, the order there, the page of each rule once."""
    pages = rulebook.load()
    parts = []
    for finding in findings:
        certainty = f"{finding.severity.value} · {finding.confidence.value}"
        parts.append(f"**{finding.code}** {finding.name} · {certainty}\n\n{finding.message}")
        if finding.help:
            parts.append(f"*{finding.help}*")
    if order is not None:
        parts.append(order)
    for code in dict.fromkeys(finding.code for finding in findings):
        if code in pages:
            parts.append(f"---\n\n{pages[code].body.strip()}\n\n[{code} on the web]({pages[code].url})")
    return "\n\n".join(parts)
