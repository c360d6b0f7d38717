"""The operator's wall clock is wrong for a while: no restore waits by it, nor is it cut short."""

from __future__ import annotations

from datetime import timedelta

import pytest

from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.domain.times import SCRATCH_GIVE_UP_AFTER, SCRATCH_LINGER
from tests.restore.test_restore_crash import approved
from tests.worlds.restore_world import BACK, RestoreWorld
from tests.worlds.scratch_world import backed_up
from tests.worlds.verification_world import why

DAYS = timedelta(days=3)
SOON = timedelta(minutes=5)


def settles_soon(world: RestoreWorld) -> WALRestore:
    """To its end, in a time in which nobody waits by a wrong clock."""
    began = world.time.time
    found: WALRestore = world.settle_restore()
    assert world.time.time - began < SOON
    return found


def written_ahead(world: RestoreWorld) -> None:
    """An older version wrote when the attempt ended, by a clock that was ahead."""
    found = world.walrestore()
    ahead = found.status.model_copy(update={"attempt_time": world.time.time + DAYS})
    world.kube.replace_status(found, ahead)


def test_a_clock_that_was_ahead_when_an_attempt_ended_keeps_no_drill() -> None:
    world = backed_up()
    world.drill_until(RestoreStage.WRITING)
    world.time.ahead = DAYS
    found = world.live_until(RestoreStage.REMOVING)
    assert found.status.attempt_time is not None
    assert found.status.attempt_time <= world.time.time
    world.time.ahead = timedelta(0)
    found = settles_soon(world)
    assert (found.status.stage, world.scratch_topics()) == (RestoreStage.COMPLETED, [])


def test_a_clock_that_is_ahead_cuts_no_job_short() -> None:
    world = backed_up(slow=3)
    world.drill_until(RestoreStage.WRITING)
    process = world.restorer()
    while "back-2" not in {key.name for key in world.spark.specs}:
        world.settle_restore(process=process, ticks=1)
    world.time.ahead = DAYS
    found = world.settle_restore(process=process)
    assert (found.status.stage, found.status.attempt) == (RestoreStage.COMPLETED, 2)


def test_an_end_of_an_attempt_that_is_to_come_counts_from_now_on() -> None:
    world = backed_up()
    world.drill_until(RestoreStage.REMOVING)
    written_ahead(world)
    began = world.time.time
    assert settles_soon(world).status.stage is RestoreStage.COMPLETED
    assert world.time.time - began >= SCRATCH_LINGER
    assert world.scratch_topics() == []


def test_the_next_attempt_of_a_restore_waits_for_no_time_that_is_to_come() -> None:
    world = approved(half_written=1)
    world.live_until(RestoreStage.REMOVING)
    written_ahead(world)
    found = settles_soon(world)
    assert (found.status.stage, found.status.attempt) == (RestoreStage.COMPLETED, 3)


@pytest.mark.parametrize("ahead", [DAYS, -DAYS])
def test_a_deletion_gives_up_after_ten_true_minutes(ahead: timedelta) -> None:
    world = backed_up()
    world.drill_until(RestoreStage.WRITING)
    world.kafka.cluster_id = "another"
    began = world.kube.deletes_at = world.time.time
    world.kube.remove(BACK, WALRestore)
    world.settle_restore(ticks=60)
    assert why(world.walrestore())[0] == "KafkaUnreachable"
    world.time.ahead = ahead
    world.settle_restore(ticks=20)
    assert why(world.walrestore())[0] == "KafkaUnreachable"
    world.is_given_up = True
    assert world.settle_restore() is None
    assert SCRATCH_GIVE_UP_AFTER <= world.time.time - began < SCRATCH_GIVE_UP_AFTER + SOON
