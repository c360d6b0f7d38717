"""The page of `seawall ui` in a real Chromium: what it shows, to whom, and that people can use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import pytest
from aiohttp import web
from playwright.sync_api import Browser, expect

from seawall.api.pages import PERSON_HEADER
from seawall.domain.ledger.observation import Unavailable, UnavailableReason
from seawall.domain.ledger.page import LedgerPage, TopicLine
from seawall.domain.ledger.reasons import Reason
from seawall.domain.overview.snapshot import Leader
from seawall.domain.overview.topic_bars import SHOWN
from seawall.handlers.access import Gate
from seawall.handlers.ui.reading import Reading
from seawall.handlers.ui.routes import add_ui
from seawall.ports import Access
from tests.browser.conftest import served
from tests.cli.status_stories import NAMESPACE, STORIES, WAL, Story, api_server
from tests.cli.test_status_command import NOW
from tests.domain.purges import make_line
from tests.fakes.access import FakeAccessReviews
from tests.support.browser import Visit, visit
from tests.support.clock import Time

pytestmark = pytest.mark.integration

EVERYTHING = [
    Access(verb, f"wal{plural}", "")
    for verb in ("get", "list")
    for plural in (
        "clusters", "purgepolicies", "purges", "holds", "verifications", "backups", "backuppolicies", "restores",
        "subscriptions",
    )
]  # fmt: skip
ADA = {PERSON_HEADER: "Bearer ada"}
CLUSTER = f"ui/walclusters/{WAL.namespace}/{WAL.name}"
LINES = [
    make_line("wal_0", 7 * 2**30, Reason.NO_POLICY),
    make_line("wal_1", 2**30),
    make_line("wal_2", None, Reason.FENCE_BROKEN),
]

Look = Callable[..., "Iterator[Visit]"]


def pages_of(
    story: Story,
    lines: Sequence[TopicLine] = LINES,
    may: Sequence[Access] = EVERYTHING,
    ledger: Unavailable | None = None,
) -> web.Application:
    """The operator's pages about a story, for Ada, who may read so much."""
    looked = LedgerPage(tuple(lines), NOW - timedelta(seconds=3)) if ledger is None else ledger
    clock = Time()
    clock.time = NOW
    leader = Leader("seawall/seawall", "seawall-0", NOW)
    app = web.Application()
    add_ui(
        app, Reading(api_server(story), lambda _: looked, lambda: leader, clock), Gate(FakeAccessReviews(ada=may), None)
    )
    return app


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["healthy", "trouble", "roll", "moving", "subscriptions", "new"])
def test_every_state_can_be_read_and_used_by_everybody(chromium: Browser, name: str, *, dark: bool) -> None:
    with served(pages_of(STORIES[name])) as address, visit(chromium, dark=dark, headers=ADA) as look:
        for path, kept in (("ui/", "index"), (CLUSTER, name)):
            look.page.goto(address + path)
            look.require_usable()
            look.require_clean(address)
            look.keep(f"{kept}-{'dark' if dark else 'light'}")
        ground = look.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(20, 24, 28)" if dark else "rgb(255, 255, 255)")


def test_a_narrow_window_shows_all_of_it(chromium: Browser) -> None:
    with served(pages_of(STORIES["trouble"])) as address, visit(chromium, headers=ADA, width=360) as look:
        look.page.goto(address + CLUSTER)
        assert look.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "only tables scroll sideways"
        look.require_usable()
        look.keep("narrow")


def test_findings_are_newest_first_and_lead_to_what_to_do(chromium: Browser) -> None:
    with served(pages_of(STORIES["trouble"])) as address, visit(chromium, headers=ADA) as look:
        look.page.goto(address + CLUSTER)
        times = look.page.locator(".findings time").evaluate_all("all => all.map(each => each.dateTime)")
        assert times == sorted(times, reverse=True)
        assert len(times) > 3
        look.page.get_by_role("link", name="What to do about LogStartBeyondReplay").click()
        expect(look.page.get_by_role("heading", level=1)).to_have_text("LogStartBeyondReplay")
        expect(look.page.locator("dt").nth(1)).to_have_text("what to do")
        look.require_usable()
        look.page.get_by_role("link", name="Seawall").click()
        look.page.get_by_role("link", name=str(WAL)).click()
        expect(look.page.get_by_role("heading", level=1)).to_contain_text(f"WALCluster {WAL}")
        look.require_clean(address)


