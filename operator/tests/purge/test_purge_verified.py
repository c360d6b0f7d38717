"""Runs of purges that a policy makes wait for a replay verification, on the in-memory ports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.purge import Stage, WALPurge
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.conditions import find_condition
from seawall.domain.spark_job.application import Ended, SparkApplication
from seawall.domain.spark_job.following import follow
from tests.worlds.purge_world import NAMESPACE, SAFETY
from tests.worlds.verification_world import CHECK, VerificationWorld

REQUIRED: dict[str, Any] = {**SAFETY, "requireVerification": {"level": "Integrity", "maxAge": "24h"}}


def flush_all(world: VerificationWorld) -> None:
    for region in list(world.data_plane.regions):
        world.flush(region)


def skipped(run: WALPurge) -> set[str]:
    return {each.reason for each in run.status.skipped}


def message(run: WALPurge) -> str:
    found = find_condition(run.status.conditions, ConditionType.READY)
    assert found is not None
    return found.message


def test_without_a_verification_nothing_is_deleted() -> None:
    world = VerificationWorld()
    flush_all(world)
    world.start_run(safety=REQUIRED)
    run = world.settle()
    assert (run.status.stage, set(world.log_starts().values())) == (Stage.COMPLETED, {0})
    assert skipped(run) == {"VerificationMissing"}


def test_a_purge_goes_exactly_to_where_the_verification_began_to_read() -> None:
    world = VerificationWorld()
    world.start()
    world.settle_verification()
    flush_all(world)
    world.start_run(safety=REQUIRED)
    run = world.settle()
    (row, *_) = world.verification().status.topics
    assert (row.verified_from, row.end) == (1, 40)
    assert set(world.log_starts().values()) == {1}
    assert not run.status.skipped


def test_only_topics_that_replay_are_purged() -> None:
    world = VerificationWorld(bad={"wal_1"})
    flush_all(world)
    world.start()
    world.settle_verification()
    world.start_run(safety=REQUIRED)
    run = world.settle()
    starts = world.log_starts()
    assert starts["wal_1"] == 0
    assert starts["wal_0"] == starts["wal_2"] == 36
    assert [(each.topic, each.reason) for each in run.status.skipped] == [("wal_1", "VerificationMissing")]


def test_a_verification_of_long_ago_does_not_count() -> None:
    world = VerificationWorld()
    flush_all(world)
    world.start()
    world.settle_verification()
    world.time.time += timedelta(hours=24)
    world.start_run(safety=REQUIRED)
    assert skipped(world.settle()) == {"VerificationTooOld"}
    assert set(world.log_starts().values()) == {0}


@pytest.mark.parametrize("says_when", [True, False])
def test_a_verdict_that_is_read_late_is_as_old_as_the_verdict(*, says_when: bool) -> None:
    """No operator was there when its driver ended; where the node does not say when, its time was up long ago."""
    world = VerificationWorld(slow=10**6, node_says_when=says_when)
    flush_all(world)
    world.start()
    process = world.verifier()
    world.settle_verification(process, ticks=30)
    world.slow, ended = 0, world.time.time
    world.run_spark()
    world.time.time += timedelta(days=3)
    found = world.settle_verification(process)
    created = world.spark.applications[Key(NAMESPACE, "check-1")].created_at
    assert found.status.verdict_time == (ended if says_when else created + timedelta(hours=6))
    assert (found.status.stage, found.status.completion_time - ended > timedelta(days=3)) == (JobStage.COMPLETED, True)
    world.start_run(safety=REQUIRED)
    assert skipped(world.settle()) == {"VerificationTooOld"}
    assert set(world.log_starts().values()) == {0}


def test_a_verdict_of_a_node_whose_clock_is_ahead_is_no_younger_than_its_reading() -> None:
    now = datetime(2026, 11, 22, 6, 0, tzinfo=UTC)
    made = SparkApplication(Key(NAMESPACE, "check-1"), "uid", now - timedelta(minutes=5))
    for finished_at in (now + timedelta(days=2), None):
        found = follow(made, Ended(0, "", finished_at), now, timedelta(hours=6))
        assert found == Ended(0, "", now)


def test_a_verification_of_a_lower_level_does_not_count() -> None:
    world = VerificationWorld()
    flush_all(world)
    world.start(level="Coverage")
    world.settle_verification()
    world.start_run(safety=REQUIRED)
    assert skipped(world.settle()) == {"VerificationMissing"}


def test_a_policy_makes_runs_by_hand_wait_too() -> None:
    world = VerificationWorld()
    flush_all(world)
    world.declare_policy(safety=REQUIRED)
    world.start_run()
    assert skipped(world.settle()) == {"VerificationMissing"}


def test_a_run_waits_for_a_verification_that_runs_and_then_goes_as_far_as_it_licenses() -> None:
    world = VerificationWorld(slow=10**6)
    flush_all(world)
    world.start()
    world.settle_verification(ticks=30)
    world.start_run(safety=REQUIRED)
    process = world.process()
    run = world.settle(process, ticks=12)
    assert run.status.stage is Stage.VERIFICATION
    assert message(run) == "it waits for WALVerification check"
    assert find_condition(run.status.conditions, ConditionType.WAITING) is not None
    world.slow = 0
    world.settle_verification()
    run = world.settle(process)
    assert (run.status.stage, set(world.log_starts().values())) == (Stage.COMPLETED, {36})


def test_a_run_waits_for_a_verification_a_quarter_of_an_hour_at_most() -> None:
    world = VerificationWorld(slow=10**6)
    flush_all(world)
    world.start()
    world.settle_verification(ticks=30)
    world.start_run(safety=REQUIRED)
    begun = world.time.time
    run = world.settle()
    assert (run.status.stage, skipped(run)) == (Stage.COMPLETED, {"VerificationMissing"})
    assert timedelta(minutes=15) <= world.time.time - begun < timedelta(minutes=30)
    assert world.verification().status.stage is JobStage.RUNNING
    assert set(world.log_starts().values()) == {0}


def test_a_verification_that_cannot_be_enough_is_not_waited_for() -> None:
    world = VerificationWorld(slow=10**6)
    flush_all(world)
    world.start(level="Coverage")
    world.settle_verification(ticks=30)
    world.start_run(safety=REQUIRED)
    assert world.settle().status.verification_time is None


def test_a_verification_that_goes_before_the_delete_licenses_it_no_more() -> None:
    world = VerificationWorld()
    flush_all(world)
    world.start()
    world.settle_verification()
    world.start_run(safety=REQUIRED)
    process = world.process()
    for _ in range(100):
        if world.run().status.seen_time is not None:
            break
        world.settle(process, ticks=1)
    world.kube.remove(CHECK, WALVerification)
    run = world.settle(process)
    assert skipped(run) == {"VerificationMissing"}
    assert set(world.log_starts().values()) == {0}
