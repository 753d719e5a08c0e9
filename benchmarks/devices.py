"""Which device reorders what: named patterns and every bad example of the OCL1xx and OCL5xx pages, on all devices.

python benchmarks/devices.py --output results.json          # on each machine
python benchmarks/devices.py --table a.json b.json          # the table of docs/devices.md
"""

from __future__ import annotations

import argparse
import datetime
import json
from dataclasses import replace
from typing import Any

from kexec_lint import rulebook
from kexec_lint.opencl.analysis import analyse
from kexec_lint.opencl.report import judged
from kexec_lint.source import Options, Source
from kexec_lint.verify import devices
from kexec_lint.verify.plan import Plan, QueueSpec, Step
from kexec_lint.verify.process import Player, label
from kexec_lint.verify.process import devices as find
from kexec_lint.verify.replay import plan_of, play, verdict

OOO, IN, OTHER = QueueSpec("q", True), QueueSpec("q", False), QueueSpec("r", False)
WORDS = {
    "later-first": "reordered",
    "held": "kept in order",
    "blocked": "kept in order (the call waited)",
    "gate-ignored": "user event not honoured",
    "refused": "could not run",
}


def between(plan: Plan, *steps: Step) -> Plan:
    """Return the plan with steps between its pair; step numbers in wait lists of the last step are kept."""
    first, last = plan.steps
    return replace(plan, steps=(first, *steps, last), later=1 + len(steps))


def patterns() -> list[tuple[str, Plan]]:
    """Return the patterns by name."""
    pair = devices.pair
    return [
        ("in-order queue", pair((IN,))),
        ("out-of-order queue, kernel to kernel", pair((OOO,))),
        ("out-of-order queue, kernel to copy", pair((OOO,), op="copy")),
        ("out-of-order queue, kernel to download", pair((OOO,), op="read")),
        ("out-of-order queue, event in the wait list", pair((OOO,), wait=True)),
        ("out-of-order queue, marker between", between(pair((OOO,)), Step("marker", "the marker", 2, 0))),
        ("out-of-order queue, barrier between", between(pair((OOO,)), Step("barrier", "the barrier", 2, 0))),
        ("two in-order queues", pair((IN, OTHER))),
        ("two in-order queues, kernel to download", pair((IN, OTHER), op="read")),
        ("two in-order queues, event in the wait list", pair((IN, OTHER), wait=True)),
    ]


class _OneFile:
    def module(self, name: str, level: int, importer: str) -> Source | None:
        return None

    def read(self, path: str, relative_to: str) -> Source | None:
        return None


def examples() -> list[tuple[str, Plan]]:
    """Return the plans of the bad examples on the pages of the OCL1xx and OCL5xx rules."""
    found = []
    for code, rule in rulebook.load().items():
        if not code.startswith(("OCL1", "OCL5")):
            continue
        for example in rule.examples():
            if example.language != "python" or not example.bad:
                continue
            source = Source("example.py", example.text, example.text.encode())
            options = Options(frozenset({code}), explicit=frozenset({code}))
            analysis = analyse(source, _OneFile(), options)
            for finding, evidence, graph in judged(analysis.graphs, source, options):
                plan = plan_of(graph, evidence.nodes, code, analysis.kernel_texts)
                if isinstance(plan, Plan):
                    found.append((f"{code}, page line {example.row}, line {finding.location.row}", plan))
    return found


def measure(deadline: float) -> list[dict[str, Any]]:
    """Return what every device of this machine does with every pattern and example."""
    results = []
    with Player() as player:
        for device in find(player):
            ability = devices.examine(device, player)
            shown = {}
            for name, plan in patterns():
                outcome = play(plan, device, player, deadline)
                wrong = outcome.differences[0] if outcome.differences else None
                values = f", {wrong.got} instead of {wrong.expected}" if wrong else ""
                shown[name] = (
                    WORDS[outcome.order] + values + (f": {outcome.detail}" if outcome.order == "refused" else "")
                )
            verdicts = {
                name: verdict("", play(plan, device, player, deadline), plan).verdict for name, plan in examples()
            }
            results.append(
                {
                    "device": label(device),
                    "driver": device["driver"],
                    "version": device["version"],
                    "date": datetime.date.today().isoformat(),
                    "abilities": {k: v for k, v in vars(ability).items() if isinstance(v, bool) or v is None},
                    "patterns": shown,
                    "examples": verdicts,
                }
            )
    return results


def table(files: list[str]) -> str:
    """Return the results of several machines as Markdown."""
    results: list[dict[str, Any]] = []
    for name in files:
        with open(name, encoding="utf-8") as file:
            results += json.load(file)
    heads = [f"{r['device']}" for r in results]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(results)]
    lines.append("| driver | " + " | ".join(r["driver"] for r in results) + " |")
    lines.append("| OpenCL | " + " | ".join(r["version"] for r in results) + " |")
    lines.append("| date | " + " | ".join(r["date"] for r in results) + " |")
    for ability in results[0]["abilities"]:
        answers = [{True: "yes", False: "no", None: "unknown"}[r["abilities"][ability]] for r in results]
        lines.append(f"| {ability.replace('_', ' ')} | {' | '.join(answers)} |")
    for name in results[0]["patterns"]:
        lines.append(f"| {name} | {' | '.join(r['patterns'][name] for r in results)} |")
    for word in ("confirmed", "held-back", "inconclusive"):
        counts = [str(list(r["examples"].values()).count(word)) for r in results]
        lines.append(f"| bad examples of the rule pages: {word} | {' | '.join(counts)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, or make the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="devices.json")
    parser.add_argument("--deadline", type=float, default=1.0)
    parser.add_argument("--table", nargs="+")
    options = parser.parse_args()
    if options.table:
        print(table(options.table), end="")
        return
    results = measure(options.deadline)
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    print(json.dumps([(r["device"], r["patterns"]) for r in results], indent=1))


if __name__ == "__main__":
    main()
