"""What Prometheus is told of backups and drills: by the real adapter, the values that the world has."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.hold import WALHold
from seawall.controllers.hold import WALHoldController
from seawall.reconciler import Outcome, Reconciler
from tests.backup import test_drills as drills
from tests.backup.test_backup_policy import TEN, PolicyWorld, declared, settle
from tests.cluster.test_topic_deletion import drop_tables
from tests.ledger.test_metrics import Metrics
from tests.worlds.backup_world import POLICY
from tests.worlds.purge_world import NAMESPACE, WAL

BYTES = 100
"""Of a record, in this world."""


def of_policy(metrics: Metrics, name: str) -> float | None:
    """A metric of the policy."""
    return metrics.registry.get_sample_value(name, {"namespace": NAMESPACE, "name": POLICY.name})


def told(world: PolicyWorld | drills.DrillWorld) -> Metrics:
    """From now on the operator's processes tell this."""
    metrics = Metrics()
    metrics.wal.measure_answer(WAL, None)  # who watches its ledger has met the WALCluster
    setattr(world, "meters", metrics.wal)  # noqa: B010 - tests have a fake there
    return metrics


def test_backups_are_counted_by_outcome_and_the_newest_that_completed_is_told() -> None:
    world = declared()
    metrics = told(world)
    world.live(TEN + timedelta(minutes=3))
    (first,) = world.backups()
    assert first.status.completion_time is not None
    assert metrics.value("seawall_backups_total", outcome="Passed") == 1
    assert metrics.value("seawall_last_backup_timestamp_seconds") == first.status.completion_time.timestamp()
    world.damaged = True
    world.live(TEN)
    assert metrics.value("seawall_backups_total", outcome="Failed") == 1
    world.damaged, world.dies = False, 10**6
    world.live(2 * TEN)
    interrupted = [each for each in world.backups() if each.status.is_over and each.status.outcome == "Interrupted"]
    assert interrupted
    assert metrics.value("seawall_backups_total", outcome="Interrupted") == len(interrupted)
    assert metrics.value("seawall_backups_total", outcome="Passed") == 1
    assert metrics.value("seawall_last_backup_timestamp_seconds") == first.status.completion_time.timestamp()


def test_a_backup_that_lacks_a_topic_is_no_success() -> None:
    world = declared()
    metrics = told(world)
    world.foreign.add("wal_1")
    del world.kafka.topics["wal_1"]
    world.live(2 * TEN + timedelta(minutes=3))
    assert metrics.value("seawall_backups_total", outcome="Incomplete") == 1
    assert not metrics.value("seawall_backups_total", outcome="Passed")


def test_a_policy_whose_backups_have_nothing_to_back_up_is_not_late() -> None:
    world = declared()
    metrics = told(world)
    drop_tables(world)
    world.live(3 * TEN + timedelta(minutes=3))
    ended = [each.status.completion_time for each in world.backups()]
    assert {each.status.manifest for each in world.backups()} == {None}
    newest = max(time for time in ended if time is not None)
    assert newest > world.policy().metadata.creation_timestamp + 2 * TEN
    assert of_policy(metrics, "seawall_backup_policy_last_success_timestamp_seconds") == newest.timestamp()
    assert metrics.value("seawall_backups_total", outcome="NothingToDo") == len(ended)


def test_what_is_not_backed_up_rises_with_writes_and_falls_with_a_backup() -> None:
    world = declared()
    metrics = told(world)
    world.live(TEN + timedelta(minutes=3))

    def lag() -> int | None:
        found = world.policy().status.lag_bytes
        assert of_policy(metrics, "seawall_backup_lag_bytes") == found
        return found

    assert lag() == 0
    for rows in (3, 8):
        world.write("wal_1", rows)
        world.live(timedelta(minutes=2))
    assert lag() == 11 * BYTES
    world.live(timedelta(minutes=6))
    assert [mode.split()[1] for mode in world.modes()] == ["BackedUp", "BackedUp"]
    assert lag() == 0
    world.kube.remove(POLICY, WALBackupPolicy)
    world.live(timedelta(minutes=1))
    assert of_policy(metrics, "seawall_backup_lag_bytes") is None


def test_what_a_status_says_is_told_at_once() -> None:
    """The next tick may come a minute later: nothing wakes a policy whose own status was written."""
    world = declared()
    metrics = told(world)
    world.live(TEN + timedelta(minutes=3))
    world.write("wal_1", 5)
    (hold,) = world.kube.list(WALHold, NAMESPACE).items
    holds: Any = WALHoldController(world.kube, world.observer(), world.time, world.meters)
    settle(Reconciler(holds, may_write=lambda: True), hold.metadata.key)
    assert of_policy(metrics, "seawall_backup_lag_bytes") == 0
    assert world.planner().tick(POLICY).outcome is Outcome.RECORDED
    assert of_policy(metrics, "seawall_backup_lag_bytes") == 5 * BYTES


def test_whether_the_last_drill_passed_is_told() -> None:
    world = drills.declared()
    metrics = told(world)
    world.live(drills.TWENTY)
    assert of_policy(metrics, "seawall_drill_passed") == 1
    world.undecodable = True
    world.live(drills.TWENTY)
    assert of_policy(metrics, "seawall_drill_passed") == 0
    world.kube.remove(POLICY, WALBackupPolicy)
    world.live(drills.STEP)
    assert of_policy(metrics, "seawall_drill_passed") is None
