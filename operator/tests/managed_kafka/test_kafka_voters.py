"""The votes of a managed Kafka's controllers: a lost disk is replaced by itself, and controllers are added."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import timedelta

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.disruption import DisruptionKind
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.managed_kafka.found import KafkaAnswer
from seawall.domain.managed_kafka.identity import NodeRecord
from seawall.domain.managed_kafka.names import FORMAT_VOLUME_ANNOTATION, identity_name
from seawall.domain.managed_kafka.node import Ids, nodes_of
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.managed_kafka.tokens import heard_of
from seawall.domain.managed_kafka.volumes import why_not_without
from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId, Quorum, QuorumReplica
from seawall.domain.times import MANAGED_KAFKA_LOST_FOR
from tests.managed_kafka.test_managed_kafka_crash import identity
from tests.worlds.kafka_voters_world import CHANGES, VotersWorld
from tests.worlds.managed_world import WAITS, WAL, pool
from tests.worlds.purge_world import Calls

BROUGHT_UP = VotersWorld().bring_up()
ONE = VotersWorld(first=1).bring_up()
VOTES = ("add_voter", "remove_voter")


@pytest.fixture
def world() -> VotersWorld:
    return copy.deepcopy(BROUGHT_UP)


@pytest.fixture
def one() -> VotersWorld:
    return copy.deepcopy(ONE)


def sentence(world: VotersWorld) -> str:
    found = world.condition()
    return "" if found is None else found[2]


def follower(world: VotersWorld) -> int:
    return next(each for each in sorted(world.votes()) if each != world.leads)


def changes(calls: Calls) -> list[str]:
    return [name for name in calls.names if name in VOTES]


def test_the_vote_of_a_lost_disk_goes_and_an_empty_one_follows_and_votes(world: VotersWorld) -> None:
    lost, before = follower(world), world.votes()
    calls = Calls(world.check, CHANGES)
    world.lose_disk(lost)
    world.live(calls)
    assert world.is_done()
    assert changes(calls) == ["remove_voter", "add_voter"]
    assert world.votes()[lost] not in before.values()
    assert identity(world).nodes[lost].directory == world.votes()[lost]
    assert before[lost] in identity(world).nodes[lost].spent
    assert world.condition() == ("True", "AllOnline", "6 nodes are Online")
    events = [event.message for event in world.kube.events]
    assert f"Directory {before[lost]} of controller {lost} does not vote any more" in events
    assert f"Controller {lost} votes, with directory {world.votes()[lost]}" in events


def test_the_leader_loses_its_disk(world: VotersWorld) -> None:
    lost = world.leads
    assert lost is not None
    world.lose_disk(lost)
    world.live()
    assert world.is_done()


def test_a_volume_that_is_gone_is_made_again(world: VotersWorld) -> None:
    lost = follower(world)
    world.lose_volume(lost)
    world.live()
    assert world.is_done()


def test_its_vote_goes_only_after_a_silence_and_then_looks_that_lie_apart(world: VotersWorld) -> None:
    lost, began = follower(world), world.time.time
    world.lose_disk(lost)
    world.live(until=lambda: lost not in world.votes())
    assert world.time.time - began >= 2 * MANAGED_KAFKA_LOST_FOR


def test_one_that_is_merely_down_keeps_its_vote(world: VotersWorld) -> None:
    away, before = follower(world), world.votes()
    world.holds(away)
    world.live(ticks=200)
    assert world.votes() == before
    assert world.change() is None
    world.returns(away)
    world.live()
    assert world.is_done()


def test_one_whose_disk_is_there_keeps_its_vote_whatever_became_of_its_claim(world: VotersWorld) -> None:
    """A claim that is deleted stays, and so does its disk, for as long as the pod runs."""
    node, before = follower(world), world.votes()
    (place,) = [place for place, meta in world.objects.meta.items() if meta.name == f"data-wal-{node}"]
    world.objects.meta[place] = replace(world.objects.meta[place], is_terminating=True)
    world.live(ticks=100)
    assert world.votes() == before
    assert world.says("VolumeLost")


def test_one_whose_claim_was_restored_with_its_disk_keeps_its_vote_when_it_is_down(world: VotersWorld) -> None:
    away, before = follower(world), world.votes()
    world.holds(away)
    world.replace_claim(away)
    world.returns(away)
    world.live()
    assert world.says("AllOnline")
    world.holds(away)
    world.live(ticks=200)
    assert world.votes() == before
    world.returns(away)
    world.live()
    assert (world.is_done(), world.votes()) == (True, before)


def test_one_whose_claim_was_restored_after_its_vote_was_taken_votes_again(world: VotersWorld) -> None:
    away, before = follower(world), world.votes()
    place = (ObjectKind.VOLUME, Key(WAL.namespace, f"data-wal-{away}"))
    meta, made, disk = world.objects.meta[place], world.objects.made[place], world.disk_of(away)
    assert disk is not None
    world.holds(away)
    world.objects.remove(*place)
    world.live(until=lambda: away not in world.votes())
    world.objects.meta[place], world.objects.made[place] = replace(meta, uid="restored", created=world.time.time), made
    world.disks["restored"] = disk
    world.returns(away)
    world.live()
    assert world.is_done()
    assert world.votes() == before
    assert world.says("AllOnline")


def test_nothing_is_changed_while_another_one_is_behind(world: VotersWorld) -> None:
    lost = follower(world)
    world.lose_disk(lost)
    other = next(each for each in sorted(world.votes()) if each not in {lost, world.leads})
    world.behind[other] = 60
    world.live(ticks=60)
    assert lost in world.votes()
    assert world.disk_directory(lost) == "", "it is formatted only when nobody with its id votes"
    assert f"controller {other} votes and has not caught up" in sentence(world)
    world.behind = {}
    world.live()
    assert world.is_done()


def test_the_only_controller_stays_lost_and_says_so(one: VotersWorld) -> None:
    before = one.votes()
    one.lose_disk(100)
    one.live(ticks=100)
    assert one.votes() == before
    assert one.says("VolumeLost")
    assert "it is the only controller, and nobody else has Kafka's metadata" in sentence(one)
    assert one.tokens() == {}


def test_one_becomes_three_and_five_one_after_the_other(one: VotersWorld) -> None:
    calls = Calls(one.check, CHANGES)
    one.controllers(3)
    one.live(calls)
    assert set(one.votes()) == {100, 101, 102}
    assert one.is_done()
    one.controllers(5)
    one.live(calls)
    assert set(one.votes()) == {100, 101, 102, 103, 104}
    assert one.is_done()
    assert changes(calls) == ["add_voter"] * 4


def test_who_lacks_records_gets_no_vote_yet(world: VotersWorld) -> None:
    world.catches_up = 60
    world.controllers(5)
    world.live(ticks=80)
    assert set(world.votes()) == {100, 101, 102}
    assert world.says("ChangingVoters")
    assert "does not vote yet" in sentence(world)
    world.behind = {}
    world.live()
    assert world.is_done()


def test_nobody_gets_a_vote_while_a_voter_is_away(world: VotersWorld) -> None:
    world.controllers(5)
    away = follower(world)
    world.behind[away] = 80
    world.live(ticks=80)
    assert set(world.votes()) == {100, 101, 102}
    world.behind = {}
    world.live()
    assert world.is_done()


def test_it_waits_for_who_else_is_disrupted(world: VotersWorld) -> None:
    lost = follower(world)
    world.disrupt(DisruptionKind.DATANODE_RESTART, "datanode-1")
    world.lose_disk(lost)
    world.live()
    assert lost in world.votes()
    assert "status.disruption has DatanodeRestart of datanode-1, and two disruptions cannot stand" in sentence(world)
    world.write_entry(None)
    world.live()
    assert world.is_done()


def test_a_disk_that_is_lost_in_its_own_restart_is_replaced_under_that_entry(world: VotersWorld) -> None:
    """The restart ends only when the controller votes again."""
    lost = follower(world)
    world.disrupt(DisruptionKind.KAFKA_NODE_RESTART, f"wal-{lost}-0")
    world.lose_disk(lost)
    world.live()
    entry = world.entry()
    assert entry is not None
    assert entry.kind == DisruptionKind.KAFKA_NODE_RESTART
    assert set(world.votes()) == world.living() == {100, 101, 102}


def test_what_a_person_formatted_too_early_votes_after_the_old_vote_has_gone(world: VotersWorld) -> None:
    lost = follower(world)
    world.changes = False
    world.lose_disk(lost)
    expires = f"{world.time.time + timedelta(hours=2):%Y-%m-%dT%H:%M:%SZ}"
    said = {FORMAT_VOLUME_ANNOTATION: f"{lost}: it is gone@{expires}"}
    world.kube.apply(WAL, world.spec, annotations=said)
    world.live(until=lambda: bool(world.disk_directory(lost)) and lost not in world.behind)
    assert world.votes()[lost] != world.disk_directory(lost)
    world.kube.apply(WAL, world.spec)
    world.changes = True
    world.live()
    assert world.is_done()


def test_a_disk_that_is_restored_after_its_vote_has_gone_follows_and_votes_again(world: VotersWorld) -> None:
    """To attach a disk takes minutes: its claim is there, and its pod is not yet."""
    lost = follower(world)
    world.held.add(lost)
    world.restore_volume(lost)
    disk = world.disk_directory(lost)
    world.live(until=lambda: lost not in world.votes())
    world.live(ticks=60)
    world.held.clear()
    world.live()
    assert world.disk_directory(lost) == disk
    assert (lost, disk) in world.votes().items()
    assert world.is_done()


def test_while_kafka_does_not_answer_nothing_is_known_to_be_lost(world: VotersWorld) -> None:
    lost = follower(world)
    world.lose_disk(lost)
    world.live(until=lambda: world.change() is not None)
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "it does not answer")
    world.live(ticks=60)
    assert lost in world.votes()
    world.kafka.unreachable = None
    world.live()
    assert world.is_done()


def test_a_lost_status_costs_nothing(world: VotersWorld) -> None:
    lost = follower(world)
    world.lose_disk(lost)
    world.live(until=lambda: lost not in world.votes())
    world.forget_status()
    world.live()
    assert world.is_done()


def test_an_entry_of_an_earlier_change_keeps_nobody_waiting(world: VotersWorld) -> None:
    """Somebody took `voterChange` out of the status, and left the journal."""
    world.disrupt(DisruptionKind.KAFKA_VOTER_CHANGE, "wal-102-0")
    world.lose_disk(follower(world))
    world.live()
    assert world.is_done()


def test_a_paused_one_is_left_alone(world: VotersWorld) -> None:
    lost, before = follower(world), world.votes()
    world.kube.apply(WAL, world.spec, annotations={"seawall.dev/paused": "true"})
    world.lose_disk(lost)
    world.live(ticks=100)
    assert world.votes() == before
    world.kube.apply(WAL, world.spec)
    world.live()
    assert world.is_done()


def test_who_falls_behind_right_before_the_act_is_seen(world: VotersWorld) -> None:
    """After it was decided, and before it is done: all is looked at once more."""
    lost, before_it = follower(world), world.votes()
    world.lose_disk(lost)
    other = next(each for each in sorted(world.votes()) if each not in {lost, world.leads})
    calls, began = Calls(world.check, CHANGES), 0
    processes = [world.process(), world.voter(calls)]

    def before(name: str) -> None:
        """The quorum is asked a second time only by who is about to act."""
        if name == "quorum" and calls.names[began:].count("quorum") == 2:
            world.falls_behind(other, 1000)

    calls.before = before
    for _ in range(200):
        if other in world.behind:
            break
        began = len(calls.names)
        if all(process.tick(WAL).after != 0 for process in processes):
            world.go_on()
            world.time.time += timedelta(seconds=WAITS)
    assert other in world.behind
    assert world.votes() == before_it


def test_of_two_disks_of_a_controller_the_one_that_was_heard_from_last_counts() -> None:
    """One that lost its vote is told as an observer for five minutes."""
    leader, old, new = QuorumReplica(100, 0, 0, "a"), QuorumReplica(101, 90, 60_000, "b"), QuorumReplica(101, 0, 0, "c")
    found = heard_of(Quorum(100, (leader,), (old, new)), 101, NodeRecord(directory="b"))
    assert found == new


def test_a_node_with_both_roles_is_judged_by_both() -> None:
    """Its vote has to be gone, and what is on it elsewhere."""
    both = {**pool("both", "controller", 0, 3), "roles": ["controller", "broker"], "heap": "128Mi"}
    kafka = ManagedKafka.model_validate({"version": "4.3.1", "nodePools": [both], "security": {"insecure": True}})
    node = nodes_of(WAL, kafka)[0]
    alone, fenced = Partition(PartitionId("a", 0), (0,), frozenset({0}), None), Broker(0, None, BrokerState.FENCED)
    voters = tuple(QuorumReplica(each, 0, 0, f"{each}") for each in (1, 2))
    lost = QuorumReplica(0, 90, 60_000, "0")
    answer = KafkaAnswer("id", {0: fenced}, Quorum(1, (lost, *voters), ()), {}, partitions=(), eligible={})
    assert "its vote is taken first" in str(why_not_without(node, answer))
    answer = replace(answer, quorum=Quorum(1, voters, (replace(lost, behind_ms=100),)), partitions=(alone,))
    assert "Kafka still hears from it" in str(why_not_without(node, answer))
    answer = replace(answer, quorum=Quorum(1, voters, (lost,)))
    assert "nobody else is known to have all records of a-0" in str(why_not_without(node, answer))
    assert why_not_without(node, replace(answer, partitions=())) is None
    assert "is not known" in str(why_not_without(node, replace(answer, partitions=(), quorum="nobody leads")))


def five() -> VotersWorld:
    """Five vote."""
    world = copy.deepcopy(BROUGHT_UP)
    world.controllers(5)
    world.live()
    assert world.is_done()
    return world


def test_five_become_three_the_leader_last_and_no_id_is_used_twice() -> None:
    world = five()
    world.leads = 104
    world.elect()
    assert world.leads == 104
    calls, order = Calls(world.check, CHANGES), list[set[int]]()
    calls.before = lambda _: order.append(set(world.votes()))
    world.controllers(3)
    world.live(calls, ticks=1200)
    assert world.is_done()
    assert set(world.votes()) == {100, 101, 102}
    assert {100, 101, 102, 104} in order, "the leader last"
    assert {103, 104} == world.stopped
    assert [name for name in calls.names if name in {*VOTES, "stop"}].count("remove_voter") == 2
    assert sorted(node for node in world.objects.pods[WAL] if node >= 100) == [100, 101, 102]
    budget = world.objects.made[ObjectKind.BUDGET, Key(WAL.namespace, "wal-kafka-controllers")]
    assert budget.body["spec"]["minAvailable"] == 2
    world.controllers(5)
    world.live(ticks=1200)
    assert set(world.votes()) == {100, 101, 102, 105, 106}


def test_a_raise_before_the_stop_gives_the_vote_back() -> None:
    world = five()
    world.controllers(3)
    world.live(until=lambda: 104 not in world.votes())
    world.controllers(5)
    world.live(ticks=800)
    assert world.is_done()
    assert set(world.votes()) == {100, 101, 102, 103, 104}


def test_nobody_leaves_while_one_that_stays_has_not_caught_up() -> None:
    world = five()
    world.falls_behind(101, 1000)
    world.controllers(3)
    world.live(ticks=120)
    assert len(world.votes()) == 5
    world.behind = {}
    world.live(ticks=1200)
    assert world.is_done()


def test_one_that_is_down_leaves_first() -> None:
    world = five()
    world.holds(103)
    calls, order = Calls(world.check, CHANGES), list[set[int]]()
    calls.before = lambda _: order.append(set(world.votes()))
    world.controllers(3)
    world.live(calls, ticks=1200)
    assert world.is_done()
    assert {100, 101, 102, 104} in order


def test_to_one_nobody_leaves_and_it_is_told() -> None:
    """The API server refuses the edit; a WALCluster that was made again is told."""
    world = copy.deepcopy(BROUGHT_UP)
    world.controllers(1)
    world.live(ticks=100)
    assert set(world.votes()) == {100, 101, 102}
    assert world.says("NodesNotDeclared")


def test_what_is_left_of_another_kafka_of_this_name_is_no_first_voter() -> None:
    """Its StatefulSets, and volumes that go, are still there when all was deleted and applied again with fewer."""
    world = VotersWorld(first=5)
    world.bring_up()
    world.kube.remove(WAL)
    for name in ("wal-kafka-identity", "wal-kafka-format"):
        world.lose_record(name)
    for place, meta in world.objects.meta.items():
        if place[0] is ObjectKind.VOLUME:
            world.objects.meta[place] = replace(meta, is_terminating=True)
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "its brokers end")
    world.controllers(3)
    world.process().tick(WAL)
    world.process().tick(WAL)
    assert set(identity(world).initial) == {100, 101, 102}


def test_files_of_nodes_name_no_controller_that_is_out() -> None:
    """Whoever tells that it is out: the status, or the identity alone."""
    pools = [pool("controllers", "controller", 100, 3), pool("brokers", "broker", 0, 1)]
    kafka = ManagedKafka.model_validate({"version": "4.3.1", "nodePools": pools, "security": {"insecure": True}})
    found = nodes_of(WAL, kafka, Ids(used=frozenset({100, 101, 102, 103}), removed=frozenset({101})))
    assert [tuple(node.kafka.controller_ids) for node in found] == [(100, 102, 103)] * 4


BEGIN = "for a new, empty Kafka delete the WALCluster, its volumes and both ConfigMaps, and apply it again"


def never_comes_up(*refused: str) -> VotersWorld:
    """Five are declared, and a quota refuses volumes."""
    world = VotersWorld(first=5)
    world.objects.refuses = dict.fromkeys(refused, "exceeded quota")
    world.live(ticks=60)
    world.changes = True
    return world


def test_a_quorum_is_not_formed_with_first_voters_that_nobody_declares() -> None:
    """Five were made ids, two never got a volume, and three are declared: three of five votes would be there."""
    world = never_comes_up("data-wal-103", "data-wal-104")
    world.controllers(3)
    world.live(ticks=60)
    said = f"controllers 103, 104 were to vote, and not declared: declare as many as there were, or {BEGIN}"
    assert world.condition() == ("False", "NodesNotDeclared", said)
    assert world.formatted == []
    assert not world.tokens()
    assert {kind for kind, _ in world.objects.made} == {ObjectKind.VOLUME}
    world.objects.refuses.clear()
    world.live(ticks=60)
    assert world.formatted == []
    world.controllers(5)
    world.live()
    assert world.is_done()
    assert set(world.votes()) == {100, 101, 102, 103, 104}


def test_of_two_that_never_came_up_one_with_a_volume_changes_nothing() -> None:
    world = never_comes_up("data-wal-104")
    world.controllers(3)
    world.live(ticks=60)
    said = f"controller 104 was to vote, and not declared: declare as many as there were, or {BEGIN}"
    assert world.condition() == ("False", "NodesNotDeclared", said)
    assert world.formatted == []


def test_two_that_never_came_up_leave_and_do_not_wait_for_each_other() -> None:
    """Their pods have no machine. The quorum is of five by then, and three of them are there."""
    world = VotersWorld(first=5)
    world.held |= {103, 104}
    world.live(ticks=100)
    assert world.living() == {100, 101, 102}
    world.changes = True
    calls = Calls(world.check, CHANGES)
    world.controllers(3)
    world.live(calls, ticks=800)
    assert world.is_done()
    assert set(world.votes()) == {100, 101, 102}
    assert world.says("RollingNodes"), "in this world nobody restarts who has five in its files"
    assert identity(world).formed
    assert [name for name in calls.names if name in {*VOTES, "stop"}].count("remove_voter") == 2


def test_two_that_leave_and_are_down_do_not_wait_for_each_other() -> None:
    world = five()
    world.holds(103)
    world.holds(104)
    world.controllers(3)
    world.live(ticks=1200)
    assert world.is_done()


def test_one_that_stays_and_is_down_is_waited_for_by_those_that_leave() -> None:
    world = five()
    world.holds(102)
    world.holds(104)
    world.controllers(3)
    world.live(ticks=200)
    assert len(world.votes()) == 5
    assert world.change() is not None
    world.returns(102)
    world.live(ticks=1200)
    assert world.is_done()


def test_one_of_a_first_life_of_three_begins_with_none_of_the_two_others() -> None:
    world = VotersWorld()
    world.held |= {100, 101, 102}
    world.live(ticks=60)
    assert len(world.tokens()) > 3, "they might have been formatted"
    world.held.clear()
    world.controllers(1)
    world.delete_and_apply()
    world.live(ticks=100)
    said = f"controllers 101, 102 were to vote, and not declared: declare as many as there were, or {BEGIN}"
    assert world.condition() == ("False", "NodesNotDeclared", said)
    assert {node for node, _ in world.formatted} <= {0, 1, 2}, "no controller"
    assert not world.objects.pods.get(WAL)
    world.controllers(3)
    world.changes = True
    world.live()
    assert world.is_done()


def test_what_a_quorum_was_formed_without_gets_its_votes_when_it_is_declared_again() -> None:
    """As an older Seawall formed it: three of five are there, and two of no list were never heard from."""
    world = VotersWorld(first=5)
    world.held |= {103, 104}
    world.live(ticks=100)
    forget_nodes(world, 103, 104)
    world.controllers(3)
    world.live(ticks=100)
    assert sentence(world) == "controllers 103, 104 were to vote, and not declared: declare as many as there were"
    assert not identity(world).formed
    world.controllers(5)
    world.held.clear()
    world.changes = True
    world.live()
    assert world.is_done()
    assert world.votes() == identity(world).initial


def forget_nodes(world: VotersWorld, *nodes: int) -> None:
    """Nothing of these is there, or remembered."""
    key, known = Key(WAL.namespace, identity_name(WAL.name)), identity(world)
    kept = {node: record for node, record in known.nodes.items() if node not in nodes}
    record = world.objects.records[key]
    world.objects.records[key] = replace(record, data=known.model_copy(update={"nodes": kept}).written())
    for place in [place for place, meta in world.objects.meta.items() if meta.node in nodes]:
        world.objects.remove(*place)
    for node in nodes:
        world.kill(node)


def test_voters_in_no_list_are_told_of_a_kafka_that_was_formed_with_them() -> None:
    world = five()
    forget_nodes(world, 103, 104)
    world.controllers(3)
    world.live(ticks=100)
    take = "take the vote with kafka-metadata-quorum.sh remove-controller"
    said = f"controllers 103, 104 vote, and are not declared: declare as many as there were, or {take}"
    assert world.condition() == ("False", "NodesNotDeclared", said)
