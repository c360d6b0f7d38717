"""The work queue: one tick at a time for an object, no lost wake-up, no hot loop."""

import asyncio
import math
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.api.meta import Key
from seawall.domain.times import QUEUE_ALIGNED_PART, QUEUE_BACKOFF_SECONDS
from seawall.reconciler import Outcome, Ticked
from seawall.workqueue import FREE_STEPS, WorkQueue, _Entry, aligned

A, B = Key("default", "a"), Key("default", "b")
NEVER = 3600.0
DEADLINE = 20.0


def run(
    tick: Callable[[Key], Ticked],
    test: Callable[[WorkQueue], Awaitable[None]],
    resync: float = NEVER,
    family_limit: float = math.inf,
) -> None:
    """Runs a test beside a running, active queue."""

    async def main() -> None:
        with ThreadPoolExecutor(4) as executor:
            queue = Counted(tick, executor, resync, family_limit)
            queue.set_active(active=True)
            running = asyncio.create_task(queue.run())
            try:
                async with asyncio.timeout(DEADLINE):
                    await test(queue)
            finally:
                running.cancel()

    asyncio.run(main())


class Counted(WorkQueue):
    """Counts how often it looks for what to hand out."""

    looks = 0

    async def _until_next(self, now: float) -> None:
        self.looks += 1
        await super()._until_next(now)


async def until(condition: Callable[[], bool]) -> None:
    """Waits; the deadline of the test bounds it."""
    while not condition():  # noqa: ASYNC110 - the condition is set by another thread
        await asyncio.sleep(0.005)


def test_wakes_before_the_tick_are_one_tick() -> None:
    ticks: list[Key] = []

    def tick(key: Key) -> Ticked:
        ticks.append(key)
        return Ticked(Outcome.WAITING)

    async def test(queue: WorkQueue) -> None:
        for _ in range(100):
            queue.wake(A)
        queue.wake(B)
        await until(lambda: len(ticks) == 2)
        await asyncio.sleep(0.05)

    run(tick, test)
    assert sorted(ticks) == [A, B]


def test_a_wake_during_a_tick_is_not_lost_and_never_runs_beside_it() -> None:
    entered, go_on = threading.Event(), threading.Event()
    running, most, count = 0, 0, 0

    def tick(_: Key) -> Ticked:
        nonlocal running, most, count
        running += 1
        count += 1
        most = max(most, running)
        entered.set()
        go_on.wait(DEADLINE)
        running -= 1
        return Ticked(Outcome.WAITING)

    async def test(queue: WorkQueue) -> None:
        queue.wake(A)
        await until(entered.is_set)
        queue.wake(A)
        queue.wake(A)
        await asyncio.sleep(0.05)
        go_on.set()
        await until(lambda: count == 2)

    run(tick, test)
    assert most == 1


def test_a_blocked_object_delays_no_other() -> None:
    go_on, done = threading.Event(), threading.Event()

    def tick(key: Key) -> Ticked:
        if key == A:
            go_on.wait(DEADLINE)
        else:
            done.set()
        return Ticked(Outcome.WAITING)

    async def test(queue: WorkQueue) -> None:
        queue.wake(A)
        queue.wake(B)
        await until(done.is_set)
        go_on.set()

    run(tick, test)


def test_a_family_takes_no_more_threads_than_its_share_and_all_of_it_get_their_turn() -> None:
    """All holds of a WALCluster whose Kafka is silent wait for its deadline."""
    go_on, done = threading.Event(), threading.Event()
    ticks: Counter[Key] = Counter()
    running, most, lock = 0, 0, threading.Lock()

    def tick(key: Key) -> Ticked:
        nonlocal running, most
        if key.name == "other":
            done.set()
            return Ticked(Outcome.WAITING)
        with lock:
            running += 1
            most = max(most, running)
            ticks[key] += 1
        go_on.wait(DEADLINE)
        with lock:
            running -= 1
        return Ticked(Outcome.WAITING)

    async def test(queue: WorkQueue) -> None:
        for number in range(8):
            queue.wake(Key("db", f"slow-{number}"), A)
        await until(lambda: running == 2)
        queue.wake(Key("db", "other"), B)
        await until(done.is_set)
        looks = cast("Counted", queue).looks
        await asyncio.sleep(0.05)
        assert cast("Counted", queue).looks <= looks + 2, "who has no room is not looked for again and again"
        go_on.set()
        await until(lambda: len(ticks) == 8)

    run(tick, test, family_limit=2)
    assert most == 2
    assert set(ticks.values()) == {1}


def test_of_a_family_who_has_waited_for_longest_comes_first() -> None:
    """Those that were met first are due again all the time."""
    ticks: list[str] = []

    def tick(key: Key) -> Ticked:
        ticks.append(key.name)
        return Ticked(Outcome.ACTED, 0.0)

    async def test(queue: WorkQueue) -> None:
        for name in ("first", "second", "third"):
            queue.wake(Key("db", name), A)
        await until(lambda: len(ticks) >= 6)

    run(tick, test, family_limit=1)
    assert ticks[:6] == ["first", "second", "third"] * 2


def test_a_wake_that_knows_no_family_keeps_the_one_that_is_known() -> None:
    go_on = threading.Event()
    running: set[str] = set()

    def tick(key: Key) -> Ticked:
        running.add(key.name)
        go_on.wait(DEADLINE)
        return Ticked(Outcome.WAITING)

    async def test(queue: WorkQueue) -> None:
        queue.wake(Key("db", "first"), A)
        await until(lambda: len(running) == 1)
        queue.wake(Key("db", "second"), A)
        queue.wake(Key("db", "second"))
        await asyncio.sleep(0.05)
        assert running == {"first"}
        go_on.set()
        await until(lambda: len(running) == 2)

    run(tick, test, family_limit=1)


