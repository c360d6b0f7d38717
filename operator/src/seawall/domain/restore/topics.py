"""The topics of a restore: made when the database is stopped, removed when an attempt failed, adopted when it passed.

    Preparing   none of them exists (recorded) → claimed → made → their ids recorded → the request is frozen
    Removing    those whose ids are recorded go; then the next attempt, or the end (removal.py)
    Adopting    their records begin anew: purges and restarts go on by them (adoption.py)

Between "none exists" and "their ids are recorded" a topic that appears is ours if it is empty: topics with a record
are made by nobody else, and a database that could make them is stopped. A topic with records goes only if nobody can
have written them but the job: the StatefulSet of the datanodes is what it was, without replicas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from seawall.api.v1alpha1.restore_status import RestoredTopic, RestoreStage
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.domain.kafka import NewTopic
from seawall.domain.kafka_log import DescribedTopic, LogOffsets
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.needs import record_end
from seawall.domain.restore.actions import ClaimTopics, MakeTopics
from seawall.domain.restore.attempt import freeze
from seawall.domain.restore.case import NO_TOPIC, Case, DatabaseNow, PoolNow, RestoreDecision
from seawall.domain.restore.contract import plan_request, write_restore_request
from seawall.domain.restore.kafka_now import is_shown, why_silent
from seawall.domain.restore.reasons import Reason
from seawall.domain.spark_job.request import PATHS, kafka_of
from seawall.domain.text import listed
from seawall.domain.times import REMOVED_LINGER
from seawall.domain.topics.pool import desired_configs


def prepare(case: Case) -> RestoreDecision:
    """Makes the topics, and once their ids are recorded freezes the request of the restore."""
    pool = pool_for_writing(case)
    if not isinstance(pool, PoolNow):
        return pool
    if not case.status.none_existed:
        return _require_none(case, pool)
    return _prepare(case, pool)


def _prepare(case: Case, pool: PoolNow) -> RestoreDecision:
    if was_started(case):
        return case.attempt_is_over(Outcome.INTERRUPTED, "the database was started while the topics were made")
    if any(row.topic_id is None for row in case.status.planned):
        return _make_all(case, pool)
    if (changed := why_changed(case, pool)) is not None:
        return case.attempt_is_over(Outcome.FAILED, changed, Reason.TOPIC_CHANGED)
    if (absent := wait_for_absent(case, pool)) is not None:
        return absent
    return _freeze(case)


def pool_for_writing(case: Case, why: Callable[[PoolNow, str], str | None] = why_silent) -> PoolNow | RestoreDecision:
    """What Kafka has, if the database is stopped and nobody else is at work; or what is waited for.

    `why` says why not enough is known of a topic.
    """
    other, database, pool = case.observed.other, case.observed.database, case.observed.pool
    if other is not None:
        verdict = case.goes_on(Reason.OTHER_RESTORE, f"WALRestore {other} is at work on the same WALCluster")
        return case.becomes(verdict, none_existed=False) if not _has_ids(case) else case.stays(verdict)
    if (waits := wait_for_stop(case, database)) is not None:
        return waits
    if not isinstance(pool, PoolNow):
        return case.stays(case.goes_on(Reason.KAFKA_UNREACHABLE, pool or "nobody has asked yet"))
    if (silent := why_unknown(case, pool, why)) is not None:
        return case.stays(case.goes_on(Reason.KAFKA_UNREACHABLE, silent))
    wanted = case.kafka.topics.replication_factor
    if pool.online < wanted:
        message = f"{pool.online} brokers are online, and replicationFactor is {wanted}"
        return case.stays(case.goes_on(Reason.TOO_FEW_BROKERS, message))
    return pool


def wait_for_stop(case: Case, database: DatabaseNow | None) -> RestoreDecision | None:
    """Nothing is begun, or removed, while the database runs, or nobody can say; None: it is stopped."""
    if database is not None and database.runs is False:
        return None
    reason = Reason.DATABASE_RUNNING if database is not None and database.runs else Reason.DATABASE_UNKNOWN
    return case.waits_for_a_person(reason, "nobody has asked yet" if database is None else database.message)


def was_started(case: Case) -> bool:
    """Whether the database runs, or may have run, since before the topics were made."""
    database, stopped_as = case.observed.database, case.status.stopped_as
    if database is None or database.runs is None:
        return False
    return database.runs or (stopped_as is not None and database.stopped_as != stopped_as)


def _has_ids(case: Case) -> bool:
    return any(row.topic_id is not None for row in case.status.planned)


def why_unknown(case: Case, pool: PoolNow, why: Callable[[PoolNow, str], str | None] = why_silent) -> str | None:
    """Why nobody knows what there is of a topic, in Kafka or in Seawall's records; None: it is known of all."""
    names = planned_names(case)
    silent = [found for name in names if (found := why(pool, name)) is not None]
    return next(iter((*silent, *pool.shards.why_unreadable(names).values())), None)


def planned_names(case: Case) -> list[str]:
    """The topics that come back."""
    return [row.name for row in case.status.planned]


def _others_with_records(case: Case, pool: PoolNow) -> list[str]:
    """Topics that are asked for, that the backup does not have, and that are not known to be empty."""
    there = [
        row.name
        for row in case.status.topics
        if not row.planned and isinstance(pool.described.get(row.name), DescribedTopic)
    ]
    return [name for name in there if has_records(pool, name)]


