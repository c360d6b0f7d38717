"""What is a WALVerification's own: what it reads, what its application is told, and what a verdict means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.api.v1alpha1.spark_spec import SparkSpec
from seawall.api.v1alpha1.verification import (
    MAX_FINDINGS,
    TopicCounts,
    VerifiedTopic,
    WALVerificationSpec,
    WALVerificationStatus,
)
from seawall.api.v1alpha1.verification_template import VerificationSchedule, VerificationTemplate
from seawall.domain.spark_job.allowed import own_secrets
from seawall.domain.spark_job.application import (
    REQUEST_FOLDER,
    SNAPSHOT_FOLDER,
    SUMMARY_FILE,
    Body,
    Ended,
    Mount,
    Program,
    build_application,
    claim,
    kafka_secrets,
)
from seawall.domain.spark_job.attempt import verdict_of
from seawall.domain.spark_job.case import Case, JobDecision, JobKind, Request
from seawall.domain.spark_job.holding import rows_of, split_by_hold, wait_for_reports, why_none
from seawall.domain.spark_job.request import FILE, database_version
from seawall.domain.spark_job.selection import Selection, TopicRange
from seawall.domain.verification.contract import Summary, write_request
from seawall.domain.verification.reasons import Reason
from seawall.domain.verification.selection import select

MAIN_FILE = "local:///opt/seawall/verify.py"
REPORTS_FOLDER = "/reports"

VerificationCase = Case[WALVerificationSpec, WALVerificationStatus]
VerificationDecision = JobDecision[WALVerificationStatus]


class Verification(JobKind[WALVerificationSpec, WALVerificationStatus]):
    """Replays the log, and says whether it does."""

    noun: ClassVar = "verification"
    may: ClassVar = "verify it"
    purpose: ClassVar = "replay verification"
    does: ClassVar = "reads"
    nothing: ClassVar = "proved nothing"

    def declared(self, spec: WALClusterSpec) -> VerificationSchedule | None:
        """`spec.verification`."""
        return spec.verification

    def plan_hold(self, case: VerificationCase) -> Mapping[str, int] | VerificationDecision:
        """From the first offset on that any region would read."""
        selection = select(case.ledger, case.spec.selects)
        counts = TopicCounts(idle=len(selection.idle), not_read=len(selection.against))
        end = why_none(case, selection, counts, Reason.NOTHING_TO_REPLAY) or _wait_for_reports(case, selection)
        if end is not None:
            return end
        if not selection.readable:
            return case.ends(Reason.NOT_ALL_READ, f"no topic can be read: {selection.report()}")
        return {topic.name: topic.start for topic in selection.readable}

    def plan_request(self, case: VerificationCase, held: Mapping[str, object]) -> Request | VerificationDecision:
        """Of each topic that is held what is there now."""
        selection = select(case.ledger, case.spec.selects)
        patience = _wait_for_reports(case, selection)
        if patience is not None:
            return patience
        topics, left = split_by_hold(selection, held)
        if not topics:
            return case.attempt_ends(Outcome.INTERRUPTED, f"no topic that is held can be read: {selection.report()}")
        kafka, version = case.external_kafka, database_version(case.cluster, case.kafka)
        data = write_request(case.subject, case.spec, kafka, case.cluster_id, topics, database_version=version)
        return Request(data, len(topics), _announced(topics, left, selection))

    def application(
        self, case: VerificationCase, spark: SparkSpec, kafka: ExternalKafka
    ) -> tuple[Body, tuple[str, ...]]:
        """Snapshots are mounted by all pods, reports by the driver."""
        declared = self.declared(case.kafka)
        secrets = () if declared is None else own_secrets(declared)
        program = build_program(case.key, case.spec, case.status.request_digest or "")
        return build_application(case.key, program, spark, *kafka_secrets(kafka)), secrets

    def judge(self, case: VerificationCase, driver: Ended) -> VerificationDecision:
        """Of each topic whether it replays."""
        found = verdict_of(case, driver, Summary)
        if not isinstance(found, Summary):
            return found
        topics = tuple(row.model_copy(update={"verified": found.proves(row.name)}) for row in case.status.topics)
        counts = case.status.topic_counts or TopicCounts(total=len(topics))
        return case.attempt_ends(
            found.outcome,
            found.sentence,
            verdict_time=driver.finished_at,
            topics=topics,
            topic_counts=counts.model_copy(update={"verified": sum(row.verified for row in topics)}),
            counts=found.counts,
            report=found.report,
            findings=tuple(each.as_status() for each in found.findings[:MAX_FINDINGS]),
        )

    def conclude(self, case: VerificationCase) -> VerificationDecision:
        """Passed is the end only if all was read."""
        status, message = case.status, case.status.message or ""
        counts = status.topic_counts
        if status.outcome is not Outcome.PASSED:
            return case.ends(Reason.DOES_NOT_REPLAY, message)
        if counts is not None and counts.not_read:
            first = f": {status.not_read[0].topic} {status.not_read[0].reason}" if status.not_read else ""
            reported = f"{counts.verified} topics replay, and {counts.not_read} were not read{first}"
            return case.ends(Reason.NOT_ALL_READ, reported)
        return case.ends(Reason.VERIFIED, message, complete=True)


def build_program(key: Key, template: VerificationTemplate, digest: str) -> Program:
    """What runs for the attempt of this name."""
    snapshot = None if template.snapshot is None else template.snapshot.persistent_volume_claim
    reports = None if template.report is None else template.report.persistent_volume_claim
    shared: tuple[Mount, ...] = ()
    if snapshot is not None:
        shared = (claim("snapshot", snapshot, SNAPSHOT_FOLDER, read_only=True),)
    return Program(
        MAIN_FILE,
        (
            "--request",
            f"{REQUEST_FOLDER}/{FILE}",
            "--report",
            report_uri(key, template) or "-",
            "--summary",
            SUMMARY_FILE,
            "--digest",
            digest,
        ),
        shared,
        () if reports is None else (claim("reports", reports, REPORTS_FOLDER),),
    )


def report_uri(key: Key, template: VerificationTemplate) -> str | None:
    """Where the report of an attempt goes; None: nowhere."""
    report = template.report
    if report is None:
        return None
    if report.uri is not None:
        return f"{report.uri.rstrip('/')}/{key.name}.json"
    return f"file://{REPORTS_FOLDER}/{key.namespace}/{key.name}.json"


def _wait_for_reports(case: VerificationCase, selection: Selection) -> VerificationDecision | None:
    return wait_for_reports(
        case,
        may_pass=selection.may_pass(),
        watched_too_briefly=selection.watched_too_briefly,
        reported=selection.report(),
    )


def _announced(topics: tuple[TopicRange, ...], left: Mapping[str, str], selection: Selection) -> Mapping[str, object]:
    """What the status says before the request is there: what is said of topics is taken from nowhere else."""
    rows = tuple(
        VerifiedTopic(name=topic.name, topic_id=topic.topic_id, verified_from=topic.start, end=topic.end)
        for topic in topics
    )
    return {
        "topics": rows,
        "not_read": rows_of(left),
        "topic_counts": TopicCounts(total=len(rows), idle=len(selection.idle), not_read=len(left)),
    }
