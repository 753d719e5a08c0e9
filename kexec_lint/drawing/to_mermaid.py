"""Pictures as Mermaid flowcharts, which GitHub and GitLab draw in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kexec_lint.drawing.picture import Picture

_ARROWS = {"queue": "-->", "event": "-- event -->", "barrier": "-- barrier -->", "host": "-- host waits -->"}


def render(pictures: Sequence[Picture], sources: Mapping[str, str]) -> str:
    """Return the flowcharts, each with its title as front matter."""
    return "\n".join(_chart(picture) for picture in pictures)


def _chart(picture: Picture) -> str:
    lines = ["---", f"title: {_plain(picture.title)}", "---", "flowchart TB"]
    for number, lane in enumerate(picture.lanes):
        if not any(step.lane == number for step in picture.steps):
            continue
        label = f"{lane.title}, {lane.about}" if lane.about else lane.title
        lines.append(f'  subgraph q{number}["{_plain(label)}"]')
        for n, step in enumerate(picture.steps):
            if step.lane == number:
                uses = "".join(f"<br>{use.how} {_plain(picture.memories[use.memory])}" for use in step.uses)
                lines.append(f'    s{n}["{_plain(step.title)}<br>line {step.row}{uses}"]')
        lines.append("  end")
    for link in picture.links:
        arrow = _ARROWS.get(link.kind, "-.->") if link.certain else "-. maybe .->"
        lines.append(f"  s{link.source} {arrow} s{link.target}")
    first = len(picture.links)
    for number, missing in enumerate(picture.missing, first):
        words = _plain(f"{missing.code} {missing.hazard} {missing.memory}".rstrip())
        lines.append(f'  s{missing.source} -. "{words}" .-> s{missing.target}')
        lines.append(f"  linkStyle {number} stroke:red,color:red,stroke-width:2px")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Return text with what Mermaid would read as markup written as entities."""
    for character, entity in (("#", "#35;"), ("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(character, entity)
    return text.replace("\n", " ")
