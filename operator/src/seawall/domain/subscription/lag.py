"""For how long the target has lacked something, by our own stopwatch: Kafka has no answer to that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seawall.domain.subscription.logs import Position


@dataclass(frozen=True, slots=True)
class Pending:
    """Where the source ended at some time, in the stopwatch's milliseconds, and what the target lacked of it then."""

    end: int
    since: int


def advance(before: Mapping[str, Pending], positions: Mapping[str, Position], now: int) -> dict[str, Pending]:
    """What is waited for now: until the target has it, then what the source has beyond it.

    A process that starts anew knows nothing of before, so what follows of it is a lower bound.
    """
    found: dict[str, Pending] = {}
    for name, position in positions.items():
        pending = before.get(name)
        if pending is None or position.applied >= pending.end:
            pending = Pending(position.source_end, now)
        if position.behind:
            found[name] = pending
    return found


def seconds_of(pending: Mapping[str, Pending], now: int) -> dict[str, int]:
    """By topic that is behind for how long it has been, in whole seconds."""
    return {name: max(0, now - each.since) // 1000 for name, each in pending.items()}