def test_bars_show_where_a_log_is_held_and_by_whom(chromium: Browser) -> None:
    with served(pages_of(STORIES["healthy"])) as address, visit(chromium, headers=ADA) as look:
        look.page.goto(address + CLUSTER)
        bar = look.page.get_by_role("img", name="start 0, marker 50, floor 50, end 100").first
        assert bar.is_visible()
        row = look.page.get_by_role("row", name="wal_1")
        parts = {
            kind: row.locator(f"svg rect.{kind}").evaluate("each => [each.x.baseVal.value, each.width.baseVal.value]")
            for kind in ("purgeable", "kept")
        }
        assert parts == {"purgeable": [0, 50], "kept": [50, 50]}
        expect(row).to_contain_text("region 1 on datanode 1")
        expect(row).to_contain_text("1.0 GiB")
        assert look.page.get_by_role("row", name="wal_0").locator("rect.purgeable").count() == 0


def test_progress_is_told_to_eyes_and_ears(chromium: Browser) -> None:
    with served(pages_of(STORIES["moving"])) as address, visit(chromium, headers=ADA) as look:
        look.page.goto(address + CLUSTER)
        bar = look.page.get_by_role("progressbar", name="Reassignment wal")
        assert (bar.get_attribute("value"), bar.get_attribute("max")) == (str(3 * 2**30), str(4 * 2**30))
        expect(look.page.locator(".running")).to_contain_text("3.0 GiB of 4.0 GiB (75 %)")


def test_a_thousand_topics_are_pages_that_a_keyboard_gets_through(chromium: Browser) -> None:
    lines = [make_line(f"wal_{number}", 2**20 * (number + 1)) for number in range(1000)]
    with served(pages_of(STORIES["healthy"], lines)) as address, visit(chromium, headers=ADA) as look:
        look.page.goto(address + CLUSTER)
        assert look.page.locator("table.topics tbody tr").count() == SHOWN
        assert look.page.locator("table.topics tbody th").first.inner_text() == "wal_999"
        assert len(look.page.content()) < 300_000
        look.require_usable()
        look.keep("thousand-topics")
        look.page.keyboard.press("Tab")
        expect(look.page.get_by_role("link", name="Skip to the content")).to_be_focused()
        look.page.keyboard.press("Enter")
        look.page.get_by_label("Topics like").focus()
        look.page.keyboard.type("wal_12?")
        look.page.keyboard.press("Enter")
        expect(look.page.locator("table.topics tbody tr")).to_have_count(10)
        look.page.get_by_label("Topics like").fill("")
        look.page.keyboard.press("Enter")
        look.page.get_by_role("link", name="Page 10 of topics").focus()
        look.page.keyboard.press("Enter")
        expect(look.page.locator("table.topics tbody th").last).to_have_text("wal_0")
        look.require_clean(address)


def test_who_may_not_see_it_is_told_so(chromium: Browser) -> None:
    """Bob shows nothing; Ada may get one WALCluster and list nothing."""
    few = [Access("get", "walclusters", NAMESPACE, WAL.name)]
    with served(pages_of(STORIES["healthy"], may=few)) as address:
        with visit(chromium) as look:
            for path in ("ui/", CLUSTER, "ui/reasons/Ready"):
                assert (answer := look.page.goto(address + path)) is not None
                assert answer.status == 403
                assert "show your token" in look.page.locator("main").inner_text()
        with visit(chromium, headers=ADA) as look:
            look.page.goto(address + "ui/")
            look.page.get_by_role("link", name=str(WAL)).click()
            findings = look.page.locator(".findings").inner_text()
            assert "walholds could not be read: you may not list walholds in namespace db" in findings
            assert (answer := look.page.goto(f"{address}ui/walclusters/{NAMESPACE}/other")) is not None
            assert (answer.status, "or you may not see it" in look.page.content()) == (404, True)


def test_a_ledger_that_cannot_be_read_says_why(chromium: Browser) -> None:
    why = Unavailable(UnavailableReason.KUBERNETES, "the API server <b>does not</b> answer")
    with served(pages_of(STORIES["healthy"], ledger=why)) as address, visit(chromium, headers=ADA) as look:
        look.page.goto(address + CLUSTER)
        expect(look.page.locator("main")).to_contain_text("the API server <b>does not</b> answer")
        look.require_clean(address)
