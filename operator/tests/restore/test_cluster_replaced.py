"""A WALCluster is made again by the same name, or gets another Kafka, while a restore is under way."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial

import pytest

from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from tests.restore.test_restore_crash import approved
from tests.worlds.purge_world import WAL, Calls
from tests.worlds.restore_world import BACK, RestoreWorld
from tests.worlds.scratch_world import CHANGES, ScratchWorld, backed_up
from tests.worlds.verification_world import why

Replaces = Callable[[RestoreWorld], None]


def has_met(world: RestoreWorld, kafka: str) -> None:
    """The WALCluster has met its Kafka."""
    met = KafkaStatus(cluster_id=kafka, brokers=BrokersStatus(total=3, online=3))
    data_plane = world.cluster().status.data_plane
    world.kube.replace_status(world.cluster(), WALClusterStatus(kafka=met, data_plane=data_plane))


def made_again(world: RestoreWorld) -> None:
    """On the same Kafka."""
    world.kube.remove(WAL)
    world.kube.apply(WAL, {**world.spec(), "backup": world.declared})
    has_met(world, "fake-cluster")


def made_elsewhere(world: RestoreWorld) -> None:
    """On another Kafka."""
    world.kube.remove(WAL)
    moved(world)


def moved(world: RestoreWorld) -> None:
    """The same object is on another Kafka."""
    external = {"external": {"bootstrapServers": ["other:9092"]}}
    world.kube.apply(WAL, {**world.spec(), "kafka": external, "backup": world.declared})
    has_met(world, "another")


WAYS = [made_again, made_elsewhere, moved]


def is_untouched(world: RestoreWorld) -> bool:
    """Whether nothing was made, or asked to go, on the other Kafka."""
    return not world.elsewhere.topics and world.elsewhere.requests.keys().isdisjoint({"create_topics", "delete_topics"})


def drilled_until(stage: RestoreStage) -> tuple[ScratchWorld, list[str]]:
    """A drill at this stage, whose topics are there."""
    world = backed_up()
    world.drill_until(stage)
    process = world.restorer()
    while not world.scratch_topics():
        world.settle_restore(process=process, ticks=1)
    world.is_given_up = True
    return world, world.scratch_topics()


def left_behind(world: RestoreWorld) -> str:
    (event,) = [each for each in world.kube.events if each.reason in {"ScratchTopicsLeft", "FinalizerRemoved"}]
    return event.message


@pytest.mark.parametrize("replaces", WAYS)
@pytest.mark.parametrize("stage", [RestoreStage.PREPARING, RestoreStage.WRITING, RestoreStage.REMOVING])
def test_a_drill_whose_walcluster_is_another_one_makes_nothing_and_names_what_it_leaves(
    stage: RestoreStage, replaces: Replaces
) -> None:
    world, names = drilled_until(stage)
    replaces(world)
    found = world.settle_restore()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "ClusterReplaced")
    assert all(name in why(found)[1] for name in names)
    assert all(name in left_behind(world) for name in names)
    assert "of Kafka fake-cluster" in left_behind(world)
    assert found.metadata.finalizers == ()
    assert world.scratch_topics() == names
    assert is_untouched(world)


@pytest.mark.parametrize("replaces", WAYS)
def test_a_deletion_names_the_topics_that_it_leaves_on_the_kafka_of_before(replaces: Replaces) -> None:
    world, names = drilled_until(RestoreStage.WRITING)
    replaces(world)
    world.kube.remove(BACK, WALRestore)
    assert world.settle_restore(ticks=60) is None
    assert all(name in left_behind(world) for name in names)
    assert world.scratch_topics() == names
    assert is_untouched(world)


def test_a_walcluster_that_is_made_again_before_any_call_that_makes_topics_gets_none() -> None:
    """Also between the question whether it is the same one still, and the act."""
    before = backed_up(is_given_up=True)
    before.drill_until(RestoreStage.PREPARING)
    made = set()
    for number in range(70):
        world = copy.deepcopy(before)
        calls = Calls(world.check, CHANGES)
        calls.make_before(number, partial(made_elsewhere, world))
        found = world.settle_restore(process=world.restorer(calls))
        assert (found.status.stage, is_untouched(world)) == (RestoreStage.FAILED, True), calls.names[: number + 1]
        made.add(len(world.scratch_topics()))
    assert made == {0, 3}, "it has to happen before they are made, and after"


@pytest.mark.parametrize("replaces", WAYS)
@pytest.mark.parametrize("stage", [RestoreStage.AWAITING_APPROVAL, RestoreStage.WRITING, RestoreStage.REMOVING])
def test_a_plan_that_was_approved_is_not_followed_on_another_walcluster(
    stage: RestoreStage, replaces: Replaces
) -> None:
    world = approved(half_written=1)
    world.live_until(stage)
    made = sorted(world.kafka.topics)
    world.kafka.requests.clear()
    replaces(world)
    found = world.settle_restore()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "ClusterReplaced")
    assert all(name in why(found)[1] for name in made), why(found)
    assert "Kafka fake-cluster" in why(found)[1]
    assert sorted(world.kafka.topics) == made
    assert world.kafka.requests.keys().isdisjoint({"create_topics", "delete_topics"})
    assert is_untouched(world)


def test_topics_that_were_asked_for_and_have_no_id_yet_are_named_too() -> None:
    world = approved()
    process = world.restorer()
    while not world.kafka.topics:
        world.settle_restore(process=process, ticks=1)
    made_elsewhere(world)
    assert "it may have made 3 topics (wal_0, wal_1, wal_2)" in why(world.settle_restore(process=process))[1]


def test_a_status_of_an_older_version_is_pinned_by_its_next_step() -> None:
    world, _ = drilled_until(RestoreStage.WRITING)
    found, cluster = world.walrestore(), world.kube.get(WALCluster, WAL)
    assert cluster is not None
    pin = (cluster.metadata.uid, "fake-cluster")
    assert (found.status.cluster_uid, found.status.kafka_cluster_id) == pin
    old = found.status.model_copy(update={"cluster_uid": None, "kafka_cluster_id": None})
    world.kube.replace_status(found, old)
    found = world.settle_restore(ticks=1)
    assert (found.status.cluster_uid, found.status.kafka_cluster_id) == pin
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED


def test_a_kafka_that_is_met_after_the_restore_began_is_pinned_before_anything_is_made() -> None:
    world = backed_up()
    world.kube.replace_status(world.cluster(), WALClusterStatus(data_plane=world.cluster().status.data_plane))
    world.drill_until(RestoreStage.PREPARING)
    world.settle_restore(ticks=9)
    assert (why(world.walrestore())[0], world.walrestore().status.kafka_cluster_id) == ("KafkaUnreachable", None)
    has_met(world, "fake-cluster")
    found = world.settle_restore(ticks=1)
    assert (found.status.kafka_cluster_id, world.scratch_topics()) == ("fake-cluster", [])
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED
