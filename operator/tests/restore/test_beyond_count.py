"""Topics under the prefix beyond `topics.count` are backed up: they come back with the others."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.restore import WALRestoreSpec
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.backup import kind, selection
from seawall.domain.restore import asked
from seawall.domain.restore.asked import asked_topics
from seawall.observe import restore_parts
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.backup_world import FULL, NEXT
from tests.worlds.point_world import BRACKET
from tests.worlds.purge_world import TOPICS
from tests.worlds.restore_world import SOURCE, RestoreWorld
from tests.worlds.scratch_world import ScratchWorld
from tests.worlds.verification_world import why

BEYOND, REGION = "wal_7", 9 << 32
POOL = TopicsSpec(prefix="wal", count=3)


def with_beyond(world: RestoreWorld) -> WALBackup:
    """A topic that is not the pool's by its count is backed up with the others."""
    made = world.kafka.add_topic(BEYOND, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
    made.log.now = world.time.now
    world.store.put_topic(BEYOND, 0)
    world.add_region(BEYOND, REGION, datanode=0)
    world.write(BEYOND, 8)
    found: WALBackup = world.backed_up()
    assert found.status.stage is JobStage.COMPLETED
    assert [row.name for row in found.status.topics] == [*TOPICS, BEYOND]
    return found


def lost_beyond() -> RestoreWorld:
    world = RestoreWorld()
    with_beyond(world)
    world.lose_kafka(*TOPICS, BEYOND)
    return world


def test_all_that_is_backed_up_comes_back() -> None:
    world = lost_beyond()
    found = world.restored()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.COMPLETED, "Restored")
    assert [row.name for row in found.status.planned] == [*TOPICS, BEYOND]
    assert world.kafka.topics[BEYOND].log.end >= 8


def test_where_the_objects_are_gone_a_person_names_it() -> None:
    """The store alone is enough; only what is not the pool's by its count has to be said."""
    world = lost_beyond()
    world.kube.remove(FULL, WALBackup)
    world.bring_back()
    found = world.settle_restore()
    assert (why(found)[0], f"topic {BEYOND}" in why(found)[1]) == ("RequestRefused", True)
    world.bring_back(NEXT, topics=["*", BEYOND])
    plan = world.live_until(RestoreStage.AWAITING_APPROVAL, NEXT).status.plan
    assert plan is not None
    assert plan.topics == 4


def test_a_drill_takes_it_too() -> None:
    world = ScratchWorld()
    with_beyond(world)
    found = world.drilled(topics=[BEYOND])
    assert (found.status.stage, [row.name for row in found.status.planned]) == (RestoreStage.COMPLETED, [BEYOND])


@pytest.mark.parametrize("what", [{}, {"bracket": BRACKET}], ids=["full", "restore point"])
def test_one_that_kafka_lost_is_not_left_out_in_silence(what: dict[str, Any]) -> None:
    """Its only copy would be in an older chain, which retention takes when this one counts as proved."""
    world = RestoreWorld()
    with_beyond(world)
    world.lose_kafka(BEYOND)
    found = world.backed_up(NEXT, **what)
    assert (found.status.stage, why(found)[0]) == (JobStage.FAILED, "NotAllBackedUp")
    assert f"{BEYOND} OffsetsUnknown" in why(found)[1]
    assert found.status.restore_point is None


def test_one_that_kafka_lost_and_that_nobody_reads_ends_no_backup() -> None:
    """Its table was dropped, or it is of another pool."""
    world = RestoreWorld()
    with_beyond(world)
    world.lose_kafka(BEYOND)
    world.store.drop_region(BEYOND, REGION)
    del world.data_plane.regions[REGION]
    world.store.put_topic("other_1", 0)
    world.store.put_region("other_1", 10 << 32, leader=0, checkpoint=None)
    found = world.backed_up(NEXT)
    assert (found.status.stage, [row.name for row in found.status.topics]) == (JobStage.COMPLETED, list(TOPICS))


def names(backups: tuple[WALBackup, ...] = (), **spec: Any) -> tuple[str, ...]:
    body = {"clusterRef": {"name": "wal"}, "source": SOURCE, "target": {"latest": True}, **spec}
    return asked_topics(WALRestoreSpec.model_validate(body), POOL, backups)


def test_what_is_asked_for_is_of_the_prefix_and_in_the_backup_or_named() -> None:
    backup = with_beyond(RestoreWorld())
    assert names() == TOPICS
    assert names((backup,)) == (*TOPICS, BEYOND)
    assert names((backup,), topics=["wal_1"]) == ("wal_1",)
    assert names((backup,), source={**SOURCE, "chain": backup.status.chain}) == (*TOPICS, BEYOND)
    assert names((backup,), source={**SOURCE, "chain": "another"}) == TOPICS
    assert names((backup,), source={"clusterId": "another"}) == TOPICS
    assert names(topics=["wal_10", "wal_9", "other_1", "wal_01"]) == ("wal_9", "wal_10")
    assert names(padTo={BEYOND: 0}) == (*TOPICS, BEYOND)
    assert names(padTo={BEYOND: 0}, topics=["wal_1"]) == ("wal_1",)


MUTANTS: tuple[Mutant, ...] = (
    (rewritten(asked, "asked_topics", ", *backed_up)", ")", restore_parts), test_all_that_is_backed_up_comes_back),
    (
        rewritten(asked, "_is_source", "status.cluster_id == source.cluster_id", "True"),
        test_what_is_asked_for_is_of_the_prefix_and_in_the_backup_or_named,
    ),
    (
        rewritten(selection, "names_of_pool", ", *lost}", "}", kind),
        partial(test_one_that_kafka_lost_is_not_left_out_in_silence, {}),
    ),
    (
        rewritten(selection, "names_of_pool", ", *lost}", "}", kind),
        partial(test_one_that_kafka_lost_is_not_left_out_in_silence, {"bracket": BRACKET}),
    ),
    (
        rewritten(selection, "names_of_pool", "declared.index_of(name) is not None", "True", kind),
        test_one_that_kafka_lost_and_that_nobody_reads_ends_no_backup,
    ),
    (
        rewritten(selection, "names_of_pool", "set(inputs.regions.topic.tolist())", "range(len(inputs.topics))", kind),
        test_one_that_kafka_lost_and_that_nobody_reads_ends_no_backup,
    ),
)


def test_every_guard_of_what_is_asked_for_is_needed() -> None:
    assert not find_survivors(MUTANTS)
