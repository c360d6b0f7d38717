"""Makes plain values of a spec, and of the Secrets that it names: connections, and who prunes."""

from __future__ import annotations

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.data_plane import AutoPrune, Etcd, GreptimeDB
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.domain.dataplane.connection import DataPlaneConnection, EtcdConnection, NoDataPlane, NotReached
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import KafkaConnection, NoKafka, Unreachable
from seawall.domain.ledger import mode
from seawall.observe.secrets import ReadSecret, SecretProblem, SecretTexts
from seawall.ports import Kube


def kafka_of(kube: Kube, cluster: WALCluster) -> KafkaConnection | NoKafka:
    """The connection to a WALCluster's Kafka, or what is wrong with a Secret.

    Raises:
        Refused: the spec does not fit the models.
    """
    if isinstance(cluster.spec, InvalidSpec):
        raise Refused(cluster.spec.message)
    namespace = cluster.metadata.namespace
    return resolve_kafka(cluster.spec.kafka.external, lambda name: kube.get_secret(Key(namespace, name)))


def required_kafka(kube: Kube, cluster: WALCluster) -> KafkaConnection:
    """The same, for those who cannot go on without it.

    Raises:
        Refused: the spec does not fit the models.
        OutsideUnavailable: something is wrong with a Secret.
    """
    found = kafka_of(kube, cluster)
    if isinstance(found, NoKafka):
        raise OutsideUnavailable(found.message)
    return found


def resolve_kafka(kafka: ExternalKafka, read_secret: ReadSecret) -> KafkaConnection | NoKafka:
    """The connection to Kafka, or what is wrong with a Secret."""
    texts, tls = SecretTexts(read_secret), kafka.tls
    try:
        ca = texts.ca(tls.ca_secret_ref if tls else None)
        cert, key = texts.client_cert(tls.client_cert_secret_ref if tls else None)
        username, password = texts.credentials(kafka.sasl.credentials_secret_ref if kafka.sasl else None)
    except SecretProblem as problem:
        why = Unreachable.SECRET_FORBIDDEN if problem.is_forbidden else Unreachable.SECRET_MISSING
        return NoKafka(why, str(problem))
    return KafkaConnection(
        bootstrap_servers=kafka.bootstrap_servers,
        tls=tls is not None,
        ca_pem=ca,
        client_cert_pem=cert,
        client_key_pem=key,
        sasl_mechanism=kafka.sasl.mechanism if kafka.sasl else None,
        username=username,
        password=password,
    )


def resolve_data_plane(greptimedb: GreptimeDB, read_secret: ReadSecret) -> DataPlaneConnection | NoDataPlane:
    """The connection to the data plane, or what is wrong with a Secret."""
    try:
        etcd = _resolve_etcd(greptimedb.metadata_store.etcd, SecretTexts(read_secret))
    except SecretProblem as problem:
        why = NotReached.SECRET_FORBIDDEN if problem.is_forbidden else NotReached.SECRET_MISSING
        return NoDataPlane(why, str(problem))
    return DataPlaneConnection(greptimedb.metasrv, greptimedb.frontend, etcd)


def _resolve_etcd(etcd: Etcd, texts: SecretTexts) -> EtcdConnection:
    ca = texts.ca(etcd.tls.ca_secret_ref if etcd.tls else None)
    cert, key = texts.client_cert(etcd.tls.client_cert_secret_ref if etcd.tls else None)
    username, password = texts.credentials(etcd.auth.credentials_secret_ref if etcd.auth else None)
    endpoints = tuple(endpoint.rstrip("/") for endpoint in etcd.endpoints)
    return EtcdConnection(endpoints, etcd.prefix, ca, cert, key, username, password)


def prunes(greptimedb: GreptimeDB, running: str | None) -> mode.GreptimeDB:
    """Who moves the marker, as the spec says; `running`: the oldest version that runs, if it is known."""
    return mode.GreptimeDB(
        version=greptimedb.version,
        running=running,
        auto_prune_seconds=0.0 if greptimedb.auto_prune is AutoPrune.DISABLED else None,
        logical_delete=greptimedb.auto_prune is AutoPrune.LOGICAL,
    )
