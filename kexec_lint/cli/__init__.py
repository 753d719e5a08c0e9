"""The command line: one module a command, imported when that command is called."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import signal
import sys
from types import FrameType
from typing import IO, Any, NoReturn

import click

ISSUES = "https://github.com/kexec-lint/kexec-lint/issues"

COMMANDS = {
    "check": "check source files and report findings",
    "merge": "join the reports of a run in parts",
    "verify": "prove findings on real OpenCL devices, watch a program run",
    "graph": "draw queues, commands and what orders them",
    "rule": "explain a rule",
    "dispatch": "tell which PyTorch kernel a call runs",
    "opset": "tell whether an ExecuTorch model runs on a build",
    "delegate": "show what an ExecuTorch backend took, and compare its numbers",
    "diagnose": "name the layer of an error from a log, a command or a code",
    "boundary": "see what the GPU driver was asked and answered",
    "server": "speak the language server protocol with an editor",
    "completion": "print the completion script of a shell",
}
"""Command name → one line of help; the command lives in `kexec_lint.cli.<name>` as `command`."""


class Failure(click.ClickException):
    """What kept the tool from doing its job: one line on standard error, exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the line."""
        click.echo(f"kexec-lint: {self.message}", file=file, err=True)


def write_file(file: str, text: str) -> None:
    """Write a report. Raises Failure."""
    try:
        os.makedirs(os.path.dirname(os.path.abspath(file)), exist_ok=True)
        with open(file, "w", encoding="utf-8", newline="\n") as out:
            out.write(text)
    except OSError as error:
        raise Failure(f"{file}: {(error.strerror or str(error)).lower()}, report not written") from None


class LazyGroup(click.Group):
    """Lists every command without importing it; imports the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command, or None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"kexec_lint.cli.{cmd_name}").command
        gc.enable()
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click would make the exit code of findings of a reader that is gone."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGone from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands from `COMMANDS` alone."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from kexec_lint import __version__

        click.echo(f"kexec-lint {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    callback=_print_version,
    expose_value=False,
    is_eager=True,
    help="Print the version.",
)
def cli() -> None:
    """Name the layer, show the missing edge or kernel before anything runs, prove it on a device.

    Exit codes: 0 clean, 1 findings, 2 the tool could not do its job.
    """


class ReaderGone(BaseException):
    """Nobody reads standard output any more."""


class Terminated(BaseException):
    """SIGTERM: unwinds like an interrupt, so that workers end and temporary files go."""


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    if hasattr(signal, "setitimer"):  # what is raised where Python cleans up is lost, so it is raised until it is seen
        signal.signal(signal.SIGALRM, _terminate)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
    raise Terminated


def main() -> None:
    """Run the command line. Whatever goes wrong is one line and exit code 2.

    An interrupt ends with 130, SIGTERM with 143, a reader of standard output that went away with 141.
    """
    signal.signal(signal.SIGTERM, _terminate)
    gc.disable()  # imports make no garbage, yet would be collected a dozen times: a tenth of a short run
    try:
        code = cli.main(prog_name="kexec-lint", args=sys.argv[1:], standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("kexec-lint: interrupted", err=True)
        sys.exit(130)
    except Terminated:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        click.echo("kexec-lint: terminated", err=True)
        sys.exit(143)
    except ReaderGone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more
        sys.exit(141)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            click.echo(f"kexec-lint: {(error.strerror or '').lower()}, report not written", err=True)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(2)
        if os.environ.get("KEXEC_LINT_TRACEBACK"):
            raise
        text = (str(error).splitlines() or [""])[0]
        click.echo(f"kexec-lint: internal error: {type(error).__name__}: {text}; please report it: {ISSUES}", err=True)
        sys.exit(2)
    _leave(code if isinstance(code, int) else 0)


def _leave(code: int) -> NoReturn:
    """End the process. After `check`, which leaves nothing to be done at exit, without freeing object by object what
    the system takes back at once: a tenth of a short run."""
    threading = sys.modules.get("threading")
    if sys.argv[1:2] == ["check"] and (threading is None or threading.active_count() == 1):
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            os._exit(code)
        except (OSError, ValueError):
            pass  # Python says what is to say of a stream that is gone
    sys.exit(code)
