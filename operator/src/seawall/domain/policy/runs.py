"""The runs of a policy: their names, which of them are its own, which are kept, and the actions on them.

A run's name is the policy's and the time for which it was due, so creating it twice makes one run, and its time can be
read from it: nothing else has to be remembered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from seawall.api.meta import Key
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import Stage, WALPurge, WALPurgeSpec
from seawall.domain.events import EventReason
from seawall.domain.ledger.reasons import NO_TROUBLE
from seawall.domain.schedule import TimeInName, controlled_by
from seawall.domain.step import Event, EventType


@dataclass(frozen=True, slots=True)
class CreateRun:
    """Create a run; one that exists by this name is this run."""

    key: Key
    spec: WALPurgeSpec
    why: str | None = None
    """What began it, if not the time alone."""

    def event(self) -> Event:
        """What the event says."""
        why = f": {self.why}" if self.why is not None else ""
        return Event(EventType.NORMAL, EventReason.RUN_CREATED, f"Created WALPurge {self.key.name}{why}")


@dataclass(frozen=True, slots=True)
class DeleteRun:
    """Delete a finished run that the history limits do not keep."""

    run: WALPurge

    def event(self) -> Event:
        """What the event says."""
        name, stage = self.run.metadata.name, self.run.status.stage
        return Event(
            EventType.NORMAL, EventReason.RUN_DELETED, f"Deleted WALPurge {name} ({stage}): newer ones are kept"
        )


PolicyAction = CreateRun | DeleteRun


def is_success(run: WALPurge) -> bool:
    """Whether a run that completed was of use, as far as it could be.

    It was not where every topic was left alone, and any of them because something is wrong. The status does not name
    all of them, but those first.
    """
    topics = run.status.topics
    if topics is None or topics.total == 0 or topics.skipped + topics.failed < topics.total:
        return True
    return all(each.reason in NO_TROUBLE for each in run.status.skipped)


_TIME = TimeInName("%Y%m%d%H%M%S", 14)
MAX_NAME = 253
MAX_POLICY_NAME = MAX_NAME - _TIME.length - 1


def run_name(policy: str, due: datetime) -> str:
    """The name of the run that was due at a time."""
    return f"{policy}-{_TIME.write(due)}"


def due_time(policy: str, run: str) -> datetime | None:
    """The time for which a run was due, by its name; None when it is no name of a run of this policy."""
    return _TIME.read_after(f"{policy}-", run)


@dataclass(frozen=True, slots=True)
class OwnRuns:
    """The runs that a policy controls, the oldest first."""

    active: tuple[WALPurge, ...]
    completed: tuple[WALPurge, ...]
    failed: tuple[WALPurge, ...]

    @classmethod
    def of(cls, policy: WALPurgePolicy, runs: Iterable[WALPurge]) -> Self:
        """Picks them out of all runs of the namespace."""
        own = controlled_by(policy.metadata, runs)
        return cls(
            tuple(run for run in own if not run.status.is_finished),
            tuple(run for run in own if run.status.stage is Stage.COMPLETED),
            tuple(run for run in own if run.status.stage is Stage.FAILED),
        )

    @property
    def finished(self) -> tuple[WALPurge, ...]:
        """Those that have ended, well or not."""
        return self.completed + self.failed

    def due_times(self, policy: str) -> list[datetime]:
        """The times for which they were due."""
        times = (due_time(policy, run.metadata.name) for run in self.active + self.finished)
        return [time for time in times if time is not None]
