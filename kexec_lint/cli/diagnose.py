"""`kexec-lint diagnose`: name the layer of a failure from a log, from a command's output, or from a bare code."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kexec_lint.cli import Failure

if TYPE_CHECKING:
    from kexec_lint.diagnose import Diagnosis, Ending, Knowledge
    from kexec_lint.findings import Finding

_CODE = re.compile(r"-\d{1,10}")


class _Dashes(click.Command):
    """Keeps what stands after `--` apart, and takes -54 for the code that it is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the words after `--` in `ctx.obj` (None if there is no `--`) and parse the rest."""
        ctx.obj = None
        if "--" in args:
            at = args.index("--")
            args, ctx.obj = args[:at], args[at + 1 :]
        codes = [arg for arg in args if _CODE.fullmatch(arg)]
        if codes:
            args = [arg for arg in args if arg not in codes] + ["--", *codes]
        return super().parse_args(ctx, args)


@click.command(
    cls=_Dashes,
    epilog="Exit codes: 0 the input was diagnosed, or nothing in it failed; 2 the tool could not do its job. "
    "With -- COMMAND, the command's own exit code (128 + n if signal n ended it). With --exit-code, 1 if "
    "anything was found wrong.",
)
@click.argument("what", required=False, metavar="[FILE|-|CODE|MESSAGE | -- COMMAND… | -- CODE]")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="[text]")
@click.option("--output-file", metavar="FILE", help="Write the report here instead of standard output.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="PATH",
    help="Also look for static findings here, not only in files the log names.",
)
@click.option("--no-static", is_flag=True, help="Do not look for static findings.")
@click.option("--knowledge", "knowledge_files", multiple=True, metavar="FILE", help="Further knowledge file (YAML).")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything was found wrong.")
@click.option("--config", metavar="FILE", help="Use this settings file.")
@click.option("--isolated", is_flag=True, help="Use no settings file.")
@click.pass_context
def command(
    ctx: click.Context,
    what: str | None,
    output_format: str,
    output_file: str | None,
    sources: tuple[str, ...],
    no_static: bool,
    knowledge_files: tuple[str, ...],
    exit_code: bool,
    config: str | None,
    isolated: bool,
) -> None:
    """Name the executor and layer behind an error, its root cause, and what to do next.

    Takes a log FILE (or - for standard input), a status code or its name (-54, 0x14, CL_INVALID_WORK_GROUP_SIZE),
    a message, or runs COMMAND and diagnoses what it printed and how it ended.
    """
    from kexec_lint.diagnose import lookup

    words: list[str] | None = ctx.obj
    if what is None and not words:
        raise click.UsageError("give a FILE, - for standard input, a code, or -- COMMAND")
    if what is not None and words is not None:
        raise click.UsageError("give either a FILE or, after --, a command")
    knowledge = _knowledge(knowledge_files, config, isolated)
    code = 0
    ending = None
    if words is not None and not (len(words) == 1 and _is_code(knowledge, words[0])):
        text, ending, code = _run(words, json=output_format == "json" and output_file is None)
        found = _diagnose(text, knowledge, ending, shlex.join(words), sources, no_static)
    else:
        word = words[0] if words else str(what)
        found = lookup.lookup(knowledge, word) if _bare(word) else []
        if not found:
            found = _diagnose(_read(word, from_dashes=words is not None), knowledge, None, None, sources, no_static)
    _report(found, knowledge, output_format, output_file, ending)
    if code == 0 and exit_code and any(d.layer != "noise" for d in found):
        code = 1
    ctx.exit(code)


def _bare(word: str) -> bool:
    """Return whether a word can be a code or a name rather than a file or a message."""
    return re.fullmatch(r"[\w:.\-]{1,80}", word) is not None and word != "-" and not os.path.exists(word)


def _is_code(knowledge: Knowledge, word: str) -> bool:
    from kexec_lint.diagnose import lookup

    if lookup.is_number(word):
        return True
    return _bare(word) and shutil.which(word) is None and bool(lookup.lookup(knowledge, word))


def _knowledge(files: Sequence[str], config: str | None, isolated: bool) -> Knowledge:
    from kexec_lint import diagnose
    from kexec_lint.engine import cache
    from kexec_lint.engine.settings import Finder, SettingsError

    try:
        settings = Finder(config, isolated).of(os.getcwd())
    except SettingsError as error:
        raise Failure(str(error)) from None
    configured = [Path(settings.base, name) for name in settings.diagnose.get("knowledge", ())]
    try:
        return diagnose.load([*(Path(name) for name in files), *configured], cache.directory())
    except diagnose.KnowledgeError as error:
        raise Failure(str(error)) from None


def _read(word: str, *, from_dashes: bool) -> str:
    """Return the text of a file, of standard input, or the word itself if it is a message."""
    from kexec_lint.diagnose.clean import decode

    if word == "-":
        return decode(sys.stdin.buffer.read())
    try:
        return decode(Path(word).read_bytes())
    except IsADirectoryError:
        raise Failure(f"{word}: is a folder; give the log file") from None
    except (OSError, ValueError) as error:
        if any(char.isspace() for char in word) or len(word) > 200:
            return word
        if from_dashes or not isinstance(error, FileNotFoundError):
            raise Failure(f"{word}: {getattr(error, 'strerror', None) or error}") from None
        raise Failure(f"{word}: no such file, and no code or name that is known") from None


def _run(words: list[str], *, json: bool) -> tuple[str, Ending, int]:
    """Run the command; return what it printed, how it ended, and the exit code to hand on."""
    from kexec_lint.diagnose import command as runner
    from kexec_lint.diagnose.clean import decode
    from kexec_lint.diagnose.endings import ending

    sys.stdout.flush()
    try:
        said, returncode = runner.run(words, output_to_stderr=json)
    except OSError as error:
        click.echo(f"kexec-lint: {words[0]}: {(error.strerror or str(error)).lower()}", err=True)
        raise SystemExit(127 if isinstance(error, FileNotFoundError) else 126) from None
    end = ending(returncode)
    return decode(said), end, end.status


def _diagnose(
    text: str,
    knowledge: Knowledge,
    ending: Ending | None,
    command_line: str | None,
    sources: Sequence[str],
    no_static: bool,
) -> list[Diagnosis]:
    from kexec_lint.diagnose import clean, diagnose, join, steps

    found = diagnose(text, knowledge, ending=ending, command=command_line)
    if not found or no_static:
        return found
    names = steps.named(clean.clean(text))
    paths = [*sources, *join.named_files(names)]
    if not paths:
        return found
    by_id = join.related(found, names, _findings(paths))
    return [join.joined(d, by_id[d.id]) if d.id in by_id else d for d in found]


def _findings(paths: Sequence[str]) -> list[Finding]:
    """Return what the static analysis finds in `paths`; nothing when it cannot look."""
    import kexec_lint
    from kexec_lint.api import CheckError

    try:
        return kexec_lint.check(paths)
    except CheckError as error:
        return error.findings
    except (OSError, ValueError):
        return []


def _report(
    found: Sequence[Diagnosis],
    knowledge: Knowledge,
    output_format: str,
    output_file: str | None,
    ending: Ending | None,
) -> None:
    from kexec_lint.diagnose import render

    if output_format == "json":
        report = render.as_json(found)
    else:
        width = min(shutil.get_terminal_size((100, 24)).columns, 120)
        names = {code: name for d in found if d.root for code, name in _rule_names(d.rules).items()}
        report = render.as_text(found, knowledge, names, ending=ending, width=width)
        if ending is not None and output_file is None:
            report = f"\n{click.style('─' * 2, dim=True)} kexec-lint diagnose\n{report}"
    if output_file is None:
        click.echo(report)
        return
    try:
        Path(output_file).write_text(click.unstyle(report) + "\n", encoding="utf-8")
    except OSError as error:
        raise Failure(f"{output_file}: {(error.strerror or str(error)).lower()}") from None


def _rule_names(codes: Sequence[str]) -> dict[str, str]:
    """Return the names of the rules that have a page, without reading the other pages."""
    from kexec_lint import rulebook

    names = {}
    for code in codes:
        for page in rulebook.rules_directory().glob(f"*/{code}.md"):
            if title := re.search(r"^name: *(\S+)", page.read_text(encoding="utf-8"), re.M):
                names[code] = title[1]
    return names
