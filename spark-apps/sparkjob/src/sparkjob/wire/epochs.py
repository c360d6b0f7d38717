"""Where leader epochs end in a log, which alone shows that it was cut off: it may be longer again by now.

A leader writes each offset of its epoch once. So a log that has an epoch where records of that epoch were read has
those very records. Only kafka-python can ask for it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from kafka.errors import KafkaError
from kafka.protocol.consumer import OffsetForLeaderEpochRequest

from sparkjob.errors import Interrupted
from sparkjob.wire.connection import PARTITION, Connection, OtherTopic, name_of, sentence_of_error

SECONDS = 30.0
"""So long it is asked again: a leader may be elected just now."""
_PAUSE = 0.2
_CONSUMER = -1
"""Kafka wants the right to describe the topic then."""


class Piece(NamedTuple):
    """Records of one leader epoch that were read: offsets [first, end)."""

    epoch: int
    first: int
    end: int


UNKNOWN = -1
"""An epoch that is newer than all that the log has."""
Ends = Mapping[int, int]
"""Epoch → where the first newer one begins, or the log ends. Of one that the log has nothing of, too."""


def epochs_to_ask(pieces: Iterable[Piece]) -> set[int]:
    """Those whose ends `first_lost` needs: an epoch begins where the one before it ends."""
    return {epoch for piece in pieces for epoch in (piece.epoch - 1, piece.epoch) if epoch >= 0}


def first_lost(pieces: Iterable[Piece], ends: Ends) -> int | None:
    """The first offset at which the log has no more what was read, or may not; None: it has all."""
    return min((lost for piece in pieces if (lost := _lost(piece, ends)) is not None), default=None)


def _lost(piece: Piece, ends: Ends) -> int | None:
    begin, end = (ends.get(epoch, UNKNOWN) for epoch in (piece.epoch - 1, piece.epoch))
    if begin > piece.first:
        return piece.first
    return max(end, piece.first) if end < piece.end else None


def read_epoch_ends(options: Mapping[str, str], asked: Mapping[tuple[str, str], Collection[int]]) -> dict[str, Ends]:
    """By topic where epochs end now; of one that was made again none is known.

    A broker that led before, and has not heard that it was replaced, is not asked: it has the log as it was.

    Args:
        options: of the connection, in the words of librdkafka.
        asked: name and id of a topic → epochs in which records of it were read, and those before them.

    Raises:
        Interrupted: Kafka does not answer.
    """
    found, give_up = dict[str, Ends](), time.monotonic() + SECONDS
    while True:
        try:
            with Connection(options) as connection:
                for (topic, topic_id), epochs in asked.items():
                    if topic not in found:
                        found[topic] = _ends(connection, topic, topic_id, epochs)
        except _Silent as silent:
            why = str(silent)
        except (KafkaError, OSError) as error:
            why = sentence_of_error(error)
        else:
            return found
        if time.monotonic() > give_up:
            raise Interrupted(f"Kafka does not say where leader epochs end: {why}")
        time.sleep(_PAUSE)


class _Silent(Exception):  # noqa: N818 - what it is
    """No answer, which may pass."""


def _ends(connection: Connection, topic: str, topic_id: str, epochs: Collection[int]) -> Ends:
    try:
        leader = connection.leadership(topic, topic_id)
    except OtherTopic:
        return {}
    if isinstance(leader, str):
        raise _Silent(f"topic {topic}: {leader}")
    if leader.epoch < max(epochs, default=0):
        raise _Silent(
            f"topic {topic}: broker {leader.broker} says that it leads in epoch {leader.epoch}, and is replaced"
        )
    line = connection.line(leader.broker)
    sent = {epoch: line.send(_request(topic, epoch, leader.epoch)) for epoch in epochs}
    return {epoch: _end(topic, line.wait(answer)) for epoch, answer in sent.items()}


def _request(topic: str, epoch: int, current: int) -> Any:
    of_topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    partition = of_topic.OffsetForLeaderPartition(partition=PARTITION, current_leader_epoch=current, leader_epoch=epoch)
    return OffsetForLeaderEpochRequest(replica_id=_CONSUMER, topics=[of_topic(topic=topic, partitions=[partition])])


def _end(topic: str, answer: Any) -> int:
    (found,) = answer.topics[0].partitions
    if found.error_code:
        raise _Silent(f"topic {topic}: {name_of(found.error_code)}")
    return int(found.end_offset)
