"""The limits of holds: how much of its ttl and of its lag a hold has used up."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from seawall.domain.ledger.held import Claim, HeldTopic, Hold, HoldView
from seawall.domain.times import CLOCKS_AGREE, LEDGER_LEAST_AT_RISK

NEAR = 0.8
"""From this share of a limit on a hold is AtRisk."""


LEAST_SHARE = 0.2
"""The greatest share of its ttl for which a hold stays AtRisk beyond a limit."""


def lag_bytes(claim: Claim, topics: Mapping[str, HeldTopic]) -> int | None:
    """What the records from the claimed offsets on take on disk, by each topic's mean; None if a size is unknown."""
    total = 0
    for name, offset in claim.offsets_among(topics).items():
        topic = topics.get(name)
        if topic is None or topic.log_start is None or topic.high_watermark is None or topic.size_bytes is None:
            return None
        entries = topic.high_watermark - topic.log_start
        kept = topic.high_watermark - max(offset, topic.log_start)
        total += topic.size_bytes * max(kept, 0) // entries if entries else 0
    return total


def limit_reached(hold: Hold, view: HoldView, now: datetime, share: float) -> str | None:
    """The first limit of which this share is used up, as a sentence; what is unknown is no limit."""
    age = now - hold.renewal.observed_at if hold.renewal is not None else timedelta(0)
    if age >= hold.ttl * share:
        return f"it was last renewed {_duration(age)} ago and its ttl is {_duration(hold.ttl)}"
    used = lag_bytes(hold.granted or hold.claim, view.topics) if hold.max_lag_bytes is not None else None
    if used is not None and hold.max_lag_bytes is not None and used >= hold.max_lag_bytes * share:
        return f"it keeps {used} bytes and maxLagBytes is {hold.max_lag_bytes}"
    return None if hold.max_lag_age is None else _too_old(hold, hold.max_lag_age, view, share)


def _too_old(hold: Hold, max_lag_age: timedelta, view: HoldView, share: float) -> str | None:
    """The first record that is kept and too old, by its own timestamp; a topic of which nothing is known has none."""
    for name, offset in (hold.granted or hold.claim).offsets_among(view.topics).items():
        topic = view.topics.get(name)
        young = None if topic is None else topic.near_from if share < 1 else topic.young_from
        if topic is None or topic.log_start is None or young is None:
            continue
        kept = max(offset, topic.log_start)
        if kept < young:
            return f"the record of {name} at {kept} is older than {share:.0%} of maxLagAge, {_duration(max_lag_age)}"
    return None


def are_limits_known(hold: Hold, view: HoldView) -> bool:
    """Whether all that the hold's limits are about is known; else nobody can say that it is not near one any more."""
    claim = hold.granted or hold.claim
    if hold.max_lag_bytes is not None and lag_bytes(claim, view.topics) is None:
        return False
    held = (view.topics.get(name) for name in claim.offsets_among(view.topics))
    return hold.max_lag_age is None or all(topic is not None and topic.near_from is not None for topic in held)


def at_risk_until(hold: Hold) -> datetime | None:
    """Until when a hold that is AtRisk is not Lost, by the operator's clock; None: it is not AtRisk."""
    if hold.at_risk_since is None:
        return None
    return hold.at_risk_since + min(LEDGER_LEAST_AT_RISK, hold.ttl * LEAST_SHARE)


def was_recorded_at_risk(hold: Hold, now: datetime) -> bool:
    """Whether the hold was AtRisk for long enough; a clock that was set back never makes it longer.

    That it began a little later than now is no such clock: both times are by clocks that agree (`CLOCKS_AGREE`).
    """
    until = at_risk_until(hold)
    return until is None or hold.at_risk_since is None or not hold.at_risk_since - 2 * CLOCKS_AGREE <= now < until


def _duration(age: timedelta) -> str:
    return f"{age.total_seconds():g} s"
