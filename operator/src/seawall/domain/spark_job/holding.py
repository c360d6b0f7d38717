"""Before the job: what will be read is held, and once the hold is granted it is written down for good."""

from __future__ import annotations

from collections.abc import Mapping

from seawall.api.meta import ConditionType, InvalidSpec, StatusModel
from seawall.api.v1alpha1.hold import WALHold, WALHoldSpec
from seawall.api.v1alpha1.spark_job import MAX_NOT_READ, JobStage, NotReadTopic, Outcome
from seawall.api.v1alpha1.verification_template import MAX_TOPICS
from seawall.domain.conditions import Outlook, Verdict, find_condition
from seawall.domain.decision import Decision
from seawall.domain.ledger.observation import Observation, Unavailable, UnavailableReason
from seawall.domain.spark_job.actions import FreezeRequest, PlaceHold
from seawall.domain.spark_job.case import (
    GRANTED,
    Case,
    JobDecision,
    SpecT,
    StatusT,
    check_request,
    is_granted,
    name_taken,
)
from seawall.domain.spark_job.following import frozen_request
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.spark_job.request import digest_of
from seawall.domain.spark_job.selection import Selection, TopicRange
from seawall.domain.times import JOB_PATIENCE, JOB_RETRY_SECONDS, JOB_SLACK


def hold(case: Case[SpecT, StatusT]) -> JobDecision[StatusT]:
    """Places the hold, waits for the grant, writes the request, and goes on to the job."""
    found = case.observed.hold
    if found is not None and found.metadata.controller_uid != case.uid:
        return name_taken(case, "WALHold")
    if case.observed.request is not None and case.observed.request.controller_uid != case.uid:
        return name_taken(case, "ConfigMap")
    if found is None:
        return _place(case)
    if (unreadable := wait_to_read(case, found)) is not None:
        return unreadable
    if not is_granted(found):
        return _wait_for(case, found)
    return _freeze(case, found)


def wait_to_read(case: Case[SpecT, StatusT], found: WALHold) -> JobDecision[StatusT] | None:
    """What comes of a hold of which nobody can say what it keeps: it is not lost; None: it can be read, or is over."""
    name, status = found.metadata.name, found.status
    if status.is_final or found.metadata.deletion_timestamp is not None:
        return None
    if isinstance(found.spec, InvalidSpec):
        message = f"WALHold {name} cannot be read: {found.spec.message}; upgrade CRDs and operator together"
        return case.stays(Verdict(Outlook.STALLED, JobReason.INVALID_SPEC, message, JOB_RETRY_SECONDS))
    if status.state in GRANTED and find_condition(status.conditions, ConditionType.GRANTED) is None:
        message = f"WALHold {name} can be read again, and nobody has looked at it since"
        return case.stays(case.goes_on(JobReason.HOLDING, message))
    return None


def _place(case: Case[SpecT, StatusT]) -> JobDecision[StatusT]:
    if case.observed.request is not None:
        return case.attempt_ends(Outcome.INTERRUPTED, f"WALHold {case.key.name} was deleted by somebody else")
    if not isinstance(case.observed.observation, Observation):
        return _unavailable(case, case.observed.observation)
    topics = case.kind.plan_hold(case)
    if isinstance(topics, Decision):
        return topics
    spec = WALHoldSpec(
        cluster_ref=case.spec.cluster_ref,
        topics=dict(topics),
        ttl=case.kind.holds_for(case.spec) + JOB_SLACK,
        reason=f"{case.kind.purpose} {case.obj.metadata.name}, attempt {case.status.attempt}",
    )
    verdict = case.goes_on(JobReason.HOLDING, f"it places a hold on {len(topics)} topics")
    return case.stays(verdict, PlaceHold(case.key, spec))


def wait_for_reports(
    case: Case[SpecT, StatusT], *, may_pass: bool, watched_too_briefly: bool, reported: str
) -> JobDecision[StatusT] | None:
    """An operator that started a moment ago waits for itself, however long the attempt takes already."""
    began = case.kind.waits_since(case.status) or case.now
    if not may_pass or (case.now >= began + JOB_PATIENCE and not watched_too_briefly):
        return None
    message = f"it waits until all regions have reported: {reported}"
    return case.stays(case.goes_on(JobReason.OBSERVING, message))


