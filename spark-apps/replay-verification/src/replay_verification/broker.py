"""What Kafka says of topics, by the Java client that Spark's connector brings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from replay_verification.coverage import LAST_TIME, LogState
from sparkjob.errors import Interrupted, Refused
from sparkjob.session import java_of, sentence_of

_SECONDS = 30
_MISSING = "UnknownTopicOrPartitionException"


class Broker:
    """An admin client. Every answer has a deadline."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        self._java = java_of(spark)
        properties = self._java.java.util.Properties()
        deadline = str(_SECONDS * 1000)
        for name, value in {**options, "default.api.timeout.ms": deadline, "request.timeout.ms": deadline}.items():
            properties.setProperty(name, value)
        try:
            self._client = self._java.org.apache.kafka.clients.admin.AdminClient.create(properties)
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
            bad_time = late[name] if late[name] >= 0 else None
            found[name] = LogState(topic_id, starts[name], ends[name], stable[name], partitions, bad_time)
        return found

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

    def _offsets(self, topics: Iterable[str], which: Any, isolation: str) -> dict[str, int]:
        """Topic → what is asked of its partition 0; -1 is Kafka's word for no such offset."""
        kafka = self._java.org.apache.kafka
        asked, partitions = self._java.java.util.HashMap(), {}
        for name in topics:
            partitions[name] = kafka.common.TopicPartition(name, 0)
            asked.put(partitions[name], which)
        level = getattr(kafka.common.IsolationLevel, isolation)
        answer = self._client.listOffsets(asked, kafka.clients.admin.ListOffsetsOptions(level))
        found = ((name, self._get(answer.partitionResult(partition))) for name, partition in partitions.items())
        return {name: int(offset.offset()) for name, offset in found if offset is not None}

    def _get(self, future: Any) -> Any:
        """An answer; None when there is no such topic."""
        try:
            return future.get(_SECONDS, self._java.java.util.concurrent.TimeUnit.SECONDS)
        except Py4JJavaError as error:
            said = sentence_of(error)
            if said.startswith(_MISSING):
                return None
            raise Interrupted(f"Kafka does not say what is asked: {said}") from None
