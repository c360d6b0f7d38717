"""Before anything is made: what would come back is planned by an application, and a person approves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seawall.api.meta import RESTORE_ANNOTATION
from seawall.api.v1alpha1.restore_status import (
    MAX_RESTORE_FINDINGS,
    RestoredTopic,
    RestorePlanStatus,
    RestoreStage,
    WALRestoreStatus,
)
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.api.v1alpha1.verification_template import MAX_TOPICS
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.ledger.needs import TopicNeeds, record_end
from seawall.domain.restore.attempt import freeze, run, verdict_of
from seawall.domain.restore.case import NO_TOPIC, Case, RestoreDecision
from seawall.domain.restore.contract import Planned, PlannedCounts, PlanSummary, write_plan_request
from seawall.domain.restore.reasons import Reason
from seawall.domain.restore.scratch_names import into_scratch
from seawall.domain.spark_job.application import Ended
from seawall.domain.spark_job.case import MAX_MESSAGE
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.text import listed
from seawall.domain.times import JOB_PATIENCE


def inspect(case: Case) -> RestoreDecision:
    """Records what the database needs, freezes the request of the plan, and waits for the plan."""
    if not case.status.topics:
        return _choose(case)
    if case.status.application_name is None:
        data = write_plan_request(case.subject, case.spec, case.storage, case.status.topics)
        return freeze(case, data, len(case.status.topics), RestoreStage.INSPECTING)
    return run(case, "plan", _judge)


def _choose(case: Case) -> RestoreDecision:
    """Which topics are meant, and what the database says of them, for good: the plan is made of this."""
    names = case.observed.names
    if not names:
        return case.ends(JobReason.NO_TOPICS, f"no topic of WALCluster {case.cluster.metadata.name} is selected")
    if len(names) > MAX_TOPICS:
        message = f"{len(names)} topics are selected, and one restore writes at most {MAX_TOPICS}: narrow spec.topics"
        return case.ends(JobReason.TOO_MANY_TOPICS, message)
    others = sorted({*(case.spec.pad_to or ()), *(case.spec.target.offsets or ())} - set(names))
    if others:
        return case.ends(JobReason.NO_TOPICS, f"{others[0]} is no topic of the pool that spec.topics selects")
    unknown = _unknown(case, names)
    if unknown is not None and case.spec.pad_above_flushed:
        return case.stays(
            case.goes_on(
                Reason.FLUSHED_UNKNOWN,
                f"{unknown}: let it run, and flush, until this is planned, or set padTo, or leave it out",
            )
        )
    if unknown is not None and case.now < (case.status.attempt_time or case.now) + JOB_PATIENCE:
        return case.stays(case.goes_on(JobReason.OBSERVING, f"it asks the database what it has: {unknown}"))
    needs = case.observed.needs or {}
    rows = into_scratch(case.obj, (_row(case, name, needs.get(name)) for name in names))
    verdict = case.goes_on(JobReason.SUBMITTING, f"it plans what comes back of {len(names)} topics")
    return case.becomes(verdict, topics=rows, location=case.storage.describe())


def _unknown(case: Case, names: Sequence[str]) -> str | None:
    """Why nobody knows all that the database has; None: it says so of each topic, or a person, or it is not asked."""
    needs, padded = case.observed.needs, case.spec.pad_to or {}
    if case.spec.scratch is not None:
        return None
    if needs is None:
        return "nobody has asked yet"
    if case.spec.target.point is not None:
        return None  # its files and metadata will be those of the snapshot: what it has now does not matter
    return next((needs[name].unknown for name in names if needs[name].unknown and name not in padded), None)


def _row(case: Case, name: str, needs: TopicNeeds | None) -> RestoredTopic:
    """What is known counts, also where it may not be all.

    Where the database does not answer, and an earlier time is meant, its files come from elsewhere: only it could say.
    """
    wanted, pads = (case.spec.pad_to or {}).get(name, 0), case.spec.pad_above_flushed
    if needs is None:
        return RestoredTopic(name=name, pad_to=wanted or None)
    is_point = case.spec.target.point is not None
    counts = not is_point and (needs.is_observed or pads or case.spec.target.latest is not None)
    record = needs.record
    return RestoredTopic(
        name=name,
        pad_to=max(wanted, needs.end if pads else 0) or None,
        reads_from=None if is_point else needs.reads_from,
        needed_end=(needs.end or None) if counts else None,
        compared=is_point or needs.unknown is None,
        recorded_id=None if record is None or record.topic_id == NO_TOPIC else record.topic_id,
        recorded_end=record_end(record),
    )


def _judge(case: Case, driver: Ended) -> RestoreDecision:
    found = verdict_of(case, driver, PlanSummary)
    if not isinstance(found, PlanSummary):
        return found
    if found.outcome is Outcome.FAILED:
        findings = tuple(each.as_status() for each in found.findings[:MAX_RESTORE_FINDINGS])
        return case.ends(Reason.CHAIN_BROKEN, found.sentence, outcome=Outcome.FAILED, findings=findings)
    places = frozenset[int]() if found.plan is None else found.plan.places()
    rows = tuple(row.model_copy(update={"planned": at in places}) for at, row in enumerate(case.status.topics))
    if found.plan is None or found.counts is None or sum(row.planned for row in rows) != found.counts.topics:
        return case.attempt_is_over(Outcome.INTERRUPTED, "the driver says that all is well, and names no plan")
    return _planned(case, found.sentence, found.plan, found.counts, rows)


def _planned(
    case: Case, sentence: str, planned: Planned, counts: PlannedCounts, rows: tuple[RestoredTopic, ...]
) -> RestoreDecision:
    plan = RestorePlanStatus(
        digest=planned.digest, name=planned.name, restore_point=planned.restore_point, **counts.model_dump()
    )
    case = replace(case, obj=replace(case.obj, status=case.status.model_copy(update={"plan": plan, "topics": rows})))
    most = case.kafka.topics.max_message_bytes
    missed = sorted(row.name for row in rows if not row.planned and row.name in (case.spec.pad_to or {}))
    if missed:
        name = f"padTo names {listed(missed)}, of which the backup has nothing"
        message = f"{name}: name another backup, or the others in spec.topics"
        return case.ends(JobReason.REQUEST_REFUSED, message, outcome=Outcome.REFUSED)
    if not counts.topics:
        return case.ends(Reason.NOTHING_TO_RESTORE, sentence, outcome=Outcome.PASSED)
    if counts.largest_record > most:
        needs = f"the largest record needs batches of {counts.largest_record} bytes"
        message = f"{needs}, and topics.maxMessageBytes is {most}"
        return case.ends(Reason.RECORD_TOO_LARGE, message, outcome=Outcome.PASSED)
    scratch, needed = case.spec.scratch, counts.bytes + counts.padding  # a null takes 0.6 bytes
    if scratch is not None and needed > scratch.max_bytes:
        message = f"{counts.bytes} bytes would come back, and scratch.maxBytes is {scratch.max_bytes}"
        padding = f"{counts.padding} records of null would be written, too, which count a byte each"
        enough = f"of {listed([row.name for row in rows if row.planned])} that is {needed} in all"
        return case.ends(Reason.TOO_LARGE, f"{message}; {padding}: {enough}", outcome=Outcome.PASSED)
    return case.becomes(
        Verdict(Outlook.PAUSED, Reason.AWAITING_APPROVAL, sentence, 0.0),
        stage=RestoreStage.AWAITING_APPROVAL,
        interruptions=0,
        outcome=Outcome.PASSED,
        message=sentence[:MAX_MESSAGE],
    )


_DOUBT = " (the database did not say all that it has: the ledger does, when it runs again)"


def _missing(status: WALRestoreStatus) -> str:
    """The topics of which nothing comes back; a log that begins anew below what the database has is worse than none."""
    names = [row.name for row in status.topics if not row.planned]
    known = [row.name for row in status.topics if not row.planned and row.needed_end]
    warning = f" (the database has entries of {listed(known)}: in a topic that is made anew it would skip new rows)"
    return f", nothing of {listed(names)}{warning if known else ''}" if names else ""


def and_besides(status: WALRestoreStatus) -> str:
    """What else to know: the topics that the backup does not have, and the snapshot that belongs to it; clauses."""
    missing = _missing(status)
    point = None if status.plan is None else status.plan.restore_point
    if point is None:
        return missing
    files = f"the database's files and metadata must be those of snapshot {point.snapshot} before it is started"
    return f"{missing}; what was written after restore point {point.name} is given up, and {files}"


def await_approval(case: Case) -> RestoreDecision:
    """Nothing is made before the annotation names the plan."""
    plan = case.status.plan
    if plan is None:
        raise ValueError("who waits for an approval has a plan")
    if case.spec.scratch is not None or case.obj.metadata.approves_restore(plan.digest):
        verdict = case.goes_on(Reason.MAKING_TOPICS, "the plan is approved")
        return case.next_attempt(RestoreStage.PREPARING, verdict)
    doubt = "" if all(row.compared for row in case.status.planned) else _DOUBT
    message = (
        f"{plan.records} records of {plan.topics} topics come back, and {plan.lost_at_most} offsets are lost at most"
        f"{doubt}{and_besides(case.status)}: stop the database, and set "
        f"{RESTORE_ANNOTATION}: {plan.digest} to let it begin"
    )
    return case.stays(Verdict(Outlook.PAUSED, Reason.AWAITING_APPROVAL, message))