def _wait_for(case: Case[SpecT, StatusT], found: WALHold) -> JobDecision[StatusT]:
    condition = find_condition(found.status.conditions, ConditionType.READY)
    reported = condition.message if condition is not None else "nobody has looked at it yet"
    if found.status.is_final or found.metadata.deletion_timestamp is not None:
        return case.attempt_ends(Outcome.INTERRUPTED, f"WALHold {found.metadata.name} was lost: {reported}")
    return case.stays(case.goes_on(JobReason.HOLDING, f"WALHold {found.metadata.name} is not granted yet: {reported}"))


def _freeze(case: Case[SpecT, StatusT], found: WALHold) -> JobDecision[StatusT]:
    """Says in the status what will be read, of a look that began after the grant; then writes exactly that down.

    A process that dies in between has lost the look, and its successor says in the status what it sees itself.
    """
    if case.observed.request is not None:
        return _go_on(case)
    if not isinstance(case.observed.observation, Observation) and case.kind.needs_observation(case.obj):
        return _unavailable(case, case.observed.observation)
    request = case.kind.plan_request(case, found.status.granted)  # what its spec claims by now may not be granted
    if isinstance(request, Decision):
        return request
    kept = frozen_request(case.key, request.data)
    if isinstance(kept, str):
        return case.ends(JobReason.TOO_MANY_TOPICS, kept)
    verdict = case.goes_on(JobReason.SUBMITTING, f"it writes down what is to be read of {request.topics} topics")
    status = case.status.model_copy(update={"request_digest": digest_of(request.data), **request.update})
    return Decision(status, verdict, (FreezeRequest(kept, request.topics),))


def why_none(
    case: Case[SpecT, StatusT], selection: Selection, counts: StatusModel, nothing: str
) -> JobDecision[StatusT] | None:
    """The end, if no topic is selected, too many are, or nothing of them is ever replayed, for which reason."""
    if not selection.count:
        message = f"no topic of WALCluster {case.cluster.metadata.name} is selected by spec.topics"
        return case.ends(JobReason.NO_TOPICS, message, topic_counts=counts)
    if len(selection.readable) + len(selection.against) > MAX_TOPICS:
        message = (
            f"{selection.count} topics are selected, and one {case.kind.noun} {case.kind.does} at most {MAX_TOPICS}: "
            "narrow spec.topics, and make several"
        )
        return case.ends(JobReason.TOO_MANY_TOPICS, message)
    if not selection.readable and not selection.against:
        message = f"no region writes to any of the {selection.count} topics"
        return case.ends(nothing, message, complete=True, topic_counts=counts)
    return None


def split_by_hold(selection: Selection, held: Mapping[str, object]) -> tuple[tuple[TopicRange, ...], Mapping[str, str]]:
    """The topics of which a hold keeps all records that are read, and by topic why the others are left out."""
    topics = tuple(topic for topic in selection.readable if _is_held(topic.start, held.get(topic.name)))
    read = {topic.name for topic in topics}
    left = {name: str(reason) for name, reason in selection.against.items()}
    return topics, left | {topic.name: "NotHeld" for topic in selection.readable if topic.name not in read}


def rows_of(left: Mapping[str, str]) -> tuple[NotReadTopic, ...]:
    """As many as a status has."""
    return tuple(NotReadTopic(topic=name, reason=left[name]) for name in sorted(left)[:MAX_NOT_READ])


def _is_held(start: int, held_from: object) -> bool:
    return isinstance(held_from, int) and held_from <= start


def _go_on(case: Case[SpecT, StatusT]) -> JobDecision[StatusT]:
    """The request stands: the job may begin, if it is the one that the status names."""
    end = check_request(case)
    if end is not None:
        return end
    update = {"stage": JobStage.RUNNING, "application_name": case.key.name}
    verdict = case.goes_on(JobReason.SUBMITTING, f"it makes SparkApplication {case.key.name}")
    return Decision(case.status.model_copy(update=update), verdict)


def _unavailable(case: Case[SpecT, StatusT], found: Unavailable | None) -> JobDecision[StatusT]:
    """The ledger cannot be looked at: visibly waits, unless there never will be anything to look at."""
    message = "nothing was looked at yet" if found is None else found.message
    if found is not None and found.why is UnavailableReason.NO_DATA_PLANE:
        return case.ends(JobReason.NO_DATA_PLANE, message)
    return case.stays(case.goes_on(JobReason.CANNOT_OBSERVE, message))
