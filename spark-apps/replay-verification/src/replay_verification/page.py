"""The report as one HTML page without anything from elsewhere: plots are inline SVG, and every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from replay_verification.plots import bars, coverage
from replay_verification.report import MOST_FINDINGS, Report
from sparkjob.integrity.findings import Finding, Severity
from sparkjob.outcome import Outcome

_STYLE = """
:root{color-scheme:light dark;--ground:#fff;--text:#1a1f24;--quiet:#4d5761;--line:#c9d1d9;--raised:#f3f5f7;
--plain:#3a6ea5;--well:#0f6b2f;--ill:#a40e26;--warn:#8a5a00}
@media (prefers-color-scheme:dark){:root{--ground:#14181c;--text:#e6eaee;--quiet:#aab4be;--line:#3d4650;
--raised:#1e242a;--plain:#5b94d1;--well:#6bd38a;--ill:#ff9aa8;--warn:#e6b450}}
body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;max-width:80rem;padding:0 1.2rem 3rem;color:var(--text);
background:var(--ground)}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
.verdict{padding:.8rem 1rem;border-left:.3rem solid;background:var(--raised)}
.Passed{border-color:var(--well)}.Failed{border-color:var(--ill)}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.35rem .8rem .35rem 0;border-bottom:1px solid var(--line);vertical-align:top}
thead th{color:var(--quiet)}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
tr.first td{background:var(--raised)}tr.first td.n{font-weight:700;font-size:1.15rem}
.Error{color:var(--ill);font-weight:600}.Warning{color:var(--warn)}
.plot tbody th{overflow-wrap:anywhere;width:26%}.plot td.n{white-space:nowrap}.log{min-width:14rem}
.bar{display:block;width:100%;height:1.1rem}
.plain{fill:var(--plain)}.verified{fill:var(--well)}.unverified{fill:var(--line)}
.mark.Error{fill:var(--ill)}.mark.Warning{fill:var(--warn)}
footer{margin-top:3rem;color:var(--quiet);font-size:.85rem}
"""


def render_page(report: Report) -> str:
    """The page."""
    whom = report.request.verification
    title = f"Replay verification {whom.namespace}/{whom.name}"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>",
            f"<h1>{escape(title)}</h1>",
            f'<p class="verdict {report.outcome}"><strong>{report.outcome}</strong> at level {report.request.level}.',
            f"{escape(report.message)}</p>",
            _facts(report),
            *_findings(report),
            "<h2>Offsets of each topic</h2>",
            coverage(report.topics, report.findings),
            "<h2>What each region would replay</h2>",
            bars([(f"{region['id']} ({region['topic']})", region["bytes"]) for region in report.regions], "bytes"),
            _regions(report),
            f"<footer>Attempt {whom.attempt}, request {escape(report.request.digest)}.",
            "Offsets: from is inclusive, to is exclusive.</footer></main></body></html>",
        ]
    )


def _facts(report: Report) -> str:
    counts = report.counts
    took = (report.finished_at - report.started_at).total_seconds()
    names = ("records", "bytes", "entries", "errors", "warnings")
    cells = [(name, f"{counts[name]:,}") for name in names] + [("seconds", f"{took:,.0f}")]
    if counts["regionsNotCompared"]:
        cells.append(("regions not compared", f"{counts['regionsNotCompared']:,}"))
    return _table([name for name, _ in cells], [[value for _, value in cells]], numbers=range(len(cells)))


def _findings(report: Report) -> Iterable[str]:
    yield "<h2>Findings</h2>"
    if not report.findings:
        yield "<p>None.</p>"
        return
    yield '<table><thead><tr><th class="n">Offset</th><th>Kind</th><th>Topic</th><th class="n">Region</th><th>What</th>'
    yield "</tr></thead><tbody>"
    shown = report.findings[:MOST_FINDINGS]
    for index, finding in enumerate(shown):
        yield _finding(finding, is_first=index == 0 and report.outcome is Outcome.FAILED)
    yield "</tbody></table>"
    left = report.counts["errors"] + report.counts["warnings"] - len(shown)
    if left > 0:
        yield f"<p>{left:,} more are counted and not shown.</p>"


def _finding(finding: Finding, *, is_first: bool) -> str:
    row = ' class="first"' if is_first and finding.severity is Severity.ERROR else ""
    offset = "" if finding.offset is None else str(finding.offset)
    region = "" if finding.region is None else str(finding.region)
    return (
        f'<tr{row}><td class="n">{offset}</td><td class="{finding.severity}">{escape(finding.kind)}</td>'
        f'<td>{escape(finding.topic)}</td><td class="n">{region}</td><td>{escape(finding.message)}</td></tr>'
    )


def _regions(report: Report) -> str:
    names = ["region", "topic", "reads from", "entries", "rows", "bytes", "last entry", "digest", "comparison"]
    rows = [
        [
            str(region["id"]),
            region["topic"],
            f"{region['readsFrom']:,}",
            f"{region['entries']:,}",
            f"{region['rows']:,}",
            f"{region['bytes']:,}",
            "" if region["lastEntryId"] is None else f"{region['lastEntryId']:,}",
            region["digest"],
            _comparison(region["comparison"]),
        ]
        for region in report.regions
    ]
    return _table(names, rows, numbers=(0, 2, 3, 4, 5, 6))


def _comparison(comparison: dict[str, Any] | None) -> str:
    if comparison is None:
        return ""
    reason = comparison["reason"]
    return str(comparison["outcome"]) if reason is None else f"{comparison['outcome']}: {reason}"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: Iterable[int]) -> str:
    right = set(numbers)

    def cells(tag: str, values: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=n' if index in right else ''}>{escape(value)}</{tag}>"
            for index, value in enumerate(values)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', names)}</tr></thead><tbody>{body}</tbody></table>"
