"""`kexec-lint check`: find files, analyse them, report."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from kexec_lint import __version__
from kexec_lint.cli import ISSUES, Failure, write_file
from kexec_lint.engine import cache, index
from kexec_lint.engine.check import Report, check, files
from kexec_lint.engine.patterns import PatternError
from kexec_lint.engine.request import Profiles, Request
from kexec_lint.engine.rules import Selection, UnknownRule
from kexec_lint.engine.settings import CONFIDENCES, SettingsError
from kexec_lint.report import FORMATS, Context, render
from kexec_lint.report.style import plain

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from kexec_lint.engine.fixing import Keep
    from kexec_lint.engine.pool import Remote

CARRIERS = frozenset({"json", "sarif", "rdjson"})
"""Formats that show what a fix changes."""


def _codes(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(code for part in value for code in part.replace(",", " ").split())


def _shard(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    from kexec_lint.engine import shard

    try:
        return None if value is None else shard.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _formats(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> list[tuple[str, str | None]]:
    outputs: list[tuple[str, str | None]] = []
    for item in value:
        name, colon, file = item.partition(":")
        if name not in FORMATS:
            raise click.BadParameter(f"{name!r} is none of {', '.join(FORMATS)}")
        if colon and not file:
            raise click.BadParameter(f"{item!r} names no file after the colon")
        outputs.append((name, file or None))
    return outputs


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH…|-]")
@click.option("--stdin-filename", metavar="FILE", help="Name under which standard input (-) is checked.")
@click.option("--select", multiple=True, callback=_codes, metavar="CODES", help="Only these rules.")
@click.option("--extend-select", multiple=True, callback=_codes, metavar="CODES", help="These rules too.")
@click.option("--ignore", multiple=True, callback=_codes, metavar="CODES", help="Not these rules.")
@click.option("--confidence", type=click.Choice(CONFIDENCES), help="Show findings at least this sure. [likely]")
@click.option("--assume-out-of-order", is_flag=True, default=None, help="Take unknown queues as out-of-order.")
@click.option(
    "--compile-commands",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    metavar="FILE",
    help="Compilation database of the C and C++ files. [compile_commands.json in the tree]",
)
@click.option(
    "--output-format",
    multiple=True,
    callback=_formats,
    metavar="FORMAT[:FILE]",
    help=f"One of {', '.join(FORMATS)}; repeat as FORMAT:FILE for several. [full]",
)
@click.option("--output-file", metavar="FILE", help="Write the report here instead of standard output.")
@click.option("--fix", "fix", is_flag=True, help="Apply the safe fixes that there are.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: the unsafe ones too.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option("--show-fixes", is_flag=True, help="List what was fixed, or say what a fix would do.")
@click.option("--statistics", is_flag=True, help="Count findings by rule instead of showing them.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when there are findings.")
@click.option("--jobs", "-j", type=click.IntRange(1), metavar="N", help="Worker processes. [one a processor]")
@click.option("--executor", metavar="ADDRESS", help="Let a Dask cluster do the work: dask://HOST:PORT.")
@click.option("--no-cache", is_flag=True, help="Neither read nor store results.")
@click.option("--cache-dir", metavar="DIR", help="Folder of the cache. [KEXEC_LINT_CACHE_DIR or the user's]")
@click.option("--show-files", is_flag=True, help="List the files that would be checked.")
@click.option("--show-settings", is_flag=True, help="Show the settings in force here.")
@click.option("--verbose", "-v", is_flag=True, help="Say on standard error where the time went.")
@click.option("--quiet", "-q", is_flag=True, help="Findings only, no summary.")
@click.option("--config", metavar="FILE", help="Use this settings file for all files.")
@click.option("--isolated", is_flag=True, help="Use no settings file.")
@click.option("--baseline", metavar="FILE", help="Show only findings that this file does not know.")
@click.option("--write-baseline", is_flag=True, help="Write the findings to the baseline file and exit with 0.")
@click.option("--add-ignore", is_flag=True, help="Add a suppression comment to every line found.")
@click.option("--runtime", metavar="MODULE", help="Import this module elsewhere and ask PyTorch's dispatcher too.")
@click.option("--verified", metavar="FILE", help="Show what devices said: a JSON report of kexec-lint verify.")
@click.option("--since", metavar="REV", help="Report only what changed since this git revision, and what that changes.")
@click.option("--shard", callback=_shard, metavar="I/N", help="Check part I of N; `kexec-lint merge` joins them.")
@click.option("--force-exclude", is_flag=True, help="Apply `exclude` to files named on the command line too.")
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    stdin_filename: str | None,
    select: tuple[str, ...],
    extend_select: tuple[str, ...],
    ignore: tuple[str, ...],
    confidence: str | None,
    assume_out_of_order: bool | None,
    compile_commands: str | None,
    output_format: list[tuple[str, str | None]],
    output_file: str | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    show_fixes: bool,
    statistics: bool,
    exit_zero: bool,
    jobs: int | None,
    executor: str | None,
    no_cache: bool,
    cache_dir: str | None,
    show_files: bool,
    show_settings: bool,
    verbose: bool,
    quiet: bool,
    config: str | None,
    isolated: bool,
    baseline: str | None,
    write_baseline: bool,
    add_ignore: bool,
    runtime: str | None,
    verified: str | None,
    since: str | None,
    shard: tuple[int, int] | None,
    force_exclude: bool,
) -> None:
    """Check source files and report findings.

    Exit codes: 0 clean, 1 findings, 2 the tool could not do its job.
    """
    if (fix or diff) and (write_baseline or add_ignore):
        raise click.UsageError("--fix and --diff go together with neither --write-baseline nor --add-ignore")
    if write_baseline and baseline is None:
        raise click.UsageError("--write-baseline needs --baseline FILE: where to write it")
    if config and isolated:
        raise click.UsageError("--config and --isolated exclude each other")
    if sum(file is None for _, file in output_format) > 1:
        raise click.UsageError("only one --output-format can go to standard output; name a file: FORMAT:FILE")
    if write_baseline and (since or shard):
        raise click.UsageError("--write-baseline takes all findings: it goes together with neither --since nor --shard")
    if since and paths == ("-",):
        raise click.UsageError("--since compares files: it does not go together with standard input")
    request = Request(
        paths=paths or (".",),
        selection=Selection(select or None, extend_select, ignore),
        confidence=confidence,
        assume_out_of_order=assume_out_of_order,
        compile_commands=compile_commands,
        config=config,
        isolated=isolated,
        force_exclude=force_exclude,
        jobs=jobs,
        cache_directory=cache.folder(cache_dir),
        cache_results=not no_cache,
        stdin=_stdin(paths, stdin_filename),
        shard=shard,
        since=since,
        extra_facts=_runtime(runtime) if runtime else (),
    )
    try:
        if show_settings:
            for line in _settings(request):
                click.echo(line)
        elif show_files:
            names, notes = files(request)
            for name in names:
                click.echo(name)
            _say(notes)
        else:
            began = time.perf_counter()
            with _progress() as progress, _remote(executor) as remote:
                report = check(request, remote, progress)
            if verbose:
                _say(_timings(report, time.perf_counter() - began))
            _say(report.notes)
            if baseline is not None:
                _apply_baseline(report, baseline, write_baseline, whole=not (since or shard))
            if verified is not None:
                _add_verdicts(report, verified)
            if add_ignore:
                _add_ignores(report)
            if diff:
                would = _diff(report, request, unsafe_fixes, baseline, quiet)
                ctx.exit(_exit_code(report, exit_zero or not would, would))
            if fix:
                _fix(report, request, unsafe_fixes, baseline, show_fixes, quiet)
            elif show_fixes or any(name in CARRIERS for name, _ in output_format):
                from kexec_lint.cli.fixing import attach

                attach(report, request)
            to_error = fix and request.stdin is not None
            _write(report, output_format, output_file, statistics, quiet or write_baseline, to_error)
            ctx.exit(_exit_code(report, exit_zero or write_baseline))
    except (SettingsError, UnknownRule, PatternError, FileNotFoundError) as error:
        raise Failure(str(error)) from None


def _runtime(module: str) -> tuple[tuple[str, dict[str, dict[str, Any]]], ...]:
    """Return what PyTorch's dispatcher knows after a module is imported, as facts of the aten executor."""
    from kexec_lint.aten.runtime import RuntimeFailed, facts

    try:
        return (("aten", facts(module)),)
    except RuntimeFailed as error:
        raise Failure(str(error)) from None


