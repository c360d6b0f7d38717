"""Wall clock time."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The current time in UTC."""
        return datetime.now(UTC)
