"""Pictures as one HTML page that needs nothing else: the drawing on the left, the source on the right.

A box leads to its line of source and a marked line to its box, by plain links: there is no script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kexec_lint.drawing.layout import MARGIN, lay_out
from kexec_lint.drawing.paint import STYLE, body, head, head_height, legend
from kexec_lint.drawing.picture import Picture, Step
from kexec_lint.report.markup import escape

_STYLE = """
html { color-scheme: light dark; }
body { margin: 0; height: 100vh; display: grid; grid-template: auto 1fr / minmax(0, 1fr) minmax(18rem, 34%);
  background: var(--paper); color: var(--ink); }
header { grid-column: 1 / 3; padding: .5rem 1rem; border-bottom: 1px solid var(--line); display: flex;
  gap: .3rem 1.2rem; align-items: baseline; flex-wrap: wrap; }
header h1 { font-size: 1rem; margin: 0; } header a, li a { color: var(--event); text-decoration: none; }
main, aside { overflow: auto; } aside { border-left: 1px solid var(--line); }
section { margin-bottom: 2rem; min-width: max-content; } h2 { font-size: 1rem; margin: .8rem 1rem .2rem; }
.head { position: sticky; top: 0; background: var(--paper); border-bottom: 1px solid var(--line); z-index: 1; }
svg { display: block; } ul { margin: .2rem 1rem .6rem; padding: 0; list-style: none; max-width: 46rem; }
li { margin: .2rem 0; } li b { color: var(--missing); }
svg a { scroll-margin: 40vh 2rem; } a:target .box { stroke-width: 3; stroke: var(--event); }
pre { margin: 0; font: 12px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; tab-size: 4; }
pre div { padding-right: 1rem; scroll-margin: 40vh; } pre i { display: inline-block; width: 4em; text-align: right;
  margin-right: 1em; color: var(--dim); font-style: normal; user-select: none; }
pre a { color: var(--event); font-weight: 600; text-decoration: none; }
pre div:target { background: color-mix(in srgb, var(--event) 22%, transparent); }
pre div.red:not(:target) { background: color-mix(in srgb, var(--missing) 14%, transparent); }
aside h2 { position: sticky; top: 0; background: var(--paper); margin: 0; padding: .4rem 1rem; font-size: .9rem; }
@media (max-width: 60rem) { body { grid-template: auto 3fr 2fr / minmax(0, 1fr); } header { grid-column: 1; }
  aside { border-left: 0; border-top: 1px solid var(--line); } }
""".strip()


def render(pictures: Sequence[Picture], sources: Mapping[str, str]) -> str:
    """Return the page. `sources` are the texts of the files that steps stand in, by path."""
    files = list(dict.fromkeys(step.path for picture in pictures for step in picture.steps if step.path in sources))
    title = escape(pictures[0].path) if pictures else ""
    parts = [
        f'<!doctype html>\n<html lang="en" class="kx"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}\n{_STYLE}</style></head><body>',
        f"<header><h1>{title}</h1>",
        *(f'<a href="#p{n}">{escape(picture.title)}</a>' for n, picture in enumerate(pictures)),
        f'<svg width="780" height="18">{"".join(legend(0, 14))}</svg></header><main>',
    ]
    for number, picture in enumerate(pictures):
        parts += _section(number, picture, files)
    parts.append("</main><aside>")
    for number, path in enumerate(files):
        parts += _source(number, path, sources[path], pictures)
    parts.append("</aside></body></html>\n")
    return "\n".join(parts)


def _section(number: int, picture: Picture, files: list[str]) -> Iterator[str]:
    layout = lay_out(picture)

    def address(_: int, step: Step) -> str:
        return f"#f{files.index(step.path)}-{step.row}" if step.path in files else ""

    yield f'<section id="p{number}"><h2>{escape(picture.title)}</h2>'
    if picture.truncated:
        yield f'<p style="margin-left:{MARGIN}px">The function is too long to be followed to its end.</p>'
    if picture.missing:
        yield "<ul>"
        for missing in picture.missing:
            target = f"#p{number}-s{missing.target}"
            yield f'<li><b>{missing.code}</b> <a href="{target}">{escape(missing.message)}</a></li>'
        yield "</ul>"
    top = head_height(layout)
    size = f'width="{layout.width:.0f}"'
    yield f'<svg class="head" {size} height="{top:.0f}">{"".join(head(layout))}</svg>'
    painted = "\n".join(body(layout, address)).replace('id="s', f'id="p{number}-s')
    yield f'<svg {size} height="{layout.height:.0f}">{painted}</svg></section>'


def _source(number: int, path: str, text: str, pictures: Sequence[Picture]) -> Iterator[str]:
    boxes: dict[int, str] = {}
    red: set[int] = set()
    for n, picture in enumerate(pictures):
        wrong = {missing.target for missing in picture.missing}
        for s, step in enumerate(picture.steps):
            if step.path == path:
                boxes.setdefault(step.row, f"#p{n}-s{s}")
                if s in wrong or step.codes:
                    red.add(step.row)
    yield f"<h2>{escape(path)}</h2>"
    lines = []
    for row, line in enumerate(text.split("\n"), 1):
        mark = f'<a href="{boxes[row]}">{row}</a>' if row in boxes else str(row)
        classes = ' class="red"' if row in red else ""
        lines.append(f'<div id="f{number}-{row}"{classes}><i>{mark}</i>{escape(line)}</div>')
    yield f"<pre>{''.join(lines)}</pre>"
