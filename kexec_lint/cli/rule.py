"""`kexec-lint rule`: explain rules from their pages."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from kexec_lint import rulebook
from kexec_lint.cli import Failure
from kexec_lint.plugins import PluginError
from kexec_lint.rulebook import Rule


@click.command()
@click.argument("code", required=False)
@click.option("--all", "all_rules", is_flag=True, help="All rules: a list in text, every page in json and markdown.")
@click.option(
    "--output-format", type=click.Choice(("text", "json", "markdown")), default="text", help="How to print. [text]"
)
def command(code: str | None, all_rules: bool, output_format: str) -> None:
    """Explain a rule: what it says, why, bad and good code, how to fix it.

    CODE is a code (OCL101) or a name (missing-wait-edge).
    """
    if (code is None) == (not all_rules):
        raise click.UsageError("give a rule's code, or --all")
    try:
        rules = rulebook.load()
    except (rulebook.RulePageError, PluginError) as error:
        raise Failure(str(error)) from None
    chosen = [_find(rules, code)] if code is not None else list(rules.values())
    if output_format == "json":
        entries = [_entry(rule) for rule in chosen]
        click.echo(json.dumps(entries if all_rules else entries[0], indent=2, ensure_ascii=False))
    elif output_format == "markdown":
        click.echo("\n".join(rule.body for rule in chosen), nl=False)
    elif all_rules:
        _list(chosen)
    else:
        _page(chosen[0])


def _find(rules: dict[str, Rule], wanted: str) -> Rule:
    by_name = {rule.name: rule for rule in rules.values()}
    rule = rules.get(wanted.upper()) or by_name.get(wanted.lower())
    if rule is None:
        import difflib

        close = difflib.get_close_matches(wanted.upper(), rules, n=1) or difflib.get_close_matches(wanted, by_name, n=1)
        hint = f"; did you mean {close[0]}?" if close else "; `kexec-lint rule --all` lists them"
        raise Failure(f"no rule {wanted!r}{hint}")
    return rule


def _entry(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "layer": rule.layer,
        "family": rule.page.parent.name,
        "default": rule.default,
        "since": rule.since,
        "summary": rule.summary,
        "explanation": rule.body,
        "references": list(rule.references),
        "url": rule.url,
    }


def _list(rules: list[Rule]) -> None:
    """Print one line a rule; what is off by default is marked."""
    width = max((len(rule.name) for rule in rules), default=0)
    for rule in rules:
        state = "" if rule.default else "  (off by default)"
        click.echo(f"{rule.code}  {rule.severity.value:<7}  {rule.name:<{width}}{state}".rstrip())


def _page(rule: Rule) -> None:
    """Print a page: laid out on a terminal, as it is written elsewhere."""
    state = "on by default" if rule.default else f"off by default: --extend-select {rule.code}"
    facts = f"{rule.severity.value} · {rule.layer} · since {rule.since} · {state}"
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        console = Console()
        console.print(Markdown(rule.body))
        console.print(f"\n{facts}\n{rule.url}", style="dim", highlight=False)
    else:
        click.echo(f"{rule.body}\n{facts}\n{rule.url}")
