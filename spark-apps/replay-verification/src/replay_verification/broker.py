"""What Kafka says of topics, by the Java client that Spark's connector brings."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from replay_verification.coverage import LAST_TIME, Extent, LogState
from sparkjob.errors import Interrupted, Refused
from sparkjob.session import java_of, sentence_of

_SECONDS = 30
_MISSING = "UnknownTopicOrPartitionException"
_POLL_MILLISECONDS = 200
_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_OF_CONSUMER = {
    "key.deserializer": _BYTES,
    "value.deserializer": _BYTES,
    "enable.auto.commit": "false",
    "auto.offset.reset": "none",
    "max.partition.fetch.bytes": "1",  # one batch comes all the same
}


class Broker:
    """An admin client. Every answer has a deadline."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        self._java = java_of(spark)
        deadline = str(_SECONDS * 1000)
        self._options = {**options, "default.api.timeout.ms": deadline, "request.timeout.ms": deadline}
        try:
            self._client = self._java.org.apache.kafka.clients.admin.AdminClient.create(self._properties())
        except Py4JJavaError as error:
            raise Refused(f"Kafka's client cannot be made: {sentence_of(error)}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close(self._java.java.time.Duration.ofSeconds(0))

    def cluster_id(self) -> str:
        """Kafka's id of the cluster.

        Raises:
            Interrupted: Kafka does not answer.
        """
        return str(self._get(self._client.describeCluster().clusterId()))

    def states(self, topics: Iterable[str]) -> dict[str, LogState]:
        """What Kafka says of each topic; what does not exist is left out.

        Raises:
            Interrupted: Kafka does not answer.
        """
        known = self._described(topics)
        which = self._java.org.apache.kafka.clients.admin.OffsetSpec
        starts = self._offsets(known, which.earliest(), "READ_UNCOMMITTED")
        ends = self._offsets(known, which.latest(), "READ_UNCOMMITTED")
        stable = self._offsets(known, which.latest(), "READ_COMMITTED")
        late = self._offsets(known, which.forTimestamp(LAST_TIME + 1), "READ_UNCOMMITTED")
        found = {}
        for name in starts.keys() & ends.keys() & stable.keys() & late.keys():  # one may be deleted meanwhile
            topic_id, partitions = known[name]
            first_late, _ = late[name]
            bad_time = first_late if first_late >= 0 else None
            (start, _), (end, epoch), (stable_end, _) = starts[name], ends[name], stable[name]
            found[name] = LogState(topic_id, start, end, stable_end, partitions, bad_time, epoch)
        return found

    def last_epochs(self, extents: Iterable[Extent]) -> dict[Extent, int]:
        """The leader epochs of their last records.

        Raises:
            Interrupted: Kafka does not give one, or there is none: when nobody else leads meanwhile, it is not needed.
        """
        wanted = list(extents)
        if not wanted:
            return {}
        consumer = self._java.org.apache.kafka.clients.consumer.KafkaConsumer(self._properties(_OF_CONSUMER))
        try:
            return {extent: self._last_epoch(consumer, extent) for extent in wanted}
        except Py4JJavaError as error:
            raise Interrupted(f"Kafka does not give the last records that were read: {sentence_of(error)}") from None
        finally:
            consumer.close(self._java.java.time.Duration.ofSeconds(0))

    def _last_epoch(self, consumer: Any, extent: Extent) -> int:
        partition, partitions = self._partition(extent.topic), self._java.java.util.ArrayList()
        partitions.add(partition)
        consumer.assign(partitions)
        consumer.seek(partition, extent.end - 1)
        give_up = time.monotonic() + _SECONDS
        while time.monotonic() < give_up:
            for record in consumer.poll(self._java.java.time.Duration.ofMillis(_POLL_MILLISECONDS)).records(partition):
                if record.offset() == extent.end - 1 and record.leaderEpoch().isPresent():
                    return int(record.leaderEpoch().get())
            if consumer.position(partition) >= extent.end:
                break
        raise Interrupted(
            f"topic {extent.topic} has another leader than before it was read, and does not give its record at offset "
            f"{extent.end - 1}: whether the log is the same is not known"
        )

    def _properties(self, more: Mapping[str, str] | None = None) -> Any:
        properties = self._java.java.util.Properties()
        for name, value in {**self._options, **(more or {})}.items():
            properties.setProperty(name, value)
        return properties

    def _partition(self, topic: str) -> Any:
        return self._java.org.apache.kafka.common.TopicPartition(topic, 0)

    def _described(self, topics: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Topic → id and number of partitions."""
        names = self._java.java.util.ArrayList()
        for name in topics:
            names.add(name)
        futures = self._client.describeTopics(names).topicNameValues()
        found = ((name, self._get(futures.get(name))) for name in names)
        return {
            str(name): (str(about.topicId()), int(about.partitions().size()))
            for name, about in found
            if about is not None
        }

    def _offsets(self, topics: Iterable[str], which: Any, isolation: str) -> dict[str, tuple[int, int | None]]:
        """Topic → what is asked of its partition 0, and its leader epoch; -1 is Kafka's word for no such offset."""
        kafka = self._java.org.apache.kafka
        asked, partitions = self._java.java.util.HashMap(), {}
        for name in topics:
            partitions[name] = self._partition(name)
            asked.put(partitions[name], which)
        level = getattr(kafka.common.IsolationLevel, isolation)
        answer = self._client.listOffsets(asked, kafka.clients.admin.ListOffsetsOptions(level))
        found = ((name, self._get(answer.partitionResult(partition))) for name, partition in partitions.items())
        return {name: _place(offset) for name, offset in found if offset is not None}

    def _get(self, future: Any) -> Any:
        """An answer; None when there is no such topic."""
        try:
            return future.get(_SECONDS, self._java.java.util.concurrent.TimeUnit.SECONDS)
        except Py4JJavaError as error:
            said = sentence_of(error)
            if said.startswith(_MISSING):
                return None
            raise Interrupted(f"Kafka does not say what is asked: {said}") from None


def _place(found: Any) -> tuple[int, int | None]:
    epoch = found.leaderEpoch()
    return int(found.offset()), int(epoch.get()) if epoch.isPresent() else None
