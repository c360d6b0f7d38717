"""A pod of a managed Kafka counts in its budget when Kafka counts on all that its node has, whoever drains."""

from __future__ import annotations

import copy
from datetime import timedelta
from functools import cache
from typing import Any

import pytest

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.errors import Conflict
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.kafka_in_sync.decide import SayInSync
from seawall.domain.kafka_in_sync.reasons import NodeReason
from seawall.domain.partitions import PartitionId
from seawall.reconciler import Reconciler
from tests.fakes.kafka_moves import FakeMove
from tests.worlds.in_sync_world import CHANGES, InSyncWorld
from tests.worlds.managed_world import BROKERS, CONTROLLERS, WAL, pool
from tests.worlds.purge_world import Calls, Guard

SILENT = NoKafka(Unreachable.NOT_ANSWERING, "no answer")
EVERYBODY = {*BROKERS, *CONTROLLERS}


@cache
def _brought_up() -> InSyncWorld:
    return InSyncWorld().bring_up()


@cache
def _in_sync() -> InSyncWorld:
    world = copy.deepcopy(_brought_up())
    world.live(until=world.is_all_ready)
    world.said.clear()
    return world


def brought_up() -> InSyncWorld:
    """All are in sync, and nobody has said so."""
    return copy.deepcopy(_brought_up())


def all_in_sync() -> InSyncWorld:
    """All are in sync, and it is said of all."""
    return copy.deepcopy(_in_sync())


@pytest.fixture
def world() -> InSyncWorld:
    return all_in_sync()


def look(world: InSyncWorld, looks: int = 2) -> None:
    """One process looks at all that is now, some seconds apart; nothing else happens."""
    process = world.gate_keeper()
    for _ in range(looks):
        world.is_unseen = False
        for _ in range(10):
            if process.tick(WAL).after != 0:
                break
        world.time.time += timedelta(seconds=4)


def test_a_new_pod_counts_only_when_it_was_seen_in_sync_twice() -> None:
    world = brought_up()
    look(world, 1)
    assert world.ready() == set()
    assert world.told() == "AllInSync"
    look(world)
    assert world.ready() == EVERYBODY
    assert {node for node, holds in world.said if holds} == EVERYBODY


def test_where_all_are_in_sync_nothing_is_written(world: InSyncWorld) -> None:
    look(world, 5)
    assert world.said == []


@pytest.mark.parametrize("node", [0, 101])
def test_one_that_falls_behind_counts_no_more_at_once_and_no_other_one_may_go(world: InSyncWorld, node: int) -> None:
    world.falls_behind(node, 99)
    look(world, 1)
    assert world.ready() == EVERYBODY - {node}
    assert world.reason_of(node) is (NodeReason.NOT_IN_SYNC if node in BROKERS else NodeReason.NOT_CAUGHT_UP)
    assert world.told() == "NodesNotInSync"
    group = BROKERS if node in BROKERS else CONTROLLERS
    for other in group:
        if other != node:
            world.drain(other)
    assert world.evicted == []
    world.drain(node)
    assert world.evicted == [node], "nobody loses by it: all others have all"
    assert world.violations == []


@pytest.mark.parametrize("is_silent", [False, True])
def test_one_whose_claim_is_deleted_does_not_count(world: InSyncWorld, *, is_silent: bool) -> None:
    world.delete_claim(0)
    world.kafka.unreachable = SILENT if is_silent else None
    look(world, 1)
    assert world.ready() == EVERYBODY - {0}
    assert world.reason_of(0) is NodeReason.VOLUME_GOES
    found = world.in_sync_condition()
    assert found is not None
    assert (found.reason, found.message) == ("NodesNotInSync", "wal-0 loses its volume with its pod")
    for other in (1, 2):
        world.drain(other)
    assert world.evicted == []


@pytest.mark.parametrize("node", [0, 100])
def test_after_an_eviction_the_next_one_waits_until_the_first_is_back_and_in_sync(
    world: InSyncWorld, node: int
) -> None:
    world.drain(node)
    assert world.evicted == [node]
    world.go_on()
    world.go_on()
    assert world.objects.pods[WAL][node].in_sync is None, "another pod has no condition, whoever is alive"
    other = 1 if node in BROKERS else 101
    world.drain(other)
    world.is_drained = True
    world.live(until=lambda: other in world.evicted)
    world.is_drained = False
    world.live(until=world.is_all_ready)
    assert world.violations == []


def test_a_container_that_begins_anew_does_not_count_until_it_was_seen_in_sync(world: InSyncWorld) -> None:
    world.crash(1)
    assert 1 in world.ready(), "the condition outlives the container: so long as nobody looks"
    look(world, 1)
    assert 1 not in world.ready()
    world.live(until=world.is_all_ready)
    assert [holds for node, holds in world.said if node == 1] == [False, True]


def test_that_another_container_runs_is_said_although_kafka_does_not_answer(world: InSyncWorld) -> None:
    world.crash(1)
    world.kafka.unreachable = SILENT
    look(world)
    assert world.reason_of(1) is NodeReason.RESTARTED
    assert world.ready() == EVERYBODY - {1}
    assert world.told() == "NotAsked"


