"""A restore into scratch topics: they are made, written, read back, and deleted, whatever becomes of it.

    Preparing   the finalizer stands → none of them exists (recorded) → made → their ids recorded → request
    Writing     the application ends, well or not
    Removing    those whose ids are recorded go; none is there for a while; then Completed, the next attempt, or Failed
    (the end)   the finalizer goes
    (deleted)   at any stage: the application and the topics go, then the finalizer

Nothing of the pool or the database is asked or touched: the names are nobody's, the topics have no records of
Seawall's, and are deleted by their ids. What is in them is in the store, so they go also with records of others.
"""

from __future__ import annotations

from seawall.api.meta import SCRATCH_FINALIZER, ConditionType
from seawall.api.v1alpha1.backup_template import BackupLevel
from seawall.api.v1alpha1.restore import ScratchTopics
from seawall.api.v1alpha1.restore_status import MAX_RESTORE_FINDINGS, RestoreStage
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.domain.conditions import find_condition
from seawall.domain.kafka import MIN_ISR, NewTopic
from seawall.domain.kafka_log import DescribedTopic
from seawall.domain.restore.actions import KeepForScratch, MakeTopics
from seawall.domain.restore.attempt import freeze, run, verdict_of
from seawall.domain.restore.case import Case, RestoreDecision, ScratchNow
from seawall.domain.restore.contract import RestoreSummary, ScratchProof, plan_request, write_restore_request
from seawall.domain.restore.reasons import Reason
from seawall.domain.restore.scratch_removal import into, is_there, why_unknown, with_ids
from seawall.domain.spark_job.application import Ended
from seawall.domain.spark_job.request import PATHS, database_version, kafka_of
from seawall.domain.text import listed
from seawall.domain.topics.pool import desired_configs

_OF_STORE = frozenset(
    {"ChainBroken", "ObjectMissing", "ObjectChanged", "SectionUnreadable", "SectionChanged", "OffsetsMissing"}
)
"""Kinds of findings about the backup itself."""
_OF_TOPIC = frozenset({"NotOurs", "NotRestored"})
"""Kinds of findings about what was written."""


def why_late(case: Case) -> RestoreDecision | None:
    """The end of a drill that waits for its beginning longer than an attempt may take; None: it may wait on."""
    status = case.status
    waits = status.stage in {RestoreStage.INSPECTING, RestoreStage.PREPARING} and case.observed.application is None
    if not waits or case.now < (status.attempt_time or case.now) + case.spec.timeout:
        return None
    ready = find_condition(status.conditions, ConditionType.READY)
    message = f"it could not begin in time: {'' if ready is None else ready.message}"
    return case.attempt_is_over(Outcome.FAILED, message, Reason.BEGINS_LATE)


def prepare(case: Case, scratch: ScratchTopics) -> RestoreDecision:
    """Makes the topics, and once their ids are recorded freezes the request."""
    if case.observed.other is not None:
        message = f"WALRestore {case.observed.other} is at work on the same WALCluster"
        return case.stays(case.goes_on(Reason.OTHER_RESTORE, message))
    now = case.observed.scratch
    if (unknown := why_unknown(case.status, now)) is not None or not isinstance(now, ScratchNow):
        return case.stays(case.goes_on(Reason.KAFKA_UNREACHABLE, unknown or ""))
    if now.online < scratch.replication_factor:
        message = f"{now.online} brokers are online, and scratch.replicationFactor is {scratch.replication_factor}"
        return case.stays(case.goes_on(Reason.TOO_FEW_BROKERS, message))
    if SCRATCH_FINALIZER not in case.obj.metadata.finalizers:
        verdict = case.goes_on(Reason.MAKING_TOPICS, "it makes sure that its topics go with it")
        return case.stays(verdict, KeepForScratch())
    return _make(case, scratch, now) or _freeze(case, scratch)


