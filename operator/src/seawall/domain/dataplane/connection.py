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
class DataPlaneConnection:
    """The URLs of a GreptimeDB cluster's metasrv and frontend, and its etcd."""

    metasrv: str
    frontend: str
    etcd: EtcdConnection


class NotReached(StrEnum):
    """Why a part of the data plane could not be asked; each is a reason of DataPlaneReachable."""

    METASRV_UNREACHABLE = "MetasrvUnreachable"
    """The metasrv did not answer."""
    FRONTEND_UNREACHABLE = "FrontendUnreachable"
    """The frontend did not answer."""
    METADATA_STORE_UNREACHABLE = "MetadataStoreUnreachable"
    """No member of etcd answered."""
    AUTHENTICATION_FAILED = "DataPlaneAuthenticationFailed"
    """A user name or password was refused, or one is needed, or the user may not do this."""
    TLS_FAILED = "DataPlaneTLSFailed"
    """A TLS handshake failed: CA, host name or client certificate."""
    CONTRADICTION = "DatabaseContradictsItself"
    """Metasrv, metadata store and frontend are not of one database: correct the address that is another one's."""
    UNEXPECTED_ANSWER = "UnexpectedAnswer"
    """Something answered that is not what it should be, or its data make no sense."""
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a reason, no secret
    """A Secret or a key in it, which the connection needs, does not exist or makes no sense."""
    SECRET_FORBIDDEN = "SecretForbidden"  # noqa: S105 - a reason, no secret
    """The operator may not read a Secret that the connection needs."""


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
