"""When runs are due: a cron expression in a time zone, or an interval; the times in names of runs, and which are kept.

A change of the clocks is met as Debian's cron meets it: a time that is skipped is made up for right after the change,
one that comes twice counts once, and expressions whose minute or hour begins with `*` go on as time itself does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Protocol, TypeVar
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from seawall.api.duration import format_duration
from seawall.api.meta import ObjectMeta
from seawall.api.resource import AnyResource
from seawall.api.v1alpha1.policy import WALPurgePolicySpec
from seawall.domain.times import POLICY_OBSERVE_SECONDS, POLICY_SKEW

RunT = TypeVar("RunT")
OwnedT = TypeVar("OwnedT", bound=AnyResource)


@dataclass(frozen=True, slots=True)
class TimeInName:
    """How a time is written, in digits and in UTC.

    Attributes:
        form: as `strftime` takes it.
        length: how many digits that are.
    """

    form: str
    length: int

    def write(self, time: datetime) -> str:
        """The digits."""
        return time.astimezone(UTC).strftime(self.form)

    def read(self, text: str) -> datetime | None:
        """The time; None when the text is none."""
        if len(text) != self.length or not (text.isascii() and text.isdigit()):
            return None
        try:
            return datetime.strptime(text, self.form).replace(tzinfo=UTC)
        except ValueError:
            return None

    def read_after(self, prefix: str, name: str) -> datetime | None:
        """The time with which a name ends after a prefix; None when it is no such name."""
        return self.read(name.removeprefix(prefix)) if name.startswith(prefix) else None


CRON_FIELDS = 5

_LARGEST_CHANGE = timedelta(hours=3)
"""More than any change of the clocks: so far from a time, local times tell before from after."""

_NOT_CRON = (CronSimError, ValueError, TypeError, AssertionError)
"""What cronsim raises at expressions that are none; at some rare ones it stumbles."""


class Schedule(Protocol):
    """Times at which runs are due; all of them whole seconds in UTC."""

    def latest(self, after: datetime, now: datetime) -> datetime | None:
        """The last time that is due, beyond `after` and up to `now`; those before it are missed for good."""
        ...

    def following(self, after: datetime) -> datetime:
        """The first time that is due beyond `after`."""
        ...

    def describe(self) -> str:
        """For people."""
        ...


def period(schedule: Schedule, now: datetime) -> timedelta:
    """The time from the next run to the one after."""
    following = schedule.following(now)
    return schedule.following(following) - following


def newest(times: Iterable[datetime | None], now: datetime) -> datetime | None:
    """The last of these times, as far as they are known; those of a clock that was ahead count for nothing."""
    return max((time for time in times if time is not None and time <= now + POLICY_SKEW), default=None)


def seconds_until(next_time: datetime | None, now: datetime) -> float | None:
    """Until the next look at the clock at the latest; None: no time is waited for."""
    if next_time is None:
        return None
    return min(max(0.0, (next_time - now).total_seconds()), POLICY_OBSERVE_SECONDS)


def controlled_by(owner: ObjectMeta, runs: Iterable[OwnedT]) -> tuple[OwnedT, ...]:
    """Those that are the owner's, in the order in which the API server got them: names have times of our clock."""
    own = (run for run in runs if run.metadata.controller_uid == owner.uid)
    return tuple(sorted(own, key=lambda run: (run.metadata.creation_timestamp, run.metadata.name)))


class HistoryLimits(Protocol):
    """How many runs are kept that ended well, and that did not."""

    @property
    def successful_runs_history_limit(self) -> int:
        """Of those that ended well."""
        ...

    @property
    def failed_runs_history_limit(self) -> int:
        """Of those that did not."""
        ...


def beyond_history(limits: HistoryLimits, good: Sequence[RunT], failed: Sequence[RunT]) -> tuple[RunT, ...]:
    """Those that are more than the limits keep, of runs that stand in their order, the oldest first."""
    return (
        *_all_but_newest(good, limits.successful_runs_history_limit),
        *_all_but_newest(failed, limits.failed_runs_history_limit),
    )


def _all_but_newest(runs: Sequence[RunT], limit: int) -> Sequence[RunT]:
    return runs[: max(0, len(runs) - limit)]


