"""What every roll does: the eviction of one pod, idempotent, and harmless when late."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.domain.errors import OutsideUnavailable
from seawall.domain.events import EventReason
from seawall.domain.rollout.workload import Pod
from seawall.domain.step import Event, EventType


@dataclass(frozen=True, slots=True)
class Evict:
    """Delete one pod, and no later one of its name, as far as PodDisruptionBudgets allow it."""

    pod: Pod
    passed: str = ""
    """Why a shut gate lets it through, and by whose word; empty: it is open."""

    def event(self) -> Event:
        """What the event says."""
        if self.passed:
            return Event(
                EventType.WARNING, EventReason.RESTART_OVERRIDDEN, f"Restarted {self.pod.name} although {self.passed}"
            )
        return Event(EventType.NORMAL, EventReason.RESTARTED, f"Restarted {self.pod.name}")


class EvictionForbidden(OutsideUnavailable):
    """A PodDisruptionBudget forbids an eviction now; the message is the API server's."""
