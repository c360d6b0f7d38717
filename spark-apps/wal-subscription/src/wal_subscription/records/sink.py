"""The target of one topic: rows and progress in one transaction, as the only one who may commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from sparkjob.errors import Refused
from sparkjob.wire.records import Record
from wal_subscription.records.decoder import Poison
from wal_subscription.records.encoding import Row
from wal_subscription.records.newest import newest_progress
from wal_subscription.records.progress import Progress
from wal_subscription.records.request import Sink, Topic
from wal_subscription.stops import MustStop, Reason, Stop, Trouble

SECONDS = 30.0
_ABORT_SECONDS = 5.0
_MOST_WAITING_KILOBYTES = 65_536
_OVERHEAD = 512
"""Of a batch with one record, and of the headers of a dead letter beside its reason."""
_OPTIONS: dict[str, Any] = {
    "transaction.timeout.ms": int(SECONDS * 1000),  # so long a driver that died keeps readers of committed rows waiting
    "linger.ms": 5,
    "compression.type": "lz4",
    "delivery.report.only.error": True,  # a call for each row would cost as much as the row
    "queue.buffering.max.kbytes": _MOST_WAITING_KILOBYTES,
}
_Headers = list[tuple[str, str | bytes | None]]
_FENCED = frozenset(
    {
        KafkaError._FENCED,  # noqa: SLF001 - confluent-kafka calls it so
        KafkaError._FATAL,  # noqa: SLF001 - as above: what a producer says that was fenced before it was asked
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
    }
)
_UNAUTHORIZED = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
_UNSUITABLE = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.INVALID_RECORD,
    }
)


class Overtaken(Trouble):
    """Another one has begun to write the topic's rows."""


class Writer:
    """Writes the rows of one topic."""

    def __init__(self, options: Mapping[str, str], sink: Sink, topic: Topic) -> None:
        self._options, self._sink, self._topic = options, sink, topic
        most = max(output.most_bytes for output in sink.outputs)
        transactional = {"transactional.id": sink.transactional_id(topic.name), "message.max.bytes": max(most, 1_000)}
        self._producer = Producer({**_OPTIONS, **transactional, **options})
        self._is_begun = False
        self._failed: KafkaError | None = None

    def open(self) -> Progress | None:
        """Ends all writers before this one, whatever they had begun, and only then reads how far they came.

        Raises:
            MustStop, Trouble, Refused: as `newest_progress`.
        """
        self._call(lambda: self._producer.init_transactions(SECONDS))
        return newest_progress(self._options, self._sink.progress, self._topic)

    def send(self, rows: Sequence[Row]) -> None:
        """Rows, in their order."""
        for row in rows:
            self._produce(self._sink.rows.name, row.partition, row.key, row.value)
        if rows:
            self._producer.poll(0)

    def send_dead_letter(self, record: Record, poison: Poison) -> None:
        """A record as it is, and in its headers why it gives no rows."""
        output = self._sink.dead_letters
        assert output is not None  # noqa: S101 - else it would have been a stop
        headers: _Headers = [
            ("seawall-topic", self._topic.name.encode()),
            ("seawall-offset", b"%d" % record.offset),
            ("seawall-region", None if poison.region is None else b"%d" % poison.region),
            ("seawall-reason", poison.said.encode()),
        ]
        key, value = record.key, record.value
        if len(key or b"") + len(value or b"") + len(poison.said) + _OVERHEAD > output.most_bytes:
            key, value = None, None  # where it stands is told
            headers.append(("seawall-truncated", b"true"))
        self._produce(output.name, 0, key, value, headers)

    def commit(self, progress: Progress) -> None:
        """All that was sent since the last time, and how far the topic is now.

        Raises:
            Overtaken: another writer has begun.
            Trouble: Kafka does not answer. What became of it, the next `open` tells.
            MustStop: the target does not take it.
            Refused: a right is missing.
        """
        topic = progress.topic.encode()
        self._produce(self._sink.progress.name, self._topic.partition, topic, progress.to_json())
        self._call(lambda: self._producer.commit_transaction(SECONDS))
        self._is_begun = False

    def close(self) -> None:
        """Takes back what is not committed, if Kafka still listens."""
        try:
            if self._is_begun:
                self._producer.abort_transaction(_ABORT_SECONDS)
        except KafkaException:
            pass  # whoever comes next ends it, or its time does
        self._producer.purge()

    def _produce(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        headers: _Headers | None = None,
    ) -> None:
        if not self._is_begun:
            self._call(self._producer.begin_transaction)
            self._is_begun = True
        while True:
            try:
                self._producer.produce(topic, value, key, partition, self._delivered, headers=headers)
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                raise self._meaning(error.args[0]) from error
            else:
                return

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None and self._failed is None and error.code() != KafkaError._PURGE_QUEUE:  # noqa: SLF001 - as above
            self._failed = error

    def _call(self, ask: Callable[[], object]) -> None:
        try:
            ask()
        except KafkaException as raised:
            raise self._meaning(raised.args[0]) from raised

    def _meaning(self, error: KafkaError) -> Trouble | MustStop | Refused:
        if error.code() not in _FENCED | _UNAUTHORIZED and self._failed is not None:
            error = self._failed  # what came before it
        name, code = self._topic.name, error.code()
        if code in _FENCED:
            return Overtaken(f"another driver has begun to write the rows of topic {name}")
        if code in _UNAUTHORIZED:
            return Refused(f"the user of Kafka may not write the rows of topic {name} in transactions: {error.str()}")
        if code in _UNSUITABLE:
            said = f"the target does not take the rows of topic {name}: {error.str()}"
            return MustStop(Stop(name, Reason.TARGET_UNSUITABLE, None, said))
        return Trouble(f"the target takes no rows of topic {name}: {error.str()}")
