"""Two plots as tables whose bars are inline SVG: names break over lines, however long they are, and are never cut.

They look as those of the page of `seawall ui`; the style sheet of the page has their colours, in light and in dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from sparkjob.integrity.findings import Finding

_MOST_ROWS = 200


def coverage(topics: Sequence[Mapping[str, Any]], findings: Sequence[Finding]) -> str:
    """Each topic's range as a bar between its first and last offset, with a mark where something was found."""
    marks: dict[str, list[Finding]] = {}
    for finding in reversed(findings):  # the worst are drawn last, on top
        marks.setdefault(finding.topic, []).append(finding)
    rows = []
    for topic in topics[:_MOST_ROWS]:
        start, end = topic["from"], topic["to"]
        drawn = [_mark(finding, start, end) for finding in marks.get(topic["name"], ()) if finding.offset is not None]
        kind = "verified" if topic["verified"] else "unverified"
        text = f"{kind}, {start:,} … {end:,}, {len(drawn)} findings with an offset"
        rows.append(_row(topic["name"], f"{start:,} … {end:,}", _bar(100, kind, text, "".join(drawn))))
    return _table(rows, len(topics), ("Topic", "verified, and where something was found", "Offsets"))


def bars(values: Sequence[tuple[str, int]], unit: str) -> str:
    """One bar for each value, the greatest first."""
    ordered = sorted(values, key=lambda pair: (-pair[1], pair[0]))
    most = max((value for _, value in ordered), default=0) or 1
    rows = [
        _row(name, f"{value:,} {unit}", _bar(max(100 * value / most, 0.2), "plain", f"{value:,} {unit}"))
        for name, value in ordered[:_MOST_ROWS]
    ]
    return _table(rows, len(ordered), ("Region", "beside the one that would replay the most", unit.capitalize()))


def _row(name: str, said: str, bar: str) -> str:
    return f'<tr><th scope="row">{escape(name)}</th><td class="log">{bar}</td><td class="n">{escape(said)}</td></tr>'


def _bar(width: float, kind: str, text: str, marks: str = "") -> str:
    """In percent of what there is room for."""
    return (
        f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="{escape(text)}">'
        f'<rect class="{kind}" y="2" width="{width:.2f}" height="6"/>{marks}</svg>'
    )


def _mark(finding: Finding, start: int, end: int) -> str:
    share = min(max(((finding.offset or 0) - start) / max(end - start, 1), 0.0), 1.0)
    text = escape(f"{finding.kind} at {finding.offset}: {finding.message}")
    return (
        f'<rect class="mark {finding.severity}" x="{99 * share:.2f}" width="1" height="10"><title>{text}</title></rect>'
    )


def _table(rows: Sequence[str], count: int, heads: Sequence[str]) -> str:
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in heads)
    drawing = f'<table class="plot"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return drawing if count <= _MOST_ROWS else f"{drawing}<p>{count - _MOST_ROWS:,} more are not drawn.</p>"
