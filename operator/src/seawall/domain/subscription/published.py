"""What people meet of a subscription: its state, how far it is behind, its conditions, and the events of what changed.

Numbers are others at each look: they are written every half minute, or with what changes.
"""

from __future__ import annotations

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.subscription_status import (
    MAX_WORST,
    HandedOn,
    Lag,
    LaggingTopic,
    SubscriptionState,
    SubscriptionTopicCounts,
    WALSubscriptionStatus,
)
from seawall.domain.conditions import (
    ConditionBuilder,
    Verdict,
    as_status,
    find_condition,
    loss_event,
    transition_events,
    with_own,
)
from seawall.domain.decision import Published
from seawall.domain.spark_job.allowed import User, kafka_user
from seawall.domain.spark_job.application import works
from seawall.domain.step import Event, EventType
from seawall.domain.subscription.brokers import TargetReason, compare
from seawall.domain.subscription.case import Case, Observed
from seawall.domain.subscription.committed.chain import Chains
from seawall.domain.subscription.kept import describe_kept
from seawall.domain.subscription.logs import Halt, LogsNow, Position
from seawall.domain.times import SUBSCRIPTION_MEASURES


def _counts(case: Case) -> SubscriptionTopicCounts:
    stopped = sum(isinstance(each, Halt) for each in case.standings.values())
    return SubscriptionTopicCounts(total=len(case.rows), stopped=stopped)


def lag_of(case: Case) -> Lag | None:
    """How far it is behind; None: that is not known."""
    positions = [each for each in case.standings.values() if isinstance(each, Position)]
    if not positions:
        return None
    hold = case.own_hold
    return Lag(
        entries=sum(position.behind for position in positions),
        bytes=None if hold is None else hold.status.lag_bytes,
        seconds=max(case.observed.seconds_behind.values(), default=0),
    )


def _handed_on(case: Case) -> HandedOn | None:
    """Also of topics that stopped; while nobody says it, as it was."""
    if case.spec.sink.mirror is not None or not case.rows:
        return case.status.handed_on
    chains, rows = case.observed.chains, case.rows.values()
    found = chains.handed_on(rows) if isinstance(chains, Chains) else case.reader.handed_on(rows)
    return found or case.status.handed_on


def _worst(case: Case) -> tuple[LaggingTopic, ...]:
    """Those that are stopped, those of which it is not certain how far they are, then those that lack the most."""
    stopped = [
        LaggingTopic(
            topic=name,
            applied=each.offset,
            source_end=_source_end(case, name),
            reason=each.reason,
            message=each.message[:1024],
        )
        for name, each in case.standings.items()
        if isinstance(each, Halt)
    ]
    behind = [(name, each) for name, each in case.standings.items() if isinstance(each, Position)]
    rows = [
        LaggingTopic(topic=name, applied=each.applied, source_end=each.source_end, message=each.doubt[:1024])
        for name, each in sorted(behind, key=lambda found: (not found[1].doubt, -found[1].behind, found[0]))
        if each.behind or each.doubt
    ]
    return tuple((stopped + rows)[:MAX_WORST])


def _source_end(case: Case, name: str) -> int | None:
    source = case.observed.source
    ends = source.ends(name) if isinstance(source, LogsNow) else None
    return None if ends is None else ends.high_watermark


def published(
    case: Case, status: WALSubscriptionStatus, state: SubscriptionState, verdict: Verdict
) -> Published[WALSubscriptionStatus]:
    """The status as it is written."""
    before = case.obj.status
    measured = {} if _is_fresh(case, state) else _as_status(case)
    build = ConditionBuilder(before.conditions, case.obj.metadata.generation, case.now)
    update = {
        **measured,
        "state": state,
        "observed_generation": case.obj.metadata.generation,
        "conditions": (
            *build.kstatus(verdict),
            _streams(case, build, verdict),
            *describe_kept(case.obj, case.observed.hold, state, build),
            *_target_safe(case, build),
            *_user(case, build),
        ),
    }
    found = status.model_copy(update=update)
    return Published(found, _events(case.obj, found))


def bare(obj: WALSubscription, observed: Observed, verdict: Verdict) -> Published[WALSubscriptionStatus]:
    """Of one whose WALCluster declares nothing for it, or is not there: what is known of it stays, but for its hold."""
    before, state = obj.status.conditions, obj.status.state or SubscriptionState.PENDING
    build = ConditionBuilder(before, obj.metadata.generation, observed.now)
    # Where its parts cannot be read, that there is no hold is not known either.
    held = () if observed.obstacle is not None else describe_kept(obj, observed.hold, state, build)
    own = (*build.kstatus(verdict), *held)
    update = {
        "state": state,
        "observed_generation": obj.metadata.generation,
        "conditions": with_own(before, own, {condition.type for condition in own}),
    }
    status = obj.status.model_copy(update=update)
    return Published(status, _events(obj, status))


def _is_fresh(case: Case, state: SubscriptionState) -> bool:
    """Whether the numbers that are written are new enough."""
    before = case.obj.status
    at = before.measured_time
    is_recent = at is not None and at <= case.now < at + SUBSCRIPTION_MEASURES
    return is_recent and state == before.state and _counts(case) == before.counts


def _as_status(case: Case) -> dict[str, object]:
    return {
        "counts": _counts(case),
        "lag": lag_of(case),
        "worst": _worst(case),
        "handed_on": _handed_on(case),
        "measured_time": case.now.replace(microsecond=0),
    }


def _streams(case: Case, build: ConditionBuilder, verdict: Verdict) -> Condition:
    streams = works(case.observed.application, case.observed.driver)
    return build(ConditionType.STREAMING, as_status(streams), verdict.reason, verdict.message)


def _target_safe(case: Case, build: ConditionBuilder) -> tuple[Condition, ...]:
    """Whether late writers are kept out; as it was, until somebody asks."""
    before = find_condition(case.status.conditions, ConditionType.TARGET_SAFE)
    if case.observed.brokers is None:
        return () if before is None else (before,)
    reason, sentence = compare(case.observed.brokers)
    status = "Unknown" if reason is TargetReason.UNKNOWN else as_status(reason is TargetReason.SAFE)
    return (build(ConditionType.TARGET_SAFE, status, reason, sentence),)


def _user(case: Case, build: ConditionBuilder) -> tuple[Condition, ...]:
    """As whom the job reads the source. None where Kafka asks nobody who they are."""
    user = kafka_user(case.cluster, case.kafka, case.declared, "subscription")
    if user is None:
        return ()
    return (build(ConditionType.OWN_KAFKA_USER, as_status(user.whose is User.OWN), user.whose, user.message),)


def _events(obj: WALSubscription, status: WALSubscriptionStatus) -> tuple[Event, ...]:
    before, after = obj.status.conditions, status.conditions
    budget = loss_event(before, after, ConditionType.WITHIN_BUDGET, "within the budget again")
    safe = loss_event(before, after, ConditionType.TARGET_SAFE, "late writers are kept out again")
    user = loss_event(before, after, ConditionType.OWN_KAFKA_USER, "its own user again")
    return (
        *_stops(obj.status, status),
        *transition_events(before, after),
        *(event for event in (budget, safe, user) if event is not None),
    )


def _stops(before: WALSubscriptionStatus, after: WALSubscriptionStatus) -> tuple[Event, ...]:
    """One for each topic that has just been stopped for good."""
    known = {row.name for row in before.topics if row.stopped is not None}
    return tuple(
        Event(EventType.WARNING, row.stopped.value, row.message)
        for row in after.topics
        if row.stopped is not None and row.name not in known
    )
