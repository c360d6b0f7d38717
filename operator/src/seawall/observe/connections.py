"""Makes plain values of a spec, and of the Secrets that it names (read anew at every tick): connections, who prunes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.data_plane import FrontendAuth, GreptimeTLS
from seawall.api.v1alpha1.kafka_access import ExternalKafka, KafkaSASL
from seawall.api.v1alpha1.metadata_store import SQLTLS, Etcd, EtcdAuth, EtcdTLS, MetadataStore, SQLStore
from seawall.api.v1alpha1.object_storage import AccessKeySecretRef
from seawall.api.v1alpha1.secret_refs import ClientCertSecretRef, CredentialsSecretRef, SecretKeyRef
from seawall.domain.dataplane.connection import (
    SYSTEM_TRUST,
    ClientTLS,
    DataPlaneConnection,
    EtcdConnection,
    MySQLConnection,
    NoDataPlane,
    NotReached,
    PostgresConnection,
    StoreConnection,
    User,
)
from seawall.domain.dataplane.greptimedb_cluster import Database
from seawall.domain.dataplane.wal_settings import WALSettings
from seawall.domain.errors import Forbidden, OutsideUnavailable, Refused
from seawall.domain.kafka import KafkaConnection, NoKafka, Unreachable
from seawall.domain.ledger import mode
from seawall.domain.object_store import NoStore, S3Connection
from seawall.ports import Kube

ReadSecret = Callable[[str], Mapping[str, bytes] | None]
"""Reads the Secret of this name; None when there is none."""


class SecretProblem(Exception):  # noqa: N818 - a finding, which the callers turn into a value
    """What is wrong with a Secret, in one sentence."""

    def __init__(self, sentence: str, *, is_forbidden: bool = False) -> None:
        super().__init__(sentence)
        self.is_forbidden = is_forbidden


@dataclass(frozen=True, slots=True)
class SecretTexts:
    """What references lead to; None for an absent one. All of it raises SecretProblem."""

    read_secret: ReadSecret

    def ca(self, ref: SecretKeyRef | None) -> str | None:
        """The PEM text of CA certificates."""
        return self._text(ref.name, ref.key) if ref else None

    def client_cert(self, ref: ClientCertSecretRef | None) -> tuple[str, str] | tuple[None, None]:
        """The PEM texts of certificate and private key."""
        return (self._text(ref.name, ref.cert_key), self._text(ref.name, ref.key_key)) if ref else (None, None)

    def credentials(self, ref: CredentialsSecretRef | None) -> tuple[str, str] | tuple[None, None]:
        """User name and password."""
        return self.required_credentials(ref) if ref else (None, None)

    def required_credentials(self, ref: CredentialsSecretRef) -> tuple[str, str]:
        """The same, where there must be some."""
        return self._text(ref.name, ref.username_key), self._text(ref.name, ref.password_key)

    def sasl(self, sasl: KafkaSASL | None) -> tuple[str, str] | tuple[None, None]:
        """User name and password of Kafka: the name is in the spec or in the Secret."""
        if sasl is None or sasl.username is None:
            return self.credentials(sasl.credentials_secret_ref if sasl else None)
        ref = sasl.credentials_secret_ref
        return sasl.username, self._text(ref.name, ref.password_key)

    def access_key(self, ref: AccessKeySecretRef | None) -> tuple[str, str] | tuple[None, None]:
        """Id and secret of an access key of S3."""
        if ref is None:
            return None, None
        texts = (self._text(ref.name, key) for key in (ref.access_key_id_key, ref.secret_access_key_key))
        key_id, secret = (text.rstrip("\r\n") for text in texts)  # as jobs read their files of it
        return key_id, secret

    def _text(self, secret: str, key: str) -> str:
        try:
            data = self.read_secret(secret)
        except Forbidden as error:
            sentence = f"the operator may not read Secret {secret}: name it in the chart's value secrets.names"
            raise SecretProblem(sentence, is_forbidden=True) from error
        if data is None:
            raise SecretProblem(f"Secret {secret} does not exist")
        if key not in data:
            raise SecretProblem(f"Secret {secret} has no key {key}")
        try:
            return data[key].decode()
        except UnicodeDecodeError as error:
            raise SecretProblem(f"key {key} of Secret {secret} is no UTF-8 text") from error


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
        username, password = texts.sasl(kafka.sasl)
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


class S3Place(Protocol):
    """A bucket, as several kinds of the API declare it."""

    @property
    def bucket(self) -> str:
        """Its name."""
        ...

    @property
    def prefix(self) -> str:
        """Folder in it; empty: none."""
        ...

    @property
    def region(self) -> str:
        """Its region."""
        ...

    @property
    def endpoint(self) -> str | None:
        """Address of the server; None: that of the region."""
        ...

    @property
    def ca_secret_ref(self) -> SecretKeyRef | None:
        """CA certificates that sign the server's."""
        ...

    @property
    def credentials_secret_ref(self) -> AccessKeySecretRef | None:
        """The access key; None: the pod's identity."""
        ...


