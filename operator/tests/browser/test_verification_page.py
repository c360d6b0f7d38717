"""The page of a replay verification in a real Chromium: no name is cut, in light and in dark."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser
from test_summary import MISSING, report_on

from replay_verification.page import render_page
from replay_verification.plots import bars, coverage
from tests.support.browser import visit

pytestmark = pytest.mark.integration


def test_no_name_is_cut(chromium: Browser) -> None:
    """Ids of regions have 20 digits, names of topics 249 characters: each stands in the window with all of them."""
    name = "wal_" + "long" * 61
    topics = [{"name": name, "from": 0, "to": 5000, "verified": True}]
    plots = coverage(topics, ()) + bars([(f"18446744073709551615 ({name})", 7), ("1 (wal_1)", 70)], "bytes")
    page = render_page(report_on(MISSING)).replace("<h2>Offsets of each topic</h2>", plots)
    for dark in (False, True):
        with visit(chromium, dark=dark, width=1000) as look:
            look.page.set_content(page)
            for box in look.page.locator(".plot th, .plot td").evaluate_all(
                "all => all.map(each => [each.getBoundingClientRect().left, each.getBoundingClientRect().right,"
                " each.scrollWidth <= each.clientWidth])"
            ):
                assert box[0] >= 0
                assert box[1] <= 1000
                assert box[2], "its text fits"
            look.require_usable()
            look.keep(f"verification-{'dark' if dark else 'light'}")
