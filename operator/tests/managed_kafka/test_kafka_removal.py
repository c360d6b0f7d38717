"""A broker is taken out of a managed Kafka: emptied, stopped, fenced, forgotten, and its id is not used again."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind
from seawall.api.v1alpha1.managed_kafka_status import RemovalStage
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.partitions import Broker, BrokerState, PartitionId, Sizes
from seawall.domain.times import MANAGED_KAFKA_EMPTY_FOR
from tests.fakes.kafka_reassigner import FakeReassigner
from tests.managed_kafka.test_managed_kafka_crash import identity
from tests.worlds.kafka_removal_world import CHANGES, RemovalWorld
from tests.worlds.managed_world import WAITS, WAL
from tests.worlds.purge_world import Calls

BROUGHT_UP = RemovalWorld().bring_up()


@pytest.fixture
def world() -> RemovalWorld:
    return copy.deepcopy(BROUGHT_UP)


def sentence(world: RemovalWorld) -> str:
    found = world.condition()
    return "" if found is None else found[2]


def names(world: RemovalWorld, node: int) -> set[str]:
    return {f"{kind}" for (kind, _), meta in world.objects.meta.items() if meta.node == node}


def removed(world: RemovalWorld) -> tuple[int, ...]:
    managed = world.cluster().status.managed_kafka
    return () if managed is None else managed.removed


def test_a_broker_is_emptied_stopped_forgotten_and_its_objects_go_but_for_its_volume(world: RemovalWorld) -> None:
    calls = Calls(world.check, CHANGES)
    world.scale(3)
    world.live(calls)
    assert world.is_done()
    assert world.on(3) == set()
    assert names(world, 3) == {"PersistentVolumeClaim"}
    assert world.kafka.moves.unregistered == {3}
    assert identity(world).nodes[3].removed
    assert [name for name in calls.names if name in {"stop", "unregister"}] == ["stop", "unregister"]
    budget = world.objects.made[ObjectKind.BUDGET, Key(WAL.namespace, "wal-kafka-brokers")]
    assert budget.body["spec"]["minAvailable"] == 2
    assert world.condition() == ("True", "AllOnline", "6 nodes are Online")
    events = [event.message for event in world.kube.events]
    assert "Node 3 was taken out, and its id is not used again; its volume data-wal-3 stays" in events


def test_its_id_is_not_used_again(world: RemovalWorld) -> None:
    world.scale(3)
    world.live(ticks=120)
    world.scale(4)
    world.live(ticks=120)
    assert world.says("AllOnline")
    assert sorted(world.objects.pods[WAL]) == [0, 1, 2, 4, 100, 101, 102]
    assert 4 in world.kafka.brokers
    found = world.cluster()
    assert found.status.managed_kafka is not None
    assert found.status.managed_kafka.removed == (3,)
    assert not isinstance(found.spec, InvalidSpec)
    database = found.spec.kafka.access_of_database(WAL).bootstrap_servers
    assert database == tuple(f"wal-{node}.db.svc:9092" for node in (0, 1, 2, 4)), "a dead name stops a database"


@pytest.mark.parametrize("lose", [lambda world: world.lose_record("wal-kafka-identity"), RemovalWorld.forget_status])
def test_an_id_is_remembered_twice(world: RemovalWorld, lose: Callable[[RemovalWorld], object]) -> None:
    world.scale(3)
    world.live()
    lose(world)
    world.live()
    world.scale(4)
    world.live()
    assert sorted(world.objects.pods[WAL]) == [0, 1, 2, 4, 100, 101, 102]


def test_one_that_leaves_is_known_by_its_volume_when_the_identity_is_lost(world: RemovalWorld) -> None:
    world.keeps = True
    world.scale(3)
    world.live(until=lambda: world.says("RemovingNode"))
    world.lose_record("wal-kafka-identity")
    world.live(ticks=40)
    assert world.says("RemovingNode")
    budget = world.objects.made[ObjectKind.BUDGET, Key(WAL.namespace, "wal-kafka-brokers")]
    assert budget.body["spec"]["minAvailable"] == 3, "four pods are there"
    world.keeps = False
    world.live()
    assert world.is_done()
    assert identity(world).nodes[3].removed


def test_one_that_leaves_is_known_by_its_statefulset_when_its_volume_is_lost_too(world: RemovalWorld) -> None:
    world.keeps = True
    world.scale(3)
    world.live(until=lambda: world.says("RemovingNode"))
    world.lose_record("wal-kafka-identity")
    world.lose_volume(3)
    world.live(ticks=20)
    assert world.removal() is not None
    assert 3 in identity(world).nodes
    assert identity(world).nodes[3].registered, "it is never formatted as a new one"
    world.keeps = False
    world.live()
    assert world.is_done()


def test_objects_of_one_that_is_out_go_although_the_identity_is_lost(world: RemovalWorld) -> None:
    world.scale(3)
    world.live(until=lambda: identity(world).nodes[3].removed)
    world.process().tick(WAL)
    assert removed(world) == (3,)
    assert "StatefulSet" in names(world, 3)
    world.lose_record("wal-kafka-identity")
    world.live()
    assert world.is_done()
    assert identity(world).nodes[3].removed
    assert names(world, 3) == {"PersistentVolumeClaim"}


def test_what_is_no_volume_of_a_node_makes_none_when_the_identity_is_lost(world: RemovalWorld) -> None:
    """Whoever copies a claim copies its labels."""
    place = (ObjectKind.VOLUME, Key(WAL.namespace, "data-wal-3"))
    copied = (ObjectKind.VOLUME, Key(WAL.namespace, "copy-of-data-wal-7"))
    world.objects.made[copied] = replace(world.objects.made[place], name=copied[1].name)
    world.objects.meta[copied] = replace(world.objects.meta[place], name=copied[1].name, uid="copy", node=7)
    world.lose_record("wal-kafka-identity")
    world.live()
    assert sorted(identity(world).nodes) == [0, 1, 2, 3, 100, 101, 102]
    assert world.says("AllOnline")


def test_its_volume_goes_where_the_pool_says_so(world: RemovalWorld) -> None:
    world.may_delete_volumes = True
    world.scale(3)
    world.spec["kafka"]["managed"]["nodePools"][1]["storage"]["deleteClaim"] = True
    world.kube.apply(WAL, world.spec)
    world.live()
    assert world.is_done()
    assert names(world, 3) == set()


def copy_claim(world: RemovalWorld, **changes: Any) -> str:
    """Somebody made another claim of that of node 3, as a tool for backups does, which takes the labels along."""
    place = (ObjectKind.VOLUME, Key(WAL.namespace, "data-wal-3"))
    found = replace(world.objects.meta[place], **changes)
    copied = (ObjectKind.VOLUME, Key(WAL.namespace, found.name))
    world.objects.made[copied] = replace(world.objects.made[place], name=found.name)
    world.objects.meta[copied] = found
    return found.name


def test_a_claim_that_only_has_its_labels_stays_and_is_named(world: RemovalWorld) -> None:
    world.may_delete_volumes = True
    copied = copy_claim(world, name="data-wal-3-copy", uid="copy")
    world.scale(3)
    world.spec["kafka"]["managed"]["nodePools"][1]["storage"]["deleteClaim"] = True
    world.kube.apply(WAL, world.spec)
    world.live()
    assert world.is_done()
    assert volumes_of(world, 3) == [copied]
    said = f"Node 3 was taken out, and its id is not used again; its volume {copied} stays"
    assert said in [event.message for event in world.kube.events]


def test_a_claim_of_its_name_that_is_not_the_one_that_it_had_stays(world: RemovalWorld) -> None:
    """Somebody put another one there when nothing was on it any more: nobody knows what that has."""
    world.may_delete_volumes = True
    copy_claim(world, name="data-wal-3-copy", uid="copy")
    world.scale(3)
    world.spec["kafka"]["managed"]["nodePools"][1]["storage"]["deleteClaim"] = True
    world.kube.apply(WAL, world.spec)
    world.live(until=lambda: identity(world).nodes[3].removed)
    copy_claim(world, uid="another")
    world.live()
    assert world.is_done()
    assert volumes_of(world, 3) == ["data-wal-3", "data-wal-3-copy"]
    said = "Node 3 was taken out, and its id is not used again; volumes data-wal-3, data-wal-3-copy stay"
    assert said in [event.message for event in world.kube.events]


def volumes_of(world: RemovalWorld, node: int) -> list[str]:
    """Claims with the labels of a node."""
    found = world.objects.meta.items()
    return sorted(key.name for (kind, key), meta in found if kind is ObjectKind.VOLUME and meta.node == node)


def test_nothing_is_stopped_before_two_looks_that_lie_apart_found_nothing(world: RemovalWorld) -> None:
    world.keeps = True
    world.scale(3)
    world.live(ticks=40)
    assert "1 replicas of 1 topics (late-3) are on it" in sentence(world)
    assert world.condition() is not None
    assert world.says("RemovingNode")
    world.keeps = False
    world.live(until=lambda: world.on(3) == set())
    emptied = world.time.time
    world.live(until=lambda: 3 in world.stopped)
    assert world.time.time - emptied >= MANAGED_KAFKA_EMPTY_FOR


def test_while_kafka_does_not_answer_it_is_not_empty(world: RemovalWorld) -> None:
    world.keeps = True
    world.scale(3)
    world.live(ticks=20)
    for name in world.on(3):
        world.move(name, 3, next(each for each in (0, 1, 2) if each not in world.kafka.logs[name].replicas))
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "it does not answer")
    world.live(ticks=60)
    assert 3 not in world.stopped
    world.kafka.unreachable = None
    world.live()
    assert world.is_done()


def test_a_raise_before_the_stop_turns_it_back(world: RemovalWorld) -> None:
    world.keeps = True
    world.scale(3)
    world.live(until=lambda: world.removal() is not None)
    world.scale(4)
    world.live()
    assert (world.removal(), world.entry()) == (None, None)
    assert world.says("AllOnline")
    assert 3 in world.objects.pods[WAL]


def test_a_raise_after_the_stop_gets_another_id(world: RemovalWorld) -> None:
    world.scale(3)
    world.live(until=lambda: 3 in world.stopped)
    world.scale(4)
    world.live()
    assert sorted(world.objects.pods[WAL]) == [0, 1, 2, 4, 100, 101, 102]
    assert world.is_done()


def test_a_topic_with_more_replicas_than_brokers_would_be_left_is_refused_in_one_sentence(world: RemovalWorld) -> None:
    world.put_topic(0, 1, 2, 3)
    world.scale(3)
    world.live(ticks=60)
    assert world.says("RemovalRefused")
    assert "3 brokers would be left, and topic put-4 has 4 replicas: give it fewer, or raise replicas" in sentence(
        world
    )
    assert 3 not in world.stopped
    world.scale(4)
    world.live()
    assert world.says("AllOnline")


def test_what_is_being_made_is_no_replica_more_than_brokers_would_be_left(world: RemovalWorld) -> None:
    """The move that empties it has a replica more until it is done: nobody has to do anything."""
    world.put_topic(0, 1, 3)
    world.keeps = True
    world.scale(3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RemovalWorld, "end_moves", lambda _: None)  # it takes hours
        world.begin_move("put-4", 3, 2)
        world.live(ticks=20)
        assert world.kafka.logs["put-4"].replicas == (0, 1, 2, 3)
        assert world.says("RemovingNode")
        assert "2 replicas of 2 topics (late-3, put-4) are on it" in sentence(world)
    world.keeps = False
    world.live()
    assert world.is_done()
    assert "RemovalRefused" not in {event.reason for event in world.kube.events}


def test_the_end_of_a_move_while_it_is_looked_at_refuses_nothing(world: RemovalWorld) -> None:
    """The partitions still show all its replicas, and what is asked after them no move."""
    world.put_topic(0, 1, 3)
    world.keeps = True
    world.scale(3)
    world.live(ticks=20)
    world.begin_move("put-4", 3, 2)
    world.kafka.logs["put-4"].isr.add(2)
    calls, before = Calls(world.check, CHANGES), FakeReassigner.partitions

    def ends(self: FakeReassigner, topics: Collection[str] | None = None) -> Any:
        found = before(self, topics)
        world.end_moves()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeReassigner, "partitions", ends)
        world.remover(calls).tick(WAL)
    assert not world.kafka.moves.ongoing
    removal = world.removal()
    assert removal is not None
    assert not removal.refused


def test_it_waits_for_who_else_is_disrupted(world: RemovalWorld) -> None:
    now = world.time.time
    other = Disruption(
        kind=DisruptionKind.DATANODE_RESTART, name="datanode-1", uid="uid", start_time=now, budget_seconds=60
    )
    world.scale(3)
    world.live(until=lambda: not world.on(3))
    world.write_entry(other)
    world.live()
    assert "status.disruption has DatanodeRestart of datanode-1, and two disruptions cannot stand" in sentence(world)
    assert 3 not in world.stopped
    assert world.entry() == other
    world.write_entry(None)
    world.live()
    assert world.is_done()


def test_a_topic_that_somebody_makes_there_before_the_stop_keeps_it(world: RemovalWorld) -> None:
    world.scale(3)
    world.live(until=lambda: world.entry() is not None)
    world.keeps = True
    world.put_topic(3, 0)
    world.live(ticks=40)
    assert 3 not in world.stopped
    assert world.entry() is None, "others may be disrupted meanwhile"
    world.keeps = False
    world.live()
    assert world.is_done()


def test_names_of_topics_that_are_very_long_are_told_in_part(world: RemovalWorld) -> None:
    """The API server takes no longer message, and the stage would never be written."""
    world.scale(3)
    world.live(until=lambda: world.entry() is not None)
    world.keeps = True
    for letter in "abc":
        world.put_topic(3, 0, name=letter * 240)
    world.live(until=lambda: world.entry() is None)
    removal = world.removal()
    assert removal is not None
    assert removal.stage is RemovalStage.DRAINING
    assert len(removal.message) == 512


def test_it_is_not_forgotten_before_it_is_gone_and_fenced(world: RemovalWorld) -> None:
    world.scale(3)
    world.live(until=lambda: 3 in world.stopped)
    world.put_topic(3, 0)
    world.keeps = True
    world.live(ticks=40)
    assert world.kafka.moves.unregistered == set()
    assert world.says("RemovalRefused")
    assert "it is stopped, and not forgotten" in sentence(world)
    world.keeps = False
    world.live()
    assert world.is_done()


def test_two_go_one_after_the_other_the_highest_first(world: RemovalWorld) -> None:
    world.scale(5)
    world.live(until=lambda: world.says("AllOnline") and 4 in world.kafka.brokers)
    world.scale(3)
    world.live(until=lambda: 4 in world.stopped)
    assert 3 not in world.stopped
    world.live(ticks=800)
    assert world.is_done()
    assert world.kafka.moves.unregistered == {3, 4}


def test_a_lost_status_costs_nothing(world: RemovalWorld) -> None:
    world.scale(3)
    world.live(until=lambda: 3 in world.stopped)
    world.forget_status()
    world.live()
    assert world.is_done()


def test_a_paused_one_is_left_alone(world: RemovalWorld) -> None:
    world.scale(3)
    world.kube.apply(WAL, world.spec, annotations={"seawall.dev/paused": "true"})
    world.live(ticks=60)
    assert 3 not in world.stopped
    world.kube.apply(WAL, world.spec)
    world.live()
    assert world.is_done()


def test_nothing_of_one_that_is_out_is_deleted_while_it_is_paused(world: RemovalWorld) -> None:
    """Neither its objects nor the volume that its pool lets go: a pause is the last word that stops a delete."""
    world.may_delete_volumes = True
    world.scale(3)
    world.spec["kafka"]["managed"]["nodePools"][1]["storage"]["deleteClaim"] = True
    world.kube.apply(WAL, world.spec)
    world.live(until=lambda: identity(world).nodes[3].removed)
    there = names(world, 3)
    world.kube.apply(WAL, world.spec, annotations={"seawall.dev/paused": "true"})
    world.live(ticks=60)
    assert names(world, 3) == there
    removal = world.removal()
    assert removal is not None
    assert removal.message == "seawall.dev/paused is set"
    world.kube.apply(WAL, world.spec)
    world.live()
    assert world.is_done()
    assert names(world, 3) == set()


def test_what_is_put_there_right_before_the_stop_is_seen(world: RemovalWorld) -> None:
    """After it was decided, and before it is done: all is looked at once more."""
    world.scale(3)
    world.live(until=lambda: world.on(3) == set())
    calls = Calls(world.check, CHANGES)
    remover, looked = world.remover(calls), 0
    while world.entry() is None:
        if remover.tick(WAL).after != 0:
            world.go_on()
            world.time.time += timedelta(seconds=WAITS)

    def once_more(name: str) -> None:
        nonlocal looked
        looked += name == "partitions"
        if looked and name in {"get", "stop"} and not world.on(3):
            world.keeps = True
            world.put_topic(3, 0)

    calls.before = once_more
    remover.tick(WAL)
    assert world.on(3)
    assert 3 not in world.stopped
    assert all(meta.replicas != 0 for meta in world.objects.meta.values())


def test_what_is_not_told_of_log_directories_counts(world: RemovalWorld) -> None:
    nothing = Sizes({}, frozenset())
    assert told(world, nothing) == "it has not told what is in its log directories"


def test_what_is_left_in_log_directories_counts(world: RemovalWorld) -> None:
    left = Sizes({PartitionId("stray", 0): {3: 10}}, frozenset({0, 1, 2, 3}))
    assert told(world, left) == "1 replicas are in its log directories"


def told(world: RemovalWorld, sizes: Sizes) -> str:
    """What is waited for while brokers tell that of their log directories."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeReassigner, "sizes", lambda *_: sizes)
        world.scale(3)
        world.live(until=lambda: world.on(3) == set())
        world.live(ticks=40)
        assert 3 not in world.stopped
        removal = world.removal()
        assert removal is not None
        return removal.message


