"""Fixed programs on PoCL: with the earlier command held back the later one waits, and the values come out right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyopencl", reason="pip install 'kexec-lint[verify]'")

from test_replay import FAMILIES, NoProject

from kexec_lint import rulebook
from kexec_lint.engine.check import check
from kexec_lint.engine.fixing import fix
from kexec_lint.engine.request import Request
from kexec_lint.engine.rules import Selection
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.analysis import analyse
from kexec_lint.opencl.report import judged
from kexec_lint.rulebook import Example, Rule
from kexec_lint.source import Options, Source
from kexec_lint.verify.process import Player
from kexec_lint.verify.reduction import Unshowable, reduce
from kexec_lint.verify.replay import WHY_NOT, play

SUFFIXES = {"python": ".py", "c": ".c", "cpp": ".cpp"}

Name = tuple[str, str, str, int]
"""What a node is, and how many alike the host came to before it: a fix changes neither."""


def names(graph: g.EnqueueGraph) -> dict[Name, g.Node]:
    """Return the nodes that are no synchronisation by name."""
    seen: Counter[tuple[str, str, str]] = Counter()
    found: dict[Name, g.Node] = {}
    for node in graph.nodes:
        what = (type(node).__name__, str(getattr(node, "kind", "")), str(getattr(node, "what", "")))
        found[(*what, seen[what])] = node
        seen[what] += 1
    return found


def examples() -> list[object]:
    return [
        pytest.param(rule, example, id=f"{code}-{example.row}")
        for code, rule in rulebook.load().items()
        if FAMILIES.match(code) and code not in WHY_NOT
        for example in rule.examples()
        if example.bad and example.language in SUFFIXES
    ]


def fixed(path: Path, rule: Rule, example: Example) -> str | None:
    """Return the example with its fixes, None if it has none."""
    path.write_text(example.text, encoding="utf-8")
    assume = "assume-out-of-order" in example.options
    request = Request((str(path),), Selection((rule.code,)), isolated=True, jobs=1, assume_out_of_order=assume)
    files = fix(check(request), request, True, lambda findings, texts: findings)
    done = [file.after.decode() for file in files if file.fixed and not file.left]
    return done[0] if done else None


@pytest.mark.parametrize(("rule", "example"), examples())
def test_the_fixed_example_waits(
    rule: Rule, example: Example, player: Player, pocl: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / f"example{SUFFIXES[example.language]}"
    text = fixed(path, rule, example)
    if text is None:
        pytest.skip("no fix is offered")
    options = Options(frozenset({rule.code}), explicit=frozenset({rule.code}))
    before = Source(path.name, example.text, example.text.encode())
    after = Source(path.name, text, text.encode())
    graphs = {graph.name: graph for graph in analyse(after, NoProject(), options).graphs}
    shown = 0
    for _, evidence, graph in judged(analyse(before, NoProject(), options).graphs, before, options):
        if len(evidence.nodes) != 2:
            continue
        wanted = {id(node): name for name, node in names(graph).items()}
        changed = names(graphs[graph.name])
        earlier, later = (changed[wanted[id(node)]] for node in evidence.nodes)
        assert isinstance(earlier, g.Command)
        try:
            plan = reduce(graphs[graph.name], earlier, later, [])
        except Unshowable:
            continue
        if sum(step.op == "barrier" for step in plan.steps) > 1:
            continue  # PoCL forgets a barrier when another follows (pocl_util.c), so it is no judge of these
        outcome = play(plan, pocl, player, 0.12)
        assert outcome.order in ("held", "blocked"), (outcome.order, outcome.detail, text)
        assert not outcome.differences, (outcome.differences[0].words, text)
        shown += 1
    if not shown:
        pytest.skip("no device can show the order of the fixed program")
