"""Replays on PoCL: what the rule pages call bad happens there, what they call good does not."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("pyopencl", reason="pip install 'kexec-lint[verify]'")

from kexec_lint import rulebook
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.analysis import Analysis, analyse
from kexec_lint.opencl.report import judged
from kexec_lint.rulebook import Example, Rule
from kexec_lint.source import Options, Source
from kexec_lint.verify.plan import Plan
from kexec_lint.verify.process import Player
from kexec_lint.verify.reduction import Unshowable, reduce
from kexec_lint.verify.replay import plan_of, play, verdict

SUFFIXES = {"python": ".py", "c": ".c", "cpp": ".cpp", "c++": ".cpp"}
DEVICE_SECTION = re.compile(r"^## On a device$", re.M)
FAMILIES = re.compile(r"OCL(1|20[1268]|5)")


class NoProject:
    """A tree of one file."""

    def module(self, name: str, level: int, importer: str) -> Source | None:
        return None

    def read(self, path: str, relative_to: str) -> Source | None:
        return None


def examples(bad: bool) -> list[object]:
    return [
        pytest.param(rule, example, id=f"{code}-{example.row}")
        for code, rule in rulebook.load().items()
        if FAMILIES.match(code)
        for example in rule.examples()
        if example.bad is bad and example.language in SUFFIXES
    ]


def analysed(rule: Rule, example: Example) -> tuple[Source, Options, Analysis]:
    source = Source("example" + SUFFIXES[example.language], example.text, example.text.encode())
    codes = frozenset({rule.code})
    options = Options(codes, assume_out_of_order="assume-out-of-order" in example.options, explicit=codes)
    return source, options, analyse(source, NoProject(), options)


@pytest.mark.parametrize(("rule", "example"), examples(bad=True))
def test_bad_example_is_confirmed(rule: Rule, example: Example, player: Player, pocl: dict[str, Any]) -> None:
    source, options, analysis = analysed(rule, example)
    found = [item for item in judged(analysis.graphs, source, options) if item[0].confidence.rank < 2]
    assert found
    for finding, evidence, graph in found:
        plan = plan_of(graph, evidence.nodes, finding.code, analysis.kernel_texts)
        if isinstance(plan, str):
            assert DEVICE_SECTION.search(rule.body), f"{rule.code}: no plan ({plan}), and the page does not say why"
            continue
        said = verdict("PoCL", play(plan, pocl, player, 15.0), plan)
        if said.verdict != "confirmed":
            assert DEVICE_SECTION.search(rule.body), f"{rule.code}: {said.reason}"


def ordered_pairs(graph: g.EnqueueGraph) -> list[tuple[g.Command, g.Node]]:
    """Return the pairs that conflict and that something orders."""
    pairs = []
    for later in graph.nodes:
        for earlier in graph.commands:
            if earlier.index >= later.index or not graph.reaches(earlier, later, certainly=True):
                continue
            clash = any(
                a.memory.root is b.memory.root and g.overlap(a, b) and (a.writes or b.writes)
                for a in earlier.accesses
                for b in later.accesses
            )
            if clash and not g.exclusive(earlier.guard, later.guard):
                pairs.append((earlier, later))
    return pairs


@pytest.mark.parametrize(("rule", "example"), examples(bad=False))
def test_good_example_stays_unconfirmed(rule: Rule, example: Example, player: Player, pocl: dict[str, Any]) -> None:
    source, options, analysis = analysed(rule, example)
    assert not [item for item in judged(analysis.graphs, source, options) if item[0].confidence.rank < 2]
    for graph in analysis.graphs:
        for earlier, later in ordered_pairs(graph)[:8]:
            try:
                plan = reduce(graph, earlier, later, analysis.kernel_texts)
            except Unshowable:
                continue
            if sum(step.op == "barrier" for step in plan.steps) > 1:
                continue  # PoCL forgets a barrier when another follows (pocl_util.c), so it is no judge of these
            outcome = play(plan, pocl, player, 0.12)
            assert outcome.order != "later-first", f"{graph.name}: {plan.steps[plan.earlier]}, {plan.steps[plan.later]}"


def plan_for(text: str, code: str) -> Plan:
    source = Source("case.py", text, text.encode())
    options = Options(frozenset({code}), explicit=frozenset({code}))
    analysis = analyse(source, NoProject(), options)
    ((finding, evidence, graph),) = judged(analysis.graphs, source, options)
    plan = plan_of(graph, evidence.nodes, finding.code, analysis.kernel_texts)
    assert isinstance(plan, Plan)
    return plan


UNBUILDABLE = '''
import pyopencl as cl
OOO = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
SRC = """
__kernel void one(__global float *x) { x[get_global_id(0)] = missing_function(1.0f); }
__kernel void two(__global const float *x, __global float *y) { y[get_global_id(0)] = x[get_global_id(0)]; }
"""

def run(ctx):
    queue = cl.CommandQueue(ctx, properties=OOO)
    program = cl.Program(ctx, SRC).build()
    x = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4096)
    y = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4096)
    program.one(queue, (64,), None, x)
    program.two(queue, (64,), None, x, y)
    queue.finish()
'''


def test_a_kernel_that_does_not_build_is_replaced_and_the_reason_is_shown(player: Player, pocl: dict[str, Any]) -> None:
    plan = plan_for(UNBUILDABLE, "OCL101")
    said = verdict("PoCL", play(plan, pocl, player, 15.0), plan)
    assert said.verdict == "confirmed"
    assert "missing_function" in said.reason


ENDLESS = UNBUILDABLE.replace("x[get_global_id(0)] = missing_function(1.0f)", "while (x[0] < 1e30f) x[0] += 0.0f")


def test_a_kernel_that_never_ends_costs_one_answer(pocl: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from kexec_lint.verify import replay

    monkeypatch.setattr(replay, "BUILD", 3.0)
    plan = plan_for(ENDLESS, "OCL101")
    with Player() as own:
        said = verdict("PoCL", play(plan, pocl, own, 1.0), plan)
    assert said.verdict in ("confirmed", "inconclusive")
    assert "hangs" in said.reason
