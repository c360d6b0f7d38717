"""What a job on Spark needs of the rest of a WALCluster's spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seawall.api.meta import Rule
from seawall.api.v1alpha1.kafka_spec import KafkaSpec
from seawall.api.v1alpha1.spark_job import JobDeclaration

if TYPE_CHECKING:  # it has these rules
    from seawall.api.v1alpha1.cluster import WALClusterSpec


def job_rules(wire: str) -> tuple[Rule, ...]:
    """What a job on Spark needs of the rest of the spec."""

    def declared(spec: WALClusterSpec) -> JobDeclaration | None:
        found: JobDeclaration | None = getattr(spec, wire)
        return found

    return (
        Rule(
            f"!has(self.{wire}) || (has(self.dataPlane) && has(self.dataPlane.greptimedb))",
            f"{wire} needs dataPlane.greptimedb: it says what a restart would replay, and its records can be read",
            lambda spec: declared(spec) is None or spec.greptimedb is not None,
        ),
        Rule(
            f"!has(self.{wire}) || !has(self.{wire}.kafkaCredentialsSecretRef)"
            " || (has(self.kafka.external) && has(self.kafka.external.sasl))",
            f"{wire}.kafkaCredentialsSecretRef needs kafka.external.sasl, which says how a user is authenticated",
            lambda spec: (
                (own := declared(spec)) is None
                or own.kafka_credentials_secret_ref is None
                or (spec.kafka.external is not None and spec.kafka.external.sasl is not None)
            ),
        ),
        Rule(
            f"!has(self.{wire}) || !has(self.{wire}.kafkaClientCertSecretRef)"
            " || (has(self.kafka.external) && has(self.kafka.external.tls)"
            " && has(self.kafka.external.tls.clientCertSecretRef))"
            " || (has(self.kafka.managed) && has(self.kafka.managed.security.operatorTls))",
            f"{wire}.kafkaClientCertSecretRef stands in for kafka.external.tls.clientCertSecretRef, or for"
            " kafka.managed.security.operatorTls: set that, too",
            lambda spec: (
                (own := declared(spec)) is None
                or own.kafka_client_cert_secret_ref is None
                or _comes_by_certificate(spec.kafka)
            ),
        ),
    )


def _comes_by_certificate(kafka: KafkaSpec) -> bool:
    """Whether Seawall itself shows one, in whose place a job may show its own."""
    if kafka.managed is not None:
        return kafka.managed.security.operator_tls is not None
    tls = None if kafka.external is None else kafka.external.tls
    return tls is not None and tls.client_cert_secret_ref is not None
