"""`kexec-lint merge`: one report of the JSON or SARIF reports that parts of a run wrote."""

from __future__ import annotations

from typing import Any

import click

from kexec_lint.cli import Failure, write_file


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--output-file", "-o", metavar="FILE", help="Write the report here instead of standard output.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when there are findings.")
@click.pass_context
def command(ctx: click.Context, files: tuple[str, ...], output_file: str | None, exit_zero: bool) -> None:
    """Join reports of `check --shard I/N` in JSON or SARIF: each finding once, in the order of one run.

    Exit codes: 0 clean, 1 findings, 2 the tool could not do its job, here or in a part.
    """
    import json

    from kexec_lint.report import merging

    documents: dict[str, Any] = {}
    for file in files:
        try:
            with open(file, encoding="utf-8") as source:
                documents[file] = json.load(source)
        except OSError as error:
            raise Failure(f"{file}: {(error.strerror or str(error)).lower()}") from None
        except (ValueError, RecursionError):
            raise Failure(f"{file}: not a whole JSON document") from None
    try:
        merged = merging.merge(documents)
    except merging.MergeError as error:
        raise Failure(str(error)) from None
    text = json.dumps(merged.document, indent=2, ensure_ascii=False) + "\n"
    if output_file is None:
        click.echo(text, nl=False)
    else:
        write_file(output_file, text)
    for line in merged.errors:
        click.echo(line, err=True)
    ctx.exit(2 if merged.errors else 1 if merged.findings and not exit_zero else 0)
