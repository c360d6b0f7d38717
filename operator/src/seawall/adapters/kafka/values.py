"""Between confluent-kafka's types and the domain's."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka.admin import (
    AlterConfigOpType,
    ClusterMetadata,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ListOffsetsResultInfo,
    ResourceType,
    TopicDescription,
    TopicMetadata,
)

from seawall.domain.kafka import ConfigChange, Configs, KafkaConnection, KafkaView, NoKafka, Topic, Unreachable
from seawall.domain.kafka_log import DescribedTopic, LogOffsets, TopicFailure, TopicTrouble

NO_ID = "A" * 22
"""What a broker says that knows no ids."""
_URL_SAFE = str.maketrans("+/", "-_")


def view_of(connection: KafkaConnection, metadata: ClusterMetadata) -> KafkaView | NoKafka:
    """The metadata as a view; a topic without partitions is not there yet, or not any more."""
    if metadata.cluster_id is None:
        message = f"Kafka at {connection.bootstrap_servers[0]} tells no cluster id: it is too old."
        return NoKafka(Unreachable.NOT_ANSWERING, message)
    topics = {name: _topic(name, topic) for name, topic in metadata.topics.items() if 0 in topic.partitions}
    return KafkaView(cluster_id=metadata.cluster_id, online=frozenset(metadata.brokers), topics=topics)


def _topic(name: str, topic: TopicMetadata) -> Topic:
    first = topic.partitions[0]
    return Topic(
        name=name,
        partitions=len(topic.partitions),
        replicas=tuple(first.replicas),
        isr=tuple(first.isrs),
        leader=first.leader if first.leader >= 0 else None,
    )


def described_topic_of(name: str, description: TopicDescription) -> DescribedTopic | TopicFailure:
    """The description; a topic whose id or partition 0 is not told is as good as not described."""
    first = next((partition for partition in description.partitions if partition.id == 0), None)
    # librdkafka writes ids in the standard alphabet of base64, Kafka in the one for URLs.
    topic_id = str(description.topic_id).translate(_URL_SAFE)
    if first is None or topic_id == NO_ID:
        return TopicFailure(TopicTrouble.UNANSWERED, f"Kafka did not tell the id or the partition of topic {name}")
    topic = Topic(
        name=name,
        partitions=len(description.partitions),
        replicas=tuple(node.id for node in first.replicas),
        isr=tuple(node.id for node in first.isr),
        leader=first.leader.id if first.leader is not None and first.leader.id >= 0 else None,
    )
    return DescribedTopic(topic_id, topic)


def log_offsets_of(
    topic: str, start: ListOffsetsResultInfo | TopicFailure, end: ListOffsetsResultInfo | TopicFailure
) -> LogOffsets | TopicFailure:
    """Both ends of a log; they were read one after the other, and it may have become another log between."""
    if isinstance(start, TopicFailure):
        return start
    if isinstance(end, TopicFailure):
        return end
    if end.leader_epoch is None or end.offset < start.offset:
        return TopicFailure(TopicTrouble.UNANSWERED, f"The log of topic {topic} changed while it was looked at")
    return LogOffsets(start.offset, end.offset, end.leader_epoch)


def overrides_of(entries: Mapping[str, ConfigEntry]) -> Configs:
    """What is set on the topic itself, of all its configs."""
    # The client types the source as an enum and gives its number; making 40,000 enum members takes a while.
    own: object = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {name: entry.value or "" for name, entry in entries.items() if entry.source == own}


def alteration_of(change: ConfigChange) -> ConfigResource:
    """The change as an incremental alteration."""
    sets = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in change.set.items()]
    resets = [ConfigEntry(name, None, incremental_operation=AlterConfigOpType.DELETE) for name in change.reset]
    return ConfigResource(ResourceType.TOPIC, change.topic, incremental_configs=[*sets, *resets])
