"""Appends to the target's log on condition that it ends where the batch belongs.

All writers of a mirror are one producer to Kafka, and a batch's sequence is its offset modulo 2^31. A broker takes a
batch only if its sequence follows the last one of the producer: that is, if the log ends there. It forgets a producer
whose last record is old (`producer.id.expiration.ms`), and then takes any sequence once. So it is asked what it knows
on the connection that is written on, which it closes sooner than that when nothing comes (`connections.max.idle.ms`).
It goes by the record's timestamp: of a log that was old when it was copied, only the offset that a batch gets tells.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from kafka.protocol.admin import DescribeProducersRequest
from kafka.protocol.consumer import ListOffsetsRequest

from sparkjob.errors import Refused
from sparkjob.wire.batches import Batch, Producer, to_bytes
from sparkjob.wire.connection import NOT_AUTHORIZED, PARTITION, Connection, Line, OtherTopic, name_of
from sparkjob.wire.produce import produce_request
from wal_subscription.request import Topic
from wal_subscription.stops import MustStop, Reason, Stop, TooLarge, Trouble

WINDOW = 4
"""Batches in flight. Kafka answers a batch that it has, if it is one of the last five, with the offset that it got."""
MOST_AGE_SECONDS = 300.0
"""So old may what is known of the log's end be when a batch is sent."""
_ANSWER_SECONDS = 10.0
_LATEST, _UNCOMMITTED, _REPLICA = -1, 0, -1
_SEQUENCES = 2**31
_TRIES = 5
_NO_TIME = -1
_ELSEWHERE = frozenset({45, 46, 59})
"""OUT_OF_ORDER_SEQUENCE_NUMBER, DUPLICATE_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID: the log ends elsewhere by now."""
_FENCED = frozenset({47, 90})
"""INVALID_PRODUCER_EPOCH, PRODUCER_FENCED."""
_TOO_LARGE = frozenset({10, 18})
"""MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE."""
_UNSUITABLE = frozenset({32, 43, 76, 87})
"""INVALID_TIMESTAMP, UNSUPPORTED_FOR_MESSAGE_FORMAT, UNSUPPORTED_COMPRESSION_TYPE, INVALID_RECORD."""


class Elsewhere(Exception):  # noqa: N818 - where the log ends
    """The log does not end where it was to be written: somebody else appended. Whoever goes on reads the end anew."""


class Known(NamedTuple):
    """What a broker remembers of a producer.

    Attributes:
        sequence: the last one; -1: none.
    """

    epoch: int
    sequence: int


class _Sent(NamedTuple):
    line: Line
    answer: Any
    offset: int
    batch: Batch


