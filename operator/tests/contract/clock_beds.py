"""What the contract tests of the port Clock run on: the real API server's answers, and the time of worlds in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from seawall.adapters.clock import ServerDates, SystemClock, since_boot
from seawall.adapters.kube.api import KubeApi
from seawall.ports import Clock
from tests.simulation.clocks import ProcessClock
from tests.support.clock import Time


class ClockBed(Protocol):
    """A clock of an operator, and an API server that answers when it is asked."""

    @property
    def clock(self) -> Clock: ...

    def ask(self) -> None:
        """The API server answers."""
        ...

    def set_ahead(self, by: timedelta) -> None:
        """Somebody sets the operator's wall clock: so much ahead of what is right."""
        ...

    def silence(self, time: timedelta) -> None:
        """Time passes in which the API server is not asked."""
        ...


class FakeClockBed:
    """In memory."""

    def __init__(self) -> None:
        self.time = Time(is_silent=True)
        self.clock: Clock = self.time

    def ask(self) -> None:
        self.time.heard = self.time.time

    def set_ahead(self, by: timedelta) -> None:
        self.time.ahead = by

    def silence(self, time: timedelta) -> None:
        self.time.time += time


class ProcessClockBed:
    """That of one of several processes of a simulation, whose world's clock is right."""

    def __init__(self) -> None:
        self._world = Time()
        self._clock = ProcessClock(self._world)
        self.clock: Clock = self._clock

    def ask(self) -> None:
        self._clock.heard = self._world.time

    def set_ahead(self, by: timedelta) -> None:
        self._clock.ahead = by

    def silence(self, time: timedelta) -> None:
        self._world.time += time


class RealClockBed:
    """A real API server. What a test cannot wait for, or set, is added to what the machine's clocks say.

    The API server's clock does not know of it: so a silence is over for the wall clock when it answers again.
    """

    def __init__(self) -> None:
        self._ahead = self._silence = self._silences = timedelta(0)
        self._api = KubeApi(1, ServerDates(lambda: since_boot() + self._silences.total_seconds()))
        self.clock: Clock = SystemClock(self._api.dates, lambda: datetime.now(UTC) + self._ahead + self._silence)

    def ask(self) -> None:
        """Every answer tells the time, that there is no such object, too."""
        self._silence = timedelta(0)
        assert self._api.get("/api/v1/namespaces/nowhere") is None

    def set_ahead(self, by: timedelta) -> None:
        self._ahead = by

    def silence(self, time: timedelta) -> None:
        self._silence += time
        self._silences += time
