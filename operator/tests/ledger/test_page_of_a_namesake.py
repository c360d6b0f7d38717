"""A WALCluster that is made anew by the name of one that is gone: what was found of that one's pool is not its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers.cluster import WALClusterController
from seawall.controllers.ledger import LedgerWatch
from seawall.controllers.topic_deletion import TopicDeletion
from seawall.domain.conditions import find_condition
from seawall.reconciler import Reconciler
from tests.fakes.kafka import FakeKafkaClusters
from tests.fakes.meters import FakeMeters
from tests.ledger.test_ledger_watch import look, watch
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import WAL, World

COUNT = 64
"""Names of so many topics fall into all shards of the pool before."""


def made_anew(world: World, watching: LedgerWatch) -> WALCluster:
    """With another prefix, while nobody looked; the former pool has records."""
    look(world, watching, times=2)
    world.kube.remove(WAL)
    world.kube.apply(WAL, {**world.spec(), "topics": {"prefix": "other", "count": COUNT}})
    return world.cluster()


def process(world: World, watching: LedgerWatch) -> Reconciler[Any, Any, Any, Any]:
    """Who makes the topics."""
    clusters = FakeKafkaClusters({"kafka:9092": world.kafka})
    deletion = TopicDeletion(world.kube, watching.observer)
    controller = WALClusterController(world.kube, clusters, watching, world.time, FakeMeters(), deletion)
    return Reconciler(controller, may_write=lambda: True)


def state_of(world: World, kind: ConditionType) -> str | None:
    """Of a condition."""
    found = find_condition(world.cluster().status.conditions, kind)
    return None if found is None else found.status


def test_its_topics_are_made_and_nothing_is_said_of_the_former_pool() -> None:
    world = World()
    watching = watch(world)
    made_anew(world, watching)
    topics = process(world, watching)
    ledgers: Reconciler[Any, Any, Any, Any] = Reconciler(watching, may_write=lambda: True)
    topics.tick(WAL)
    assert state_of(world, ConditionType.WAL_INTACT) == "Unknown"
    assert not world.cluster().status.recorded_shards
    for _ in range(40):
        topics.tick(WAL)
        ledgers.tick(WAL)
        world.time.time += timedelta(seconds=5)
    assert sum(name.startswith("other_") for name in world.kafka.topics) == COUNT
    assert state_of(world, ConditionType.READY) == "True"


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(WALClusterController, "observe", ", obj.metadata.uid)", ")"),
        test_its_topics_are_made_and_nothing_is_said_of_the_former_pool,
    ),
    (
        rewritten(LedgerWatch, "latest", "self._uids.get(key) == uid", "True"),
        test_its_topics_are_made_and_nothing_is_said_of_the_former_pool,
    ),
)


def test_each_guard_of_pages_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
