"""The time by two clocks, as a test tells it."""

from __future__ import annotations

from datetime import datetime, timedelta

from seawall.domain.clocks import ServerTime, TrustedTime


def agreed(now: datetime) -> TrustedTime:
    """The time when both clocks say the same."""
    return TrustedTime(now, ServerTime(now, timedelta(0), timedelta(0)))


def ahead(now: datetime, by: timedelta) -> TrustedTime:
    """The time when the operator's clock says `now` and is ahead of the API server's."""
    return TrustedTime(now, ServerTime(now - by, timedelta(0), timedelta(0)))
