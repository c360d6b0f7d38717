"""What only kafka-python can ask about logs: where epochs end, and bytes on disk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, TypeVar

from confluent_kafka import KafkaError
from kafka.protocol.consumer import OffsetForLeaderEpochRequest

from seawall.adapters.kafka.raw import RawKafka, Silence, connect
from seawall.adapters.kafka.raw_cluster import replica_sizes, sizes_request
from seawall.adapters.kafka.topic_answers import failure_of, refused_names, unanswered
from seawall.domain.kafka import KafkaConnection
from seawall.domain.kafka_log import AskedEpoch, EpochEnd, EpochUnknown, LogSizes, TopicFailure

FoundT = TypeVar("FoundT")

CONSUMER = -1
"""The replica id of those that are none: Kafka then asks for the right to describe the topic, not the cluster."""
WAL_PARTITION = 0
"""A WAL topic has no other."""


def describe_epoch_ends(
    connection: KafkaConnection, epochs: Mapping[str, AskedEpoch], seconds: float
) -> dict[str, EpochEnd | EpochUnknown | TopicFailure]:
    """By topic where an epoch ended. Who is taken for the leader may be one that was replaced: the epoch says so."""

    def read(reported: Any) -> dict[str, EpochEnd | EpochUnknown | TopicFailure]:
        return {result.topic: _epoch_end(result.topic, result.partitions[0]) for result in reported.topics}

    return ask_leaders(connection, epochs, seconds, partial(_epochs_request, epochs), read)


def ask_leaders(
    connection: KafkaConnection,
    topics: Collection[str],
    seconds: float,
    request_of: Callable[[Collection[str]], Any],
    read: Callable[[Any], Mapping[str, FoundT]],
) -> dict[str, FoundT | TopicFailure]:
    """One request for the leaders of all topics, and one to each leader: `request_of` makes it, `read` the answers."""
    answers: dict[str, FoundT | TopicFailure] = {**refused_names(topics)}
    asked = [topic for topic in topics if topic not in answers]
    if not asked:
        return answers
    kafka = connect(connection, seconds)
    if isinstance(kafka, Silence):
        return answers | {topic: unanswered(topic, kafka.why) for topic in asked}
    with kafka:
        by_leader: dict[int, list[str]] = defaultdict(list)
        for topic, leader in leaders_of(kafka, asked).items():
            if isinstance(leader, TopicFailure):
                answers[topic] = leader
            else:
                by_leader[leader].append(topic)
        reported = kafka.ask({leader: request_of(names) for leader, names in by_leader.items()})
    for leader, names in by_leader.items():
        answer = reported[leader]
        silence = answer.why if isinstance(answer, Silence) else "its leader left it out"
        found: Mapping[str, FoundT] = {} if isinstance(answer, Silence) else read(answer)
        answers |= {topic: found.get(topic, unanswered(topic, silence)) for topic in names}
    return answers


def leaders_of(kafka: RawKafka, topics: Collection[str]) -> dict[str, int | TopicFailure]:
    """By topic its leader, or why there is none."""
    metadata = kafka.describe_topics(topics)
    if isinstance(metadata, Silence):
        return {topic: unanswered(topic, metadata.why) for topic in topics}
    found = {described.name: _leader_of(described) for described in metadata.topics}
    return {topic: found.get(topic, unanswered(topic, "Kafka left it out")) for topic in topics}


def describe_sizes(
    connection: KafkaConnection, topics: Collection[str], seconds: float
) -> dict[str, LogSizes | TopicFailure]:
    """One request to every broker, and one more when none of them has a topic."""
    answers: dict[str, LogSizes | TopicFailure] = {**refused_names(topics)}
    asked = [topic for topic in topics if topic not in answers]
    if not asked:
        return answers
    kafka = connect(connection, seconds)
    if isinstance(kafka, Silence):
        return answers | {topic: unanswered(topic, kafka.why) for topic in asked}
    with kafka:
        of_asked = {topic: [WAL_PARTITION] for topic in asked}
        reported = kafka.ask({broker: sizes_request(of_asked) for broker in kafka.brokers()})
        by_topic: dict[str, dict[int, int]] = defaultdict(dict)
        for broker, answer in reported.items():
            found = {} if isinstance(answer, Silence) else replica_sizes(answer)
            for partition, size in found.items():
                by_topic[partition.topic][broker] = size
        missing = [topic for topic in asked if topic not in by_topic]
        metadata = kafka.describe_topics(missing) if missing else None
    answers |= {topic: LogSizes(sizes) for topic, sizes in by_topic.items()}
    for topic in missing:
        answers[topic] = _why_no_size(reported, topic) or unanswered(topic, "no broker that is alive has a replica")
    return answers | _not_there(metadata)


def _leader_of(described: Any) -> int | TopicFailure:
    """The leader of a topic in Kafka's metadata, or why there is none."""
    if described.error_code:
        return failure_of(described.name, KafkaError(described.error_code))
    first = next((partition for partition in described.partitions if partition.partition_index == 0), None)
    if first is None or first.leader_id < 0:
        return failure_of(described.name, KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
    return int(first.leader_id)


def _epochs_request(epochs: Mapping[str, AskedEpoch], topics: Collection[str]) -> OffsetForLeaderEpochRequest:
    of_topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    of_partition = of_topic.OffsetForLeaderPartition

    def asked(epoch: int, current: int) -> Any:
        return of_partition(partition=WAL_PARTITION, current_leader_epoch=current, leader_epoch=epoch)

    return OffsetForLeaderEpochRequest(
        replica_id=CONSUMER,
        topics=[of_topic(topic=topic, partitions=[asked(*epochs[topic])]) for topic in topics],
    )


def _epoch_end(topic: str, end: Any) -> EpochEnd | EpochUnknown | TopicFailure:
    if end.error_code:
        return failure_of(topic, KafkaError(end.error_code))
    if end.leader_epoch < 0 or end.end_offset < 0:
        return EpochUnknown()
    return EpochEnd(end.leader_epoch, end.end_offset)


def _why_no_size(reported: Mapping[int, Any], topic: str) -> TopicFailure | None:
    """What a broker said instead of sizes; None when all of them told what they have."""
    for answer in reported.values():
        if isinstance(answer, Silence):
            return unanswered(topic, answer.why)
        codes = [answer.error_code, *(folder.error_code for folder in answer.results)]
        if refused := next((code for code in codes if code), None):
            return failure_of(topic, KafkaError(refused))
    return None


def _not_there(metadata: Any) -> dict[str, TopicFailure]:
    """The topics that do not exist, of those that a broker was asked about, if it answered."""
    if metadata is None or isinstance(metadata, Silence):
        return {}
    return {
        described.name: failure_of(described.name, KafkaError(described.error_code))
        for described in metadata.topics
        if described.error_code
    }
