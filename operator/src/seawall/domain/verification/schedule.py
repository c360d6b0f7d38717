"""What the controller of a WALCluster's schedule decides: a pure function of it and of its verifications.

    being deleted, paused, no schedule, a bad one → those beyond the history limits go
    → the last time that is due, unless verifications of another time are not over: those of its slices that are missing

A time that passed while nothing could begin is made up for once, as with policies of purges. What is wrong with a
schedule, and that the API server refuses its verifications, is told by the WALCluster's condition VerificationScheduled
(`condition.py`), before anything is done; a failure stands there while the same is tried again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.purge_template import ClusterRef
from seawall.api.v1alpha1.verification import WALVerification, WALVerificationSpec
from seawall.api.v1alpha1.verification_template import VerificationSchedule, VerificationTemplate
from seawall.domain.conditions import ConditionBuilder, Outlook, Verdict
from seawall.domain.decision import Decision, silent
from seawall.domain.schedule import BadSchedule
from seawall.domain.step import Event, EventType
from seawall.domain.times import SCHEDULE_OBSERVE_SECONDS
from seawall.domain.verification.schedule_condition import KIND, published
from seawall.domain.verification.schedule_runs import (
    OwnVerifications,
    read_times,
    run_names,
    slices,
    why_name_too_long,
)


@dataclass(frozen=True, slots=True)
class CreateVerification:
    """Create a verification; one that exists by this name is this one."""

    key: Key
    spec: WALVerificationSpec

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, "VerificationCreated", f"Created WALVerification {self.key.name}")


@dataclass(frozen=True, slots=True)
class RemoveVerification:
    """Delete a verification that the history limits do not keep."""

    verification: WALVerification

    def event(self) -> Event:
        """What the event says."""
        name = self.verification.metadata.name
        return Event(EventType.NORMAL, "VerificationDeleted", f"Deleted WALVerification {name}: newer ones are kept")


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
        *(RemoveVerification(each) for each in own.beyond(spec)),
        *_missing(cluster, spec, _time_to_make(own, due), own, observed),
    )
    following = (times.following(observed.now) - observed.now).total_seconds()
    return actions, "nothing is due", min(following, SCHEDULE_OBSERVE_SECONDS)


def _time_to_make(own: OwnVerifications, due: datetime | None) -> datetime | None:
    """The time whose verifications are to be there: the newest that is due, unless some of an older one go on."""
    is_behind = due is not None and (own.last is None or due > own.last)
    return due if is_behind and not own.is_any_active() else own.last


def _missing(
    cluster: WALCluster, spec: VerificationSchedule, at: datetime | None, own: OwnVerifications, observed: Observed
) -> tuple[ScheduleAction, ...]:
    """Of a time for which some slices were made, the others are made too: a process may have died in between."""
    if at is None or isinstance(cluster.spec, InvalidSpec):
        return ()
    parts = slices(tuple(cluster.spec.topics.topic_names()), spec)
    names = run_names(cluster.metadata.name, at, len(parts))
    taken = {each.metadata.name for each in observed.verifications}
    is_made = at == own.last and len(names) == 1
    return tuple(
        CreateVerification(Key(cluster.metadata.namespace, name), _spec(cluster, spec, part))
        for name, part in zip(names, parts, strict=True)
        if name not in taken and not is_made
    )


def _spec(cluster: WALCluster, spec: VerificationSchedule, topics: tuple[str, ...]) -> WALVerificationSpec:
    reported = {name: getattr(spec, name) for name in VerificationTemplate.model_fields}
    return WALVerificationSpec(cluster_ref=ClusterRef(name=cluster.metadata.name), **{**reported, "topics": topics})
