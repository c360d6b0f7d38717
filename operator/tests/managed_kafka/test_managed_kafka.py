"""A managed Kafka in a world: it is brought up, loses what can be lost, and nothing is formatted that is needed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from confluent_kafka import KafkaError

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.managed_kafka_status import NodeState
from seawall.domain.errors import Conflict
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.decide import standing
from seawall.domain.managed_kafka.found import FoundObject, KafkaAnswer, Observed, Record
from seawall.domain.managed_kafka.identity import IDENTITY, Identity
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.managed_kafka.roll import known_case
from seawall.domain.managed_kafka.staleness import why_stale
from seawall.domain.managed_kafka.states import node_state
from seawall.domain.managed_kafka.tokens import recorded
from seawall.domain.managed_kafka.volumes import only_on, why_not_without
from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId, Quorum, QuorumReplica
from seawall.domain.times import MANAGED_KAFKA_CLEARED_MS
from seawall.ports import KafkaObjects
from tests.managed_kafka.test_managed_kafka_crash import identity
from tests.worlds.managed_world import BROKERS, CONTROLLERS, SPEC, TOPICS, WAL, ManagedWorld, OneApiServer


@pytest.fixture
def world() -> ManagedWorld:
    return ManagedWorld().bring_up()


def states(world: ManagedWorld) -> dict[int, NodeState]:
    found = world.kube.get(WALCluster, WAL)
    assert found is not None
    assert found.status.managed_kafka is not None
    return {each.id: each.state for each in found.status.managed_kafka.nodes}


def until_lost(world: ManagedWorld) -> str:
    """Lives until the loss is told, and then for a while; returns the sentence."""
    world.live(until=lambda: world.says("VolumeLost"))
    world.live()
    assert world.says("VolumeLost")
    condition = world.condition()
    assert condition is not None
    return condition[2]


def test_all_nodes_are_online_with_one_identity_and_no_token_is_left(world: ManagedWorld) -> None:
    assert set(states(world)) == {*CONTROLLERS, *BROKERS}
    assert set(states(world).values()) == {NodeState.ONLINE}
    assert {disk.cluster_id for disk in world.disks.values()} == {world.kafka.cluster_id}
    assert len({disk.directory for disk in world.disks.values()}) == 6
    assert sorted(node for node, _ in world.formatted) == sorted((*CONTROLLERS, *BROKERS))
    assert world.tokens() == {}


def test_every_node_has_one_of_each_and_there_are_two_budgets_and_a_policy(world: ManagedWorld) -> None:
    names = sorted(f"{kind.value} {key.name}" for kind, key in world.objects.made if kind is not ObjectKind.CONFIG_MAP)
    wanted = [
        f"{kind}{node}"
        for node in (*CONTROLLERS, *BROKERS)
        for kind in ("StatefulSet wal-", "Service wal-", "PersistentVolumeClaim data-wal-")
    ]
    of_all = ("PodDisruptionBudget wal-kafka-brokers", "PodDisruptionBudget wal-kafka-controllers")
    assert names == sorted([*wanted, *of_all, "NetworkPolicy wal-kafka"])


def test_no_token_is_given_before_all_nodes_have_volumes() -> None:
    world = ManagedWorld()
    world.objects.refuses["data-wal-101"] = "exceeded quota"
    world.live(ticks=40)
    assert world.tokens() == {}
    assert "exceeded quota" in (world.condition() or ("", "", ""))[2]
    world.objects.refuses.clear()
    world.bring_up()


def test_a_disk_that_is_the_only_one_in_sync_is_not_formatted_and_the_partitions_are_named(world: ManagedWorld) -> None:
    world.held.add(1)
    world.kill(1)
    world.go_on()
    world.lose_disk(2)
    world.held.clear()
    sentence = until_lost(world)
    assert "node 2: its volume is empty; nobody else is known to have all records of one-0, two-0" in sentence
    assert world.tokens() == {}


def test_a_disk_is_not_formatted_while_metadata_of_any_topic_are_an_error(world: ManagedWorld) -> None:
    """That topic may be the one whose only records are on it."""
    world.kafka.moves.failing["one"] = KafkaError.LEADER_NOT_AVAILABLE
    world.lose_disk(0)
    sentence = until_lost(world)
    assert "what else has its records is not known: Kafka did not answer for topic one" in sentence
    assert world.tokens() == {}
    world.kafka.moves.failing.clear()
    world.live(until=lambda: world.says("AllOnline") and not world.tokens())


def test_where_nobody_is_known_to_be_eligible_a_disk_is_the_only_one() -> None:
    """As of a topic that is an error where eligible leaders are told, and none where partitions are."""
    one = PartitionId("one", 0)
    partition = Partition(one, (1, 2), frozenset({1}), None)
    online = {2: Broker(2, None, BrokerState.ONLINE)}
    answer = KafkaAnswer("kafka", online, "", {}, (partition,), {one: frozenset({2})})
    assert only_on(1, [partition], answer) == ()
    assert only_on(1, [partition], replace(answer, eligible={})) == (one,)


def test_two_disks_that_are_lost_at_once_do_not_vouch_for_each_other() -> None:
    """Both are eligible when the third, which lacks records, is back; formatted, they are not, and one led last."""
    world = ManagedWorld()
    world.bring_up()
    world.held.add(0)
    world.kill(0)
    world.go_on()
    world.lose_disk(1)
    world.lose_disk(2)
    world.go_on()
    three = world.kafka.logs["three"]
    assert (three.isr, three.elr) == (set(), {1, 2})
    world.held.clear()
    sentence = until_lost(world)
    assert "nobody else is known to have all records of three-0" in sentence
    assert world.tokens() == {}


def test_without_tokens_such_a_disk_leads_and_records_are_gone(world: ManagedWorld) -> None:
    """The control of the world itself: it is no kinder than Kafka."""
    world.formats_everything = True
    world.held.add(1)
    world.kill(1)
    world.go_on()
    world.lose_disk(2)
    world.held.clear()
    with pytest.raises(AssertionError, match="K4: two is led by 2 with 0 of"):
        world.live()


@pytest.mark.parametrize("lose", ["lose_disk", "lose_volume"])
def test_a_broker_that_nobody_needs_is_formatted_after_two_looks_and_not_before(lose: str, world: ManagedWorld) -> None:
    before, lost_at = len(world.formatted), world.time.time
    getattr(world, lose)(0)
    world.live(until=lambda: bool(world.tokens()))
    assert world.time.time - lost_at >= timedelta(milliseconds=MANAGED_KAFKA_CLEARED_MS)
    assert world.tokens() == {"node-0": f"join {world.objects.pods[WAL][0].question}"}
    world.live(until=lambda: world.says("AllOnline") and not world.tokens())
    assert len(world.formatted) == before + 1
    assert states(world)[0] is NodeState.ONLINE


def test_an_empty_disk_of_a_controller_is_formatted_by_nobody_while_it_has_a_vote(world: ManagedWorld) -> None:
    world.lose_disk(101)
    assert "node 101: its volume is empty; it may have voted" in until_lost(world)
    assert world.tokens() == {}


def test_a_person_may_answer_for_a_volume_for_a_while(world: ManagedWorld) -> None:
    world.lose_disk(2)
    until_lost(world)
    expires = (world.time.time + timedelta(hours=1)).isoformat()
    world.kube.apply(WAL, SPEC, annotations={"seawall.dev/format-volume": f"2: it is burnt@{expires}"})
    world.live(until=lambda: world.says("AllOnline") and not world.tokens())
    assert world.formatted[-1][0] == 2


def test_what_a_person_says_of_a_loss_is_not_said_of_the_next_one(world: ManagedWorld) -> None:
    """The node has led since, and what it acknowledged then was nobody's to give away."""
    world.lose_disk(2)
    until_lost(world)
    expires = (world.time.time + timedelta(hours=20)).isoformat()
    said = {"seawall.dev/format-volume": f"2: it is burnt@{expires}"}
    world.kube.apply(WAL, SPEC, annotations=said)
    world.live(until=lambda: world.says("AllOnline") and not world.tokens())
    formatted = list(world.formatted)
    world.held.add(1)
    world.kill(1)
    world.go_on()
    world.lose_disk(2)
    world.held.clear()
    sentence = until_lost(world)
    assert "nobody else is known to have all records of one-0, two-0" in sentence
    assert "about a loss before: Kafka has heard from node 2 since, so say it anew" in sentence
    assert (world.tokens(), world.formatted) == ({}, formatted)
    again = (world.time.time + timedelta(hours=1)).isoformat()
    world.kube.apply(WAL, SPEC, annotations={"seawall.dev/format-volume": f"2: and again@{again}"})
    world.live(until=lambda: bool(world.tokens()))


