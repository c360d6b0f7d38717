"""The page shows what is bad at a glance, needs nothing from elsewhere, and trusts no text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from test_summary import MISSING, report_on

from replay_verification.page import render_page
from sparkjob.integrity.findings import Finding, Kind

_VOID = {"meta"}


class _Tags(HTMLParser):
    """Opens and closes; what is left open is wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - HTMLParser's
        self.seen.add(tag)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - HTMLParser's
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_first_bad_offset_stands_in_the_first_line_of_the_findings() -> None:
    later = Finding(Kind.MISSING_KEY, "wal_0", "no key", 4000)
    page = render_page(report_on(later, MISSING))
    assert '<tr class="first"><td class="n">130</td><td class="Error">PartsDoNotJoin</td>' in page
    assert page.index(">130</td>") < page.index(">4000</td>")
    assert '<p class="verdict Failed">' in page


def test_a_clean_log_shows_no_finding() -> None:
    page = render_page(report_on())
    assert '<p class="verdict Passed">' in page
    assert "<p>None.</p>" in page
    assert '<tr class="first">' not in page


def test_every_tag_is_closed_and_nothing_comes_from_elsewhere() -> None:
    page = render_page(report_on(MISSING))
    tags = _Tags()
    tags.feed(page)
    assert tags.open == []
    assert not tags.seen & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"(src|href|url)\s*[=(]", page)


def test_no_text_is_taken_for_html() -> None:
    evil = Finding(Kind.MISSING_KEY, 'wal"><script>alert(1)</script>', "<b>&\"'", 1)
    page = render_page(report_on(evil))
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;&quot;&#x27;" in page


def test_the_plots_mark_each_finding_at_its_offset() -> None:
    page = render_page(report_on(MISSING, Finding(Kind.SEQUENCE_GAP, "wal_0", "gap", 4710)))
    marks = [float(x) for x in re.findall(r'<rect class="mark \w+" x="([\d.]+)"', page)]
    assert len(marks) == 2
    assert marks[0] > marks[1]  # the worst one is drawn last
