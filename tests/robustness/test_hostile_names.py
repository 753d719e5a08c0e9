"""Names and texts made to leave the field that they stand in: every report keeps them where they belong."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from kexec_lint.cli import cli
from kexec_lint.engine.check import Report
from kexec_lint.engine.texts import Texts
from kexec_lint.findings import Confidence, Edit, Finding, Fix, Location, Related, Severity
from kexec_lint.report import FORMATS, Context, render
from kexec_lint.report.markup import legal

EVIL = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "]]><x/><!--",
    "a\n::error file=x::alert(1)",
    "%0A::error::alert(1)",
    "x](javascript:alert(1)) [y",
    "a | b\n| c | d |\n\n# alert(1)",
    "`</code>` ![x](http://alert/1)",
    "\x1b[31mred\x1b]0;title\x07\r\x9b2J\u202e",
    "</script><script>alert(1)</script>",
    '\\"};alert(1);{"',
    "\udcff",
    "\0\uffff\U0001f600",
)
MARKUP = tuple(evil for evil in EVIL if "\n" not in evil)
"""One line each, as names in a program are; a page without a script shows them as text."""


def finding(evil: str) -> Finding:
    at = Location(f"{evil}.py", 1, 1, 1, 5)
    more = (Related(evil, at), Related(evil, Location("other.py", 2, 1, 3, 2)))
    fix = Fix("safe", evil, (Edit(at, evil),))
    text = f"{evil} is `{evil}`"
    return Finding("OCL101", evil, Severity.ERROR, Confidence.CERTAIN, text, at, evil, evil, more, more, fix)


def rendered(name: str, evil: str) -> str:
    report = Report([finding(evil)], Texts({f"{evil}.py": f"{evil}\n".encode("utf-8", "surrogatepass")}))
    report.notes = [f"{evil}: not checked"]
    return render(name, report, Context("/project", colour=False, width=100))


class Tags(HTMLParser):
    """The elements of a page with their attributes; the text of scripts is one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [f"{key}={value}" for key, value in attrs]