def _require_none(case: Case, pool: PoolNow) -> RestoreDecision:
    there = [row.name for row in case.status.planned if is_shown(pool, row.name, row.removed_id)]
    if there:
        message = f"Kafka has {listed(there)}: nothing is written to a topic that is there"
        return case.ends(Reason.TOPIC_NOT_EMPTY, message)
    if (changed := _why_outdated(case, pool)) is not None:
        return case.ends(Reason.PLAN_CHANGED, changed)
    if (others := _others_with_records(case, pool)) and case.spec.target.point is not None:
        message = f"Kafka has {listed(others)}, with records that restore point {case.spec.target.point} does not have"
        return case.ends(Reason.TOPIC_NOT_EMPTY, f"{message}: the database would read them; delete it first")
    stopped_as = None if case.observed.database is None else case.observed.database.stopped_as
    verdict = case.goes_on(Reason.MAKING_TOPICS, "Kafka has none of the topics")
    return case.becomes(verdict, none_existed=True, made_time=case.now, stopped_as=stopped_as)


def _why_outdated(case: Case, pool: PoolNow) -> str | None:
    """A record that is another one than when it was planned: the log went on, or somebody else restored it."""
    records = pool.shards.of_topics(planned_names(case))
    for row in case.status.planned:
        record = records.get(row.name)
        now = None if record is None or record.topic_id == NO_TOPIC else record.topic_id
        if now != row.recorded_id or (now is not None and record_end(record) > row.recorded_end):
            return f"Seawall's record of {row.name} is another one than when this was planned"
    return None


def _unclaimed(case: Case, pool: PoolNow) -> dict[str, FenceRecord]:
    """Records for topics that have none, of a log that there never was: broken, until the real one is adopted."""
    known = pool.shards.of_topics(planned_names(case))
    return {
        name: FenceRecord(NO_TOPIC, None, 0, 0, intent=0, broken=True)
        for name in planned_names(case)
        if name not in known
    }


def _make_all(case: Case, pool: PoolNow) -> RestoreDecision:
    """Nobody else makes what is claimed; what is there then is ours, and its ids are recorded."""
    unclaimed = _unclaimed(case, pool)
    if unclaimed:
        return _claim(case, pool, unclaimed)
    missing = [row.name for row in case.status.planned if not is_shown(pool, row.name, row.removed_id)]
    return _make(case, missing) if missing else _record_ids(case, pool)


def _claim(case: Case, pool: PoolNow, unclaimed: Mapping[str, FenceRecord]) -> RestoreDecision:
    verdict = case.goes_on(Reason.MAKING_TOPICS, f"it claims {listed(list(unclaimed))}")
    return case.stays(verdict, ClaimTopics(pool.id, pool.shards.changed(unclaimed), tuple(unclaimed)))


def _make(case: Case, missing: list[str]) -> RestoreDecision:
    spec = case.kafka.topics
    configs = desired_configs(spec, spec.replication_factor)
    topics = tuple(NewTopic(name, spec.replication_factor, configs) for name in missing)
    return case.stays(case.goes_on(Reason.MAKING_TOPICS, f"it makes {listed(missing)}"), MakeTopics(topics))


def _record_ids(case: Case, pool: PoolNow) -> RestoreDecision:
    """Only of topics that nobody has written to: somebody else's are left as they are."""
    rows = []
    for row in case.status.topics:
        found, offsets = pool.described.get(row.name), pool.offsets.get(row.name)
        if not row.planned or not isinstance(found, DescribedTopic) or not isinstance(offsets, LogOffsets):
            rows.append(row)
            continue
        if offsets.high_watermark > 0:
            if may_be_removed(case, row):
                message = f"Kafka may still show the {row.name} of the attempt before"
                return case.stays(case.goes_on(Reason.KAFKA_UNREACHABLE, message))
            message = f"something wrote to {row.name} as soon as it was made: it is left as it is"
            return case.leaves(Reason.NOT_OURS, message)
        rows.append(row.model_copy(update={"topic_id": found.topic_id}))
    verdict = case.goes_on(Reason.MAKING_TOPICS, "the topics are made: nothing is written to others")
    return case.becomes(verdict, topics=tuple(rows))


def may_be_removed(case: Case, row: RestoredTopic) -> bool:
    """Whether offsets may be of a leader that has not heard yet that the topic of the attempt before is gone."""
    return row.removed_id is not None and case.now < (case.status.attempt_time or case.now) + REMOVED_LINGER


def why_changed(case: Case, pool: PoolNow) -> str | None:
    """A topic of the name of one that was made, and with another id: that is somebody else's."""
    for row in case.status.planned:
        found = pool.described[row.name]
        if isinstance(found, DescribedTopic) and found.topic_id not in {row.topic_id, row.removed_id}:
            return f"{row.name}, which this restore made, was made again by somebody else"
    return None


def wait_for_absent(case: Case, pool: PoolNow) -> RestoreDecision | None:
    """Brokers hear of topics one after another: one that is not shown is waited for."""
    for row in case.status.planned:
        if not is_shown(pool, row.name, row.removed_id):
            message = f"Kafka does not show {row.name}, which this restore made"
            return case.stays(case.goes_on(Reason.KAFKA_UNREACHABLE, message))
    return None


def _freeze(case: Case) -> RestoreDecision:
    plan, rows = case.status.plan, case.status.planned
    if plan is None:
        raise ValueError("who makes topics has a plan")
    kafka = kafka_of(case.external_kafka, case.cluster_id, PATHS)
    request = plan_request(case.spec, case.storage, case.status.topics)
    data = write_restore_request(case.subject, request, plan.digest, kafka, rows)
    return freeze(case, data, len(rows), RestoreStage.WRITING)


def has_records(pool: PoolNow, name: str) -> bool:
    """Whether the topic has, or had, records, or nobody can say."""
    offsets = pool.offsets.get(name)
    return not isinstance(offsets, LogOffsets) or offsets.high_watermark > 0
