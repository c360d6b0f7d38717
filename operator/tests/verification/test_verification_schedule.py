"""Verifications that a WALCluster makes on a schedule, on the in-memory ports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from seawall.api.meta import ConditionType, InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.api.v1alpha1.spark_spec import SparkOverrides
from seawall.api.v1alpha1.verification import WALVerification
from seawall.api.v1alpha1.verification_template import VerificationSchedule
from seawall.controllers.schedule import VerificationScheduleController
from seawall.domain.conditions import find_condition
from seawall.domain.verification.schedule import CreateVerification, decide, slices
from seawall.domain.verification.schedule import Observed as Snapshot
from seawall.reconciler import Outcome, Reconciler
from tests.fakes.kube import FakeKube
from tests.fakes.meters import FakeMeters
from tests.support.clock import START, Time
from tests.support.deaths import die_at_every_call
from tests.worlds.purge_world import CLUSTER, NAMESPACE, WAL, Guard

SCHEDULE: dict[str, Any] = {"schedule": "0 3 * * *", "spark": {"image": "replay-verification:1"}}
DAY = timedelta(days=1)


class World:
    """A WALCluster with a schedule, and a clock."""

    def __init__(self, name: str = "wal", count: int = 3, **schedule: Any) -> None:
        self.time = Time()
        self.kube = FakeKube(self.time.now)
        self.key = Key(NAMESPACE, name)
        self.meters = FakeMeters()
        self.count = count
        self.newest = ""
        self.declare(**schedule)

    def declare(self, **schedule: Any) -> None:
        topics = {"prefix": "wal", "count": self.count}
        self.kube.apply(self.key, {**CLUSTER, "topics": topics, "verification": {**SCHEDULE, **schedule}})

    def process(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        kube = self.kube if calls is None else calls.guard(self.kube)
        return Reconciler(VerificationScheduleController(kube, self.time, self.meters), may_write=lambda: True)

    def settle(self, process: Reconciler[Any, Any, Any, Any] | None = None) -> None:
        process = process or self.process()
        for _ in range(50):
            if process.tick(self.key).outcome is Outcome.WAITING:
                return
        raise AssertionError("it never waits")

    def pass_time(self, by: timedelta) -> None:
        self.time.time += by
        self.settle()

    def found(self) -> list[WALVerification]:
        items = self.kube.list(WALVerification, NAMESPACE).items
        return sorted(items, key=lambda each: each.metadata.name)

    def names(self) -> list[str]:
        return [each.metadata.name for each in self.found()]

    def end(self, stage: JobStage = JobStage.COMPLETED) -> None:
        """All that run end."""
        for each in self.found():
            if not each.status.is_over:
                self.kube.replace_status(each, each.status.model_copy(update={"stage": stage}))

    def check(self, change: str) -> None:
        """After every change: what goes on is of one time, and of the newest time something is there for ever."""
        going_on = {each.metadata.name[:14] for each in self.found() if not each.status.is_over}
        assert len(going_on) <= 1, f"after {change}: {going_on}"
        newest = max((each.metadata.name[:14] for each in self.found()), default="")
        assert newest >= self.newest, f"after {change}: those of {self.newest} are gone"
        self.newest = newest

    def live(self, process: Reconciler[Any, Any, Any, Any] | None = None, *, until: datetime) -> None:
        """Every day the verifications end; on every other day one of them fails."""
        while self.time.time < until:
            self.settle(process)
            self.end()
            first, day = next(iter(self.found()[-1:]), None), self.time.time.day
            if first is not None and day % 2:
                self.kube.replace_status(first, first.status.model_copy(update={"stage": JobStage.FAILED}))
            self.time.time += DAY
        self.settle(process)

    def cluster(self) -> WALCluster:
        found = self.kube.get(WALCluster, self.key)
        assert found is not None
        return found

    def end_state(self) -> list[Any]:
        return [(each.metadata.name, each.status.stage, each.spec) for each in self.found()]

    def condition(self) -> tuple[str, str]:
        found = find_condition(self.cluster().status.conditions, ConditionType.VERIFICATION_SCHEDULED)
        assert found is not None
        return found.status, found.reason


def test_nothing_begins_before_its_time() -> None:
    world = World()
    world.settle()
    assert world.names() == []


def test_a_verification_begins_when_it_is_due_and_is_told_what_the_schedule_says() -> None:
    world = World(level="Coverage", timeout="2h", topics=["wal_*"])
    world.pass_time(DAY)
    (made,) = world.found()
    assert made.metadata.name == "wal-2611220300"
    assert made.metadata.controller_uid == world.cluster().metadata.uid
    assert not isinstance(made.spec, InvalidSpec)
    assert (made.spec.level, made.spec.timeout, made.spec.topics) == ("Coverage", timedelta(hours=2), ("wal_*",))
    assert made.spec.ttl_seconds_after_finished is None
    assert made.spec.spark == SparkOverrides(), "what runs is read from the WALCluster when it runs"
    world.settle()
    assert len(world.found()) == 1


def test_times_that_passed_are_made_up_for_once() -> None:
    world = World()
    world.pass_time(5 * DAY)
    assert world.names() == ["wal-2611260300"]


def test_the_next_one_waits_for_the_one_that_runs() -> None:
    world = World()
    world.pass_time(DAY)
    world.pass_time(DAY)
    assert len(world.found()) == 1
    world.end()
    world.settle()
    assert world.names() == ["wal-2611220300", "wal-2611230300"]


def test_the_newest_of_each_outcome_are_kept() -> None:
    world = World(successfulRunsHistoryLimit=2, failedRunsHistoryLimit=1)
    stages = (JobStage.FAILED, JobStage.COMPLETED)
    for day in range(6):
        world.pass_time(DAY)
        world.end(stages[day % 2])
    world.settle()
    assert world.names() == ["wal-2611250300", "wal-2611260300", "wal-2611270300"]


def test_a_pool_that_is_too_large_for_one_is_verified_in_slices_wherever_the_process_dies() -> None:
    world = World(count=2500)
    world.settle()
    world.time.time += DAY
    actions = decide(world.cluster(), Snapshot(world.time.now())).actions
    names = [action.key.name for action in actions if isinstance(action, CreateVerification)]
    assert names == [f"wal-2611220300-{number}" for number in range(3)]
    first = actions[0]
    assert isinstance(first, CreateVerification)
    world.kube.create(WALVerification, first.key, first.spec, owner=world.cluster())  # and dies
    world.settle()
    assert world.names() == names
    reported = [topic for each in world.found() for topic in each.spec.topics]  # type: ignore[union-attr]
    assert sorted(reported) == sorted(f"wal_{number}" for number in range(2500))
    world.end()
    world.pass_time(timedelta(hours=1))
    assert world.names() == names


def test_a_death_at_any_call_of_a_schedule_changes_nothing_about_what_is_made_and_kept() -> None:
    world = World(count=1200, successfulRunsHistoryLimit=1, failedRunsHistoryLimit=1)
    until = START + 6 * DAY
    worlds = die_at_every_call(
        world,
        lambda each, guard: each.live(each.process(guard), until=until),
        World.end_state,
        {"create", "delete", "replace_status"},
    )
    assert world.names() == [f"wal-26112{day}0300-{part}" for day in (5, 6, 7) for part in (0, 1)]
    assert worlds > 20


def test_slices_leave_no_topic_out() -> None:
    spec = VerificationSchedule.model_validate({**SCHEDULE, "topics": ["a_*"]})
    topics = (*(f"a_{number}" for number in range(1001)), "b_0")
    assert [len(part) for part in slices(topics, spec)] == [1000, 1]
    assert slices(topics[:1000], spec) == (("a_*",),)


def test_a_suspended_schedule_and_a_paused_cluster_begin_nothing() -> None:
    world = World(suspend=True)
    world.pass_time(DAY)
    assert (world.names(), world.condition()) == ([], ("False", "Suspended"))
    world.kube.apply(world.key, {**CLUSTER, "verification": SCHEDULE}, annotations={"seawall.dev/paused": "true"})
    world.settle()
    assert world.names() == []


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ({"schedule": "every day"}, "InvalidSchedule"),
        ({"schedule": "* * */20 * 1L"}, "ScheduleNeverFires"),
        ({"timeZone": "Mars/Olympus"}, "UnknownTimeZone"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_told(schedule: dict[str, Any], reason: str) -> None:
    world = World(**schedule)
    world.pass_time(DAY)
    assert (world.names(), world.condition()) == ([], ("False", reason))


def test_without_a_schedule_nothing_begins_by_itself_and_there_is_nothing_to_say_of_it() -> None:
    world = World()
    world.kube.apply(world.key, {**CLUSTER, "verification": {"spark": SCHEDULE["spark"]}})
    world.pass_time(DAY)
    assert world.names() == []
    assert not isinstance(world.cluster().spec, InvalidSpec)
    assert find_condition(world.cluster().status.conditions, ConditionType.VERIFICATION_SCHEDULED) is None


def test_a_name_that_is_too_long_is_told() -> None:
    world = World("w" * 31)
    world.pass_time(DAY)
    assert (world.names(), world.condition()) == ([], ("False", "NameTooLong"))


def test_verifications_by_hand_are_left_alone() -> None:
    world = World(successfulRunsHistoryLimit=1)
    by_hand = {"clusterRef": {"name": "wal"}, "spark": SCHEDULE["spark"]}
    world.kube.apply(Key(NAMESPACE, "wal-2001010000"), by_hand, kind=WALVerification)
    for _ in range(3):
        world.pass_time(DAY)
        world.end()
    world.settle()
    assert world.names() == ["wal-2001010000", "wal-2611240300"]


def test_a_time_zone_is_kept() -> None:
    world = World(timeZone="Asia/Tokyo")
    world.pass_time(DAY)
    assert world.names() == ["wal-2611211800"]
    assert datetime(2026, 11, 21, 18, tzinfo=UTC) - START == timedelta(hours=6)
    assert world.key == WAL


@pytest.mark.parametrize(
    ("schedule", "period"),
    [
        ({}, DAY),
        ({"schedule": "0 3 * * 0"}, 7 * DAY),
        ({"suspend": True}, None),
        ({"schedule": None}, None),
        ({"schedule": "at noon"}, None),
    ],
)
def test_the_time_from_one_verification_to_the_next_is_told(schedule: dict[str, Any], period: timedelta | None) -> None:
    """An alert is late by the schedule that is declared, not by a number of days for all."""
    world = World(**schedule)
    world.settle()
    assert world.meters.verification_periods == {WAL: period}


def test_since_when_verifications_are_due_is_told_though_none_completes() -> None:
    """An alert is late by that where nothing was ever verified."""
    world = World()
    world.settle()
    assert world.meters.verifications_expected == {WAL: START}
    for _ in range(3):
        world.pass_time(DAY)
        world.end(JobStage.FAILED)
    assert world.meters.verifications_expected == {WAL: START}
    world.declare(suspend=True)
    world.settle()
    assert world.meters.verifications_expected == {WAL: None}
    world.time.time += DAY
    world.declare()
    world.settle()
    assert world.meters.verifications_expected == {WAL: START + 4 * DAY}
    world.declare(schedule=None)
    world.settle()
    assert world.meters.verifications_expected == {WAL: None}


def test_a_schedule_that_makes_no_sense_was_meant_to_have_some() -> None:
    world = World(schedule="every day")
    world.settle()
    assert world.meters.verifications_expected == {WAL: START}
    assert world.meters.verification_periods == {WAL: None}
    world.declare(schedule="every day", suspend=True)
    world.settle()
    assert world.condition() == ("False", "InvalidSchedule")
    assert world.meters.verifications_expected == {WAL: None}


def test_a_schedule_that_goes_on_is_not_late_by_the_time_for_which_it_was_suspended() -> None:
    """The first look after the edit finds the condition of before."""
    world = World(suspend=True)
    world.settle()
    world.time.time += 30 * DAY
    world.declare()
    controller = VerificationScheduleController(world.kube, world.time, world.meters)
    controller.observe(world.cluster())
    assert world.meters.verifications_expected == {WAL: None}
    world.settle()
    assert world.meters.verifications_expected == {WAL: START + 30 * DAY}


@pytest.mark.parametrize("count", [3, 1200], ids=["one", "slices"])
def test_a_clock_that_was_ahead_once_stops_no_verification(count: int) -> None:
    world = World(count=count)
    world.pass_time(60 * DAY)
    world.end()
    ahead = world.names()
    assert ahead
    world.time.time -= 59 * DAY
    world.settle()
    made = [name for name in world.names() if name not in ahead]
    assert {name[:14] for name in made} == {"wal-2611220300"}
    world.end()
    world.pass_time(DAY)
    assert len(world.names()) > len(ahead) + len(made)
