"""Makes the verifications that WALClusters declare on a schedule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.wal_cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.wal_verification import WALVerification
from seawall.domain.errors import SeawallError
from seawall.domain.failure import Failure
from seawall.domain.step import Event
from seawall.domain.verification_schedule.next_step import (
    CreateVerification,
    Observed,
    RemoveVerification,
    ScheduleAction,
    ScheduleStep,
    next_step,
)
from seawall.ports import Clock, Kube


@dataclass(frozen=True, slots=True)
class VerificationScheduleController:
    """A controller of WALClusters beside the one that tends topics. Of the status it writes its own condition."""

    kube: Kube
    clock: Clock
    kind: str = "VerificationSchedule"

    def read(self, key: Key) -> WALCluster | None:
        """Reads the WALCluster."""
        return self.kube.get(WALCluster, key)

    def forget(self, key: Key) -> None:
        """Nothing is held for a schedule."""

    def observe(self, obj: WALCluster) -> Observed:
        """Reads the verifications of the namespace, if there is a schedule."""
        is_scheduled = not isinstance(obj.spec, InvalidSpec) and obj.spec.verification is not None
        found = self.kube.list(WALVerification, obj.metadata.namespace).items if is_scheduled else ()
        return Observed(self.clock.now(), found)

    def next_step(self, obj: WALCluster, observed: Observed) -> ScheduleStep:
        """Decides (pure)."""
        return next_step(obj, observed)

    def with_failure(self, observed: Observed, error: SeawallError) -> Observed:
        """Adds what the API server answered."""
        return replace(observed, failure=Failure.of(error))

    def record(self, obj: WALCluster, status: WALClusterStatus) -> None:
        """Replaces the status."""
        self.kube.replace_status(obj, status)

    def perform(self, obj: WALCluster, action: ScheduleAction) -> Event:
        """Does one action."""
        match action:
            case CreateVerification():
                self.kube.create(WALVerification, action.key, action.spec, owner=obj)
            case RemoveVerification():
                self.kube.delete(action.verification)
            case _:
                assert_never(action)
        return action.event()

    def post(self, obj: WALCluster, event: Event) -> None:
        """Posts an event about the WALCluster."""
        self.kube.post_event(obj, event)
