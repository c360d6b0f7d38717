"""A WAL to verify: entries of one row and about 200 bytes over some topics, and the snapshot that it leads to.

Run as a program it is the peer: one process that reads topics with confluent-kafka and checks each record as Integrity
does: `wal_load.py <servers> <records of each topic> <topic> …`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from sparkjob.integrity.scan import Stretch
from walrecord import Full, RecordKey, encode_entry, encode_key
from walrecord.pb.wal_pb2 import ColumnSchema, Mutation, Row, Rows, Value, WalEntry

TIMEOUT = 120.0
NOTE = "n" * 90
_FETCH = 20_000
_COLUMNS = (
    ("host", ColumnSchema.STRING, ColumnSchema.TAG),
    ("ts", ColumnSchema.TIMESTAMP_MILLISECOND, ColumnSchema.TIMESTAMP),
    ("load", ColumnSchema.FLOAT64, ColumnSchema.FIELD),
    ("note", ColumnSchema.STRING, ColumnSchema.FIELD),
)
_SCHEMA = [ColumnSchema(column_name=name, datatype=kind, semantic_type=role) for name, kind, role in _COLUMNS]
_ARROW = pa.schema([("host", pa.string()), ("ts", pa.int64()), ("load", pa.float64()), ("note", pa.string())])


@dataclass(frozen=True, slots=True)
class Load:
    """Topics `<name>_<i>` with so many records each; each has one region, whose id is that of table 1000 + i."""

    servers: str
    name: str
    topics: int
    each: int
    note_bytes: int = len(NOTE)
    """How large a row is, but for some hundred bytes."""
    is_random: bool = False
    """Whether the rows are so that compression makes nothing of them smaller."""

    def topic(self, index: int) -> str:
        """The name of a topic."""
        return f"{self.name}_{index}"

    def region(self, index: int) -> int:
        """The region that writes to it."""
        return (1000 + index) << 32

    def write(self, snapshot: Path) -> None:
        """Makes the topics, and the snapshot: a cut before the log and one after it."""
        self.write_log()
        names = [self.topic(index) for index in range(self.topics)]
        regions = [self._export(index, name, snapshot) for index, name in enumerate(names)]
        (snapshot / "snapshot.json").write_text(json.dumps({"version": 1, "regions": regions}))

    def write_log(self) -> None:
        """Makes the topics alone."""
        admin = AdminClient({"bootstrap.servers": self.servers})
        names = [self.topic(index) for index in range(self.topics)]
        for future in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
            future.result(TIMEOUT)
        for index, name in enumerate(names):
            self._produce(name, self.region(index))

    def request(self, level: str, snapshot: Path) -> bytes:
        """The request to verify all of it."""
        names = [self.topic(index) for index in range(self.topics)]
        admin = AdminClient({"bootstrap.servers": self.servers})  # kept: its answers end with it
        found = admin.describe_topics(TopicCollection(names))
        ids = {name: str(future.result(TIMEOUT).topic_id) for name, future in found.items()}
        topics = [
            {
                "name": name,
                "topicId": ids[name].replace("+", "-").replace("/", "_"),
                "logStart": 0,
                "from": 0,
                "to": self.each,
                "regions": [{"id": self.region(index), "readsFrom": 0, "flushed": None}],
            }
            for index, name in enumerate(names)
        ]
        return json.dumps(
            {
                "version": 2,
                "databaseVersion": "1.1.3",
                "verification": {"namespace": "bench", "name": self.name, "uid": "bench", "attempt": 1},
                "level": level,
                "kafka": {"bootstrapServers": [self.servers]},
                "topics": topics,
                "snapshot": {"uri": snapshot.absolute().as_uri()},
            }
        ).encode()

    def _produce(self, topic: str, region: int) -> None:
        producer = Producer(
            # A retry by a producer that is not idempotent would be in the log twice, or out of turn.
            {"bootstrap.servers": self.servers, "acks": "all", "enable.idempotence": True, "compression.type": "lz4",
             "linger.ms": 20, "queue.buffering.max.messages": 500_000, "message.max.bytes": 2 << 20}
        )  # fmt: skip
        key = encode_key(RecordKey(region_id=region, type=Full()))
        for number in range(self.each):
            send(producer, topic, key, _payload(number, self._note()))
        flush(producer)

    def _note(self) -> str:
        return os.urandom(self.note_bytes // 2).hex() if self.is_random else "n" * self.note_bytes

    def _export(self, index: int, topic: str, snapshot: Path) -> dict[str, object]:
        folder = snapshot / topic
        folder.mkdir(parents=True)
        numbers = range(self.each)
        columns: list[list[Any]] = [
            [f"host-{n}" for n in numbers],
            list(numbers),
            [n / 8 for n in numbers],
            [NOTE] * self.each,
        ]
        pq.write_table(pa.table(columns, schema=_ARROW), folder / "all.parquet")
        first = pa.table([[column[0]] for column in columns], schema=_ARROW)
        pq.write_table(first, folder / "first.parquet")
        cuts = [
            {"entryId": 0, "files": [f"{topic}/first.parquet"]},
            {"entryId": self.each - 1, "files": [f"{topic}/all.parquet"]},
        ]
        return {"id": self.region(index), "topic": topic, "columns": _ARROW.names, "key": ["host", "ts"], "cuts": cuts}


def send(producer: Producer, topic: str, key: bytes | None, value: bytes | None) -> None:
    """Gives a record to a producer, whose queue may be full for a while."""
    while True:
        try:
            producer.produce(topic, value, key, partition=0)
        except BufferError:
            producer.poll(0.1)
        else:
            return


def flush(producer: Producer) -> None:
    """Waits until all records are acknowledged.

    Raises:
        RuntimeError: they are not in time.
    """
    if producer.flush(TIMEOUT):
        raise RuntimeError("not all records were acknowledged")


def check(servers: str, each: int, topics: Sequence[str]) -> int:
    """Reads and checks the records of these topics; returns how many there were."""
    settings = {"bootstrap.servers": servers, "group.id": "bench", "isolation.level": "read_committed"}
    consumer = Consumer(settings | {"enable.auto.commit": False})
    records = 0
    for topic in topics:
        consumer.assign([TopicPartition(topic, 0, 0)])
        index = int(topic.rsplit("_", 1)[1])
        stretch = Stretch(topic, {(1000 + index) << 32: 0})
        left = each
        while left:
            messages = consumer.consume(min(_FETCH, left), TIMEOUT)
            stretch.read((message.offset() or 0, message.key(), message.value()) for message in messages)
            stretch.take()
            left -= len(messages)
            records += len(messages)
        stretch.end()
    consumer.close()
    return records


def _payload(number: int, note: str) -> bytes:
    values = [Value(text=f"host-{number}"), Value(ts_ms=number), Value(f64=number / 8), Value(text=note)]
    rows = Rows(schema=_SCHEMA, rows=[Row(values=values)])
    return encode_entry(WalEntry(mutations=[Mutation(op_type=Mutation.PUT, sequence=number + 1, rows=rows)]))


if __name__ == "__main__":
    wanted = int(sys.argv[2]) * len(sys.argv[3:])
    if (found := check(sys.argv[1], int(sys.argv[2]), sys.argv[3:])) != wanted:
        sys.exit(f"read {found} records of {wanted}")
