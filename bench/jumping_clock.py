"""A clock that jumps over what is waited for."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from seawall.domain.clocks import ServerTime, TrustedTime


@dataclass
class JumpingClock:
    """Both clocks of the operator, and the database's."""

    ahead: timedelta = timedelta(0)

    def now(self) -> datetime:
        """The wall clock."""
        return datetime.now(UTC) + self.ahead

    def trusted(self) -> TrustedTime:
        """The API server's clock jumps as well."""
        now = self.now()
        return TrustedTime(now, ServerTime(now, timedelta(0), timedelta(0)))

    def milliseconds(self) -> int:
        """The monotonic clock."""
        return time.monotonic_ns() // 1_000_000 + self.ahead // timedelta(milliseconds=1)
