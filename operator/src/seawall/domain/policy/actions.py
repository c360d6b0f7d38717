"""Actions on the runs of a policy."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.meta import Key
from seawall.api.v1alpha1.purge import WALPurge, WALPurgeSpec
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
        return Event(EventType.NORMAL, "RunCreated", f"Created WALPurge {self.key.name}{why}")


@dataclass(frozen=True, slots=True)
class DeleteRun:
    """Delete a finished run that the history limits do not keep."""

    run: WALPurge

    def event(self) -> Event:
        """What the event says."""
        name, stage = self.run.metadata.name, self.run.status.stage
        return Event(EventType.NORMAL, "RunDeleted", f"Deleted WALPurge {name} ({stage}): newer ones are kept")


PolicyAction = CreateRun | DeleteRun
