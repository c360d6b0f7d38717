"""Makes plain values of a spec, and of the Secrets that it names (read anew at every tick): connections, who prunes."""

from __future__ import annotations

from typing import Protocol

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.data_plane import FrontendAuth, GreptimeDB, GreptimeTLS
from seawall.api.v1alpha1.http_database import HTTPDatabase, HTTPDatabaseAuth, HTTPDatabaseTLS
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.metadata_store import SQLTLS, Etcd, EtcdAuth, EtcdTLS, MetadataStore, SQLStore
from seawall.api.v1alpha1.object_storage import AccessKeySecretRef
from seawall.api.v1alpha1.secret_refs import SecretKeyRef
from seawall.domain.dataplane.connection import (
    SYSTEM_TRUST,
    ClientTLS,
    DatabaseConnection,
    DataPlaneConnection,
    EtcdConnection,
    HTTPConnection,
    MySQLConnection,
    NoDataPlane,
    NotReached,
    PostgresConnection,
    StoreConnection,
    User,
    url_of_contract,
)
from seawall.domain.dataplane.declared import Database
from seawall.domain.dataplane.wal_settings import WALSettings
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import KafkaConnection, NoKafka, Unreachable
from seawall.domain.kafka_users import Password
from seawall.domain.ledger import mode
from seawall.domain.object_store import NoStore, S3Connection
from seawall.observe.secrets import ReadSecret, SecretProblem, SecretTexts
from seawall.ports import Kube


def read_password(kube: Kube, namespace: str, secret: str) -> Password | str:
    """The password in a Secret, or what is wrong with it."""
    texts = SecretTexts(lambda name: kube.get_secret(Key(namespace, name)))
    try:
        found = texts.password(secret)
    except SecretProblem as problem:
        return str(problem)
    return Password(found) if found else f"the password in Secret {secret} is empty"


def kafka_of(kube: Kube, cluster: WALCluster) -> KafkaConnection | NoKafka:
    """The connection to a WALCluster's Kafka, or what is wrong with a Secret.

    Raises:
        Refused: the spec does not fit the models.
    """
    if isinstance(cluster.spec, InvalidSpec):
        raise Refused(cluster.spec.message)
    namespace = cluster.metadata.namespace
    access = cluster.spec.kafka.access(cluster.metadata.key)
    return resolve_kafka(access, lambda name: kube.get_secret(Key(namespace, name)))


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


def resolve_data_plane(database: Database | HTTPDatabase, read_secret: ReadSecret) -> DatabaseConnection | NoDataPlane:
    """The connection to the data plane, or what is wrong with a Secret."""
    texts = SecretTexts(read_secret)
    try:
        return _resolve_http(database, texts) if isinstance(database, HTTPDatabase) else _resolve_parts(database, texts)
    except SecretProblem as problem:
        why = NotReached.SECRET_FORBIDDEN if problem.is_forbidden else NotReached.SECRET_MISSING
        return NoDataPlane(why, str(problem))


def _resolve_http(database: HTTPDatabase, texts: SecretTexts) -> HTTPConnection:
    url = database.url.rstrip("/")
    return HTTPConnection(url, _resolve_tls(database.tls, texts), _resolve_user(database.auth, texts))


def _resolve_parts(greptimedb: Database, texts: SecretTexts) -> DataPlaneConnection:
    store = _resolve_store(greptimedb.metadata_store, texts)
    tls, user = _resolve_tls(greptimedb.tls, texts), _resolve_user(greptimedb.auth, texts)
    return DataPlaneConnection(greptimedb.metasrv, greptimedb.frontend, store, tls, user, greptimedb.datanode_http_port)


def required_access(kube: Kube, cluster: WALCluster, address: str) -> tuple[ClientTLS, User | None]:
    """TLS to where a WALCluster's database has its switch, and as whom, as its spec says now.

    The system's trust store, and nobody, where the spec names no database of that kind any more: what is for a metasrv
    is no business of another database, and a password is only for the address that it is declared for.

    Raises:
        OutsideUnavailable: something is wrong with a Secret.
    """
    namespace = cluster.metadata.namespace
    texts = SecretTexts(lambda name: kube.get_secret(Key(namespace, name)))
    database = None if isinstance(cluster.spec, InvalidSpec) else cluster.spec.database
    try:
        return _access(database, url_of_contract(address), texts)
    except SecretProblem as problem:
        raise OutsideUnavailable(str(problem)) from problem


def _access(
    database: GreptimeDB | HTTPDatabase | None, url: str | None, texts: SecretTexts
) -> tuple[ClientTLS, User | None]:
    """To the metasrv, without a `url`; else to a database of this URL."""
    match database:
        case GreptimeDB() if url is None:
            return _resolve_tls(database.tls, texts), None
        case HTTPDatabase() if url is not None:
            user = _resolve_user(database.auth, texts) if database.url.rstrip("/") == url else None
            return _resolve_tls(database.tls, texts), user
        case _:
            return SYSTEM_TRUST, None


def _resolve_tls(tls: EtcdTLS | GreptimeTLS | HTTPDatabaseTLS | SQLTLS | None, texts: SecretTexts) -> ClientTLS:
    if tls is None:
        return SYSTEM_TRUST
    return ClientTLS(texts.ca(tls.ca_secret_ref), *texts.client_cert(tls.client_cert_secret_ref))


def _resolve_user(auth: EtcdAuth | FrontendAuth | HTTPDatabaseAuth | None, texts: SecretTexts) -> User | None:
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


def prunes(greptimedb: Database, running: str | None, wal: WALSettings | None) -> mode.VersionedDatabase:
    """Who moves the marker, as the spec says; and what runs: the oldest version, and `[wal]`, as far as known."""
    return mode.VersionedDatabase(
        version=greptimedb.version,
        running=running,
        wal=wal,
        auto_prune_seconds=None if greptimedb.auto_prune.prunes else 0.0,
        logical_delete=greptimedb.auto_prune.is_logical,
    )
