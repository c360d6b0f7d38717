"""The queues of several kinds side by side."""

import asyncio
import threading

from seawall.api.meta import Key
from seawall.handlers.event_filter import Subject
from seawall.handlers.queues import Queues
from seawall.reconciler import Outcome, Ticked

DONE = Ticked(Outcome.WAITING, None)
BOUND = 30


def test_a_kind_whose_ticks_all_hang_delays_no_other() -> None:
    release, hanging, done = threading.Event(), threading.Semaphore(0), threading.Event()

    def hang(_: Key) -> Ticked:
        hanging.release()
        release.wait(BOUND)
        return DONE

    def finish(_: Key) -> Ticked:
        done.set()
        return DONE

    async def live() -> bool:
        queues = Queues({"Hangs": hang, "Works": finish}, workers=2, resync=BOUND)
        queues.set_active(active=True)
        running = asyncio.create_task(queues.run())
        for name in "abc":
            queues.wake(Subject("Hangs", Key("db", name)))
        for _ in range(2):
            assert await asyncio.to_thread(hanging.acquire, timeout=BOUND)
        queues.wake(Subject("Works", Key("db", "a")))
        was_done = await asyncio.to_thread(done.wait, BOUND)
        release.set()
        running.cancel()
        await asyncio.to_thread(queues.drain)
        return was_done

    assert asyncio.run(live())


def test_objects_of_a_wal_cluster_that_all_hang_delay_none_of_another() -> None:
    """As holds of one whose Kafka is silent: there are more of them than threads."""
    release, hanging, done = threading.Event(), threading.Semaphore(0), threading.Event()

    def look(key: Key) -> Ticked:
        if key.name == "well":
            done.set()
            return DONE
        hanging.release()
        release.wait(BOUND)
        return DONE

    async def live() -> bool:
        queues = Queues({"WALHold": look}, workers=4, resync=BOUND)
        queues.set_active(active=True)
        running = asyncio.create_task(queues.run())
        for name in "abcdef":
            queues.wake(Subject("WALHold", Key("db", name), Key("db", "silent")))
        for _ in range(2):
            assert await asyncio.to_thread(hanging.acquire, timeout=BOUND)
        queues.wake(Subject("WALHold", Key("db", "well"), Key("db", "other")))
        was_done = await asyncio.to_thread(done.wait, BOUND)
        release.set()
        running.cancel()
        await asyncio.to_thread(queues.drain)
        return was_done

    assert asyncio.run(live())


def test_a_kind_without_a_controller_is_not_looked_at_and_names_do_not_mix() -> None:
    recorded, done = [], threading.Event()

    def see(key: Key) -> Ticked:
        recorded.append(key)
        done.set()
        return DONE

    async def live() -> None:
        queues = Queues({"WALCluster": see}, workers=1, resync=BOUND)
        queues.set_active(active=True)
        running = asyncio.create_task(queues.run())
        queues.wake(Subject("WALPurge", Key("db", "wal")))
        queues.wake(Subject("WALCluster", Key("db", "mine")))
        assert await asyncio.to_thread(done.wait, BOUND)
        running.cancel()
        await asyncio.to_thread(queues.drain)

    asyncio.run(live())
    assert recorded == [Key("db", "mine")]


def test_queues_that_do_not_lead_hand_out_nothing_until_they_do() -> None:
    recorded, done = [], threading.Event()

    def see(key: Key) -> Ticked:
        recorded.append(key)
        done.set()
        return DONE

    async def live() -> None:
        queues = Queues({"WALCluster": see}, workers=1, resync=BOUND)
        running = asyncio.create_task(queues.run())
        queues.wake(Subject("WALCluster", Key("db", "mine")))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not recorded
        queues.set_active(active=True)
        assert await asyncio.to_thread(done.wait, BOUND)
        running.cancel()
        await asyncio.to_thread(queues.drain)

    asyncio.run(live())
