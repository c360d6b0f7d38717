"""How to reach a data plane, and why it could not be reached."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from seawall.domain.errors import OutsideUnavailable, Refused


@dataclass(frozen=True, slots=True)
class ClientTLS:
    """What TLS needs on our side: PEM texts, never logged. No CA means the system's, no certificate shows none."""

    ca_pem: str | None = None
    client_cert_pem: str | None = None
    client_key_pem: str | None = None

    def __repr__(self) -> str:
        return "ClientTLS()"


SYSTEM_TRUST = ClientTLS()
"""Where nothing is declared."""


@dataclass(frozen=True, slots=True)
class User:
    """A user name and password, never logged."""

    name: str
    password: str

    def __repr__(self) -> str:
        return "User()"


@dataclass(frozen=True, slots=True)
class EtcdConnection:
    """All that is needed to talk to etcd: URLs, the prefix of all keys, TLS and a user."""

    endpoints: tuple[str, ...]
    prefix: str = ""
    tls: ClientTLS = SYSTEM_TRUST
    user: User | None = None


@dataclass(frozen=True, slots=True)
class SQLConnection:
    """All that is needed to talk to a server of SQL: hosts, a user, database and table, TLS; None: not asked for."""

    hosts: tuple[tuple[str, int], ...]
    database: str
    user: User
    table: str = "greptime_metakv"
    prefix: str = ""
    tls: ClientTLS | None = None

    def __repr__(self) -> str:
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        return f"{type(self).__name__}({hosts}/{self.database})"


@dataclass(frozen=True, slots=True, repr=False)
class PostgresConnection(SQLConnection):
    """PostgreSQL. Without a schema, the user's search path finds the table."""

    schema: str | None = None

    @property
    def table_name(self) -> str:
        """The table in SQL."""
        return f'"{self.table}"' if self.schema is None else f'"{self.schema}"."{self.table}"'


@dataclass(frozen=True, slots=True, repr=False)
class MySQLConnection(SQLConnection):
    """MySQL."""

    @property
    def table_name(self) -> str:
        """The table in SQL."""
        return f"`{self.database}`.`{self.table}`"


StoreConnection = EtcdConnection | PostgresConnection | MySQLConnection


@dataclass(frozen=True, slots=True)
class DataPlaneConnection:
    """The URLs of a GreptimeDB cluster's metasrv and frontend, TLS to both, a user of the frontend, and its store.

    Datanodes have no TLS, and their HTTP is at this port of the host that each reports.
    """

    metasrv: str
    frontend: str
    store: StoreConnection
    tls: ClientTLS = SYSTEM_TRUST
    user: User | None = None
    datanode_http_port: int = 4000


@dataclass(frozen=True, slots=True)
class HTTPConnection:
    """The URL of a database that serves the contract of docs/any-database.md, TLS to it, and who Seawall is to it."""

    url: str
    tls: ClientTLS = SYSTEM_TRUST
    user: User | None = None
    database: str | None = None
    """Which database is meant, as `status.dataPlane.identity` has it: one URL may lead to two, so each request that
    changes something says it. None: it is not known yet, and nothing is changed."""


DatabaseConnection = DataPlaneConnection | HTTPConnection

CONTRACT_ROOT = "/seawall/v1"
"""What all paths of the contract begin with."""
CONTRACT_STORE = "http/"
"""What the ids of such databases begin with: behind it is the identity that the database has by its own word."""


def identity_by_contract(store_id: str | None) -> str | None:
    """The identity of a database in its own word; None: the id is that of another store, or of none."""
    if store_id is None or not store_id.startswith(CONTRACT_STORE):
        return None
    return store_id.removeprefix(CONTRACT_STORE)


def contract_address(url: str) -> str:
    """Where such a database has its switch of maintenance: a metasrv's address has no path."""
    return f"{url.rstrip('/')}{CONTRACT_ROOT}"


