"""Topics under the prefix beyond `topics.count` are backed up: they come back with the others."""

from __future__ import annotations

from typing import Any

from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.restore import WALRestoreSpec
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.restore import asked
from seawall.domain.restore.asked import asked_topics
from seawall.observe import restore_parts
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.backup_world import FULL, NEXT
from tests.worlds.purge_world import TOPICS
from tests.worlds.restore_world import SOURCE, RestoreWorld
from tests.worlds.scratch_world import ScratchWorld
from tests.worlds.verification_world import why

BEYOND = "wal_7"
POOL = TopicsSpec(prefix="wal", count=3)


def with_beyond(world: RestoreWorld) -> WALBackup:
    """A topic that is not the pool's by its count is backed up with the others."""
    made = world.kafka.add_topic(BEYOND, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
    made.log.now = world.time.now
    world.store.put_topic(BEYOND, 0)
    world.add_region(BEYOND, 9 << 32, datanode=0)
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
)


def test_every_guard_of_what_is_asked_for_is_needed() -> None:
    assert not find_survivors(MUTANTS)
