"""What is corrected of Kafka's own topics, where a person lets Seawall do so: their min.insync.replicas.

The replicas that they lack are made by the run that moves the pool's (`domain/reassignment/demand.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.domain.brokers.view import InternalTopic, ReplicationView
from seawall.domain.kafka import MIN_ISR, ConfigChange
from seawall.domain.min_isr import Limit
from seawall.domain.step import Event, EventType


@dataclass(frozen=True, slots=True)
class RepairMinISR:
    """Set min.insync.replicas of one of Kafka's own topics."""

    topic: str
    min_isr: int
    before: int

    @property
    def change(self) -> ConfigChange:
        """The same, for Kafka."""
        return ConfigChange(self.topic, {MIN_ISR: str(self.min_isr)})

    def event(self) -> Event:
        """What the event says."""
        said = f"Set {MIN_ISR} of {self.topic} to {self.min_isr}; it was {self.before}"
        return Event(EventType.NORMAL, "InternalTopicRepaired", said)


def min_isr_repairs(
    spec: WALClusterSpec, view: ReplicationView, limit: Limit | None = None
) -> tuple[RepairMinISR, ...]:
    """One for each topic whose value stops writes too early, or lets them go on too long.

    It is lowered only below the replication factor, and raised only to what is in sync now, and not while a run may
    take replicas back (`limit`): writes never stop by it.
    Two WALClusters on one Kafka come to an end, because neither lowers what the other raised.
    """
    if not spec.internal_topics.repair:
        return ()
    return tuple(found for topic in view.internal if (found := _repair(spec, topic, limit)) is not None)


def _repair(spec: WALClusterSpec, topic: InternalTopic, limit: Limit | None) -> RepairMinISR | None:
    least, factor = spec.internal_topics.min_in_sync_replicas or 1, topic.replication_factor
    if topic.min_isr is None:
        return None
    if topic.min_isr >= factor > 1:
        return RepairMinISR(topic.name, factor - 1, topic.min_isr)
    if limit is not None and limit.forbids(topic.min_isr, least):
        return None
    if topic.min_isr < least < factor and topic.in_sync >= least:
        return RepairMinISR(topic.name, least, topic.min_isr)
    return None
