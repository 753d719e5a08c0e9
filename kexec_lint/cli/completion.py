"""`kexec-lint completion`: shell completion scripts, made by click from the commands themselves."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash: kexec-lint completion bash > ~/.local/share/bash-completion/completions/kexec-lint
    zsh:  kexec-lint completion zsh > "${fpath[1]}/_kexec-lint"
    fish: kexec-lint completion fish > ~/.config/fish/completions/kexec-lint.fish
    """
    from kexec_lint.cli import cli

    kind = get_completion_class(shell)
    assert kind is not None, shell
    completion = kind(cli, {}, "kexec-lint", "_KEXEC_LINT_COMPLETE")
    # `source()` first runs bash to check its version, which also fails where the script is only written.
    click.echo(completion.source_template % completion.source_vars())
