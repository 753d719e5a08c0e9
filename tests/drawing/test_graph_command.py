"""`kexec-lint graph`: what is drawn, in every format."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kexec_lint.cli import cli

SVG = "{http://www.w3.org/2000/svg}"

START = """
import numpy as np
import pyopencl as cl

OOO = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
SOURCE = "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }"


def run(ctx, host, n):
    queue = cl.CommandQueue(ctx)
    other = cl.CommandQueue(ctx, properties=OOO)
    twice = cl.Program(ctx, SOURCE).build().twice
    x = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4 * n)
""".lstrip()


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def go(text: str, *arguments: str, target: str = "a.py") -> Result:
        (tmp_path / target.partition("::")[0]).write_text(text)
        return CliRunner().invoke(cli, ["graph", target, "--isolated", *arguments], prog_name="kexec-lint")

    return go


@pytest.fixture
def drawn(graph):
    """Return the only picture of a function body as JSON."""

    def go(body: str) -> dict:
        text = START + "".join(f"    {line}\n" for line in body.strip().split("\n"))
        (picture,) = json.loads(graph(text, "--format", "json").stdout)["graphs"]
        return picture

    return go


def edges(picture: dict) -> list[tuple[str, str, str]]:
    def title(number: int) -> str:
        step = picture["steps"][number]
        return f"{step['title']} {step['row'] - START.count(chr(10))}"

    return [(title(e["source"]), e["kind"], title(e["target"])) for e in picture["links"]]


CASES = {
    "queue order of neighbours only": (
        """
twice(queue, (n,), None, x)
twice(queue, (n,), None, x)
twice(queue, (n,), None, x)
""",
        [("kernel twice 1", "queue", "kernel twice 2"), ("kernel twice 2", "queue", "kernel twice 3")],
    ),
    "events without those that follow from others": (
        """
a = twice(other, (n,), None, x)
b = twice(other, (n,), None, x, wait_for=[a])
twice(other, (n,), None, x, wait_for=[a, b])
""",
        [("kernel twice 1", "event", "kernel twice 2"), ("kernel twice 2", "event", "kernel twice 3")],
    ),
    "a barrier": (
        """
twice(other, (n,), None, x)
cl.enqueue_barrier(other)
twice(other, (n,), None, x)
""",
        [("kernel twice 1", "barrier", "barrier 2"), ("barrier 2", "barrier", "kernel twice 3")],
    ),
    "the host waits": (
        """
twice(queue, (n,), None, x)
queue.finish()
twice(other, (n,), None, x)
""",
        [("kernel twice 1", "host", "queue.finish() 2"), ("queue.finish() 2", "resume", "kernel twice 3")],
    ),
    "an event between queues": (
        """
a = twice(queue, (n,), None, x)
twice(other, (n,), None, x, wait_for=[a])
""",
        [("kernel twice 1", "event", "kernel twice 2")],
    ),
}


@pytest.mark.parametrize("title", CASES)
def test_links(drawn, title):
    body, expected = CASES[title]
    picture = drawn(body)
    assert edges(picture) == expected
    assert picture["missing"] == []


def test_a_missing_edge_has_the_name_of_its_hazard(drawn):
    picture = drawn("twice(queue, (n,), None, x)\ntwice(other, (n,), None, x)")
    (missing,) = picture["missing"]
    assert (missing["source"], missing["target"]) == (0, 1)
    assert (missing["hazard"], missing["memory"], missing["code"]) == ("read-after-write", "x", "OCL101")
    assert [lane["title"] for lane in picture["lanes"]] == ["host", "queue", "other"]
    assert [lane["about"] for lane in picture["lanes"]] == ["", "in-order", "out-of-order"]


def test_what_commands_use(drawn):
    picture = drawn("cl.enqueue_copy(queue, x, host)\ntwice(queue, (n,), None, x)")
    uses = [[(picture["memories"][use["memory"]], use["how"]) for use in step["uses"]] for step in picture["steps"]]
    assert ("x", "writes") in uses[0]
    assert uses[-1] == [("x", "reads and writes")]


RACE = START + "    twice(queue, (n,), None, x)\n    twice(other, (n,), None, x)\n"


def test_svg_is_one_well_formed_file(graph):
    root = ET.fromstring(graph(RACE, "--format", "svg").stdout)
    assert root.tag == f"{SVG}svg"
    texts = ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]
    assert any(text.startswith("OCL101 read-after-write on x") for text in texts)
    assert "out-of-order" in texts
    assert [e.get("class") for e in root.iter(f"{SVG}path") if e.get("class") == "missing"] == ["missing"] * 2


class Page(HTMLParser):
    """Collects the ids and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for key, value in attributes:
            if key == "id":
                self.ids.append(value or "")
            elif key in ("href", "src"):
                self.links.append(value or "")


