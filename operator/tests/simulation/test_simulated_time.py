"""Virtual time passes whatever is asked, so that no run stands still."""

from __future__ import annotations

import asyncio

from tests.simulation.clocks import VirtualLoop
from tests.support.clock import Time


def test_who_is_due_a_hair_later_is_not_asked_for_ever() -> None:
    loop, asked = VirtualLoop(Time()), 0

    async def wait_until(due: float) -> None:
        nonlocal asked
        while loop.time() < due and asked < 100:
            asked += 1
            await asyncio.sleep(max(0.0, due - loop.time()))

    loop.run_until_complete(wait_until(1e-10))  # below the resolution of a loop's clock: a timer fires at once
    loop.close()
    assert asked < 100


def test_who_sleeps_wakes_up_when_it_is_due() -> None:
    loop = VirtualLoop(Time())
    loop.run_until_complete(asyncio.sleep(3_600))
    assert 3_600 <= loop.time() < 3_600.001
    loop.close()