def _stdin(paths: tuple[str, ...], name: str | None) -> tuple[str, bytes] | None:
    """Read standard input if `-` is the path; its name decides which settings and executors apply."""
    if paths != ("-",):
        if "-" in paths:
            raise click.UsageError("- (standard input) cannot be checked together with other paths")
        if name is not None:
            raise click.UsageError("--stdin-filename names standard input: give - as the path")
        return None
    return name or "stdin.py", sys.stdin.buffer.read()


def _settings(request: Request) -> Iterator[str]:
    """Yield the settings in force in the working folder."""
    rules = index.load(request.cache_directory)
    profile = Profiles(request, rules).of(os.getcwd())
    settings = profile.settings
    rows: list[tuple[str, object]] = [
        ("version", __version__),
        ("file", settings.file or "none (built-in settings)"),
        ("rules", " ".join(sorted(profile.codes)) or "none"),
        ("confidence", profile.confidence),
        ("assume-out-of-order", str(profile.assume_out_of_order).lower()),
        ("compile-commands", profile.compile_commands or "compile_commands.json in the tree, if there is one"),
        ("exclude", " ".join(settings.exclude) or "none beyond the built-in folders"),
        ("models", " ".join(settings.models) or "none"),
        ("cache", request.cache_directory or "none"),
    ]
    rows += [(f"per-file-ignores {pattern}", " ".join(codes)) for pattern, codes in settings.per_file_ignores.items()]
    rows += [(f"executor {r.name}", " ".join(sorted(r.needles))) for r in profile.readers]
    for name, value in rows:
        yield f"{name}: {value}"


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """Yield what shows a bar on a terminal once the analysis has taken a second."""
    if not sys.stderr.isatty():
        yield None
        return
    began = time.monotonic()
    bars: list[tuple[Progress, TaskID]] = []
    with ExitStack() as stack:

        def advance(done: int, total: int) -> None:
            if not bars:
                if time.monotonic() - began < 1.0 or done == total:
                    return
                from rich.console import Console
                from rich.progress import Progress

                bar = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
                bars.append((bar, bar.add_task("checking", total=total)))
            bar, task = bars[0]
            bar.update(task, completed=done)

        yield advance


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(plain(line), err=True)


