"""Loads the rule pages under `rules/`: front matter, prose, and fenced examples that are tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kexec_lint import plugins
from kexec_lint.findings import Severity

PAGES_URL = "https://kexec-lint.readthedocs.io/rules/"


class RulePageError(ValueError):
    """A page that does not hold what every rule page must hold."""


@dataclass(frozen=True)
class Example:
    """A fenced block of a page. `bad` if it stands under a heading that starts with Bad; `row` in the page.

    The info string of the fence after the language is kept in `options` (for instance `assume-out-of-order`).
    """

    language: str
    options: tuple[str, ...]
    text: str
    bad: bool
    row: int


@dataclass(frozen=True)
class Rule:
    """What a page says of a rule."""

    code: str
    name: str
    severity: Severity
    layer: str
    default: bool
    since: str
    needles: tuple[str, ...]
    references: tuple[str, ...]
    summary: str
    body: str
    page: Path

    @property
    def url(self) -> str:
        """Address of the page on the documentation site."""
        return f"{PAGES_URL}{self.code}/"

    def examples(self) -> Iterator[Example]:
        """Yield the fenced examples of the Bad and Good sections."""
        heading = ""
        for match in re.finditer(r"^#{2,3} +([^\n]+)$|^```(\w+)([^\n]*)\n(.*?)^```$", self.body, re.M | re.S):
            if match[1] is not None:
                heading = match[1].strip().lower()
            elif heading.startswith(("bad", "good")):
                row = self.body.count("\n", 0, match.start()) + 1
                yield Example(match[2], tuple(match[3].split()), match[4], heading.startswith("bad"), row)


def rules_directory() -> Path:
    """Return the folder of the pages: inside the wheel, or at the top of a checkout."""
    package = Path(__file__).parent
    inside = package / "_rules"
    return inside if inside.is_dir() else package.parent / "rules"


def pages() -> list[Path]:
    """Return the pages of all rules, those of plug-ins last. Raises PluginError."""
    return [page for folder in (rules_directory(), *plugins.folders()) for page in sorted(folder.rglob("[A-Z]*.md"))]


@cache
def load() -> dict[str, Rule]:
    """Return every rule by code. Raises RulePageError for a page that lacks a field or an example, PluginError."""
    rules: dict[str, Rule] = {}
    for page in pages():
        loaded = read(page)
        rules.setdefault(loaded.code, loaded)  # no plug-in takes a code that there is
    return rules


def rule(code: str) -> Rule:
    """Return one rule, reading its page alone. Raises KeyError if there is none."""
    for folder in (rules_directory(), *plugins.folders()):
        for page in folder.rglob(f"{code}.md"):
            return read(page)
    raise KeyError(code)


def read(page: Path) -> Rule:
    """Read one page. Raises RulePageError with the page and the missing piece."""
    import yaml

    text = page.read_text(encoding="utf-8")
    parts = re.match(r"---\n(.*?)\n---\n(.*)", text, re.S)
    if parts is None:
        raise RulePageError(f"{page}: no front matter between two lines of ---")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        front = yaml.load(parts[1], loader)
        body = parts[2].strip() + "\n"
        loaded = Rule(
            code=front["code"],
            name=front["name"],
            severity=Severity(front["severity"]),
            layer=front["layer"],
            default=front.get("default", True),
            since=str(front["since"]),
            needles=tuple(front.get("needles", ())),
            references=tuple(front["references"]),
            summary=_summary(body),
            body=body,
            page=page,
        )
    except (KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise RulePageError(f"{page}: {type(error).__name__} {error} in the front matter") from error
    if page.stem != loaded.code:
        raise RulePageError(f"{page}: the page of {loaded.code} must be named {loaded.code}.md")
    kinds = {example.bad for example in loaded.examples()}
    if kinds != {True, False}:
        raise RulePageError(f"{page}: needs at least one fenced example under Bad and one under Good")
    return loaded


def _summary(body: str) -> str:
    """Return the first paragraph after the title."""
    paragraphs = [p for p in re.split(r"\n\s*\n", body) if p.strip() and not p.startswith("#")]
    if not paragraphs:
        raise ValueError("the page has no text")
    return " ".join(paragraphs[0].split())
