"""The schedule of verifications of a WALCluster: which are due, which are kept, and what its status says of it.

A name is the WALCluster's, and the minute for which the verification was due: creating it twice makes one, and when the
last one was due is read from the names. So nothing has to be remembered, as long as the newest stay. Of a pool that is
too large for one verification there are several for one time, each of a slice of its topics.

The controller of the schedule writes this condition; whoever writes the others keeps it.

    being deleted, paused, no schedule, a bad one → those beyond the history limits go
    → the last time that is due, unless verifications of another time are not over: those of its slices that are missing

A time that passed while nothing could begin is made up for once, as with policies of purges. What is wrong with a
schedule, and that the API server refuses its verifications, is told by the WALCluster's condition VerificationScheduled
before anything is done; a failure stands there while the same is tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Self

from seawall.api.meta import Condition, ConditionType, InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.purge_template import ClusterRef
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.api.v1alpha1.verification import WALVerification, WALVerificationSpec
from seawall.api.v1alpha1.verification_template import MAX_TOPICS, VerificationSchedule, VerificationTemplate
from seawall.domain.conditions import ConditionBuilder, Outlook, Verdict, find_condition, loss_event, with_own
from seawall.domain.decision import FAILURES, Decision, Published, silent
from seawall.domain.events import EventReason
from seawall.domain.schedule import BadSchedule, Cron, TimeInName, beyond_history, newest, period, read_cron
from seawall.domain.spark_job.actions import MAX_NAME
from seawall.domain.step import Event, EventType
from seawall.domain.times import SCHEDULE_OBSERVE_SECONDS
from seawall.domain.verification.doubts import why_it_stays
from seawall.domain.verification.reasons import ScheduledReason

_TIME = TimeInName("%y%m%d%H%M", 10)
_SLICE_LENGTH = 3
MAX_CLUSTER_NAME = MAX_NAME - _TIME.length - _SLICE_LENGTH - 2


def read_times(spec: VerificationSchedule, now: datetime) -> Cron | BadSchedule | None:
    """When verifications are due; None: only when somebody makes one."""
    return None if spec.schedule is None else read_cron(spec.schedule, spec.time_zone, now)


def expected_verifications(cluster: WALCluster, now: datetime) -> timedelta | None:
    """The time from one verification to the next; None: none is expected, or nobody can say when."""
    spec = None if isinstance(cluster.spec, InvalidSpec) else cluster.spec.verification
    times = None if spec is None or spec.suspend else read_times(spec, now)
    return period(times, now) if isinstance(times, Cron) else None


def expected_since(cluster: WALCluster) -> datetime | None:
    """Since when verifications are due by a schedule, as its condition says; None: none is expected.

    A schedule that is wrong, or whose verifications are refused, was meant to have some.
    """
    spec = None if isinstance(cluster.spec, InvalidSpec) else cluster.spec.verification
    found = find_condition(cluster.status.conditions, KIND)
    if spec is None or spec.suspend or found is None or found.reason == SUSPENDED:
        return None
    return found.last_transition_time


def why_name_too_long(cluster: WALCluster) -> str | None:
    """Why verifications cannot be named after a WALCluster; None: they can."""
    if len(cluster.metadata.name) <= MAX_CLUSTER_NAME:
        return None
    return f"the name is longer than {MAX_CLUSTER_NAME} characters: its verifications could not be named after it"


def slices(topics: tuple[str, ...], spec: VerificationSchedule) -> tuple[tuple[str, ...], ...]:
    """What each verification of one time is told of topics: what the schedule says, or in slices names."""
    selected = [topic for topic in topics if spec.selects(topic)]
    if len(selected) <= MAX_TOPICS:
        return (spec.topics,)
    return tuple(tuple(selected[at : at + MAX_TOPICS]) for at in range(0, len(selected), MAX_TOPICS))


def run_names(cluster: str, due: datetime, count: int) -> tuple[str, ...]:
    """The names of the verifications for one time."""
    base = f"{cluster}-{_TIME.write(due)}"
    return (base,) if count == 1 else tuple(f"{base}-{number}" for number in range(count))


def due_time(cluster: str, name: str) -> datetime | None:
    """The time for which a verification was due, by its name; None when it is no such name."""
    rest = name.removeprefix(f"{cluster}-")
    return None if rest == name else _TIME.read(rest[: _TIME.length])


@dataclass(frozen=True, slots=True)
class OwnVerifications:
    """The verifications that a WALCluster controls, by the time for which they were due, the oldest first."""

    by_time: tuple[tuple[datetime, tuple[WALVerification, ...]], ...]

    @classmethod
    def of(cls, cluster: WALCluster, found: Iterable[WALVerification]) -> Self:
        """Picks them out of all of the namespace."""
        grouped: dict[datetime, list[WALVerification]] = {}
        for each in sorted(found, key=lambda one: one.metadata.name):
            due = due_time(cluster.metadata.name, each.metadata.name)
            if due is not None and each.metadata.controller_uid == cluster.metadata.uid:
                grouped.setdefault(due, []).append(each)
        return cls(tuple((due, tuple(grouped[due])) for due in sorted(grouped)))

    def last(self, now: datetime) -> datetime | None:
        """The last time for which any was made; what a clock that was ahead made says nothing of what is due."""
        return newest((due for due, _ in self.by_time), now)

    def is_any_active(self) -> bool:
        """Whether any is not over."""
        return any(not each.status.is_over for _, group in self.by_time for each in group)

    def beyond(self, spec: VerificationSchedule) -> tuple[WALVerification, ...]:
        """Those of times beyond the history limits; the newest time is always kept."""
        over = [group for _, group in self.by_time if all(each.status.is_over for each in group)]
        failed = [group for group in over if any(each.status.stage is JobStage.FAILED for each in group)]
        good = [group for group in over if group not in failed]
        return tuple(each for group in beyond_history(spec, good, failed) for each in group)


KIND = ConditionType.VERIFICATION_SCHEDULED
SCHEDULED, SUSPENDED, NAME_TOO_LONG = ScheduledReason


def own_conditions(status: WALClusterStatus) -> tuple[Condition, ...]:
    """What is said of the schedule, as it was written."""
    found = find_condition(status.conditions, KIND)
    return () if found is None else (found,)


def published(cluster: WALCluster, build: ConditionBuilder, verdict: Verdict) -> Published[WALClusterStatus]:
    """The status with what is to be said of the schedule: what it is, or why verifications are not made or removed."""
    own = schedule_conditions(cluster, build)
    if verdict.reason in FAILURES and own:
        own = (build(KIND, "False", verdict.reason, verdict.message),)
    conditions = with_own(cluster.status.conditions, own, (KIND,))
    event = loss_event(cluster.status.conditions, conditions, KIND, "verifications are scheduled again")
    return Published(cluster.status.model_copy(update={"conditions": conditions}), () if event is None else (event,))


def schedule_conditions(cluster: WALCluster, build: Callable[..., Condition]) -> tuple[Condition, ...]:
    """The condition VerificationScheduled, or none where no schedule is declared."""
    if isinstance(cluster.spec, InvalidSpec) or cluster.spec.verification is None:
        return ()
    spec = cluster.spec.verification
    times = read_times(spec, cluster.metadata.creation_timestamp)
    if times is None:
        return ()
    if (problem := why_name_too_long(cluster)) is not None:
        return (build(KIND, "False", NAME_TOO_LONG, problem),)
    if isinstance(times, BadSchedule):
        return (build(KIND, "False", times.reason.value, times.message),)
    if spec.suspend:
        return (build(KIND, "False", SUSPENDED, "verification.suspend is set: no new verifications begin"),)
    return (build(KIND, "True", SCHEDULED, f"verifications begin at {times.describe()}"),)


@dataclass(frozen=True, slots=True)
class CreateVerification:
    """Create a verification; one that exists by this name is this one."""

    key: Key
    spec: WALVerificationSpec

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.VERIFICATION_CREATED, f"Created WALVerification {self.key.name}")


@dataclass(frozen=True, slots=True)
class RemoveVerification:
    """Delete a verification that the history limits do not keep."""

    verification: WALVerification

    def event(self) -> Event:
        """What the event says."""
        name = self.verification.metadata.name
        return Event(
            EventType.NORMAL, EventReason.VERIFICATION_DELETED, f"Deleted WALVerification {name}: newer ones are kept"
        )


ScheduleAction = CreateVerification | RemoveVerification
ScheduleDecision = Decision[WALClusterStatus, ScheduleAction]


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees: all verifications of the namespace."""

    now: datetime
    verifications: Sequence[WALVerification] = ()


