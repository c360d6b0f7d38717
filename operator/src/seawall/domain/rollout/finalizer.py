"""What the controller of restarts does: a roll's actions, and the finalizer of its maintenance."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.meta import MAINTENANCE_FINALIZER
from seawall.domain.rollout.actions import RolloutAction
from seawall.domain.step import Event, EventType


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Put the maintenance finalizer on the object: its deletion waits until the database is out of maintenance."""

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, "FinalizerAdded", f"Added {MAINTENANCE_FINALIZER}: a datanode is to be restarted"
        )


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Take the maintenance finalizer off."""

    why: str = "maintenance is given back"
    type: EventType = EventType.NORMAL

    def event(self) -> Event:
        """What the event says."""
        return Event(self.type, "FinalizerRemoved", f"Removed {MAINTENANCE_FINALIZER}: {self.why}")


RestartAction = RolloutAction | AddFinalizer | RemoveFinalizer
