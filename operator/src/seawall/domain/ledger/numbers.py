"""The newest look at a ledger in numbers, for metrics: as many as there are reasons, states and holds, not topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from seawall.api.v1alpha1.hold import HoldState
from seawall.domain.ledger.held import HeldTopic, lag_bytes
from seawall.domain.ledger.observation import Observation
from seawall.domain.ledger.page import LedgerPage

PURGEABLE = "Purgeable"
"""What is said in place of a reason of a topic that nothing is against."""


@dataclass(frozen=True, slots=True)
class LedgerNumbers:
    """What metrics show of one look. None: unknown, as Kafka did not tell of every topic."""

    topics: Mapping[str, int]
    """Topics by the reason for leaving them alone, or Purgeable."""
    reasons: Mapping[str, str]
    """By topic the same; only for those who want a series for each topic."""
    entries: int | None
    """Logical: high watermarks less log starts."""
    purgeable_entries: int
    bytes: int | None
    """Physical: what one replica of each topic takes on disk, by DescribeLogDirs."""
    purgeable_bytes: int | None
    """By each topic's mean size of an entry; Kafka frees closed segments only."""
    is_intact: bool
    unreadable_shards: int
    holds: Mapping[HoldState, int] | None
    """Holds that are not over, by state; None: they could not be read."""
    hold_lags: Mapping[str, int]
    """By hold the bytes from its offsets to the ends of its topics; one of unknown lag is left out."""


def ledger_numbers(observation: Observation, page: LedgerPage) -> LedgerNumbers:
    """Counts."""
    reasons = {line.name: PURGEABLE if line.reason is None else str(line.reason) for line in page.lines}
    purgeable = [line for line in page.lines if line.purge_to is not None]
    holds = None if observation.read.holds is None else tuple(observation.read.holds)
    return LedgerNumbers(
        topics=Counter(reasons.values()),
        reasons=reasons,
        entries=_sum(_entries(line.log_start, line.high_watermark) for line in page.lines),
        purgeable_entries=sum(line.entries_to_purge for line in purgeable),
        bytes=_sum(line.size_bytes for line in page.lines),
        purgeable_bytes=_sum(line.bytes_to_purge for line in purgeable),
        is_intact=not page.damaged(),
        unreadable_shards=len(observation.shards.unreadable),
        holds=None if holds is None else Counter(hold.state for hold in holds),
        hold_lags=_lags(observation),
    )


def _entries(log_start: int | None, high_watermark: int | None) -> int | None:
    return None if log_start is None or high_watermark is None else high_watermark - log_start


def _lags(observation: Observation) -> dict[str, int]:
    logs = observation.read.logs
    topics = {
        name: HeldTopic(log.log_start, log.high_watermark, intent=None, record_bytes=log.record_bytes)
        for name, log in logs.items()
    }
    found = {hold.name: lag_bytes(hold.granted or hold.claim, topics) for hold in observation.read.holds or ()}
    return {name: lag for name, lag in found.items() if lag is not None}


def _sum(values: Iterable[int | None]) -> int | None:
    """None if any is unknown."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if len(known) == len(listed) else None
