"""The operator of a managed Kafka dies at every call to the outside: the next process ends at the same place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from seawall.domain.managed_kafka.identity import IDENTITY, Identity
from tests.support.deaths import die_at_every_call
from tests.worlds.managed_world import CHANGES, WAL, ManagedWorld
from tests.worlds.purge_world import Guard


def new() -> ManagedWorld:
    return ManagedWorld()


def loses_a_disk() -> ManagedWorld:
    world = new().bring_up()
    world.lose_disk(0)
    world.go_on()
    return world


def loses_a_volume() -> ManagedWorld:
    world = new().bring_up()
    world.lose_volume(0)
    return world


def loses_what_is_needed() -> ManagedWorld:
    world = new().bring_up()
    world.lose_disk(2)
    world.go_on()
    return world


def is_applied_again() -> ManagedWorld:
    world = new().bring_up()
    world.delete_and_apply()
    return world


def loses_the_identity() -> ManagedWorld:
    world = new().bring_up()
    world.lose_record("wal-kafka-identity")
    return world


def gets_a_broker_more() -> ManagedWorld:
    world = new().bring_up()
    world.scale(4)
    return world


def gets_other_clients(world: ManagedWorld | None = None) -> ManagedWorld:
    world = new().bring_up() if world is None else world
    world.network(clientsFrom=[{"namespaceSelector": {"matchLabels": {"team": "orders"}}}])
    return world


def wants_no_policy() -> ManagedWorld:
    world = new().bring_up()
    world.network(enabled=False)
    return world


def identity(world: ManagedWorld) -> Identity:
    (record,) = (each for key, each in world.objects.records.items() if key.name.endswith("identity"))
    return Identity.model_validate_json(record.data[IDENTITY])


def end_state(world: ManagedWorld) -> Any:
    found = identity(world)
    return (
        world.condition(),
        world.tokens(),
        sorted((kind, key.name) for kind, key in world.objects.made if kind != "ConfigMap"),
        Counter(node for node, _ in world.formatted),
        {node: record.registered for node, record in found.nodes.items()},
        {disk.cluster_id for disk in world.disks.values() if disk.node is not None} == {found.cluster_id},
        world.running,
        world.is_policy_as_declared(),
    )


@pytest.mark.parametrize(
    ("begin", "reason"),
    [
        (new, "AllOnline"),
        (loses_a_disk, "AllOnline"),
        (loses_a_volume, "AllOnline"),
        (loses_what_is_needed, "VolumeLost"),
        (is_applied_again, "AllOnline"),
        (loses_the_identity, "AllOnline"),
        (gets_a_broker_more, "AllOnline"),
        (gets_other_clients, "AllOnline"),
        (wants_no_policy, "AllOnline"),
    ],
)
def test_a_death_at_any_call_changes_nothing_about_the_end(begin: Callable[[], ManagedWorld], reason: str) -> None:
    def live(world: ManagedWorld, guard: Guard | None) -> None:
        world.live(guard)

    world = begin()
    worlds = die_at_every_call(world, live, end_state, CHANGES)
    assert world.says(reason)
    assert world.is_policy_as_declared()
    assert worlds > 5


def test_two_operators_at_once_bring_up_one_kafka() -> None:
    world = new()
    processes = [world.process(), world.process()]
    for number in range(300):
        processes[number % 2].tick(WAL)
        if number % 4 == 3:
            world.go_on()
    world.live()
    assert world.says("AllOnline")
    assert Counter(node for node, _ in world.formatted) == Counter((0, 1, 2, 100, 101, 102))