def resolve_s3(place: S3Place, read_secret: ReadSecret) -> S3Connection | NoStore:
    """The connection to a bucket, or what is wrong with a Secret.

    Raises:
        OutsideUnavailable: as `read_secret`.
    """
    texts = SecretTexts(read_secret)
    try:
        ca = texts.ca(place.ca_secret_ref)
        key_id, secret = texts.access_key(place.credentials_secret_ref)
    except SecretProblem as problem:
        return NoStore(str(problem))
    return S3Connection(place.bucket, place.prefix, place.region, place.endpoint, ca, key_id, secret)


def resolve_data_plane(greptimedb: Database, read_secret: ReadSecret) -> DataPlaneConnection | NoDataPlane:
    """The connection to the data plane, or what is wrong with a Secret."""
    texts = SecretTexts(read_secret)
    try:
        store = _resolve_store(greptimedb.metadata_store, texts)
        tls = _resolve_tls(greptimedb.tls, texts)
        user = _resolve_user(greptimedb.auth, texts)
    except SecretProblem as problem:
        why = NotReached.SECRET_FORBIDDEN if problem.is_forbidden else NotReached.SECRET_MISSING
        return NoDataPlane(why, str(problem))
    return DataPlaneConnection(greptimedb.metasrv, greptimedb.frontend, store, tls, user, greptimedb.datanode_http_port)


def required_metasrv_tls(kube: Kube, cluster: WALCluster) -> ClientTLS:
    """TLS to a WALCluster's metasrv, as its spec says now; the system's trust store if it names no database any more.

    Raises:
        OutsideUnavailable: something is wrong with a Secret.
    """
    greptimedb = None if isinstance(cluster.spec, InvalidSpec) else cluster.spec.greptimedb
    namespace = cluster.metadata.namespace
    texts = SecretTexts(lambda name: kube.get_secret(Key(namespace, name)))
    try:
        return _resolve_tls(greptimedb.tls if greptimedb else None, texts)
    except SecretProblem as problem:
        raise OutsideUnavailable(str(problem)) from problem


def _resolve_tls(tls: EtcdTLS | GreptimeTLS | SQLTLS | None, texts: SecretTexts) -> ClientTLS:
    if tls is None:
        return SYSTEM_TRUST
    return ClientTLS(texts.ca(tls.ca_secret_ref), *texts.client_cert(tls.client_cert_secret_ref))


def _resolve_user(auth: EtcdAuth | FrontendAuth | None, texts: SecretTexts) -> User | None:
    name, password = texts.credentials(auth.credentials_secret_ref if auth else None)
    return None if name is None or password is None else User(name, password)


def _resolve_store(store: MetadataStore, texts: SecretTexts) -> StoreConnection:
    if store.etcd is not None:
        return _resolve_etcd(store.etcd, texts)
    if (postgresql := store.postgresql) is not None:
        return PostgresConnection(*_resolve_sql(postgresql, texts), schema=postgresql.schema_name)
    if store.mysql is not None:
        return MySQLConnection(*_resolve_sql(store.mysql, texts))
    raise ValueError("no metadata store")  # the rule of the model refuses it


def _resolve_etcd(etcd: Etcd, texts: SecretTexts) -> EtcdConnection:
    endpoints = tuple(endpoint.rstrip("/") for endpoint in etcd.endpoints)
    return EtcdConnection(endpoints, etcd.prefix, _resolve_tls(etcd.tls, texts), _resolve_user(etcd.auth, texts))


def _resolve_sql(
    store: SQLStore, texts: SecretTexts
) -> tuple[tuple[tuple[str, int], ...], str, User, str, str, ClientTLS | None]:
    """The fields of SQLConnection."""
    tls = None if store.tls is None else _resolve_tls(store.tls, texts)
    return (
        tuple(_host_and_port(address) for address in store.hosts),
        store.database,
        User(*texts.required_credentials(store.auth.credentials_secret_ref)),
        store.table_name,
        store.prefix,
        tls,
    )


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


def prunes(greptimedb: Database, running: str | None, wal: WALSettings | None) -> mode.GreptimeDB:
    """Who moves the marker, as the spec says; and what runs: the oldest version, and `[wal]`, as far as known."""
    return mode.GreptimeDB(
        version=greptimedb.version,
        running=running,
        wal=wal,
        auto_prune_seconds=None if greptimedb.auto_prune.prunes else 0.0,
        logical_delete=greptimedb.auto_prune.is_logical,
    )
