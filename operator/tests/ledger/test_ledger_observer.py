"""Looks that are shared: by whom, and by whom not."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.observe.ledger import LedgerObserver
from seawall_e2e.waiting import wait_until
from tests.worlds.purge_world import WAL, Calls, World

WAITING = 9


class Gate(Calls):
    """Counts looks; each waits at its first read of the database until it is let through."""

    def __init__(self, world: World) -> None:
        super().__init__(world.check)
        self.observer = 0
        self.open = threading.Event()
        self.before = self._count

    def _count(self, call: str) -> None:
        if call == "reports":
            self.observer += 1
            assert self.open.wait(60)


def wait_asked(observer: LedgerObserver, count: int) -> None:
    wait_until(lambda: observer._remembered[WAL].waiting == count, "all of them have asked")


def ask_many(world: World, gate: Gate, *later: Any) -> list[Observation | Unavailable]:
    """Somebody looks, many others ask meanwhile, and some more by other versions of the WALCluster."""
    observer, cluster = world.observer(gate), world.cluster()
    with ThreadPoolExecutor(2 * WAITING) as pool:
        asked: list[Future[Observation | Unavailable]] = [pool.submit(observer.observe, cluster)]
        wait_until(lambda: gate.observer == 1, "the first look has begun")
        asked += [pool.submit(observer.observe, cluster) for _ in range(WAITING)]
        asked += [pool.submit(observer.observe, other) for other in later]
        wait_asked(observer, len(asked))
        gate.open.set()
        return [each.result() for each in asked]


def test_all_who_ask_during_a_look_share_the_next_one_which_began_after_they_asked() -> None:
    world = World()
    gate = Gate(world)
    first, *others = ask_many(world, gate)
    assert gate.observer == 2
    assert isinstance(first, Observation)
    assert all(other is others[0] for other in others)
    assert others[0] is not first


def test_a_look_at_another_version_of_the_walcluster_is_not_shared() -> None:
    """It may be stopped, paused or readopted since."""
    world = World()
    gate = Gate(world)
    world.annotate(stop_deletes="yes")
    stopped = world.cluster()
    world.annotate()
    found = ask_many(world, gate, stopped)
    assert all(isinstance(each, Observation) for each in found)
    assert [each.read.stopped for each in found if isinstance(each, Observation)] == [False] * (WAITING + 1) + [True]
    assert gate.observer in {3, 4}


def test_a_look_that_is_over_is_not_kept_for_who_asks_later() -> None:
    world = World()
    gate = Gate(world)
    gate.open.set()
    observer = world.observer(gate)
    assert observer.observe(world.cluster()) is not observer.observe(world.cluster())
    assert gate.observer == 2


def test_that_nobody_can_look_is_shared_too() -> None:
    world = World()
    gate = Gate(world)
    world.data_plane.is_silent = True
    assert all(isinstance(each, Unavailable) for each in ask_many(world, gate))
    assert gate.observer == 2