def test_it_is_not_forgotten_before_kafka_has_fenced_it(world: RemovalWorld) -> None:
    world.scale(3)
    world.live(until=lambda: 3 in world.stopped)
    with pytest.MonkeyPatch.context() as patch:
        online = tuple(Broker(each, None, BrokerState.ONLINE) for each in world.kafka.brokers)
        patch.setattr(FakeReassigner, "brokers", lambda *_: online)
        world.live(ticks=40)
        assert world.kafka.moves.unregistered == set()
        assert "Kafka has not fenced it yet" in sentence(world)
    world.live()
    assert world.is_done()


def test_it_is_not_forgotten_while_its_pod_ends(world: RemovalWorld) -> None:
    world.scale(3)
    world.live(until=lambda: 3 in world.stopped)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RemovalWorld, "kubelet", lambda _: None)
        world.running.discard(3)  # its process ended, its pod is still there
        world.live(ticks=40)
        assert world.kafka.moves.unregistered == set()
    world.live()
    assert world.is_done()


def test_the_budget_counts_it_until_it_is_gone(world: RemovalWorld) -> None:
    world.scale(3)
    world.live(until=lambda: 3 in world.stopped)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RemovalWorld, "kubelet", lambda _: None)
        world.live(ticks=20)
        budget = world.objects.made[ObjectKind.BUDGET, Key(WAL.namespace, "wal-kafka-brokers")]
        assert budget.body["spec"]["minAvailable"] == 3
    world.live()
    assert world.is_done()