def _make(case: Case, scratch: ScratchTopics, now: ScratchNow) -> RestoreDecision | None:
    """What makes topics, or waits for them; None: all are there, and their ids are recorded."""
    status, planned = case.status, case.status.planned
    absent = [into(row) for row in planned if not is_there(row, now)]
    if not status.none_existed and len(absent) < len(planned):
        there = [into(row) for row in planned if is_there(row, now)]
        message = f"Kafka has {listed(there)}: nothing is written to a topic that is there"
        return case.ends(Reason.TOPIC_NOT_EMPTY, message)
    if not status.none_existed:
        return case.becomes(case.goes_on(Reason.MAKING_TOPICS, "Kafka has none of the topics"), none_existed=True)
    if all(row.topic_id is not None for row in planned):
        return _why_not_there(case, now)
    if absent:
        # As the pool's: what the job would refuse there it refuses here. But with a broker's own default of 2 a topic
        # of one replica takes no records.
        configs = {**desired_configs(case.kafka.topics, scratch.replication_factor), MIN_ISR: "1"}
        topics = tuple(NewTopic(name, scratch.replication_factor, configs) for name in absent)
        return case.stays(case.goes_on(Reason.MAKING_TOPICS, f"it makes {listed(absent)}"), MakeTopics(topics))
    rows = with_ids(status, now)
    if rows == status.topics:
        theirs = [into(row) for row in planned if row.topic_id is None]
        message = f"something wrote to {listed(theirs)} as soon as it was made: it is left as it is"
        return case.attempt_is_over(Outcome.FAILED, message, Reason.NOT_RESTORED)
    return case.becomes(case.goes_on(Reason.MAKING_TOPICS, "the topics are made"), topics=rows)


def _why_not_there(case: Case, now: ScratchNow) -> RestoreDecision | None:
    """A topic that was made again by somebody else ends the attempt; one that is not shown is waited for."""
    for row in case.status.planned:
        found = now.described.get(into(row))
        if not is_there(row, now):
            message = f"Kafka does not show {into(row)}, which this restore made"
            return case.stays(case.goes_on(Reason.KAFKA_UNREACHABLE, message))
        if isinstance(found, DescribedTopic) and found.topic_id != row.topic_id:
            message = f"{into(row)}, which this restore made, was made again by somebody else"
            return case.attempt_is_over(Outcome.FAILED, message, Reason.TOPIC_CHANGED)
    return None


def _freeze(case: Case, scratch: ScratchTopics) -> RestoreDecision:
    plan, rows = case.status.plan, case.status.planned
    if plan is None:
        raise ValueError("who makes topics has a plan")
    kafka = kafka_of(case.external_kafka, case.cluster_id, PATHS)
    level = BackupLevel.INTEGRITY if scratch.decode else BackupLevel.CHECKSUMS
    proof = ScratchProof(level, database_version(case.cluster, case.kafka))
    request = plan_request(case.spec, case.storage, case.status.topics)
    data = write_restore_request(case.subject, request, plan.digest, kafka, rows, proof=proof)
    return freeze(case, data, len(rows), RestoreStage.WRITING)


def write(case: Case) -> RestoreDecision:
    """Follows the application."""
    return run(case, "restore", _judge)


def _judge(case: Case, driver: Ended) -> RestoreDecision:
    found, scratch = verdict_of(case, driver, RestoreSummary), case.spec.scratch
    if not isinstance(found, RestoreSummary):
        return found
    if found.outcome is Outcome.PASSED:
        if scratch is not None and scratch.decode and found.verified is not BackupLevel.INTEGRITY:
            message = "the image does not decode what it restores: use that of this release"
            return case.attempt_is_over(Outcome.FAILED, message, Reason.NOT_DECODED)
        return case.attempt_is_over(Outcome.PASSED, found.sentence)
    findings = tuple(each.as_status() for each in found.findings[:MAX_RESTORE_FINDINGS])
    kinds = {each.kind for each in findings}
    reason = Reason.NOT_DECODED if kinds else Reason.CHAIN_BROKEN
    if kinds & _OF_STORE:
        reason = Reason.CHAIN_BROKEN
    elif kinds & _OF_TOPIC:
        reason = Reason.NOT_RESTORED
    return case.attempt_is_over(Outcome.FAILED, found.sentence, reason, findings=findings)
