"""Which logs go with a WALCluster: decided once, when its deletion begins, and compared right before each delete.

An API server that is restored from a backup may bring back a WALCluster whose deletion had begun, long after its topics
were made anew or its deletion was called off. So the records of the logs keep what was decided (`intents.Going`): which
log, by its id, and where it ended. `status.deletion` says when that was complete: a topic that is found without such a
record later was made since. `deletion.py` says what is not as it was decided.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.kafka_log import DescribedTopic, LogOffsets, TopicFailure, TopicTrouble
from seawall.domain.ledger.fence import ObservedLog, first_record
from seawall.domain.ledger.intents import FenceRecord, Going
from seawall.domain.ledger.observation import ReadShards


@dataclass(frozen=True, slots=True)
class LogNow:
    """The log of a topic as Kafka has it."""

    topic_id: str
    offsets: LogOffsets


@dataclass(frozen=True, slots=True)
class PoolNow:
    """What Kafka and the records say of the topics of a pool, asked by name."""

    logs: Mapping[str, LogNow] = field(default_factory=dict)
    """Of those that Kafka has."""
    records: Mapping[str, FenceRecord] = field(default_factory=dict)
    unclear: Mapping[str, str] = field(default_factory=dict)
    """By topic why Kafka or the record of it could not be read, in one sentence."""


def make_pool_now(
    topics: Sequence[str],
    described: Mapping[str, DescribedTopic | TopicFailure],
    offsets: Mapping[str, LogOffsets | TopicFailure],
    shards: ReadShards,
) -> PoolNow:
    """Puts together what was read; a topic that Kafka does not know is in none of it but the records."""
    unclear = shards.why_unreadable(topics)
    logs: dict[str, LogNow] = {}
    for name in topics:
        match described.get(name), offsets.get(name):
            case DescribedTopic(topic_id), LogOffsets() as ends:
                logs[name] = LogNow(topic_id, ends)
            case (TopicFailure(TopicTrouble.UNKNOWN_TOPIC), _) | (_, TopicFailure(TopicTrouble.UNKNOWN_TOPIC)):
                pass
            case (TopicFailure() as failure, _) | (_, TopicFailure() as failure):
                unclear[name] = failure.message
            case _:
                unclear[name] = f"Kafka did not answer for topic {name}"
    return PoolNow(logs, shards.of_topics(topics), unclear)


def decided(cluster: WALCluster, record: FenceRecord | None) -> Going | None:
    """What the deletion of this WALCluster decided about a log."""
    is_ours = record is not None and record.going is not None and record.going.token == _token(cluster)
    return record.going if record is not None and is_ours else None


def records_to_decide(cluster: WALCluster, pool: PoolNow) -> dict[str, FenceRecord]:
    """The records to write, of logs that Kafka has and about which nothing was decided yet."""
    return {
        name: replace(
            pool.records.get(name) or first_record_of(log), going=Going(_token(cluster), log.offsets.high_watermark)
        )
        for name, log in pool.logs.items()
        if decided(cluster, pool.records.get(name)) is None
    }


def ids_to_delete(
    cluster: WALCluster, topics: Sequence[str], pool: PoolNow, doubted: Collection[str] = ()
) -> dict[str, str]:
    """The ids of those of these topics that were decided to go, whether Kafka shows them or not.

    Those that are `doubted` go by no answer that may be an old one: nobody waits for what Kafka does not show.
    """
    return {
        name: record.topic_id
        for name in topics
        if (record := pool.records.get(name)) is not None and decided(cluster, record) is not None
        if name in pool.logs or name not in doubted
    }


def _token(cluster: WALCluster) -> int:
    return zlib.crc32(cluster.metadata.uid.encode())


def first_record_of(
    log: LogNow, readopted: int | None = None, revision: int | None = None, readopted_at: int | None = None
) -> FenceRecord:
    """The record of a log about which no database was asked."""
    ends = log.offsets
    observed = ObservedLog(
        log.topic_id, ends.leader_epoch, ends.log_start, ends.high_watermark, None, revision=revision
    )
    return first_record(observed, readopted, readopted_at)
