"""What Kafka says of the logs of a pool, as the ledger wants it: a few requests, however many topics there are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import MIN_ISR, Configs, KafkaView
from seawall.domain.kafka_log import (
    AskedEpoch,
    DescribedTopic,
    EpochEnd,
    EpochUnknown,
    FirstSince,
    LogOffsets,
    LogSizes,
    TopicFailure,
)
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.observation import UnavailableReason
from seawall.domain.ledger.tables import TopicLog
from seawall.domain.topics.pool import wal_topics
from seawall.observe.memory import RecentTopics
from seawall.observe.opened_cluster import Blocked, OpenedCluster
from seawall.ports import KafkaLogs

COMPACT = "compact"
SEGMENT_BYTES = "segment.bytes"


def read_logs(opened: OpenedCluster, view: KafkaView, recent: RecentTopics, now: int) -> dict[str, TopicLog]:
    """Identity, ends and size of the log of each topic of the pool. What Kafka did not tell of a topic is None.

    Configs and sizes may be some seconds old (`recent`; `now` is the stopwatch's milliseconds), all else is read anew.

    The ids are read before the offsets: those of a topic that is recreated in between are taken for the old one's once,
    and before anything is deleted the ids are compared again.

    Raises:
        Blocked: Kafka did not answer, or Seawall's user may not describe the configs.
    """
    topics = wal_topics(opened.topics, view)
    if not topics:
        return {}
    led = [name for name in topics if view.topics[name].leader is not None]
    try:
        described = opened.logs.describe_topics(topics)
        ids = {name: found.topic_id for name in led if isinstance(found := described.get(name), DescribedTopic)}
        configs = recent.configs(opened.admin, ids, now)
        sizes = recent.sizes(opened.logs, ids, now)
        offsets = opened.logs.describe_offsets(topics)
    except (OutsideUnavailable, Refused) as error:
        raise Blocked(UnavailableReason.KAFKA, str(error)) from error
    logs = {
        name: _log(opened.topics, described.get(name), configs.get(name), sizes.get(name), offsets.get(name))
        for name in topics
    }
    segments = {name: int(configs.get(name, {}).get(SEGMENT_BYTES, opened.topics.segment_bytes)) for name in topics}
    return recent.with_record_sizes(logs, segments, now)


def _log(
    spec: TopicsSpec, described: object, configs: Configs | None, sizes: LogSizes | None, offsets: object
) -> TopicLog:
    """One topic's log. A topic without configs has no leader, and one without an id is taken for no topic."""
    if not isinstance(described, DescribedTopic) or not isinstance(offsets, LogOffsets) or configs is None:
        return TopicLog(described.topic_id if isinstance(described, DescribedTopic) else None, None, None, None)
    least = int(configs.get(MIN_ISR, spec.effective_min_in_sync_replicas()))
    return TopicLog(
        described.topic_id,
        offsets.leader_epoch,
        offsets.log_start,
        offsets.high_watermark,
        size_bytes=_size(described, sizes) if sizes is not None else None,
        under_min_isr=len(described.topic.isr) < least,
        compacted=COMPACT in configs.get("cleanup.policy", ""),
    )


def _size(described: DescribedTopic, sizes: LogSizes) -> int | None:
    """What the leader has on disk, or else the largest replica."""
    leader = described.topic.leader
    if leader is not None and leader in sizes.by_broker:
        return sizes.by_broker[leader]
    return max(sizes.by_broker.values(), default=None)


def read_epoch_ends(
    logs: KafkaLogs, records: Mapping[str, FenceRecord], known: Mapping[str, TopicLog]
) -> tuple[dict[str, int], dict[str, TopicLog]]:
    """Where the leader epochs of records end now, of those topics of which the offsets do not say it; and the logs.

    An epoch that the log never had ends at 0: everything of it is gone, or this is another log. A topic that Kafka did
    not answer for counts as not looked at, its offsets too: else a record would be renewed over a cut that nobody saw.
    Whoever leads in another epoch than the offsets are of does not answer: the end must be of the same log.

    Raises:
        Blocked: the connection makes no sense.
    """
    asked = {
        name: AskedEpoch(record.leader_epoch, current)
        for name, record in records.items()
        if record.leader_epoch is not None
        and (current := known[name].leader_epoch) is not None
        and _is_worth_asking(record, known[name])
    }
    try:
        answers = logs.describe_epoch_ends(asked) if asked else {}
    except OutsideUnavailable as error:
        raise Blocked(UnavailableReason.KAFKA, str(error)) from error
    ends = {name: answer.end_offset for name, answer in answers.items() if isinstance(answer, EpochEnd)}
    ends |= {name: 0 for name, answer in answers.items() if isinstance(answer, EpochUnknown)}
    silent = {name: TopicLog(known[name].topic_id, None, None, None) for name in asked.keys() - ends.keys()}
    return ends, {**known, **silent}


def read_cuts(
    logs: KafkaLogs, before: Mapping[str, TopicLog], known: Mapping[str, TopicLog]
) -> tuple[dict[str, int], dict[str, TopicLog]]:
    """Where logs end now that ended later when they were observed before; and the logs.

    The record of a log is renewed rarely: what was written since, cut off, and grown beyond does not show in it.

    Raises:
        Blocked: the connection makes no sense.
    """
    remembered = {
        name: FenceRecord(log.topic_id, log.leader_epoch, 0, log.high_watermark, intent=0)
        for name, log in before.items()
        if name in known and log.topic_id is not None and log.high_watermark is not None
    }
    ends, found = read_epoch_ends(logs, remembered, known)
    return {name: end for name, end in ends.items() if end < remembered[name].high_watermark}, found


def _is_worth_asking(record: FenceRecord, log: TopicLog) -> bool:
    """Another leader since, or a record that is newer than the offsets: another operator renewed it meanwhile."""
    if log.high_watermark is None or log.topic_id != record.topic_id:
        return False
    return log.leader_epoch != record.leader_epoch or log.high_watermark < record.high_watermark


def topic_ids(logs: KafkaLogs, names: Sequence[str]) -> dict[str, str]:
    """The ids of topics, without those that nobody tells; it asks nobody when there are no names."""
    try:
        return ids_of(logs.describe_topics(names)) if names else {}
    except OutsideUnavailable:
        return {}


def ids_of(described: Mapping[str, DescribedTopic | TopicFailure]) -> dict[str, str]:
    """The ids of those that were described."""
    return {name: found.topic_id for name, found in described.items() if isinstance(found, DescribedTopic)}


def describe_logs(
    logs: KafkaLogs, names: Sequence[str]
) -> tuple[Mapping[str, DescribedTopic | TopicFailure], Mapping[str, LogOffsets | TopicFailure]]:
    """What Kafka has of these topics, and the offsets of those that there are."""
    described = logs.describe_topics(names) if names else {}
    there = [name for name in names if isinstance(described.get(name), DescribedTopic)]
    return described, logs.describe_offsets(there) if there else {}


def written_since(logs: KafkaLogs, names: Collection[str], since: datetime) -> frozenset[str]:
    """Those of these topics, whose offsets are known, that have a record of then or later, by its timestamp.

    Raises:
        OutsideUnavailable: Kafka does not say so of one; one that is gone meanwhile has to be described again.
    """
    found = logs.find_first_since(names, since) if names else {}
    silent = next((each for each in found.values() if isinstance(each, TopicFailure)), None)
    if silent is not None:
        raise OutsideUnavailable(silent.message)
    return frozenset(
        name for name, first in found.items() if isinstance(first, FirstSince) and first.offset is not None
    )
