"""The end of a process: what runs ends before anybody else may begin."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from seawall.api.meta import Key
from seawall.handlers import operator
from seawall.handlers.event_filter import Subject
from seawall.handlers.operator import Operator
from seawall.handlers.queues import Queues
from seawall.reconciler import Outcome, Ticked
from tests.support.election import candidate
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten

BOUND = 30
WALS = Subject("WALCluster", Key("db", "wal"))


def hand_over_while_a_tick_runs(*, ends: bool) -> list[str]:
    """What happens, in order, at the end of a process with a running tick, which may hang for longer than is waited."""
    begun, goes_on, order = threading.Event(), threading.Event(), []

    def tick(_: Key) -> Ticked:
        begun.set()
        goes_on.wait(BOUND)
        order.append("the tick ends")
        return Ticked(Outcome.WAITING, None)

    async def live() -> None:
        queues = Queues({WALS.kind: tick}, workers=1, resync=BOUND)
        queues.set_active(active=True)
        running = asyncio.create_task(queues.run())
        queues.wake(WALS)
        assert await asyncio.to_thread(begun.wait, BOUND)
        running.cancel()
        if ends:
            asyncio.get_running_loop().call_later(0.05, goes_on.set)
        with ThreadPoolExecutor(1) as elector:
            await operator.hand_over(queues, elector, lambda: order.append("the Lease is given back"))
        order.append("the process ends")
        goes_on.set()

    asyncio.run(live())
    return order


def test_the_lease_is_given_back_once_the_running_ticks_have_ended() -> None:
    assert hand_over_while_a_tick_runs(ends=True) == ["the tick ends", "the Lease is given back", "the process ends"]


def test_the_lease_is_not_given_back_while_a_tick_still_acts(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(operator, "OPERATOR_DRAIN_SECONDS", 0.05)
    assert hand_over_while_a_tick_runs(ends=False) == ["the process ends", "the tick ends"]
    assert "ticks still run" in caplog.text, "who reads the log knows why the next leader waits"


def stop_while_a_tick_runs(objects: int) -> list[str]:
    """What happens, in order, when a leader stops whose one thread has a tick, and whose watcher takes its time."""
    begun, goes_on, order = threading.Event(), threading.Event(), list[str]()

    def tick(_: Key) -> Ticked:
        order.append("a tick begins")
        begun.set()
        goes_on.wait(BOUND)
        order.append("a tick ends")
        return Ticked(Outcome.WAITING, 0.0)

    def stop_watching() -> None:
        time.sleep(0.1)  # the election goes on meanwhile, if it does
        goes_on.set()
        time.sleep(0.2)  # time for further ticks
        order.append("the watcher ends")

    async def live() -> None:
        queues = Queues({WALS.kind: tick}, workers=1, resync=BOUND)
        with ThreadPoolExecutor(1) as elector:
            lease = SimpleNamespace(try_hold=lambda: True, release=lambda: order.append("the Lease is given back"))
            watcher = SimpleNamespace(stop=stop_watching, is_watching=lambda: True)
            process = candidate(elector, queues, lease=lease, watcher=watcher)
            tasks = [asyncio.create_task(work) for work in (queues.run(), Operator._elect(process))]
            for number in range(objects):
                queues.wake(Subject(WALS.kind, Key("db", f"wal-{number}")))
            assert await asyncio.to_thread(begun.wait, BOUND)
            await Operator._stop(process, tasks)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator, "LEASE_RETRY_SECONDS", 0.005)
        asyncio.run(live())
    return order


@pytest.mark.parametrize("objects", [1, 3])
def test_no_tick_begins_once_the_process_stops_although_it_leads_and_the_watcher_ends_late(objects: int) -> None:
    """Neither one that the election makes due anew, nor one that waits for a thread."""
    order = stop_while_a_tick_runs(objects)
    assert order == ["a tick begins", "a tick ends", "the Lease is given back", "the watcher ends"]


def one_object() -> None:
    test_no_tick_begins_once_the_process_stops_although_it_leads_and_the_watcher_ends_late(1)


def test_what_begins_ticks_has_to_end_before_the_watcher() -> None:
    loop = "    for task in tasks:\n"
    watcher_first = rewritten(Operator, "_stop", loop, f"    await asyncio.to_thread(self._watcher.stop)\n{loop}")
    assert not find_survivors([(watcher_first, one_object)])
