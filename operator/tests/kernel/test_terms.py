"""A process that leads again begins as one that starts: nothing is remembered, and what began before writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from seawall.api.meta import Key
from seawall.domain.decision import Decision, silent
from seawall.domain.step import Event, EventType
from seawall.handlers import operator
from seawall.handlers.event_filter import Subject
from seawall.handlers.operator import Operator
from seawall.handlers.queues import Queues
from seawall.handlers.terms import Terms
from seawall.handlers.wiring import Wiring, wire
from seawall.reconciler import Outcome, Ticked
from tests.fakes.kafka import FakeKafkaClusters
from tests.fakes.kube import FakeKube
from tests.fakes.meters import FakeMeters
from tests.support.election import candidate
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

BOUND = 5
KIND, KEY = "Toy", Key("db", "wal")


class Candidate:
    """Leads as a test says."""

    def __init__(self) -> None:
        self.leads, self.taken = True, 1

    def is_leader(self) -> bool:
        return self.leads

    def term(self) -> int:
        return self.taken

    def take(self) -> None:
        """The Lease was over, and is taken again."""
        self.leads, self.taken = True, self.taken + 1


class Toy:
    """A controller that acts at each tick, and counts in its memory."""

    kind = KIND

    def __init__(self, acted: list[int], during: Callable[[], None]) -> None:
        self.acted, self.during, self.ticks, self.waits = acted, during, 0, False

    def read(self, key: Key) -> Any:
        return SimpleNamespace(metadata=SimpleNamespace(key=key, generation=1), status=SimpleNamespace(conditions=()))

    def forget(self, key: Key) -> None:
        raise AssertionError(key)

    def observe(self, obj: Any) -> int:  # noqa: ARG002 - the protocol has it
        self.ticks += 1
        self.during()
        return self.ticks

    def decide(self, obj: Any, observed: int) -> Decision[Any, int]:
        return silent(obj, "", 3_600.0, *(() if self.waits else (observed,)))

    def absorb(self, *_: object) -> None:
        return None

    def tells(self, *_: object) -> bool:
        return False

    def remember_failure(self, *_: object) -> None:
        return None

    def record(self, *_: object) -> None:
        return None

    def perform(self, obj: Any, action: int) -> Event:  # noqa: ARG002 - the protocol has it
        self.acted.append(action)
        return Event(EventType.NORMAL, cast("Any", "Acted"), "")

    def post(self, *_: object) -> bool:
        return True


class Begun:
    """Terms of toys."""

    def __init__(self) -> None:
        self.lease, self.acted, self.made = Candidate(), list[int](), list[Toy]()
        self.during: Callable[[], None] = lambda: None
        self.terms = Terms(self._wire, self.lease)

    def _wire(self) -> Wiring:
        self.made.append(Toy(self.acted, self.happens))
        return cast("Wiring", SimpleNamespace(controllers=(self.made[-1],)))

    def happens(self) -> None:
        """What happens while a controller looks."""
        self.during()

    def tick(self) -> Outcome:
        return self.terms.tick(KIND, KEY).outcome


def test_a_term_that_goes_on_remembers() -> None:
    begun = Begun()
    for _ in range(3):
        assert not begun.terms.renew()
        assert begun.tick() is Outcome.ACTED
    assert begun.acted == [1, 2, 3]


def test_who_leads_again_remembers_nothing() -> None:
    begun = Begun()
    begun.tick()
    begun.lease.leads = False
    assert begun.tick() is Outcome.NOT_LEADER
    begun.lease.take()
    assert begun.tick() is Outcome.NOT_LEADER, "what is remembered is of the term before"
    assert begun.terms.renew()
    assert not begun.terms.renew()
    assert begun.tick() is Outcome.ACTED
    assert begun.acted == [1, 1]


@pytest.mark.parametrize("waits", [False, True])
def test_a_tick_that_was_frozen_until_the_next_term_does_nothing(*, waits: bool) -> None:
    begun = Begun()

    def freeze() -> None:
        begun.during = lambda: None
        begun.lease.take()
        begun.terms.renew()

    begun.during, begun.made[0].waits = freeze, waits
    assert begun.tick() is Outcome.NOT_LEADER
    assert begun.acted == []
    assert begun.tick() is Outcome.ACTED


def test_all_controllers_of_a_term_and_what_they_know_of_databases_are_its_own() -> None:
    made = list[object]()

    def databases() -> Any:
        made.append(object())
        return made[-1]

    class Outside:
        """All else is shared, and remembers nothing of objects."""

        kube, kafka_clusters, data_planes = FakeKube(), FakeKafkaClusters({}), staticmethod(databases)

        def __getattr__(self, _: str) -> Any:
            return None

    meters = cast("Any", SimpleNamespace(**dict.fromkeys(("topics", "wal", "reassignments"), FakeMeters())))
    meters.restarts = meters.brokers = meters.subscriptions = FakeMeters()
    first, second = (wire(cast("Any", Outside()), meters, lambda _: None, lambda _: None) for _ in range(2))
    assert len(made) == 2
    assert not {id(each) for each in first.controllers} & {id(each) for each in second.controllers}
    assert first.ledgers is not second.ledgers
    assert first.watch_of_ledgers is not second.watch_of_ledgers


def elect(*, retakes: bool) -> list[str]:
    """What happens in a process whose Lease was over and is taken again in one attempt, so that it always leads."""
    order, ticked = list[str](), asyncio.Event()
    lease = Candidate()

    async def live() -> None:
        loop = asyncio.get_running_loop()

        def tick(_: Key) -> Ticked:
            order.append(f"a tick in term {lease.taken}")
            loop.call_soon_threadsafe(ticked.set)
            return Ticked(Outcome.WAITING, 3_600.0)

        def try_hold() -> bool:
            if retakes and order and lease.taken == 1:
                lease.take()
            return True

        newest = [1]

        def renew() -> bool:
            is_new, newest[0] = lease.taken != newest[0], lease.taken
            return is_new

        queues = Queues({KIND: tick}, workers=1, resync=3_600)
        with ThreadPoolExecutor(1) as elector:
            parts = {"lease": SimpleNamespace(try_hold=try_hold), "terms": SimpleNamespace(renew=renew)}
            process = candidate(elector, queues, **parts)
            tasks = [asyncio.create_task(work) for work in (queues.run(), Operator._elect(process))]
            queues.wake(Subject(KIND, KEY))
            for _ in range(2 if retakes else 1):
                with suppress(TimeoutError):
                    await asyncio.wait_for(ticked.wait(), BOUND)
                ticked.clear()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await asyncio.to_thread(queues.drain)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator, "LEASE_RETRY_SECONDS", 0.01)
        asyncio.run(live())
    return order


def test_in_a_new_term_all_objects_are_due_also_where_nobody_saw_the_end_of_the_one_before() -> None:
    assert elect(retakes=True) == ["a tick in term 1", "a tick in term 2"]


def test_a_new_term_is_told_also_where_nobody_else_led(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        elect(retakes=True)
    assert caplog.text.count("a new term of the Lease begins") == 1


def test_while_a_term_goes_on_nothing_is_due_before_its_time() -> None:
    assert elect(retakes=False) == ["a tick in term 1"]


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(Terms, "_begin", " and self._lease.term() == number", ""),
        partial(test_a_tick_that_was_frozen_until_the_next_term_does_nothing, waits=False),
    ),
    (
        rewritten(Terms, "tick", "ticked if begun is self._newest else NOT_LEADER", "ticked"),
        partial(test_a_tick_that_was_frozen_until_the_next_term_does_nothing, waits=True),
    ),
    (rewritten(Terms, "renew", "self._begin(number)", "self._newest"), test_who_leads_again_remembers_nothing),
    (
        rewritten(Operator, "_elect", "if self._terms.renew():", "if self._terms.renew() and False:"),
        test_in_a_new_term_all_objects_are_due_also_where_nobody_saw_the_end_of_the_one_before,
    ),
)


def test_each_guard_of_terms_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