def tags(page: str) -> Tags:
    found = Tags()
    found.feed(page)
    found.close()
    return found


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("name", FORMATS)
def test_reports(name: str, evil: str) -> None:
    text = rendered(name, evil)
    text.encode("utf-8")
    match name:
        case "full" | "concise":
            assert not [c for c in text if c != "\n" and (c < " " or "\x7f" <= c < "\xa0" or c in "\u202e\u2028")]
        case "github":
            assert text.count("\n") == 1
            assert text.startswith("::error ")
            assert "\r" not in text
        case "junit":
            suites = ElementTree.fromstring(text)
            assert [element.tag for element in suites.iter()] == ["testsuites", "testsuite", "testcase", "failure"]
        case "markdown":
            page = tags(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
            assert not {"script", "img", "x"} & set(page.tags)
            assert not [value for value in page.attributes if value.startswith("href=") and "javascript" in value]
            assert page.tags.count("h3") == 1
            assert page.tags.count("h1") == 0
            assert page.tags.count("tr") == 2
        case _:
            assert json.loads(text)


@pytest.mark.parametrize("evil", EVIL)
def test_fields_of_json_hold_what_was_said(evil: str) -> None:
    (entry,) = json.loads(rendered("json", evil))
    said = evil.encode("utf-8", "replace").decode()
    assert entry["message"] == f"{said} is `{said}`"
    assert entry["help"] == entry["fix"]["message"] == entry["steps"][0]["message"] == said
    assert entry["filename"] == os.path.normpath(f"/project/{said}.py")


SOURCE = '''\
import pyopencl as cl
def f(ctx, host):
    queue = cl.CommandQueue(ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    program = cl.Program(ctx, """__kernel void square(__global float *x) { x[0] = 1; }  // </script><script>""").build()
    b = {EVIL: cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 64)}  # </script><script>alert(1)</script>
    cl.enqueue_copy(queue, b[EVIL], host, is_blocking=False)
    program.square(queue, (16,), None, b[EVIL])
'''


def same_but_for_text(one: str, other: str) -> None:
    """Check that two pages have the same elements in the same order, and none of them an attribute that acts."""
    harmless, found = tags(one), tags(other)
    assert sorted(found.tags) == sorted(harmless.tags)
    assert not [value for value in found.attributes if value.startswith(("on", "href=javascript"))]


@pytest.mark.parametrize("format", ["html", "svg"])
@pytest.mark.parametrize("evil", MARKUP)
def test_drawings(tmp_path: Path, monkeypatch, format: str, evil: str) -> None:
    monkeypatch.chdir(tmp_path)

    def drawn(name: str) -> str:
        file = re.sub("[/\0:]", "_", name) + ".py"
        Path(file).write_text(SOURCE.replace("EVIL", ascii(name)), encoding="utf-8")
        called = CliRunner().invoke(cli, ["graph", f"{file}::f", "--output", f"drawing.{format}"])
        assert called.exit_code == 0, called.output
        text = Path(f"drawing.{format}").read_text(encoding="utf-8")
        if format == "svg":
            ElementTree.fromstring(text)
        return text

    same_but_for_text(drawn("plain"), drawn(evil))


@pytest.mark.parametrize("evil", MARKUP)
def test_timelines_of_the_boundary(evil: str) -> None:
    from kexec_lint.boundary import timeline
    from kexec_lint.boundary.logs import read_lines
    from kexec_lint.boundary.verdicts import judge

    def page(name: str) -> str:
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        lines = [
            f'100 10:00:00.000001 openat(AT_FDCWD, "/{quoted}", O_RDWR) = -1 ENOENT (No such file or directory)\n',
            '100 10:00:00.000001 openat(AT_FDCWD, "/dev/dri/card0", O_RDWR) = -1 EACCES (Permission denied)\n',
            f'100 10:00:00.000002 write(2, "{quoted}: error: cannot open /dev/dri/card0", 40) = 40\n',
        ]
        text = timeline.render(judge(read_lines(iter(lines), f"{name}.log")), "x.html")
        assert text.encode("utf-8")
        return text

    same_but_for_text(page("card0"), page(evil))


@pytest.mark.parametrize("suffix", ["html", "svg", "json"])
@pytest.mark.parametrize("evil", EVIL)
def test_timelines_of_runs(tmp_path: Path, suffix: str, evil: str) -> None:
    from kexec_lint.opencl import graph as g
    from kexec_lint.opencl.program import Span
    from kexec_lint.verify import timeline
    from kexec_lint.verify.run import Pair
    from kexec_lint.verify.trace import Ran, Trace

    def written(name: str) -> str:
        site = (g.Place(0, f"{name}.py", Span(1, 1, 1, 5), name),)
        queue = g.Queue(name, g.Order.OUT_OF_ORDER, True)
        memory = g.Memory(name, "buffer", True)
        ran = []
        for n in range(2):
            accesses = [g.Access(memory, False, True, role=name)]
            command = g.Command(n, site, (), accesses=accesses, kind="kernel", what=name, queue=queue)
            ran.append(Ran(command, ("main", n), n + 1, 1, 1000 * n, 1000 * n + 500000))
        ran[1].command.after(ran[0].command, kind="event")
        waits = [(g.HostPoint(2, site, (), kind="wait", what=name), 500, 900, thread) for thread in (1, 2)]
        pair = Pair(finding(name), ran[0], ran[1], g.EnqueueGraph(name))
        file = tmp_path / f"drawing.{suffix}"
        timeline.write(str(file), Trace(commands=ran, waits=waits), [pair])
        return file.read_text(encoding="utf-8")

    text = written(evil)
    if suffix == "json":
        said = [event["name"] for event in json.loads(text)["traceEvents"] if event["ph"] == "X"]
        assert len(said) == 4
        return
    if suffix == "svg":
        ElementTree.fromstring(text)
    same_but_for_text(written("plain"), text)
    assert tags(text).text.count(f"{legal(evil)}.py:1".replace("\r", "\n")) == 2, "the commands' tips say where"


@pytest.mark.parametrize("evil", EVIL)
def test_plots_of_delegates(evil: str) -> None:
    from types import SimpleNamespace

    from kexec_lint.executorch.checks.numerics import Difference
    from kexec_lint.executorch.export import plot

    def drawn(name: str) -> str:
        node = SimpleNamespace(name=name, attributes=f"approximate={name!r}")  # their classes need the extra
        worst = Difference(name, "f32", 1e-3, 1e-3, 1e-4, name)
        steps = [
            SimpleNamespace(node=node, worst=worst, error=None),
            SimpleNamespace(node=node, worst=None, error=name),
        ]
        text = plot.svg(f"{name}.py::f", [SimpleNamespace(method=name, backends=(name,), steps=steps)])
        assert text.encode("utf-8")
        ElementTree.fromstring(text)
        return text

    same_but_for_text(drawn("plain"), drawn(evil))


@pytest.mark.parametrize("evil", EVIL)
def test_explanations_of_dispatch(evil: str) -> None:
    from kexec_lint.aten.dispatch import render
    from kexec_lint.aten.dispatch.explain import Explanation, Step
    from kexec_lint.aten.dispatch.table import Registration, Row

    def page(name: str) -> str:
        name = " ".join(name.splitlines())  # what is told of a call is cut to lines before
        step = Step("CPU", Row("CPU", f"{name}.py:1", name), name, name, f"{name}.py:1")
        registered = Registration("CPU", f"{name}.py:1")
        found = Explanation(
            f"lib::{name}", f"lib::{name}(Tensor x)", f"{name}.py:1", (f"f32[{name}]",), ("CPU",), (), (), (step,),
            step, (step,), (f"lib::{name}",), (registered,), name, registered, (name,),
        )  # fmt: skip
        text = render.page(found.operator, render.explanation_text(found))
        assert text.encode("utf-8")
        return text

    same_but_for_text(page("plain"), page(evil))


def test_names_of_files_that_are_no_text(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"\xff\x1b[2J.py")
    Path(name).write_text("x = 1  # kexec: ignore[NOPE]\n")
    for format in FORMATS:
        called = CliRunner().invoke(cli, ["check", "--no-cache", "--output-format", format])
        assert called.exit_code == 1, (format, called.output)
        if format in ("full", "concise"):
            assert "\x1b" not in called.stdout
        called = CliRunner().invoke(cli, ["check", "--no-cache", "--output-format", f"{format}:report"])
        assert called.exit_code == 1, (format, called.output)
