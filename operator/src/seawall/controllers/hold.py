"""The WALHold controller."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import ALL_TOPICS, HoldState, WALHold, WALHoldStatus
from seawall.controllers.controller import Controller
from seawall.controllers.permission import require_licence
from seawall.domain.errors import Conflict, OutsideUnavailable
from seawall.domain.hold.decide import HoldDecision, decide
from seawall.domain.hold.view import Observed, YoungRecords
from seawall.domain.kafka_log import FirstSince
from seawall.domain.ledger.actions import WriteRecords
from seawall.domain.ledger.held import NEAR
from seawall.domain.ledger.observation import Observation
from seawall.domain.step import Event
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import OpenedCluster
from seawall.ports import Clock, HoldMeter, Kube


@dataclass(frozen=True, slots=True)
class WALHoldController(Controller[WALHold, Observed, WALHoldStatus, WriteRecords]):
    """Observes and acts for WALHolds."""

    resource: ClassVar = WALHold

    kube: Kube
    observer: LedgerObserver
    clock: Clock
    meter: HoldMeter
    kind: str = WALHold.KIND.kind

    def observe(self, obj: WALHold) -> Observed:
        """Looks, after the hold was read: so the intents are those of a time at which it existed."""
        if isinstance(obj.spec, InvalidSpec) or obj.status.is_final:
            return Observed(self.clock.trusted())
        cluster = self.kube.get(WALCluster, Key(obj.metadata.namespace, obj.spec.cluster_ref.name))
        if cluster is None or (cluster.metadata.deletion_timestamp is not None and _has_request(obj)):
            # Whoever deletes topics lists the holds after the deletion was asked for: nothing more may be granted.
            return Observed(self.clock.trusted())
        observation, time = self.observer.observe(cluster), self.clock.trusted()
        ages = (
            self._read_ages(cluster, obj, observation, time.earliest) if isinstance(observation, Observation) else None
        )
        may_write = not cluster.metadata.is_paused and cluster.metadata.deletion_timestamp is None
        return Observed(time, observation, has_cluster=True, may_write=may_write, ages=ages)

    def _read_ages(
        self, cluster: WALCluster, obj: WALHold, observation: Observation, now: datetime | None
    ) -> YoungRecords | None:
        """Two requests for all topics that are held, if there is a maxLagAge; what Kafka does not tell is unknown.

        `now` None: nobody knows what time it is, and so how old a record is.
        """
        max_lag_age = None if isinstance(obj.spec, InvalidSpec) else obj.spec.max_lag_age
        opened = None if max_lag_age is None else self.observer.open(cluster)
        if max_lag_age is None or now is None or not isinstance(opened, OpenedCluster):
            return None
        logs, topics = opened.logs, _held(obj, observation)

        def since(age: timedelta) -> dict[str, FirstSince]:
            found = logs.find_first_since(topics, now - age)
            return {name: first for name, first in found.items() if isinstance(first, FirstSince)}

        try:
            return YoungRecords(near=since(max_lag_age * NEAR), young=since(max_lag_age))
        except OutsideUnavailable:
            return None

    def decide(self, obj: WALHold, observed: Observed) -> HoldDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def record(self, obj: WALHold, status: WALHoldStatus) -> None:
        """Replaces the status, at the resource version that was read: a renewal meanwhile wins."""
        self.kube.replace_status(obj, status)
        is_lost_now = status.state is HoldState.LOST and obj.status.state is not HoldState.LOST
        if is_lost_now and not isinstance(obj.spec, InvalidSpec):
            self.meter.count_lost_hold(Key(obj.metadata.namespace, obj.spec.cluster_ref.name))

    def perform(self, obj: WALHold, action: WriteRecords) -> Event:
        """Writes the first records of topics, if right now everything is as it was decided."""
        if isinstance(obj.spec, InvalidSpec):
            raise Conflict(obj.spec.message)
        require_licence(self.kube, self.clock, Key(obj.metadata.namespace, obj.spec.cluster_ref.name), action.cluster)
        self.observer.write_shards(action.pool, action.shards)
        return action.event()


def _has_request(obj: WALHold) -> bool:
    """Whether there is anything that is not granted yet."""
    return isinstance(obj.spec, InvalidSpec) or obj.status.granted != obj.spec.topics


def _held(obj: WALHold, observation: Observation) -> list[str]:
    """The topics of the pool that a hold claims, or was granted."""
    named = obj.status.granted.keys() | (set() if isinstance(obj.spec, InvalidSpec) else obj.spec.topics.keys())
    return sorted(observation.topics if ALL_TOPICS in named else observation.topics & named)