class ScheduleReason(StrEnum):
    """Why there is no schedule; each member says the state of a policy, and what ends it."""

    INVALID_SCHEDULE = "InvalidSchedule"
    """Stalled. The schedule is no cron expression: correct it, to five fields; the message has what is wrong with
    it."""
    NEVER_FIRES = "ScheduleNeverFires"
    """Stalled. The schedule means a day that never comes: correct it."""
    UNKNOWN_TIME_ZONE = "UnknownTimeZone"
    """Stalled. There is no such time zone: set a name such as `Europe/Berlin`."""


@dataclass(frozen=True, slots=True)
class BadSchedule:
    """Why there is no schedule."""

    reason: ScheduleReason
    message: str


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression in a time zone, known to fire some time."""

    expression: str
    zone: ZoneInfo

    def latest(self, after: datetime, now: datetime) -> datetime | None:
        """Looks back, from so far ahead that an hour that comes twice cannot hide the first of its two."""
        # The first step back of an expression that last fired decades ago ends the search.
        for found in CronSim(self.expression, (now + _LARGEST_CHANGE).astimezone(self.zone), reverse=True):
            due = found.astimezone(UTC)
            if due <= now:
                return due if due > after else None
        return None

    def following(self, after: datetime) -> datetime:
        """Looks ahead; within an hour that comes twice, cronsim begins with what has been already."""
        ahead = (found.astimezone(UTC) for found in CronSim(self.expression, after.astimezone(self.zone)))
        return next(due for due in ahead if due > after)

    def describe(self) -> str:
        """The expression and its zone."""
        return f"{self.expression} ({self.zone.key})"


@dataclass(frozen=True, slots=True)
class Every:
    """An interval. Times are due at whole intervals after `anchor`."""

    interval: timedelta
    anchor: datetime

    def latest(self, after: datetime, now: datetime) -> datetime | None:
        """The last whole interval."""
        due = self.anchor + (now - self.anchor) // self.interval * self.interval
        return due if due > after else None

    def following(self, after: datetime) -> datetime:
        """The next whole interval."""
        return self.anchor + ((after - self.anchor) // self.interval + 1) * self.interval

    def describe(self) -> str:
        """The interval as it is written."""
        return f"every {format_duration(self.interval)}"


def read_schedule(spec: WALPurgePolicySpec, anchor: datetime) -> Schedule | BadSchedule:
    """The schedule of a policy that has one; `anchor` is where intervals are counted from."""
    if spec.interval is not None:
        return Every(spec.interval, anchor)
    if spec.schedule is None:
        raise TypeError("there is neither a schedule nor an interval")
    return read_cron(spec.schedule, spec.time_zone, anchor)


def read_cron(expression: str, time_zone: str | None, now: datetime) -> Cron | BadSchedule:
    """A cron expression in a time zone; without one in UTC."""
    zone = _read_zone(time_zone or "UTC")
    return zone if isinstance(zone, BadSchedule) else _read_cron(expression, zone, now)


def _read_zone(name: str) -> ZoneInfo | BadSchedule:
    """A zone of the IANA database, which the package tzdata brings where the machine has none.

    `localtime` is none: it would be the zone of whichever machine the operator happens to run on.
    """
    try:
        return ZoneInfo(name if name.lower() not in {"local", "localtime"} else "")
    except (KeyError, ValueError, OSError):
        return BadSchedule(
            ScheduleReason.UNKNOWN_TIME_ZONE, f"there is no time zone {name}: use a name such as Europe/Berlin"
        )


def _read_cron(expression: str, zone: ZoneInfo, now: datetime) -> Cron | BadSchedule:
    if len(expression.split()) != CRON_FIELDS:
        message = f"schedule {expression!r} has not the five fields minute, hour, day of month, month and day of week"
        return BadSchedule(ScheduleReason.INVALID_SCHEDULE, message)
    try:
        first = next(CronSim(expression, now.astimezone(zone)), None)
    except _NOT_CRON as error:
        why = str(error) if isinstance(error, CronSimError) else "not a cron expression"
        return BadSchedule(ScheduleReason.INVALID_SCHEDULE, f"schedule {expression!r} cannot be read: {why}")
    if first is None:
        return BadSchedule(ScheduleReason.NEVER_FIRES, f"schedule {expression!r} never fires within 50 years")
    return Cron(expression, zone)
