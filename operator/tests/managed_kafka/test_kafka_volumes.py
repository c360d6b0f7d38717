"""The volumes of a managed Kafka grow when the spec says so: told until they have, and nobody is restarted for it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from seawall.api.meta import PAUSED_ANNOTATION
from seawall.domain.decision import settle
from seawall.domain.errors import Conflict
from seawall.domain.managed_kafka.node import nodes_of
from seawall.domain.managed_kafka.objects import spec_hash, template_hash
from seawall.domain.step import Act
from tests.worlds.kafka_volumes_world import GI, VolumesWorld
from tests.worlds.managed_world import BROKERS, CONTROLLERS, WAL

BROUGHT_UP = VolumesWorld().bring_up()


def brought_up() -> VolumesWorld:
    return copy.deepcopy(BROUGHT_UP)


@pytest.fixture
def world() -> VolumesWorld:
    return brought_up()


def uids(world: VolumesWorld) -> dict[int, str]:
    return {node: pod.uid for node, pod in world.objects.pods[WAL].items()}


def test_volumes_that_are_declared_larger_grow_and_nobody_is_restarted(world: VolumesWorld) -> None:
    before = uids(world)
    world.grow("3Gi")
    world.live(until=world.is_sized)
    assert {node: world.size(node) for node in (*BROKERS, *CONTROLLERS)} == {
        **dict.fromkeys(BROKERS, 3 * GI),
        **dict.fromkeys(CONTROLLERS, GI),
    }
    world.live()
    assert (uids(world), sorted(world.grown)) == (before, ["data-wal-0", "data-wal-1", "data-wal-2"])
    assert world.told() == ("True", "AllSized", "6 volumes are as large as declared")
    assert world.says("AllOnline")


def test_what_a_node_is_made_of_has_no_size_of_its_volume(world: VolumesWorld) -> None:
    """So no template changes by it, and none waits for approval."""
    hashes = []
    for size in ("1Gi", "5Gi"):
        world.grow(size)
        nodes = nodes_of(WAL, world.found().spec.kafka.managed)  # type: ignore[union-attr,arg-type]
        hashes.append([(template_hash(node, "id"), spec_hash(node)) for node in nodes])
    assert hashes[0] == hashes[1]


def test_a_broker_that_is_down_because_it_is_full_is_mended_by_a_larger_volume(world: VolumesWorld) -> None:
    """Whatever else is away, and whatever Kafka says: nothing of that is asked."""
    world.fill(0)
    world.held.add(1)
    world.kill(1)
    world.live()
    found = world.condition()
    assert found is not None
    assert "No space left on device" in found[2]
    formatted = list(world.formatted)
    world.grow("2Gi")
    world.live(until=lambda: 0 in world.running)
    assert world.size(0) == 2 * GI
    world.held.clear()
    world.live(until=lambda: world.says("AllOnline") and world.is_sized())
    assert world.formatted == formatted


def test_without_kafka_they_grow_as_well(world: VolumesWorld) -> None:
    for node in (*BROKERS, *CONTROLLERS):
        world.held.add(node)
        world.kill(node)
    world.grow("2Gi")
    world.live()
    assert sorted(world.grown) == ["data-wal-0", "data-wal-1", "data-wal-2"]


def test_it_is_told_until_volumes_have_what_their_claims_ask_for(world: VolumesWorld) -> None:
    world.is_slow = True
    world.grow("2Gi")
    world.live()
    parts = "; ".join(f"data-wal-{node} has 1Gi of 2Gi" for node in BROKERS)
    assert world.told() == ("False", "VolumesGrowing", parts)
    assert world.says("AllOnline"), "nodes are well"
    place = world._place(1)
    world.objects.resize(place, waits_for_pod=True)
    world.live()
    assert world.told() == ("False", "PodHasToBeginAnew", "file systems grow when pods begin anew: data-wal-1")
    world.objects.resize(place, trouble="the pool of disks is full")
    world.live()
    assert world.told() == ("False", "ResizeFailed", "data-wal-1: the pool of disks is full")
    world.is_slow = False
    world.live(until=world.is_sized)


SENTENCE = 'persistentvolumeclaims "data-wal-1" is forbidden: the storageclass must support resize'


def test_what_the_class_does_not_allow_is_told_in_its_words_and_keeps_no_other_volume_from_growing(
    world: VolumesWorld,
) -> None:
    world.objects.refuses["data-wal-1"] = SENTENCE
    world.grow("2Gi")
    world.live(ticks=60)
    assert world.told() == ("False", "ChangeRefused", SENTENCE)
    assert [world.size(node) for node in BROKERS] == [2 * GI, GI, 2 * GI]
    assert world.condition() == ("True", "AllOnline", "6 nodes are Online"), "nodes are well, and topics are managed"
    world.objects.refuses.clear()
    world.live(until=world.is_sized)


def test_one_that_is_larger_than_declared_is_left_alone_and_told(world: VolumesWorld) -> None:
    world.claim_grows(0, 4 * GI)
    world.live()
    said = (
        "6 volumes are as large as declared; data-wal-0 asks for 4Gi, more than the 1Gi that are declared, and stays so"
    )
    assert world.told() == ("True", "AllSized", said)
    assert world.grown == []


def test_a_claim_that_is_not_bound_is_left_alone(world: VolumesWorld) -> None:
    world.held.add(0)
    world.kill(0)
    world.objects.resize(world._place(0), capacity=None)
    world.grow("2Gi")
    world.live()
    assert sorted(world.grown) == ["data-wal-1", "data-wal-2"]
    assert world.told() == ("False", "VolumesGrowing", "data-wal-0 is not bound to a volume yet")


def test_a_claim_that_the_identity_does_not_know_is_left_alone(world: VolumesWorld) -> None:
    world.another_claim(2)
    world.grow("2Gi")
    world.live()
    assert sorted(world.grown) == ["data-wal-0", "data-wal-1"]
    said = "5 volumes are as large as declared; data-wal-2 is another one than the identity knows, and is left alone"
    assert world.told() == ("True", "AllSized", said)


def test_a_claim_that_was_restored_with_its_disk_grows(world: VolumesWorld) -> None:
    world.restore_volume(2)
    world.grow("2Gi")
    world.live()
    assert sorted(world.grown) == ["data-wal-0", "data-wal-1", "data-wal-2"]


def test_where_it_is_not_clear_which_kafka_it_is_no_volume_is_touched(world: VolumesWorld) -> None:
    world.lose_record("wal-kafka-identity")
    world.grow("2Gi")
    process = world.grower()
    for _ in range(6):
        process.tick(WAL)
    assert world.told() == ("Unknown", "VolumesNotKnown", "which volumes it has is not written down")
    assert world.grown == []
    world.live(until=world.is_sized)


def test_a_node_that_leaves_needs_no_more(world: VolumesWorld) -> None:
    world.scale(4)
    world.live(until=lambda: world.says("AllOnline") and 3 in world.kafka.brokers)
    world.scale(3)
    world.grow("2Gi")
    world.live()
    assert sorted(world.grown) == ["data-wal-0", "data-wal-1", "data-wal-2"]


def test_a_pause_stops_it_and_says_so(world: VolumesWorld) -> None:
    world.grow("2Gi")
    world.kube.apply(WAL, world.spec, annotations={PAUSED_ANNOTATION: "true"})
    world.live()
    found = world.told()
    assert found is not None
    assert (found[0], found[1], world.grown) == ("Unknown", "Paused", [])


def test_what_is_not_declared_any_more_is_not_done(world: VolumesWorld) -> None:
    """Somebody has deleted the WALCluster and made it again, with less, since it was decided."""
    process = world.grower()
    controller: Any = process.controller
    world.grow("3Gi")
    process.tick(WAL)
    found = world.found()
    step = settle(found, controller.decide(found, controller.observe(found)))
    assert isinstance(step, Act)
    world.delete_and_apply()
    world.grow("2Gi")
    for action in step.actions:
        with pytest.raises(Conflict):
            controller.perform(found, action)
    assert world.grown == []
