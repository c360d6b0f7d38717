"""What time it is."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Wall clock time, in UTC."""

    def now(self) -> datetime:
        """The current time."""
        ...


class Stopwatch(Protocol):
    """A clock that only rises: for how long ago something was seen. It means nothing to another process."""

    def milliseconds(self) -> int:
        """The time since an arbitrary moment."""
        ...
