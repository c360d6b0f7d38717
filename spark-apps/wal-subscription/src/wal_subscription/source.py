"""Reads the source's log in whole batches, up to its high watermark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.protocol.consumer import FetchRequest

from sparkjob.errors import Refused
from sparkjob.kafka import Kafka
from sparkjob.wire.connection import NOT_AUTHORIZED, PARTITION, Connection, OtherTopic, name_of, uuid_of
from sparkjob.wire.kafka_state import KafkaState
from wal_subscription.log_batches import LogBatch, split
from wal_subscription.stops import Trouble

_MOST_BYTES = 8 << 20
_ANSWER_SECONDS = 10.0
_WAIT_MILLISECONDS, _UNCOMMITTED, _NO_SESSION = 100, 0, -1
_NAMED_BY_ID = 13
"""From this version on a fetch names topics by their ids: one that was made again gives nothing."""


def connect(options: Mapping[str, str]) -> Connection:
    """To a Kafka that answers soon, or has trouble: there is a next micro-batch."""
    return Connection(options, _ANSWER_SECONDS)


def require_cluster(state: KafkaState, kafka: Kafka) -> None:
    """Refuses another cluster than the request names.

    Raises:
        Refused: it is one.
        Interrupted: it does not answer.
    """
    found = state.cluster_id()
    if found != kafka.cluster_id:
        servers = ",".join(kafka.bootstrap_servers)
        raise Refused(f"the Kafka cluster at {servers} is {found}, not {kafka.cluster_id}")


class LogSource:
    """One topic of a Kafka.

    Attributes:
        start: where its log began when it was fetched last.
    """

    def __init__(self, connection: Connection, topic: str, topic_id: str) -> None:
        self._connection, self._topic, self._id = connection, topic, topic_id
        self.start = 0

    def fetch(self, offset: int) -> list[LogBatch]:
        """Batches from the one on that has this offset, or the first one after it; none: the log ends there.

        Raises:
            Trouble: the log does not have the offset, or cannot be read now.
            Refused: Kafka does not let its user read.
            Damaged: it gave bytes that are no batches.
        """
        request = self._request(offset)
        answer = self._connection.ask(request, self._leader())
        (topic,) = answer.responses or [None]
        if topic is None:
            raise Trouble(f"topic {self._topic} cannot be read: {name_of(answer.error_code)}")
        (found,) = topic.partitions
        if found.error_code in NOT_AUTHORIZED:
            raise Refused(f"the user of Kafka may not read topic {self._topic}: it needs Read and Describe")
        if found.error_code:
            raise Trouble(f"topic {self._topic} cannot be read at offset {offset}: {name_of(found.error_code)}")
        if request.API_VERSION < _NAMED_BY_ID:
            self._leader()  # else what was read may be of a topic that was made again
        self.start = int(found.log_start_offset)
        return list(split(bytes(found.records or b"")))

    def _leader(self) -> int:
        try:
            leader = self._connection.leader(self._topic, self._id)
        except OtherTopic:
            raise Trouble(f"topic {self._topic} was made again") from None
        if isinstance(leader, str):
            raise Trouble(f"topic {self._topic} cannot be read: {leader}")
        return leader

    def _request(self, offset: int) -> Any:
        of_topic = FetchRequest.FetchTopic
        partition = of_topic.FetchPartition(
            partition=PARTITION, fetch_offset=offset, partition_max_bytes=_MOST_BYTES, log_start_offset=-1
        )
        return FetchRequest(
            max_wait_ms=_WAIT_MILLISECONDS,
            min_bytes=1,
            max_bytes=_MOST_BYTES,
            isolation_level=_UNCOMMITTED,
            session_id=0,
            session_epoch=_NO_SESSION,
            topics=[of_topic(topic=self._topic, topic_id=uuid_of(self._id), partitions=[partition])],
            forgotten_topics_data=[],
            rack_id="",
        )
