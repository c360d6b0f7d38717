"""No wait of a roll is counted from a time that is to come.

The times of a roll are the API server's. Where there are several of them, whichever answers says the time, and one
whose clock was ahead would keep the database in maintenance, or the roll from going on, until then, without a word.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from seawall.api.v1alpha1.disruption import Disruption
from seawall.api.v1alpha1.rollout import FlushBefore, ForbiddenEviction, Maintenance, RestartStatus
from seawall.domain.clocks import is_to_come, not_to_come
from seawall.domain.times import MAINTENANCE_LEASE, MAINTENANCE_LONGEST_REST


def in_time(status: RestartStatus, entry: Disruption | None, now: datetime) -> RestartStatus:
    """The same, from which one can count. What really was, nobody knows: it counts from now on."""
    budget = timedelta(seconds=0 if entry is None else entry.budget_seconds)
    update = {
        "maintenance": status.maintenance and _maintenance(status.maintenance, now, max(MAINTENANCE_LEASE, budget)),
        "flush": status.flush and _flush(status.flush, now),
        "forbidden": status.forbidden and _forbidden(status.forbidden, now),
        "published_time": not_to_come(status.published_time, now),
    }
    return status.model_copy(update=update)


def _maintenance(lease: Maintenance, now: datetime, longest: timedelta) -> Maintenance:
    update = {
        "taken_time": not_to_come(lease.taken_time, now),
        "expiry_time": _not_beyond(lease.expiry_time, now, longest),
        "seen_time": not_to_come(lease.seen_time, now),
        "leaving_time": not_to_come(lease.leaving_time, now),
    }
    return lease.model_copy(update=update)


def _flush(asked: FlushBefore, now: datetime) -> FlushBefore:
    return asked.model_copy(update={"start_time": not_to_come(asked.start_time, now)})


def _forbidden(found: ForbiddenEviction, now: datetime) -> ForbiddenEviction:
    update = {
        "from_time": not_to_come(found.from_time, now),
        "next_time": _not_beyond(found.next_time, now, MAINTENANCE_LONGEST_REST),
    }
    return found.model_copy(update=update)


def _not_beyond(end: datetime, now: datetime, longest: timedelta) -> datetime:
    """An end that is further away than any that is written is of a clock that was ahead."""
    return now + longest if is_to_come(end, now + longest) else end
