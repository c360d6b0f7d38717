"""What is a WALBackup's own: what it copies, what its application is told, and what a verdict means."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.resource import Resource
from seawall.api.v1alpha1.backup import (
    MAX_BACKUP_FINDINGS,
    BackedUpTopic,
    BackupProof,
    BackupTopicCounts,
    WALBackup,
    WALBackupSpec,
    WALBackupStatus,
)
from seawall.api.v1alpha1.backup_template import BackupSpec
from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.spark_job import JobStage, Outcome
from seawall.api.v1alpha1.spark_spec import SparkSpec
from seawall.domain.backup.bracket import (
    BackupCase,
    BackupDecision,
    await_snapshot,
    begin,
    end_of_fallen,
    end_of_point,
    needed_by_point,
)
from seawall.domain.backup.contract import BackupPlan, Summary, backup_name, write_request
from seawall.domain.backup.parent import as_parent, rows_to_continue
from seawall.domain.backup.program import build_program, secrets_of
from seawall.domain.backup.reasons import Reason
from seawall.domain.backup.retention import Expiry, Surroundings, find_needed, plan_expiry
from seawall.domain.backup.selection import BackupSelection, names_of_pool, select
from seawall.domain.conditions import ConditionBuilder, Verdict, as_status
from seawall.domain.spark_job.application import Body, Ended, build_application, kafka_secrets
from seawall.domain.spark_job.attempt import verdict_of
from seawall.domain.spark_job.case import JobKind, Request
from seawall.domain.spark_job.holding import rows_of, split_by_hold, wait_for_reports, why_none
from seawall.domain.spark_job.request import PATHS, database_version, kafka_of
from seawall.domain.spark_job.selection import TopicRange


class Backup(JobKind[WALBackupSpec, WALBackupStatus]):
    """Copies the log to a store, and says what is there."""

    noun: ClassVar = "backup"
    may: ClassVar = "back it up"
    purpose: ClassVar = "backup"
    does: ClassVar = "copies"
    nothing: ClassVar = "wrote nothing that counts"

    def declared(self, spec: WALClusterSpec) -> BackupSpec | None:
        """`spec.backup`."""
        return spec.backup

    def plan_hold(self, case: BackupCase) -> Mapping[str, int] | BackupDecision:
        """From where the parent ended; else from where a restart would begin to read."""
        selection = self._selection(case)
        if not isinstance(selection, BackupSelection):
            return selection
        topics = selection.topics
        counts = BackupTopicCounts(idle=len(topics.idle), not_backed_up=len(topics.against))
        end = why_none(case, topics, counts, Reason.NOTHING_TO_BACK_UP) or _wait_for_reports(case, selection)
        if end is not None:
            return end
        if not topics.readable:
            return case.ends(Reason.NOT_ALL_BACKED_UP, f"no topic can be backed up: {topics.report()}")
        return end_of_point(case, topics.readable) or {topic.name: topic.start for topic in topics.readable}

    def plan_request(self, case: BackupCase, held: Mapping[str, object]) -> Request | BackupDecision:
        """Of each topic that is held all that is there now; of a restore point, once the snapshot is taken."""
        selection = self._selection_of_request(case, held)
        if not isinstance(selection, BackupSelection):
            return selection
        found = selection.topics
        topics, left = split_by_hold(found, held)
        if not topics:
            message = f"no topic that is held can be backed up: {found.report()}"
            return case.attempt_ends(Outcome.INTERRUPTED, message)
        problem = end_of_point(case, topics, left)
        if problem is not None:
            return problem
        plan = _plan(case, selection)
        expiring = () if plan.expiry is None else tuple(each.name for each in plan.expiry.chains)
        kafka = kafka_of(case.external_kafka, case.cluster_id, PATHS)
        data = write_request(case.subject, plan, kafka, topics)
        update = {
            "location": plan.storage.describe(),
            "chain": plan.chain,
            "cluster_id": case.cluster_id,
            "expiring": expiring,
            "topics": tuple(map(_row, topics)),
            "not_backed_up": rows_of(left),
            "topic_counts": BackupTopicCounts(
                total=len(topics),
                idle=len(found.idle),
                not_backed_up=len(left),
                beyond_replay=selection.beyond_replay or None,
                silent=selection.silent,
            ),
        }
        return Request(data, len(topics), update)

    def holds_for(self, spec: WALBackupSpec) -> timedelta:
        """The snapshot takes its time, too; and before it may begin, what is known of the chain that it continues."""
        if spec.bracket is None:
            return spec.timeout
        return spec.timeout + spec.bracket.timeout * (1 if spec.parent_ref is None else 2)

    def needs_observation(self, obj: Resource[Any, WALBackupStatus]) -> bool:
        """Not while a person takes a snapshot."""
        point = obj.status.restore_point
        return point is None or point.snapshot is not None

    def waits_since(self, status: WALBackupStatus) -> datetime | None:
        """Of a restore point since its snapshot was taken."""
        point = status.restore_point
        times = (status.attempt_time, None if point is None else point.snapshot_time)
        return max((time for time in times if time is not None), default=None)

    def kept_for_next(self, status: WALBackupStatus) -> Mapping[str, object]:
        """A snapshot that is taken, or is being taken, may still be used."""
        return {"restore_point": status.restore_point}

    def own_conditions(
        self, obj: Resource[Any, WALBackupStatus], verdict: Verdict, build: ConditionBuilder
    ) -> tuple[Condition, ...]:
        """Whether the snapshot of a restore point may be taken."""
        if isinstance(obj.spec, InvalidSpec) or obj.spec.bracket is None:
            return ()
        is_open = verdict.reason == Reason.AWAITING_SNAPSHOT
        return (build(ConditionType.BRACKETED, as_status(is_open), verdict.reason, verdict.message),)

    def application(self, case: BackupCase, spark: SparkSpec, kafka: ExternalKafka) -> tuple[Body, tuple[str, ...]]:
        """The store's access key is mounted by the driver, its CA or claim by all pods."""
        declared = _declared(case)
        program = build_program(
            "backup", declared.storage, case.status.request_digest or "", deletes=bool(case.status.expiring)
        )
        return build_application(case.key, program, spark, *kafka_secrets(kafka)), secrets_of(
            declared.storage, declared
        )

    def goes_by_details(self, status: WALBackupStatus) -> bool:
        """As long as its driver deletes something, or will."""
        return status.stage is JobStage.RUNNING and bool(status.expiring)

    def why_withdrawn(self, case: BackupCase) -> str | None:
        """Because something of its list must not be deleted any more."""
        listed, found = case.status.expiring, case.observed.details
        if not listed:
            return None
        if case.cluster.metadata.stops_deletes:
            return f"it was to delete chain {listed[0]}, and seawall.dev/stop-deletes is set"
        if not isinstance(found, Surroundings):
            return f"it was to delete chain {listed[0]}, and its policy declares no retention any more"
        needed = find_needed(found, case.status)
        return None if needed is None else f"it was to delete chain {needed}, which is needed now"

    def judge(self, case: BackupCase, driver: Ended) -> BackupDecision:
        """Its manifest counts from here on."""
        found = verdict_of(case, driver, Summary)
        if not isinstance(found, Summary):
            return found
        point = case.status.restore_point
        if found.outcome is Outcome.PASSED and point is not None and found.restore_point != point.name:
            message = (
                "the image wrote a backup and no restore point: use that of this release, and take another snapshot"
            )
            return case.attempt_ends(Outcome.REFUSED, message)
        if found.outcome is Outcome.PASSED and found.manifest is None:
            return case.attempt_ends(Outcome.INTERRUPTED, "the driver says that all is well, and names no manifest")
        is_good = found.outcome is Outcome.PASSED
        asked = case.status.expiring
        expiry = None if found.expired is None or not asked else found.expired.as_status(asked)
        proof = None if found.verified is None else BackupProof(level=found.verified, time=case.now)
        return case.attempt_ends(
            found.outcome,
            found.sentence,
            manifest=found.manifest if is_good else None,
            verified=proof if is_good else None,
            expiry=expiry if is_good else None,
            counts=found.counts,
            findings=tuple(each.as_status() for each in found.findings[:MAX_BACKUP_FINDINGS]),
        )

    def conclude(self, case: BackupCase) -> BackupDecision:
        """Passed is the end only if all was copied, and as much was proved as was asked for."""
        status, message = case.status, case.status.message or ""
        if status.outcome is not Outcome.PASSED:
            return self._failed(case, message)
        counts, wanted = status.topic_counts, case.spec.verify.level
        proved = None if status.verified is None else status.verified.level
        if proved is not wanted:
            return case.ends(Reason.DAMAGED, f"level {wanted} was asked for, and the job proved {proved}")
        if counts is not None and counts.not_backed_up:
            first = "".join(f": {row.topic} {row.reason}" for row in status.not_backed_up[:1])
            left_out = f"{counts.total} topics are backed up, and {counts.not_backed_up} are not{first}"
            return case.ends(Reason.NOT_ALL_BACKED_UP, left_out)
        return case.ends(Reason.BACKED_UP, message, complete=True)

    def _failed(self, case: BackupCase, message: str) -> BackupDecision:
        if case.status.findings:
            return case.ends(Reason.DAMAGED, message)
        return case.ends(Reason.CHAIN_ENDED if case.spec.parent_ref is not None else Reason.LOG_CHANGED, message)

    def _selection_of_request(self, case: BackupCase, held: Mapping[str, object]) -> BackupSelection | BackupDecision:
        """What is copied, now that it is held; or what has to happen first."""
        point = case.status.restore_point
        if point is not None and point.snapshot is None:
            return await_snapshot(case, point)
        selection = self._selection(case)
        if not isinstance(selection, BackupSelection):
            return selection
        patience = _wait_for_reports(case, selection)
        begins = case.spec.bracket is not None and point is None
        return patience or (begin(case, selection, held) if begins else selection)

    def _selection(self, case: BackupCase) -> BackupSelection | BackupDecision:
        """What is copied; or the end, because the parent cannot be continued."""
        topics: Mapping[str, BackedUpTopic] = {}
        if case.spec.parent_ref is not None:
            parent = as_parent(case.observed.parent, case.spec, _declared(case).storage)
            if isinstance(parent, str):
                return case.ends(Reason.PARENT_UNUSABLE, f"WALBackup {case.spec.parent_ref.name} {parent}")
            if case.observed.sibling is not None:
                message = f"WALBackup {parent.metadata.name} is continued by {case.observed.sibling} already"
                return case.ends(Reason.PARENT_UNUSABLE, message)
            topics = rows_to_continue(parent)
        pool = names_of_pool(case.ledger, case.kafka.topics)
        selection = select(case.ledger, set(filter(case.spec.selects, pool)), topics, needed_by_point(case))
        if selection.break_ is not None:
            return case.ends(Reason.CHAIN_ENDED, selection.break_)
        if selection.fallen is not None:
            return end_of_fallen(case, selection.fallen)
        return selection


