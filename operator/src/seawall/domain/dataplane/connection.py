"""How to reach a data plane, and why it could not be reached."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from seawall.domain.errors import OutsideUnavailable, Refused


@dataclass(frozen=True, slots=True)
class EtcdConnection:
    """All that is needed to talk to etcd: URLs, the prefix of all keys, PEM texts and credentials, never logged."""

    endpoints: tuple[str, ...]
    prefix: str = ""
    ca_pem: str | None = None
    client_cert_pem: str | None = None
    client_key_pem: str | None = None
    username: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"EtcdConnection({','.join(self.endpoints)})"


@dataclass(frozen=True, slots=True)
class PostgresConnection:
    """All that is needed to talk to PostgreSQL: hosts, the table, PEM texts and credentials, never logged.

    Without a schema, the user's search path finds the table.
    """

    hosts: tuple[tuple[str, int], ...]
    database: str
    username: str
    password: str
    schema: str | None = None
    table: str = "greptime_metakv"
    prefix: str = ""
    is_tls: bool = False
    ca_pem: str | None = None
    client_cert_pem: str | None = None
    client_key_pem: str | None = None

    @property
    def table_name(self) -> str:
        """The table in SQL."""
        return f'"{self.table}"' if self.schema is None else f'"{self.schema}"."{self.table}"'

    def __repr__(self) -> str:
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        return f"PostgresConnection({hosts}/{self.database})"


@dataclass(frozen=True, slots=True)
class DataPlaneConnection:
    """The URLs of a GreptimeDB cluster's metasrv and frontend, and its metadata store."""

    metasrv: str
    frontend: str
    store: EtcdConnection | PostgresConnection


class NotReached(StrEnum):
    """Why a part of the data plane could not be asked; each is a reason of DataPlaneReachable, which then is False."""

    METASRV_UNREACHABLE = "MetasrvUnreachable"
    """The metasrv did not answer: check address, pods and network policies (chart value
    `networkPolicy.dataPlanePorts`)."""
    FRONTEND_UNREACHABLE = "FrontendUnreachable"
    """The frontend did not answer: as for the metasrv."""
    METADATA_STORE_UNREACHABLE = "MetadataStoreUnreachable"
    """No member of etcd, or no primary of PostgreSQL, answered: as for the metasrv."""
    AUTHENTICATION_FAILED = "DataPlaneAuthenticationFailed"
    """etcd refused the user, wants one, or its role lacks the keys; PostgreSQL refused the user, or it lacks rights on
    the table; or the frontend wants a password. Mend the Secret or the role; etcd's gateway wants client certificates
    without a common name."""
    TLS_FAILED = "DataPlaneTLSFailed"
    """A TLS handshake failed, CA, host name or client certificate: mend the Secret."""
    CONTRADICTION = "DatabaseContradictsItself"
    """Metasrv, store and frontend are not of one database: a datanode that reports is not in the store (by id and
    address), the frontend lists others, or the store knows none of the regions that report. Correct the address that is
    another database's; for a datanode that has just joined it passes by itself."""
    UNEXPECTED_ANSWER = "UnexpectedAnswer"
    """Something else answered at this address, or a report or key makes no sense: correct the address, or upgrade
    Seawall when GreptimeDB is newer."""
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a reason, no secret
    """A Secret or a key in it, which the connection needs, does not exist or makes no sense: create it."""
    SECRET_FORBIDDEN = "SecretForbidden"  # noqa: S105 - a reason, no secret
    """The operator may not read a Secret that the connection needs: name it in the chart's `secrets.names`."""


SILENCES = (NotReached.METASRV_UNREACHABLE, NotReached.FRONTEND_UNREACHABLE, NotReached.METADATA_STORE_UNREACHABLE)
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
