"""Between confluent-kafka's types and the domain's."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka.admin import (
    AlterConfigOpType,
    ClusterMetadata,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
    TopicMetadata,
)

from seawall.domain.kafka import Configs, KafkaConnection, KafkaView, NoKafka, Topic, Unreachable
from seawall.domain.topics.actions import ConfigChange


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
