"""How long a plan takes at a throttle."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from math import ceil

from seawall.api.v1alpha1.reassignment import ReassignmentStatus
from seawall.domain.reassignment.journal import Journal
from seawall.domain.times import REASSIGNMENT_AT_LEAST

SLOW = 4
"""A run that takes so many times its estimate is slower than what is written meanwhile explains."""


def why_slow(status: ReassignmentStatus, now: datetime) -> str:
    """A clause for a run that takes far longer than was estimated; empty for any other."""
    if status.start_time is None or status.estimated_seconds is None:
        return ""
    taken, limit = now - status.start_time, timedelta(seconds=SLOW * status.estimated_seconds)
    if taken < max(limit, REASSIGNMENT_AT_LEAST):
        return ""
    return (
        f"; it was estimated to take {status.estimated_seconds} s and takes longer:"
        " below what the database writes, a throttle never lets it end (reassignment.throttleBytesPerSecond)"
    )


def estimate_seconds(journal: Journal, bytes_per_second: int) -> int:
    """Seconds of the busiest broker, which sends or fetches no faster than the throttle.

    The preferred leader sends. What the database writes meanwhile comes on top, so it is the least that it takes.
    """
    fetched: Counter[int] = Counter()
    sent: Counter[int] = Counter()
    for move in journal.moves:
        for broker in move.adding:
            fetched[broker] += move.size
            sent[move.original[0]] += move.size
    return ceil(max((*fetched.values(), *sent.values()), default=0) / bytes_per_second)
