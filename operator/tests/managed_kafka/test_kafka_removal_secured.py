"""A broker is taken out of a managed Kafka whose certificate lacks its name already: both were edited at once."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from seawall.domain.managed_kafka.objects import ObjectKind
from tests.support.clock import START
from tests.worlds.kafka_removal_world import RemovalWorld
from tests.worlds.managed_world import WAL
from tests.worlds.secured_world import HOSTS, NODES, SECURED, YEAR, SecuredWorld, authority, secret, secret_of


@dataclass(repr=False)
class SecuredRemovalWorld(RemovalWorld, SecuredWorld):
    """Brokers are taken out of a Kafka with certificates."""

    spec: dict[str, Any] = field(default_factory=lambda: copy.deepcopy(SECURED))


def put(world: SecuredRemovalWorld, *hosts: str) -> None:
    """Somebody puts a certificate with these names into the Secret of the nodes."""
    made = authority().issue("seawall:wal:node", WAL.namespace, hosts, START - timedelta(minutes=1), YEAR)
    world.kube.secrets[secret(NODES)] = secret_of(made, authority())


def brought_up() -> SecuredRemovalWorld:
    world = SecuredRemovalWorld()
    put(world, "*.db.svc")
    world.bring_up()
    return world


def test_a_broker_of_a_kafka_with_certificates_is_taken_out() -> None:
    world = brought_up()
    world.scale(3)
    world.live()
    assert world.is_done()
    assert world.kafka.moves.unregistered == {3}


def test_it_is_stopped_although_the_certificate_lacks_its_name_and_no_other() -> None:
    world = brought_up()
    put(world, *HOSTS)
    world.keeps = True
    world.scale(3)
    world.live(ticks=40)
    assert world.removal() is not None
    assert 3 not in world.stopped
    world.keeps = False
    world.live()
    assert world.is_done()
    assert {key.name for kind, key in world.objects.made if kind is ObjectKind.STATEFUL_SET} == {
        f"wal-{node}" for node in (0, 1, 2, 100, 101, 102)
    }


def test_none_is_stopped_while_the_certificate_lacks_the_name_of_one_that_stays() -> None:
    world = brought_up()
    put(world, "wal-3.db.svc")
    world.scale(3)
    world.live()
    assert 3 not in world.stopped
    removal = world.removal()
    assert removal is not None
    assert "lacks the names wal-0.db.svc" in removal.message
