"""One tick beside others: leaders that froze, conflicts, refusals. The World is that of test_crash_at_every_call."""

from typing import Any

import pytest

from seawall.api.meta import TOPICS_FINALIZER, ConditionType
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers.cluster import WALClusterController
from seawall.controllers.topic_deletion import TopicDeletion
from seawall.domain.conditions import find_condition
from seawall.domain.errors import Refused
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.reconciler import Outcome, Reconciler
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters
from tests.fakes.kube import FakeKube
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.meters import FakeMeters
from tests.kernel.test_crash_at_every_call import CLOCK, KEY, NO_DATABASE, World, new_world, spec
from tests.support.mortal import DeathRow


def process(world: World, may_write: Any) -> Reconciler[Any, Any, Any, Any]:
    """A process with its own idea of leadership."""
    clusters = FakeKafkaClusters({"kafka:9092": world.kafka})
    observer = LedgerObserver(ClusterOpener(world.kube, clusters, NO_DATABASE), world.intents, CLOCK, CLOCK)
    deletion = TopicDeletion(world.kube, observer)
    return Reconciler(
        WALClusterController(world.kube, clusters, FakeLedgers(), CLOCK, FakeMeters(), deletion), may_write
    )


def read(world: World) -> WALCluster:
    found = world.kube.get(WALCluster, KEY)
    assert found is not None
    return found


@pytest.mark.parametrize("writes", range(3))
def test_one_that_lost_the_lease_writes_nothing_more(writes: int) -> None:
    """The Lease is lost before the n-th write."""
    world, asked = new_world(), []
    world.kube.apply(KEY, spec())

    def may_write() -> bool:
        asked.append(1)
        return len(asked) <= writes

    late = process(world, may_write)
    outcomes = [late.tick(KEY).outcome for _ in range(8)]
    assert outcomes[writes:] == [Outcome.NOT_LEADER] * (8 - writes)
    assert world.kube.status_writes + world.kafka.requests.get("create_topics", 0) == writes


@pytest.mark.parametrize("freezes_at", range(3))
def test_a_leader_that_wakes_up_late_deletes_no_topic_of_a_new_object(freezes_at: int) -> None:
    """It froze after it was told that it leads; meanwhile the deletion ended and the object was made anew."""
    world, asked = World(FakeKube(), FakeKafka()), []
    world.kube.apply(KEY, spec(deletionPolicy="Delete"))
    world.settle(DeathRow())
    world.kube.remove(KEY)

    def freeze() -> bool:
        asked.append(1)
        if len(asked) == freezes_at + 1:
            world.settle(DeathRow())
            world.kube.apply(KEY, spec())
            world.settle(DeathRow())
        return True

    late = process(world, freeze)
    for _ in range(freezes_at + 2):
        late.tick(KEY)
    assert len(world.kafka.topics) == 3


def test_a_conflict_is_tried_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = new_world()
    world.kube.apply(KEY, spec())
    real = world.kube.replace_status

    def edited_meanwhile(cluster: Any, status: Any) -> None:
        world.kube.apply(KEY, spec(count=4))
        real(cluster, status)

    monkeypatch.setattr(world.kube, "replace_status", edited_meanwhile)
    ticked = world.process(DeathRow()).tick(KEY)
    assert (ticked.outcome, ticked.after) == (Outcome.CONFLICT, 0.0)
    assert world.kube.status_writes == 0


def test_in_a_terminating_namespace_nothing_else_is_read() -> None:
    world = World(FakeKube(), FakeKafka())
    world.kube.apply(KEY, spec(deletionPolicy="Delete"))
    world.settle(DeathRow())
    world.kube.remove(KEY)
    world.kube.terminating.add("default")
    before = dict(world.kafka.requests)
    world.process(DeathRow()).tick(KEY)
    assert world.kube.get(WALCluster, KEY) is None
    assert world.kafka.requests == before


def test_finalizers_of_others_stay() -> None:
    world = new_world()
    world.kube.apply(KEY, spec(deletionPolicy="Delete"))
    world.kube.set_finalizers(read(world), ["somebody/else"])
    world.settle(DeathRow())
    assert set(read(world).metadata.finalizers) == {"somebody/else", TOPICS_FINALIZER}
    world.kube.remove(KEY)
    world.settle(DeathRow())
    assert read(world).metadata.finalizers == ("somebody/else",)


def test_a_refused_action_does_not_hold_up_the_others() -> None:
    world = World(FakeKube(), FakeKafka())
    world.kafka.add_topic("wal_9", replicas=(1, 2, 3), configs={"retention.ms": "1000"})
    world.kafka.refuse = lambda topic, _key, _value: "Policy says no." if topic == "wal_9" else None
    world.kube.apply(KEY, spec())
    world.settle(DeathRow())
    assert {"wal_0", "wal_1", "wal_2"} <= set(world.kafka.topics)
    ready = find_condition(read(world).status.conditions, ConditionType.READY)
    assert ready is not None
    assert ready.reason == "NotSupportedByKafka"
    assert "Policy says no." in ready.message


def test_a_config_that_kafka_takes_and_does_not_keep_is_told_and_not_set_again_and_again() -> None:
    world = World(FakeKube(), FakeKafka())
    world.kafka.unkept = frozenset({"min.insync.replicas"})
    world.kube.apply(KEY, spec())
    late = process(world, lambda: True)
    for _ in range(6):
        late.tick(KEY)
    for topic in world.kafka.topics.values():  # it has not kept them of new topics either
        topic.configs.pop("min.insync.replicas")
    ticks = [late.tick(KEY) for _ in range(6)]
    assert (ticks[-1].outcome, ticks[-1].after) == (Outcome.FAILED, 30.0)
    ready = find_condition(read(world).status.conditions, ConditionType.READY)
    assert ready is not None
    assert ready.reason == "NotSupportedByKafka"
    assert "Kafka took min.insync.replicas of topic wal_0 and 2 others, and keeps" in ready.message
    assert [event.reason for event in world.kube.events].count("ConfigsRepaired") == 0


def test_a_deletion_that_kafka_refuses_says_so_and_keeps_the_finalizer(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(FakeKube(), FakeKafka())
    world.kube.apply(KEY, spec(deletionPolicy="Delete"))
    world.settle(DeathRow())

    def refuse(_names: Any) -> None:
        raise Refused("Topic authorization failed.")

    monkeypatch.setattr(world.kafka, "delete_topics", refuse)
    world.kube.remove(KEY)
    late = process(world, lambda: True)
    for _ in range(6):
        late.tick(KEY)
    cluster = read(world)
    ready = find_condition(cluster.status.conditions, ConditionType.READY)
    assert ready is not None
    assert (ready.reason, ready.message) == ("ChangeRefused", "Topic authorization failed.")
    assert cluster.metadata.finalizers == (TOPICS_FINALIZER,)
    assert [event.reason for event in world.kube.events].count("ChangeRefused") == 1
    assert len(world.kafka.topics) == 3
