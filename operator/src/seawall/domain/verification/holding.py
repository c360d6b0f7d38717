"""Before the job: what will be read is held, and once the hold is granted it is written down for good."""

from __future__ import annotations

from seawall.api.meta import ConditionType, InvalidSpec
from seawall.api.v1alpha1.hold import WALHold, WALHoldSpec
from seawall.api.v1alpha1.verification import (
    MAX_NOT_READ,
    NotReadTopic,
    Outcome,
    TopicCounts,
    VerificationStage,
    VerifiedTopic,
    WALVerificationStatus,
)
from seawall.api.v1alpha1.verification_template import MAX_TOPICS
from seawall.domain.conditions import find_condition
from seawall.domain.decision import Decision
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.observation import Observation, Unavailable, UnavailableReason
from seawall.domain.times import VERIFICATION_PATIENCE, VERIFICATION_SLACK
from seawall.domain.verification.actions import FreezeRequest, PlaceHold
from seawall.domain.verification.allowed import kafka_of_job
from seawall.domain.verification.case import Case, VerificationDecision, check_request, ended, is_granted, name_taken
from seawall.domain.verification.contract import FILE, MAX_BYTES, database_version, digest_of, write_request
from seawall.domain.verification.reasons import Reason
from seawall.domain.verification.selection import Selection, TopicRange, select


def hold(case: Case) -> VerificationDecision:
    """Places the hold, waits for the grant, writes the request, and goes on to the job."""
    found = case.observed.hold
    if found is not None and found.metadata.controller_uid != case.uid:
        return name_taken(case, "WALHold")
    if case.observed.request is not None and case.observed.request.controller_uid != case.uid:
        return name_taken(case, "ConfigMap")
    if found is None:
        return _place(case)
    if not is_granted(found):
        return _wait_for(case, found)
    return _freeze(case, found)


def _place(case: Case) -> VerificationDecision:
    if case.observed.request is not None:
        return case.attempt_ends(Outcome.INTERRUPTED, f"WALHold {case.key.name} was deleted by somebody else")
    observation = case.observed.observation
    if not isinstance(observation, Observation):
        return unavailable(case, observation)
    selection = select(observation, case.spec)
    end = _nothing_to_read(case, selection)
    if end is not None:
        return end
    patience = _wait_for_reports(case, selection)
    if patience is not None:
        return patience
    if not selection.readable:
        return ended(case.status, case.now, Reason.NOT_ALL_READ, f"no topic can be read: {_reported(selection)}")
    spec = WALHoldSpec(
        cluster_ref=case.spec.cluster_ref,
        topics={topic.name: topic.start for topic in selection.readable},
        ttl=case.spec.timeout + VERIFICATION_SLACK,
        reason=f"replay verification {case.obj.metadata.name}, attempt {case.status.attempt}",
    )
    verdict = case.goes_on(Reason.HOLDING, f"it places a hold on {len(selection.readable)} topics")
    return case.stays(verdict, PlaceHold(case.key, spec))


def _wait_for_reports(case: Case, selection: Selection) -> VerificationDecision | None:
    """An operator that started a moment ago waits for itself, however long the attempt takes already."""
    began = case.status.attempt_time or case.now
    if not selection.may_pass() or (case.now >= began + VERIFICATION_PATIENCE and not selection.watched_too_briefly):
        return None
    message = f"it waits until all regions have reported: {_reported(selection)}"
    return case.stays(case.goes_on(Reason.OBSERVING, message))


def _nothing_to_read(case: Case, selection: Selection) -> VerificationDecision | None:
    """The end, if no topic is selected, too many are, or nothing of them is ever replayed."""
    status = case.status.model_copy(update={"topic_counts": _counts(selection)})
    if not selection.count:
        message = f"no topic of WALCluster {case.cluster.metadata.name} is selected by spec.topics"
        return ended(status, case.now, Reason.NO_TOPICS, message)
    if len(selection.readable) + len(selection.against) > MAX_TOPICS:
        message = (
            f"{selection.count} topics are selected, and one verification reads at most {MAX_TOPICS}: "
            "narrow spec.topics, and make several"
        )
        return ended(case.status, case.now, Reason.TOO_MANY_TOPICS, message)
    if not selection.readable and not selection.against:
        message = f"no region writes to any of the {selection.count} topics"
        return ended(status, case.now, Reason.NOTHING_TO_REPLAY, message, complete=True)
    return None


