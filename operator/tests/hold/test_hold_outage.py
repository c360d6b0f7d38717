"""Holds whose holders could not renew them, because the API server was away: for the operator, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seawall.api.v1alpha1.hold import HoldState
from seawall.domain.ledger.held import Hold
from tests.domain.ledger.test_holds import FRESH, NOW, VIEW
from tests.domain.ledger.test_holds import settle as settle_value
from tests.hold.test_wal_hold import HOLD, granter, message, place, read, settle, stay
from tests.worlds.purge_world import World

MINUTE = timedelta(minutes=1)
GRANTED = {HoldState.ACTIVE, HoldState.EXTENDED, HoldState.AT_RISK}


def renew(world: World, **spec: int) -> None:
    place(world, topics={"wal_0": 5}, ttl="10m", renewTime=world.time.time.isoformat(), **spec)


@pytest.mark.parametrize("age", [1, 4, 6, 9])
@pytest.mark.parametrize("limits", [{}, {"maxLagBytes": "near"}])
def test_a_holder_who_renews_in_time_loses_nothing_by_an_outage(age: int, limits: dict[str, str]) -> None:
    """It is `age` minutes old when the API server goes; then it is renewed within three minutes, as ever."""
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    renew(world)
    process = granter(world)
    near = {name: int((settle(world, process).status.lag_bytes or 0) * 1.1) for name in limits}
    renew(world, **near)
    before = stay(world, process, age)
    assert (before.status.state is HoldState.AT_RISK) == (bool(limits) or age == 9)
    world.time.time += timedelta(hours=2)
    process = granter(world)
    assert stay(world, process, 3).status.state is HoldState.AT_RISK
    if not limits:  # a delete changes how many bytes a record has by the mean
        world.start_run()
        world.settle()
        assert world.log_starts()["wal_0"] <= 5
    renew(world, **near)
    assert settle(world, process).status.state in GRANTED
    assert read(world).status.unrenewed is None
    assert stay(world, process, 4).status.state in GRANTED


def test_what_is_written_while_nobody_renews_says_nothing_new() -> None:
    world = World()
    place(world, topics={"wal_0": 3}, ttl="10m")
    process = granter(world)
    before = message(settle(world, process))
    due = stay(world, process, 6)
    assert due.status.unrenewed is not None
    assert message(due) == before


@pytest.mark.parametrize(
    "ttl", [timedelta(seconds=40), timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=6)]
)
@pytest.mark.parametrize("outage", [timedelta(0), timedelta(days=1)])
def test_who_never_renews_loses_it_when_its_ttl_is_over_and_half_a_ttl_after_an_outage_at_the_latest(
    ttl: timedelta, outage: timedelta
) -> None:
    """By the operator's own schedule, which is late by a second each time."""
    world = World()
    place(world, topics={"wal_0": 3}, ttl=f"{ttl.seconds}s")
    process = granter(world)
    settle(world, process)
    world.time.time += outage
    began = world.time.time
    while read(world).status.state is not HoldState.LOST:
        world.time.time += timedelta(seconds=(process.tick(HOLD).after or 0) + 1)
        assert world.time.time < began + 3 * ttl
    expected = ttl / 2 if outage else ttl
    assert expected - MINUTE / 60 <= world.time.time - began <= expected + timedelta(seconds=10)


class Holder:
    """Who renews a hold some time after the API server is back, and then at each period, while it is there."""

    def __init__(self, ttl: timedelta, period: timedelta) -> None:
        self.hold: Hold = settle_value(replace(FRESH, ttl=ttl))
        self.period = period
        self.now = NOW

    def live(self, length: timedelta, delay: timedelta) -> None:
        """The API server is there for so long; the operator, which remembers nothing, comes by at least so often."""
        step, end = min(MINUTE, self.hold.ttl / 12), self.now + length
        renews = self.now + delay
        while self.now < end:
            if self.now >= renews:
                self.hold, renews = replace(self.hold, renew_time=self.now), renews + self.period
            self.hold = settle_value(self.hold, VIEW, self.now)
            assert self.hold.state in GRANTED
            self.now = min(self.now + step, end, max(renews, self.now + timedelta(seconds=1)))


SHARES, ANY = st.floats(0, 1), st.floats(0, 4)


def live_through(minutes: int, times: Sequence[tuple[float, float, float]]) -> None:
    """For how much of a period the API server is there, after how much it is renewed, of how much ttl the outage is."""
    ttl = timedelta(minutes=minutes)
    holder = Holder(ttl, ttl / 3)
    for there, delay, away in times:
        holder.live(holder.period * there, holder.period * delay)
        holder.now += ttl * away
    holder.live(holder.period * 3, holder.period)


@example(7, [(1.01, 1.0, 1.0), (1.01, 1.0, 0.0)])
@given(minutes=st.integers(7, 60), times=st.lists(st.tuples(st.floats(1.01, 4), SHARES, st.one_of(SHARES, ANY))))
def test_a_hold_that_is_renewed_each_third_of_its_ttl_is_never_lost_by_outages_of_any_length(
    minutes: int, times: Sequence[tuple[float, float, float]]
) -> None:
    """Between which the API server is there for a third of the ttl and a moment: he renews after a third at the latest.

    One that goes in that very moment lets nobody renew, and if it is back at once, that was no outage.
    """
    live_through(minutes, times)


@example(12, [(1.5, 1.0, 2.0), (0.6, 1.0, 2.0)])
@given(minutes=st.integers(12, 60), times=st.lists(st.tuples(ANY, SHARES, st.floats(0.17, 4)), max_size=6))
def test_a_hold_that_is_renewed_each_third_of_its_ttl_is_never_lost_by_outages_in_a_row(
    minutes: int, times: Sequence[tuple[float, float, float]]
) -> None:
    """However short the API server is there between them, if each is longer than a sixth of the ttl."""
    live_through(minutes, times)


def test_a_clock_that_was_set_back_begins_the_time_anew_and_ends_it() -> None:
    ttl = timedelta(hours=1)
    due = settle_value(settle_value(replace(FRESH, ttl=ttl)), VIEW, NOW + timedelta(days=9))
    assert due.unrenewed is not None
    hold = due
    for passed in range(0, 32, 4):
        hold = settle_value(hold, VIEW, NOW + ttl + passed * MINUTE)
        assert hold.state in GRANTED or passed >= 30
    assert settle_value(hold, VIEW, NOW + ttl + 32 * MINUTE).state is HoldState.LOST
