"""Draws the error by node: how far the outputs are off with all nodes up to this one delegated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kexec_lint.executorch.checks.numerics import tolerance
from kexec_lint.report.markup import escape

if TYPE_CHECKING:
    from kexec_lint.executorch.export.comparison import Comparison, Step

_LEFT, _TOP, _HEIGHT, _WIDTH = 80, 48, 260, 22
_FLOOR = 1e-12
_LETTER, _TITLE_LETTER = 6.5, 8.5  # about the mean width of a letter of the two sizes
_LABEL = 48  # letters of a node's name; the tooltip has all of it


def svg(title: str, compared: Sequence[Comparison]) -> str:
    """Return a picture with a panel for each method; the scale of the error is logarithmic."""
    panels = [one for one in compared if one.steps]
    slanted = max([len(_label(step)) for one in panels for step in one.steps] or [0]) * _LETTER * math.sqrt(0.5)
    rows = math.ceil(_TOP + _HEIGHT + 30 + slanted)
    right = max([_WIDTH * len(one.steps) + max(slanted, 120) for one in panels] or [0])
    heads = max([max(len(_head(title, one)) * _TITLE_LETTER, len(_what(one)) * _LETTER) for one in panels] or [0])
    width = math.ceil(_LEFT + max(right, heads) + 20)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{rows * max(len(panels), 1)}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for index, one in enumerate(panels):
        parts += [f'<g transform="translate(0,{index * rows})">', *_panel(title, one), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _panel(title: str, one: Comparison) -> list[str]:
    """Return one method: a bar for each set that ran, red where it is outside its tolerance, and a dashed line for
    the absolute part of the tolerance.
    """
    measured = [step.worst.absolute for step in one.steps if step.worst is not None]
    allowed = max(tolerance(step.worst.dtype)[0] for step in one.steps if step.worst is not None) if measured else 0
    finite = [value for value in [*measured, allowed] if 0 < value < math.inf] or [1e-6]
    high = math.ceil(math.log10(max(finite))) + 1
    low = max(math.floor(math.log10(min(finite))) - 1, math.log10(_FLOOR))

    def y(value: float) -> float:
        share = (math.log10(min(max(value, 10.0**low), 10.0**high)) - low) / (high - low)
        return _TOP + _HEIGHT * (1 - share)

    right = _LEFT + _WIDTH * len(one.steps)
    parts = [
        f'<text x="{_LEFT}" y="18" font-size="14">{escape(_head(title, one))}</text>',
        f'<text x="{_LEFT}" y="34" fill="#555">{escape(_what(one))}</text>',
    ]
    for exponent in range(math.ceil(low), high + 1):
        line = y(10.0**exponent)
        parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{line:.1f}" y2="{line:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{line + 4:.1f}" text-anchor="end">1e{exponent}</text>')
    parts += [bar for index, step in enumerate(one.steps) for bar in _bar(step, _LEFT + _WIDTH * index, y)]
    if allowed:
        line = y(allowed)
        parts.append(
            f'<line x1="{_LEFT}" x2="{right}" y1="{line:.1f}" y2="{line:.1f}" stroke="#444" stroke-dasharray="4 3"/>'
        )
        parts.append(f'<text x="{right + 4}" y="{line + 4:.1f}" fill="#444">tolerance {allowed:g}</text>')
    return parts


def _head(title: str, one: Comparison) -> str:
    return f"{title}, method {one.method}"


def _what(one: Comparison) -> str:
    return f"largest absolute error with all nodes up to this one on {', '.join(one.backends)}"


def _name(step: Step) -> str:
    return f"{step.node.name} ({step.node.attributes})" if step.node.attributes else step.node.name


def _label(step: Step) -> str:
    name = _name(step)
    return name if len(name) <= _LABEL else name[: _LABEL - 1] + "…"


def _bar(step: Step, x: float, y: object) -> list[str]:
    assert callable(y)
    base = _TOP + _HEIGHT
    label = f'<text transform="translate({x + 6},{base + 10}) rotate(45)">{escape(_label(step))}</text>'
    if step.worst is None:
        return [
            label,
            f'<text x="{x + 4}" y="{base - 4}" fill="#999">?<title>{escape(str(step.error))}</title></text>',
        ]
    top = y(step.worst.absolute)
    colour = "#3b7dd8" if step.worst.excess <= 0 else "#d03b3b"
    return [
        label,
        f'<rect x="{x + 3}" y="{top:.1f}" width="{_WIDTH - 6}" height="{max(base - top, 1):.1f}" fill="{colour}">'
        f"<title>{escape(f'{_name(step)}: {step.worst.absolute:.3g} (output {step.worst.output})')}</title></rect>",
    ]
