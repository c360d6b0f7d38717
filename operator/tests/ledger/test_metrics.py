"""Metrics of ledgers, holds, runs and policies: what a look found, and nothing that nobody knows any more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from seawall.api.meta import Key
from seawall.api.v1alpha1.backup import WALBackupStatus
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import HoldState
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import Stage, WALPurgeStatus
from seawall.api.v1alpha1.restore_status import RestoreStage, WALRestoreStatus
from seawall.api.v1alpha1.spark_job import JobStage, Outcome
from seawall.api.v1alpha1.verification import WALVerificationStatus
from seawall.controllers.hold import WALHoldController
from seawall.controllers.ledger import LedgerWatch
from seawall.controllers.policy import WALPurgePolicyController
from seawall.controllers.purge import WALPurgeController
from seawall.controllers.schedule import VerificationScheduleController
from seawall.domain.policy.plan import expected_period
from seawall.handlers.metrics.backups import BackupTelemetry
from seawall.handlers.metrics.ledger import WALTelemetry
from seawall.handlers.metrics.newest import Newest
from seawall.handlers.metrics.telemetry import Telemetry
from seawall.reconciler import Reconciler
from tests.domain.purges import NOON, make_policy
from tests.fakes.kube import FakeKube
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.meters import FakeMeters
from tests.ledger.test_ledger_watch import look
from tests.support.clock import Time
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import RUN, TOPICS, WAL, World

CLUSTER = {"namespace": "db", "name": "wal"}


class Metrics:
    """Telemetry that a test can ask."""

    def __init__(self, *, per_topic: bool = False) -> None:
        self.registry = CollectorRegistry()
        self.wal = WALTelemetry(self.registry, per_topic=per_topic)

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, {**CLUSTER, **labels})

    def series(self, name: str) -> int:
        return sum(len(metric.samples) for metric in self.registry.collect() if metric.name == name)


def watching(world: World, metrics: Metrics) -> LedgerWatch:
    return LedgerWatch(world.kube, world.observer(), lambda _: None, lambda _: None, metrics.wal)


def flushed() -> World:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    world.declare_policy(safety={"staleAfter": "60s", "openGrace": "70s"})
    return world


def test_a_look_is_counted_in_entries_and_in_bytes_apart() -> None:
    world, metrics = flushed(), Metrics()
    world.hold("spark", {"wal_1": 10}, HoldState.ACTIVE)
    page = look(world, watching(world, metrics), times=10)
    ends = [line.high_watermark or 0 for line in page.lines]
    assert metrics.value("seawall_wal_entries") == sum(ends) - sum(line.log_start or 0 for line in page.lines)
    assert metrics.value("seawall_wal_bytes") == sum(line.size_bytes or 0 for line in page.lines)
    assert metrics.value("seawall_wal_purgeable_entries") == sum(line.entries_to_purge for line in page.lines)
    assert metrics.value("seawall_wal_purgeable_entries") != 0
    assert metrics.value("seawall_wal_topics", reason="Purgeable") == len(TOPICS)
    assert metrics.value("seawall_wal_intact") == 1
    assert metrics.value("seawall_wal_can_look") == 1
    assert metrics.value("seawall_wal_unreadable_shards") == 0
    assert metrics.value("seawall_holds", state="Active") == 1
    assert metrics.value("seawall_holds", state="AtRisk") == 0
    lag = metrics.value("seawall_hold_lag_bytes", hold="spark")
    assert lag is not None
    assert 0 < lag < (metrics.value("seawall_wal_bytes") or 0)


def test_a_reason_that_no_topic_has_any_more_has_no_series() -> None:
    world, metrics = flushed(), Metrics()
    process = watching(world, metrics)
    look(world, process, times=10)
    world.data_plane.stopped.add(0)
    look(world, process, times=10)
    assert metrics.value("seawall_wal_topics", reason="Purgeable") is None
    assert metrics.value("seawall_wal_topics", reason="RegionStale") == len(TOPICS)


def test_a_damaged_log_is_a_zero() -> None:
    world, metrics = flushed(), Metrics()
    process = watching(world, metrics)
    look(world, process)
    world.foreign.add("wal_1")
    world.kafka.topics["wal_1"].log.log_start = world.kafka.topics["wal_1"].log.end
    world.write("wal_1", 1)
    world.kafka.topics["wal_1"].log.log_start = world.kafka.topics["wal_1"].log.end
    look(world, process)
    assert metrics.value("seawall_wal_intact") == 0


def test_of_a_ledger_that_cannot_be_looked_at_only_that_is_known() -> None:
    world, metrics = flushed(), Metrics(per_topic=True)
    process = watching(world, metrics)
    look(world, process)
    world.data_plane.is_silent = True
    Reconciler(process, may_write=lambda: True).tick(WAL)
    assert metrics.value("seawall_wal_can_look") == 0
    assert metrics.value("seawall_wal_last_look_timestamp_seconds") is not None
    gone = ("seawall_wal_intact", "seawall_wal_entries", "seawall_wal_topics", "seawall_topic_reason", "seawall_holds")
    assert [metrics.series(name) for name in gone] == [0] * len(gone)


def test_a_cluster_that_is_gone_has_no_series() -> None:
    world, metrics = flushed(), Metrics(per_topic=True)
    process = watching(world, metrics)
    look(world, process)
    metrics.wal.count_lost_hold(WAL)
    process.forget(WAL)
    samples = [sample for metric in metrics.registry.collect() for sample in metric.samples]
    assert [sample for sample in samples if "name" in sample.labels] == []


NEWEST = ("seawall_last_verified_timestamp_seconds", "seawall_last_backup_timestamp_seconds")
"""Told by objects that may outlive their WALCluster."""


def last_ones_go_with_their_cluster() -> None:
    world, metrics = flushed(), Metrics()
    process = watching(world, metrics)

    def measured() -> list[int]:
        """By ticks of what outlives it, a minute after each other."""
        metrics.wal.measure_verified(WAL, NOON)
        metrics.wal.measure_backup(WAL, NOON)
        return [metrics.series(name) for name in NEWEST]

    assert measured() == [0, 0], "nobody has met it"
    look(world, process)
    assert measured() == [1, 1]
    world.kube.remove(WAL, WALCluster)
    Reconciler(process, may_write=lambda: True).tick(WAL)
    assert measured() == [0, 0]


def test_when_a_cluster_was_last_verified_and_backed_up_goes_with_it_though_others_tell_it_again() -> None:
    last_ones_go_with_their_cluster()


def test_what_ended_before_a_process_has_met_the_cluster_is_told_when_it_does() -> None:
    metrics = Metrics()
    metrics.wal.measure_verified(WAL, NOON)
    metrics.wal.measure_answer(WAL, None)
    assert metrics.value("seawall_last_verified_timestamp_seconds") == NOON.timestamp()


def test_a_cluster_whose_database_is_taken_from_its_spec_keeps_when_it_was_last_backed_up() -> None:
    world, metrics = flushed(), Metrics()
    process = watching(world, metrics)
    look(world, process)
    world.kube.apply(WAL, {key: value for key, value in world.spec().items() if key != "dataPlane"})
    for _ in range(3):
        Reconciler(process, may_write=lambda: True).tick(WAL)
    metrics.wal.measure_backup(WAL, NOON)
    assert metrics.value("seawall_last_backup_timestamp_seconds") == NOON.timestamp()
    assert metrics.value("seawall_wal_can_look") == 0


def schedules_go_with_their_cluster() -> None:
    world, metrics = flushed(), Metrics()
    controller = VerificationScheduleController(world.kube, world.time, metrics.wal)
    spec = {**world.spec(), "verification": {"schedule": "0 3 * * *", "level": "Coverage", "spark": {"image": "v:1"}}}
    world.kube.apply(WAL, spec)
    found = world.kube.get(WALCluster, WAL)
    assert found is not None
    world.kube.remove(WAL, WALCluster)
    controller.observe(found)  # of a tick that began before
    assert metrics.series("seawall_verification_period_seconds") == 1
    Reconciler(controller, may_write=lambda: True).tick(WAL)
    names = ("seawall_verification_period_seconds", "seawall_verification_scheduled_timestamp_seconds")
    assert [metrics.series(name) for name in names] == [0, 0]


def test_what_is_expected_of_a_cluster_goes_with_it_though_a_late_tick_told_it_again() -> None:
    schedules_go_with_their_cluster()


COUNTERS = (
    "seawall_holds_lost",
    "seawall_purge_runs",
    "seawall_purge_deleted_entries",
    "seawall_purge_freed_bytes",
    "seawall_verifications",
    "seawall_backups",
    "seawall_restores",
)


def what_ends_late_is_not_counted() -> None:
    """Runs, holds and restores end because their WALCluster is gone, and their controllers hear of it later."""
    world, metrics = flushed(), Metrics()
    process = watching(world, metrics)

    def total(name: str) -> float:
        samples = [each for metric in metrics.registry.collect() if metric.name == name for each in metric.samples]
        return sum(each.value for each in samples if each.name.endswith("_total"))

    def counted(then: Callable[[], object] = lambda: None) -> set[str]:
        """Which counters rise when all has ended that there can be."""
        before = {name: total(name) for name in COUNTERS}
        ended = WALPurgeStatus(stage=Stage.FAILED, entries_deleted=7, bytes_before=100, bytes_after=60)
        metrics.wal.count_lost_hold(WAL)
        metrics.wal.count_run(WAL, ended)
        metrics.wal.count_verification(WAL, WALVerificationStatus())
        metrics.wal.count_backup(WAL, WALBackupStatus())
        metrics.wal.count_restore(WAL, WALRestoreStatus(stage=RestoreStage.FAILED))
        then()
        return {name for name in COUNTERS if total(name) > before[name]}

    assert counted() == set()
    assert {metrics.series(name) for name in COUNTERS} == {0}, "a clusterRef may name none"
    assert counted(then=lambda: look(world, process)) == set(COUNTERS), "also what was before this process has met it"
    assert total("seawall_purge_deleted_entries") == 14
    metrics.wal.clear()
    assert counted() == set(), "who does not lead knows nobody"
    assert counted(then=lambda: look(world, process)) == set(COUNTERS)
    assert total("seawall_purge_deleted_entries") == 28
    spec = world.spec()
    world.kube.apply(WAL, {key: spec[key] for key in ("kafka", "topics")})
    Reconciler(process, may_write=lambda: True).tick(WAL)
    assert metrics.value("seawall_wal_can_look") is None
    assert counted() == set(COUNTERS), "without a database, too"
    world.kube.remove(WAL, WALCluster)
    Reconciler(process, may_write=lambda: True).tick(WAL)
    assert counted() == set()
    assert {metrics.series(name) for name in COUNTERS} == {0}
    world.kube.apply(WAL, spec)
    Reconciler(process, may_write=lambda: True).tick(WAL)
    assert counted() == set(COUNTERS), "another one of its name"
    assert total("seawall_purge_deleted_entries") == 7, "what ended late is none of it"


def test_what_ends_after_its_cluster_is_gone_brings_no_series_back() -> None:
    what_ends_late_is_not_counted()


def test_no_guard_of_what_goes_with_a_cluster_can_be_taken_away() -> None:
    mutants: tuple[Mutant, ...] = (
        (rewritten(Newest, "_publish", "key in self._there and ", ""), last_ones_go_with_their_cluster),
        (rewritten(BackupTelemetry, "_count", "cluster not in self._gone", "True"), what_ends_late_is_not_counted),
        (rewritten(BackupTelemetry, "_count", "cluster in self._there", "True"), what_ends_late_is_not_counted),
        (
            rewritten(BackupTelemetry, "_forget_cluster", "self._there.discard(cluster)", "pass"),
            what_ends_late_is_not_counted,
        ),
        (rewritten(WALTelemetry, "_meet", "self._meet_cluster(key)", "pass"), what_ends_late_is_not_counted),
        (
            rewritten(LedgerWatch, "observe", "self.meter.measure_answer(obj.metadata.key, None)", "pass"),
            what_ends_late_is_not_counted,
        ),
        (rewritten(Newest, "forget", "self._there.discard(key)", "pass"), last_ones_go_with_their_cluster),
        (
            rewritten(
                VerificationScheduleController, "forget", "self.meter.measure_verification_period(key, None)", "pass"
            ),
            schedules_go_with_their_cluster,
        ),
    )
    assert find_survivors(mutants) == []


@pytest.mark.parametrize("per_topic", [False, True])
def test_topics_have_series_of_their_own_only_when_asked_for(*, per_topic: bool) -> None:
    world, metrics = flushed(), Metrics(per_topic=per_topic)
    look(world, watching(world, metrics))
    assert metrics.series("seawall_topic_reason") == (len(TOPICS) if per_topic else 0)


def test_a_run_is_counted_once_when_it_ends() -> None:
    world, meters = flushed(), FakeMeters()
    world.start_run()
    process = Reconciler(
        WALPurgeController(world.kube, world.observer(), world.time, world.time, meters), may_write=lambda: True
    )
    run = world.settle(process)
    for _ in range(3):
        process.tick(RUN)
    assert meters.runs == [run.status]
    assert (run.status.stage, (run.status.entries_deleted or 0) > 0) == (Stage.COMPLETED, True)


def test_a_hold_that_is_lost_is_counted_once() -> None:
    world, meters = World(), FakeMeters()
    world.hold("late", {"wal_0": 1})
    controller = WALHoldController(world.kube, world.observer(), world.time, meters)
    process = Reconciler(controller, may_write=lambda: True)
    for _ in range(20):
        process.tick(Key("db", "late"))
        world.time.time += timedelta(hours=12)
    assert meters.lost_holds == [WAL]


def test_runs_are_counted_by_result_and_begin_at_zero() -> None:
    """Prometheus sees no increase in a counter that appears with its first event."""
    metrics = Metrics()
    metrics.wal.measure_ledger(WAL, None)
    assert metrics.value("seawall_purge_runs_total", result="Failed") == 0
    assert metrics.value("seawall_holds_lost_total") == 0
    ended = WALPurgeStatus(
        stage=Stage.FAILED,
        start_time=NOON,
        completion_time=NOON + timedelta(seconds=90),
        entries_deleted=7,
        bytes_before=100,
        bytes_after=60,
    )
    metrics.wal.count_run(WAL, ended)
    assert metrics.value("seawall_purge_runs_total", result="Failed") == 1
    assert metrics.value("seawall_purge_runs_total", result="Completed") == 0
    assert metrics.value("seawall_purge_deleted_entries_total") == 7
    assert metrics.value("seawall_purge_freed_bytes_total") == 40
    assert metrics.registry.get_sample_value("seawall_purge_duration_seconds_sum", {"result": "Failed"}) == 90


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        ({"interval": "7m"}, 420),
        ({}, 600),
        ({"schedule": "0 3 * * *"}, 86_400),
        ({"suspend": True}, None),
        ({"trigger": {"topicBytes": 1}}, None),
        ({"schedule": "0 0 30 2 *"}, None),
    ],
)
def test_runs_are_expected_as_often_as_the_policy_says(spec: dict[str, Any], seconds: int | None) -> None:
    period = expected_period(make_policy(**spec), NOON)
    assert period == (None if seconds is None else timedelta(seconds=seconds))


def test_a_policy_without_expected_runs_has_no_series() -> None:
    metrics = Metrics()
    metrics.wal.measure_policy(WAL, NOON, timedelta(minutes=5))
    assert metrics.value("seawall_policy_period_seconds") == 300
    assert metrics.value("seawall_policy_last_success_timestamp_seconds") == NOON.timestamp()
    metrics.wal.measure_policy(WAL, None, None)
    assert metrics.value("seawall_policy_period_seconds") is None
    assert metrics.value("seawall_policy_last_success_timestamp_seconds") is None


LATE = (
    ("seawall_policy", 300),
    ("seawall_backup_policy", 600),
    ("seawall_drill", 900),
)


def test_a_policy_whose_schedule_cannot_be_read_keeps_its_series() -> None:
    """It is late by what was declared before, and nobody hears of that if its series go."""
    metrics = Metrics()
    for periods in (map(timedelta, (0, 0, 0), (300, 600, 900)), (None, None, None)):
        policy, backups, drills = periods
        metrics.wal.measure_policy(WAL, NOON, policy)
        metrics.wal.measure_backup_policy(WAL, NOON, backups, lag_bytes=1)
        metrics.wal.measure_drills(WAL, NOON, drills, passed=None)
        for name, seconds in LATE:
            assert metrics.value(f"{name}_period_seconds") == seconds
            assert metrics.value(f"{name}_last_success_timestamp_seconds") == NOON.timestamp()
    metrics.wal.forget_policy(WAL)
    metrics.wal.forget_backup_policy(WAL)
    assert [metrics.series(f"{name}_period_seconds") for name, _ in LATE] == [0, 0, 0]


def test_after_a_start_a_policy_whose_schedule_cannot_be_read_has_the_time_of_its_last_success() -> None:
    metrics = Metrics()
    metrics.wal.measure_policy(WAL, NOON, None)
    assert metrics.value("seawall_policy_last_success_timestamp_seconds") == NOON.timestamp()
    assert metrics.value("seawall_policy_period_seconds") is None


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"interval": "7m"}, True),
        ({"interval": "7m", "suspend": True}, False),
        ({"trigger": {"topicBytes": 1}}, False),
        ({"schedule": "0 0 30 2 *"}, True),
        ({"schedule": "0 0 30 2 *", "suspend": True}, False),
        ({"nothing": 1}, True),
    ],
)
def test_a_schedule_that_is_wrong_was_meant_to_begin_runs(spec: dict[str, Any], *, expected: bool) -> None:
    kube = FakeKube(lambda: NOON)
    kube.apply(WAL, {"clusterRef": {"name": "wal"}, **spec}, kind=WALPurgePolicy)
    meters = FakeMeters()
    Reconciler(WALPurgePolicyController(kube, Time(NOON), FakeLedgers(), meters), may_write=lambda: True).tick(WAL)
    assert (meters.policies[WAL][0] is not None) is expected


def test_a_process_that_does_not_lead_knows_nothing_of_ledgers() -> None:
    telemetry = Telemetry(per_topic=False)
    telemetry.wal.measure_ledger(WAL, None)
    telemetry.lead(leading=False)
    assert telemetry.registry.get_sample_value("seawall_wal_can_look", CLUSTER) is None


def test_verifications_are_counted_by_outcome_and_the_newest_that_completed_is_told() -> None:
    metrics = Metrics()
    metrics.wal.measure_ledger(WAL, None)
    assert metrics.value("seawall_verifications_total", outcome="Passed") == 0
    metrics.wal.count_verification(WAL, WALVerificationStatus(outcome=Outcome.PASSED))
    metrics.wal.count_verification(WAL, WALVerificationStatus(outcome=Outcome.PASSED, stage=JobStage.FAILED))
    metrics.wal.count_verification(WAL, WALVerificationStatus(stage=JobStage.FAILED))
    metrics.wal.count_verification(WAL, WALVerificationStatus(stage=JobStage.COMPLETED))
    for outcome in ("Passed", "Incomplete", "NotBegun", "NothingToDo"):
        assert metrics.value("seawall_verifications_total", outcome=outcome) == 1
    for ended in (NOON, NOON - timedelta(hours=1)):
        metrics.wal.measure_verified(WAL, ended)
    assert metrics.value("seawall_last_verified_timestamp_seconds") == NOON.timestamp()
    metrics.wal.clear()
    assert metrics.value("seawall_last_verified_timestamp_seconds") is None
    metrics.wal.measure_verified(WAL, NOON)
    metrics.wal.measure_verification_period(WAL, timedelta(days=7))
    assert metrics.value("seawall_verification_period_seconds") == timedelta(days=7).total_seconds()
    metrics.wal.measure_verifications_expected(WAL, NOON)
    assert metrics.value("seawall_verification_scheduled_timestamp_seconds") == NOON.timestamp()
    metrics.wal.forget_ledger(WAL)
    of_schedule = ("seawall_verification_period_seconds", "seawall_verification_scheduled_timestamp_seconds")
    for name in ("seawall_last_verified_timestamp_seconds", *of_schedule):
        assert metrics.series(name) == 0
    metrics.wal.measure_verifications_expected(WAL, NOON)
    metrics.wal.measure_verification_period(WAL, None)
    metrics.wal.measure_verifications_expected(WAL, None)
    assert [metrics.series(name) for name in of_schedule] == [0, 0]
