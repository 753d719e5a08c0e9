"""`kexec-lint boundary`: read trace logs, or run a command and watch what the GPU driver is asked and answers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kexec_lint.cli import Failure

if TYPE_CHECKING:
    from kexec_lint.boundary.live import Outcome
    from kexec_lint.boundary.verdicts import Report

FORMAT: Callable[[Any], Any] = click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the report.",
)
TIMELINE: Callable[[Any], Any] = click.option(
    "--timeline", metavar="FILE", help="Also write a timeline: FILE.html, or FILE.json for Perfetto."
)
EVERYTHING: Callable[[Any], Any] = click.option(
    "--all", "everything", is_flag=True, help="Also print the probes that were set aside, one a line."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """See what a GPU driver was asked and what it answered.

    Each refusal is tied to what the framework said afterwards. Launches by doorbell make no call: a log without
    refusals proves nothing about launches.
    """


@command.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@FORMAT
@TIMELINE
@EVERYTHING
def read(logs: tuple[str, ...], output_format: str, timeline: str | None, everything: bool) -> None:
    """Read strace logs (or perf trace, truss, gVisor) and judge each refusal.

    LOG is a file, the prefix given to `strace -ff -o`, a folder of such files, or `-`. Exit codes: 0 no refusal, 1
    refusals, 2 unreadable.
    """
    from kexec_lint.boundary.events import Printed
    from kexec_lint.boundary.logs import expand, read_lines
    from kexec_lint.boundary.logs import read as read_files
    from kexec_lint.boundary.verdicts import judge

    try:
        if logs == ("-",):
            trace = read_lines((line.decode("utf-8", "replace") for line in sys.stdin.buffer), "-")
        else:
            trace = read_files(expand(logs))
    except FileNotFoundError as missing:
        raise Failure(f"{missing.filename or missing}: no such log") from None
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}") from None
    if all(isinstance(event, Printed) for event in trace.events):
        raise Failure(f"{', '.join(logs)}: no line of a system call trace in it")
    report = judge(trace)
    show(report, output_format, everything, err=False)
    write_timeline(report, timeline)
    unanswered = any(b.message is not None and not b.answered for b in report.blind)
    sys.exit(1 if report.findings or unanswered else 0)


@command.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option("--nvstatus", is_flag=True, help="Read NVIDIA's answer inside each argument struct (needs a C compiler).")
@click.option(
    "--bpf", is_flag=True, help="Trace through eBPF (bpftrace) in place of strace: less overhead, more rights."
)
@click.option("--stack", is_flag=True, help="Record the callers of each call (strace -k; slow).")
@click.option("--no-seccomp-bpf", "seccomp", flag_value=False, default=True, help="Stop at every system call (slow).")
@click.option("--log", metavar="FILE", help="Keep the tracer's log in FILE.")
@click.option("--output", metavar="FILE", help="Write the report to FILE (default: text to stderr, JSON to stdout).")
@FORMAT
@TIMELINE
@EVERYTHING
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def run(
    nvstatus: bool,
    bpf: bool,
    stack: bool,
    seccomp: bool,
    log: str | None,
    output: str | None,
    output_format: str,
    timeline: str | None,
    everything: bool,
    argv: tuple[str, ...],
) -> None:
    """Run COMMAND under a tracer and judge each refusal.

    Its output, exit status and signals pass through; the report follows on stderr. Exit code 2 and one line if
    nothing can be traced.
    """
    from kexec_lint.boundary.live import Unable, end_as
    from kexec_lint.boundary.verdicts import judge

    if timeline is not None and not timeline.lower().endswith((".html", ".htm", ".json")):
        raise Failure(f"{timeline}: a timeline is written as .html or .json")
    try:
        outcome = trace_command(argv, nvstatus, bpf, stack, seccomp, Path(log) if log else None)
    except Unable as why:
        raise Failure(str(why)) from None
    report = judge(outcome.trace)
    if output:
        with open(output, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in rendered(report, output_format, everything))
    else:
        show(report, output_format, everything, err=output_format == "text")
    write_timeline(report, timeline)
    sys.exit(end_as(outcome.returncode))


def trace_command(
    argv: tuple[str, ...], nvstatus: bool, bpf: bool, stack: bool, seccomp: bool, log: Path | None
) -> Outcome:
    """Run a command under the tracer that was asked for; for --nvstatus under none where strace cannot run."""
    import tempfile

    from kexec_lint.boundary.live import Outcome, Unable, find_strace, run_strace
    from kexec_lint.boundary.nvstatus import annotate, with_statuses
    from kexec_lint.boundary.streaming import Announcer

    if bpf:
        from kexec_lint.boundary.bpf import run_bpftrace

        if stack:
            raise Unable("--stack needs strace: leave out --bpf")
        return run_bpftrace(argv, nvstatus, log, lambda text: click.echo(text, err=True))
    announce = Announcer(lambda text: click.echo(text, err=True))
    if not nvstatus:
        return run_strace(argv, seccomp=seccomp, stack=stack, log=log, each=announce.hear)
    from dataclasses import replace

    from kexec_lint.boundary import shim

    with tempfile.TemporaryDirectory(prefix="kexec-nvstatus-") as folder:
        library, record = shim.compile_shim(Path(folder)), Path(folder) / "record"
        try:
            find_strace(seccomp)
        except Unable as why:
            click.echo(f"{why}\nGoing on with the NvStatus shim alone: only NVIDIA's nodes are seen.", err=True)
            return shim.run_alone(argv, library, record)
        preload = shim.environment(library, record)
        outcome = run_strace(argv, seccomp=seccomp, stack=stack, log=log, preload=preload, each=announce.hear)
        events = with_statuses(outcome.trace.events, shim.recorded(record))
        if log is not None:
            annotate(log, events)
    return Outcome(replace(outcome.trace, events=tuple(events)), outcome.returncode)


def rendered(report: Report, output_format: str, everything: bool) -> list[str]:
    """Return the report's lines without colours, or its JSON text."""
    if output_format == "json":
        import json

        from kexec_lint.boundary.records import report_record

        return [json.dumps(report_record(report), indent=2, ensure_ascii=False)]
    from kexec_lint.boundary.text import lines

    return [click.unstyle(line) for line in lines(report, everything)]


def show(report: Report, output_format: str, everything: bool, err: bool) -> None:
    """Print the report."""
    if output_format == "json":
        click.echo(rendered(report, "json", everything)[0], err=err)
        return
    from kexec_lint.boundary.text import lines

    for line in lines(report, everything):
        click.echo(line, err=err)


def write_timeline(report: Report, name: str | None) -> None:
    """Write the timeline if one was asked for."""
    if name is None:
        return
    from kexec_lint.boundary.timeline import render

    try:
        Path(name).write_text(render(report, name), encoding="utf-8")
    except (OSError, ValueError) as error:
        raise Failure(str(error)) from None
