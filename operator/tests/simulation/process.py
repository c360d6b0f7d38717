"""One operator process: all controllers as they are wired, their work queues, and the filter of events; it may die."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WAL_CLUSTER
from seawall.api.v1alpha1.hold import WAL_HOLD
from seawall.handlers.event_filter import EventFilter, Subject
from seawall.handlers.terms import Terms
from seawall.handlers.wiring import Meters, Outside, Wiring, wire
from seawall.reconciler import Outcome, Ticked
from seawall.workqueue import WorkQueue
from tests.adversary.judge import Violation
from tests.fakes.kafka import FakeKafkaClusters
from tests.fakes.kafka_objects import FakeKafkaObjects
from tests.fakes.kafka_pods import FakeKafkaPods
from tests.fakes.meters import FakeMeters
from tests.fakes.object_store import FakeObjectStores
from tests.simulation.calls import Guarded, Tick
from tests.simulation.clocks import ProcessClock
from tests.support.mortal import Died

if TYPE_CHECKING:  # it imports this module
    from tests.simulation.run import Simulation

RESYNC_SECONDS = 60.0
GOES_ON = frozenset({Outcome.RECORDED, Outcome.ACTED, Outcome.CONFLICT})
SOON_SECONDS = 5.0
"""Who wants to look again within this has something to do."""


class Stopped(BaseException):
    """The run is over, because something is wrong. Not an Exception, so that nothing in the operator can catch it."""


class Process:
    """What dies with it: its memory, its queues, and what it has seen of objects.

    Attributes:
        name: of the pod.
        leads: whether it believes to be the leader, and is right, unless the Lease is broken.
        taken: how often it has taken the Lease.
        cut_off: whether the API server does not reach it.
        is_dead: nothing of it happens any more.
    """

    def __init__(self, sim: Simulation, name: str, ahead: timedelta) -> None:
        self.sim, self.name = sim, name
        self.clock = ProcessClock(sim.day.time, ahead)
        self.leads = self.cut_off = self.is_dead = False
        self.taken = 0
        self.subjects: set[Subject] = set()
        self.running: list[Tick] = []
        self._filter = EventFilter()
        self._tasks: list[asyncio.Task[None]] = []
        self._wire()

    def _wire(self) -> None:
        sim, day = self.sim, self.sim.day
        guard = Guarded(sim, self).guard
        outside = Outside(
            guard(day.kube),
            guard(FakeKafkaClusters({"kafka:9092": day.kafka, "dr:9092": day.mirror.target})),
            lambda: guard(day.network),
            guard(day.intents),
            guard(day.spark),
            guard(day.datanodes),
            FakeKafkaPods(FakeKafkaObjects()),
            self.clock,
            self.clock,
            FakeObjectStores(),
            "seawall",
        )
        meters = FakeMeters()

        def noting() -> Wiring:
            wiring = wire(
                outside,
                Meters(meters, meters, meters, meters, meters, meters),
                lambda key: self.wake(Subject(WAL_CLUSTER.kind, key)),
                lambda key: self.wake(Subject(WAL_HOLD.kind, key)),
            )
            return replace(wiring, controllers=tuple(cast("Any", _Noting(self, each)) for each in wiring.controllers))

        self.terms = Terms(noting, self)
        self._queues = {
            kind: WorkQueue(self._tick_of(kind), cast("Executor", _Thread(self, kind)), RESYNC_SECONDS)
            for kind in self.terms.kinds()
        }

    def start(self) -> None:
        """Its queues hand out work, if it leads."""
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(queue.run()) for queue in self._queues.values()]

    def lead(self, *, leads: bool) -> None:
        """The Lease is taken, or lost."""
        self.taken += leads and not self.leads
        self.leads = leads
        self.terms.renew()
        for queue in self._queues.values():
            queue.set_active(active=leads)

    def is_leader(self) -> bool:
        """Whether it believes to be the leader."""
        return self.leads and not self.is_dead

    def term(self) -> int:
        """How often it has taken the Lease."""
        return self.taken

    def die(self) -> None:
        """It is killed; another one is started in its place."""
        self.is_dead = True
        for task in self._tasks:
            task.cancel()
        self.sim.died(self)

    def hear(self, kind: str, body: dict[str, Any], *, deleted: bool) -> None:
        """The watch tells of an object."""
        if self.is_dead:
            return
        woken = self._filter.wakes(kind, body, deleted=deleted)
        for subject in sorted(woken):
            self.wake(subject)
            if subject.kind == WAL_CLUSTER.kind:
                for other in self.terms.wiring.beside:
                    self.wake(Subject(other, subject.key))

    def wake(self, subject: Subject) -> None:
        """Makes an object due now."""
        if subject.kind in self._queues and not self.is_dead:
            self.subjects.add(subject)
            self._queues[subject.kind].wake(subject.key)

    def tick(self, kind: str, key: Key) -> Ticked:
        """One tick."""
        tick = Tick(self, kind, key)
        self.running.append(tick)
        self.sim.inside.append(tick)
        try:
            ticked = self.terms.tick(kind, key)
        finally:
            self.running.remove(tick)
            self.sim.inside.remove(tick)
        self.sim.ticked(self, kind, key, ticked)
        return ticked

    def _tick_of(self, kind: str) -> Callable[[Key], Ticked]:
        return lambda key: self.tick(kind, key)


class _Noting:
    """A controller, of which is known when its looks and its actions begin."""

    def __init__(self, process: Process, controller: Any) -> None:
        self._process, self._controller = process, controller

    def __getattr__(self, name: str) -> Any:
        return getattr(self._controller, name)

    def observe(self, obj: Any) -> Any:
        """One look."""
        tick = self._process.running[-1]
        tick.looks_since = tick.acts_since = len(self._process.sim.record.names)
        return self._controller.observe(obj)

    def perform(self, obj: Any, action: Any) -> Any:
        """One action."""
        sim, tick = self._process.sim, self._process.running[-1]
        sim.nemesis.before_action(type(action).__name__)
        tick.acts_since = len(sim.record.names)
        return self._controller.perform(obj, action)


class _Thread(Executor):
    """Where ticks run: a tick is one instant, but how long until it begins is chance, as is who comes first."""

    def __init__(self, process: Process, kind: str) -> None:
        self._process, self._kind = process, kind
        self._steps: dict[Key, int] = {}
        """By object how many steps it has taken that want another one soon."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        """Runs it a moment later."""
        (key,) = args
        future: Future[Any] = Future()
        delay = self._process.sim.latency(self._steps.get(key, 0))
        asyncio.get_running_loop().call_later(delay, self._run, fn, key, future)
        return future

    def _run(self, fn: Callable[..., Any], key: Key, future: Future[Any]) -> None:
        process = self._process
        if process.is_dead or process.sim.is_over:
            return
        try:
            ticked = fn(key)
        except (Died, Stopped):
            return
        except Violation as violation:
            process.sim.broke(f"{violation}, in {self._kind} {key}")
            return
        except Exception as error:  # noqa: BLE001 - a bug of the operator is a finding
            process.sim.broke(f"E: {self._kind} {key}: {type(error).__name__}: {error}")
            return
        goes_on = ticked.outcome in GOES_ON or (ticked.after is not None and ticked.after <= SOON_SECONDS)
        self._steps[key] = self._steps.get(key, 0) + 1 if goes_on else 0
        if not future.cancelled():
            future.set_result(ticked)
