"""The records of exact ranges of offsets, as a DataFrame."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

PATIENCE_MS = 30_000
"""So long a task waits for Kafka: nothing interrupts it meanwhile, so a topic that is gone takes a core as long."""
_TASKS_PER_CORE = 3
_MEBIBYTE = 1 << 20
_FETCHES = {
    # Bytes bound what a task has in memory: of a fetch as it came, and of records when they are decompressed, each of
    # which may have the megabyte that GreptimeDB's max_batch_bytes allows. Large fetches are cheap in CPU.
    "max.poll.records": "64",
    "fetch.max.bytes": str(64 * _MEBIBYTE),
    "max.partition.fetch.bytes": str(16 * _MEBIBYTE),
    "receive.buffer.bytes": str(_MEBIBYTE),
    "isolation.level": "read_committed",
}


@dataclass(frozen=True, slots=True)
class Range:
    """Offsets [start, end) of a topic's partition 0."""

    topic: str
    start: int
    end: int


def read_records(spark: SparkSession, options: Mapping[str, str], ranges: Sequence[Range]) -> DataFrame:
    """RECORDS of these ranges; the job fails when one cannot be read from end to end.

    Each Spark partition is a stretch of one topic, in the order of its offsets; large topics are split over the cores.
    """
    patience = dict.fromkeys(("default.api.timeout.ms", "request.timeout.ms"), str(PATIENCE_MS))
    reader = spark.read.format("kafka").options(
        **{f"kafka.{name}": value for name, value in (_FETCHES | patience | dict(options)).items()}
    )
    reader = reader.options(
        assign=json.dumps({part.topic: [0] for part in ranges}),
        startingOffsets=json.dumps({part.topic: {"0": part.start} for part in ranges}),
        endingOffsets=json.dumps({part.topic: {"0": part.end} for part in ranges}),
        minPartitions=str(max(len(ranges), _TASKS_PER_CORE * spark.sparkContext.defaultParallelism)),
        failOnDataLoss="true",
        **{"kafkaConsumer.pollTimeoutMs": str(PATIENCE_MS)},
    )
    return reader.load().select("topic", "offset", "key", "value")