@pytest.mark.parametrize(
    "text", ["2: it is burnt", "two: it is burnt@2026-11-21T13:00:00Z", "1: wrong node@2026-11-21T13:00:00Z"]
)
def test_an_annotation_that_says_nothing_formats_nothing(text: str, world: ManagedWorld) -> None:
    world.lose_disk(2)
    world.kube.apply(WAL, SPEC, annotations={"seawall.dev/format-volume": text})
    until_lost(world)
    assert len(world.formatted) == 6


def test_the_crds_are_deleted_and_applied_again_and_it_is_the_same_kafka(world: ManagedWorld) -> None:
    cluster_id, formatted = world.kafka.cluster_id, list(world.formatted)
    world.delete_and_apply()
    world.live(until=lambda: world.says("AllOnline") and not world.tokens())
    assert (world.kafka.cluster_id, world.formatted) == (cluster_id, formatted)


@pytest.mark.parametrize("record", ["wal-kafka-identity", "wal-kafka-format"])
def test_a_record_that_is_lost_is_made_again_of_the_volumes(record: str, world: ManagedWorld) -> None:
    before = len(world.formatted)
    world.lose_record(record)
    world.live()
    assert world.says("AllOnline")
    world.lose_disk(2)
    until_lost(world)
    assert len(world.formatted) == before