def decide(cluster: WALCluster, observed: Observed) -> ScheduleDecision:
    """What one tick decides."""
    if cluster.metadata.deletion_timestamp is not None:
        return silent(cluster, "the WALCluster is being deleted")
    actions, message, after = _due(cluster, observed)
    build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, observed.now)
    return Decision(
        cluster.status,
        Verdict(Outlook.READY, KIND, message, after),
        actions,
        partial(published, cluster, build),
        publishes_first=True,
        published_in=KIND,
    )


def _due(cluster: WALCluster, observed: Observed) -> tuple[tuple[ScheduleAction, ...], str, float | None]:
    """What is to be done, why there is nothing else, and for how long."""
    spec = None if isinstance(cluster.spec, InvalidSpec) else cluster.spec.verification
    if spec is None or isinstance(cluster.spec, InvalidSpec):
        return (), "there is no schedule", None
    if cluster.metadata.is_paused:
        return (), "the WALCluster is paused", None
    times = read_times(spec, cluster.metadata.creation_timestamp)
    if times is None:
        return (), "there is no schedule", None
    if isinstance(times, BadSchedule) or why_name_too_long(cluster) is not None:
        return (), "there is something wrong with the schedule", None
    own = OwnVerifications.of(cluster, observed.verifications)
    due = None if spec.suspend else times.latest(cluster.metadata.creation_timestamp, observed.now)
    actions = (
        *(RemoveVerification(each) for each in own.beyond(spec) if why_it_stays(each, observed.verifications) is None),
        *_missing(cluster, spec, due, own, observed),
    )
    following = (times.following(observed.now) - observed.now).total_seconds()
    return actions, "nothing is due", min(following, SCHEDULE_OBSERVE_SECONDS)