@contextmanager
def _remote(address: str | None) -> Iterator[Remote | None]:
    """Yield the machines that are to do the work."""
    if address is None:
        yield None
        return
    from kexec_lint.engine.cluster import Cluster, ClusterError

    try:
        cluster = Cluster(address)
        try:
            yield cluster
        finally:
            cluster.close()
        if cluster.here:
            _say([f"{address}: {_count(cluster.here, 'file')} analysed here: lost there, or not the same there"])
    except ClusterError as error:
        raise Failure(str(error)) from None


def _timings(report: Report, total: float) -> Iterator[str]:
    for stage, seconds in report.timings.items():
        yield f"{stage}: {seconds * 1000:.0f} ms"
    yield f"total: {total * 1000:.0f} ms"
    yield f"{report.files} files, {report.analysed} analysed, {report.cached} from the cache"
    for seconds, name in sorted(report.slowest, reverse=True)[:5]:
        yield f"slow: {seconds * 1000:.0f} ms {name}"


def _apply_baseline(report: Report, file: str, write: bool, whole: bool) -> None:
    from kexec_lint.engine import baseline

    if write:
        baseline.write(file, report.findings, report.texts)
        click.echo(f"{_count(len(report.findings), 'finding')} written to {file}", err=True)
        report.findings = []
        return
    report.findings, gone = baseline.unknown(file, report.findings, report.texts)
    if gone and whole:
        click.echo(f"{file}: {_count(gone, 'entry', 'entries')} no longer found; --write-baseline drops them", err=True)