def test_identity_and_a_volume_lost_at_once_make_no_new_node(world: ManagedWorld) -> None:
    world.lose_record("wal-kafka-identity")
    world.lose_volume(2)
    assert "node 2: its volume data-wal-2 is gone; nobody else" in until_lost(world)


def test_without_identity_and_volumes_nothing_is_made_of_what_the_status_remembers(world: ManagedWorld) -> None:
    world.lose_record("wal-kafka-identity")
    for node in (*CONTROLLERS, *BROKERS):
        world.lose_volume(node)
    world.live()
    assert world.says("IdentityUnclear")
    assert len(world.formatted) == 6


def test_volumes_that_are_left_of_nodes_that_are_not_declared_make_no_kafka(world: ManagedWorld) -> None:
    world.scale(4)
    world.live()
    world.scale(3)
    world.delete_and_apply()
    world.lose_record("wal-kafka-identity")
    for node in (*CONTROLLERS, *BROKERS):
        world.lose_volume(node)
    formatted = len(world.formatted)
    world.live()
    found = world.condition()
    assert found is not None
    assert found[1] == "IdentityUnclear"
    assert found[2].startswith("PersistentVolumeClaim data-wal-3 says ")
    assert len(world.formatted) == formatted


def test_a_volume_of_another_kafka_stops_everything(world: ManagedWorld) -> None:
    world.lose_record("wal-kafka-identity")
    (place,) = (each for each in world.objects.meta if each[1].name == "data-wal-1")
    meta = world.objects.meta[place]
    annotations = {"seawall.dev/managed-kafka-id": "another"}
    world.objects.meta[place] = type(meta)(meta.kind, meta.name, meta.uid, meta.node, None, annotations)
    world.live()
    assert world.says("IdentityUnclear")


def test_another_nodes_disk_is_neither_read_nor_formatted(world: ManagedWorld) -> None:
    disk = world.disk_of(0)
    assert disk is not None
    world.kill(0)
    disk.node = 1
    world.live(until=lambda: world.says("VolumeForeign"))
    assert len(world.formatted) == 6


def test_a_name_that_is_taken_is_told() -> None:
    world = ManagedWorld()
    (key,) = {key for kind, key in [(ObjectKind.SERVICE, type(WAL)(WAL.namespace, "wal-100"))]}
    world.objects.foreign.add((ObjectKind.SERVICE, key))
    world.live(ticks=60)
    assert "Service wal-100 exists and is not Seawall's" in (world.condition() or ("", "", ""))[2]


def test_a_name_that_is_no_host_name_is_told() -> None:
    world = ManagedWorld()
    world.kube = OneApiServer()
    key = type(WAL)(WAL.namespace, "0.wal")
    world.kube.apply(key, SPEC)
    world.process().tick(key)
    found = world.kube.get(WALCluster, key)
    assert found is not None
    assert [each.reason for each in found.status.conditions] == ["NameNotUsable"]
    assert not world.objects.made
    assert not world.objects.records


