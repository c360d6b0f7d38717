"""What time it is, where something ends by it: by the operator's clock and by the API server's, if they agree.

A clock that is ahead would end holds early, and one that is late would let a declaration go on. So an end counts only
while both clocks agree within `CLOCKS_AGREE`, and in the safe direction: a hold is over when both say so, a declaration
as soon as either does. While they disagree, or nobody knows, no hold ends and no declaration counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from seawall.api.stretch import Stretch
from seawall.domain.times import CLOCKS_AGREE, CLOCKS_FRESH


def prolonged(written: Stretch | None, now: datetime, longest_break: timedelta) -> Stretch:
    """What is to be written of what is observed once more; the same while what is written is fresh.

    What ends something because it lasted is counted so: in between, while nobody observed, it may have been otherwise.

    Args:
        written: what the status has.
        now: by a clock that all operators share.
        longest_break: a longer time without an observation does not count. It is written three times in it.
    """
    if written is None or not -2 * CLOCKS_AGREE <= now - written.until_time <= longest_break:
        return Stretch(from_time=now, until_time=now)
    is_fresh = now - written.until_time < longest_break / 3
    return written if is_fresh else written.model_copy(update={"until_time": now})


def not_to_come(written: datetime | None, now: datetime) -> datetime | None:
    """A time of a status that something is counted from. One that is to come was written by a clock that was wrong.

    When it really was, nobody knows: it counts from now on, and whoever counts writes that down.

    Args:
        written: what the status has.
        now: by a clock that all operators share.
    """
    return now if written is not None and is_to_come(written, now) else written


def is_to_come(written: datetime, now: datetime) -> bool:
    """Whether a clock that was ahead wrote it: more than those that agree can differ."""
    return written > now + CLOCKS_AGREE


class Agreement(StrEnum):
    """Whether the two clocks agree; each member is a reason of a condition."""

    AGREE = "ClocksAgree"
    """True. The two clocks agree: limits and expiries count."""
    SKEWED = "ClockSkewed"
    """False. The two clocks disagree: no hold ends by a limit, and no annotation with an expiry counts; each says so.
    Set the clock of the operator's node, or of the API server's, right (NTP). Alert `SeawallClocksDisagree`."""
    UNKNOWN = "ServerTimeUnknown"
    """False. No answer of the API server in the last minute had a Date, or it took too long to say anything: nothing
    ends or counts, as above. Find what stands before the API server and takes `Date` out of its answers."""


@dataclass(frozen=True, slots=True)
class ServerTime:
    """The API server's clock, as the Date of its newest answer tells.

    Attributes:
        time: what it says now: that Date, and what has passed since by the operator's monotonic clock.
        uncertainty: by how much it may be otherwise: a Date has whole seconds, and was somewhere on its way.
        age: of that answer, by the operator's monotonic clock.
    """

    time: datetime
    uncertainty: timedelta
    age: timedelta


@dataclass(frozen=True, slots=True)
class TrustedTime:
    """The time by two clocks.

    Attributes:
        now: the operator's wall clock: for what is shown to people.
        server: the API server's; None: no answer has told it yet.
    """

    now: datetime
    server: ServerTime | None

    @property
    def skew(self) -> timedelta | None:
        """By how much the operator's clock is ahead of the API server's, about; None: unknown."""
        return None if self.server is None or self.server.age > CLOCKS_FRESH else self.now - self.server.time

    @property
    def agreement(self) -> Agreement:
        """Whether both clocks agree, for certain."""
        skew = self.skew
        if self.server is None or skew is None:
            return Agreement.UNKNOWN
        if abs(skew) + self.server.uncertainty <= CLOCKS_AGREE:
            return Agreement.AGREE
        return Agreement.SKEWED if abs(skew) - self.server.uncertainty > CLOCKS_AGREE else Agreement.UNKNOWN

    @property
    def problem(self) -> str | None:
        """Why no end can be judged now, in one sentence without numbers, which would change all the time."""
        match self.agreement:
            case Agreement.AGREE:
                return None
            case Agreement.SKEWED:
                where = "ahead of" if self.skew is not None and self.skew > timedelta(0) else "behind"
                return f"the operator's clock is more than {CLOCKS_AGREE.seconds} s {where} the API server's"
            case Agreement.UNKNOWN:
                return "nobody knows whether the operator's clock agrees with the API server's"

    @property
    def earliest(self) -> datetime | None:
        """It is at least so late by both clocks: what is over then is over. None: no end can be judged."""
        if self.server is None or self.agreement is not Agreement.AGREE:
            return None
        return min(self.now, self.server.time - self.server.uncertainty)

    @property
    def latest(self) -> datetime | None:
        """It is later by neither clock: what is not over then still stands. None: no end can be judged."""
        return None if self.agreement is not Agreement.AGREE else self.later

    @property
    def later(self) -> datetime:
        """The later of both, however far apart: what begins now, and must not end early, is counted from then on."""
        return self.now if self.server is None else max(self.now, self.server.time + self.server.uncertainty)

    @property
    def shared(self) -> datetime:
        """The API server's clock, which all operators share; the operator's, until an answer has told it.

        For how long ago it was what a status says: an operator's clock that is wrong now, or was wrong when a time was
        written, makes nobody wait longer and cuts no wait short. It ends nothing that must not end early.
        """
        return self.now if self.server is None else self.server.time
