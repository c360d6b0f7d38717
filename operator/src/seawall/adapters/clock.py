"""Wall clock time, and time that only rises."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The current time in UTC."""
        return datetime.now(UTC)


class MonotonicStopwatch:
    """The machine's monotonic clock."""

    def milliseconds(self) -> int:
        """Milliseconds since the machine started, or so."""
        return time.monotonic_ns() // 1_000_000
