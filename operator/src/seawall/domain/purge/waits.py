"""What a run waits for: its turn, because runs of one WALCluster never overlap, and the deadlines of its stages.

Runs go one after another, in the order in which they were created; one that has begun goes before all that have not. A
run asks for its turn again before each thing that it does, so two that began in the same moment do not both go on. This
is for tidiness and plain numbers only: two runs at once are harmless, because each deletion is safe by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from seawall.api.meta import ConditionType, InvalidSpec
from seawall.api.v1alpha1.purge import WALPurge, WALPurgeSpec, WALPurgeStatus
from seawall.domain.clocks import not_to_come
from seawall.domain.cluster_name import cluster_name
from seawall.domain.conditions import find_condition
from seawall.domain.ledger.declared import safety_of
from seawall.domain.ledger.policy import EffectivePolicy, Safety
from seawall.domain.ledger.report_history import POLLS_PER_STALE_AFTER
from seawall.domain.purge.reasons import Reason
from seawall.domain.times import PURGE_SLACK, PURGE_VERIFICATION_WAIT


def run_in_front(run: WALPurge, runs: Iterable[WALPurge]) -> WALPurge | None:
    """The run that has its turn before this one; None when it is this run's turn."""
    cluster = cluster_name(run)
    conflicting_owners = [
        other
        for other in runs
        if other.metadata.namespace == run.metadata.namespace
        and other.metadata.uid != run.metadata.uid
        and cluster_name(other) == cluster
        and _takes_turns(other)
        and _order(other) < _order(run)
    ]
    return min(conflicting_owners, key=_order, default=None)


def why_waiting(front: WALPurge) -> str:
    """What the condition Waiting says of the run in front, and what to do if it cannot go on by itself."""
    stage = f"is in {front.status.stage}" if front.status.stage is not None else "has not begun"
    sentence = f"WALPurge {front.metadata.name} of the same WALCluster comes first; it {stage}"
    if front.metadata.is_paused:
        return f"{sentence} and is paused: remove its annotation seawall.dev/paused, or delete it"
    ready = find_condition(front.status.conditions, ConditionType.READY)
    if ready is not None and ready.reason == Reason.CANNOT_OBSERVE:
        return f"{sentence} and cannot look at the ledger ({ready.message}): mend that, or delete it"
    return sentence


def _takes_turns(run: WALPurge) -> bool:
    """A run that is over, that goes, or that this operator cannot read stands in nobody's way."""
    is_over = run.status.is_finished or run.metadata.deletion_timestamp is not None
    return not is_over and not isinstance(run.spec, InvalidSpec)


def _order(run: WALPurge) -> tuple[bool, datetime, str]:
    return run.status.stage is None, run.metadata.creation_timestamp, run.metadata.uid


@dataclass(frozen=True, slots=True)
class Times:
    """The times of one run, by the strictest policies of its topics.

    Attributes:
        poll: how often reports are looked at.
        grace: the longest openGrace.
        patience: how long what may pass by itself is waited for. An operator that starts anew watches for one openGrace
            before it believes, and the evidence takes another; reports may come late.
        flush: how long flushes are waited for.
    """

    poll: timedelta
    grace: timedelta
    patience: timedelta
    flush: timedelta

    @classmethod
    def of(cls, spec: WALPurgeSpec, policies: Mapping[str, EffectivePolicy], topics: Iterable[str]) -> Times:
        """The times for these topics."""
        safeties: list[Safety] = [safety_of(spec), *(policies[name].safety for name in topics if name in policies)]
        stale_after = min(safety.stale_after for safety in safeties)
        open_grace = max(safety.open_grace for safety in safeties)
        patience = 2 * open_grace + POLLS_PER_STALE_AFTER * max(safety.stale_after for safety in safeties)
        return cls(stale_after / POLLS_PER_STALE_AFTER, open_grace, patience, spec.flush.timeout)

    def soon(self, status: WALPurgeStatus, now: datetime) -> datetime:
        """Until when a topic that is in trouble is waited for before anything is done: it holds up all others."""
        return (status.start_time or now) + self.grace

    def prepared_by(self, status: WALPurgeStatus, now: datetime) -> datetime:
        """Until when topics are waited for before the flushes are asked for."""
        return (status.start_time or now) + self.patience

    def flushed_by(self, status: WALPurgeStatus, now: datetime) -> datetime:
        """Until when flushes are waited for."""
        return (status.flush.start_time if status.flush else now) + self.flush

    def reported_by(self, status: WALPurgeStatus, now: datetime) -> datetime:
        """Until when topics are waited for before it is recorded what is seen."""
        flush = self.flush if status.flush else timedelta(0)
        return (status.start_time or now) + self.patience + flush + _verification(status)

    def watched_by(self, until: datetime, watched_since: datetime) -> datetime:
        """Until when an operator waits for itself, of a wait until then: one that takes over watches anew."""
        return max(until, watched_since + self.patience)

    def proved_by(self, seen_time: datetime, known_since: datetime) -> datetime:
        """Until when the evidence is waited for: an operator gathers it anew from when it first knew what was seen."""
        return max(seen_time, known_since) + self.patience

    def over_by(self, status: WALPurgeStatus, now: datetime) -> datetime:
        """Until when a run has to end."""
        return (status.start_time or now) + 3 * self.patience + self.flush + PURGE_SLACK + _verification(status)


def in_time(run: WALPurge, now: datetime) -> WALPurge:
    """No wait is counted from a time that is to come: else this run, and all behind it, would wait until then."""
    status, flush = run.status, run.status.flush
    asked = None if flush is None else not_to_come(flush.start_time, now)
    update = {
        "start_time": not_to_come(status.start_time, now),
        "flush": flush and flush.model_copy(update={"start_time": asked}),
        "verification_time": not_to_come(status.verification_time, now),
        "seen_time": not_to_come(status.seen_time, now),
    }
    return replace(run, status=status.model_copy(update=update))


def _verification(status: WALPurgeStatus) -> timedelta:
    return PURGE_VERIFICATION_WAIT if status.verification_time else timedelta(0)