def test_a_pod_that_does_not_end_is_told_with_what_ends_it(world: RemovalWorld) -> None:
    """Its machine is gone: nothing else is restarted until a person says so."""
    world.scale(3)
    world.live(until=lambda: 3 in world.stopped)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RemovalWorld, "kubelet", lambda _: None)
        world.running.discard(3)
        world.live(ticks=40)
        assert not world.says("RemovalRefused")
        world.live(until=lambda: world.says("RemovalRefused"))
        assert "kubectl delete pod wal-3-0 --force" in sentence(world)
    world.live()
    assert world.is_done()


def test_none_is_stopped_for_good_while_none_may_begin(world: RemovalWorld) -> None:
    """The version that is declared does not know what is finalized: who is left would not come back either."""
    world.kafka.moves.features["metadata.version"] = 31
    world.scale(3)
    world.live()
    assert 3 not in world.stopped
    removal = world.removal()
    assert removal is not None
    assert "metadata.version is finalized at 31" in removal.message
    assert "none is stopped while none may begin" in removal.message
    world.kafka.moves.features["metadata.version"] = 30
    world.live()
    assert world.is_done()


def test_one_that_somebody_scales_to_0_is_away_and_not_taken_out(world: RemovalWorld) -> None:
    """As step 1 of bringing a volume back; no words of the spec say that it is to leave."""
    world.keeps = True
    before, written = {name: log.replicas for name, log in world.kafka.logs.items()}, len(world.kube.events)
    world.scale_set(2)
    world.live(ticks=200)
    back = "kubectl scale statefulset wal-2 --replicas=1 -n db brings it back"
    said = f"node 2: its StatefulSet has replicas 0, and not by Seawall: {back}"
    assert world.condition() == ("False", "NodesNotOnline", said)
    assert [node.id for node in world.nodes] == [0, 1, 2, 3, 100, 101, 102], "and no other is made for it"
    assert (world.removal(), world.entry(), world.stopped) == (None, None, set())
    assert budget(world) == 3, "no other may be evicted meanwhile"
    assert world.kafka.moves.unregistered == set()
    assert not identity(world).nodes[2].removed
    assert {event.reason for event in world.kube.events[written:]} == {"NodesNotOnline"}
    assert {name: log.replicas for name, log in world.kafka.logs.items()} == before
    world.scale_back()
    world.live()
    assert world.condition() == ("True", "AllOnline", "7 nodes are Online")


