"""`kexec-lint server`: the language server, spoken to by an editor."""

from __future__ import annotations

import click

from kexec_lint.cli import Failure


@click.command()
@click.option("--tcp", metavar="PORT", type=click.IntRange(1, 65535), help="Listen on this port of this machine.")
@click.option("--stdio", is_flag=True, help="Speak over standard input and output. [default]")
def command(tcp: int | None, stdio: bool) -> None:
    """Start the language server. Editors start it by themselves: docs/editors says how to set them up."""
    if tcp and stdio:
        raise click.UsageError("--tcp and --stdio exclude each other")
    try:
        from kexec_lint.lsp.server import create
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise Failure("the language server needs the extra lsp: pip install 'kexec-lint[lsp]'") from None
    server = create()
    if tcp:
        server.start_tcp("127.0.0.1", tcp)
    else:
        server.start_io()