def test_who_makes_nodes_restarts_none_for_an_edit_and_shows_it(world: ManagedWorld) -> None:
    edited = copy.deepcopy(SPEC)
    edited["kafka"]["managed"]["image"] = "mirror.example.org/kafka:4.3.1"
    pods = {node: pod.uid for node, pod in world.objects.pods[WAL].items()}
    made = dict(world.objects.made)
    world.kube.apply(WAL, edited)
    world.live()
    found = world.kube.get(WALCluster, WAL)
    assert found is not None
    assert found.status.managed_kafka is not None
    assert all(each.outdated for each in found.status.managed_kafka.nodes)
    assert "6 of them run something else than is declared" in (world.condition() or ("", "", ""))[2]
    assert {node: pod.uid for node, pod in world.objects.pods[WAL].items()} == pods
    assert dict(world.objects.made) == made
    world.kill(1)
    world.live(until=lambda: world.says("RollingNodes") and 1 in world.running)
    assert dict(world.objects.made) == made, "it comes back as it was made"


def test_a_paused_one_is_left_alone() -> None:
    world = ManagedWorld()
    world.kube.apply(WAL, SPEC, annotations={"seawall.dev/paused": "true"})
    world.live(ticks=20)
    assert not world.objects.records
    assert world.says("Paused")


def test_where_eligible_leaders_are_not_remembered_that_is_told(world: ManagedWorld) -> None:
    world.kafka.moves.features["eligible.leader.replicas.version"] = 0
    world.live()
    assert world.says("EmptiedDiskMayLead")


def test_the_port_can_take_nothing_from_a_volume() -> None:
    """What is changed: templates, numbers of budgets and pods, the policy; volumes get larger. Who deletes: K6."""
    methods = {name for name in vars(KafkaObjects) if not name.startswith("_")}
    changes = {"renew_template", "change_budget", "change_policy", "grow", "stop", "delete", "write_record"}
    assert methods == {"find", "create", *changes}


def test_a_node_that_is_away_is_told_and_comes_back(world: ManagedWorld) -> None:
    world.held.add(0)
    world.kill(0)
    world.live(until=lambda: world.says("NodesNotOnline"))
    assert states(world)[0] is NodeState.OFFLINE
    world.held.clear()
    world.live(until=lambda: world.says("AllOnline"))


def test_a_token_is_for_the_one_pod_that_asked(world: ManagedWorld) -> None:
    world.lose_disk(0)
    world.live(until=lambda: bool(world.tokens()))
    given = world.tokens()
    world.kill(0)
    world.kubelet()
    assert world.objects.pods[WAL][0].has_empty_volume, "the token was for the pod before"
    world.live(until=lambda: world.tokens() not in (given, {}))
    world.live(until=lambda: world.says("AllOnline") and not world.tokens())


def test_while_kafka_does_not_answer_nothing_is_formatted(world: ManagedWorld) -> None:
    world.held.update((100, 101))
    for node in (100, 101):
        world.kill(node)
    world.lose_disk(0)
    assert "what else has its records is not known" in until_lost(world)
    assert world.tokens() == {}


def test_while_kafka_does_not_answer_nobody_says_that_it_is_well(world: ManagedWorld) -> None:
    """One look is enough, as it is for KafkaReachable and KafkaNodesInSync."""
    before, events = states(world), len(world.kube.events)
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "no answer")
    world.live(ticks=2)
    assert world.condition() == ("Unknown", "NotAsked", "Kafka does not answer")
    assert states(world) == before
    assert standing(world.found()) is None, "who asks Kafka itself says that it does not answer"
    world.kill(2)
    world.live(ticks=4)
    assert world.says("NodesNotOnline"), "what is seen to be wrong is told"
    world.kafka.unreachable = None
    world.live()
    assert world.says("AllOnline")
    assert [each.reason for each in world.kube.events[events:]] == ["NodesNotOnline", "AllOnline"]


def test_a_volume_that_somebody_made_anew_is_not_formatted(world: ManagedWorld) -> None:
    place = (ObjectKind.VOLUME, Key(WAL.namespace, "data-wal-2"))
    meta, made = world.objects.meta[place], world.objects.made[place]
    world.lose_volume(2)
    world.objects.meta[place], world.objects.made[place] = replace(meta, uid="another"), made
    assert "its volume data-wal-2 is another one" in until_lost(world) or "its volume is empty" in until_lost(world)
    assert world.tokens() == {}


def volume_of(world: ManagedWorld, node: int) -> FoundObject:
    return world.objects.meta[ObjectKind.VOLUME, Key(WAL.namespace, f"data-wal-{node}")]