def _time_to_make(own: OwnVerifications, due: datetime | None, last: datetime | None) -> datetime | None:
    """The time whose verifications are to be there: the newest that is due, unless some of an older one go on."""
    is_behind = due is not None and (last is None or due > last)
    return due if is_behind and not own.is_any_active() else last


def _missing(
    cluster: WALCluster, spec: VerificationSchedule, due: datetime | None, own: OwnVerifications, observed: Observed
) -> tuple[ScheduleAction, ...]:
    """Of a time for which some slices were made, the others are made too: a process may have died in between."""
    last = own.last(observed.now)
    at = _time_to_make(own, due, last)
    if at is None or isinstance(cluster.spec, InvalidSpec):
        return ()
    parts = slices(tuple(cluster.spec.topics.topic_names()), spec)
    names = run_names(cluster.metadata.name, at, len(parts))
    taken = {each.metadata.name for each in observed.verifications}
    is_made = at == last and len(names) == 1
    return tuple(
        CreateVerification(Key(cluster.metadata.namespace, name), _spec(cluster, spec, part))
        for name, part in zip(names, parts, strict=True)
        if name not in taken and not is_made
    )


def _spec(cluster: WALCluster, spec: VerificationSchedule, topics: tuple[str, ...]) -> WALVerificationSpec:
    reported = {name: getattr(spec, name) for name in VerificationTemplate.model_fields}
    return WALVerificationSpec(cluster_ref=ClusterRef(name=cluster.metadata.name), **{**reported, "topics": topics})
