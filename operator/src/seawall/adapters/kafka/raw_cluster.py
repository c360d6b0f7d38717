"""Brokers, partitions, bytes and controllers by kafka-python."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection
from typing import Any

from confluent_kafka import KafkaError
from kafka.protocol.admin import (
    DescribeClusterRequest,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
    DescribeTopicPartitionsRequest,
)
from kafka.protocol.metadata import ApiVersionsRequest

from seawall.adapters.kafka.errors import UNKNOWN_TOPIC, raise_error
from seawall.adapters.kafka.raw import RawKafka, Silence, answered
from seawall.adapters.kafka.topic_answers import failure_of, unanswered
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import id_text
from seawall.domain.kafka_log import TopicFailure
from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId, Quorum, QuorumReplica, Sizes

METADATA_LOG = "__cluster_metadata"
BROKERS = 1
"""The endpoints that DescribeCluster is asked for: brokers and no controllers."""
PARTITIONS = 2000
"""What Kafka tells of at once at the most (max.request.partition.size.limit)."""
WITH_FEATURES = 3
"""The version of ApiVersions from which on it tells of features."""


def brokers(kafka: RawKafka) -> tuple[Broker, ...]:
    """The registered brokers; before Kafka 4.0 only those that are online."""
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=False, endpoint_type=BROKERS, include_fenced_brokers=True
    )
    reported = answered(kafka.ask_any(request))
    raise_error("to describe the cluster", reported.error_code, reported.error_message)
    return tuple(
        Broker(broker.broker_id, broker.rack, BrokerState.FENCED if broker.is_fenced else BrokerState.ONLINE)
        for broker in sorted(reported.brokers, key=lambda broker: int(broker.broker_id))
    )


def partitions(kafka: RawKafka, topics: Collection[str] | None) -> dict[str, tuple[Partition, ...] | TopicFailure]:
    """Metadata of topics, or of all that there are; one that is just being made or deleted is then left out.

    Any other error is told: who asks for all of them relies on it that none is missing.
    """
    reported = answered(kafka.describe_topics(topics))
    found: dict[str, tuple[Partition, ...] | TopicFailure] = {
        topic.name: failure_of(topic.name, KafkaError(topic.error_code)) if topic.error_code else _partitions(topic)
        for topic in reported.topics
        if topics is not None or topic.error_code not in UNKNOWN_TOPIC
    }
    return found | {topic: unanswered(topic, "Kafka left it out") for topic in topics or () if topic not in found}


def _partitions(topic: Any) -> tuple[Partition, ...]:
    return tuple(
        Partition(
            PartitionId(topic.name, partition.partition_index),
            tuple(partition.replica_nodes),
            frozenset(partition.isr_nodes),
            partition.leader_id if partition.leader_id >= 0 else None,
        )
        for partition in sorted(topic.partitions, key=lambda partition: int(partition.partition_index))
    )


def sizes(kafka: RawKafka, topics: Collection[str] | None) -> Sizes:
    """One request to every broker that is alive.

    Raises:
        OutsideUnavailable: none of them answered.
    """
    indexes = None if topics is None else _indexes(kafka, topics)
    reported = kafka.ask({broker: sizes_request(indexes) for broker in kafka.brokers()})
    answers = {broker: answer for broker, answer in reported.items() if not isinstance(answer, Silence)}
    if not answers:
        raise OutsideUnavailable("No broker of Kafka told how large its logs are")
    by_partition: dict[PartitionId, dict[int, int]] = defaultdict(dict)
    for broker, answer in answers.items():
        raise_error("to describe log directories", answer.error_code, None)
        for partition, size in replica_sizes(answer).items():
            by_partition[partition][broker] = size
    return Sizes(dict(by_partition), frozenset(broker for broker, answer in answers.items() if _is_whole(answer)))


def _is_whole(answer: Any) -> bool:
    """Whether a broker told of all its log directories: of one that is offline it tells an error and no replica."""
    return not any(folder.error_code for folder in answer.results)


def replica_sizes(answer: Any) -> dict[PartitionId, int]:
    """Bytes of the replicas of one broker, in all its log directories; one that is moved between two is in both."""
    found: dict[PartitionId, int] = defaultdict(int)
    for folder in answer.results:
        for topic in folder.topics:
            for partition in topic.partitions:
                found[PartitionId(topic.name, partition.partition_index)] += partition.partition_size
    return dict(found)


def _indexes(kafka: RawKafka, topics: Collection[str]) -> dict[str, list[int]]:
    """The partitions that topics have: DescribeLogDirs wants them named."""
    found = partitions(kafka, topics)
    return {
        topic: [partition.id.partition for partition in described]
        for topic, described in found.items()
        if not isinstance(described, TopicFailure)
    }


def sizes_request(indexes: dict[str, list[int]] | None) -> DescribeLogDirsRequest:
    """What brokers are asked: the partitions by topic; None: all that they have."""
    of_topic = DescribeLogDirsRequest.DescribableLogDirTopic
    asked = None if indexes is None else [of_topic(topic=topic, partitions=some) for topic, some in indexes.items()]
    return DescribeLogDirsRequest(topics=asked)


def quorum(kafka: RawKafka) -> Quorum:
    """What the leader of the controllers knows of the others.

    Raises:
        OutsideUnavailable: there is none.
    """
    of_topic = DescribeQuorumRequest.TopicData
    log = of_topic(topic_name=METADATA_LOG, partitions=[of_topic.PartitionData(partition_index=0)])
    reported = answered(kafka.ask_any(DescribeQuorumRequest(topics=[log])))
    raise_error("to describe the quorum", reported.error_code, reported.error_message)
    found = reported.topics[0].partitions[0]
    raise_error("to describe the quorum", found.error_code, found.error_message)
    leader = next((voter for voter in found.current_voters if voter.replica_id == found.leader_id), None)
    if leader is None:
        raise OutsideUnavailable("Kafka's controllers have no leader")
    return Quorum(
        found.leader_id,
        tuple(_quorum_replica(voter, leader) for voter in _by_id(found.current_voters)),
        tuple(_quorum_replica(observer, leader) for observer in _by_id(found.observers)),
    )


def features(kafka: RawKafka) -> dict[str, int]:
    """The levels of the features that are finalized, as some broker knows them."""
    request = ApiVersionsRequest(version=WITH_FEATURES, client_software_name="seawall", client_software_version="1")
    reported = answered(kafka.ask_any(request))
    raise_error("to tell of its features", reported.error_code, None)
    return {found.name: int(found.max_version_level) for found in reported.finalized_features or ()}


def _by_id(replicas: Collection[Any]) -> list[Any]:
    return sorted(replicas, key=lambda replica: int(replica.replica_id))


def _quorum_replica(replica: Any, leader: Any) -> QuorumReplica:
    heard = replica.last_caught_up_timestamp >= 0
    behind = leader.last_caught_up_timestamp - replica.last_caught_up_timestamp if heard else None
    lag = max(0, leader.log_end_offset - max(0, replica.log_end_offset))
    return QuorumReplica(replica.replica_id, lag, behind, _directory_id(replica.replica_directory_id))


def _directory_id(found: uuid.UUID | None) -> str | None:
    """As Kafka writes it; zero is none."""
    if found is None or not found.int:
        return None
    return id_text(found.bytes)


def eligible_leaders(kafka: RawKafka) -> dict[PartitionId, frozenset[int]]:
    """Of all partitions that may be described the eligible leader replicas: they were in sync when they left the ISR.

    The ISR is not among them. Kafka tells it from 4.0 on, in pages. A topic of which it tells an error has no
    partitions in the answer, and none here: nobody is known to be eligible, and a disk sooner counts as the only one.
    """
    found: dict[PartitionId, frozenset[int]] = {}
    names = sorted(topic.name for topic in answered(kafka.describe_topics(None)).topics)
    asked = [DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in names]
    cursor: Any = None
    while asked:
        request = DescribeTopicPartitionsRequest(topics=asked, response_partition_limit=PARTITIONS, cursor=cursor)
        reported = answered(kafka.ask_any(request))
        for topic in reported.topics:
            for partition in topic.partitions:
                eligible = frozenset(partition.eligible_leader_replicas or ())
                found[PartitionId(topic.name, partition.partition_index)] = eligible
        if reported.next_cursor is None:
            break
        following = reported.next_cursor
        asked = [topic for topic in asked if topic.name >= following.topic_name]
        cursor = DescribeTopicPartitionsRequest.Cursor(
            topic_name=following.topic_name, partition_index=following.partition_index
        )
    return found
