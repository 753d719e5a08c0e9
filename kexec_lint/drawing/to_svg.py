"""Pictures as one SVG file, one below the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kexec_lint.drawing.layout import MARGIN, lay_out
from kexec_lint.drawing.paint import STYLE, body, head, head_height, legend
from kexec_lint.drawing.picture import Picture
from kexec_lint.report.markup import escape

_TITLE = 40
_LEGEND = 780


def render(pictures: Sequence[Picture], sources: Mapping[str, str]) -> str:
    """Return the file's text."""
    layouts = [lay_out(picture) for picture in pictures]
    width = max(_LEGEND, *(layout.width for layout in layouts))
    parts: list[str] = []
    y = float(MARGIN)
    for layout in layouts:
        picture = layout.picture
        top = head_height(layout)
        parts.append(f'<g transform="translate(0 {y:.1f})">')
        parts.append(f'<text class="name" x="{MARGIN}" y="16">{escape(picture.title)}</text>')
        parts.append(f'<text class="dim" x="{MARGIN}" y="32">{escape(picture.path)}</text></g>')
        y += _TITLE
        parts.append(f'<g transform="translate(0 {y:.1f})">{"".join(head(layout))}</g>')
        y += top
        parts.append(f'<g transform="translate(0 {y:.1f})">{"".join(body(layout))}</g>')
        y += layout.height + MARGIN
        if layout.hidden:
            parts.append(f'<text class="dim" x="{MARGIN}" y="{y:.1f}">{layout.hidden} more memory objects</text>')
            y += MARGIN
    parts += legend(MARGIN, y + 12)
    y += 12 + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="kx" width="{width:.0f}" height="{y:.0f}" '
        f'viewBox="0 0 {width:.0f} {y:.0f}"><style>{STYLE}</style>'
        f'<rect class="paper" width="100%" height="100%"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