def _row(topic: TopicRange) -> BackedUpTopic:
    return BackedUpTopic(
        name=topic.name, topic_id=topic.topic_id, start=topic.start, end=topic.end, chain_start=topic.chain_start
    )


def _declared(case: BackupCase) -> BackupSpec:
    if case.kafka.backup is None:
        raise ValueError("a WALCluster that declares nothing allows no backup")
    return case.kafka.backup


def _plan(case: BackupCase, selection: BackupSelection) -> BackupPlan:
    name, storage, parent = backup_name(case.subject), _declared(case).storage, case.observed.parent
    config = {"max.message.bytes": str(case.kafka.topics.max_message_bytes)}
    level, version = case.spec.verify.level, database_version(case.cluster, case.kafka)
    chain, before = name, None
    if isinstance(parent, WALBackup) and parent.status.chain is not None:
        chain, before = parent.status.chain, parent.status.manifest
    expiry = None if selection.beyond_replay else _expiry(case, storage.describe(), chain)
    return BackupPlan(name, chain, storage, before, level, version, config, case.status.restore_point, expiry)


def _expiry(case: BackupCase, location: str, chain: str) -> Expiry | None:
    """Only the first attempt deletes: what kept that from its end must not keep the others from theirs."""
    found, stops = case.observed.details, case.cluster.metadata.stops_deletes
    if not isinstance(found, Surroundings) or stops or case.status.attempt > 1:
        return None
    return plan_expiry(found, location, case.cluster_id, chain)


def _wait_for_reports(case: BackupCase, selection: BackupSelection) -> BackupDecision | None:
    reported = ", ".join(f"{name} {reason}" for name, reason in sorted(selection.waits_for.items())[:3])
    return wait_for_reports(
        case,
        may_pass=bool(selection.waits_for),
        watched_too_briefly=selection.topics.watched_too_briefly,
        reported=reported,
    )
