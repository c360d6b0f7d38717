"""How PartitionReassigner changes the voters: the fake, and the adapter on real controllers (Kafka 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pytest

from seawall.api.meta import Key
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import KafkaConnection
from seawall.domain.partitions import NewVoter, Quorum
from seawall.observe.connections import kafka_of
from seawall.ports import PartitionReassigner
from seawall_e2e.waiting import wait_until
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters
from tests.integration.test_managed_kafka_nodes import NAME, Bed, spec
from tests.integration.test_managed_kafka_nodes import bed as bed  # noqa: PLC0414 - a fixture

KEY = Key("db", "wal")
SERVER = "fake:9092"
VOTERS, NOBODY = (100, 101, 102), 105
OTHER = "AAAAAAAAAAAAAAAAAAAAAQ"
"""A directory id that no disk has."""


class Voting(Protocol):
    """Three controllers that run."""

    reassigner: PartitionReassigner

    def address_of(self, controller: int) -> tuple[str, int]:
        """Where the others find it."""

    def follow(self) -> None:
        """A controller that lost its vote, and runs, follows."""


class FakeVoting:
    def __init__(self) -> None:
        self.kafka = FakeKafka(brokers=1)
        self.kafka.moves.controllers = VOTERS
        self.disks = {each: f"AAAAAAAAAAAAAAAAAAAA{each}" for each in VOTERS}
        self.kafka.moves.directories = dict(self.disks)
        self.reassigner: PartitionReassigner = FakeKafkaClusters({SERVER: self.kafka}).reassigner(
            KEY, KafkaConnection((SERVER,))
        )

    def address_of(self, controller: int) -> tuple[str, int]:
        return f"wal-{controller}", 9090

    def follow(self) -> None:
        moves = self.kafka.moves
        moves.observers = {each: disk for each, disk in self.disks.items() if each not in moves.controllers}


class RealVoting:
    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        bed.declare(spec(brokers=1, controllers=3))
        bed.wait(lambda: bed.says("AllOnline") and bed.tokens() == {}, "all nodes are Online", 300.0)
        connection = kafka_of(bed.kube, bed.cluster())
        assert isinstance(connection, KafkaConnection)
        self.reassigner: PartitionReassigner = bed.controller.kafka_clusters.reassigner(bed.key, connection)

    def address_of(self, controller: int) -> tuple[str, int]:
        host, _, port = self.bed.kubelet.local(f"{NAME}-{controller}.{self.bed.namespace}.svc:9090").partition(":")
        return host, int(port)

    def follow(self) -> None:
        """It does so by itself."""


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.integration)])
def voting(request: pytest.FixtureRequest) -> Voting:
    return FakeVoting() if request.param == "fake" else RealVoting(request.getfixturevalue("bed"))


def directories(quorum: Quorum) -> dict[int, str]:
    return {each.id: str(each.directory_id) for each in quorum.voters}


def seen(voting: Voting, holds: Callable[[Quorum], object], what: str) -> None:
    def look() -> bool:
        voting.follow()
        try:
            return bool(holds(voting.reassigner.quorum()))
        except OutsideUnavailable:  # who leads resigns, if it is the one that lost its vote
            return False

    wait_until(look, what, within=60)


def new(voting: Voting, controller: int, directory_id: str) -> NewVoter:
    host, port = voting.address_of(controller)
    return NewVoter(controller, directory_id, "CONTROLLER", host, port)


@pytest.mark.xdist_group("kafka")
@pytest.mark.timeout(600)
def test_votes_are_of_disks_and_each_late_change_is_refused(voting: Voting) -> None:
    found = directories(voting.reassigner.quorum())
    assert tuple(found) == VOTERS
    follower = next(each for each in VOTERS if each != voting.reassigner.quorum().leader)
    with pytest.raises(Refused, match="already part of the set of voters"):  # add before remove
        voting.reassigner.add_voter(new(voting, follower, OTHER))
    with pytest.raises(Refused, match="voter"):  # another disk of it
        voting.reassigner.remove_voter(follower, OTHER)
    with pytest.raises(OutsideUnavailable):  # nobody follows by that id
        voting.reassigner.add_voter(new(voting, NOBODY, OTHER))
    assert directories(voting.reassigner.quorum()) == found
    voting.reassigner.remove_voter(follower, found[follower])
    seen(voting, lambda quorum: follower not in directories(quorum), "it does not vote any more")
    with pytest.raises(Refused, match="voter"):  # the same once more, late
        voting.reassigner.remove_voter(follower, found[follower])
    seen(voting, lambda quorum: follows(quorum, follower), "it follows, and has all of the log")
    added(voting, new(voting, follower, found[follower]))
    seen(voting, lambda quorum: directories(quorum) == found, "it votes again")


def follows(quorum: Quorum, controller: int) -> bool:
    return any(each.id == controller and each.lag == 0 and each.behind_ms is not None for each in quorum.observers)


def added(voting: Voting, voter: NewVoter) -> None:
    """What Kafka cannot do now is asked for again."""

    def is_added() -> bool:
        try:
            voting.reassigner.add_voter(voter)
        except OutsideUnavailable:
            return voter.id in directories(voting.reassigner.quorum())
        return True

    wait_until(is_added, "it is added", within=60)
