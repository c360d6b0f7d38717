"""Two plots as inline SVG: small enough that a library would weigh more than they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from sparkjob.integrity.findings import Finding, Severity

_WIDTH, _LABEL, _ROW, _BAR = 960, 260, 26, 14
_MOST_ROWS = 200
_COLORS = {Severity.ERROR: "#b3261e", Severity.WARNING: "#d08700"}
_GOOD, _BAD, _PLAIN = "#1a7f4b", "#d9897f", "#33628f"


def coverage(topics: Sequence[Mapping[str, Any]], findings: Sequence[Finding]) -> str:
    """Each topic's range as a bar between its first and last offset, with a mark where something was found."""
    marks: dict[str, list[Finding]] = {}
    for finding in reversed(findings):  # the worst are drawn last, on top
        marks.setdefault(finding.topic, []).append(finding)
    rows = []
    for index, topic in enumerate(topics[:_MOST_ROWS]):
        top, start, end = index * _ROW, topic["from"], topic["to"]
        color = _GOOD if topic["verified"] else _BAD
        rows.append(_row(top, topic["name"], _WIDTH - _LABEL - 200, color, f"{start:,} … {end:,}"))
        for finding in marks.get(topic["name"], ()):
            if finding.offset is not None:
                share = (finding.offset - start) / max(end - start, 1)
                rows.append(_mark(top, min(max(share, 0.0), 1.0), finding))
    return _drawing(rows, len(topics))


def bars(values: Sequence[tuple[str, int]], unit: str) -> str:
    """One bar for each value, the greatest first."""
    ordered = sorted(values, key=lambda pair: (-pair[1], pair[0]))
    most = max((value for _, value in ordered), default=0) or 1
    wide = _WIDTH - _LABEL - 200
    rows = [
        _row(index * _ROW, name, wide * value / most, _PLAIN, f"{value:,} {unit}")
        for index, (name, value) in enumerate(ordered[:_MOST_ROWS])
    ]
    return _drawing(rows, len(ordered))


def _row(top: int, name: str, width: float, color: str, said: str) -> str:
    middle = top + _ROW // 2
    return (
        f'<text x="{_LABEL - 8}" y="{middle + 4}" text-anchor="end">{escape(name)}</text>'
        f'<rect x="{_LABEL}" y="{middle - _BAR // 2}" width="{max(width, 1):.1f}" height="{_BAR}" fill="{color}"/>'
        f'<text x="{_LABEL + width + 8:.1f}" y="{middle + 4}">{escape(said)}</text>'
    )


def _mark(top: int, share: float, finding: Finding) -> str:
    x = _LABEL + share * (_WIDTH - _LABEL - 200)
    middle = top + _ROW // 2
    return (
        f"<g><title>{escape(f'{finding.kind} at {finding.offset}: {finding.message}')}</title>"
        f'<path d="M{x:.1f} {middle - 11} L{x + 5:.1f} {middle} L{x:.1f} {middle + 11} L{x - 5:.1f} {middle} Z" '
        f'fill="{_COLORS[finding.severity]}" stroke="#fff"/></g>'
    )


def _drawing(rows: Sequence[str], count: int) -> str:
    height = max(min(count, _MOST_ROWS), 1) * _ROW
    drawing = (
        f'<svg role="img" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">{"".join(rows)}</svg>'
    )
    return drawing if count <= _MOST_ROWS else f"{drawing}<p>{count - _MOST_ROWS:,} more are not drawn.</p>"
