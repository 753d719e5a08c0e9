"""`kexec-lint verify`: take findings to real devices, watch a program run."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict

import click

from kexec_lint.cli import Failure
from kexec_lint.cli.check import _codes, _formats, _write
from kexec_lint.findings import Finding
from kexec_lint.verify import VerifyError

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
@click.option("--deadline", type=click.FloatRange(0.05, 60), default=2.0, metavar="SECONDS", help="[2]")
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
