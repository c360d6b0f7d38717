"""What may be done with the configs of a managed Kafka."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.domain.events import EventReason
from seawall.domain.kafka import Configs
from seawall.domain.step import Event, EventType
from seawall.domain.text import few


@dataclass(frozen=True, slots=True)
class ChangeConfigs:
    """Set defaults of all brokers; None takes one back."""

    changes: tuple[tuple[str, str | None], ...]
    before: tuple[tuple[str, str], ...]
    """What they were, as far as they were set."""

    def event(self) -> Event:
        """What the event says."""
        was: Configs = dict(self.before)
        said = (f"{key} {_of(was.get(key))} → {_of(value)}" for key, value in self.changes)
        return Event(EventType.NORMAL, EventReason.KAFKA_CONFIG_CHANGED, f"All brokers: {few(said)}")


def _of(value: str | None) -> str:
    return "default" if value is None else value
