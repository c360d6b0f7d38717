"""The topics of the target that rows go to: made where there are none, and their ids recorded before they are used.

The topic of rows is its readers' as well: one that is there is used as it is. That of progress is the subscription's
own, with a partition for each topic of the pool, and compacted: only the newest of each partition counts.
"""

from __future__ import annotations

from seawall.api.v1alpha1.subscription_sinks import RecordsSink
from seawall.api.v1alpha1.subscription_status import RecordsTopics, TargetTopic
from seawall.api.v1alpha1.topic_pool import MAX_COUNT
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.kafka import MIN_ISR, ConfigChange, NewTopic
from seawall.domain.min_isr import most_min_isr
from seawall.domain.subscription.actions import AddPartitions, GuardTargets
from seawall.domain.subscription.case import Case, SubscriptionDecision
from seawall.domain.subscription.committed.progress import find_lost
from seawall.domain.subscription.holding import wait_for_grant
from seawall.domain.subscription.logs import LogsNow
from seawall.domain.subscription.reasons import Reason
from seawall.domain.subscription.records.begin import begin, kept
from seawall.domain.subscription.targets import make
from seawall.domain.text import listed
from seawall.domain.topics.pool import is_same_value

MAX_MESSAGE = "max.message.bytes"
DEFAULT_MAX_MESSAGE = 1_048_588
"""Kafka's `message.max.bytes` where nobody sets anything."""
PROGRESS = {"cleanup.policy": "compact"}


def prepare(case: Case, sink: RecordsSink, source: LogsNow, target: LogsNow) -> SubscriptionDecision | None:
    """Makes topics, and records which are meant, and where each topic of the log begins; None: all has begun."""
    refusal = _why_not(case, source, target)
    if refusal is not None:
        return case.stays(refusal)
    if not is_recorded(case, sink):
        return wait_for_grant(case) or _make(case, sink, target) or _record(case, sink, target)
    return guard(case, target) or _grow(case, target) or begin(case, source)


def is_recorded(case: Case, sink: RecordsSink) -> bool:
    """Whether the status has the topics that the spec means."""
    found = case.status.records
    if found is None:
        return False
    return sink.dead_letters == (None if found.dead_letters is None else found.dead_letters.name)


def _why_not(case: Case, source: LogsNow, target: LogsNow) -> Verdict | None:
    """Rows among the records that they are made of would be read as the log again."""
    if source.cluster_id != target.cluster_id:
        return None
    prefix = f"{case.kafka.topics.prefix}_"
    wrong = [name for name in case.target_names if name.startswith(prefix)]
    if not wrong:
        return None
    message = f"topic {wrong[0]} is named as those of the log ({prefix}…), in the same Kafka: choose another name"
    return Verdict(Outlook.STALLED, Reason.TOPIC_OF_POOL, message)


def _make(case: Case, sink: RecordsSink, target: LogsNow) -> SubscriptionDecision | None:
    missing = [name for name in case.target_names if target.is_absent(name)]
    if not missing:
        return None
    partitions = {sink.topic: sink.partitions, case.progress_topic: _width(case)}
    topics = tuple(
        NewTopic(name, sink.replication_factor, _configs(case, sink, name), partitions=partitions.get(name, 1))
        for name in missing
    )
    return make(case, topics, target)


def _configs(case: Case, sink: RecordsSink, name: str) -> dict[str, str]:
    """For how long rows are kept is their readers' affair: the brokers' default, or what a person sets."""
    durable = {MIN_ISR: str(min(sink.min_in_sync_replicas, most_min_isr(sink.replication_factor)))}
    return {**durable, **(PROGRESS if name == case.progress_topic else {})}


