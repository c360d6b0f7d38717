"""A WALPurgePolicy over time: whatever people, clocks and deaths of the process do, its promises hold.

Everything runs on the in-memory port, which passes the contract tests. Runs are ended by hand: the policy does not care
who runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import Stage, WALPurge
from seawall.controllers.policy import WALPurgePolicyController
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.ledger.reasons import Reason
from seawall.reconciler import Outcome, Reconciler
from tests.domain.purges import NOON, make_line
from tests.fakes.kube import FakeKube
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.meters import FakeMeters
from tests.support.clock import Time
from tests.support.golden import compare_calls
from tests.support.mortal import DeathRow, Died

NIGHTLY, WAL = Key("db", "nightly"), Key("db", "wal")
START = datetime(2026, 11, 21, 11, 57, tzinfo=UTC)
MAX_TICKS = 40
CLUSTER = {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}}
EVERY_TEN_MINUTES = {"clusterRef": {"name": "wal"}, "schedule": "*/10 * * * *"}


@dataclass
class World:
    """All that outlives a process, and what happened to runs."""

    clock: Time = field(default_factory=lambda: Time(START))
    ledgers: FakeLedgers = field(default_factory=FakeLedgers)
    kube: FakeKube = field(init=False)

    def __post_init__(self) -> None:
        self.kube = FakeKube(self.clock.now)
        self.kube.apply(WAL, CLUSTER)

    def declare(self, **spec: Any) -> None:
        self.kube.apply(NIGHTLY, {**EVERY_TEN_MINUTES, **spec}, kind=WALPurgePolicy)

    def process(self, row: DeathRow) -> Reconciler[Any, Any, Any, Any]:
        """A new operator process."""
        controller = WALPurgePolicyController(row.guard(self.kube), self.clock, self.ledgers, FakeMeters())
        return Reconciler(controller, may_write=lambda: True)

    def settle(self, row: DeathRow | None = None) -> None:
        """Ticks until there is nothing to do before some time has passed."""
        process = self.process(row or DeathRow())
        for _ in range(MAX_TICKS):
            ticked = process.tick(NIGHTLY)
            if ticked.outcome is Outcome.WAITING:
                return
        pytest.fail(f"not settled after {MAX_TICKS} ticks; last: {ticked}")

    def runs(self) -> list[WALPurge]:
        return sorted(self.kube.list(WALPurge, "db").items, key=lambda run: run.metadata.name)

    def policy(self) -> WALPurgePolicy:
        found = self.kube.get(WALPurgePolicy, NIGHTLY)
        assert found is not None
        return found

    def end(self, stage: Stage) -> None:
        """Ends every run, as the run's own controller will."""
        for run in self.runs():
            if not run.status.is_finished:
                at = self.clock.now() if stage is Stage.COMPLETED else None
                self.kube.replace_status(run, replace_status(run, stage=stage, completion_time=at))

    def end_state(self) -> Any:
        """What must be the same, however often a process died on the way."""
        status = self.policy().status
        return (
            [(run.metadata.name, run.status.stage, run.metadata.controller_uid is not None) for run in self.runs()],
            (status.active, status.last_run_time, status.last_successful_time, status.next_run_time),
            [(condition.type, condition.status, condition.reason) for condition in status.conditions],
        )


def replace_status(run: WALPurge, **fields: Any) -> Any:
    return run.status.model_copy(update=fields)


def first_run(world: World) -> None:
    world.declare()
    world.clock.time += timedelta(minutes=4)


def catch_up(world: World) -> None:
    world.declare(interval="7m", schedule=None)
    world.settle()
    world.clock.time += timedelta(days=3)


def history(world: World) -> None:
    world.declare(successfulRunsHistoryLimit=1, failedRunsHistoryLimit=1)
    for stage in (Stage.COMPLETED, Stage.FAILED, Stage.FAILED, Stage.COMPLETED, Stage.COMPLETED):
        world.clock.time += timedelta(minutes=10)
        world.settle()
        world.end(stage)
    world.declare(successfulRunsHistoryLimit=0, failedRunsHistoryLimit=0)
    world.clock.time += timedelta(minutes=10)


def missing_cluster(world: World) -> None:
    world.kube.remove(WAL)
    world.declare()
    world.clock.time += timedelta(hours=1)
    world.settle()
    world.kube.apply(WAL, CLUSTER)


def bad_schedule(world: World) -> None:
    world.declare(schedule="0 0 30 2 *")


def topic_too_large(world: World) -> None:
    world.ledgers.pages[WAL] = LedgerPage((make_line("wal_1", 2**30 + 1),), NOON)
    world.declare(schedule=None, trigger={"topicBytes": "1Gi"})
    world.clock.time += timedelta(minutes=3)


SCENARIOS = (topic_too_large, first_run, catch_up, history, missing_cluster, bad_schedule)