def test_one_that_leaves_and_that_somebody_scales_to_0_is_emptied_all_the_same(world: RemovalWorld) -> None:
    world.keeps = True
    world.scale(3)
    world.live(until=lambda: world.removal() is not None)
    world.scale_set(3)
    world.live(ticks=60)
    assert world.stopped == set()
    assert world.says("RemovingNode")
    assert "replicas of 1 topics (late-3) are on it" in sentence(world)
    world.scale(4)
    world.live(ticks=60)
    assert world.says("NodesNotOnline"), "there is a way back until Seawall has stopped it"
    world.scale(3)
    world.keeps = False
    world.live()
    assert world.is_done()
    assert "Stopped node 3: nothing is on it" in [event.message for event in world.kube.events]


def test_one_that_was_taken_out_and_is_scaled_back_is_not_taken_out_by_the_next_who_scales_it(
    world: RemovalWorld,
) -> None:
    """The mark is of one stop: a person took that back, and needs its volume later."""
    world.scale(3)
    world.live(until=lambda: 3 in world.stopped)
    world.scale_set(3, 1)
    world.scale(4)
    world.live()
    assert 3 in world.objects.pods[WAL]
    world.scale_set(3)
    world.live()
    assert world.says("NodesNotOnline")
    assert [node.id for node in world.nodes if not node.is_leaving] == [0, 1, 2, 3, 100, 101, 102]
    assert not identity(world).nodes[3].removed


def budget(world: RemovalWorld) -> int:
    found = world.objects.made[ObjectKind.BUDGET, Key(WAL.namespace, "wal-kafka-brokers")]
    return int(found.body["spec"]["minAvailable"])