class LogTarget:
    """One topic of the target.

    Attributes:
        position: the offset that the next record gets.
        is_known: whether the broker knew the producer when it was asked.
    """

    def __init__(self, connection: Connection, topic: Topic, producer: Producer) -> None:
        self._connection, self._topic, self._producer = connection, topic, producer
        self._line: Line | None = None
        self._asked = 0.0
        self.position = 0
        self.is_known = False

    def open(self) -> None:
        """Finds out where the log ends.

        Raises:
            MustStop: something else wrote to it, or its producer has a newer epoch.
            Trouble: Kafka does not say now.
            Refused: Kafka does not let its user ask.
        """
        line = self._connection.line(self._leader())
        for _ in range(_TRIES):
            self._asked = _clock()
            before, known, end = self._end(line), self._known(line), self._end(line)
            if before == end:
                break
        else:
            raise Trouble(f"topic {self._topic.name} is being written to by another driver")
        require_ours(self._topic.name, end, known, self._producer)
        self._line, self.position, self.is_known = line, end, known is not None

    def append(self, batches: Iterable[Batch]) -> None:
        """Appends batches at `position`, in order; those before one that fails are appended.

        Raises:
            Elsewhere: the log ends elsewhere.
            MustStop: a batch got another offset, or Kafka will not take it.
            Trouble: Kafka does not answer, or lacks replicas.
            Refused: Kafka does not let its user write.
        """
        sent, offset = deque[_Sent](), self.position
        for batch in batches:
            sent.append(self._send(batch, offset))
            offset += batch.count
            # A broker that does not know the producer takes any sequence once: what it did is seen before the next.
            while len(sent) >= (WINDOW if self.is_known else 1):
                self._settle(sent.popleft())
        while sent:
            self._settle(sent.popleft())

    def _send(self, batch: Batch, offset: int) -> _Sent:
        if self._line is None or _clock() - self._asked > MOST_AGE_SECONDS:
            raise Trouble(f"what is known of the end of topic {self._topic.name} is too old")
        records = to_bytes(batch, self._producer, offset % _SEQUENCES)
        request = produce_request(self._topic.name, self._topic.target_id, records, _ANSWER_SECONDS)
        return _Sent(self._line, self._line.send(request), offset, batch)

    def _settle(self, sent: _Sent) -> None:
        (result,) = sent.line.wait(sent.answer).responses[0].partition_responses
        code = result.error_code
        if code:
            self._raise(code, result.error_message or name_of(code), sent.offset)
        if result.base_offset != sent.offset:
            raise self._stop(
                Reason.DIVERGED,
                min(sent.offset, result.base_offset),
                f"put a record that belongs at offset {sent.offset} at {result.base_offset}: something else wrote",
            )
        # A batch that the log had already is answered with its own time.
        if result.log_append_time_ms not in {_NO_TIME, sent.batch.most_timestamp}:
            raise self._stop(Reason.TARGET_UNSUITABLE, sent.offset, "gives records its own time (LogAppendTime)")
        self.position, self.is_known, self._asked = sent.offset + sent.batch.count, True, _clock()

    def _raise(self, code: int, said: str, offset: int) -> None:
        if code in _ELSEWHERE:
            raise Elsewhere(f"topic {self._topic.name} does not end at offset {offset}: {said}")
        if code in _FENCED:
            raise self._stop(Reason.FENCED, offset, f"knows a newer epoch of the producer: {said}")
        if code in _TOO_LARGE | _UNSUITABLE:
            stop = self._stop(Reason.TARGET_UNSUITABLE, offset, f"does not take the batch at offset {offset}: {said}")
            raise TooLarge(stop.stop) if code in _TOO_LARGE else stop
        if code in NOT_AUTHORIZED:
            raise Refused(f"the user of Kafka may not write to topic {self._topic.name} of the target: it needs Write")
        raise Trouble(f"topic {self._topic.name} of the target takes nothing at offset {offset}: {said}")

    def _stop(self, reason: Reason, offset: int, what: str) -> MustStop:
        name = self._topic.name
        return MustStop(Stop(name, reason, offset, f"topic {name} of the target {what}"))

    def _leader(self) -> int:
        try:
            leader = self._connection.leader(self._topic.name, self._topic.target_id)
        except OtherTopic:
            raise Trouble(f"topic {self._topic.name} of the target was made again") from None
        if isinstance(leader, str):
            raise Trouble(f"topic {self._topic.name} of the target cannot be written to: {leader}")
        return leader

    def _end(self, line: Line) -> int:
        of_topic = ListOffsetsRequest.ListOffsetsTopic
        partition = of_topic.ListOffsetsPartition(
            partition_index=PARTITION, current_leader_epoch=-1, timestamp=_LATEST, max_num_offsets=1
        )
        topics = [of_topic(name=self._topic.name, partitions=[partition])]
        answer = line.ask(ListOffsetsRequest(replica_id=_REPLICA, isolation_level=_UNCOMMITTED, topics=topics))
        (found,) = answer.topics[0].partitions
        self._check(found.error_code, "Describe")
        return int(found.offset)

    def _known(self, line: Line) -> Known | None:
        of_topic = DescribeProducersRequest.TopicRequest
        topics = [of_topic(name=self._topic.name, partition_indexes=[PARTITION])]
        (found,) = line.ask(DescribeProducersRequest(topics=topics)).topics[0].partitions
        self._check(found.error_code, "Read")
        return next(
            (
                Known(each.producer_epoch, each.last_sequence)
                for each in found.active_producers
                if each.producer_id == self._producer.id
            ),
            None,
        )

    def _check(self, code: int, right: str) -> None:
        if code in NOT_AUTHORIZED:
            raise Refused(f"the user of Kafka lacks {right} on topic {self._topic.name} of the target")
        if code:
            raise Trouble(f"topic {self._topic.name} of the target does not say where it ends: {name_of(code)}")


def require_ours(topic: str, end: int, known: Known | None, producer: Producer) -> None:
    """Stops where something else wrote after the mirror did; `end` is the log's, `known` what its broker remembers.

    A sequence ahead of the end is a batch that is not replicated yet.

    Raises:
        MustStop: it is so.
    """
    if known is None:
        return
    if known.epoch > producer.epoch:
        message = f"topic {topic} of the target knows epoch {known.epoch} of the producer: the mirror was promoted"
        raise MustStop(Stop(topic, Reason.FENCED, end, message))
    foreign = (end - known.sequence - 1) % _SEQUENCES
    if 0 < foreign < _SEQUENCES // 2:
        message = f"topic {topic} of the target has {foreign} records from offset {end - foreign} on of something else"
        raise MustStop(Stop(topic, Reason.DIVERGED, end - foreign, message))


def _clock() -> float:
    """Goes on while the process, or the machine, sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
