"""What time it is."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from seawall.domain.clocks import TrustedTime


class Clock(Protocol):
    """Wall clock time, in UTC."""

    def now(self) -> datetime:
        """The current time, for what is shown to people, and for what a wrong time does no harm."""
        ...

    def trusted(self) -> TrustedTime:
        """The current time by the API server's clock, too: for the end of what must not end early, or go on too long.

        It asks nobody: every answer of the API server tells its time.
        """
        ...


class Stopwatch(Protocol):
    """A clock that only rises: for how long ago something was seen. It means nothing to another process."""

    def milliseconds(self) -> int:
        """The time since an arbitrary moment."""
        ...