def url_of_contract(address: str) -> str | None:
    """The URL of the database that has this address; None: it is a metasrv's."""
    return address.removesuffix(CONTRACT_ROOT) if address.endswith(CONTRACT_ROOT) else None


class NotReached(StrEnum):
    """Why a part of the data plane could not be asked; each is a reason of DataPlaneReachable, which then is False."""

    METASRV_UNREACHABLE = "MetasrvUnreachable"
    """The metasrv did not answer: check address, pods and network policies (chart value
    `networkPolicy.dataPlanePorts`)."""
    FRONTEND_UNREACHABLE = "FrontendUnreachable"
    """The frontend did not answer: as for the metasrv."""
    METADATA_STORE_UNREACHABLE = "MetadataStoreUnreachable"
    """No member of etcd, or no primary of PostgreSQL or MySQL, answered: as for the metasrv."""
    DATABASE_UNREACHABLE = "DatabaseUnreachable"
    """The database of `dataPlane.http` did not answer: as for the metasrv."""
    AUTHENTICATION_FAILED = "DataPlaneAuthenticationFailed"
    """etcd, PostgreSQL, MySQL, the frontend or the database of `http` refused the user, wants one, or does not let it
    do what it must; or a proxy before the metasrv wants one. Mend the Secret, or the user's rights; etcd's gateway
    wants client certificates without a common name."""
    TLS_FAILED = "DataPlaneTLSFailed"
    """A TLS handshake failed: the CA is not the one that signed, the certificate has expired or is for another name, or
    ours is refused. The message says which of them, and what to mend."""
    CONTRADICTION = "DatabaseContradictsItself"
    """Metasrv, store and frontend are not of one database: a datanode that reports is not in the store (by id and
    address), the frontend lists others, or the store knows none of the regions that report. Correct the address that is
    another database's; for a datanode that has just joined it passes by itself. Or two servers of PostgreSQL
    or MySQL lead: fence the old one. Or one URL of `http` leads to two databases: let it lead to one."""
    UNEXPECTED_ANSWER = "UnexpectedAnswer"
    """Something else answered at this address, or a report or key makes no sense: correct the address, or upgrade
    Seawall when GreptimeDB is newer. Of `http`: `seawall conformance <url>` says what is not as the contract says; and
    metadata that went back count again when they are those of before, or after seawall.dev/readopt."""
    CLUSTER_MISSING = "GreptimeDBClusterMissing"
    """`clusterRef` names no GreptimeDBCluster, or the operator may not read it: do what the message says."""
    CLUSTER_UNSUITABLE = "GreptimeDBClusterUnsuitable"
    """The GreptimeDBCluster is there, and its database is none that Seawall can work with: its WAL is not in Kafka, or
    in topics of another prefix, or its metadata store or version cannot be found. Do what the message says."""
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a reason, no secret
    """A Secret or a key in it, which the connection needs, does not exist or makes no sense: create it."""
    SECRET_FORBIDDEN = "SecretForbidden"  # noqa: S105 - a reason, no secret
    """The operator may not read a Secret that the connection needs: name it in the chart's `secrets.names`."""


SILENCES = (
    NotReached.METASRV_UNREACHABLE,
    NotReached.FRONTEND_UNREACHABLE,
    NotReached.METADATA_STORE_UNREACHABLE,
    NotReached.DATABASE_UNREACHABLE,
)
"""What mends itself when the other side comes back."""


@dataclass(frozen=True, slots=True)
class NoDataPlane:
    """The data plane could not be asked, and why in one sentence."""

    why: NotReached
    message: str


class PartUnavailable(OutsideUnavailable):
    """A part of the data plane did not answer; what was asked of it may have happened."""

    def __init__(self, why: NotReached, message: str) -> None:
        super().__init__(message)
        self.why = why


class PartRefused(Refused):
    """A part of the data plane answered and said no, or what it said makes no sense."""

    def __init__(self, why: NotReached, message: str) -> None:
        super().__init__(message)
        self.why = why
