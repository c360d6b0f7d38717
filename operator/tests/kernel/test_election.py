"""Only a process that watches runs for the Lease: one that hears of nothing would keep it from one that does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import pytest

from seawall.handlers import operator
from seawall.handlers.operator import Operator
from seawall.handlers.watch import Watcher
from tests.support.election import candidate
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten

BOUND = 1000
"""Rounds of an election, which take no time here."""


@dataclass
class Life:
    """A process in an election.

    Attributes:
        watches: whether its watcher does.
        lasts: how many rounds a Lease is its own that is not renewed any more.
        asked: how often it ran for the Lease.
        led: in each round so far, whether it led.
    """

    watches: bool = False
    lasts: int = 3
    asked: int = 0
    led: list[bool] = field(default_factory=list)
    _left: int = 0

    def try_hold(self) -> bool:
        """Nobody else wants it."""
        self.asked, self._left = self.asked + 1, self.lasts
        return True

    def is_leader(self) -> bool:
        """Each question is a round later."""
        self._left = max(0, self._left - 1)
        return self._left > 0

    def live(self, until: Callable[[], bool]) -> None:
        """Goes on until something is so."""
        asyncio.run(self._live(until))

    async def _live(self, until: Callable[[], bool]) -> None:
        with ThreadPoolExecutor(1) as elector:
            queues = SimpleNamespace(set_active=lambda *, active: self.led.append(active))
            lease = SimpleNamespace(try_hold=self.try_hold, is_leader=self.is_leader)
            watcher = SimpleNamespace(is_watching=lambda: self.watches)
            election = asyncio.create_task(Operator._elect(candidate(elector, queues, lease=lease, watcher=watcher)))
            for _ in range(BOUND):
                if until():
                    break
                await asyncio.sleep(0.001)
            election.cancel()
            await asyncio.wait([election])
            if not election.cancelled():
                election.result()  # what it died of
        assert until(), self.led


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "LEASE_RETRY_SECONDS", 0.001)
    monkeypatch.setattr(operator, "LEASE_AWAITS_WATCH_SECONDS", 0.001)


def test_who_does_not_watch_yet_does_not_run_for_the_lease() -> None:
    life = Life()
    life.live(lambda: len(life.led) > 5)
    assert (life.asked, set(life.led)) == (0, {False})
    life.watches = True
    life.led.clear()
    life.live(lambda: len(life.led) > 2)
    assert set(life.led) == {True}
    assert life.asked >= len(life.led)


def test_who_watches_no_more_does_not_renew_it_and_leads_until_it_is_over() -> None:
    life = Life(watches=True)
    life.live(lambda: len(life.led) > 2)
    life.watches = False
    life.led.clear()
    asked = life.asked
    life.live(lambda: life.led[-1:] == [False])
    assert life.asked == asked
    assert life.led[:3] == [True, True, False]


def test_a_watcher_watches_from_when_it_is_ready_until_it_has_ended() -> None:
    watcher = Watcher((), lambda _: None)
    assert not watcher.is_watching()
    watcher.ready.set()
    assert watcher.is_watching()
    watcher._thread = cast("threading.Thread", SimpleNamespace(ident=1, is_alive=lambda: False))
    assert not watcher.is_watching()


def test_the_lease_is_not_run_for_blindly() -> None:
    survivors = find_survivors(
        [
            (
                rewritten(Operator, "_elect", "self._lease.try_hold if watches else self._lease.is_leader", guard),
                story,
            )
            for guard, story in (
                ("self._lease.try_hold", test_who_does_not_watch_yet_does_not_run_for_the_lease),
                ("self._lease.try_hold", test_who_watches_no_more_does_not_renew_it_and_leads_until_it_is_over),
                (
                    "self._lease.try_hold if watches else bool",
                    test_who_watches_no_more_does_not_renew_it_and_leads_until_it_is_over,
                ),
            )
        ]
    )
    assert not survivors
