"""Makes the verifications that WALClusters declare on a schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, assert_never

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.verification import WALVerification
from seawall.controllers.controller import Controller
from seawall.domain.step import Event
from seawall.domain.verification.schedule import (
    CreateVerification,
    Observed,
    RemoveVerification,
    ScheduleAction,
    ScheduleDecision,
    decide,
    expected_since,
    expected_verifications,
)
from seawall.ports import Clock, Kube, VerificationMeter


@dataclass(frozen=True, slots=True)
class VerificationScheduleController(Controller[WALCluster, Observed, WALClusterStatus, ScheduleAction]):
    """A controller of WALClusters beside the one that tends topics. Of the status it writes its own condition."""

    resource: ClassVar = WALCluster

    kube: Kube
    clock: Clock
    meter: VerificationMeter
    kind: str = "VerificationSchedule"

    def forget(self, key: Key) -> None:
        """Removes the metrics of a WALCluster that is gone: a tick of before may have told them since."""
        self.meter.measure_verifications_expected(key, None)
        self.meter.measure_verification_period(key, None)

    def observe(self, obj: WALCluster) -> Observed:
        """Reads the verifications of the namespace, if there is a schedule."""
        now = self.clock.now()
        self.meter.measure_verifications_expected(obj.metadata.key, expected_since(obj))
        self.meter.measure_verification_period(obj.metadata.key, expected_verifications(obj, now))
        is_scheduled = not isinstance(obj.spec, InvalidSpec) and obj.spec.verification is not None
        found = self.kube.list(WALVerification, obj.metadata.namespace).items if is_scheduled else ()
        return Observed(now, found)

    def decide(self, obj: WALCluster, observed: Observed) -> ScheduleDecision:
        """Decides (pure)."""
        return decide(obj, observed)

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
