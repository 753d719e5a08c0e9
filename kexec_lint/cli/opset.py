"""`kexec-lint opset`: does this ExecuTorch model run on this build?"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from kexec_lint.cli import Failure
from kexec_lint.cli.models import export, is_source, partitioner_option, source_options, with_reasons

if TYPE_CHECKING:
    from kexec_lint.executorch.build import Build
    from kexec_lint.executorch.export.lowering import Lowered
    from kexec_lint.executorch.program import Program
    from kexec_lint.executorch.tables import Release
    from kexec_lint.findings import Finding

FORMATS = ("full", "concise", "json", "sarif", "github", "gitlab", "junit", "rdjson", "markdown")
PROGRAMS = (".pte", ".bpte")


def _listed(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for part in value for name in part.replace(",", " ").split())


def _build_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what a build is."""
    options = [
        click.option("--build", "builds", multiple=True, metavar="PATH", help="What the build registers; repeatable."),
        click.option("--backends", multiple=True, callback=_listed, metavar="NAMES", help="Backends that are linked."),
        click.option("--libs", multiple=True, callback=_listed, metavar="NAMES", help="Kernel libraries linked."),
        click.option("--runtime", type=click.Choice(["wheel"]), help="The installed executorch as the build."),
        click.option("--target-version", metavar="VERSION", help="Release of executorch on the device. [newest]"),
        click.option("--dtype-selective", is_flag=True, help="The build keeps the selected dtypes only."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Compare ExecuTorch programs with what a build registers, without executorch.

    A build is a selected_operators.yaml, functions.yaml, generated .cpp or header, CMake or BUCK file,
    CMakeCache.txt, CMake presets, build folder, linker map, ELF file, ops.lock, model, or a list with one
    operator a line.
    """


@command.command()
@click.argument("models", nargs=-1, metavar="MODEL…")
@source_options
@click.option("--output-format", type=click.Choice(["table", "full", "json"]), default="table", show_default=True)
def show(models: tuple[str, ...], sources: tuple[str, ...], partitioner: str | None, output_format: str) -> None:
    """Show operators, kernel keys, delegates and memory of programs."""
    from kexec_lint.executorch.describe import as_object, as_text

    programs, broken = _programs(_named(models, sources), partitioner)
    if output_format == "json":
        import json

        click.echo(json.dumps({program.path: as_object(program) for program in programs}, indent=2))
    else:
        click.echo("\n".join(as_text(program) for program in programs), nl=False)
    for finding in broken:
        click.echo(f"{finding.code}: {finding.message}", err=True)
    sys.exit(1 if broken else 0)


@command.command()
@click.argument("paths", nargs=-1, metavar="MODEL…")
@source_options
@_build_options
@click.option("--lock", metavar="FILE", help="Judge against an ops.lock instead of a build.")
@click.option("--max-arena", type=int, metavar="BYTES", help="Memory for planned arenas on the board.")
@click.option("--select", multiple=True, callback=_listed, metavar="CODES", help="Only these rules.")
@click.option("--extend-select", multiple=True, callback=_listed, metavar="CODES", help="These rules too.")
@click.option("--ignore", multiple=True, callback=_listed, metavar="CODES", help="Not these rules.")
@click.option("--confidence", type=click.Choice(["certain", "likely", "possible"]), default="likely")
@click.option("--output-format", type=click.Choice(FORMATS), default="full", show_default=True)
@click.option("--output-file", metavar="FILE", help="Write the report here instead of standard output.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when there are findings.")
def check(
    paths: tuple[str, ...],
    sources: tuple[str, ...],
    partitioner: str | None,
    builds: tuple[str, ...],
    backends: tuple[str, ...],
    libs: tuple[str, ...],
    runtime: str | None,
    target_version: str | None,
    dtype_selective: bool,
    lock: str | None,
    max_arena: int | None,
    select: tuple[str, ...],
    extend_select: tuple[str, ...],
    ignore: tuple[str, ...],
    confidence: str,
    output_format: str,
    output_file: str | None,
    exit_zero: bool,
) -> None:
    """Check programs against a build.

    Says what is missing, what is dead weight and what aborts.

    Exit codes: 0 clean, 1 findings, 2 the tool could not do its job: a build that it does not know whole, too.
    """
    from kexec_lint.executorch.compare import compare, unique
    from kexec_lint.executorch.loading import load_external
    from kexec_lint.findings import Finding

    models, extra = _split(_named(paths, sources))
    release = _release(target_version, runtime)
    found, baseline = _builds([*builds, *extra], backends, libs, runtime, release, dtype_selective, lock)
    exported: list[Lowered] = []
    programs, findings = _programs([path for path in models if not path.endswith(".ptd")], partitioner, exported)
    data: frozenset[str] | None = None
    for path in models:
        if path.endswith(".ptd"):
            brought = _readable(load_external, path)
            if isinstance(brought, Finding):
                findings.append(brought)
            else:
                data = (data or frozenset()) | brought
    result = compare(programs, found, found[0].release if found else release, data, max_arena)
    result.broken = [finding.location.filename for finding in findings if finding.code == "EXT301"]
    findings += [entry for program in programs for entry in _against(program, baseline)]
    if exported:
        from kexec_lint.executorch.checks.missing import no_kernel_anywhere

        findings += [entry for lowered in exported for entry in no_kernel_anywhere(lowered.program, release)]
        result.findings = with_reasons(result.findings, exported)
    shown = _chosen(unique([*result.findings, *findings]), select, extend_select, ignore, confidence)
    result.findings = shown
    _report(shown, result.verdict, result.notes, output_format, output_file, len(models))
    unknown = any(not build.complete for build in found)
    sys.exit(0 if exit_zero else 1 if shown else 2 if unknown else 0)


def _against(program: Program, baseline: dict[str, dict[str, Any]]) -> Sequence[Finding]:
    """Compare a program's inputs with those of the model of that name in a lock."""
    from kexec_lint.executorch.checks.programs import inputs

    known = baseline.get(os.path.basename(program.path))
    return list(inputs(program, known["inputs"])) if known else []


def _split(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell models from build files among the arguments: `--build a.yaml b.yaml model.pte` names two of them."""
    models: list[str] = []
    builds: list[str] = []
    for path in paths:
        (models if path.endswith((*PROGRAMS, ".ptd")) or not _is_build(path) else builds).append(path)
    return models, builds


def _is_build(path: str) -> bool:
    return path.endswith((".yaml", ".yml", ".cpp", ".h", ".txt", ".cmake", ".bzl", ".map", ".json", ".lock")) or (
        os.path.basename(path) in ("BUCK", "TARGETS")
    )


def _release(version: str | None, runtime: str | None = None) -> Release:
    """Return the release asked for; without one that of the installed runtime if it is the build, else the newest."""
    from kexec_lint.executorch import tables

    if version is None and runtime is not None:
        from kexec_lint.executorch import wheel

        with suppress(tables.UnknownReleaseError):
            return tables.load(wheel.version() or tables.NEWEST)
    try:
        return tables.load(version or tables.NEWEST)
    except tables.UnknownReleaseError as error:
        raise Failure(str(error)) from None


def _builds(
    paths: Sequence[str],
    backends: tuple[str, ...],
    libs: tuple[str, ...],
    runtime: str | None,
    release: Release,
    dtype_selective: bool = False,
    lock: str | None = None,
) -> tuple[list[Build], dict[str, dict[str, Any]]]:
    """Return the builds of the command line, and the models that a lock names."""
    from kexec_lint.executorch import loading, tables
    from kexec_lint.executorch.build import assemble
    from kexec_lint.executorch.registration import RegistrationError

    given = _given(backends)
    found: list[Build] = []
    models: dict[str, dict[str, Any]] = {}
    try:
        if runtime is not None:
            from kexec_lint.executorch import wheel

            part, note = wheel.read(release)
            build = assemble(part.path, [part], release, libs, given, dtype_selective)
            build.notes += [note] if note else []
            found.append(build)
        if lock is not None:
            from kexec_lint.executorch import lock as locks

            with open(lock, encoding="utf-8") as file:
                part, version, models = locks.read(lock, file.read())
            found.append(assemble(lock, [part], tables.load(version), libs, given, dtype_selective))
        if paths or (libs and not found):
            found += loading.load_builds(paths, release, libs, given, dtype_selective)
    except (RegistrationError, tables.UnknownReleaseError) as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}") from None
    return found, models


def _given(backends: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the backends said to be linked; None where nothing was said, an empty tuple for `--backends none`."""
    named = tuple(name for name in backends if name.lower() != "none")
    return named if backends else None


def _named(models: tuple[str, ...], sources: tuple[str, ...]) -> tuple[str, ...]:
    """Return the models of arguments and `--model` together. There must be one."""
    if not models and not sources:
        raise click.UsageError("name a MODEL")
    return (*models, *sources)


def _programs(
    paths: Sequence[str], partitioner: str | None = None, exported: list[Lowered] | None = None
) -> tuple[list[Program], list[Finding]]:
    """Return the programs that read, and a finding for each that does not; source models are exported."""
    from kexec_lint.executorch.loading import load_program
    from kexec_lint.findings import Finding

    programs: list[Program] = []
    broken: list[Finding] = []
    for path in paths:
        if is_source(path):
            lowered = export(path, partitioner)
            programs.append(lowered.program)
            if exported is not None:
                exported.append(lowered)
            continue
        loaded = _readable(load_program, path)
        if isinstance(loaded, Finding):
            broken.append(loaded)
        else:
            programs.append(loaded)
    return programs, broken


def _readable(load: Callable[[str], Any], path: str) -> Any:
    try:
        return load(path)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror or error}") from None


def _chosen(
    findings: Sequence[Finding],
    select: tuple[str, ...],
    extend: tuple[str, ...],
    ignore: tuple[str, ...],
    confidence: str,
) -> list[Finding]:
    """Return the findings to show: those of the rules that are on and at least as sure as asked for.

    Information is shown when its rule is asked for by name.
    """
    if not findings:
        return []
    from kexec_lint.executorch.pages import rule
    from kexec_lint.findings import Confidence, Severity

    least = Confidence(confidence).rank

    def on(finding: Finding) -> bool:
        code = finding.code
        if any(code.startswith(name) for name in ignore):
            return False
        if any(code.startswith(name) or name == "ALL" for name in (*select, *extend)):
            return True
        return not select and rule(code).default and finding.severity is not Severity.INFO

    return [finding for finding in findings if finding.confidence.rank <= least and on(finding)]


def _report(
    findings: list[Finding], verdict: str, notes: Sequence[str], form: str, file: str | None, count: int
) -> None:
    """Write the report, the verdict as its first line where the format has lines of its own."""
    if form in ("full", "concise", "github") and file is None and not findings:
        click.echo(verdict)
        for note in dict.fromkeys(notes):
            click.echo(f"note: {note}", err=True)
        return
    from kexec_lint.engine.check import Report
    from kexec_lint.report import Context, markdown, render

    report = Report(findings=findings, files=count)
    colour = file is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    context = Context(os.getcwd(), colour)
    if form == "markdown":
        report.notes = list(dict.fromkeys(notes))
        text = markdown.render(report, context, verdict)
    else:
        text = render(form, report, context)
        if form in ("full", "concise", "github"):
            text = f"{verdict}\n" + ("\n" if form == "full" and text else "") + text
        else:
            click.echo(verdict, err=True)
        for note in dict.fromkeys(notes):
            click.echo(f"note: {note}", err=True)
    if file is None:
        click.echo(text, nl=False)
        return
    try:
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from None
    click.echo(verdict, err=True)


@command.command()
@click.argument("models", nargs=-1, metavar="MODEL…")
@source_options
@click.option("--emit", type=click.Choice(["yaml", "root-ops", "ops-dict", "cmake"]), default="yaml", show_default=True)
@click.option("--target-version", metavar="VERSION", help="Release of executorch on the device. [newest]")
def minimal(
    models: tuple[str, ...],
    sources: tuple[str, ...],
    partitioner: str | None,
    emit: str,
    target_version: str | None,
) -> None:
    """Print the smallest registration that is sufficient for programs."""
    from kexec_lint.executorch import minimal as registration

    release = _release(target_version)
    programs = _sound(_named(models, sources), partitioner)
    click.echo(registration.emit(emit, programs, release), nl=False)


def _sound(
    models: Sequence[str], partitioner: str | None = None, exported: list[Lowered] | None = None
) -> list[Program]:
    """Return the programs. A broken one ends the command with exit code 1."""
    programs, broken = _programs(models, partitioner, exported)
    for finding in broken:
        click.echo(f"{finding.code}: {finding.message}", err=True)
    if broken:
        sys.exit(1)
    return programs


@contextmanager
def _as_files(paths: Sequence[str], exported: Sequence[Lowered]) -> Iterator[list[str]]:
    """Yield the paths, those of exported programs as files that exist while the body runs."""
    known = {lowered.program.path: lowered.data for lowered in exported}
    if not known:
        yield list(paths)
        return
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        files = []
        for index, path in enumerate(paths):
            if path in known:
                file = os.path.join(folder, f"model{index}.pte")
                with open(file, "wb") as out:
                    out.write(known[path])
            files.append(file if path in known else path)
        yield files


@command.command()
@click.argument("models", nargs=-1, metavar="[MODEL…]")
@source_options
@_build_options
@click.option("--output", "-o", metavar="FILE", help="Write the lock here instead of standard output.")
def lock(
    models: tuple[str, ...],
    sources: tuple[str, ...],
    partitioner: str | None,
    builds: tuple[str, ...],
    backends: tuple[str, ...],
    libs: tuple[str, ...],
    runtime: str | None,
    target_version: str | None,
    dtype_selective: bool,
    output: str | None,
) -> None:
    """Record what a shipped binary registers, for `opset check --lock`.

    Without a build the models' own operators are recorded, as a build selected from them has.
    """
    from kexec_lint.executorch import lock as locks

    paths, extra = _split((*models, *sources))
    exported: list[Lowered] = []
    programs = _sound(paths, partitioner, exported)
    given = [*builds, *extra]
    if not given and not paths and not runtime and not libs:
        raise click.UsageError("name a build with --build, or models")
    release = _release(target_version, runtime)
    with _as_files(paths if not (given or runtime or libs) else (), exported) as files:
        given = given or ([",".join(files)] if files else [])
        found, _ = _builds(given, backends, libs, runtime, release, dtype_selective)
    if len(found) != 1:
        raise click.UsageError("a lock is of one build: join its files with a comma in one --build")
    text = locks.write(found[0], programs)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with open(output, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise Failure(f"{output}: {error.strerror}") from None


@command.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@partitioner_option
@click.option("--target-version", metavar="VERSION", help="Release of executorch on the device. [newest]")
@click.option("--output-format", type=click.Choice(["full", "json"]), default="full", show_default=True)
def diff(before: str, after: str, partitioner: str | None, target_version: str | None, output_format: str) -> None:
    """Show what changed between two models or builds.

    Exits with 1 if anything did.
    """
    from kexec_lint.executorch.difference import difference, of_build, of_program, text

    release = _release(target_version)
    sides = []
    for path in (before, after):
        if path.endswith(PROGRAMS) or is_source(path):
            sides.append(of_program(_sound([path], partitioner)[0], release))
        else:
            lock = path if path.endswith(".lock") else None
            found, _ = _builds([] if lock else [path], (), (), None, release, lock=lock)
            sides.append(of_build(found[0]))
    changes = difference(sides[0], sides[1])
    if output_format == "json":
        import json

        click.echo(json.dumps(changes, indent=2))
    else:
        click.echo(text(changes), nl=False)
    sys.exit(0 if changes["same"] else 1)


@command.command()
@click.argument("models", nargs=-1, metavar="[MODEL…]")
@source_options
@_build_options
@click.option("--output-format", type=click.Choice(["table", "full", "json"]), default="table", show_default=True)
def size(
    models: tuple[str, ...],
    sources: tuple[str, ...],
    partitioner: str | None,
    builds: tuple[str, ...],
    backends: tuple[str, ...],
    libs: tuple[str, ...],
    runtime: str | None,
    target_version: str | None,
    dtype_selective: bool,
    output_format: str,
) -> None:
    """Show about how many bytes each operator costs.

    And how many of them no program needs.
    """
    from kexec_lint.executorch import size as sizes
    from kexec_lint.executorch.checks.missing import is_primitive

    paths, extra = _split((*models, *sources))
    release = _release(target_version, runtime)
    programs = _sound(paths, partitioner)
    needed = {operator for program in programs for operator in program.operators}
    found, _ = _builds([*builds, *extra], backends, libs, runtime, release, dtype_selective)
    if not found and not programs:
        raise click.UsageError("name models, or a build with --build")
    build = found[0] if found else None
    operators = set(build.registered) if build is not None else needed
    # The core library brings its primitive operators along, whoever needs them; nobody knows what each costs.
    costs = sizes.costs((operator for operator in operators if not is_primitive(operator, release)), release, build)
    unneeded = [cost for cost in costs if programs and cost.operator not in needed]
    if output_format == "json":
        import json

        entries = [{**vars(cost), "needed": cost.operator in needed if programs else None} for cost in costs]
        click.echo(
            json.dumps(
                {
                    "operators": entries,
                    "total_bytes": sizes.total(costs, release),
                    "unneeded_bytes": sizes.total(unneeded, release) if programs else None,
                    "basis": sizes.MEASURED,
                },
                indent=2,
            )
        )
        return
    click.echo(sizes.table(costs, {cost.operator for cost in unneeded}, release), nl=False)
