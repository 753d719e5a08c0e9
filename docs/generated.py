"""Writes the pages that say what the code and the rules say: one a rule, the settings, the command line."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import click

from kexec_lint import rulebook
from kexec_lint.cli import COMMANDS, cli
from kexec_lint.engine import settings
from kexec_lint.lsp import settings as lsp_settings
from kexec_lint.rulebook import Rule

FAMILIES = {
    "opencl": "OpenCL: queues, events, kernels",
    "aten": "ATen: PyTorch's operator registration and dispatch",
    "executorch": "ExecuTorch: selective builds and delegates",
    "engine": "The linter itself",
}
_LEXERS = {"opencl": "c", "opset": "yaml", "starlark": "python", "tree": "text"}
"""Languages of examples that no highlighter knows → one that comes near."""


def write(docs: Path) -> None:
    """Write all generated pages; those that did not change keep their time, so that little is built anew."""
    rules = rulebook.load()
    pages = {docs / "rules" / f"{code}.md": rule_page(rule) for code, rule in rules.items()}
    pages[docs / "rules" / "index.md"] = rules_index(list(rules.values()))
    pages[docs / "reference" / "settings.md"] = settings_page()
    pages[docs / "reference" / "commands.md"] = commands_page()
    pages[docs / "reference" / "more.inc"] = further_pages(docs)
    for folder in (docs / "rules", docs / "reference"):
        folder.mkdir(exist_ok=True)
        for old in set(folder.glob("*.md")) - set(pages):
            old.unlink()
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def further_pages(docs: Path) -> str:
    """Return the part of the table of contents for pages that the start page does not place by name."""
    named = set((docs / "index.md").read_text(encoding="utf-8").split())
    more = sorted(page.stem for page in docs.glob("*.md") if page.stem not in named and page.stem != "index")
    return "\n".join(["```{toctree}", ":hidden:", ":caption: More", "", *more, "```", ""]) if more else "\n"


def rule_page(rule: Rule) -> str:
    """Return a rule's page: what its front matter says as a line of facts, then the page itself."""
    state = "on by default" if rule.default else f"off by default: `--extend-select {rule.code}`"
    facts = f"**{rule.severity.value}** · layer `{rule.layer}` · since {rule.since} · {state}"
    title, _, rest = rule.body.partition("\n")
    body = re.sub(r"^```(\w+)[^\n]*$", lambda m: f"```{_LEXERS.get(m[1], m[1])}", rest, flags=re.M)
    references = "".join(f"- {_escaped(reference)}\n" for reference in rule.references)
    return f"{title}\n\n{facts}\n{body.rstrip()}\n\n## References\n\n{references}"


def rules_index(rules: list[Rule]) -> str:
    """Return the list of all rules by executor."""
    lines = [
        "# Rules",
        "",
        "The three letters of a code name the executor. Codes never change their meaning; a rule that goes keeps its",
        f"number. {len(rules)} rules, {sum(rule.default for rule in rules)} of them on by default.",
        "",
        "In the examples a comment `# expect: CODE` stands on each line that is found: the pages are run as tests.",
    ]
    for family, title in FAMILIES.items():
        here = [rule for rule in rules if rule.page.parent.name == family]
        lines += ["", f"## {title}", "", "| code | name | severity | default |", "|---|---|---|---|"]
        for rule in here:
            state = "on" if rule.default else "off"
            lines.append(f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity.value} | {state} |")
        lines += ["", "```{toctree}", ":hidden:", "", *(rule.code for rule in here), "```"]
    return "\n".join(lines) + "\n"


def settings_page() -> str:
    """Return every key of the settings file with its default and type, and every setting of the language server."""
    defaults = settings.Settings()._asdict()
    lines = [
        "# Reference of settings",
        "",
        "Made from the code. [Settings](../configuration.md) explains them.",
        "",
        "## Settings file",
        "",
        f"In {', '.join(f'`{name}`' for name in settings.NAMES)} (there under `[tool.kexec-lint]`); the first of",
        "a folder that holds settings wins.",
        "",
        "| key | is | by default |",
        "|---|---|---|",
    ]
    hints = inspect.get_annotations(settings.Settings)
    for key in settings.KEYS:
        name = key.replace("-", "_")
        lines.append(f"| `{key}` | {_kind(hints[name])} | {_default(defaults[name])} |")
    lines += ["", f"`confidence` is one of {', '.join(f'`{value}`' for value in settings.CONFIDENCES)}."]
    lines += ["", "## Language server", "", f"Under the section `{lsp_settings.SECTION}` of the editor's settings:", ""]
    lines += [f"- `{key}`" for key in lsp_settings.KEYS]
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    """Return the help of every command."""
    lines = ["# Reference of commands", "", "Made from the code.", ""]
    context = click.Context(cli, info_name="kexec-lint", max_content_width=100, terminal_width=100)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None, name
        lines += _help(command, context, name, "##")
    return "\n".join(lines) + "\n"


def _help(command: click.Command, above: click.Context, name: str, mark: str) -> list[str]:
    context = click.Context(command, parent=above, info_name=name, max_content_width=100, terminal_width=100)
    lines = [f"{mark} {context.command_path}", "", "```text", command.get_help(context), "```", ""]
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None:
                lines += _help(found, context, below, f"{mark}#")
    return lines


def _kind(hint: Any) -> str:
    text = str(hint)
    if "tuple[str" in text and "Mapping" not in text:
        return "list of strings"
    return {"bool": "true or false", "str": "string"}.get(text, "table")


def _default(value: Any) -> str:
    if value is None:
        return "the rules that are on by default"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`" if isinstance(value, str) else "empty"


def _escaped(text: str) -> str:
    return re.sub(r"([<>*_`\[\]])", r"\\\1", text) if "`" not in text else text
