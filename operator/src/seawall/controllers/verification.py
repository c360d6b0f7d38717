"""The WALVerification controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.api.v1alpha1.verification import WALVerification, WALVerificationStatus
from seawall.controllers.spark_job import SparkJobController
from seawall.domain.ledger.verdicts import proof_time
from seawall.domain.verification.doubts import doubted_by, why_it_stays
from seawall.domain.verification.kind import Verification
from seawall.ports import VerificationMeter


@dataclass(frozen=True, slots=True)
class WALVerificationController(SparkJobController[WALVerification, WALVerificationStatus]):
    """Observes and acts for WALVerifications."""

    resource: ClassVar = WALVerification
    job: ClassVar = Verification()

    meter: VerificationMeter
    kind: str = WALVerification.KIND.kind

    def measure(self, obj: WALVerification) -> None:
        """When the log was last verified."""
        ended, is_good = proof_time(obj.status), obj.status.stage is JobStage.COMPLETED
        if ended is not None and is_good and not isinstance(obj.spec, InvalidSpec):
            self.meter.measure_verified(Key(obj.metadata.namespace, obj.spec.cluster_ref.name), ended)

    def outlives_ttl(self, obj: WALVerification) -> str | None:
        """Its bad verdict goes with it; only asked of one that has a ttl, and found something bad."""
        has_ttl = not isinstance(obj.spec, InvalidSpec) and obj.spec.ttl_seconds_after_finished is not None
        if not has_ttl or not doubted_by(obj.status):
            return None
        return why_it_stays(obj, self.kube.list(WALVerification, obj.metadata.namespace).items)

    def count(self, obj: WALVerification, status: WALVerificationStatus) -> None:
        """Its outcome, and what it read."""
        if not isinstance(obj.spec, InvalidSpec):
            self.meter.count_verification(Key(obj.metadata.namespace, obj.spec.cluster_ref.name), status)
