"""The peer: the same work by confluent-kafka's AdminClient alone, with nothing declared, checked or reported.

Run as a program it is the peer of a periodic pass, in a process of its own so that its CPU time can be told:
`raw_kafka.py <servers> <prefix>` does one pass for each line on its stdin and answers with `<seconds> <CPU seconds>
<topics>`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, NewTopic, OffsetSpec, ResourceType

TIMEOUT = 300.0
"""Brokers on a busy machine take more than a minute to make the logs of some thousand topics."""
DESCRIBE_BATCH = 500
POLL_SECONDS = 0.05
MAX_RECORDS = 10_000
"""The controller (Kafka 4.3.1) refuses a request that causes more metadata records."""


class RawKafka:
    """One AdminClient."""

    def __init__(self, servers: str) -> None:
        self._client = AdminClient({"bootstrap.servers": servers, "log_level": 0})

    def create(
        self, prefix: str, count: int, replication_factor: int, configs: Mapping[str, str]
    ) -> tuple[float, float]:
        """Creates topics, in as few requests as Kafka takes.

        Returns:
            The seconds until a broker's metadata showed a leader for each, and until each of these leaders answered:
            a broker tells of topics long before it has made their logs.
        """
        started = time.monotonic()
        new = [NewTopic(f"{prefix}_{i}", 1, replication_factor, config=dict(configs)) for i in range(count)]
        size = MAX_RECORDS // records_of_topic(configs)
        for start in range(0, count, size):
            futures = self._client.create_topics(
                new[start : start + size], request_timeout=TIMEOUT, operation_timeout=TIMEOUT
            )
            for future in futures.values():
                future.result(TIMEOUT)
        while (led_topics := self._led(prefix)) < count:
            _check(started, f"{led_topics} of {count} topics have a leader")
            time.sleep(POLL_SECONDS)
        led = time.monotonic() - started
        silent = {f"{prefix}_{i}" for i in range(count)}
        while silent := self._silent(silent):
            _check(started, f"{len(silent)} of {count} leaders do not answer, one is of {min(silent)}")
            time.sleep(POLL_SECONDS)
        return led, time.monotonic() - started

    def delete(self, prefix: str) -> None:
        """Deletes the topics with the prefix and waits until none is left."""
        names = self.topics(prefix)
        if names:
            for future in self._client.delete_topics(
                names, request_timeout=TIMEOUT, operation_timeout=TIMEOUT
            ).values():
                try:
                    future.result(TIMEOUT)
                except KafkaException as error:
                    # The client asks again by itself when an answer was lost: then the topic is gone already.
                    if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                        raise
        started = time.monotonic()
        while left := self.topics(prefix):
            _check(started, f"{len(left)} topics are not deleted")
            time.sleep(POLL_SECONDS)

    def configs(self, topic: str) -> dict[str, str]:
        """The configs that are set on a topic itself."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        entries = self._client.describe_configs([resource], request_timeout=TIMEOUT)[resource].result(TIMEOUT)
        own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        return {name: str(entry.value) for name, entry in entries.items() if entry.source == own}

    def topics(self, prefix: str) -> list[str]:
        """The names of the topics with the prefix."""
        return [name for name in self._client.list_topics(timeout=TIMEOUT).topics if name.startswith(f"{prefix}_")]

    def observe(self, prefix: str) -> int:
        """Reads the metadata of all topics and the configs of those with the prefix; returns their number."""
        names, described = self.topics(prefix), 0
        for start in range(0, len(names), DESCRIBE_BATCH):
            resources = [ConfigResource(ResourceType.TOPIC, name) for name in names[start : start + DESCRIBE_BATCH]]
            for future in self._client.describe_configs(resources, request_timeout=TIMEOUT).values():
                described += bool(future.result(TIMEOUT))
        return described

    def _silent(self, names: Iterable[str]) -> set[str]:
        """Those of the topics whose leader does not tell their last offset yet.

        Metadata are asked for each time: until then librdkafka sends the epoch of a leader that was (ADR 18).
        """
        self._client.list_topics(timeout=TIMEOUT)
        asked = {TopicPartition(name, 0): OffsetSpec.latest() for name in names}  # type: ignore[no-untyped-call]
        futures = self._client.list_offsets(asked, request_timeout=TIMEOUT)
        return {partition.topic for partition, future in futures.items() if future.exception(TIMEOUT) is not None}

    def _led(self, prefix: str) -> int:
        topics = self._client.list_topics(timeout=TIMEOUT).topics
        return sum(
            name.startswith(f"{prefix}_") and bool(topic.partitions) and topic.partitions[0].leader >= 0
            for name, topic in topics.items()
        )


class RawPasses:
    """The program below, as a child process; a pass that does not find so many topics is none."""

    def __init__(self, servers: str, prefix: str, count: int) -> None:
        self._count = count
        self._child = subprocess.Popen(
            [sys.executable, __file__, servers, prefix], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self) -> tuple[float, float]:
        """One pass: its seconds and its CPU seconds."""
        if self._child.stdin is None or self._child.stdout is None:
            raise RuntimeError("the child has no pipes")
        self._child.stdin.write("pass\n")
        self._child.stdin.flush()
        seconds, cpu, described = self._child.stdout.readline().split()
        if int(described) != self._count:
            raise RuntimeError(f"the peer described {described} topics of {self._count}")
        return float(seconds), float(cpu)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.__exit__(kind, error, trace)


def records_of_topic(configs: Mapping[str, str]) -> int:
    """The topic, its partition, each config; min.insync.replicas is two, as it clears eligible leader replicas."""
    return 2 + len(configs) + ("min.insync.replicas" in configs)


def _check(started: float, state: str) -> None:
    if time.monotonic() - started > TIMEOUT:
        raise TimeoutError(f"after {TIMEOUT:g} s, {state}")


def _main(arguments: Sequence[str]) -> None:
    servers, prefix = arguments
    kafka = RawKafka(servers)
    for _ in sys.stdin:
        started, cpu = time.monotonic(), time.process_time()
        described = kafka.observe(prefix)
        print(time.monotonic() - started, time.process_time() - cpu, described, flush=True)


if __name__ == "__main__":
    _main(sys.argv[1:])