@pytest.mark.parametrize("failing", [True, False])
def test_a_tick_that_fails_is_tried_again_and_one_that_waits_is_resynced(*, failing: bool) -> None:
    count = 0

    def tick(_: Key) -> Ticked:
        nonlocal count
        count += 1
        if failing:
            raise RuntimeError("bug")
        return Ticked(Outcome.WAITING)

    async def test(queue: WorkQueue) -> None:
        queue.wake(A)
        await until(lambda: count == 3)

    run(tick, test, resync=NEVER if failing else 0.01)


def test_an_object_that_is_gone_is_forgotten_until_it_is_woken() -> None:
    ticks: Counter[Key] = Counter()

    def tick(key: Key) -> Ticked:
        ticks[key] += 1
        return Ticked(Outcome.GONE)

    async def test(queue: WorkQueue) -> None:
        queue.wake(A)
        await until(lambda: ticks[A] == 1)
        await asyncio.sleep(0.05)
        assert ticks[A] == 1
        queue.wake(A)
        await until(lambda: ticks[A] == 2)

    run(tick, test, resync=0.01)


def test_steps_without_a_wait_are_slowed_down() -> None:
    count = 0

    def tick(_: Key) -> Ticked:
        nonlocal count
        count += 1
        return Ticked(Outcome.ACTED, 0.0)

    async def test(queue: WorkQueue) -> None:
        queue.wake(A)
        await until(lambda: count > FREE_STEPS)
        await asyncio.sleep(QUEUE_BACKOFF_SECONDS[1] / 2)

    run(tick, test)
    assert count <= FREE_STEPS + 2


def test_only_an_active_queue_hands_out_work() -> None:
    count = 0

    def tick(_: Key) -> Ticked:
        nonlocal count
        count += 1
        return Ticked(Outcome.WAITING)

    async def test(queue: WorkQueue) -> None:
        queue.set_active(active=False)
        queue.wake(A)
        await asyncio.sleep(0.05)
        assert count == 0
        queue.set_active(active=True)
        await until(lambda: count == 1)

    run(tick, test)


@given(now=st.floats(0, 1e7), pause=st.floats(0.01, 3600))
def test_a_pause_that_is_aligned_is_never_longer_and_at_most_a_tenth_shorter(now: float, pause: float) -> None:
    due = aligned(now, pause)
    assert due <= now + pause * (1 + 1e-9)
    assert due > now + pause * (1 - QUEUE_ALIGNED_PART) - 1e-6


def test_objects_that_pause_for_as_long_come_together_in_ten_groups() -> None:
    dues = {aligned(1_020 + number * 0.06, 60.0) for number in range(1_000)}
    assert len(dues) == 10
    assert {aligned(due + 0.5, 60.0) - due for due in dues} == {60.0}, "they stay together"


def test_short_pauses_and_errors_are_as_long_as_they_are() -> None:
    queue, entry = WorkQueue(lambda _: Ticked(Outcome.WAITING), ThreadPoolExecutor(1), 60.0), _Entry(0.0)
    assert queue._due(1.0, entry, Ticked(Outcome.WAITING, 10.0)) == 11.0
    assert queue._due(1.0, entry, Ticked(Outcome.WAITING, 30.0)) == 30.0
    assert queue._due(1.0, entry, Ticked(Outcome.WAITING)) == 60.0
    entry.errors = len(QUEUE_BACKOFF_SECONDS)
    assert queue._due(1.0, entry, Ticked(Outcome.ERROR)) > 1.0 + 0.8 * QUEUE_BACKOFF_SECONDS[-1]


@pytest.mark.parametrize("steps", range(6))
def test_one_that_is_cancelled_while_something_has_just_changed_ends(steps: int) -> None:
    """Found by a test that hung: asyncio.wait_for of Python 3.11 forgot it, and no process would have stopped."""

    async def main() -> bool:
        with ThreadPoolExecutor(1) as executor:
            queue = Counted(lambda _: Ticked(Outcome.WAITING), executor, NEVER)
            running = asyncio.create_task(queue.run())
            queue.set_active(active=True)
            queue.wake(A)
            await until(lambda: queue.looks > 1)  # since then it waits until A is due again
            queue.set_active(active=True)
            for _ in range(steps):
                await asyncio.sleep(0)
            running.cancel()
            ended, _ = await asyncio.wait([running], timeout=1)
            running.cancel()
            return bool(ended)

    assert asyncio.run(main())


def test_who_is_switched_on_again_while_a_tick_runs_ticks_its_object_once_more_at_once() -> None:
    """Found by a review: what that tick began by is of before, and the next look was a resync away."""
    begun, goes_on, ticks = threading.Event(), threading.Event(), list[Key]()

    def tick(key: Key) -> Ticked:
        ticks.append(key)
        begun.set()
        goes_on.wait(DEADLINE)
        return Ticked(Outcome.WAITING)

    async def test(queue: WorkQueue) -> None:
        queue.wake(A)
        await until(begun.is_set)
        queue.set_active(active=False)
        queue.set_active(active=True)
        goes_on.set()
        await until(lambda: len(ticks) > 1)

    run(tick, test)