def test_a_claim_that_was_restored_with_its_disk_is_held_and_formatted_by_nobody(world: ManagedWorld) -> None:
    for node in (2, 101):
        world.restore_volume(node)
        world.live()
        assert world.says("AllOnline")
        assert identity(world).nodes[node].volume == volume_of(world, node).uid
    assert identity(world).nodes[101].directory == world.disks[volume_of(world, 101).uid].directory
    world.lose_disk(2)
    until_lost(world)
    assert len(world.formatted) == 6


def test_a_claim_that_was_gone_for_long_and_is_restored_is_held(world: ManagedWorld) -> None:
    place = (ObjectKind.VOLUME, Key(WAL.namespace, "data-wal-2"))
    meta, made, disk = world.objects.meta[place], world.objects.made[place], world.disk_of(2)
    world.lose_volume(2)
    until_lost(world)
    assert disk is not None
    world.objects.meta[place], world.objects.made[place] = replace(meta, uid="restored", created=world.time.time), made
    world.disks["restored"] = disk
    world.live()
    assert world.says("AllOnline")
    assert identity(world).nodes[2].volume == "restored"


def test_a_claim_that_was_replaced_under_a_pod_counts_when_the_pod_is_made_anew(world: ManagedWorld) -> None:
    """Who takes the finalizer of a claim away, and makes another one, does not change what the pod has."""
    world.time.time += timedelta(seconds=5)
    world.replace_claim(2)
    world.live()
    what = "another one than its pod has: delete the pod only if this one has the same disk"
    assert world.condition() == (
        "False",
        "VolumeLost",
        f"node 2: its volume data-wal-2 is {what} (docs/kafka.md#a-claim-is-deleted); Kafka still hears from it",
    )
    world.kill(2)
    world.live()
    assert world.says("AllOnline")


def test_an_older_disk_of_a_controller_is_not_taken_for_the_one_that_it_had(world: ManagedWorld) -> None:
    before = identity(world).nodes[101]
    world.restore_volume(101)
    world.disks[volume_of(world, 101).uid].directory = "older"
    world.live()
    assert world.says("VolumeLost")
    assert identity(world).nodes[101] == before


def last_heard(observed: Observed, behind_ms: int) -> Observed:
    """Kafka's controllers last had all of the log so long ago."""
    assert not isinstance(observed.kafka, str)
    assert not isinstance(observed.kafka.quorum, str)
    voters = tuple(replace(each, behind_ms=behind_ms) for each in observed.kafka.quorum.voters)
    quorum = replace(observed.kafka.quorum, voters=voters, leader=100)
    return replace(observed, kafka=replace(observed.kafka, quorum=quorum))


@pytest.mark.parametrize(
    ("behind_ms", "state"),
    [
        (0, NodeState.ONLINE),
        (10_000, NodeState.ONLINE),
        (10_001, NodeState.FENCED),
        (-1, NodeState.FENCED),
        (-600_000, NodeState.FENCED),
    ],
)
def test_a_controller_is_not_said_to_be_online_by_a_clock_that_was_set_back(
    behind_ms: int, state: NodeState, world: ManagedWorld
) -> None:
    found = world.found()
    observed = last_heard(world.process().controller.observe(found), behind_ms)
    case = known_case(found, observed)
    assert isinstance(case, Case)
    told = {each.id: node_state(case, each, None) for each in case.nodes}
    assert (told[100], told[101], told[102]) == (NodeState.ONLINE, state, state), "100 leads"


def with_pod(observed: Observed, **changes: Any) -> Observed:
    pods = {node: replace(pod, **changes) for node, pod in observed.found.pods.items()}
    return replace(observed, found=replace(observed.found, pods=pods))


def with_tokens(observed: Observed) -> Observed:
    tokens = Record({f"node-{node}": "join" for node in (2, 101)}, "1")
    return replace(observed, found=replace(observed.found, tokens=tokens))


@pytest.mark.parametrize("node", [2, 101])
@pytest.mark.parametrize(
    "change",
    [
        with_tokens,
        partial(with_pod, is_started=False),
        partial(with_pod, placed=None),
        lambda observed: replace(observed, kafka="Kafka does not answer"),
        lambda observed: replace(observed, kafka=replace(observed.kafka, brokers={}, quorum="it has no leader")),
    ],
)
def test_a_claim_is_restored_only_if_all_that_tells_of_its_disk_is_known(
    node: int, change: Callable[[Observed], Observed], world: ManagedWorld
) -> None:
    known, before = case_of_restored(world, node), identity(world).nodes[node]
    assert recorded(known).nodes[node].volume == volume_of(world, node).uid
    assert recorded(replace(known, observed=change(known.observed))).nodes[node] == before


