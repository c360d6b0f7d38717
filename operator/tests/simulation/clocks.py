"""Virtual time: an event loop whose time passes when nobody has anything to do, and the clocks of a process."""

from __future__ import annotations

import asyncio
import selectors
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from seawall.domain.clocks import ServerTime, TrustedTime
from tests.support.clock import START, Time


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its time is the world's: it sleeps by setting the world's clock on. One thread, no sockets, so no chance."""

    def __init__(self, world: Time) -> None:
        self._world = world
        super().__init__(_Sleeper(world))

    def time(self) -> float:
        """Seconds since the beginning of the world."""
        return (self._world.time - START).total_seconds()

    def _write_to_self(self) -> None:
        """Nobody sleeps in this thread, so nobody need be woken."""


class _Sleeper(selectors.SelectSelector):
    def __init__(self, world: Time) -> None:
        super().__init__()
        self._world = world

    def select(self, timeout: float | None = None) -> list[Any]:
        """Time passes, also where nobody sleeps: who is due a hair later than now would else be asked for ever."""
        assert timeout is not None, "nobody waits for anything any more"
        self._world.time += timedelta(microseconds=int(timeout * 1_000_000) + 1)
        return []


@dataclass
class ProcessClock:
    """The clocks of one process. They pass the contract of the port Clock, as those of the world do.

    Attributes:
        world: what is true.
        ahead: by how much the wall clock is ahead.
        heard: when the API server answered last: each answer tells its time.
    """

    world: Time
    ahead: timedelta = timedelta(0)
    heard: datetime | None = None

    def __post_init__(self) -> None:
        self._began = self.world.time

    def now(self) -> datetime:
        """The wall clock."""
        return self.world.time + self.ahead

    def trusted(self) -> TrustedTime:
        """The wall clock and the API server's."""
        if self.heard is None:
            return TrustedTime(self.now(), None)
        return TrustedTime(self.now(), ServerTime(self.world.time, timedelta(0), self.world.time - self.heard))

    def milliseconds(self) -> int:
        """The monotonic clock: it says nothing to another process."""
        return (self.world.time - self._began) // timedelta(milliseconds=1)
