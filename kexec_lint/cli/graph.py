"""`kexec-lint graph`: draw the enqueue graph of a file or a function."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

import click

from kexec_lint.cli import Failure, write_file
from kexec_lint.drawing import FORMATS
from kexec_lint.engine import cache
from kexec_lint.engine.decoding import Unreadable, decode
from kexec_lint.engine.request import Profiles, Request
from kexec_lint.engine.settings import SettingsError
from kexec_lint.source import Source

if TYPE_CHECKING:
    from kexec_lint.drawing.picture import Judged
    from kexec_lint.opencl.graph import EnqueueGraph


@click.command()
@click.argument("target", metavar="PATH[::FUNCTION]")
@click.option("--format", "name", type=click.Choice(FORMATS), help="[by the name of --output, else mermaid]")
@click.option("--output", "-o", metavar="FILE", help="Write the drawing here instead of standard output.")
@click.option("--assume-out-of-order", is_flag=True, default=None, help="Take unknown queues as out-of-order.")
@click.option("--isolated", is_flag=True, help="Use no settings file.")
def command(
    target: str, name: str | None, output: str | None, assume_out_of_order: bool | None, isolated: bool
) -> None:
    """Draw queues, commands and what orders them; what is missing is red.

    PATH is a file of host code in Python, C or C++. Without FUNCTION all its entry points are drawn.
    """
    from kexec_lint.drawing.picture import pictures

    path, _, function = target.partition("::")
    source, graphs, judged, texts = _analysed(path, assume_out_of_order, isolated)
    drawn = pictures(graphs, judged, source.path)
    if not drawn:
        raise Failure(f"{path}: enqueues nothing that could be drawn")
    if function:
        wanted = function.rpartition(".")[2]
        names = [picture.title for picture in drawn]
        drawn = [picture for picture in drawn if picture.title in (function, wanted)]
        if not drawn:
            raise Failure(f"{path}: no function {function} that enqueues something; there are {', '.join(names)}")
    text = importlib.import_module(f"kexec_lint.drawing.to_{name or _by_name(output)}").render(drawn, texts)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_file(output, text)


def _by_name(output: str | None) -> str:
    ending = os.path.splitext(output or "")[1].lstrip(".").lower()
    names = {"htm": "html", "gv": "dot", "mmd": "mermaid", "md": "mermaid"}
    ending = names.get(ending, ending)
    if output is not None and ending not in FORMATS:
        raise click.UsageError(f"{output} does not say which format; give --format {'|'.join(FORMATS)}")
    return ending if output is not None else "mermaid"


def _analysed(
    path: str, assume_out_of_order: bool | None, isolated: bool
) -> tuple[Source, list[EnqueueGraph], Judged, dict[str, str]]:
    """Return the source, its graphs, what is found in them, and the texts of the files that they come from."""
    from dataclasses import replace

    from kexec_lint.engine import index
    from kexec_lint.engine.tree import RecordingProject, Tree
    from kexec_lint.opencl import SUFFIXES
    from kexec_lint.opencl.analysis import analyse
    from kexec_lint.opencl.frontend import SyntaxProblem
    from kexec_lint.opencl.report import judged
    from kexec_lint.source import ModelError

    try:
        with open(path, "rb") as file:
            source = decode(path, file.read())
    except OSError as error:
        raise Failure(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except Unreadable as error:
        raise Failure(f"{path}: {error}") from None
    if source.suffix not in SUFFIXES or source.suffix in (".cl", ".ocl"):
        raise Failure(f"{path}: not host code in Python, C or C++")
    start = os.getcwd()
    project = RecordingProject(Tree(start, [os.path.dirname(os.path.abspath(path))]))
    request = Request(assume_out_of_order=assume_out_of_order, isolated=isolated, cache_directory=cache.folder(None))
    try:
        rules = index.load(request.cache_directory)
        profile = Profiles(request, rules).of(os.path.dirname(os.path.abspath(path)))
        options = replace(profile.options, codes=frozenset(code for code in profile.codes if code.startswith("OCL")))
        analysis = analyse(source, project, options)
        found = [item for item in judged(analysis.graphs, source, options) if item[0].confidence.rank < 2]
    except SyntaxProblem as problem:
        raise Failure(f"{path}: {problem}") from None
    except (SettingsError, ModelError) as error:
        raise Failure(str(error)) from None
    texts = {source.path: source.text}
    for graph in analysis.graphs:
        for node in graph.nodes:
            for at in node.site:
                if at.path not in texts:
                    texts[at.path] = _text(at.path)
    return source, analysis.graphs, found, texts


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            source: Source = decode(path, file.read())
    except (OSError, Unreadable):
        return ""
    return source.text