def test_what_is_not_known_changes_nothing(world: InSyncWorld) -> None:
    world.kafka.unreachable = SILENT
    world.falls_behind(1, 99)
    look(world, 3)
    assert world.ready() == EVERYBODY
    assert world.said == []
    assert world.told() == "NotAsked"


def test_where_nothing_was_said_what_is_not_known_does_not_count() -> None:
    world = brought_up()
    world.kafka.unreachable = SILENT
    look(world, 3)
    assert world.ready() == set()


def test_replicas_that_are_being_made_do_not_count(world: InSyncWorld) -> None:
    world.kafka.logs["three"].isr.discard(2)
    look(world, 1)
    assert 2 not in world.ready()
    world.kafka.moves.ongoing[PartitionId("three", 0)] = FakeMove(original=(0, 1), target=(0, 1, 2))
    look(world, 2)
    assert 2 in world.ready()


def test_a_pod_without_the_gate_is_left_alone(world: InSyncWorld) -> None:
    world.objects.update_pod(WAL, 0, is_gated=False, in_sync=None)
    look(world, 3)
    assert world.said == []
    assert world.ready() == EVERYBODY
    world.falls_behind(0, 99)
    look(world, 2)
    assert world.said == []
    assert world.told() == "NodesNotInSync"


def test_a_pause_does_not_stop_it(world: InSyncWorld) -> None:
    world.annotate(paused="true")
    world.falls_behind(0, 99)
    look(world, 1)
    assert 0 not in world.ready()


def test_a_new_process_believes_what_is_written_and_says_nothing_anew(world: InSyncWorld) -> None:
    look(world, 1)
    assert world.said == []
    assert world.ready() == EVERYBODY


def test_a_broker_that_is_not_heard_from_does_not_count(world: InSyncWorld) -> None:
    world.kafka.offline.add(0)
    look(world, 1)
    assert world.reason_of(0) is NodeReason.NOT_HEARD


def test_a_broker_whose_port_is_closed_does_not_count_when_it_is_open_again(world: InSyncWorld) -> None:
    world.objects.update_pod(WAL, 0, is_ready=False)
    look(world, 1)
    assert world.reason_of(0) is NodeReason.NOT_RUNNING
    world.objects.update_pod(WAL, 0, is_ready=True)
    assert 0 not in world.ready(), "its port was closed: what was said before is not true of what it is now"


def test_a_container_that_begins_anew_is_seen_twice_anew(world: InSyncWorld) -> None:
    process = world.gate_keeper()
    for _ in range(3):
        process.tick(WAL)
        world.time.time += timedelta(seconds=4)
    world.crash(1)
    world.behind.clear()
    world.elect()
    world.is_unseen = False
    process.tick(WAL)
    assert 1 not in world.ready(), "one look has seen the new container"


def decided(world: InSyncWorld, calls: Guard | None = None) -> tuple[Reconciler[Any, Any, Any, Any], Any, SayInSync]:
    """A process that has seen node 1 in sync for long enough, and is about to say so."""
    world.objects.update_pod(WAL, 1, in_sync=None)
    process = world.gate_keeper(calls)
    obj = world.kube.get(WALCluster, WAL)
    assert obj is not None
    process.controller.observe(obj)
    world.time.time += timedelta(seconds=4)
    (action,) = process.controller.decide(obj, process.controller.observe(obj)).actions
    assert action.said.holds
    return process, obj, action


def test_what_is_old_by_the_time_it_is_said_is_not_said(world: InSyncWorld) -> None:
    process, obj, action = decided(world)
    world.falls_behind(1, 99)
    with pytest.raises(Conflict):
        process.controller.perform(obj, action)
    assert 1 not in world.ready()


def test_of_another_pod_with_the_same_name_nothing_is_said(world: InSyncWorld) -> None:
    def before(name: str) -> None:
        if name == "say_in_sync":
            world.kill(1)
            world.go_on()
            world.go_on()

    calls = Calls(lambda _: None, CHANGES)
    calls.before = before
    process, obj, action = decided(world, calls)
    with pytest.raises(Conflict):
        process.controller.perform(obj, action)
    assert world.objects.pods[WAL][1].in_sync is None


def test_a_controller_that_votes_no_more_lacks_nothing(world: InSyncWorld) -> None:
    """It is to be taken out: while it does not count, a budget would let none of the others go."""
    brokers = pool("brokers", "broker", 0, 3)
    world.edit(nodePools=[pool("controllers", "controller", 100, 5), brokers])
    world.live(until=lambda: {103, 104} <= world.running and not world.tokens())
    assert not any(world.objects.pods[WAL][node].is_gated and holds(world, node) for node in (103, 104))
    world.edit(nodePools=[pool("controllers", "controller", 100, 3), brokers])
    world.live(until=lambda: holds(world, 103) and holds(world, 104))


def holds(world: InSyncWorld, node: int) -> bool:
    """Whether it is said of its pod that it is in sync."""
    said = world.objects.pods[WAL][node].in_sync
    return said is not None and said.holds
