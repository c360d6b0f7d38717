"""What Kafka says of the log of a topic's partition 0, as values.

"Not known" is a value of its own, never 0 or -1: librdkafka, for one, answers -1001 and no error when a broker died.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from seawall.domain.kafka import Topic

DELETE_BATCH = 1_000
"""Topics of one DeleteRecords request: about a second. What stops deletes is looked at between two of them."""


class TopicTrouble(StrEnum):
    """Why Kafka did not tell of one topic, while it may have told of others."""

    UNKNOWN_TOPIC = "UnknownTopic"
    """The broker that was asked knows no such topic. Brokers learn of new ones one after another."""
    REFUSED = "Refused"
    """Kafka understood and said no: an ACL, a policy, an impossible name. Asking again changes nothing."""
    UNANSWERED = "Unanswered"
    """No leader, no broker, or no answer in time: ask again."""


@dataclass(frozen=True, slots=True)
class TopicFailure:
    """Kafka did not tell of this topic, and why in one sentence."""

    why: TopicTrouble
    message: str


@dataclass(frozen=True, slots=True)
class DescribedTopic:
    """A topic and the id that Kafka gave it, in 22 characters of URL-safe base64, as Kafka prints it.

    A topic deleted and created again has another one.
    """

    topic_id: str
    topic: Topic


@dataclass(frozen=True, slots=True)
class LogOffsets:
    """The ends of a log, as its leader told.

    Attributes:
        log_start: the first offset that can be read.
        high_watermark: the offset after the last one that consumers can read, open transactions included: exclusive.
        leader_epoch: the epoch of the leader that told the high watermark. All records below it are of this or an
            earlier epoch; where that epoch ends tells later whether they are still there (`EpochEnd`).
    """

    log_start: int
    high_watermark: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class FirstSince:
    """The first record of a log that is as young as was asked, by the timestamps that its writers gave.

    Attributes:
        offset: its offset; None: all records are older, or there is none.
    """

    offset: int | None


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of records, by their offsets; what there was no time to read is left out.

    Attributes:
        by_offset: None is a record without a key.
    """

    by_offset: Mapping[int, bytes | None]


@dataclass(frozen=True, slots=True)
class NewestRecord:
    """The last record of a partition that was committed, as readers of committed records find it."""

    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Scanned:
    """How far a log was read in search of a record that the database's reader cannot read.

    Attributes:
        position: the next offset to read; all below it were read, from where the search began.
        unreadable: the offset of the first such record, which then is the position, too; None: none was met.
        what: a clause that says what is wrong with it.
    """

    position: int
    unreadable: int | None = None
    what: str = ""


class AskedEpoch(NamedTuple):
    """A leader epoch whose end is asked for.

    Attributes:
        epoch: the one that was remembered.
        current: the one that leads by now, as the log's offsets told. A broker of another one does not answer: above
            all one that led before, and has not heard that it was replaced (KIP-320).
    """

    epoch: int
    current: int


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """Where the records of an epoch end (OffsetsForLeaderEpoch).

    Attributes:
        leader_epoch: the newest epoch in the log that is not newer than the one asked for.
        end_offset: the offset after its last record. Lower than a high watermark that was seen in the epoch asked for:
            the log was truncated, and offsets are used a second time.
    """

    leader_epoch: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class EpochUnknown:
    """The log never had an epoch that new: it is another log, or it lost its end with everything of that epoch."""


@dataclass(frozen=True, slots=True)
class LogSizes:
    """Bytes on disk of each replica, by broker; a broker that did not answer is left out.

    They lag behind deletes: only whole closed segments are removed, some minutes later.
    """

    by_broker: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class ProducerId:
    """By what a broker knows the batches of an idempotent producer: they are appended in their order, and each once."""

    id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class ProducerState:
    """What the leader of a log remembers of a producer.

    Attributes:
        epoch: the newest that it took a batch of; None: it knows no such producer, or has forgotten it.
        last_sequence: of the last record of that epoch.
    """

    epoch: int | None
    last_sequence: int = -1


@dataclass(frozen=True, slots=True)
class Nulls:
    """Records without key and value to append to the log of this topic, which other records must not come between.

    Attributes:
        topic_id: which log is meant.
        sequence: of the first one; 0 where the producer's epoch is new.
    """

    topic: str
    topic_id: str
    producer: ProducerId
    sequence: int
    count: int


@dataclass(frozen=True, slots=True)
class Deleted:
    """All records before the offset that was asked for are gone, on all replicas; the log starts here."""

    log_start: int


@dataclass(frozen=True, slots=True)
class DeleteRefused:
    """Nothing was deleted, and why in one sentence."""

    message: str
    unsupported: bool = False
    """Whether Kafka deletes no records at all for us: a right, a policy, or an API that it has not."""


@dataclass(frozen=True, slots=True)
class DeleteUnknown:
    """The records may be gone or not: read the log start again. The sentence tells what happened to the answer."""

    message: str


DeleteOutcome = Deleted | DeleteRefused | DeleteUnknown