def _wait_for(case: Case, found: WALHold) -> VerificationDecision:
    state, condition = found.status.state, find_condition(found.status.conditions, ConditionType.READY)
    reported = condition.message if condition is not None else "nobody has looked at it yet"
    if (state is not None and state.is_final) or found.metadata.deletion_timestamp is not None:
        return case.attempt_ends(Outcome.INTERRUPTED, f"WALHold {found.metadata.name} was lost: {reported}")
    return case.stays(case.goes_on(Reason.HOLDING, f"WALHold {found.metadata.name} is not granted yet: {reported}"))


def _freeze(case: Case, found: WALHold) -> VerificationDecision:
    """Says in the status what will be read, of a look that began after the grant; then writes exactly that down.

    A process that dies in between has lost the look, and its successor says in the status what it sees itself.
    """
    if case.observed.request is not None:
        return _go_on(case)
    observation = case.observed.observation
    if not isinstance(observation, Observation):
        return unavailable(case, observation)
    selection = select(observation, case.spec)
    patience = _wait_for_reports(case, selection)
    if patience is not None:
        return patience
    held = {} if isinstance(found.spec, InvalidSpec) else found.spec.topics
    topics = tuple(topic for topic in selection.readable if _is_held(topic, held.get(topic.name)))
    if not topics:
        return case.attempt_ends(Outcome.INTERRUPTED, f"no topic that is held can be read: {_reported(selection)}")
    external, version = kafka_of_job(case.kafka), database_version(case.cluster, case.kafka)
    data = write_request(case.subject, case.spec, external, _cluster_id(case), topics, database_version=version)
    if len(data) > MAX_BYTES:
        message = f"the request takes {len(data)} bytes, and a ConfigMap 1 MiB: narrow spec.topics, and make several"
        return ended(case.status, case.now, Reason.TOO_MANY_TOPICS, message)
    config_map = ConfigMap(case.key, {}, binary_data={FILE: data}, is_immutable=True)
    verdict = case.goes_on(Reason.SUBMITTING, f"it writes down what is to be read of {len(topics)} topics")
    return Decision(_announced(case, data, topics, selection), verdict, (FreezeRequest(config_map, len(topics)),))


def _is_held(topic: TopicRange, held_from: object) -> bool:
    return isinstance(held_from, int) and held_from <= topic.start


def _announced(case: Case, data: bytes, topics: tuple[TopicRange, ...], selection: Selection) -> WALVerificationStatus:
    """The status that names the request before it is there: what is said of topics is taken from nowhere else."""
    read = {topic.name for topic in topics}
    left = {name: str(reason) for name, reason in selection.against.items()}
    left |= {topic.name: "NotHeld" for topic in selection.readable if topic.name not in read}
    rows = tuple(
        VerifiedTopic(name=topic.name, topic_id=topic.topic_id, verified_from=topic.start, end=topic.end)
        for topic in topics
    )
    update = {
        "request_digest": digest_of(data),
        "topics": rows,
        "not_read": tuple(NotReadTopic(topic=name, reason=left[name]) for name in sorted(left)[:MAX_NOT_READ]),
        "topic_counts": TopicCounts(total=len(rows), idle=len(selection.idle), not_read=len(left)),
    }
    return case.status.model_copy(update=update)


def _go_on(case: Case) -> VerificationDecision:
    """The request stands: the job may begin, if it is the one that the status names."""
    end = check_request(case)
    if end is not None:
        return end
    update = {"stage": VerificationStage.RUNNING, "application_name": case.key.name}
    verdict = case.goes_on(Reason.SUBMITTING, f"it makes SparkApplication {case.key.name}")
    return Decision(case.status.model_copy(update=update), verdict)


def unavailable(case: Case, found: Unavailable | None) -> VerificationDecision:
    """The ledger cannot be looked at: visibly waits, unless there never will be anything to look at."""
    message = "nothing was looked at yet" if found is None else found.message
    if found is not None and found.why is UnavailableReason.NO_DATA_PLANE:
        return ended(case.status, case.now, Reason.NO_DATA_PLANE, message)
    return case.stays(case.goes_on(Reason.CANNOT_OBSERVE, message))


def _cluster_id(case: Case) -> str:
    """The look has met Kafka: it is pinned."""
    return case.cluster.status.kafka.cluster_id if case.cluster.status.kafka is not None else ""


def _counts(selection: Selection) -> TopicCounts:
    return TopicCounts(idle=len(selection.idle), not_read=len(selection.against))


def _reported(selection: Selection) -> str:
    """The first few topics that cannot be read."""
    shown = [f"{name} {reason}" for name, reason in sorted(selection.against.items())]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""  # noqa: PLR2004 - as many as one reads
    return f"{', '.join(shown[:3])}{more}"