def test_who_may_have_been_heard_from_with_the_disk_before_is_waited_for(world: ManagedWorld) -> None:
    known, before = case_of_restored(world, 101), identity(world).nodes[101]
    for behind_ms, volume in ((2_000, volume_of(world, 101).uid), (2_001, before.volume)):
        heard = replace(known, observed=last_heard(known.observed, behind_ms))
        assert recorded(heard).nodes[101].volume == volume


def test_a_node_that_kafka_has_never_heard_from_has_nothing_to_restore(world: ManagedWorld) -> None:
    known = case_of_restored(world, 2)
    nodes = {2: known.identity.nodes[2].model_copy(update={"registered": False})}
    fresh = replace(known, identity=known.identity.with_nodes(nodes))
    assert recorded(fresh).nodes[2] == nodes[2]


def case_of_restored(world: ManagedWorld, node: int) -> Case:
    """All that a tick decides by, right after the claim of a node was restored and its pod began."""
    process = world.process()
    world.restore_volume(node)
    world.go_on()
    found = world.found()
    known = known_case(found, process.controller.observe(found))
    assert isinstance(known, Case)
    return known


def test_a_first_directory_id_is_not_given_to_a_volume_that_was_made_anew() -> None:
    world = ManagedWorld()
    world.held.update(BROKERS)  # so that nobody can hear whether controllers registered
    world.live(ticks=40)
    assert [node for node, _ in world.formatted] == list(CONTROLLERS)
    place = (ObjectKind.VOLUME, Key(WAL.namespace, "data-wal-101"))
    meta, made = world.objects.meta[place], world.objects.made[place]
    world.lose_volume(101)
    world.objects.meta[place], world.objects.made[place] = replace(meta, uid="another"), made
    world.live(ticks=40)
    assert [node for node, _ in world.formatted] == list(CONTROLLERS)
    assert "node 101: its volume" in (world.condition() or ("", "", ""))[2]


def test_objects_of_a_former_life_have_to_go_first(world: ManagedWorld) -> None:
    made = set(world.objects.made)
    found = world.kube.get(WALCluster, WAL)
    assert found is not None
    world.kube.remove(WAL)
    world.kube.apply(WAL, SPEC)
    process = world.process()
    for _ in range(5):
        process.tick(WAL)
    assert world.says("FormerLife")
    assert set(world.objects.made) == made
    world.objects.collect_garbage(found.metadata.uid)
    world.live(until=lambda: world.says("AllOnline"))


def test_a_controller_that_a_person_answers_for_has_another_directory(world: ManagedWorld) -> None:
    before = dict(world.kafka.moves.directories)
    world.lose_disk(101)
    expires = (world.time.time + timedelta(hours=1)).isoformat()
    world.kube.apply(WAL, SPEC, annotations={"seawall.dev/format-volume": f"101: replaced@{expires}"})
    world.live(until=lambda: world.says("AllOnline") and not world.tokens())
    record = identity(world).nodes[101]
    assert record.directory == world.kafka.moves.directories[101] != before[101]
    assert record.spent == (before[101],)


def answer(
    state: BrokerState,
    isr: set[int],
    eligible: frozenset[int] | None = None,
    other: BrokerState = BrokerState.ONLINE,
) -> KafkaAnswer:
    partition = Partition(PartitionId("t", 0), (0, 1), frozenset(isr), None)
    known = None if eligible is None else {partition.id: eligible}
    brokers = {0: Broker(0, None, state), 1: Broker(1, None, other)}
    return KafkaAnswer("id", brokers, "", {}, (partition,), known)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (answer(BrokerState.FENCED, {1}), None),
        (answer(BrokerState.FENCED, {0, 1}), None),
        (answer(BrokerState.FENCED, {0}), "all records of t-0"),
        (answer(BrokerState.FENCED, set()), "all records of t-0"),
        (answer(BrokerState.FENCED, set(), frozenset({0})), "all records of t-0"),
        (answer(BrokerState.FENCED, set(), frozenset({0, 1})), None),
        (answer(BrokerState.FENCED, {1}, other=BrokerState.FENCED), "all records of t-0"),
        (answer(BrokerState.FENCED, set(), frozenset({0, 1}), BrokerState.FENCED), "all records of t-0"),
        (answer(BrokerState.ONLINE, {0, 1}), "Kafka still hears from it"),
        (replace(answer(BrokerState.FENCED, {1}), partitions=None), "not known"),
        (replace(answer(BrokerState.FENCED, {1}), partitions="topic a: no right"), "topic a: no right"),
        ("Kafka does not answer", "Kafka does not answer"),
    ],
)
def test_what_is_not_known_to_be_elsewhere_counts_as_lost(found: KafkaAnswer | str, sentence: str | None) -> None:
    node = next(each for each in ManagedWorld().nodes if each.id == 0)
    why_not = why_not_without(node, found)
    assert (why_not is None) if sentence is None else (why_not is not None and sentence in why_not)


