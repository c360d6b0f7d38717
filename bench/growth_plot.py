"""A small plot on logarithmic axes, as SVG that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 420, 260, 60, 34, 30, 20


def draw(title: str, sizes: Sequence[int], values: Sequence[float]) -> str:
    """Points, the line between them, and a dashed one that is linear from the first point on."""
    x, y = _Axis(sizes, LEFT, WIDTH - RIGHT), _Axis(values, HEIGHT - BOTTOM, TOP)
    points = [(x.at(size), y.at(value)) for size, value in zip(sizes, values, strict=True)]
    linear = [(x.at(size), y.at(values[0] * size / sizes[0])) for size in sizes]
    shapes = [
        f'<text x="{LEFT}" y="18" font-weight="bold">{escape(title)}</text>',
        *(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>' for _, at in y.ticks()),
        *(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{label}</text>' for label, at in y.ticks()),
        *(f'<text x="{at:.1f}" y="{HEIGHT - 12}" text-anchor="middle">{label}</text>' for label, at in x.ticks()),
        f'<polyline points="{_joined(linear)}" fill="none" stroke="#888" stroke-dasharray="4 4"/>',
        f'<polyline points="{_joined(points)}" fill="none" stroke="#06c" stroke-width="2"/>',
        *(f'<circle cx="{at:.1f}" cy="{up:.1f}" r="4" fill="#06c"/>' for at, up in points),
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    style = 'font-family="sans-serif" font-size="11" role="img"'
    background = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    return "\n".join([f"{head} {style}>", f"<title>{escape(title)}</title>", background, *shapes, "</svg>", ""])


class _Axis:
    """Powers of ten between two ends of the picture."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        self._low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self._high = max(high, self._low + 1)
        self._first, self._last = first, last

    def at(self, value: float) -> float:
        """Where a value is in the picture, at an end if it is beyond it."""
        part = (math.log10(value) - self._low) / (self._high - self._low)
        return self._first + min(max(part, 0), 1) * (self._last - self._first)

    def ticks(self) -> list[tuple[str, float]]:
        """The powers of ten, and where they are."""
        return [(f"{10.0**power:g}", self.at(10.0**power)) for power in range(self._low, self._high + 1)]


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{across:.1f},{up:.1f}" for across, up in points)
