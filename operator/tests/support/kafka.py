"""Kafka as any client sees it, independent of the operator's adapter."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    OffsetSpec,
    ResourceType,
    TopicMetadata,
)

from seawall.domain.kafka_log import DescribedTopic
from seawall.ports import KafkaLogs
from seawall_e2e.in_pod import topics_of
from seawall_e2e.loopback.java import SMALL_AND_QUICK, kafka_jars
from seawall_e2e.waiting import wait_until

TIMEOUT = 30.0
TOOL_SECONDS = 120.0
BATCH = 200


def is_unknown_topic(error: KafkaException) -> bool:
    """Whether the broker that was asked does not know the topic: it has not heard of it yet, or of its end already."""
    return bool(error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART)


def topic_ids(logs: KafkaLogs, names: Sequence[str]) -> dict[str, str]:
    """The ids of topics, by name, as soon as the broker that is asked knows them all."""

    def ids() -> dict[str, str] | None:
        found = logs.describe_topics(names)
        known = {name: told.topic_id for name, told in found.items() if isinstance(told, DescribedTopic)}
        return known if len(known) == len(names) else None

    known = wait_until(ids, f"the ids of {names} are known")
    assert known is not None
    return known


class KafkaEyes:
    """Looks at topics and meddles with them.

    Args:
        timeout: of a look at offsets; what is asked of a broker that dies is not asked of another one before.
    """

    def __init__(self, servers: Sequence[str], timeout: float = TIMEOUT) -> None:
        # Without sparse connections: else a request for a broker that is down takes a processor.
        options = {"enable.sparse.connections": False, "reconnect.backoff.max.ms": 2_000, "log_level": 0}
        self._client = AdminClient({"bootstrap.servers": ",".join(servers), **options})
        self._timeout = timeout

    def topics(self, prefix: str) -> dict[str, TopicMetadata]:
        """The topics whose name starts with the prefix, by name, as one of the brokers knows them."""
        try:
            return topics_of(self._client, prefix)
        finally:
            self._client.poll(0)

    def configs(self, *topics: str) -> dict[str, dict[str, str]]:
        """The configs set on each topic itself."""
        found: dict[str, dict[str, str]] = {}
        for start in range(0, len(topics), BATCH):
            resources = [ConfigResource(ResourceType.TOPIC, name) for name in topics[start : start + BATCH]]
            for resource, future in self._client.describe_configs(resources, request_timeout=TIMEOUT).items():
                own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
                entries = future.result(TIMEOUT)
                found[resource.name] = {name: str(e.value) for name, e in entries.items() if e.source == own}
        return found

    def config(self, topic: str) -> dict[str, str]:
        """The configs set on one topic itself."""
        return self.configs(topic)[topic]

    def configs_if_known(self, topic: str) -> dict[str, str] | None:
        """The configs set on one topic; None while the broker that is asked does not know it."""
        try:
            return self.config(topic)
        except KafkaException as error:
            if is_unknown_topic(error):
                return None
            raise

    def create(
        self,
        name: str,
        configs: Mapping[str, str] | None = None,
        *,
        partitions: int = 1,
        replication_factor: int = 3,
    ) -> None:
        """Creates a topic as somebody else would, and waits until it has leaders."""
        new = NewTopic(name, partitions, replication_factor, config=dict(configs or {}))
        self._client.create_topics([new], request_timeout=TIMEOUT)[name].result(TIMEOUT)
        wait_until(lambda: self._is_led(name), f"topic {name} has leaders")

    def alter(self, topic: str, changes: Mapping[str, str | None]) -> None:
        """Sets configs behind the operator's back; None resets."""
        set_, reset = AlterConfigOpType.SET, AlterConfigOpType.DELETE
        entries = [
            ConfigEntry(key, value, incremental_operation=reset if value is None else set_)
            for key, value in changes.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        self._client.incremental_alter_configs([resource], request_timeout=TIMEOUT)[resource].result(TIMEOUT)

    def delete(self, prefix: str) -> None:
        """Deletes the topics with the prefix, if there are any."""
        names = list(self.topics(prefix))
        if names:
            for future in self._client.delete_topics(names, request_timeout=TIMEOUT).values():
                try:
                    future.result(TIMEOUT)
                except KafkaException as error:  # somebody has deleted it, of which one broker had not heard
                    if not is_unknown_topic(error):
                        raise

    def _is_led(self, name: str) -> bool:
        topic = self.topics(name).get(name)
        return topic is not None and all(part.leader >= 0 for part in topic.partitions.values())

    def log_starts(self, prefix: str) -> dict[str, int]:
        """Where the logs of the topics with the prefix start."""
        return self._offsets(prefix, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    def log_ends(self, prefix: str) -> dict[str, int]:
        """Where they end."""
        return self._offsets(prefix, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    def _offsets(self, prefix: str, which: OffsetSpec) -> dict[str, int]:
        asked = {TopicPartition(name, 0): which for name in self.topics(prefix)}
        answers = self._client.list_offsets(asked, request_timeout=self._timeout)
        return {partition.topic: future.result(self._timeout).offset for partition, future in answers.items()}

    def delete_records(self, before: Mapping[str, int]) -> None:
        """Deletes the records before these offsets, as a tool of somebody else does."""
        asked = [TopicPartition(name, 0, offset) for name, offset in before.items()]
        for future in self._client.delete_records(asked, request_timeout=TIMEOUT).values():
            future.result(TIMEOUT)


def kafka_tool(main: str, *arguments: str | Path) -> str:
    """What a tool of Kafka prints."""
    class_path = f"{kafka_jars()[0].parent}/*"
    command = ["java", *SMALL_AND_QUICK, "-cp", class_path, main, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=TOOL_SECONDS).stdout  # noqa: S603 - Kafka's