@pytest.mark.parametrize("after", [False, True], ids=["before the call", "after the call, answer lost"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_a_death_at_any_call_changes_nothing_about_the_end(scenario: Callable[[World], None], *, after: bool) -> None:
    undisturbed, row = World(), DeathRow()
    scenario(undisturbed)
    undisturbed.settle(row)
    for call in range(row.calls):
        world = World()
        scenario(world)
        with pytest.raises(Died):
            world.settle(DeathRow(call, after=after))
        world.settle()
        assert world.end_state() == undisturbed.end_state(), f"after a death at call {call} of {row.calls}"
    compare_calls(row.names)
    print(f"{scenario.__name__}: {row.calls} deaths, one end")  # noqa: T201 - the count is the evidence


class PolicyOverTime(RuleBasedStateMachine):
    """People edit, suspend and delete, runs end, time passes, clocks step, processes die at any call."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.spec: dict[str, Any] = {}
        self.world.declare()

    def _apply(self, **spec: Any) -> None:
        self.spec |= spec
        self.world.declare(**self.spec)

    def _act(self, work: Callable[[], None]) -> None:
        """Lets the operator work, and checks what it did to the runs."""
        before = {run.metadata.name: run for run in self.world.runs()}
        suspended = self.spec.get("suspend", False)
        work()
        after = {run.metadata.name: run for run in self.world.runs()}
        made, gone = after.keys() - before.keys(), before.keys() - after.keys()
        assert len(made) <= 1, "missed times make one run"
        assert not (made and suspended), "a suspended policy makes no runs"
        assert not made or not self._active(before.values()), "no run begins while one is not finished"
        assert all(before[name].status.is_finished for name in gone), "only finished runs go"
        assert all(before[name].metadata.controller_uid is not None for name in gone), "those of others stay"
        for stage in (Stage.COMPLETED, Stage.FAILED):
            kept, dropped = (
                [
                    run.metadata.creation_timestamp
                    for name, run in before.items()
                    if self._is_own(run, stage) and name in names
                ]
                for names in (after, gone)
            )
            assert not (kept and dropped) or max(dropped) <= min(kept), "the oldest go first"

    @staticmethod
    def _is_own(run: WALPurge, stage: Stage) -> bool:
        return run.metadata.controller_uid is not None and run.status.stage is stage

    @staticmethod
    def _active(runs: Any) -> list[str]:
        return [
            run.metadata.name for run in runs if run.metadata.controller_uid is not None and not run.status.is_finished
        ]

    @rule()
    def the_operator_works(self) -> None:
        self._act(self.world.settle)
        spec = self.world.policy().spec
        for stage, limit in (
            (Stage.COMPLETED, getattr(spec, "successful_runs_history_limit", 3)),
            (Stage.FAILED, getattr(spec, "failed_runs_history_limit", 3)),
        ):
            assert sum(self._is_own(run, stage) for run in self.world.runs()) <= limit

    @rule(call=st.integers(0, 12), after=st.booleans())
    def the_operator_dies(self, call: int, after: bool) -> None:  # noqa: FBT001 - hypothesis fills it
        def work() -> None:
            try:
                self.world.settle(DeathRow(call, after=after))
            except Died:
                return

        self._act(work)

    @rule(ticks=st.integers(1, 3))
    def the_operator_works_a_little(self, ticks: int) -> None:
        process = self.world.process(DeathRow())

        def work() -> None:
            for _ in range(ticks):
                process.tick(NIGHTLY)

        self._act(work)

    @rule(seconds=st.one_of(st.integers(1, 900), st.integers(1, 400_000)))
    def time_passes(self, seconds: int) -> None:
        self.world.clock.time += timedelta(seconds=seconds)

    @rule(seconds=st.integers(1, 240))
    def the_clock_steps_back(self, seconds: int) -> None:
        self.world.clock.time -= timedelta(seconds=seconds)

    @rule(stage=st.sampled_from([Stage.COMPLETED, Stage.FAILED]))
    def a_run_ends(self, stage: Stage) -> None:
        self.world.end(stage)

    @rule(stage=st.sampled_from([Stage.PREPARATION, Stage.PURGE]))
    def a_run_goes_on(self, stage: Stage) -> None:
        self.world.end(stage)

    @rule()
    def a_person_makes_a_run(self) -> None:
        key = Key("db", f"manual-{self.world.clock.time:%H%M%S}")
        if self.world.kube.get(WALPurge, key) is None:
            self.world.kube.apply(key, {"clusterRef": {"name": "wal"}}, kind=WALPurge)

    @precondition(lambda self: self.world.runs())
    @rule(data=st.data())
    def a_person_deletes_a_run(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from([run.metadata.name for run in self.world.runs()]))
        self.world.kube.remove(Key("db", run), WALPurge)

    @rule(suspend=st.booleans())
    def a_person_suspends_or_resumes(self, suspend: bool) -> None:  # noqa: FBT001 - hypothesis fills it
        self._apply(suspend=suspend)

    @rule(when=st.sampled_from([("*/10 * * * *", None), ("* * * * *", None), ("0 0 30 2 *", None), (None, "90s")]))
    def a_person_edits_the_schedule(self, when: tuple[str | None, str | None]) -> None:
        self._apply(schedule=when[0], interval=when[1])

    @rule(size=st.sampled_from([None, 5, 2**31]), reason=st.sampled_from([None, Reason.NOTHING_TO_PURGE]))
    def a_topic_grows_or_shrinks(self, size: int | None, reason: Reason | None) -> None:
        self.world.ledgers.pages[WAL] = LedgerPage((make_line("wal_1", size, reason),), NOON)

    @rule(size=st.sampled_from([None, "1Gi"]))
    def a_person_edits_the_trigger(self, size: str | None) -> None:
        self._apply(trigger=size and {"topicBytes": size})

    @rule(completed=st.integers(0, 3), failed=st.integers(0, 3))
    def a_person_edits_the_limits(self, completed: int, failed: int) -> None:
        self._apply(successfulRunsHistoryLimit=completed, failedRunsHistoryLimit=failed)

    @rule()
    def the_cluster_goes_or_comes(self) -> None:
        if self.world.kube.get(WALCluster, WAL) is None:
            self.world.kube.apply(WAL, CLUSTER)
        else:
            self.world.kube.remove(WAL)

    @invariant()
    def never_two_runs_at_once(self) -> None:
        assert len(self._active(self.world.runs())) <= 1


PolicyOverTime.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestPolicyOverTime = PolicyOverTime.TestCase
