"""How long a plan takes at a throttle."""

from __future__ import annotations

from collections import Counter
from math import ceil

from seawall.domain.reassignment.journal import Journal


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