def test_html_needs_nothing_else_and_its_links_lead_somewhere(graph):
    text = graph(RACE, "--format", "html").stdout
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert page.links
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert not {"script", "link", "img", "iframe"} & page.tags
    assert not re.search(r"https?://(?!www\.w3\.org)|@import|url\(", text)
    assert f'href="#f0-{START.count(chr(10)) + 1}"' in text


def test_everything_is_escaped(graph):
    evil = RACE.replace("return", "").replace("x = cl.", 'note = "</pre><script>alert(1)</script>&"\n    x = cl.')
    for name in ("html", "svg"):
        text = graph(evil, "--format", name, target="<u>&.py").stdout
        assert "<script" not in text
        assert "<u>" not in text
        if name == "svg":
            ET.fromstring(text)
        else:
            assert "&lt;/pre&gt;&lt;script&gt;" in text


def test_dot_and_mermaid(graph):
    dot = graph(RACE, "--format", "dot").stdout
    assert dot.startswith('digraph "run" {')
    assert 's0 -> s1 [label="OCL101 read-after-write x", color=red' in dot
    assert dot.count("{") == dot.count("}")
    mermaid = graph(RACE, "--format", "mermaid").stdout
    assert "flowchart TB" in mermaid
    assert 's0 -. "OCL101 read-after-write x" .-> s1' in mermaid
    assert "linkStyle 0 stroke:red" in mermaid


def test_the_name_of_the_output_says_the_format(graph, tmp_path):
    assert graph(RACE, "--output", "a.svg").exit_code == 0
    assert (tmp_path / "a.svg").read_text().startswith("<svg ")
    assert graph(RACE, "-o", "a.png").exit_code == 2


TWO = RACE + "\n\ndef second(queue, buf, n):\n    cl.enqueue_fill_buffer(queue, buf, b'0', 0, n).wait()\n"


@pytest.mark.parametrize(
    ("target", "titles"), [("a.py", ["run", "second"]), ("a.py::second", ["second"]), ("a.py::run", ["run"])]
)
def test_one_function_or_all(graph, target, titles):
    document = json.loads(graph(TWO, "--format", "json", target=target).stdout)
    assert [picture["title"] for picture in document["graphs"]] == titles


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        (TWO, "a.py::third", "a.py: no function third that enqueues something; there are run, second"),
        ("x = 1\n", "a.py", "a.py: enqueues nothing that could be drawn"),
        ("def f(:\n", "a.py", "a.py: line 1: not valid Python"),
        ("kernel", "a.cl", "a.cl: not host code in Python, C or C++"),
    ],
)
def test_one_line_and_exit_code_2(graph, text, target, message):
    result = graph(text, target=target)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"kexec-lint: {message}")
    assert result.stderr.count("\n") == 1


def test_a_file_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["graph", "none.py"], prog_name="kexec-lint")
    assert (result.exit_code, result.stderr) == (2, "kexec-lint: none.py: no such file or directory\n")


def test_a_command_in_a_helper_is_drawn_where_it_stands(drawn):
    picture = drawn("def go(q):\n    return twice(q, (n,), None, x)\ngo(queue).wait()")
    step = picture["steps"][0]
    assert step["row"] == START.count("\n") + 2
    assert f"called in line {START.count(chr(10)) + 3}" in step["notes"]


def test_two_hundred_commands_cross_no_box(graph):
    body = "".join(
        f"    e{n} = twice({'queue' if n % 3 else 'other'}, (n,), None, x{f', wait_for=[e{n - 1}]' if n else ''})\n"
        for n in range(200)
    )
    root = ET.fromstring(graph(START + body, "--format", "svg").stdout)
    boxes = [
        (float(e.get("x", 0)), float(e.get("x", 0)) + float(e.get("width", 0)))
        for e in root.iter(f"{SVG}rect")
        if e.get("class") == "box"
    ]
    assert len(boxes) == 200
    tracks = [
        float(match[1])
        for e in root.iter(f"{SVG}path")
        if "Q" in e.get("d", "") and (match := re.search(r"Q([\d.]+) ", e.get("d", "")))
    ]
    assert tracks
    assert not [(x, box) for x in tracks for box in set(boxes) if box[0] < x < box[1]]
