"""Kafka: where the replicas of its partitions are, and who runs it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from seawall.domain.kafka_log import TopicFailure
from seawall.domain.partitions import (
    Broker,
    NewVoter,
    Partition,
    PartitionId,
    Quorum,
    Rates,
    Reassigning,
    Sizes,
    ThrottledReplicas,
    Throttles,
)


class PartitionReassigner(Protocol):
    """Where the partitions of one Kafka cluster are, and how they are moved. Every call is a few requests.

    All of them raise OutsideUnavailable when Kafka does not answer as a whole: what was asked for may have happened.
    All but `reassign` and `elect_preferred_leaders` raise Refused when Kafka says no, with its sentence.
    """

    def brokers(self) -> tuple[Broker, ...]:
        """The registered brokers by id, online or fenced; `known_brokers` adds those that are only remembered."""
        ...

    def partitions(self, topics: Collection[str] | None = None) -> Mapping[str, tuple[Partition, ...] | TopicFailure]:
        """All partitions of each topic, or of all topics that there are, in their order.

        Of all topics those alone are left out that are just being made or deleted.
        """
        ...

    def min_insync_replicas(self, topics: Collection[str]) -> Mapping[str, int | TopicFailure]:
        """What is in force for each topic, be it set on the topic or a default of the brokers."""
        ...

    def ongoing(self) -> Mapping[PartitionId, Reassigning]:
        """Every reassignment of the cluster that is not done, whoever began it."""
        ...

    def reassign(self, targets: Mapping[PartitionId, tuple[int, ...] | None]) -> Mapping[PartitionId, TopicFailure]:
        """Gives each partition these replicas, the preferred leader first; None cancels what is on its way.

        A partition that has the replicas already, or is not on its way, is no failure. One that is cancelled has its
        replicas back, but in the order of the target: another preferred leader, until they are given once more. Kafka
        lets a new target take the place of an old one in mid-way; cancelling first is easier to reason about.

        Returns:
            What Kafka did not accept, each with its sentence.
        """
        ...

    def throttles(self, topics: Collection[str]) -> Throttles:
        """The rates in force, and what of these topics they apply to; a topic that does not exist is left out."""
        ...

    def alter_throttles(self, rates: Rates | None, replicas: Mapping[str, ThrottledReplicas]) -> None:
        """Sets the rates of all brokers, dead ones too, and what of these topics they apply to.

        Args:
            rates: exactly these, so that a None in them removes that one; None: they stay as they are.
            replicas: by topic; where nothing is throttled, the configs are removed, and a topic that does not exist is
                no error then. Other topics stay as they are.
        """
        ...

    def elect_preferred_leaders(self, partitions: Collection[PartitionId]) -> Mapping[PartitionId, TopicFailure]:
        """Lets the first replica of each lead; where it does already, nothing happens, and that is no failure.

        Returns:
            Where it does not lead: it is not in sync, say.
        """
        ...

    def sizes(self, topics: Collection[str] | None = None) -> Sizes:
        """Bytes on disk of every replica of these topics, or of all; what does not exist is left out."""
        ...

    def quorum(self) -> Quorum:
        """The controllers."""
        ...

    def add_voter(self, voter: NewVoter) -> None:
        """Lets a controller vote that follows the metadata log and has all of it.

        Raises:
            Refused: one with its id votes already, this disk or another one.
            OutsideUnavailable: it has not caught up, or another change of the voters is under way: ask again.
        """
        ...

    def remove_voter(self, voter: int, directory_id: str) -> None:
        """Takes the vote of the disk that has this directory id, and of no other disk of that controller.

        Raises:
            Refused: it has none, or is the only one that has.
        """
        ...

    def eligible_leaders(self) -> Mapping[PartitionId, frozenset[int]]:
        """Of all partitions the replicas outside of the ISR that may lead all the same (KIP-966).

        Of one that is left out nobody is known to be eligible.
        """
        ...

    def unregister(self, broker: int) -> None:
        """Lets Kafka forget a broker, whatever is on it: who asks has looked. One that is not known is no error.

        Raises:
            Refused: Kafka said no.
        """
        ...

    def features(self) -> Mapping[str, int]:
        """The levels that are finalized, of features that are not at level 0 (KIP-584); empty: it tells of none."""
        ...