@pytest.mark.parametrize(
    ("quorum", "sentence"),
    [
        (Quorum(100, (QuorumReplica(100, 0, 0),), (QuorumReplica(1, 0, 500),)), None),
        (Quorum(1, (QuorumReplica(1, 0, None),), ()), None),
        (Quorum(100, (QuorumReplica(100, 0, 0),), (QuorumReplica(1, 9, 60_000),)), "broker 1 follows no controller"),
        (Quorum(100, (QuorumReplica(100, 0, 0),), (QuorumReplica(1, 9, None),)), "broker 1 follows no controller"),
        (Quorum(100, (QuorumReplica(100, 0, 0),), ()), "broker 1 follows no controller"),
        ("nobody leads", "nobody leads"),
    ],
)
def test_what_a_broker_tells_that_no_controller_hears_is_old(quorum: Quorum | str, sentence: str | None) -> None:
    why = why_stale(replace(answer(BrokerState.FENCED, {1}), quorum=quorum))
    assert (why is None) if sentence is None else (why is not None and sentence in why)


def test_a_lost_disk_is_not_cleared_by_what_a_broker_tells_that_is_cut_off(world: ManagedWorld) -> None:
    world.lose_disk(0)
    world.kafka.moves.cut_off.add(1)
    sentence = until_lost(world)
    assert "broker 1 follows no controller, and may tell what was so before" in sentence
    assert world.tokens() == {}
    world.kafka.moves.cut_off.clear()
    world.live(until=lambda: world.says("AllOnline") and not world.tokens())


def test_a_lost_volume_is_not_made_anew_while_it_may_be_needed(world: ManagedWorld) -> None:
    world.lose_volume(2)
    assert "node 2: its volume data-wal-2 is gone; nobody else" in until_lost(world)
    assert (ObjectKind.VOLUME, Key(WAL.namespace, "data-wal-2")) not in world.objects.made


def test_identity_and_a_disk_lost_at_once_make_no_new_node(world: ManagedWorld) -> None:
    world.lose_record("wal-kafka-identity")
    world.lose_disk(2)
    world.go_on()
    assert "node 2: its volume is empty; nobody else" in until_lost(world)
    assert len(world.formatted) == 6


def pool_of(world: ManagedWorld) -> list[str]:
    return [name for name in world.kafka.topics if name not in TOPICS]


def test_no_topic_is_made_while_any_pod_may_still_format_a_volume(world: ManagedWorld) -> None:
    """Its disk may be lost, formatted again, and lead: nobody else need have what it acknowledged."""
    key, topics = Key(WAL.namespace, "wal-kafka-format"), world.topics()
    for tokens in ({"node-2": "join"}, {"node-0": "join q-1", "node-100": "initial 100@wal-100:9090:AAA"}):
        world.objects.records[key] = Record(tokens, "1")
        for _ in range(6):
            topics.tick(WAL)
        assert pool_of(world) == []
        (ready,) = (each for each in world.found().status.conditions if each.type == "Ready")
        assert (ready.status, ready.reason) == ("False", "BringingUp")
        assert f"1 of 1 topics are missing: {max(tokens)} may still format a volume" in ready.message
    del world.objects.records[key]
    for _ in range(6):
        topics.tick(WAL)
    assert pool_of(world) == [], "nobody knows who may"
    world.objects.records[key] = Record({"node-0": "join q-1", "node-100": "initial 100@wal-100:9090:AAA q-2"}, "1")
    for _ in range(6):
        topics.tick(WAL)
    assert len(pool_of(world)) == 1


def test_a_topic_is_not_made_by_an_old_decision(world: ManagedWorld) -> None:
    """Somebody lost the records of who may format meanwhile."""
    topics, controller = world.topics(), world.topics().controller
    obj = world.found()
    while not (decision := controller.decide(obj, controller.observe(obj))).actions:
        topics.tick(WAL)
        obj = world.found()
    world.objects.records[Key(WAL.namespace, "wal-kafka-format")] = Record({"node-2": "join"}, "1")
    with pytest.raises(Conflict, match="node-2 may still format"):
        controller.perform(obj, decision.actions[0])
    assert pool_of(world) == []


