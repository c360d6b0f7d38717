"""Where copies go, as the application is told: a Kafka or a bucket, what of it the pods have, and the snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.v1alpha1.subscription_targets import TargetBucket
from seawall.domain.spark_job.allowed import as_user, own_secrets
from seawall.domain.spark_job.application import SNAPSHOT_FOLDER, Mount, claim, kafka_secrets
from seawall.domain.spark_job.bucket import private_mounts, s3_of, secrets_of_bucket, shared_mounts
from seawall.domain.spark_job.request import kafka_of, paths_in
from seawall.domain.subscription.case import Case
from seawall.domain.subscription.contract import TARGET_FOLDER


@dataclass(frozen=True, slots=True)
class Place:
    """Where it goes, for the application.

    Attributes:
        body: as the request names it.
        private, shared: what the driver, and what all pods have of it.
        secrets: that the driver cannot start without.
    """

    body: dict[str, object]
    private: tuple[Mount, ...]
    secrets: tuple[str, ...]
    shared: tuple[Mount, ...] = ()


def volume_of(case: Case) -> tuple[Mount, ...]:
    """The volume of the snapshot that rows begin with."""
    name = None if case.spec.snapshot is None else case.spec.snapshot.persistent_volume_claim
    return () if name is None else (claim("snapshot", name, SNAPSHOT_FOLDER, read_only=True),)


def place_of(case: Case) -> Place:
    """The target, or the bucket."""
    found = case.goes_to
    if isinstance(found, TargetBucket):
        s3 = found.s3
        body = {**s3_of(s3, has_key=s3.credentials_secret_ref is not None), "pathStyle": None}
        return Place(body, private_mounts(s3), secrets_of_bucket(s3), shared_mounts(s3))
    kafka = as_user(found.kafka, found)
    target = kafka_of(kafka, case.status.target_cluster_id or "", paths_in(TARGET_FOLDER))
    return Place(target, kafka_secrets(kafka, "target", TARGET_FOLDER), own_secrets(found))
