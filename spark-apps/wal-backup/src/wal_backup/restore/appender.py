"""Appends batches to a topic that has one id, each at the offset where it must be."""

from __future__ import annotations

import base64
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self

from kafka.errors import KafkaError, for_code
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest

from sparkjob.errors import Interrupted
from wal_backup.restore.batches import Batch, Producer, to_bytes
from wal_backup.restore.raw_options import raw_options

logging.getLogger("kafka").setLevel(logging.CRITICAL)  # its debug messages have passwords in them

PATIENCE_SECONDS = 60.0
"""So long one batch may wait for a leader, or for replicas in sync."""
_ANSWER_SECONDS = 30.0
_PAUSE_SECONDS = 0.2
_PARTITION, _ALL_IN_SYNC = 0, -1
_PASSING = frozenset(
    {
        3,  # UNKNOWN_TOPIC_OR_PARTITION: a broker that has not heard of the topic yet
        5,  # LEADER_NOT_AVAILABLE
        6,  # NOT_LEADER_OR_FOLLOWER
        7,  # REQUEST_TIMED_OUT
        13,  # NETWORK_EXCEPTION
        14,  # COORDINATOR_LOAD_IN_PROGRESS
        15,  # COORDINATOR_NOT_AVAILABLE
        19,  # NOT_ENOUGH_REPLICAS
        20,  # NOT_ENOUGH_REPLICAS_AFTER_APPEND
        56,  # KAFKA_STORAGE_ERROR
        100,  # UNKNOWN_TOPIC_ID: as 3; a topic that was made again is found when its leader is asked for
    }
)
_TRANSACTION_MS = 60_000


class NotOurs(Exception):  # noqa: N818 - what the log is
    """The log is not what was written: something else wrote to it, or it was made again.

    Attributes:
        offset: where.
    """

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class Appender:
    """One producer, one batch in flight. A batch that is sent again is appended once: Kafka knows its sequence.

    Attributes:
        position: the offset that the next record gets.
    """

    def __init__(self, options: Mapping[str, str], topic: str, topic_id: str) -> None:
        config = raw_options(options)
        self.position = 0
        self._topic, self._topic_id = topic, uuid.UUID(bytes=base64.urlsafe_b64decode(f"{topic_id}=="))
        self._net = NetworkSelector(client_id=config["client_id"])
        self._manager = KafkaConnectionManager(self._net, **config)
        self._producer: Producer | None = None
        self._leader: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._manager.close()
        self._net.close()

    def append(self, batch: Batch) -> None:
        """Appends a batch at `position`.

        Raises:
            NotOurs: it got another offset, the topic has another id, or Kafka does not take the batch.
            Interrupted: Kafka does not answer, or lacks replicas, for too long.
        """
        give_up = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                trouble = self._try(batch)
            except (KafkaError, OSError) as error:
                trouble = str(error) or type(error).__name__
            if trouble is None:
                return
            if time.monotonic() > give_up:
                raise Interrupted(f"topic {self._topic} takes no records at offset {self.position}: {trouble}")
            self._leader = None
            time.sleep(_PAUSE_SECONDS)

    def _try(self, batch: Batch) -> str | None:
        """Sends it once; what may pass, or None when it is appended."""
        producer, leader = self._find_producer(), self._find_leader()
        if isinstance(producer, str) or isinstance(leader, str):
            return producer if isinstance(producer, str) else str(leader)
        answer = self._ask(self._request(to_bytes(batch, producer, self.position)), leader)
        (result,) = answer.responses[0].partition_responses
        if result.error_code in _PASSING:
            return str(for_code(result.error_code).__name__)
        if result.error_code:
            said = result.error_message or for_code(result.error_code).__name__
            raise NotOurs(
                f"topic {self._topic} does not take {batch.count} records at offset {self.position}: {said}",
                self.position,
            )
        self._require_offset(result.base_offset)
        self.position += batch.count
        return None

    def _require_offset(self, found: int) -> None:
        if found != self.position:
            raise NotOurs(
                f"topic {self._topic} put a record that belongs at offset {self.position} at {found}: "
                "something else wrote to it",
                self.position,
            )

    def _find_producer(self) -> Producer | str:
        if self._producer is None:
            self._manager.bootstrap(_ANSWER_SECONDS * 1000)
            request = InitProducerIdRequest(
                transactional_id=None, transaction_timeout_ms=_TRANSACTION_MS, producer_id=-1, producer_epoch=-1
            )
            answer = self._ask(request)
            if answer.error_code:
                return str(for_code(answer.error_code).__name__)
            self._producer = Producer(answer.producer_id, answer.producer_epoch)
        return self._producer

    def _find_leader(self) -> int | str:
        if self._leader is None:
            asked = MetadataRequest.MetadataRequestTopic(name=self._topic)
            (found,) = self._ask(MetadataRequest(topics=[asked], allow_auto_topic_creation=False)).topics
            if found.error_code:
                return str(for_code(found.error_code).__name__)
            if found.topic_id != self._topic_id:
                raise NotOurs(f"topic {self._topic} was made again while it was restored", self.position)
            leader = int(found.partitions[_PARTITION].leader_id)
            if leader < 0:
                return "there is no leader"
            self._leader = leader
        return self._leader

    def _request(self, records: bytes) -> ProduceRequest:
        """The topic is named by its id, too: since Kafka 4.1 none that was made again takes the batch."""
        of_topic = ProduceRequest.TopicProduceData
        partition = of_topic.PartitionProduceData(index=_PARTITION, records=records)
        return ProduceRequest(
            transactional_id=None,
            acks=_ALL_IN_SYNC,
            timeout_ms=int(_ANSWER_SECONDS * 1000),
            topic_data=[of_topic(name=self._topic, topic_id=self._topic_id, partition_data=[partition])],
        )

    def _ask(self, request: Any, broker: int | None = None) -> Any:
        async def ask() -> Any:
            sent = self._manager.send(request, node_id=broker)
            return await self._manager.wait_for(sent, _ANSWER_SECONDS * 1000)

        run: Callable[[Callable[[], Awaitable[Any]]], Any] = self._manager.run
        return run(ask)