def _add_verdicts(report: Report, file: str) -> None:
    from kexec_lint.verify import VerifyError, verdicts

    try:
        report.findings = verdicts.join(report.findings, file)
    except VerifyError as error:
        raise Failure(str(error)) from None


def _add_ignores(report: Report) -> None:
    from kexec_lint.engine import ignores

    left, notes = ignores.add(report.findings)
    added = len(report.findings) - len(left)
    report.findings = left
    _say(notes)
    click.echo(f"{_count(added, 'finding')} silenced by comments; say the reason in each", err=True)


def _keep(baseline: str | None) -> Keep:
    """Return what leaves out the findings of a file that a baseline knows."""
    if baseline is None:
        return lambda findings, texts: findings
    from kexec_lint.engine.baseline import unknown

    return lambda findings, texts: unknown(baseline, findings, texts)[0]


def _diff(report: Report, request: Request, unsafe: bool, baseline: str | None, quiet: bool) -> int:
    from kexec_lint.cli.fixing import diff

    would = diff(report, request, unsafe, _keep(baseline))
    if not quiet:
        click.echo(f"Would fix {_count(would, 'finding')}." if would else "Nothing to fix.", err=True)
    return would


def _fix(report: Report, request: Request, unsafe: bool, baseline: str | None, show: bool, quiet: bool) -> None:
    from kexec_lint.cli import fixing

    files = fixing.apply(report, request, unsafe, _keep(baseline))
    counts = fixing.counts(files)
    if show:
        _say(fixing.summary(files))
    if not quiet and (counts["fixed"] or counts["unsafe"]):
        more = f"; {counts['unsafe']} more with --unsafe-fixes" if counts["unsafe"] and not unsafe else ""
        click.echo(f"Fixed {_count(counts['fixed'], 'finding')}{more}.", err=True)


def _write(
    report: Report,
    formats: list[tuple[str, str | None]],
    output_file: str | None,
    statistics: bool,
    quiet: bool,
    to_error: bool = False,
) -> None:
    """Write every report that was asked for; the terminal gets `full` if none was named for it."""
    start = os.getcwd()
    for name, file in formats:
        if file is not None:
            write_file(file, render(name, report, Context(start)))
    main = next((name for name, file in formats if file is None), "full")
    colour = output_file is None and _colour()
    width = _width() if output_file is None and sys.stdout.isatty() else 0
    if not report.findings and main in ("full", "concise"):
        text = ""
    elif statistics:
        text = _statistics(report, main)
    else:
        text = render(main, report, Context(start, colour, width))
    if main in ("full", "concise") and not quiet:
        text += _summary(report)
    if output_file is not None:
        write_file(output_file, text)
    elif text:
        click.echo(text, nl=False, color=colour, err=to_error)


def _width() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def _colour() -> bool:
    """Colour on a terminal, unless NO_COLOR; elsewhere with FORCE_COLOR (no-color.org, force-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _statistics(report: Report, main: str) -> str:
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if main == "json":
        import json

        return json.dumps([{"code": c, "name": n, "count": count} for (c, n), count in rows], indent=2) + "\n"
    digits = len(str(rows[0][1])) if rows else 1
    return "".join(f"{count:>{digits}}  {code}  {name}\n" for (code, name), count in rows)


def _summary(report: Report) -> str:
    total = len(report.findings)
    files = _count(report.files, "file")
    if not total:
        return f"No findings in {files}.\n" if report.files else "No files to check.\n"
    counts = Counter(finding.severity.value for finding in report.findings)
    parts = [_count(counts[s], s) for s in ("error", "warning") if counts[s]]
    if counts["info"]:
        parts.append(f"{counts['info']} info")
    return f"Found {_count(total, 'finding')} in {files}: {', '.join(parts)}.\n"


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _exit_code(report: Report, exit_zero: bool, count: int | None = None) -> int:
    """Return the exit code for so many findings, those of the report if not told otherwise."""
    if report.errors:
        _say(report.errors)
        click.echo(f"This is a fault of kexec-lint, not of your code. Please report it: {ISSUES}", err=True)
        return 2
    return 0 if exit_zero or not (len(report.findings) if count is None else count) else 1
