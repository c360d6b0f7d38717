"""Topics of a real Kafka, as a database or a careless person writes them; and requests to verify them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from wal_logs import DATA, OTHER, Record

TIMEOUT = 30.0
_NOT_YET = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError._NOENT,
}
_URL_SAFE = str.maketrans("+/", "-_")
"""Java, and so Seawall, prints ids with - and _ where librdkafka has + and /."""


class Topics:
    """Makes, fills, cuts and deletes topics."""

    def __init__(self, servers: Sequence[str]) -> None:
        self.servers = ",".join(servers)
        self._admin = AdminClient({"bootstrap.servers": self.servers})

    def create(self, *names: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """Makes topics of one partition, or of several."""
        new = [NewTopic(name, partitions, 1, config=dict(config or {})) for name in names]
        for future in self._admin.create_topics(new).values():
            future.result(TIMEOUT)

    def append(self, logs: Mapping[str, Sequence[Record]], timestamp: int = 0) -> None:
        """Appends records, in order, and waits until all are acknowledged; `timestamp` in ms, 0 for now."""
        failed: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failed.append(error)

        # A batch that is sent again, as the leader of a new topic may not be known, must not land behind later ones. An
        # idempotent producer would see to that, too, and takes half a second to get its id.
        ordered = {"acks": "all", "max.in.flight.requests.per.connection": 1, "linger.ms": 5}
        producer = Producer({"bootstrap.servers": self.servers, **ordered})
        for name, records in logs.items():
            for key, value in records:
                producer.produce(name, value, key, partition=0, timestamp=timestamp, on_delivery=on_delivery)
        assert producer.flush(TIMEOUT) == 0
        assert not failed, failed

    def append_in_transaction(self, name: str, records: Sequence[Record]) -> None:
        """Appends records as no database should: the marker of the transaction's end takes an offset."""
        expected = self.end(name) + len(records) + 1
        producer = Producer({"bootstrap.servers": self.servers, "transactional.id": name})
        producer.init_transactions(TIMEOUT)
        producer.begin_transaction()
        for key, value in records:
            producer.produce(name, value, key, partition=0)
        producer.commit_transaction(TIMEOUT)
        self.wait_for_end(name, expected)

    def wait_for_end(self, name: str, offset: int) -> None:
        """Waits until the log ends there: the marker of a transaction's end is written after the answer."""
        give_up = time.monotonic() + TIMEOUT
        while self.end(name) < offset:
            assert time.monotonic() < give_up, f"topic {name} ends at {self.end(name)}, not at {offset}"
            time.sleep(0.05)

    def end(self, name: str) -> int:
        """The offset after the last one."""
        asked = {TopicPartition(name, 0): OffsetSpec.latest()}  # type: ignore[no-untyped-call]
        return int(self._of_a_leader(lambda: self._admin.list_offsets(asked)).offset)

    def fill(self, logs: Mapping[str, Sequence[Record]]) -> None:
        """Makes topics with these records."""
        self.create(*logs)
        self.append(logs)

    def delete_records(self, name: str, before: int) -> None:
        """Moves the log start."""
        self._of_a_leader(lambda: self._admin.delete_records([TopicPartition(name, 0, before)]))

    def delete(self, name: str) -> None:
        """Deletes a topic."""
        for future in self._admin.delete_topics([name], operation_timeout=TIMEOUT).values():
            future.result(TIMEOUT)

    def ids(self, *names: str) -> dict[str, str]:
        """The topics' ids."""
        return {name: self._id(name) for name in names}

    def topic(
        self,
        name: str,
        end: int,
        *,
        start: int = 0,
        reads_from: Mapping[int, int] | None = None,
        topic_id: str | None = None,
    ) -> dict[str, Any]:
        """A topic of a request; by default both regions of the tests read it from its start."""
        regions = {DATA: start, OTHER: start} if reads_from is None else reads_from
        return {
            "name": name,
            "topicId": topic_id or self.ids(name)[name],
            "logStart": start,
            "from": start,
            "to": end,
            "regions": [{"id": region, "readsFrom": first, "flushed": None} for region, first in regions.items()],
        }

    def _id(self, name: str) -> str:
        asked = TopicCollection([name])
        return str(self._of_a_leader(lambda: self._admin.describe_topics(asked)).topic_id).translate(_URL_SAFE)

    def _of_a_leader(self, ask: Callable[[], Mapping[Any, Any]]) -> Any:
        """The only answer.

        A new topic is not known to every broker and has no leader yet, and librdkafka finds none until it asks for
        metadata.
        """
        give_up = time.monotonic() + TIMEOUT
        while True:
            (future,) = ask().values()
            try:
                return future.result(TIMEOUT)
            except KafkaException as error:
                if error.args[0].code() not in _NOT_YET or time.monotonic() > give_up:
                    raise
            time.sleep(0.05)
            self._admin.list_topics(timeout=TIMEOUT)


def damage(segment: Path, value: bytes) -> None:
    """Flips bits of a value in a segment of a log, as a disk does: its batch keeps the checksum of what was written."""
    place = segment.read_bytes().index(value)
    with segment.open("r+b") as file:
        file.seek(place)
        file.write(bytes(byte ^ 1 for byte in value))


def request_of(
    servers: str,
    level: str,
    topics: Sequence[Mapping[str, Any]],
    snapshot: str | None = None,
    version: str | None = "1.1.3",
) -> bytes:
    """The bytes of a request; `version` is the database's."""
    return json.dumps(
        {
            "version": 2,
            "databaseVersion": version,
            "verification": {
                "namespace": "db",
                "name": "test",
                "uid": "6f1c1c1e-0000-4000-8000-000000000001",
                "attempt": 1,
            },
            "level": level,
            "kafka": {"bootstrapServers": servers.split(","), "clusterId": None, "tls": None, "sasl": None},
            "topics": list(topics),
            "snapshot": None if snapshot is None else {"uri": snapshot},
        }
    ).encode()
