"""What the engine needs of the rule pages, in a compact index; and which rules a run has on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class UnknownRule(ValueError):
    """A selector that no rule answers to; the text says so and what may have been meant."""

    def __init__(self, selector: str, hint: str) -> None:
        super().__init__(f"no rule answers to {selector!r}; {hint}")
        self.selector = selector


class RuleEntry(NamedTuple):
    """One line of the index. `family` is the folder of the page, that is, the executor."""

    code: str
    name: str
    severity: str
    default: bool
    family: str


class Selection(NamedTuple):
    """One layer of choices (a settings file, the command line): codes, prefixes or ALL.

    `select` None leaves what the layers below chose.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def enabled(rules: Mapping[str, RuleEntry], layers: Sequence[Selection]) -> frozenset[str]:
    """Return the codes that are on. Within a layer the longest selector that fits decides, a tie ignores."""
    chosen = {code for code, rule in rules.items() if rule.default}
    for layer in layers:
        wanted = (*(layer.select or ()), *layer.extend_select)
        before = chosen if layer.select is None else set()
        chosen = {code for code in rules if _decides(_reach(wanted, code), _reach(layer.ignore, code), code in before)}
    return frozenset(chosen)


def named(rules: Iterable[str], layers: Sequence[Selection]) -> frozenset[str]:
    """Return the codes that some layer asks for by code, prefix or ALL."""
    wanted = [selector for layer in layers for selector in (*(layer.select or ()), *layer.extend_select)]
    return frozenset(code for code in rules if _reach(wanted, code) >= 0)


def check_selectors(rules: Mapping[str, RuleEntry], selectors: Iterable[str]) -> None:
    """Raise UnknownRule for the first selector that fits no rule."""
    for selector in selectors:
        if selector.upper() != "ALL" and not any(_reach_one(selector, code) >= 0 for code in rules):
            import difflib

            families = {code[:3] for code in rules}
            close = difflib.get_close_matches(selector.upper(), [*families, *rules, "ALL"], n=1, cutoff=0.5)
            hint = f"did you mean {close[0]}?" if close else "`kexec-lint rule --all` lists them"
            raise UnknownRule(selector, hint)


def _decides(selected: int, ignored: int, before: bool) -> bool:
    return before if selected == ignored == -1 else selected > ignored


def _reach(selectors: Iterable[str], code: str) -> int:
    return max((_reach_one(selector, code) for selector in selectors), default=-1)


def _reach_one(selector: str, code: str) -> int:
    """Return how much of `code` the selector names (0 for ALL), or -1 if it does not fit."""
    if selector.upper() == "ALL":
        return 0
    return len(selector) if selector and code.startswith(selector.upper()) else -1
