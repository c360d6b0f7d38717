"""One work queue for each kind, each with threads of its own.

So objects whose outside hangs keep only the threads of their own kind busy, and delay no object of another. Objects of
one WALCluster hang together: they keep half of these threads at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from seawall.api.meta import Key
from seawall.handlers.event_filter import Subject
from seawall.reconciler import Ticked
from seawall.workqueue import WorkQueue


class Queues:
    """The work queues of all kinds that have a controller.

    Args:
        ticks: kind → its tick.
        workers: how many objects of one kind are reconciled at the same time.
        resync: seconds after which an object that waits for nothing is looked at again.
    """

    def __init__(self, ticks: Mapping[str, Callable[[Key], Ticked]], workers: int, resync: float) -> None:
        self._pools = {kind: ThreadPoolExecutor(workers, thread_name_prefix=f"tick-{kind}") for kind in ticks}
        half = max(1, workers // 2)
        self._queues = {kind: WorkQueue(tick, self._pools[kind], resync, half) for kind, tick in ticks.items()}

    def wake(self, subject: Subject) -> None:
        """Makes an object due now, if anything is done for its kind. Call it in the loop's thread."""
        if subject.kind in self._queues:
            self._queues[subject.kind].wake(subject.key, subject.family)

    def set_active(self, *, active: bool) -> None:
        """Starts or stops handing out work: only the leader's queues are active."""
        for queue in self._queues.values():
            queue.set_active(active=active)

    async def run(self) -> None:
        """Hands out work until it is cancelled."""
        async with asyncio.TaskGroup() as running:
            for queue in self._queues.values():
                running.create_task(queue.run())

    def drain(self) -> None:
        """Waits until no tick runs any more; blocks."""
        for pool in self._pools.values():
            pool.shutdown()
