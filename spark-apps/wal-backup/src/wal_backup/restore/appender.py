"""Appends batches to a topic that has one id, each at the offset where it must be."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from kafka.errors import KafkaError
from kafka.protocol.producer import InitProducerIdRequest

from sparkjob.errors import Interrupted, Refused
from sparkjob.wire.batches import Batch, Producer, to_bytes
from sparkjob.wire.connection import NOT_AUTHORIZED, PASSING, Connection, OtherTopic, name_of, sentence_of_error
from sparkjob.wire.produce import produce_request

PATIENCE_SECONDS = 60.0
"""So long one batch may wait for a leader, or for replicas in sync."""
_PAUSE_SECONDS = 0.2
_TRANSACTION_MS = 60_000
_ELSEWHERE = frozenset({45, 46, 47, 59, 90})
"""OUT_OF_ORDER_SEQUENCE_NUMBER, DUPLICATE_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, UNKNOWN_PRODUCER_ID,
PRODUCER_FENCED: the log does not have what this producer wrote, or somebody else has the producer's id."""
_NOT_ENOUGH_REPLICAS = 19
"""Of the errors that pass the one of which is known that nothing was appended."""


class NotOurs(Exception):  # noqa: N818 - what the log is
    """The log is not what was written: something else wrote to it, or it was made again.

    Attributes:
        offset: where.
    """

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class Appender:
    """One producer, one batch in flight. A batch that is sent again is appended once while Kafka knows the producer.

    It forgets a producer whose newest record is older than `producer.id.expiration.ms`, as those of an old log are, and
    then takes a batch again that it has: where it put it says so, and the topic has to be made anew.

    Attributes:
        position: the offset that the next record gets.
    """

    def __init__(self, options: Mapping[str, str], topic: str, topic_id: str) -> None:
        self.position = 0
        self._topic, self._topic_id = topic, topic_id
        self._connection = Connection(options)
        self._producer: Producer | None = None
        self._leader: int | None = None
        self._unsure = 0
        """How often the batch was sent so that nobody knows whether it was appended."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def append(self, batch: Batch) -> None:
        """Appends a batch at `position`.

        Raises:
            NotOurs: it got another offset, the topic has another id, or the log does not end here.
            Refused: Kafka does not let its user write.
            Interrupted: Kafka does not take it, has it twice, does not answer, or lacks replicas, for too long.
        """
        give_up = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                trouble = self._try(batch)
            except (KafkaError, OSError) as error:
                trouble = sentence_of_error(error)
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
        records = to_bytes(batch, producer, self.position)
        self._unsure += 1
        answer = self._connection.ask(produce_request(self._topic, self._topic_id, records), leader)
        (result,) = answer.responses[0].partition_responses
        if result.error_code in PASSING:
            self._unsure -= result.error_code == _NOT_ENOUGH_REPLICAS
            return name_of(result.error_code)
        if result.error_code:
            raise self._trouble(result.error_code, result.error_message, batch)
        self._unsure -= 1
        self._require_offset(result.base_offset, batch.count)
        self.position, self._unsure = self.position + batch.count, 0
        return None

    def _trouble(self, code: int, message: str | None, batch: Batch) -> Exception:
        """Of an error that does not pass: only few say that somebody else wrote, and none else ends a restore for good.

        A topic that is made anew may take what this one does not: its configs are others, or somebody set them.
        """
        if code in NOT_AUTHORIZED:
            return Refused(f"the user of Kafka may not write to topic {self._topic}: {name_of(code)}")
        what = f"topic {self._topic} does not take {batch.count} records at offset {self.position}"
        what = f"{what}: {message or name_of(code)}"
        return NotOurs(what, self.position) if code in _ELSEWHERE else Interrupted(what)

    def _require_offset(self, found: int, count: int) -> None:
        behind, rest = divmod(found - self.position, count)
        if rest == 0 and 0 < behind <= self._unsure:
            raise Interrupted(
                f"topic {self._topic} has {count} records from offset {self.position} on twice: the answer to the "
                "first was lost, and Kafka had forgotten who sent them"
            )
        if found != self.position:
            raise NotOurs(
                f"topic {self._topic} put a record that belongs at offset {self.position} at {found}: "
                "something else wrote to it",
                self.position,
            )

    def _find_producer(self) -> Producer | str:
        if self._producer is None:
            request = InitProducerIdRequest(
                transactional_id=None, transaction_timeout_ms=_TRANSACTION_MS, producer_id=-1, producer_epoch=-1
            )
            answer = self._connection.ask(request)
            if answer.error_code in NOT_AUTHORIZED:
                raise Refused(f"the user of Kafka may not write: {name_of(answer.error_code)}")
            if answer.error_code:
                return name_of(answer.error_code)
            self._producer = Producer(answer.producer_id, answer.producer_epoch)
        return self._producer

    def _find_leader(self) -> int | str:
        if self._leader is None:
            try:
                found = self._connection.leader(self._topic, self._topic_id)
            except OtherTopic:
                raise NotOurs(f"topic {self._topic} was made again while it was restored", self.position) from None
            if isinstance(found, str):
                return found
            self._leader = found
        return self._leader
