"""The API server is restored from a backup that is older than two brokers: they are no new nodes (ADR 56)."""

from __future__ import annotations

import copy

import pytest

from seawall.api.meta import Key
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.managed_kafka.found import KafkaAnswer
from seawall.domain.managed_kafka.names import identity_name
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.managed_kafka.volumes import is_known
from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId, Quorum, QuorumReplica
from tests.managed_kafka.test_managed_kafka_crash import end_state, identity
from tests.support.deaths import die_at_every_call
from tests.worlds.managed_world import BROKERS, CHANGES, CONTROLLERS, WAL, Log, ManagedWorld
from tests.worlds.purge_world import Guard

IDENTITY = Key(WAL.namespace, identity_name(WAL.name))
LATE = (3, 4)


def restored() -> ManagedWorld:
    """Three brokers were five by then, and of a topic nobody but these two was in sync."""
    world = ManagedWorld().bring_up()
    backup = world.objects.records[IDENTITY]
    world.scale(5)
    world.live(until=lambda: world.says("AllOnline") and {*LATE} <= set(world.kafka.brokers) and not world.tokens())
    world.kafka.add_topic("far", replicas=LATE, configs={"min.insync.replicas": "1"})
    world.kafka.logs["far"] = Log(LATE, 1, {*LATE})
    for _ in range(3):
        world.go_on()
    assert world.kafka.logs["far"].acknowledged
    world.objects.records[IDENTITY] = backup
    for kind, key in [place for place, meta in world.objects.meta.items() if meta.node in LATE]:
        world.objects.remove(kind, key)
    for node in LATE:
        world.kill(node)
    world.scale(3)
    world.go_on()  # Kafka hears from neither by then
    return world


RESTORED = restored()


@pytest.fixture
def world() -> ManagedWorld:
    return copy.deepcopy(RESTORED)


def sentence(world: ManagedWorld) -> str:
    found = world.condition()
    return "" if found is None else found[2]


def test_brokers_that_kafka_knows_and_nobody_declares_are_named(world: ManagedWorld) -> None:
    world.live(ticks=40)
    said = (
        "brokers 3, 4 are known to Kafka, not declared, and may have replicas: declare as many as there were, "
        "or let Kafka forget who has none with kafka-cluster.sh unregister"
    )
    assert world.condition() == ("False", "NodesNotDeclared", said)
    world.kafka.brokers = (*BROKERS, 3)
    world.live(ticks=20)
    assert sentence(world).startswith("broker 3 is known to Kafka, not declared, ")
    world.kafka.brokers = BROKERS
    world.live(ticks=20)
    assert world.says("AllOnline")


def test_an_empty_disk_under_the_id_of_one_that_kafka_knows_is_lost_and_not_new(world: ManagedWorld) -> None:
    before = len(world.formatted)
    world.scale(5)
    world.live()
    assert world.says("VolumeLost")
    for node in LATE:
        why = "nobody else is known to have all records of far-0"
        assert f"node {node}: its volume is empty; {why}" in sentence(world)
        assert identity(world).nodes[node].registered
    assert world.tokens() == {}
    assert len(world.formatted) == before


def test_the_claims_with_their_disks_bring_them_back(world: ManagedWorld) -> None:
    """A person binds claims to the disks that are left; the world judges whether anybody leads with less."""
    acknowledged = world.kafka.logs["far"].acknowledged
    disks = {disk.node: uid for uid, disk in world.disks.items() if disk.node in LATE}
    world.scale(5)
    world.live(until=lambda: world.says("VolumeLost"))
    for node in LATE:
        claim = world.objects.meta[ObjectKind.VOLUME, Key(WAL.namespace, f"data-wal-{node}")]
        world.disks[claim.uid] = world.disks[disks[node]]
    world.live(until=lambda: world.says("AllOnline"))
    world.live(ticks=20)
    assert world.kafka.logs["far"].acknowledged > acknowledged
    assert world.kafka.logs["far"].isr == {*LATE}


def test_who_has_no_replica_that_is_needed_is_formatted_after_all_looks(world: ManagedWorld) -> None:
    world.kafka.logs.pop("far")
    world.kafka.topics.pop("far")
    world.scale(5)
    world.live(until=lambda: world.says("AllOnline") and not world.tokens())
    assert {3, 4} <= world.running


def test_a_death_at_any_call_formats_neither() -> None:
    def live(world: ManagedWorld, guard: Guard | None) -> None:
        world.live(guard)

    world = copy.deepcopy(RESTORED)
    world.scale(5)
    worlds = die_at_every_call(world, live, end_state, CHANGES)
    assert world.says("VolumeLost")
    assert world.tokens() == {}
    assert worlds > 5


def test_a_node_that_joins_is_formatted_when_kafka_says_that_it_never_heard_of_it() -> None:
    world = ManagedWorld().bring_up()
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "it does not answer")
    world.scale(4)
    world.live(ticks=80)
    assert world.tokens() == {}
    assert world.says("ScalingUp")
    assert "node 3: its volume is empty; what else has its records is not known: Kafka does not answer" in sentence(
        world
    )
    world.kafka.unreachable = None
    world.live(until=lambda: world.says("AllOnline") and 3 in world.kafka.brokers and not world.tokens())
    assert [node for node, _ in world.formatted].count(3) == 1


def nodes() -> dict[int, Node]:
    return {node.id: node for node in RESTORED.nodes}


def answer(
    brokers: tuple[int, ...] = (), voters: tuple[int, ...] | None = (), partitions: tuple[int, ...] | str | None = ()
) -> KafkaAnswer:
    """What Kafka knows; `partitions`: the brokers that one has."""
    quorum: Quorum | str = "nobody leads"
    if voters is not None:
        quorum = Quorum(100, tuple(QuorumReplica(each, 0, 0) for each in voters), ())
    registered = {each: Broker(each, None, BrokerState.FENCED) for each in brokers}
    if not isinstance(partitions, tuple):
        return KafkaAnswer("id", registered, quorum, {}, partitions)
    found = (Partition(PartitionId("far", 0), partitions, frozenset(), None),) if partitions else ()
    return KafkaAnswer("id", registered, quorum, {}, found)


@pytest.mark.parametrize(
    ("node", "said", "known"),
    [
        (0, answer(), False),
        (0, answer(brokers=(0,)), True),
        (0, answer(brokers=(0,), partitions=None), True),
        (0, answer(brokers=(1,), partitions=(1, 0)), True),
        (0, answer(brokers=(1,), partitions=(1, 2)), False),
        (0, answer(partitions=None), None),
        (0, answer(partitions="a broker is cut off"), None),
        (0, "Kafka does not answer", None),
        (100, answer(), False),
        (100, answer(voters=(100, 101)), True),
        (100, answer(voters=(101,), partitions=None), False),
        (100, answer(voters=None), None),
        (100, "Kafka does not answer", None),
    ],
)
def test_kafka_knows_a_node_that_is_registered_or_votes_or_has_a_replica(
    node: int, said: KafkaAnswer | str, *, known: bool | None
) -> None:
    assert {*BROKERS, *CONTROLLERS} == nodes().keys()
    assert is_known(nodes()[node], said) is known
