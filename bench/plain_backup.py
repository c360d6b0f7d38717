"""The peer of a backup: a loop that reads with confluent-kafka and writes the same Parquet to the same store.

It makes a SHA-256 of the object, but notes no gap and no digest of a record, asks Kafka no more, and has no manifest.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer, Message, TopicPartition
from pyarrow import fs

from wal_backup.parquet import MOST_RECORDS, SCHEMA

TIMEOUT = 120.0
_FETCH = 20_000
_DELTA = "DELTA_BINARY_PACKED"


def back_up(servers: str, topics: Sequence[tuple[str, int]], s3: dict[str, Any], path: str) -> tuple[int, str]:
    """Writes the first records of topics (name, how many) as one object; how many bytes it has, and its SHA-256."""
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder) / "object.parquet"
        with pq.ParquetWriter(
            local,
            SCHEMA,
            compression="zstd",
            compression_level=3,
            use_dictionary=["topic", "key"],
            column_encoding={"offset": _DELTA, "timestamp": _DELTA},
            write_page_checksum=True,
        ) as writer:
            _copy(servers, topics, writer)
        with local.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with local.open("rb") as file, _open(s3).open_output_stream(f"{s3['bucket']}/{path}", compression=None) as sink:
            shutil.copyfileobj(file, sink, 8 << 20)
        return local.stat().st_size, digest


def _copy(servers: str, topics: Sequence[tuple[str, int]], writer: pq.ParquetWriter) -> None:
    settings = {"bootstrap.servers": servers, "group.id": "bench", "isolation.level": "read_committed"}
    # As in a backup: with the default of a second a fast reader stands still when the queue was full.
    consumer = Consumer(settings | {"enable.auto.commit": False, "fetch.queue.backoff.ms": 5})
    for topic, count in topics:
        consumer.assign([TopicPartition(topic, 0, 0)])
        left, waiting = count, list[Message]()
        while left:
            messages = consumer.consume(min(_FETCH, left), TIMEOUT)
            if not messages:
                raise RuntimeError(f"topic {topic} gave no record in time, and {left} are missing")
            left -= len(messages)
            waiting += messages
            if len(waiting) >= MOST_RECORDS or not left:
                writer.write_table(_table(topic, waiting), row_group_size=len(waiting))
                waiting = []
    consumer.close()


def _table(topic: str, messages: Sequence[Message]) -> pa.Table:
    times = [message.timestamp() for message in messages]
    name = pa.DictionaryArray.from_arrays(pa.array([0] * len(messages), pa.int32()), pa.array([topic]))
    columns: list[Any] = [
        [message.offset() for message in messages],
        [time for _, time in times],
        [kind for kind, _ in times],
        [message.key() for message in messages],
        [message.value() for message in messages],
        [message.headers() for message in messages],
    ]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, list(SCHEMA)[1:], strict=True)]
    return pa.Table.from_arrays([name, *arrays], schema=SCHEMA)


def _open(s3: dict[str, Any]) -> fs.S3FileSystem:
    scheme, _, address = s3["endpoint"].partition("://")
    key, secret = (Path(s3[name]).read_text().strip() for name in ("accessKeyIdFile", "secretAccessKeyFile"))
    where = {"region": s3["region"], "endpoint_override": address, "scheme": scheme}
    return fs.S3FileSystem(access_key=key, secret_key=secret, **where)
