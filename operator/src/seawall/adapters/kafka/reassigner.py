"""Where partitions are, and how they are moved, by kafka-python: the port `PartitionReassigner`.

Every question has connections of its own (see `kafka_raw`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from seawall.adapters.kafka import raw_cluster, raw_reassignments
from seawall.adapters.kafka.raw import RawKafka, connected
from seawall.adapters.kafka.raw_unregister import unregister
from seawall.adapters.kafka.raw_voters import add_voter, remove_voter
from seawall.adapters.kafka.shared_answers import SharedAnswers
from seawall.adapters.kafka.topic_answers import DESCRIBE_LOGS, WRITE_RECORDS, batches, refused_names
from seawall.domain.kafka import KafkaConnection
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

_AnswerT = TypeVar("_AnswerT")

THROTTLED_TOPICS = WRITE_RECORDS // 2
"""Two records for each topic."""


class RawReassigner:
    """The partitions of one Kafka cluster; any number of threads may use it at once.

    What is the same for all who ask is asked for once for those who do so at the same time.

    Args:
        connection: the cluster.
        request_timeout: seconds that one call of the port may take.
    """

    def __init__(self, connection: KafkaConnection, *, request_timeout: float) -> None:
        self._connection = connection
        self._request_timeout = request_timeout
        self._answered_before: str | None = None
        self._brokers = SharedAnswers(lambda: self._ask(raw_cluster.brokers))
        self._ongoing = SharedAnswers(self._list_ongoing)
        self._rates = SharedAnswers(lambda: self._ask(raw_reassignments.rates))

    def brokers(self) -> tuple[Broker, ...]:
        """The registered brokers by id."""
        return self._brokers.get()

    def partitions(self, topics: Collection[str] | None = None) -> Mapping[str, tuple[Partition, ...] | TopicFailure]:
        """All partitions of each topic, or of all topics that may be described."""
        if topics is None:
            return self._ask(lambda kafka: raw_cluster.partitions(kafka, None))
        return self._about(topics, raw_cluster.partitions)

    def min_insync_replicas(self, topics: Collection[str]) -> Mapping[str, int | TopicFailure]:
        """What is in force for each topic."""
        return self._about(topics, raw_reassignments.min_insync_replicas)

    def ongoing(self) -> Mapping[PartitionId, Reassigning]:
        """Every reassignment of the cluster that is not done."""
        return self._ongoing.get()

    def reassign(self, targets: Mapping[PartitionId, tuple[int, ...] | None]) -> Mapping[PartitionId, TopicFailure]:
        """Gives each partition these replicas; None cancels."""
        if not targets:
            return {}
        return self._ask(lambda kafka: raw_reassignments.reassign(kafka, targets, self._milliseconds))

    def throttles(self, topics: Collection[str]) -> Throttles:
        """The rates in force, and what of these topics they apply to."""
        if not topics:
            return Throttles(*self._rates.get())

        def ask(kafka: RawKafka) -> Throttles:
            throttled: dict[str, ThrottledReplicas] = {}
            for batch in batches(_possible(topics), DESCRIBE_LOGS):
                throttled |= raw_reassignments.throttled(kafka, batch)
            rates, by_broker = raw_reassignments.rates(kafka)
            return Throttles(rates, by_broker, throttled)

        return self._ask(ask)

    def alter_throttles(self, rates: Rates | None, replicas: Mapping[str, ThrottledReplicas]) -> None:
        """Sets the rates of all brokers, and what of these topics they apply to."""

        def ask(kafka: RawKafka) -> None:
            if rates is not None:
                raw_reassignments.set_rates(kafka, rates)
            for batch in batches(sorted(replicas), THROTTLED_TOPICS):
                raw_reassignments.set_throttled(kafka, {topic: replicas[topic] for topic in batch})

        self._ask(ask)

    def elect_preferred_leaders(self, partitions: Collection[PartitionId]) -> Mapping[PartitionId, TopicFailure]:
        """Lets the first replica of each lead."""
        if not partitions:
            return {}
        return self._ask(lambda kafka: raw_reassignments.elect_preferred_leaders(kafka, partitions, self._milliseconds))

    def sizes(self, topics: Collection[str] | None = None) -> Sizes:
        """Bytes on disk of every replica."""
        return self._ask(lambda kafka: raw_cluster.sizes(kafka, topics))

    def quorum(self) -> Quorum:
        """The controllers."""
        return self._ask(raw_cluster.quorum)

    def eligible_leaders(self) -> Mapping[PartitionId, frozenset[int]]:
        """The eligible leader replicas of all partitions that may be described."""
        return self._ask(raw_cluster.eligible_leaders)

    def unregister(self, broker: int) -> None:
        """Lets Kafka forget a broker."""
        self._ask(lambda kafka: unregister(kafka, broker))

    def add_voter(self, voter: NewVoter) -> None:
        """Lets a controller vote. Kafka gets less time for it than the call has, so that its answer comes."""
        self._ask(lambda kafka: add_voter(kafka, voter, self._milliseconds // 2))

    def remove_voter(self, voter: int, directory_id: str) -> None:
        """Takes the vote of a controller's disk."""
        self._ask(lambda kafka: remove_voter(kafka, voter, directory_id))

    def features(self) -> Mapping[str, int]:
        """The levels that are finalized."""
        return self._ask(raw_cluster.features)

    def _list_ongoing(self) -> Mapping[PartitionId, Reassigning]:
        return self._ask(lambda kafka: raw_reassignments.ongoing(kafka, self._milliseconds))

    @property
    def _milliseconds(self) -> int:
        return int(self._request_timeout * 1000)

    def _ask(self, ask: Callable[[RawKafka], _AnswerT]) -> _AnswerT:
        """One question, by connections that end with it.

        Raises:
            OutsideUnavailable: nobody answered.
            Refused: Kafka said no.
        """
        with connected(self._connection, self._request_timeout, self._answered_before) as kafka:
            self._answered_before = kafka.server
            return ask(kafka)

    def _about(
        self, topics: Collection[str], ask: Callable[[RawKafka, Sequence[str]], Mapping[str, Any]]
    ) -> dict[str, Any]:
        """One question in batches about topics; those with impossible names are not asked about."""
        possible = _possible(topics)

        def ask_all(kafka: RawKafka) -> dict[str, Any]:
            answers: dict[str, Any] = {}
            for batch in batches(possible, DESCRIBE_LOGS):
                answers |= ask(kafka, batch)
            return answers

        return {**refused_names(topics), **(self._ask(ask_all) if possible else {})}


def _possible(topics: Collection[str]) -> list[str]:
    refused = refused_names(topics)
    return [topic for topic in dict.fromkeys(topics) if topic not in refused]
