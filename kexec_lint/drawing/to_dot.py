"""Pictures in Graphviz's DOT language, a cluster for each queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kexec_lint.drawing.picture import Picture

_COLOURS = {"queue": "gray40", "event": "blue", "barrier": "purple", "host": "darkgreen", "resume": "darkgreen"}


def render(pictures: Sequence[Picture], sources: Mapping[str, str]) -> str:
    """Return a file with a graph for each picture."""
    return "\n".join(_graph(picture) for picture in pictures)


def _graph(picture: Picture) -> str:
    lines = [f"digraph {_quoted(picture.title)} {{", '  node [shape=box, fontname="sans-serif"];']
    for number, lane in enumerate(picture.lanes):
        label = f"{lane.title}\\n{lane.about}" if lane.about else lane.title
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(label)};"]
        for n, step in enumerate(picture.steps):
            if step.lane == number:
                uses = "".join(f"\\n{use.how} {picture.memories[use.memory]}" for use in step.uses)
                label = f"{step.title}\\nline {step.row}{uses}"
                lines.append(f"    s{n} [label={_quoted(label)}];")
        lines.append("  }")
    for link in picture.links:
        style = "solid" if link.certain and link.kind != "resume" else "dashed"
        colour = _COLOURS.get(link.kind, "black")
        lines.append(f"  s{link.source} -> s{link.target} [label={_quoted(link.kind)}, color={colour}, style={style}];")
    for missing in picture.missing:
        words = f"{missing.code} {missing.hazard} {missing.memory}".rstrip()
        lines.append(
            f"  s{missing.source} -> s{missing.target} "
            f"[label={_quoted(words)}, color=red, fontcolor=red, style=dashed, penwidth=2];"
        )
    return "\n".join((*lines, "}")) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\n", "\0").replace("\\", "\\\\").replace('"', '\\"').replace("\0", "\\n") + '"'