def test_no_topic_is_made_before_it_is_written_down_that_kafka_has_heard_from_all_nodes() -> None:
    """Broker 2 registers and nobody looks; its disk is lost when it alone has all, and it may be formatted unasked."""
    world = ManagedWorld(held={2})
    world.live()
    world.held.clear()
    world.kubelet()
    world.empty_disk(2)
    world.kubelet()
    process = world.process()
    for _ in range(6):
        process.tick(WAL)
    assert world.tokens()["node-2"].startswith("join question-")
    world.kubelet()
    world.elect()
    world.write()
    assert 2 in world.kafka.brokers
    assert not identity(world).formed
    world.held = {1}
    world.kill(1)
    for _ in range(4):
        world.elect()
        world.write()
    world.lose_disk(2)
    world.go_on()
    world.live()
    assert world.violations == []
    world.held.clear()
    world.live(until=lambda: bool(world.kafka.logs))
    assert identity(world).formed


def test_no_topic_is_made_while_nobody_knows_whom_kafka_has_heard_from(world: ManagedWorld) -> None:
    key, topics = Key(WAL.namespace, "wal-kafka-identity"), world.topics()
    before = world.objects.records[key]
    for record in (None, Record({}, "1"), Record(Identity(cluster_id=world.kafka.cluster_id).written(), "1")):
        world.objects.records.pop(key, None)
        world.objects.records |= {} if record is None else {key: record}
        for _ in range(6):
            topics.tick(WAL)
        assert pool_of(world) == []
    world.objects.records[key] = before
    for _ in range(6):
        topics.tick(WAL)
    assert len(pool_of(world)) == 1


def test_an_identity_of_an_older_seawall_is_formed_at_the_first_look(world: ManagedWorld) -> None:
    """It says who registered, and nothing of the whole."""
    key = Key(WAL.namespace, "wal-kafka-identity")
    older = json.loads(world.objects.records[key].data[IDENTITY])
    del older["formed"]
    world.objects.records[key] = Record({IDENTITY: json.dumps(older)}, "1")
    assert not identity(world).formed
    world.live(ticks=3)
    assert identity(world).formed


def test_a_node_that_is_added_later_gets_a_token_for_the_pod_that_asked(world: ManagedWorld) -> None:
    world.spec = copy.deepcopy(SPEC)
    world.spec["kafka"]["managed"]["nodePools"][1]["replicas"] = 4
    world.kube.apply(WAL, world.spec)
    world.live(until=lambda: bool(world.tokens()))
    asking = world.objects.pods[WAL].get(3)
    assert asking is not None
    assert world.tokens() == {"node-3": f"join {asking.question}"}


def test_a_disk_that_is_emptied_again_is_asked_about_again(world: ManagedWorld) -> None:
    """Nobody has heard of the first emptiness by then, so its token is still there."""
    world.lose_disk(0)
    world.live(until=lambda: bool(world.tokens()))
    world.kubelet()
    assert world.disk_of(0).node == 0  # type: ignore[union-attr]
    world.empty_disk(0)
    world.kubelet()
    assert world.objects.pods[WAL][0].has_empty_volume
    world.live(until=lambda: world.says("AllOnline") and not world.tokens())


def test_the_controller_of_topics_leaves_the_nodes_as_they_are_written(world: ManagedWorld) -> None:
    """Both write one status, and neither may drop what the other knows: the pinned cluster id, for one."""
    before = world.kube.get(WALCluster, WAL)
    assert before is not None
    topics, nodes = world.topics(), world.process()
    for unreachable in (None, NoKafka(Unreachable.NOT_ANSWERING, "No broker of Kafka answered.")):
        world.kafka.unreachable = unreachable
        for _ in range(12):
            topics.tick(WAL)
            now = world.kube.get(WALCluster, WAL)
            assert now is not None
            assert now.status.managed_kafka is not None
            assert now.status.managed_kafka.cluster_id == world.kafka.cluster_id
            assert [each.type for each in now.status.conditions].count("KafkaNodesHealthy") == 1
            nodes.tick(WAL)
    writes = world.kube.status_writes
    for _ in range(6):
        topics.tick(WAL)
        nodes.tick(WAL)
    assert world.kube.status_writes == writes, "they write in turn for ever"
