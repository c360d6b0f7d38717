"""Reassignments and elections by kafka-python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from kafka.errors import ElectionNotNeededError, NoReassignmentInProgressError
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)

from seawall.adapters.kafka_partition_answers import failure_of_partition, raise_error
from seawall.adapters.kafka_raw import RawKafka, answered
from seawall.domain.kafka_log import TopicFailure
from seawall.domain.partitions import PartitionId, Reassigning

PREFERRED = 0
"""The election that ElectLeaders is asked for: never an unclean one."""


def ongoing(kafka: RawKafka, milliseconds: int) -> dict[PartitionId, Reassigning]:
    """Every reassignment of the cluster that is not done."""
    reported = answered(kafka.ask_any(ListPartitionReassignmentsRequest(timeout_ms=milliseconds, topics=None)))
    raise_error("to list reassignments", reported.error_code, reported.error_message)
    return {
        PartitionId(topic.name, partition.partition_index): Reassigning(
            tuple(partition.replicas), frozenset(partition.adding_replicas), frozenset(partition.removing_replicas)
        )
        for topic in reported.topics
        for partition in topic.partitions
    }


def reassign(
    kafka: RawKafka, targets: Mapping[PartitionId, tuple[int, ...] | None], milliseconds: int
) -> dict[PartitionId, TopicFailure]:
    """One request; what Kafka did not accept."""
    of_topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    of_partition = of_topic.ReassignablePartition
    by_topic: dict[str, list[Any]] = defaultdict(list)
    for (topic, index), replicas in targets.items():
        wanted = None if replicas is None else list(replicas)
        by_topic[topic].append(of_partition(partition_index=index, replicas=wanted))
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=milliseconds,
        allow_replication_factor_change=True,
        topics=[of_topic(name=topic, partitions=partitions) for topic, partitions in by_topic.items()],
    )
    reported = answered(kafka.ask_any(request))
    raise_error("to reassign partitions", reported.error_code, reported.error_message)
    return {
        partition: failure_of_partition(partition, answer.error_code, answer.error_message)
        for topic in reported.responses
        for answer in topic.partitions
        if answer.error_code
        and (partition := PartitionId(topic.name, answer.partition_index)) in targets
        and not (targets[partition] is None and answer.error_code == NoReassignmentInProgressError.errno)
    }


def elect_preferred_leaders(
    kafka: RawKafka, partitions: Collection[PartitionId], milliseconds: int
) -> dict[PartitionId, TopicFailure]:
    """One request; where the preferred leader does not lead."""
    by_topic: dict[str, list[int]] = defaultdict(list)
    for topic, index in dict.fromkeys(partitions):
        by_topic[topic].append(index)
    asked = ElectLeadersRequest.TopicPartitions
    request = ElectLeadersRequest(
        election_type=PREFERRED,
        topic_partitions=[asked(topic=topic, partitions=indexes) for topic, indexes in by_topic.items()],
        timeout_ms=milliseconds,
    )
    reported = answered(kafka.ask_any(request))
    raise_error("to elect preferred leaders", reported.error_code, None)
    return {
        partition: failure_of_partition(partition, answer.error_code, answer.error_message)
        for topic in reported.replica_election_results
        for answer in topic.partition_result
        if answer.error_code not in {0, ElectionNotNeededError.errno}
        and (partition := PartitionId(topic.topic, answer.partition_id))
    }