def _record(case: Case, sink: RecordsSink, target: LogsNow) -> SubscriptionDecision:
    found = {name: _describe(target, name) for name in case.target_names}
    known = {name: topic for name, topic in found.items() if topic is not None}
    if len(known) < len(found):
        message = f"{listed([name for name in found if name not in known])} of the target is not known yet"
        return case.stays(case.goes_on(Reason.MAKING_TOPICS, message))
    before, verdict = case.status.records, case.goes_on(Reason.MAKING_TOPICS, f"rows go to {sink.topic}")
    records = RecordsTopics(
        # What is lost shows by another id than the one that was used first.
        rows=known[sink.topic] if before is None else before.rows,
        progress=known[case.progress_topic] if before is None else before.progress,
        dead_letters=None if sink.dead_letters is None else known[sink.dead_letters],
    )
    return case.becomes(verdict, records=records, target_cluster_id=target.cluster_id)


def _describe(target: LogsNow, name: str) -> TargetTopic | None:
    topic_id, configs = target.topic_id(name), target.configs.get(name)
    if topic_id is None or configs is None or not target.partitions(name):
        return None
    most = configs.get(MAX_MESSAGE, "")
    most_bytes = int(most) if most.isdigit() and int(most) else DEFAULT_MAX_MESSAGE
    return TargetTopic(name=name, id=topic_id, partitions=target.partitions(name), max_message_bytes=most_bytes)


def guard(case: Case, target: LogsNow) -> SubscriptionDecision | None:
    """A topic of progress that somebody has old segments deleted of would lose it."""
    records = case.status.records
    if records is None or target.topic_id(records.progress.name) != records.progress.id:
        return None
    now = target.configs.get(records.progress.name)
    if now is None:
        return None
    differs = {key: value for key, value in PROGRESS.items() if not is_same_value(now.get(key, ""), value)}
    if not differs:
        return None
    verdict = case.goes_on(Reason.MAKING_TOPICS, f"it sets configs of {records.progress.name}")
    return case.stays(verdict, GuardTargets((ConfigChange(records.progress.name, set=differs),)))


def _grow(case: Case, target: LogsNow) -> SubscriptionDecision | None:
    """The pool has grown: each topic has a partition of the progress for itself."""
    records, wanted = case.status.records, _width(case)
    if records is None or records.progress.partitions >= wanted:
        return None
    name, there = records.progress.name, target.partitions(records.progress.name)
    verdict = case.goes_on(Reason.MAKING_TOPICS, f"{name} gets {wanted} partitions")
    if there < wanted:
        return case.stays(verdict, AddPartitions(name, wanted)) if there else None
    progress = records.progress.model_copy(update={"partitions": there})
    return case.becomes(verdict, records=records.model_copy(update={"progress": progress}))


def _width(case: Case) -> int:
    """How many partitions the progress has: one for each topic of the pool, and of those beyond its count.

    At most as many as a pool may have topics: a topic beyond that does not begin, and people read so.
    """
    numbers = (case.kafka.topics.index_of(name) for name in case.selected)
    wanted = [number + 1 for number in numbers if number is not None and number < MAX_COUNT]
    return max([case.kafka.topics.count, *wanted])


def begun_anew(case: Case, target: LogsNow) -> dict[str, object]:
    """What the status becomes when a person begins anew: topics that have no position begin at the log start.

    Their progress counts for nothing then, because they are of another generation. Without the rows or the progress
    that there were, all topics of the log begin anew, and those of the target are made again.
    """
    records = case.status.records
    lost = None if records is None else find_lost(records, target)
    rows = () if lost is not None else kept(case)
    is_anew = len(rows) < len(case.status.topics)
    known = None if records is None or lost is not None else _refreshed(records, target)
    return {"topics": rows, "records": known, "generation": case.status.generation + is_anew}


def _refreshed(records: RecordsTopics, target: LogsNow) -> RecordsTopics:
    """What they take may be more by now."""

    def fresh(topic: TargetTopic) -> TargetTopic:
        found = _describe(target, topic.name)
        return topic if found is None else topic.model_copy(update={"max_message_bytes": found.max_message_bytes})

    update = {"rows": fresh(records.rows), "progress": fresh(records.progress)}
    return records.model_copy(update=update)
