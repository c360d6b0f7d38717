"""The WALHold controller."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.wal_cluster import WALCluster
from seawall.api.v1alpha1.wal_hold import WALHold, WALHoldStatus
from seawall.controllers.ledger_look import LedgerLooks
from seawall.domain.errors import SeawallError
from seawall.domain.failure import Failure
from seawall.domain.step import Event
from seawall.domain.wal_hold.actions import WriteRecords
from seawall.domain.wal_hold.next_step import HoldStep, next_step
from seawall.domain.wal_hold.observed import Observed
from seawall.ports import Clock, Kube


@dataclass(frozen=True, slots=True)
class WALHoldController:
    """Observes and acts for WALHolds."""

    kube: Kube
    looks: LedgerLooks
    clock: Clock
    kind: str = WALHold.KIND.kind

    def read(self, key: Key) -> WALHold | None:
        """Reads the WALHold."""
        return self.kube.get(WALHold, key)

    def forget(self, key: Key) -> None:
        """Nothing is held for a hold."""

    def observe(self, obj: WALHold) -> Observed:
        """Looks, after the hold was read: so the intents are those of a time at which it existed."""
        if isinstance(obj.spec, InvalidSpec) or _is_over(obj):
            return Observed(self.clock.now())
        cluster = self.kube.get(WALCluster, Key(obj.metadata.namespace, obj.spec.cluster_ref.name))
        if cluster is None or (cluster.metadata.deletion_timestamp is not None and _has_request(obj)):
            # Whoever deletes topics lists the holds after the deletion was asked for: nothing more may be granted.
            return Observed(self.clock.now())
        looked = self.looks.look(cluster)
        may_write = not cluster.metadata.is_paused and cluster.metadata.deletion_timestamp is None
        return Observed(self.clock.now(), looked, has_cluster=True, may_write=may_write)

    def next_step(self, obj: WALHold, observed: Observed) -> HoldStep:
        """Decides (pure)."""
        return next_step(obj, observed)

    def with_failure(self, observed: Observed, error: SeawallError) -> Observed:
        """Adds what the API server answered."""
        return replace(observed, failure=Failure.of(error))

    def record(self, obj: WALHold, status: WALHoldStatus) -> None:
        """Replaces the status, at the resource version that was read: a renewal meanwhile wins."""
        self.kube.replace_status(obj, status)

    def perform(self, obj: WALHold, action: WriteRecords) -> Event:  # noqa: ARG002 - the reconciler's signature
        """Writes the first records of topics."""
        self.looks.write_shards(action.pool, action.shards)
        return action.event()

    def post(self, obj: WALHold, event: Event) -> None:
        """Posts an event about the WALHold."""
        self.kube.post_event(obj, event)


def _has_request(obj: WALHold) -> bool:
    """Whether there is anything that is not granted yet."""
    return isinstance(obj.spec, InvalidSpec) or obj.status.granted != obj.spec.topics


def _is_over(obj: WALHold) -> bool:
    return obj.metadata.deletion_timestamp is not None or (obj.status.state is not None and obj.status.state.is_final)
