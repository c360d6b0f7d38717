"""Clocks of a world in which an adversary moves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seawall.domain.clocks import TrustedTime
from tests.support.clock import Time


@dataclass
class Clocks(Time):
    """Clocks of which is known how often anybody looked at one."""

    reads: int = 0

    def now(self) -> datetime:
        """The operator's wall clock."""
        self.reads += 1
        return super().now()

    def trusted(self) -> TrustedTime:
        """The operator's wall clock and the API server's."""
        self.reads += 1
        return super().trusted()

    def true(self) -> datetime:
        """What all other clocks show."""
        self.reads += 1
        return self.time

    def milliseconds(self) -> int:
        """The operator's monotonic clock."""
        self.reads += 1
        return super().milliseconds()
