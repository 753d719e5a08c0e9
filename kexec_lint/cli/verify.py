"""`kexec-lint verify`: take findings to real devices, watch a program run."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from kexec_lint.cli import Failure, write_file
from kexec_lint.cli.check import _codes, _formats, _write
from kexec_lint.engine.check import Report
from kexec_lint.findings import Finding
from kexec_lint.verify import VerifyError

if TYPE_CHECKING:
    from kexec_lint.verify.run import Pair
    from kexec_lint.verify.trace import Trace

FORMATS_HELP = "One of the formats of check; repeat as FORMAT:FILE for several. [full]"


@click.group()
def command() -> None:
    """Prove findings on real OpenCL devices, watch a program run.

    Exit codes: 0 nothing confirmed or found, 1 otherwise, 2 the tool could not do its job.
    """


@command.command("devices")
@click.option("--device", metavar="TEXT", help="Only devices whose platform, name or kind holds this text.")
@click.option("--output-format", type=click.Choice(("full", "json")), default="full", help="[full]")
@click.option("--no-cache", is_flag=True, help="Test again, whatever earlier runs found.")
def show_devices(device: str | None, output_format: str, no_cache: bool) -> None:
    """List OpenCL devices and what each can prove."""
    from kexec_lint.verify import devices, runtimes
    from kexec_lint.verify.process import Player
    from kexec_lint.verify.process import devices as find

    try:
        runtimes.require()
        with Player() as player:
            found = devices.abilities(find(player, device), player, fresh=no_cache)
    except VerifyError as error:
        raise Failure(str(error)) from None
    if output_format == "json":
        click.echo(json.dumps([asdict(ability) for ability in found], indent=2))
        return
    for ability in found:
        click.echo(f"{ability.device}\n  driver {ability.driver}, {ability.version}")
        for words, answer in (
            ("accepts out-of-order queues", ability.accepts_out_of_order),
            ("reorders an out-of-order queue", ability.reorders),
            ("reorders across queues", ability.reorders_across_queues),
            ("honours user events", ability.honours_user_events),
            ("gives profiling times", ability.gives_profiling_times),
        ):
            click.echo(f"  {words + ':':32} {'unknown' if answer is None else 'yes' if answer else 'no'}")
        if ability.problem:
            click.echo(f"  problem: {ability.problem}")
        if ability.accepts_out_of_order and ability.reorders is False:
            click.echo("  a missing event on one queue does no harm here, and does on other devices")


@command.command("replay")
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--device", metavar="TEXT", help="Only devices whose platform, name or kind holds this text.")
@click.option("--select", multiple=True, callback=_codes, metavar="CODES", help="Only these rules.")
@click.option("--confidence", type=click.Choice(("certain", "likely", "possible")), help="[likely]")
@click.option("--assume-out-of-order", is_flag=True, default=None, help="Take unknown queues as out-of-order.")
@click.option("--deadline", type=click.FloatRange(0.05, 60), default=3.0, metavar="SECONDS", help="[3]")
@click.option("--output-format", multiple=True, callback=_formats, metavar="FORMAT[:FILE]", help=FORMATS_HELP)
@click.option("--output-file", metavar="FILE", help="Write the report here instead of standard output.")
@click.option("--quiet", "-q", is_flag=True, help="Findings only, no summary.")
@click.pass_context
def replay_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    device: str | None,
    select: tuple[str, ...],
    confidence: str | None,
    assume_out_of_order: bool | None,
    deadline: float,
    output_format: list[tuple[str, str | None]],
    output_file: str | None,
    quiet: bool,
) -> None:
    """Rebuild the commands of each finding on real devices and say whether they run in the wrong order.

    No line of the checked program runs.
    """
    from kexec_lint.engine import cache
    from kexec_lint.engine.check import check
    from kexec_lint.engine.request import Request
    from kexec_lint.engine.rules import Selection, UnknownRule
    from kexec_lint.engine.settings import SettingsError
    from kexec_lint.verify import replay, runtimes, verdicts
    from kexec_lint.verify.process import Player
    from kexec_lint.verify.process import devices as find

    request = Request(
        paths=paths or (".",),
        selection=Selection(select or None, (), ()),
        confidence=confidence,
        assume_out_of_order=assume_out_of_order,
        cache_directory=cache.folder(),
    )
    try:
        runtimes.require()
        report = check(request)
        report.findings = [f for f in report.findings if f.code.startswith("OCL")]
        with Player() as player:
            devices = find(player, device)
        subjects = list(replay.subjects(report.findings, request, os.getcwd()))
        judged = []
        for number, (finding, said) in enumerate(replay.verify(subjects, devices, deadline), 1):
            judged.append(verdicts.attach(finding, said))
            if sys.stderr.isatty():
                click.echo(f"\rreplayed {number} of {len(subjects)}", nl=number == len(subjects), err=True)
    except (VerifyError, SettingsError, UnknownRule, FileNotFoundError) as error:
        raise Failure(str(error)) from None
    report.findings = judged
    for line in (*report.notes, *report.errors):
        click.echo(line, err=True)
    _write(report, output_format, output_file, False, quiet)
    if not quiet and not any(file is None and name not in ("full", "concise") for name, file in output_format):
        click.echo(summary(judged), err=bool(output_file))
    confirmed = any(v.verdict == verdicts.CONFIRMED for finding in judged for v in verdicts.of(finding))
    ctx.exit(2 if report.errors else 1 if confirmed else 0)


def summary(findings: Sequence[Finding]) -> str:
    """Return one line for each device: how many findings it confirmed, held back, left open."""
    from kexec_lint.verify import verdicts

    counts: dict[str, dict[str, int]] = {}
    for finding in findings:
        for verdict in verdicts.of(finding):
            line = counts.setdefault(verdict.device, {})
            line[verdict.verdict] = line.get(verdict.verdict, 0) + 1
    return "\n".join(
        f"{device}: {', '.join(f'{count} {word}' for word, count in sorted(line.items()))}."
        for device, line in counts.items()
    )


class _Run(click.Command):
    """`--gate` alone means `--gate=each`; what follows it is the program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give `--gate` its value."""
        values = {o for p in self.params if isinstance(p, click.Option) and not p.is_flag for o in p.opts}
        own = 0
        while own < len(args) and args[own].startswith("-") and args[own] not in ("--", "-m"):
            if args[own] == "--gate":
                args[own] = "--gate=each"
            own += 2 if args[own] in values else 1
        if args[own : own + 1] == ["-m"]:
            args.insert(own + 2, "--")  # what follows the module is the program's, as with python -m
        return super().parse_args(ctx, args)


@command.command("run", cls=_Run, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-m", "module", metavar="MODULE", help="Run a module, as python -m does.")
@click.option("--gate", "gates", metavar="[=together]", help="Run again for each unordered pair, one side held.")
@click.option("--force-out-of-order", is_flag=True, help="Make every queue of the program out-of-order.")
@click.option("--serialize", is_flag=True, help="Run again with every command after the one before.")
@click.option("--deadline", type=click.FloatRange(0.05, 60), default=1.0, metavar="SECONDS", help="Of a gate. [1]")
@click.option("--timeline", metavar="FILE", help="Draw what ran: FILE.html, .svg or .json (for Perfetto).")
@click.option("--confidence", type=click.Choice(("certain", "likely", "possible")), default="likely")
@click.option("--output-format", multiple=True, callback=_formats, metavar="FORMAT[:FILE]", help=FORMATS_HELP)
@click.option("--output-file", metavar="FILE", help="Write the report here instead of standard error.")
@click.option("--quiet", "-q", is_flag=True, help="Findings only, no summary.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT [ARGS…] | -- COMMAND [ARGS…]")
@click.pass_context
def run_command(
    ctx: click.Context,
    module: str | None,
    gates: str | None,
    force_out_of_order: bool,
    serialize: bool,
    deadline: float,
    timeline: str | None,
    confidence: str,
    output_format: list[tuple[str, str | None]],
    output_file: str | None,
    quiet: bool,
    words: tuple[str, ...],
) -> None:
    """Run a PyOpenCL program, report every unordered conflict in what it did.

    The program's output and exit code are its own; the report goes to standard error. When the program ends with
    0, the exit code is 1 if there are findings.
    """
    from kexec_lint.verify import experiments, joining, run, verdicts
    from kexec_lint.verify import timeline as drawing
    from kexec_lint.verify.recorder.recorder import Experiment

    if gates not in (None, "each", "together"):
        raise click.BadParameter("--gate takes no value but =together")
    if timeline is not None and not timeline.endswith(drawing.SUFFIXES):
        raise click.BadParameter(f"--timeline {timeline}: one of {', '.join(drawing.SUFFIXES)}")
    try:
        what = run.program(words, module)
        compare = experiments.CONTENTS if serialize else None
        experiment = Experiment(force_out_of_order, profile=timeline is not None, contents=compare)
        seen = run.execute(what, experiment)
        pairs = run.judge(seen.trace, confidence, by_time=bool(gates))
        report = Report([pair.finding for pair in pairs], files=len({p.finding.location.filename for p in pairs}))
        report.notes = [f"verify run: {note}" for note in seen.trace.notes]
        if (gates and pairs) or serialize:
            reference = experiments.ordered(what, seen, experiment, deadline)
            if serialize:
                report.notes.append(experiments.serialize(seen, reference))
            if gates and pairs:
                said = experiments.gate(what, seen, pairs, experiment, reference, deadline, gates == "together")
                pairs, said = experiments.shown(pairs, said, confidence)
                report.findings = [
                    verdicts.attach(pair.finding, [verdict]) for pair, verdict in zip(pairs, said, strict=True)
                ]
        if not gates:
            report.findings = [verdicts.attach(p.finding, [joining.unordered(p, seen.trace)]) for p in pairs]
        others = _others(pairs, seen.trace) if any(name in ("json", "sarif") for name, _ in output_format) else []
        if timeline is not None:
            drawing.write(timeline, seen.trace, pairs)
    except VerifyError as error:
        raise Failure(str(error)) from None
    for line in report.notes:
        click.echo(line, err=True)
    _write_run(report, others, output_format, output_file, quiet, len(seen.trace.commands))
    ctx.exit(seen.code if seen.code > 0 else 128 - seen.code if seen.code else 1 if report.findings else 0)


def _others(pairs: Sequence[Pair], trace: Trace) -> list[Finding]:
    """Return what `check` finds in the files that ran and the run did not, with what the run says to it."""
    from kexec_lint.verify import joining

    return joining.join(joining.static_findings(joining.executed_files(trace)), pairs, trace)


def _write_run(
    report: Report,
    others: list[Finding],
    formats: list[tuple[str, str | None]],
    file: str | None,
    quiet: bool,
    commands: int,
) -> None:
    """Write the report of a run: on standard error, so that the program's output stays its own.

    `others` are findings of `check` that this run did not confirm: only JSON and SARIF tell of them.
    """
    from kexec_lint.report import Context, render

    start = os.getcwd()
    everything = Report(sorted([*report.findings, *others], key=lambda f: f.sort_key), files=report.files)

    def rendered(name: str) -> str:
        return render(name, everything if name in ("json", "sarif") else report, Context(start))

    for name, target in formats:
        if target is not None:
            write_file(target, rendered(name))
    main = next((name for name, target in formats if target is None), "full")
    text = rendered(main) if report.findings or main not in ("full", "concise") else ""
    if file is not None:
        write_file(file, text)
    elif text and not (formats and all(target is not None for _, target in formats)):
        click.echo(text, nl=False, err=True)
    if not quiet:
        count = len(report.findings)
        click.echo(
            f"verify run: {commands} command{'s' if commands != 1 else ''}, {count} finding"
            f"{'s' if count != 1 else ''}.",
            err=True,
        )
