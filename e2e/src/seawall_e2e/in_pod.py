"""What the toolbox pod runs: Kafka as any client sees it. Prints JSON. It is piped to `python -`, so it stands alone.

python - describe PREFIX          the topics with this prefix: partitions, replicas, configs set on the topic itself
python - alter TOPIC KEY VALUE    sets a config behind the operator's back
python - under_replicated PREFIX  the topics with this prefix of which a replica is not in sync
python - offsets PREFIX           log start and high watermark of the topics with this prefix
python - delete PREFIX            deletes the topics with this prefix; prints their names
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    OffsetSpec,
    ResourceType,
)

TIMEOUT = 20.0


def describe(kafka: AdminClient, prefix: str) -> dict[str, Any]:
    """The topics with a prefix."""
    found = {
        name: topic for name, topic in kafka.list_topics(timeout=TIMEOUT).topics.items() if name.startswith(prefix)
    }
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in found]
    described = kafka.describe_configs(resources, request_timeout=TIMEOUT) if resources else {}
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    configs = {
        resource.name: {key: entry.value for key, entry in future.result(TIMEOUT).items() if entry.source == own}
        for resource, future in described.items()
    }
    return {
        name: {
            "partitions": len(topic.partitions),
            "replicas": {str(number): partition.replicas for number, partition in topic.partitions.items()},
            "configs": configs[name],
        }
        for name, topic in found.items()
    }


def under_replicated(kafka: AdminClient, prefix: str) -> list[str]:
    """The topics with a prefix of which some replica is not in sync, or which have no leader."""
    return [
        name
        for name, topic in kafka.list_topics(timeout=TIMEOUT).topics.items()
        if name.startswith(prefix)
        and any(each.leader < 0 or len(each.isrs) < len(each.replicas) for each in topic.partitions.values())
    ]


def alter(kafka: AdminClient, topic: str, key: str, value: str) -> None:
    """Sets a config."""
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    kafka.incremental_alter_configs([resource], request_timeout=TIMEOUT)[resource].result(TIMEOUT)


def offsets(kafka: AdminClient, prefix: str) -> dict[str, list[int]]:
    """Topic → log start and high watermark of its partition 0."""
    names = [name for name in kafka.list_topics(timeout=TIMEOUT).topics if name.startswith(prefix)]
    bounds = [
        {
            asked.topic: future.result(TIMEOUT).offset
            for asked, future in kafka.list_offsets(
                {TopicPartition(name, 0): spec for name in names}, request_timeout=TIMEOUT
            ).items()
        }
        for spec in (OffsetSpec.earliest(), OffsetSpec.latest())  # type: ignore[no-untyped-call]
    ]
    return {name: [bound[name] for bound in bounds] for name in names}


def delete(kafka: AdminClient, prefix: str) -> list[str]:
    """Deletes the topics with a prefix."""
    names = [name for name in kafka.list_topics(timeout=TIMEOUT).topics if name.startswith(prefix)]
    for future in (kafka.delete_topics(names, request_timeout=TIMEOUT) if names else {}).values():
        future.result(TIMEOUT)
    return names


def main() -> None:
    """Runs one command."""
    known: tuple[Callable[..., object], ...] = (describe, under_replicated, alter, offsets, delete)
    verbs = {each.__name__: each for each in known}
    verb, *words = sys.argv[1:]
    print(json.dumps(verbs[verb](AdminClient({"bootstrap.servers": os.environ["BOOTSTRAP_SERVERS"]}), *words)))


if __name__ == "__main__":
    main()
