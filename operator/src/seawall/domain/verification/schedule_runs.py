"""The verifications of a schedule: their names, times and slices, and which of them are kept.

A name is the WALCluster's, and the minute for which the verification was due: creating it twice makes one, and when the
last one was due is read from the names. So nothing has to be remembered, as long as the newest stay. Of a pool that is
too large for one verification there are several for one time, each of a slice of its topics.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.verification import VerificationStage, WALVerification
from seawall.api.v1alpha1.verification_template import MAX_TOPICS, VerificationSchedule
from seawall.domain.schedule import BadSchedule, Cron, read_cron
from seawall.domain.time_in_name import TimeInName
from seawall.domain.verification.names import MAX_NAME

_TIME = TimeInName("%y%m%d%H%M", 10)
_SLICE_LENGTH = 3
MAX_CLUSTER_NAME = MAX_NAME - _TIME.length - _SLICE_LENGTH - 2


def read_times(spec: VerificationSchedule, now: datetime) -> Cron | BadSchedule | None:
    """When verifications are due; None: only when somebody makes one."""
    return None if spec.schedule is None else read_cron(spec.schedule, spec.time_zone, now)


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

    @property
    def last(self) -> datetime | None:
        """The last time for which any was made."""
        return self.by_time[-1][0] if self.by_time else None

    def is_any_active(self) -> bool:
        """Whether any is not over."""
        return any(not each.status.is_over for _, group in self.by_time for each in group)

    def beyond(self, spec: VerificationSchedule) -> tuple[WALVerification, ...]:
        """Those of times beyond the history limits; the newest time is always kept."""
        over = [group for _, group in self.by_time if all(each.status.is_over for each in group)]
        failed = [group for group in over if any(each.status.stage is VerificationStage.FAILED for each in group)]
        good = [group for group in over if group not in failed]
        limits = ((good, spec.successful_runs_history_limit), (failed, spec.failed_runs_history_limit))
        gone = [group for groups, limit in limits for group in groups[: max(0, len(groups) - limit)]]
        return tuple(each for group in gone for each in group)
