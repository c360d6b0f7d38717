"""The end of a process: what runs ends before anybody else may begin."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from seawall.api.meta import Key
from seawall.handlers import operator
from seawall.handlers.event_filter import Subject
from seawall.handlers.queues import Queues
from seawall.reconciler import Outcome, Ticked

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
